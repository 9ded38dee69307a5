//! From what is written to what is meant.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use slob_spec::{Kind, Value};

use super::demand;
use super::raw::{RawCommand, RawHook, RawModel, RawPlan, RawVariant, Scalar};
use super::{Hooks, Model, Pairs, Plan, Sessions, Variant};
use crate::command::CommandLine;
use crate::error::{PlanError, PlanErrors};
use crate::hook::Hook;
use crate::order::Order;

/// A name, what it is for, and the parameters that it sets.
type BuiltIn = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The models that need no definition: name, metric, settings.
const BUILT_IN: [BuiltIn; 3] = [
    ("read", "reads", &[("UPDATE_PCT", "0")]),
    ("redo", "redo", &[("UPDATE_PCT", "100"), ("REDO_STRESS", "HEAVY")]),
    ("read-write", "read-write", &[("UPDATE_PCT", "25")]),
];
/// What a twin's name ends with.
const TWIN: &str = ".again";
const NAME: &str = "1 to 20 letters a-z, digits, '.', '_' or '-'";
const SESSIONS: &str = "a number of schemas such as 8, or schemas x threads such as \"2x4\"";
const TIMEOUT: Kind = Kind::Duration { min_s: 1, max_s: 7 * 86_400 };
const DEFAULT_TIMEOUT: &str = "600";
/// The most runs of a plan: a year of them, if each takes an hour.
const MOST_RUNS: u64 = 10_000;
/// The most runs to throw away at a switch, and the most attempts at a run that fails.
const MOST_EXTRA: u32 = 100;
/// The block size does not matter to a time.
const ANY_BLOCK: u32 = 8192;

/// Parameters that the campaign itself sets.
const DECIDED: [(&str, &str); 6] = [
    ("SCHEMAS", "`sessions`"),
    ("NUM_SCHEMAS", "`sessions`"),
    ("THREADS_PER_SCHEMA", "`sessions`"),
    ("NUM_THREADS", "`sessions`"),
    ("RUN_NAME", "variant, model and sessions"),
    ("RESULTS_DIR", "`directory`"),
];

pub(super) fn checked(file: &str, raw: RawPlan) -> Result<Plan, PlanErrors> {
    let mut checks = Checks { file, decided: &DECIDED, errors: Vec::new() };
    let demand = raw.demand.as_ref().and_then(|demand| checks.demand(demand, &raw));
    let name = checks.name(file, "name", raw.name.as_deref().unwrap_or("campaign"));
    let settings = checks.pairs(file, &raw.settings);
    let mut variants: Vec<Variant> = raw.variant.iter().map(|variant| checks.variant(variant)).collect();
    let (models, sessions) = match raw.demand {
        Some(_) => (vec![demand::model()], Vec::new()),
        None => (checks.models(&raw.models, &raw.model), checks.sessions(raw.sessions.as_deref())),
    };
    checks.unique("variant", variants.iter().map(|variant| variant.name.as_str()));
    let baseline = checks.baseline(raw.baseline, &variants);
    if raw.noise
        && let Some(original) = variants.iter().find(|variant| variant.name == baseline)
    {
        let twin = Variant {
            name: format!("{baseline}{TWIN}"),
            twin_of: Some(baseline.clone()),
            ..original.clone()
        };
        variants.push(twin);
        checks.unique("variant", variants.iter().map(|variant| variant.name.as_str()));
    }
    checks.contested(&variants, &models);
    let repeats = checks.repeats(raw.repeats);
    let warmup_runs = checks.few(file, "warmup_runs", raw.warmup_runs.unwrap_or(0));
    let retries = checks.few(file, "retries", raw.retries.unwrap_or(1));
    let lists = [variants.len(), models.len(), sessions.len().max(1)];
    checks.not_too_many(
        lists.iter().fold(u64::from(repeats.get()), |runs, of| runs.saturating_mul(*of as u64)),
    );
    PlanErrors::check(checks.errors)?;
    Ok(Plan {
        file: file.to_owned(),
        name,
        directory: raw.directory,
        order: raw.order.unwrap_or(Order::Interleaved),
        seed: raw.seed.unwrap_or(1),
        repeats,
        warmup_runs,
        retries,
        baseline,
        settings,
        variants,
        demand,
        models,
        sessions,
    })
}

pub(super) struct Checks<'a> {
    pub(super) file: &'a str,
    /// Parameters that nobody may set, and by what they are decided.
    pub(super) decided: &'static [(&'static str, &'static str)],
    pub(super) errors: Vec<PlanError>,
}

impl Checks<'_> {
    pub(super) fn bad(&mut self, place: &str, key: &'static str, value: &str, permitted: &str) {
        let (place, value, permitted) = (place.to_owned(), format!("'{value}'"), permitted.to_owned());
        self.errors.push(PlanError::Value { place, key, value, permitted });
    }

    /// Names become parts of the names of runs, which have room for 64 letters.
    fn name(&mut self, place: &str, key: &'static str, text: &str) -> String {
        let spelt = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
        if text.is_empty() || text.len() > 20 || !text.chars().all(spelt) || text.starts_with('.') {
            self.bad(place, key, text, NAME);
        }
        text.to_owned()
    }

    fn pairs(&mut self, place: &str, settings: &BTreeMap<String, Scalar>) -> Pairs {
        for (key, instead) in self.decided {
            if settings.contains_key(*key) {
                self.errors.push(PlanError::Decided {
                    place: place.to_owned(),
                    key: (*key).to_owned(),
                    instead,
                });
            }
        }
        settings.iter().map(|(key, value)| (key.clone(), value.text())).collect()
    }

    fn variant(&mut self, raw: &RawVariant) -> Variant {
        let place = format!("{}, variant '{}'", self.file, raw.name);
        let mut settings = self.pairs(&place, &raw.settings);
        settings.extend(raw.target.iter().map(|target| ("TARGET".to_owned(), target.clone())));
        let hooks = Hooks {
            prepare: self.hook(&place, "prepare", raw.prepare.as_ref()),
            bounce: self.hook(&place, "bounce", raw.bounce.as_ref()),
            before_run: self.hook(&place, "before_run", raw.before_run.as_ref()),
            after_run: self.hook(&place, "after_run", raw.after_run.as_ref()),
        };
        Variant { name: self.name(&place, "name", &raw.name), twin_of: None, settings, hooks }
    }

    fn hook(&mut self, place: &str, key: &'static str, raw: Option<&RawHook>) -> Option<Hook> {
        let (command, timeout) = match raw? {
            RawHook::Command(command) => (command, DEFAULT_TIMEOUT.to_owned()),
            RawHook::Timed { run, timeout } => (run, timeout.text()),
        };
        let command = match command {
            RawCommand::Line(line) => Some(CommandLine::Shell(line.clone())),
            RawCommand::Words(words) => CommandLine::program(words),
        };
        let Some(command) = command.filter(|command| !command.is_empty()) else {
            self.bad(place, key, "", "a line for the shell, or a list of a program and its arguments");
            return None;
        };
        match TIMEOUT.parse(&timeout, ANY_BLOCK) {
            Ok(Value::Duration(timeout)) => Some(Hook { command, timeout }),
            _ => {
                self.bad(place, "timeout", &timeout, &TIMEOUT.permitted());
                None
            }
        }
    }

    /// The models that are named; all defined ones if none is named; reading if there are none at all.
    fn models(&mut self, named: &Option<Vec<String>>, defined: &[RawModel]) -> Vec<Model> {
        let own: Vec<Model> = defined.iter().map(|model| self.model(model)).collect();
        self.unique("model", own.iter().map(|model| model.name.as_str()));
        let built_in = BUILT_IN.iter().map(|(name, metric, settings)| Model {
            name: (*name).to_owned(),
            metric: (*metric).to_owned(),
            settings: settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect(),
        });
        let known: Vec<Model> = own.iter().cloned().chain(built_in).collect();
        let names = match named {
            Some(names) => names.clone(),
            None if own.is_empty() => vec!["read".to_owned()],
            None => own.iter().map(|model| model.name.clone()).collect(),
        };
        if names.is_empty() {
            self.errors.push(PlanError::Missing {
                place: self.file.to_owned(),
                what: "models is an empty list; name one, such as models = [\"read\"]".to_owned(),
            });
        }
        self.unique("model", names.iter().map(String::as_str));
        let find = |name: &String| known.iter().find(|model| &model.name == name).cloned();
        for name in names.iter().filter(|name| find(name).is_none()) {
            let known: Vec<&str> = known.iter().map(|model| model.name.as_str()).collect();
            self.errors.push(PlanError::UnknownName {
                place: self.file.to_owned(),
                kind: "model",
                name: name.clone(),
                known: known.join(", "),
            });
        }
        names.iter().filter_map(find).collect()
    }

    fn model(&mut self, raw: &RawModel) -> Model {
        let place = format!("{}, model '{}'", self.file, raw.name);
        let settings = self.pairs(&place, &raw.settings);
        let reads_only = settings.iter().any(|(key, text)| key == "UPDATE_PCT" && text.trim() == "0");
        let usual = if reads_only { "reads" } else { "read-write" };
        let metric = raw.metric.clone().unwrap_or_else(|| usual.to_owned());
        Model { name: self.name(&place, "name", &raw.name), metric, settings }
    }

    fn sessions(&mut self, raw: Option<&[Scalar]>) -> Vec<Sessions> {
        let mut sessions: Vec<Sessions> = Vec::new();
        let one = [Scalar::Whole(1)];
        for value in raw.unwrap_or(&one) {
            let text = value.text();
            match parse_sessions(&text) {
                Some(parsed) if sessions.contains(&parsed) => {
                    self.errors.push(PlanError::Twice { kind: "session count", name: text });
                }
                Some(parsed) => sessions.push(parsed),
                None => self.bad(self.file, "sessions", &text, SESSIONS),
            }
        }
        if sessions.is_empty() && self.errors.is_empty() {
            self.bad(self.file, "sessions", "", SESSIONS);
        }
        sessions
    }

    fn repeats(&mut self, raw: Option<u32>) -> NonZeroU32 {
        let repeats = NonZeroU32::new(raw.unwrap_or(3));
        if repeats.is_none() {
            self.bad(self.file, "repeats", "0", "1 or more; 3 to 10 show what is noise");
        }
        repeats.unwrap_or(NonZeroU32::MIN)
    }

    /// A number of runs that stand for nothing by themselves.
    fn few(&mut self, place: &str, key: &'static str, number: u32) -> u32 {
        if number > MOST_EXTRA {
            self.bad(place, key, &number.to_string(), &format!("0 to {MOST_EXTRA}"));
        }
        number
    }

    /// Every run of a plan is worked out beforehand: a slip of the finger must not fill the memory.
    fn not_too_many(&mut self, runs: u64) {
        if runs > MOST_RUNS {
            self.errors.push(PlanError::TooMany { place: self.file.to_owned(), runs, most: MOST_RUNS });
        }
    }

    fn baseline(&mut self, raw: Option<String>, variants: &[Variant]) -> String {
        let Some(first) = variants.first() else {
            self.errors.push(PlanError::Missing {
                place: self.file.to_owned(),
                what: "there is no variant; write [[variant]] and below it name = \"...\"".to_owned(),
            });
            return String::new();
        };
        let baseline = raw.unwrap_or_else(|| first.name.clone());
        if !variants.iter().any(|variant| variant.name == baseline) {
            let known: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
            self.errors.push(PlanError::UnknownName {
                place: format!("{}, baseline", self.file),
                kind: "variant",
                name: baseline.clone(),
                known: known.join(", "),
            });
        }
        baseline
    }

    fn unique<'b>(&mut self, kind: &'static str, names: impl Iterator<Item = &'b str>) {
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            if !seen.insert(name) {
                self.errors.push(PlanError::Twice { kind, name: name.to_owned() });
            }
        }
    }

    /// A parameter that both a variant and a model set would silently belong to one of them.
    fn contested(&mut self, variants: &[Variant], models: &[Model]) {
        for variant in variants.iter().filter(|variant| variant.twin_of.is_none()) {
            for model in models {
                let shared = variant
                    .settings
                    .iter()
                    .filter(|(key, _)| model.settings.iter().any(|(other, _)| other == key));
                let errors: Vec<PlanError> = shared
                    .map(|(key, _)| PlanError::Contested {
                        key: key.clone(),
                        variant: variant.name.clone(),
                        model: model.name.clone(),
                    })
                    .collect();
                self.errors.extend(errors);
            }
        }
    }
}

/// `8` is eight schemas with a session each; `2x4` two schemas with four.
fn parse_sessions(text: &str) -> Option<Sessions> {
    let (schemas, threads) = text.split_once('x').unwrap_or((text, "1"));
    Some(Sessions { schemas: schemas.trim().parse().ok()?, threads: threads.trim().parse().ok()? })
}
