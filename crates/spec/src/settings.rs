//! The value of every parameter and its origin. Flags override the environment, which overrides the file, which overrides the
//! defaults.

use std::collections::HashMap;

use crate::conf::{ConfFile, SpecErrors, assigned_twice};
use crate::param::{FromValue, Param, Value};
use crate::table::{DEFAULT_BLOCK_BYTES, Table};
use crate::types::Secret;

#[cfg(test)]
mod tests;

/// The strongest origin comes last.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
pub enum Origin {
    #[display("default")]
    ShippedDefault,
    /// The original kit has it for a file that lacks the key.
    #[display("default for a file without the key")]
    DeletedDefault,
    /// The data in the database have it.
    #[display("as loaded")]
    Loaded,
    /// The first line is 1.
    #[display("{name} line {line}")]
    File { name: String, line: usize },
    #[display("environment variable {variable}")]
    Environment { variable: String },
    #[display("command line")]
    Flag,
    /// A plan of many runs.
    Plan { place: String },
}

impl Origin {
    pub const fn is_set(&self) -> bool {
        !matches!(self, Self::ShippedDefault | Self::DeletedDefault | Self::Loaded)
    }
}

#[derive(Clone, Debug)]
pub struct Entry {
    param: Param,
    value: Option<Value>,
    origin: Origin,
    changed_from_default: bool,
}

impl Entry {
    pub fn param(&self) -> &Param {
        &self.param
    }

    /// `None` if the parameter is optional and unset.
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    pub fn displayed(&self) -> Option<String> {
        self.value.as_ref().map(Value::to_string)
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Another default may apply.
    pub fn changed_from_default(&self) -> bool {
        self.changed_from_default
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub struct Resolved {
    pub settings: Settings,
    pub warnings: Vec<String>,
}

impl Settings {
    /// `environment` may be the whole environment: only `SLOB_<KEY>` and a few bare keys count. `flags` holds keys and values, of
    /// which the last counts. An empty value unsets an optional parameter. Fails with every refused value.
    pub fn resolve(
        table: &Table,
        file: Option<&ConfFile>,
        environment: &[(String, String)],
        flags: &[(String, String)],
    ) -> Result<Resolved, SpecErrors> {
        let mut sources = Sources { table, given: HashMap::new(), diagnostics: Diagnostics::default() };
        if let Some(file) = file {
            sources.add_file(file);
        }
        sources.add_environment(environment);
        sources.add_flags(flags);
        let entries = sources.decide(file.is_some());
        sources.diagnostics.resolved(entries)
    }

    /// `place` names the part of a plan of many runs. The last text of a key counts. Fails with every unknown key and refused
    /// value.
    pub fn overridden(
        &self,
        table: &Table,
        pairs: &[(String, String)],
        place: &str,
    ) -> Result<Resolved, SpecErrors> {
        self.replaced(table, pairs, &Origin::Plan { place: place.to_owned() })
    }

    /// The load's values replace those that the user did not set. Fails with every unknown key and refused value.
    pub fn as_loaded(&self, table: &Table, load: &[(&'static str, String)]) -> Result<Self, SpecErrors> {
        let is_free = |key: &str| self.entry(key).is_none_or(|entry| !entry.origin.is_set());
        let free = load.iter().filter(|(key, _)| is_free(key));
        let pairs: Vec<_> = free.map(|(key, text)| ((*key).to_owned(), text.clone())).collect();
        Ok(self.replaced(table, &pairs, &Origin::Loaded)?.settings)
    }

    fn replaced(
        &self,
        table: &Table,
        pairs: &[(String, String)],
        origin: &Origin,
    ) -> Result<Resolved, SpecErrors> {
        let mut diagnostics = Diagnostics::default();
        let mut entries = self.entries.clone();
        let is_block_size =
            |(key, _): &&(String, String)| table.find(key).is_some_and(|param| param.key == "BLOCK_SZ");
        let block_bytes = pairs.iter().rfind(is_block_size).and_then(|(_, text)| text.parse().ok());
        let block_bytes = block_bytes.filter(|bytes| *bytes > 0).unwrap_or_else(|| self.block_bytes());
        for (key, text) in pairs {
            let Some(param) = table.find(key) else {
                diagnostics.unknown_parameter(table, key);
                continue;
            };
            let unset = text.is_empty() && param.is_optional();
            let entry = diagnostics.entry(param, (!unset).then_some(text), origin.clone(), block_bytes);
            if let Some(old) = entries.iter_mut().find(|entry| entry.param.key == param.key) {
                *old = entry;
            }
        }
        diagnostics.resolved(entries)
    }

    /// No output shows it.
    pub fn with_password(mut self, password: Secret) -> Self {
        let target = self.entries.iter_mut().find(|entry| entry.param.key == "TARGET");
        if let Some(Value::Target(target)) = target.and_then(|entry| entry.value.as_mut()) {
            *target = target.clone().with_password(password);
        }
        self
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.param.keys().any(|name| name == key))
    }

    /// `None` if it is unset or unknown.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entry(key).and_then(Entry::value)
    }

    pub(crate) fn required<T: FromValue>(&self, key: &str) -> Result<T, SpecErrors> {
        let missing = || SpecErrors(vec![format!("{key} has no value; set it in slob.conf")]);
        self.optional(key).ok_or_else(missing)
    }

    pub(crate) fn optional<T: FromValue>(&self, key: &str) -> Option<T> {
        self.value(key).and_then(T::from_value)
    }

    /// `None` if it is unset.
    pub(crate) fn block_sz(&self) -> Option<u32> {
        self.optional::<&'static str>("BLOCK_SZ").and_then(|text| text.parse().ok())
    }

    /// Converts sizes before a server is asked.
    pub(crate) fn block_bytes(&self) -> u32 {
        self.block_sz().unwrap_or(DEFAULT_BLOCK_BYTES)
    }
}

const PREFIX: &str = "SLOB_";

/// The strongest text so far counts.
struct Sources<'a> {
    table: &'a Table,
    given: HashMap<&'static str, (&'a str, Origin)>,
    diagnostics: Diagnostics,
}

impl<'a> Sources<'a> {
    fn add_file(&mut self, file: &'a ConfFile) {
        self.diagnostics.warnings.extend(file.warnings.iter().cloned());
        // Two aliases can set one parameter.
        let mut set_by: HashMap<&'static str, (&str, usize)> = HashMap::new();
        for assignment in &file.assignments {
            let (key, line) = (assignment.key.as_str(), assignment.line);
            let Some(param) = self.table.find(key) else {
                let said = format!("{} line {line}: {key} is not a known key", file.name);
                match self.table.nearest(key) {
                    // The default would test something else.
                    Some(known) => self
                        .diagnostics
                        .errors
                        .push(format!("{said}; did you mean {known}? Correct the line, or delete it")),
                    None => self.diagnostics.warnings.push(format!("{said} and has no effect")),
                }
                continue;
            };
            if let Some(first) = set_by.insert(param.key, (key, line)) {
                self.diagnostics.warnings.push(assigned_twice(&file.name, first, assignment));
            }
            let origin = Origin::File { name: file.name.clone(), line };
            self.given.insert(param.key, (&assignment.value, origin));
        }
    }

    fn add_environment(&mut self, environment: &'a [(String, String)]) {
        let origin = |variable: &str| Origin::Environment { variable: variable.to_owned() };
        // SLOB_ variables override bare keys.
        for (variable, text) in environment {
            let bare = self.table.find(variable).filter(|param| param.bare_environment);
            // Shells export an empty variable to say 'not set'.
            if let Some(param) = bare.filter(|_| !text.is_empty()) {
                self.given.insert(param.key, (text, origin(variable)));
            }
        }
        for (variable, text) in environment {
            let Some(key) = variable.strip_prefix(PREFIX) else { continue };
            if let Some(param) = self.table.find(key) {
                self.given.insert(param.key, (text, origin(variable)));
            } else {
                let nearest = self.table.nearest(key).map(|key| format!("{PREFIX}{key}"));
                let hint = did_you_mean(nearest.as_deref());
                self.diagnostics.warnings.push(format!(
                    "the environment variable {variable} names no parameter and has no effect{hint}"
                ));
            }
        }
    }

    fn add_flags(&mut self, flags: &'a [(String, String)]) {
        for (key, text) in flags {
            match self.table.find(key) {
                Some(param) => drop(self.given.insert(param.key, (text, Origin::Flag))),
                None => self.diagnostics.unknown_parameter(self.table, key),
            }
        }
    }

    fn decide(&mut self, has_file: bool) -> Vec<Entry> {
        // Sizes in bytes are checked in blocks.
        let block_size = self.table.find("BLOCK_SZ").and_then(|param| self.chosen(param, has_file).0);
        let block_bytes = block_size.and_then(|text| text.parse().ok()).filter(|bytes| *bytes > 0);
        let block_bytes = block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES);
        let mut entries = Vec::new();
        for param in self.table.params() {
            let (text, origin) = self.chosen(param, has_file);
            entries.push(self.diagnostics.entry(param, text, origin, block_bytes));
        }
        entries
    }

    /// `None` if it is unset.
    fn chosen(&self, param: &Param, has_file: bool) -> (Option<&'a str>, Origin) {
        match self.given.get(param.key) {
            Some((text, origin)) if text.is_empty() && param.is_optional() => (None, origin.clone()),
            Some((text, origin)) => (Some(text), origin.clone()),
            None if has_file && param.if_deleted.is_some() => (param.if_deleted, Origin::DeletedDefault),
            None => (param.shipped, Origin::ShippedDefault),
        }
    }
}

#[derive(Default)]
pub(crate) struct Diagnostics {
    pub(crate) errors: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl Diagnostics {
    fn unknown_parameter(&mut self, table: &Table, key: &str) {
        self.errors.push(format!("there is no parameter {key}{}", did_you_mean(table.nearest(key))));
    }

    fn entry(&mut self, param: &Param, text: Option<&str>, origin: Origin, block_bytes: u32) -> Entry {
        let Param { key, kind, .. } = param;
        let mut value = None;
        match (text, param.note) {
            (Some(_), Some(note)) => {
                self.warnings.push(format!("{key} ({origin}) is accepted without effect: {note}"));
            }
            (Some(text), None) => match kind.parse(text, block_bytes) {
                Ok(good) => value = Some(good),
                Err(bad) => {
                    let (shown, remedy) = (kind.shown(text), remedy(param, &origin));
                    let permitted = bad.permitted;
                    self.errors
                        .push(format!("{key} is {shown} ({origin}); it must be {permitted}. {remedy}"));
                }
            },
            (None, _) => {}
        }
        let shipped = param.shipped.and_then(|default| kind.parse(default, block_bytes).ok());
        let changed_from_default = value != shipped;
        Entry { param: *param, value, origin, changed_from_default }
    }

    fn resolved(self, entries: Vec<Entry>) -> Result<Resolved, SpecErrors> {
        SpecErrors::check(self.errors)?;
        Ok(Resolved { settings: Settings { entries }, warnings: self.warnings })
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean {key}?")).unwrap_or_default()
}

fn remedy(param: &Param, origin: &Origin) -> String {
    match origin {
        Origin::File { .. } => {
            let default = param.shown_default(param.default_if_deleted());
            format!("Correct the line, or delete it for the default ({default}).")
        }
        Origin::Environment { variable } => format!("Correct or unset {variable}."),
        Origin::Flag => match param.flag() {
            Some(flag) => format!("Correct --{flag}."),
            None => "Correct it on the command line.".to_owned(),
        },
        Origin::Plan { .. } => format!("Correct {} in the plan.", param.key),
        Origin::ShippedDefault | Origin::DeletedDefault | Origin::Loaded => {
            format!("This value does not fit the other settings; set {}.", param.key)
        }
    }
}
