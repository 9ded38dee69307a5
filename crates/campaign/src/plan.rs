//! A campaign's plan: from TOML to checked values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use slob_demand::{Options, parse_time};
use slob_spec::{Kind, SpecErrors, Table};
use strum::VariantArray;

use crate::hook::{CommandLine, Hook, Moment};

pub(crate) type Pairs = Vec<(String, String)>;

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub file: String,
    pub name: String,
    pub directory: Option<PathBuf>,
    pub order: Order,
    pub seed: u64,
    /// In slots, one for each slot.
    pub repeats: NonZeroU32,
    /// Each round begins so long after the one before it.
    pub every: Option<Duration>,
    pub warmup_runs: u32,
    pub retries: u32,
    pub baseline: String,
    pub(crate) settings: Pairs,
    pub variants: Vec<Variant>,
    /// Makes each step a search for headroom.
    pub demand: Option<Options>,
    pub models: Vec<Model>,
    pub sessions: Vec<Sessions>,
    /// Each model is then a company of targets that are measured beside each other.
    pub neighbours: Vec<Neighbour>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Rounds hold every cell once, shuffled: drift affects all variants alike (Fisher's randomised block design, *The Design of
    /// Experiments*, 1935, with time as the block).
    Interleaved,
    /// All repeats of a cell in a row, as SLOB does. Drift affects later variants.
    Blocked,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    pub name: String,
    pub(crate) settings: Pairs,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    pub name: String,
    /// The original of an A/A pair.
    pub twin_of: Option<String>,
    pub(crate) settings: Pairs,
    pub hooks: BTreeMap<Moment, Hook>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub name: String,
    pub metric: String,
    pub(crate) staff: Staff,
    pub(crate) settings: Pairs,
    pub members: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Staff {
    Alike,
    /// Half of the sessions only update, and half only read.
    HalfWrites,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, derive_more::Display,
)]
#[display("{schemas}x{threads}")]
pub struct Sessions {
    pub schemas: NonZeroU32,
    pub threads: NonZeroU32,
}

impl Sessions {
    pub fn total(self) -> u32 {
        self.schemas.get().saturating_mul(self.threads.get())
    }
}

impl Plan {
    /// `file` is its name in messages. Fails with all that is wrong, at once.
    pub fn parse(file: &str, text: &str) -> Result<Self, PlanErrors> {
        let toml = |error: toml::de::Error| PlanError::Toml { file: file.into(), message: error.to_string() };
        let table: toml::Table = text.parse().map_err(toml)?;
        PlanErrors::check(unknown_keys(&table, file))?;
        let raw: RawPlan = toml::from_str(text).map_err(toml)?;
        checked(file, raw)
    }

    /// A search finds its own, and neighbours have each their own.
    pub(crate) fn sessions_of_steps(&self) -> Vec<Option<Sessions>> {
        match self.sessions.is_empty() {
            true => vec![None],
            false => self.sessions.iter().copied().map(Some).collect(),
        }
    }

    /// Makes a round of runs `every` so often, for so long.
    pub fn in_slots(&mut self, every: &str, for_text: &str) -> Result<(), PlanErrors> {
        let mut checks = Checks { file: &self.file, decided: &[], errors: Vec::new() };
        let durations = [("--every", every), ("--for", for_text)].map(|(key, text)| {
            parse_time(SLOTS, text).or_else(|| {
                checks.bad("the command line", key, text, &SLOTS.permitted());
                None
            })
        });
        let why = "nobody knows how long a search for headroom takes";
        checks.contradictions("demand", [("--every", self.demand.is_some(), why)]);
        if self.order == Order::Blocked {
            let permitted = "interleaved with --every: a slot holds each run once";
            checks.bad(&self.file, "order", "blocked", permitted);
        }
        if let [Some(every), Some(during)] = durations {
            match u32::try_from(during.as_nanos() / every.as_nanos()).ok().and_then(NonZeroU32::new) {
                Some(slots) => self.repeats = slots,
                None => checks.bad("the command line", "--for", for_text, "as long as --every, or longer"),
            }
            checks.number(self.variants.len() * self.models.len() * self.sessions.len().max(1), self.repeats);
            self.every = Some(every);
        }
        PlanErrors::check(checks.errors)
    }

    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}

pub fn is_set_by_plan(key: &str) -> bool {
    SET_BY_SEARCH.iter().any(|(own, _)| *own == key)
}

const SET_BY_SEARCH: [(&str, &str); 19] = [
    ("THREADS_PER_SCHEMA", "`demand`"),
    ("NUM_THREADS", "`demand`"),
    ("WRITERS", "`demand`"),
    ("READERS", "`demand`"),
    ("RATE", "`demand`"),
    ("ARRIVALS", "`demand`"),
    ("UPDATE_PCT", "`demand`"),
    ("SCAN_PCT", "`demand`"),
    ("WORK_UNIT", "`demand`"),
    ("UPDATE_WORK_UNIT", "`demand`"),
    ("REDO_STRESS", "`demand`"),
    ("COMMIT_EVERY", "`demand`"),
    ("DO_HOTSPOT", "`demand`"),
    ("HOTSPOT_MB", "`demand`"),
    ("HOTSPOT_OFFSET_MB", "`demand`"),
    ("HOTSPOT_FREQUENCY", "`demand`"),
    ("WORK_LOOP", "`demand`"),
    ("RUN_NAME", "the search"),
    ("RESULTS_DIR", "`directory`"),
];

impl Checks<'_> {
    fn demand(&mut self, options: &Options, plan: &RawPlan) -> Options {
        self.decided = &SET_BY_SEARCH;
        let decides = "each search finds its own sessions and load from the profile";
        let warms_up = plan.warmup_runs.is_some_and(|runs| runs > 0);
        let contradictions = [
            ("sessions", plan.sessions.is_some(), decides),
            ("models", plan.models.is_some(), decides),
            ("[[model]]", !plan.model.is_empty(), decides),
            ("warmup_runs", warms_up, "each search begins with its calibration"),
        ];
        self.contradictions("demand", contradictions);
        let place = format!("{}, demand", self.file);
        for (key, value, permitted) in options.faults() {
            self.bad(&place, key, &value, permitted);
        }
        options.clone()
    }
}

fn demand<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Options>, D::Error> {
    match toml::Value::deserialize(value)? {
        toml::Value::String(profile) => Ok(Some(Options { profile: profile.into(), ..Options::default() })),
        // The default is that of a flag: a plan says which database it is about.
        chosen if chosen.get("profile").is_none() => Err(D::Error::custom("demand has no `profile`")),
        chosen => Options::deserialize(chosen).map(Some).map_err(D::Error::custom),
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawPlan {
    name: Option<String>,
    directory: Option<PathBuf>,
    baseline: Option<String>,
    order: Option<Order>,
    seed: Option<u64>,
    repeats: Option<u32>,
    warmup_runs: Option<u32>,
    retries: Option<u32>,
    noise: bool,
    #[serde(deserialize_with = "demand")]
    demand: Option<Options>,
    sessions: Option<Vec<Scalar>>,
    models: Option<Vec<String>>,
    settings: BTreeMap<String, Scalar>,
    variant: Vec<RawVariant>,
    model: Vec<RawModel>,
    neighbour: Vec<RawNeighbour>,
    together: Option<Vec<Vec<String>>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNeighbour {
    name: String,
    target: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVariant {
    name: String,
    target: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
    prepare: Option<RawHook>,
    bounce: Option<RawHook>,
    before_run: Option<RawHook>,
    after_run: Option<RawHook>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    name: String,
    metric: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RawHook {
    Command(CommandLine),
    Timed { run: CommandLine, timeout: Scalar },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Flag(bool),
    Whole(i64),
    Fraction(f64),
    Text(String),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Self::Flag(true) => "TRUE".to_owned(),
            Self::Flag(false) => "FALSE".to_owned(),
            Self::Whole(number) => number.to_string(),
            Self::Fraction(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

type BuiltIn = (&'static str, &'static str, Staff, &'static [(&'static str, &'static str)]);

/// Models of the harness that compared file systems with the first kits.
const BUILT_IN: [BuiltIn; 4] = [
    ("read", "reads", Staff::Alike, &[("UPDATE_PCT", "0")]),
    ("redo", "redo", Staff::Alike, &[("UPDATE_PCT", "100"), ("REDO_STRESS", "HEAVY")]),
    ("write", "writes", Staff::Alike, &[("UPDATE_PCT", "100"), ("REDO_STRESS", "LITE")]),
    ("read-write", "read-write", Staff::HalfWrites, &[]),
];
const TWIN: &str = ".again";
const ONLY_VARIANT: &str = "free";
const EVERYBODY: &str = "all";
const NEIGHBOURS: std::ops::RangeInclusive<usize> = 2..=8;
const NAME: &str = "1 to 20 letters a-z, digits, '.', '_' or '-'";
const SESSIONS: &str = "a number of schemas such as 8, or schemas x threads such as \"2x4\"";
const TIMEOUT: Kind = Kind::Duration { min_s: 1, max_s: 7 * 86_400 };
const SLOTS: Kind = Kind::Duration { min_s: 1, max_s: 366 * 86_400 };
const DEFAULT_TIMEOUT: &str = "600";
/// A year of runs of an hour each.
const MOST_RUNS: u64 = 10_000;
/// Most discarded runs at a switch, and attempts at a failing run.
const MOST_EXTRA: u32 = 100;

/// The place where a plan says what the campaign sets.
const SET_BY_CAMPAIGN: [(&str, &str); 8] = [
    ("SCHEMAS", "`sessions`"),
    ("NUM_SCHEMAS", "`sessions`"),
    ("THREADS_PER_SCHEMA", "`sessions`"),
    ("NUM_THREADS", "`sessions`"),
    ("WRITERS", "`sessions` and the model 'read-write'"),
    ("READERS", "`sessions` and the model 'read-write'"),
    ("RUN_NAME", "variant, model and sessions"),
    ("RESULTS_DIR", "`directory`"),
];

fn checked(file: &str, raw: RawPlan) -> Result<Plan, PlanErrors> {
    let mut checks = Checks { file, decided: &SET_BY_CAMPAIGN, errors: Vec::new() };
    let demand = raw.demand.as_ref().map(|demand| checks.demand(demand, &raw));
    let name = checks.name(file, "name", raw.name.as_deref().unwrap_or("campaign"));
    let settings = checks.pairs(file, &raw.settings);
    let mut variants: Vec<Variant> = raw.variant.iter().map(|variant| checks.variant(variant)).collect();
    let neighbours = checks.neighbours(&raw);
    if !raw.neighbour.is_empty() && variants.is_empty() {
        let only = RawVariant { name: ONLY_VARIANT.to_owned(), ..RawVariant::default() };
        variants.push(checks.variant(&only));
    }
    let (models, sessions) = match raw.demand {
        _ if !raw.neighbour.is_empty() => {
            (checks.companies(&neighbours, raw.together.as_deref()), Vec::new())
        }
        // A search sets the workload itself.
        Some(_) => (vec![model("headroom", "headroom", Staff::Alike, Vec::new())], Vec::new()),
        None => (checks.models(&raw.models, &raw.model), checks.sessions(raw.sessions.as_deref())),
    };
    checks.unique("variant", variants.iter().map(|variant| variant.name.as_str()));
    let baseline = checks.baseline(raw.baseline, &variants);
    if raw.noise
        && let Some(original) = variants.iter().find(|variant| variant.name == baseline)
    {
        let name = format!("{baseline}{TWIN}");
        let twin = Variant { name, twin_of: Some(baseline.clone()), ..original.clone() };
        variants.push(twin);
        checks.unique("variant", variants.iter().map(|variant| variant.name.as_str()));
    }
    checks.contested(&variants, "model", models.iter().map(|model| (&model.name, &model.settings)));
    checks.contested(&variants, "neighbour", neighbours.iter().map(|one| (&one.name, &one.settings)));
    checks.halves(&models, &sessions);
    let repeats = checks.repeats(raw.repeats);
    let warmup_runs = checks.few("warmup_runs", raw.warmup_runs.unwrap_or(0));
    let retries = checks.few("retries", raw.retries.unwrap_or(1));
    checks.number(variants.len() * models.len() * sessions.len().max(1), repeats);
    PlanErrors::check(checks.errors)?;
    Ok(Plan {
        file: file.to_owned(),
        name,
        directory: raw.directory,
        order: raw.order.unwrap_or(Order::Interleaved),
        seed: raw.seed.unwrap_or(1),
        repeats,
        every: None,
        warmup_runs,
        retries,
        baseline,
        settings,
        variants,
        demand,
        models,
        sessions,
        neighbours,
    })
}

fn model(name: &str, metric: &str, staff: Staff, settings: Pairs) -> Model {
    Model { name: name.to_owned(), metric: metric.to_owned(), staff, settings, members: Vec::new() }
}

struct Checks<'a> {
    file: &'a str,
    decided: &'static [(&'static str, &'static str)],
    errors: Vec<PlanError>,
}

impl Checks<'_> {
    fn bad(&mut self, place: &str, key: &'static str, value: &str, permitted: &str) {
        let (place, value, permitted) = (place.to_owned(), format!("'{value}'"), permitted.to_owned());
        self.errors.push(PlanError::Value { place, key, value, permitted });
    }

    /// The runs would fill the memory.
    fn number(&mut self, of_repeat: usize, repeats: NonZeroU32) {
        let runs = u64::from(repeats.get()).saturating_mul(of_repeat as u64);
        if runs > MOST_RUNS {
            self.errors.push(PlanError::TooMany { place: self.file.to_owned(), runs, most: MOST_RUNS });
        }
    }

    /// Run names, which contain these names, hold 64 characters.
    fn name(&mut self, place: &str, key: &'static str, text: &str) -> String {
        let spelt = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
        if text.is_empty() || text.len() > 20 || !text.chars().all(spelt) || text.starts_with('.') {
            self.bad(place, key, text, NAME);
        }
        text.to_owned()
    }

    fn pairs(&mut self, place: &str, settings: &BTreeMap<String, Scalar>) -> Pairs {
        for (key, instead) in self.decided.iter().filter(|(key, _)| settings.contains_key(*key)) {
            let (place, key) = (place.to_owned(), (*key).to_owned());
            self.errors.push(PlanError::Decided { place, key, instead });
        }
        settings.iter().map(|(key, value)| (key.clone(), value.text())).collect()
    }

    fn variant(&mut self, raw: &RawVariant) -> Variant {
        let place = format!("{}, variant '{}'", self.file, raw.name);
        let mut settings = self.pairs(&place, &raw.settings);
        settings.extend(raw.target.iter().map(|target| ("TARGET".to_owned(), target.clone())));
        let hooks = [
            (Moment::Prepare, &raw.prepare),
            (Moment::Bounce, &raw.bounce),
            (Moment::BeforeRun, &raw.before_run),
            (Moment::AfterRun, &raw.after_run),
        ];
        let hook = |(moment, raw): (Moment, &Option<RawHook>)| {
            Some((moment, self.hook(&place, moment.into(), raw.as_ref()?)?))
        };
        let hooks = hooks.into_iter().filter_map(hook).collect();
        Variant { name: self.name(&place, "name", &raw.name), twin_of: None, settings, hooks }
    }

    fn hook(&mut self, place: &str, key: &'static str, raw: &RawHook) -> Option<Hook> {
        let (command, timeout) = match raw {
            RawHook::Command(command) => (command, DEFAULT_TIMEOUT.to_owned()),
            RawHook::Timed { run, timeout } => (run, timeout.text()),
        };
        if command.is_empty() {
            self.bad(place, key, "", "a line for the shell, or a list of a program and its arguments");
            return None;
        }
        let parsed = parse_time(TIMEOUT, &timeout);
        if parsed.is_none() {
            self.bad(place, "timeout", &timeout, &TIMEOUT.permitted());
        }
        Some(Hook { command: command.clone(), timeout: parsed? })
    }

    /// Without names all defined models count; without any, `read`.
    fn models(&mut self, named: &Option<Vec<String>>, defined: &[RawModel]) -> Vec<Model> {
        let own: Vec<Model> = defined.iter().map(|model| self.model(model)).collect();
        self.unique("model", own.iter().map(|model| model.name.as_str()));
        let built_in = BUILT_IN.iter().map(|(name, metric, staff, settings)| {
            let pair = |(key, text): &(&str, &str)| ((*key).to_owned(), (*text).to_owned());
            model(name, metric, *staff, settings.iter().map(pair).collect())
        });
        let known: Vec<Model> = own.iter().cloned().chain(built_in).collect();
        let names = match named {
            Some(names) => names.clone(),
            None if own.is_empty() => vec!["read".to_owned()],
            None => own.iter().map(|model| model.name.clone()).collect(),
        };
        if names.is_empty() {
            self.missing("models is an empty list; name one, such as models = [\"read\"]");
        }
        self.unique("model", names.iter().map(String::as_str));
        let find = |name: &String| known.iter().find(|model| &model.name == name).cloned();
        for name in names.iter().filter(|name| find(name).is_none()) {
            self.unknown(self.file.to_owned(), "model", name, known.iter().map(|model| model.name.as_str()));
        }
        names.iter().filter_map(find).collect()
    }

    fn model(&mut self, raw: &RawModel) -> Model {
        let place = format!("{}, model '{}'", self.file, raw.name);
        let settings = self.pairs(&place, &raw.settings);
        let reads_only = settings.iter().any(|(key, text)| key == "UPDATE_PCT" && text.trim() == "0");
        let usual = if reads_only { "reads" } else { "read-write" };
        let metric = raw.metric.clone().unwrap_or_else(|| usual.to_owned());
        model(&self.name(&place, "name", &raw.name), &metric, Staff::Alike, settings)
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

    fn halves(&mut self, models: &[Model], sessions: &[Sessions]) {
        let Some(model) = models.iter().find(|model| model.staff == Staff::HalfWrites) else { return };
        for sessions in sessions.iter().filter(|sessions| !sessions.total().is_multiple_of(2)) {
            let permitted = format!("an even number for the model '{}', of which half write", model.name);
            self.bad(self.file, "sessions", &sessions.to_string(), &permitted);
        }
    }

    fn repeats(&mut self, raw: Option<u32>) -> NonZeroU32 {
        let repeats = NonZeroU32::new(raw.unwrap_or(3));
        if repeats.is_none() {
            self.bad(self.file, "repeats", "0", "1 or more; 3 to 10 show what is noise");
        }
        repeats.unwrap_or(NonZeroU32::MIN)
    }

    fn few(&mut self, key: &'static str, number: u32) -> u32 {
        if number > MOST_EXTRA {
            self.bad(self.file, key, &number.to_string(), &format!("0 to {MOST_EXTRA}"));
        }
        number
    }

    fn baseline(&mut self, raw: Option<String>, variants: &[Variant]) -> String {
        let Some(first) = variants.first() else {
            self.missing("there is no variant; write [[variant]] and below it name = \"...\"");
            return String::new();
        };
        let baseline = raw.unwrap_or_else(|| first.name.clone());
        if !variants.iter().any(|variant| variant.name == baseline) {
            let known = variants.iter().map(|variant| variant.name.as_str());
            self.unknown(format!("{}, baseline", self.file), "variant", &baseline, known);
        }
        baseline
    }

    fn unknown<'b>(
        &mut self,
        place: String,
        kind: &'static str,
        name: &str,
        known: impl Iterator<Item = &'b str>,
    ) {
        let known = known.collect::<Vec<_>>().join(", ");
        self.errors.push(PlanError::UnknownName { place, kind, name: name.to_owned(), known });
    }

    fn unique<'b>(&mut self, kind: &'static str, names: impl Iterator<Item = &'b str>) {
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name) {
                self.errors.push(PlanError::Twice { kind, name: name.to_owned() });
            }
        }
    }

    /// Refuses a parameter that a variant sets, and a part of another kind too.
    fn contested<'b>(
        &mut self,
        variants: &[Variant],
        kind: &'static str,
        parts: impl Iterator<Item = (&'b String, &'b Pairs)>,
    ) {
        for (name, settings) in parts {
            for variant in variants.iter().filter(|variant| variant.twin_of.is_none()) {
                let is_shared = |key: &str| settings.iter().any(|(other, _)| other == key);
                let shared = variant.settings.iter().filter(|(key, _)| is_shared(key));
                self.errors.extend(shared.map(|(key, _)| PlanError::Contested {
                    key: key.clone(),
                    variant: variant.name.clone(),
                    kind,
                    name: name.clone(),
                }));
            }
        }
    }

    fn neighbours(&mut self, plan: &RawPlan) -> Vec<Neighbour> {
        if plan.neighbour.is_empty() {
            if plan.together.is_some() {
                self.missing("`together` needs the targets that it names: write [[neighbour]] for each");
            }
            return Vec::new();
        }
        self.decided = &SET_BY_CAMPAIGN[6..];
        let each = "each neighbour has its own settings";
        let own = "each neighbour has its own SCHEMAS and THREADS_PER_SCHEMA";
        let contradictions = [
            ("sessions", plan.sessions.is_some(), own),
            ("models", plan.models.is_some(), each),
            ("[[model]]", !plan.model.is_empty(), each),
            ("demand", plan.demand.is_some(), "a search raises one load"),
        ];
        self.contradictions("[[neighbour]]", contradictions);
        if !NEIGHBOURS.contains(&plan.neighbour.len()) {
            let (least, most, found) = (NEIGHBOURS.start(), NEIGHBOURS.end(), plan.neighbour.len());
            self.missing(&format!("the plan has {found} [[neighbour]]; there must be {least} to {most}"));
        }
        self.unique("neighbour", plan.neighbour.iter().map(|one| one.name.as_str()));
        plan.neighbour.iter().map(|raw| self.neighbour(raw)).collect()
    }

    fn neighbour(&mut self, raw: &RawNeighbour) -> Neighbour {
        let place = format!("{}, neighbour '{}'", self.file, raw.name);
        let spelt = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if !(1..=10).contains(&raw.name.len()) || !raw.name.chars().all(spelt) || raw.name == EVERYBODY {
            self.bad(&place, "name", &raw.name, "1 to 10 letters a-z, digits, '_' or '-', and not 'all'");
        }
        let mut settings = self.pairs(&place, &raw.settings);
        settings.extend(raw.target.iter().map(|target| ("TARGET".to_owned(), target.clone())));
        Neighbour { name: raw.name.clone(), settings }
    }

    /// Each neighbour alone comes first, then those of `together`; by default each pair, and all.
    fn companies(&mut self, neighbours: &[Neighbour], together: Option<&[Vec<String>]>) -> Vec<Model> {
        let names: Vec<String> = neighbours.iter().map(|one| one.name.clone()).collect();
        let mut companies: Vec<Vec<String>> = names.iter().map(|name| vec![name.clone()]).collect();
        match together {
            Some(asked) => companies.extend(asked.iter().map(|company| self.company(company, &names))),
            None => {
                let pair = |(at, one): (usize, &String)| -> Vec<Vec<String>> {
                    names[at + 1..].iter().map(|other| vec![one.clone(), other.clone()]).collect()
                };
                companies.extend(names.iter().enumerate().flat_map(pair));
                companies.extend((names.len() > 2).then(|| names.clone()));
            }
        }
        let company = |members: Vec<String>| {
            let is_all = members.len() > 2 && members.len() == names.len();
            let name = if is_all { EVERYBODY.to_owned() } else { members.join(".") };
            Model { members, ..model(&name, "operations_per_s", Staff::Alike, Vec::new()) }
        };
        let companies: Vec<Model> = companies.into_iter().map(company).collect();
        self.unique("company", companies.iter().map(|company| company.name.as_str()));
        companies
    }

    fn company(&mut self, asked: &[String], names: &[String]) -> Vec<String> {
        let place = format!("{}, together", self.file);
        for name in asked.iter().filter(|name| !names.contains(name)) {
            self.unknown(place.clone(), "neighbour", name, names.iter().map(String::as_str));
        }
        self.unique("name in a company", asked.iter().map(String::as_str));
        if asked.len() < 2 {
            let permitted = "two names or more; each is measured alone anyway";
            self.bad(&place, "a company", &asked.join(", "), permitted);
        }
        names.iter().filter(|name| asked.contains(name)).cloned().collect()
    }

    fn missing(&mut self, what: &str) {
        self.errors.push(PlanError::Missing { place: self.file.to_owned(), what: what.to_owned() });
    }

    fn contradictions<const N: usize>(
        &mut self,
        with: &'static str,
        keys: [(&'static str, bool, &'static str); N],
    ) {
        for (key, _, why) in keys.into_iter().filter(|(_, is_there, _)| *is_there) {
            self.errors.push(PlanError::Contradiction { place: self.file.to_owned(), key, with, why });
        }
    }
}

/// `8` is eight schemas with one session each; `2x4` two schemas with four.
fn parse_sessions(text: &str) -> Option<Sessions> {
    let (schemas, threads) = text.split_once('x').unwrap_or((text, "1"));
    Some(Sessions { schemas: schemas.trim().parse().ok()?, threads: threads.trim().parse().ok()? })
}

const ALIKE: f64 = 0.6;

/// The parameter table checks the keys of `settings`.
fn unknown_keys(plan: &toml::Table, file: &str) -> Vec<PlanError> {
    let mut errors = unknown_of(plan, &keys::<RawPlan>(), file);
    if let Some(toml::Value::Table(demand)) = plan.get("demand") {
        errors.extend(unknown_of(demand, &keys::<Options>(), &format!("{file}, demand")));
    }
    let lists = [
        ("variant", keys::<RawVariant>()),
        ("neighbour", keys::<RawNeighbour>()),
        ("model", keys::<RawModel>()),
    ];
    for (list, known) in lists {
        let tables = plan.get(list).and_then(toml::Value::as_array).into_iter().flatten();
        for (number, table) in (1..).zip(tables.filter_map(toml::Value::as_table)) {
            let name = table.get("name").and_then(toml::Value::as_str);
            let name = name.map_or_else(|| number.to_string(), |name| format!("'{name}'"));
            let place = format!("{file}, {list} {name}");
            errors.extend(unknown_of(table, &known, &place));
            for hook in Moment::VARIANTS.iter().map(<&str>::from).filter(|_| list == "variant") {
                if let Some(toml::Value::Table(table)) = table.get(hook) {
                    let known = ["run", "timeout"].map(str::to_owned);
                    errors.extend(unknown_of(table, &known, &format!("{place}, {hook}")));
                }
            }
        }
    }
    errors
}

fn keys<T: Default + Serialize>() -> Vec<String> {
    let table = serde_json::to_value(T::default()).unwrap_or_default();
    table.as_object().into_iter().flat_map(|keys| keys.keys().cloned()).collect()
}

fn unknown_of(table: &toml::Table, known: &[String], place: &str) -> Vec<PlanError> {
    let error = |key: &String| {
        let hint = advice_on(key, known);
        PlanError::UnknownKey { place: place.to_owned(), key: key.clone(), hint }
    };
    table.keys().filter(|key| !known.contains(key)).map(error).collect()
}

/// Where an unknown key belongs, or the likely one.
fn advice_on(key: &str, known: &[String]) -> String {
    let sections = [
        ("at the top of the plan", keys::<RawPlan>()),
        ("in [[variant]]", keys::<RawVariant>()),
        ("in [[model]]", keys::<RawModel>()),
        ("in [[neighbour]]", keys::<RawNeighbour>()),
        ("in [demand]", keys::<Options>()),
        ("in a hook such as variant.prepare", ["run", "timeout"].map(str::to_owned).to_vec()),
    ];
    let places = sections.iter().filter(|(_, keys)| keys.iter().any(|known| known == key));
    let places: Vec<&str> = places.map(|(place, _)| *place).collect();
    if !places.is_empty() {
        return format!("; it belongs {}", places.join(", or "));
    }
    // Writing a parameter at the top is a common slip.
    let is_parameter = |name: &str| Table::new("", &[]).params().iter().any(|param| param.key == name);
    let upper = key.to_uppercase();
    if key == upper || is_parameter(&upper) {
        return format!("; a parameter belongs in settings: settings.{upper}");
    }
    let alike = |name: &&String| strsim::jaro_winkler(&key.to_lowercase(), name);
    let best = known.iter().max_by(|a, b| alike(a).total_cmp(&alike(b))).filter(|best| alike(best) >= ALIKE);
    best.map(|key| format!("; did you mean {key}?")).unwrap_or_default()
}

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("{file}: {message}")]
    Toml { file: String, message: String },
    #[error("{place}: there is no key '{key}'{hint}")]
    UnknownKey { place: String, key: String, hint: String },
    #[error("{place}: {key} is {value}; it must be {permitted}")]
    Value { place: String, key: &'static str, value: String, permitted: String },
    #[error("{place}: {what}")]
    Missing { place: String, what: String },
    #[error("the plan has two {kind}s called '{name}'; give one of them another name")]
    Twice { kind: &'static str, name: String },
    #[error("{place}: there is no {kind} '{name}'; there are {known}")]
    UnknownName { place: String, kind: &'static str, name: String, known: String },
    #[error(
        "{place}: variants x models x sessions x repeats come to {runs} runs; at most {most} are possible. Lower `repeats` \
         (with --every the slots), or make several plans."
    )]
    TooMany { place: String, runs: u64, most: u64 },
    #[error("{place}: {key} is decided by the campaign ({instead}); take it out of the settings")]
    Decided { place: String, key: String, instead: &'static str },
    #[error("{place}: `{key}` and `{with}` contradict each other: {why}; take one of them out")]
    Contradiction { place: String, key: &'static str, with: &'static str, why: &'static str },
    #[error("{key} is set by variant '{variant}' and by {kind} '{name}'; take it out of one of them")]
    Contested { key: String, variant: String, kind: &'static str, name: String },
    #[error("{place}: {errors}")]
    Run { place: String, errors: SpecErrors },
}

#[derive(Debug)]
pub struct PlanErrors(Vec<PlanError>);

impl PlanErrors {
    pub(crate) fn check(errors: Vec<PlanError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }
}

impl From<PlanError> for PlanErrors {
    fn from(error: PlanError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said: Vec<String> = Vec::new();
        for text in self.0.iter().map(ToString::to_string) {
            if !said.contains(&text) {
                said.push(text);
            }
        }
        f.write_str(&said.join("\n"))
    }
}

impl std::error::Error for PlanErrors {}
#[cfg(test)]
mod tests;
