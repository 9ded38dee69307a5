//! What a plan is for: the demand of a profile, and the data that are loaded on a target.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use slob_engine::Purpose;
use slob_profile::{At, By, Choice, Demand, Limits, Profile};
use slob_spec::{Kind, LoadSpec, Settings, Value};

use crate::commands::profile::saved;
use crate::failure::Failure;
use crate::registry;

const TIME: Kind = Kind::Duration { min_s: 2, max_s: 86_400 };
/// The block size does not matter to a time.
const ANY_BLOCK: u32 = 8192;

/// What was asked for.
pub(in crate::commands) struct Wanted {
    pub(in crate::commands) database: String,
    pub(in crate::commands) block_bytes: Option<u32>,
    pub(in crate::commands) demand: Demand,
    /// Seconds of a calibration.
    pub(super) calibration: String,
    most_sessions: u32,
}

/// The choices that lead to a demand.
pub(in crate::commands) struct Chosen<'a> {
    pub(in crate::commands) profile: &'a Path,
    pub(in crate::commands) instance: Option<&'a str>,
    pub(in crate::commands) choice: Choice,
    pub(in crate::commands) calibration: &'a str,
    pub(in crate::commands) most_sessions: u32,
}

impl Wanted {
    pub(in crate::commands) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        Self::chosen(&Chosen {
            profile: matches
                .get_one::<PathBuf>("profile")
                .map_or(Path::new("profile.json"), PathBuf::as_path),
            instance: matches.get_one::<String>("instance").map(String::as_str),
            choice: choice(matches)?,
            calibration: matches.get_one::<String>("calibration").map_or("", String::as_str),
            most_sessions: matches.get_one::<u32>("max-sessions").copied().unwrap_or(256),
        })
    }

    pub(in crate::commands) fn chosen(chosen: &Chosen<'_>) -> Result<Self, Failure> {
        let path = chosen.profile;
        let profile = saved::read(path)?;
        let profile = match chosen.instance {
            Some(instance) => profile.of_instance(instance),
            None => profile,
        };
        let demand = profile
            .demand(&chosen.choice)
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let calibration = chosen.calibration.to_owned();
        if !matches!(TIME.parse(&calibration, ANY_BLOCK), Ok(Value::Duration(_))) {
            return Err(Failure::usage(format!(
                "calibration is {calibration}; it must be {}",
                TIME.permitted()
            )));
        }
        let Profile { subject, .. } = profile;
        Ok(Self {
            database: subject.words(),
            block_bytes: subject.block_bytes,
            demand,
            calibration,
            most_sessions: chosen.most_sessions,
        })
    }

    /// What is taken for granted where nothing is loaded yet: SCALE and SCAN_TABLE_SZ as they are shipped.
    pub(in crate::commands) fn limits(&self, schemas: u32) -> Limits {
        Limits { schemas, scan_blocks: 128, scale_blocks: 10_240, most_sessions: self.most_sessions }
    }
}

fn choice(matches: &ArgMatches) -> Result<Choice, Failure> {
    let at = matches.get_one::<String>("at").map_or("peak", String::as_str);
    let by = matches.get_one::<String>("by").and_then(|name| By::named(name)).unwrap_or_default();
    Ok(Choice {
        at: at.parse::<At>().map_err(Failure::usage)?,
        by,
        grow: matches.get_one::<f64>("grow").copied().unwrap_or(1.0),
        peak_factor: matches.get_one::<f64>("peak-factor").copied(),
    })
}

/// What a target holds.
pub(in crate::commands) struct Loaded {
    pub(in crate::commands) target: String,
    pub(in crate::commands) limits: Limits,
    block_bytes: u32,
    /// Whether somebody said how long a run is to warm up.
    pub(super) knows_warmup: bool,
}

impl Loaded {
    pub(in crate::commands) fn of(settings: &Settings, wanted: &Wanted) -> Result<Self, Failure> {
        let spec = LoadSpec::from_settings(settings)?.spec;
        let target = &spec.target;
        let engine = registry::open(target, &spec.options, Purpose::Use)?;
        let server = engine.server()?;
        let schemas = engine.schemas()?;
        let complete = schemas.iter().take_while(|state| state.state.layout().is_some()).count();
        let Some(first) = schemas.first().filter(|_| complete > 0) else {
            return Err(Failure::usage(format!(
                "{target} holds no schema: load some with `slob setup`, more than the database's cache holds, or the reads will \
                 not be physical"
            )));
        };
        // Who says how many uses so many.
        let said = settings.entry("SCHEMAS").filter(|entry| entry.origin().is_set());
        let said = said.and_then(|entry| entry.displayed()?.parse::<u32>().ok());
        let there = u32::try_from(complete).unwrap_or(u32::MAX);
        let scale =
            settings.entry("SCALE").filter(|entry| entry.origin().is_set()).and_then(|entry| entry.value());
        let scale_blocks = match scale {
            Some(Value::Size(size)) => size.blocks(server.block_bytes).min(first.load.scale),
            _ => first.load.scale,
        };
        Ok(Self {
            target: target.to_string(),
            limits: Limits {
                scan_blocks: first.load.scan_blocks,
                scale_blocks,
                ..wanted.limits(said.unwrap_or(there).min(there))
            },
            block_bytes: server.block_bytes,
            knows_warmup: settings.entry("WARMUP").is_some_and(|entry| entry.origin().is_set()),
        })
    }

    /// What differs between production and here.
    pub(in crate::commands) fn notes(&self, wanted: &Wanted) -> Vec<String> {
        let other = wanted.block_bytes.filter(|bytes| *bytes != self.block_bytes);
        let blocks = other.map(|bytes| {
            format!(
                "Blocks have {bytes} bytes there and {} here: the test moves as many blocks, not as many bytes.",
                self.block_bytes
            )
        });
        blocks.into_iter().collect()
    }
}
