//! The demand of a test, the target that is to carry it, and the plan between them.

use std::time::Duration;

use serde_json::json;
use slob_facts::{CARRIED, Judged, Question};
use slob_record::Record;
use slob_spec::{Kind, LoadSpec, Settings, SpecErrors, Value};

use crate::options::{Options, parse_time};
use crate::runs::measured_by_run;
use crate::{
    By, CALIBRATION_RUNS, Calibrated, Choice, Costs, Demand, DemandError, Limits, Parameters, Profile,
    calibrate, compare, solve,
};

const CALIBRATION: Kind = Kind::Duration { min_s: 2, max_s: 86_400 };

pub type Pairs = Vec<(&'static str, String)>;

/// Must not repeat a run that was made before an interruption.
pub trait Runs {
    type Failure: From<DemandError>;

    fn run(&self, name: &str, pairs: &[(&str, String)]) -> Result<Record, Self::Failure>;

    /// Why the target refuses a run; `None` if the user ended the search.
    fn refusal(failure: &Self::Failure) -> Option<String>;

    /// True if another run would exceed the time of the search.
    fn is_out_of_time(&self) -> bool;

    fn say(&self, line: &str);
}

pub struct Goal {
    pub profile: Profile,
    pub choice: Choice,
    pub database: String,
    pub block_bytes: Option<u32>,
    pub demand: Demand,
    calibration: String,
    most_sessions: u32,
}

impl Goal {
    pub fn of(options: &Options, profile: Profile) -> Result<Self, DemandError> {
        let names = || By::ALL.iter().map(|by| by.name()).collect::<Vec<_>>().join(", ");
        let by = options.by.as_deref().map(|name| {
            let error = |_| DemandError::Usage(format!("by is '{name}'; it must be one of {}", names()));
            name.parse::<By>().map_err(error)
        });
        let choice = Choice {
            at: options.at.parse()?,
            by: by.transpose()?.unwrap_or_default(),
            grow: options.grow,
            peak_factor: options.peak_factor,
        };
        let profile = match &options.instance {
            Some(instance) => profile.of_instance(instance),
            None => profile,
        };
        let demand = profile
            .demand(&choice)
            .map_err(|error| DemandError::Usage(format!("{}: {error}", options.profile.display())))?;
        let calibration = &options.calibration;
        if parse_time(CALIBRATION, calibration).is_none() {
            let permitted = CALIBRATION.permitted();
            return Err(DemandError::Usage(format!("calibration is {calibration}; it must be {permitted}")));
        }
        Ok(Self {
            database: profile.subject.words(),
            block_bytes: profile.subject.block_bytes,
            demand,
            calibration: calibration.clone(),
            most_sessions: options.max_sessions,
            profile,
            choice,
        })
    }

    pub fn calibration_time(&self) -> Duration {
        parse_time(CALIBRATION, &self.calibration).unwrap_or_default()
    }

    /// Facts that tell these runs from those for other demands or targets.
    pub fn about(&self, settings: &Settings, target: &Target) -> serde_json::Value {
        json!({
            "database": self.database,
            "point": self.demand.point,
            "demand": self.demand.figures,
            "target": target.name,
            "loaded": target.limits,
            "run_time": shown(settings, "RUN_TIME"),
            "warmup": shown(settings, "WARMUP"),
        })
    }

    /// The data are those that SCHEMAS, SCALE and SCAN_TABLE_SZ would make.
    pub fn plan_without_target(&self, settings: &Settings) -> Result<Calibrated, SpecErrors> {
        let load = LoadSpec::from_settings(settings)?.spec;
        let block_bytes = load.block_sz.or(self.block_bytes).unwrap_or(load.block_bytes());
        let LoadSpec { schemas, scale, scan_table, .. } = load;
        let limits = Limits {
            schemas: schemas.get(),
            scan_blocks: scan_table.map_or(0, |size| size.blocks(block_bytes)),
            scale_blocks: scale.blocks(block_bytes),
            most_sessions: self.most_sessions,
            ..Limits::default()
        };
        Ok(self.uncalibrated(&limits.with_hot_spot(block_bytes)))
    }

    pub(crate) fn uncalibrated(&self, limits: &Limits) -> Calibrated {
        let costs = Costs::default();
        let planned = solve(&self.demand, &costs, limits);
        let fit = compare(&self.demand, &planned, None, &costs);
        Calibrated { planned, fit, runs: Vec::new() }
    }

    pub fn refusal(&self, options: &Options) -> Option<String> {
        let forbids = |bad: &&Judged| match bad.question {
            Question::Physical => !options.count_cached,
            question => CARRIED.contains(&question),
        };
        let bad = self.demand.bad.iter().find(forbids)?;
        let remedy = match bad.question {
            Question::Physical => "--count-cached counts its reads nevertheless",
            _ => "profile another run, or choose another interval with --at",
        };
        Some(format!("in the run that was profiled, {}; {remedy}", bad.words()))
    }
}

fn shown(settings: &Settings, key: &str) -> Option<String> {
    settings.entry(key)?.displayed()
}

pub struct LoadedTarget {
    pub name: String,
    pub block_bytes: u32,
    pub schemas: u32,
    pub scale_blocks: u64,
    pub scan_blocks: u64,
}

pub struct Target {
    pub name: String,
    pub limits: Limits,
    pub(crate) block_bytes: u32,
    pub(crate) sets_warmup: bool,
}

impl Target {
    pub fn of(loaded: LoadedTarget, settings: &Settings, goal: &Goal) -> Self {
        let set = |key| settings.entry(key).filter(|entry| entry.origin().is_set());
        let schemas = set("SCHEMAS").and_then(|entry| entry.displayed()?.parse::<u32>().ok());
        let LoadedTarget { name, block_bytes, schemas: there, scale_blocks: whole, scan_blocks } = loaded;
        let scale_blocks = match set("SCALE").and_then(|entry| entry.value()) {
            Some(Value::Size(size)) => size.blocks(block_bytes).min(whole),
            _ => whole,
        };
        let limits = Limits {
            schemas: schemas.unwrap_or(there).min(there),
            scan_blocks,
            scale_blocks,
            most_sessions: goal.most_sessions,
            ..Limits::default()
        };
        let sets_warmup = set("WARMUP").is_some();
        Self { name, limits: limits.with_hot_spot(block_bytes), block_bytes, sets_warmup }
    }

    pub fn pairs(&self, parameters: &Parameters) -> Pairs {
        let mut pairs = parameters.pairs();
        pairs.extend([("SCALE", self.limits.scale_blocks.to_string()), ("WORK_LOOP", "0".to_owned())]);
        pairs
    }

    pub fn calibrate<R: Runs>(&self, goal: &Goal, runs: &R) -> Result<Calibrated, R::Failure> {
        calibrate(&goal.demand, &self.limits, |nth, parameters| {
            let mut pairs = self.pairs(parameters);
            pairs.extend([("RUN_TIME", goal.calibration.clone()), ("UNTIL_STEADY", "FALSE".to_owned())]);
            pairs.extend((!self.sets_warmup).then(|| ("WARMUP", "3".to_owned())));
            let rate = parameters.rate;
            runs.say(&format!("calibration {nth} of at most {CALIBRATION_RUNS}: {rate} operations/s"));
            let record = runs.run(&format!("calibration-{nth}"), &pairs)?;
            let measured =
                measured_by_run(&record).ok_or_else(|| DemandError::measured_nothing(&record.id))?;
            Ok((record.id, measured))
        })
    }

    pub fn notes(&self, goal: &Goal) -> Vec<String> {
        let here = self.block_bytes;
        let note = |there| {
            format!(
                "Blocks have {there} bytes there and {here} here: the test moves as many blocks, not as many bytes."
            )
        };
        goal.block_bytes.filter(|there| *there != here).map(note).into_iter().collect()
    }
}
