//! What a run does.

mod checks;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::{Checked, access, load};
use crate::error::{SpecError, SpecErrors};
use crate::options::EngineOptions;
use crate::settings::Settings;
use crate::table::DEFAULT_BLOCK_BYTES;
use crate::types::{
    HotSpot, Length, Observers, Percent, Rate, RedoStress, RunName, SessionLoss, Size, StatisticsType,
    Target, ThinkTime, UntilSteady, WorkUnit, seconds,
};
use crate::warning::Warning;

/// The run to make. Made by [`RunSpec::from_settings`] only, so it is free of contradictions; whether the
/// server and the loaded data bear it is for the runner to see.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunSpec {
    /// The database.
    pub target: Target,
    /// Schemas in use: 1 to 65,535.
    pub schemas: NonZeroU32,
    /// Sessions on each schema; at most 65,535 on all of them.
    pub threads_per_schema: NonZeroU32,
    /// Share of the operations that are UPDATEs.
    pub update_pct: Percent,
    /// Share of the SELECTs that are short scans.
    pub scan_pct: Percent,
    /// Blocks of a SELECT.
    pub work_unit: WorkUnit,
    /// Blocks of an UPDATE.
    pub update_work_unit: WorkUnit,
    /// The active data set of each schema.
    pub scale: Size,
    /// Size of the table for short scans; `None` if there is none.
    pub scan_table: Option<Size>,
    /// How much of a row an UPDATE changes.
    pub redo: RedoStress,
    /// What ends the measured window.
    pub length: Length,
    /// Time at full load before the measured window; zero is none.
    #[serde(rename = "warmup_s", serialize_with = "seconds::serialize")]
    pub warmup: Duration,
    /// Whether the window ends sooner, as soon as the run is steady.
    pub until_steady: Option<UntilSteady>,
    /// What becomes of the run when a session loses its database.
    pub session_loss: SessionLoss,
    /// The hot spot, if there is one.
    pub hot_spot: Option<HotSpot>,
    /// Every how many operations one goes to schema 1; only with several schemas.
    pub hot_schema_every: Option<NonZeroU32>,
    /// Think time, if there is any.
    pub think: Option<ThinkTime>,
    /// The rate at which operations are to start; `None` is a closed loop: one follows the other.
    pub rate: Option<Rate>,
    /// The program to call around the run.
    pub external_script: Option<PathBuf>,
    /// The seed; `None` lets the runner draw one and record it.
    pub seed: Option<u64>,
    /// The name of the run.
    pub run_name: RunName,
    /// The directory that receives the run's own directory.
    pub results_dir: PathBuf,
    /// Whether every single operation is kept in a file beside the record.
    pub keep_operations: bool,
    /// Whether the host's counters are sampled.
    pub host_counters: bool,
    /// How the hosts of the endpoints are seen.
    pub observe: Observers,
    /// Whether an observer that is far is a copy of this program.
    pub observe_copy: bool,
    /// The size of the server's blocks in bytes, if somebody said what it is to be.
    pub block_sz: Option<u32>,
    /// Which of the server's own reports accompanies the run; `None` unless somebody asked for one, whatever the default
    /// says: taking it costs the server work, and may need a licence.
    pub statistics_type: Option<StatisticsType>,
    /// The engines' own options.
    pub options: EngineOptions,
}

impl RunSpec {
    /// Takes what concerns a run out of the settings and checks that it fits together.
    ///
    /// # Errors
    /// All contradictions between parameters, at once.
    pub fn from_settings(settings: &Settings) -> Result<Checked<Self>, SpecErrors> {
        let mut errors = Vec::new();
        let mut warnings = Vec::new();
        let work_unit = settings.required("WORK_UNIT")?;
        let schemas = settings.required("SCHEMAS")?;
        let skip_host: bool = settings.required("NO_OS_PERF_DATA")?;
        let spec = Self {
            target: access::target(settings, &mut errors)?,
            schemas,
            threads_per_schema: settings.required("THREADS_PER_SCHEMA")?,
            update_pct: settings.required("UPDATE_PCT")?,
            scan_pct: settings.required("SCAN_PCT")?,
            work_unit,
            update_work_unit: settings.optional("UPDATE_WORK_UNIT").unwrap_or(work_unit),
            scale: settings.required("SCALE")?,
            scan_table: load::scan_table(settings)?,
            redo: settings.required("REDO_STRESS")?,
            length: length(settings)?,
            warmup: settings.required("WARMUP")?,
            until_steady: until_steady(settings)?,
            session_loss: settings.required("TOLERATE_SESSION_LOSS")?,
            hot_spot: hot_spot(settings, &mut errors, &mut warnings)?,
            hot_schema_every: hot_schema(settings, schemas, &mut warnings),
            think: think(settings, &mut errors)?,
            rate: rate(settings)?,
            external_script: settings.optional("EXTERNAL_SCRIPT"),
            seed: load::seed(settings)?,
            run_name: settings.required("RUN_NAME")?,
            results_dir: settings.required("RESULTS_DIR")?,
            keep_operations: settings.required("KEEP_OPERATIONS")?,
            host_counters: !skip_host,
            observe: settings.required("OBSERVE")?,
            observe_copy: settings.required("OBSERVE_COPY")?,
            block_sz: settings.block_sz(),
            statistics_type: statistics_type(settings),
            options: EngineOptions::from_settings(settings),
        };
        access::check_services(settings, &mut errors);
        checks::check(&spec, settings, &mut errors, &mut warnings);
        SpecErrors::check(errors)?;
        Ok(Checked { spec, warnings })
    }

    /// All sessions: schemas times threads, at most 65,535.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        self.schemas.get().saturating_mul(self.threads_per_schema.get())
    }

    /// The block size that sizes are divided by, in bytes, as long as no server was asked.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_sz.unwrap_or(DEFAULT_BLOCK_BYTES)
    }

    /// The active data set of each schema, in blocks.
    #[must_use]
    pub fn scale_blocks(&self) -> u64 {
        self.scale.blocks(self.block_bytes())
    }
}

/// Only what somebody set: the default asks for nothing.
fn statistics_type(settings: &Settings) -> Option<StatisticsType> {
    let key = "DATABASE_STATISTICS_TYPE";
    settings.entry(key).filter(|entry| entry.origin().is_set()).and_then(|_| settings.optional(key))
}

/// `WORK_LOOP`, if above 0, takes the place of `RUN_TIME`.
fn length(settings: &Settings) -> Result<Length, SpecErrors> {
    let operations: u64 = settings.required("WORK_LOOP")?;
    if operations > 0 {
        return Ok(Length::Operations(operations));
    }
    Ok(Length::Time(settings.required("RUN_TIME")?))
}

fn until_steady(settings: &Settings) -> Result<Option<UntilSteady>, SpecErrors> {
    let wanted: bool = settings.required("UNTIL_STEADY")?;
    let window: Duration = settings.required("STEADY_WINDOW")?;
    let tolerance: u64 = settings.required("STEADY_TOLERANCE")?;
    // The table keeps it at 50 or less.
    let tolerance_percent = u8::try_from(tolerance).unwrap_or(u8::MAX);
    Ok(wanted.then_some(UntilSteady { window_s: window.as_secs(), tolerance_percent }))
}

fn hot_spot(
    settings: &Settings,
    errors: &mut Vec<SpecError>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<HotSpot>, SpecErrors> {
    if !settings.required::<bool>("DO_HOTSPOT")? {
        return Ok(None);
    }
    let Some(every) = settings.optional("HOTSPOT_FREQUENCY") else {
        warnings.push(Warning::HotSpotOff);
        return Ok(None);
    };
    let Some(size_mb) = settings.optional("HOTSPOT_MB") else {
        errors.push(SpecError::EmptyHotSpot);
        return Ok(None);
    };
    Ok(Some(HotSpot { size_mb, offset_mb: settings.required("HOTSPOT_OFFSET_MB")?, every }))
}

fn hot_schema(settings: &Settings, schemas: NonZeroU32, warnings: &mut Vec<Warning>) -> Option<NonZeroU32> {
    let every: NonZeroU32 = settings.optional("HOT_SCHEMA_FREQUENCY")?;
    if schemas.get() > 1 {
        return Some(every);
    }
    warnings.push(Warning::HotSchemaAlone { every: every.get() });
    None
}

fn think(settings: &Settings, errors: &mut Vec<SpecError>) -> Result<Option<ThinkTime>, SpecErrors> {
    let Some(every) = settings.optional("THINK_TM_FREQUENCY") else { return Ok(None) };
    let (min, max) = (settings.required("THINK_TM_MIN")?, settings.required("THINK_TM_MAX")?);
    let think = ThinkTime::new(every, min, max);
    if think.is_err() {
        errors.push(SpecError::ThinkTimeRange { min_s: seconds::format(min), max_s: seconds::format(max) });
    }
    Ok(think.ok())
}

/// 0 is no rate.
fn rate(settings: &Settings) -> Result<Option<Rate>, SpecErrors> {
    let process = settings.required("ARRIVALS")?;
    Ok(settings.optional("RATE").map(|per_second| Rate { per_second, process }))
}
