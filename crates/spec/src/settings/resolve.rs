//! Choosing each parameter's value among its sources.

use std::collections::HashMap;

use super::{Entry, Resolved, Settings};
use crate::conf::ConfFile;
use crate::error::{SpecError, SpecErrors};
use crate::origin::Origin;
use crate::param::Param;
use crate::table::{DEFAULT_BLOCK_BYTES, Table};
use crate::value::Value;
use crate::warning::Warning;

/// What environment variables of ours begin with.
const PREFIX: &str = "SLOB_";

/// A text that some source gives for a parameter.
#[derive(Clone)]
struct Given<'a> {
    text: &'a str,
    origin: Origin,
}

/// The strongest text given so far for each parameter, by its key.
struct Sources<'a> {
    table: &'a Table,
    given: HashMap<&'static str, Given<'a>>,
    warnings: Vec<Warning>,
    errors: Vec<SpecError>,
}

pub(super) fn resolve(
    table: &Table,
    file: Option<&ConfFile>,
    environment: &[(String, String)],
    flags: &[(String, String)],
) -> Result<Resolved, SpecErrors> {
    let mut sources = Sources { table, given: HashMap::new(), warnings: Vec::new(), errors: Vec::new() };
    if let Some(file) = file {
        sources.add_file(file);
    }
    sources.add_environment(environment);
    sources.add_flags(flags);
    let entries = sources.decide(file.is_some());
    SpecErrors::check(sources.errors)?;
    Ok(Resolved { settings: Settings { entries }, warnings: sources.warnings })
}

/// Replaces some values of settings by those of a plan.
pub(super) fn overridden(
    settings: &Settings,
    table: &Table,
    pairs: &[(String, String)],
    place: &str,
) -> Result<Resolved, SpecErrors> {
    replaced(settings, table, pairs, &Origin::Plan { place: place.to_owned() })
}

/// Replaces the values that nobody set by those of a load.
pub(super) fn as_loaded(
    settings: &Settings,
    table: &Table,
    load: &[(&'static str, String)],
) -> Result<Settings, SpecErrors> {
    let is_free = |key: &str| settings.entry(key).is_none_or(|entry| !entry.origin().is_set());
    let pairs: Vec<(String, String)> = load
        .iter()
        .filter(|(key, _)| is_free(key))
        .map(|(key, text)| ((*key).to_owned(), text.clone()))
        .collect();
    Ok(replaced(settings, table, &pairs, &Origin::Loaded)?.settings)
}

fn replaced(
    settings: &Settings,
    table: &Table,
    pairs: &[(String, String)],
    origin: &Origin,
) -> Result<Resolved, SpecErrors> {
    let mut sources = Sources { table, given: HashMap::new(), warnings: Vec::new(), errors: Vec::new() };
    let mut entries = settings.entries.clone();
    let block_size =
        |(key, _): &&(String, String)| table.find(key).is_some_and(|param| param.key == "BLOCK_SZ");
    let block_bytes = pairs.iter().rfind(block_size).and_then(|(_, text)| text.parse().ok());
    let block_bytes = block_bytes.filter(|bytes| *bytes > 0).unwrap_or_else(|| settings.block_bytes());
    for (key, text) in pairs {
        let Some(param) = table.find(key) else {
            let nearest = table.nearest(key);
            sources.errors.push(SpecError::UnknownParameter { key: key.clone(), nearest });
            continue;
        };
        let unset = text.is_empty() && param.is_optional();
        let entry = sources.made(param, (!unset).then_some(text), origin.clone(), block_bytes);
        if let Some(old) = entries.iter_mut().find(|entry| entry.param.key == param.key) {
            *old = entry;
        }
    }
    SpecErrors::check(sources.errors)?;
    Ok(Resolved { settings: Settings { entries }, warnings: sources.warnings })
}

impl<'a> Sources<'a> {
    fn add_file(&mut self, file: &'a ConfFile) {
        self.warnings.extend(file.warnings().iter().cloned());
        // Which line and which of its keys set a parameter: two aliases can set the same one.
        let mut set_by: HashMap<&'static str, (&str, usize)> = HashMap::new();
        for one in file.assignments() {
            let Some(param) = self.table.find(&one.key) else {
                self.warnings.push(Warning::UnknownKey {
                    file: file.name().to_owned(),
                    line: one.line,
                    key: one.key.clone(),
                    nearest: self.table.nearest(&one.key),
                });
                continue;
            };
            if let Some((first_key, first_line)) = set_by.insert(param.key, (&one.key, one.line)) {
                self.warnings.push(Warning::AssignedTwice {
                    file: file.name().to_owned(),
                    first_key: first_key.to_owned(),
                    first_line,
                    last_key: one.key.clone(),
                    last_line: one.line,
                });
            }
            let origin = Origin::File { name: file.name().to_owned(), line: one.line };
            self.given.insert(param.key, Given { text: &one.value, origin });
        }
    }

    fn add_environment(&mut self, environment: &'a [(String, String)]) {
        // The bare keys first, so that the SLOB_ ones override them.
        for (variable, text) in environment {
            let bare = self.table.find(variable).filter(|param| param.bare_environment);
            // An exported but empty variable is how shells say 'not set'.
            if let Some(param) = bare.filter(|_| !text.is_empty()) {
                self.add(param.key, text, Origin::Environment { variable: variable.clone() });
            }
        }
        for (variable, text) in environment {
            let Some(key) = variable.strip_prefix(PREFIX) else { continue };
            match self.table.find(key) {
                Some(param) => self.add(param.key, text, Origin::Environment { variable: variable.clone() }),
                None => self.warnings.push(Warning::UnknownVariable {
                    variable: variable.clone(),
                    nearest: self.table.nearest(key).map(|key| format!("{PREFIX}{key}")),
                }),
            }
        }
    }

    fn add_flags(&mut self, flags: &'a [(String, String)]) {
        for (key, text) in flags {
            match self.table.find(key) {
                Some(param) => self.add(param.key, text, Origin::Flag),
                None => self
                    .errors
                    .push(SpecError::UnknownParameter { key: key.clone(), nearest: self.table.nearest(key) }),
            }
        }
    }

    fn add(&mut self, key: &'static str, text: &'a str, origin: Origin) {
        self.given.insert(key, Given { text, origin });
    }

    fn decide(&mut self, has_file: bool) -> Vec<Entry> {
        // Sizes in bytes are checked in blocks, so the block size comes first.
        let block_bytes = self
            .table
            .find("BLOCK_SZ")
            .and_then(|param| self.chosen(param, has_file).0)
            .and_then(|text| text.parse().ok())
            .filter(|bytes| *bytes > 0)
            .unwrap_or(DEFAULT_BLOCK_BYTES);
        let table = self.table;
        table.params().iter().map(|param| self.entry(param, has_file, block_bytes)).collect()
    }

    /// The text for a parameter and where it comes from; `None` leaves it unset.
    fn chosen(&self, param: &Param, has_file: bool) -> (Option<&'a str>, Origin) {
        match self.given.get(param.key) {
            Some(given) if given.text.is_empty() && param.is_optional() => (None, given.origin.clone()),
            Some(given) => (Some(given.text), given.origin.clone()),
            None if has_file && param.if_deleted.is_some() => (param.if_deleted, Origin::DeletedDefault),
            None => (param.shipped, Origin::ShippedDefault),
        }
    }

    fn entry(&mut self, param: &Param, has_file: bool, block_bytes: u32) -> Entry {
        let (text, origin) = self.chosen(param, has_file);
        self.made(param, text, origin, block_bytes)
    }

    fn made(&mut self, param: &Param, text: Option<&str>, origin: Origin, block_bytes: u32) -> Entry {
        let value = match (text, param.note) {
            (Some(_), Some(note)) => {
                self.warnings.push(Warning::NoEffect { key: param.key, origin: origin.clone(), note });
                None
            }
            (Some(text), None) => self.checked(param, text, &origin, block_bytes),
            (None, _) => None,
        };
        let shipped = param.shipped.and_then(|default| param.kind.parse(default, block_bytes).ok());
        let changed_from_default = value != shipped;
        Entry { param: *param, value, origin, changed_from_default }
    }

    fn checked(&mut self, param: &Param, text: &str, origin: &Origin, block_bytes: u32) -> Option<Value> {
        match param.kind.parse(text, block_bytes) {
            Ok(value) => Some(value),
            Err(bad) => {
                self.errors.push(SpecError::Value {
                    key: param.key,
                    origin: origin.clone(),
                    shown: param.kind.shown(text),
                    permitted: bad.permitted,
                    remedy: remedy(param, origin),
                });
                None
            }
        }
    }
}

fn remedy(param: &Param, origin: &Origin) -> String {
    match origin {
        Origin::File { .. } => {
            let default = param.shown_default(param.default_if_deleted());
            format!("Correct the line, or delete it for the default ({default}).")
        }
        Origin::Environment { variable } => format!("Correct or unset {variable}."),
        Origin::Flag => match param.flag {
            Some(flag) => format!("Correct --{flag}."),
            None => "Correct it on the command line.".to_owned(),
        },
        Origin::Plan { .. } => format!("Correct {} in the plan.", param.key),
        Origin::ShippedDefault | Origin::DeletedDefault | Origin::Loaded => {
            format!("This value does not fit the other settings; set {}.", param.key)
        }
    }
}
