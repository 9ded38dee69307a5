use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use crate::conf::SpecErrors;
use crate::observe::Observers;
use crate::param::{FromValue, Group, Value};
use crate::parameters::MAX_SESSIONS;
use crate::settings::{Diagnostics, Settings};
use crate::table::DEFAULT_BLOCK_BYTES;
use crate::target::Target;
use crate::types::{
    HotSpotSize, Length, Percent, RunName, SessionLoss, Size, StatisticsType, TraceWhen, UntilSteady, WarmUp,
    format_seconds,
};
use crate::workload::{Roles, ThinkTime, Workload};

#[cfg(test)]
mod tests;

/// Warnings are about probable mistakes.
#[derive(Clone, Debug)]
pub struct Checked<T> {
    pub spec: T,
    pub warnings: Vec<String>,
}

/// [`LoadSpec::from_settings`] makes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadSpec {
    pub target: Target,
    /// 1 to 65,535.
    pub schemas: NonZeroU32,
    pub scale: Size,
    /// `None` makes no table for short scans.
    pub scan_table: Option<Size>,
    pub streams: NonZeroU32,
    /// The engine may then use as many as its server gains from.
    pub streams_are_set: bool,
    pub seed: Option<u64>,
    /// Rows are incompressible.
    pub obfuscate: bool,
    pub tablespace: Option<String>,
    /// `None` if it is unset.
    pub block_sz: Option<u32>,
    pub options: EngineOptions,
}

impl LoadSpec {
    /// Fails with all contradictions between parameters.
    pub fn from_settings(settings: &Settings) -> Result<Checked<Self>, SpecErrors> {
        let mut errors = Vec::new();
        let degree = settings.entry("LOAD_PARALLEL_DEGREE");
        let spec = Self {
            target: target(settings, &mut errors)?,
            schemas: settings.required("SCHEMAS")?,
            scale: settings.required("SCALE")?,
            scan_table: scan_table(settings)?,
            streams: settings.required("LOAD_PARALLEL_DEGREE")?,
            streams_are_set: degree.is_some_and(|entry| entry.origin().is_set()),
            seed: settings.optional("SEED").map(NonZeroU64::get),
            obfuscate: settings.required("OBFUSCATE_COLUMNS")?,
            tablespace: settings.optional("TABLESPACE"),
            block_sz: settings.block_sz(),
            options: EngineOptions::from_settings(settings),
        };
        check_services(settings, &mut errors);
        SpecErrors::check(errors)?;
        Ok(Checked { spec, warnings: Vec::new() })
    }

    /// Converts sizes before a server is asked.
    pub fn block_bytes(&self) -> u32 {
        self.block_sz.unwrap_or(DEFAULT_BLOCK_BYTES)
    }

    pub fn scale_blocks(&self) -> u64 {
        self.scale.blocks(self.block_bytes())
    }
}

/// [`RunSpec::from_settings`] makes it. The runner checks it against the server and the data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunSpec {
    pub target: Target,
    /// Blocks are of [`RunSpec::block_bytes`]; seeds are unset.
    pub workload: Workload,
    pub scale: Size,
    pub scan_table: Option<Size>,
    pub length: Length,
    pub warmup: WarmUp,
    /// A steady run ends the window early.
    pub until_steady: Option<UntilSteady>,
    /// Rules in words.
    pub abort_on: Option<String>,
    pub session_loss: SessionLoss,
    pub hot_spot: Option<HotSpotSize>,
    pub external_script: Option<PathBuf>,
    /// `None`: the runner draws one.
    pub seed: Option<u64>,
    pub run_name: RunName,
    pub results_dir: PathBuf,
    /// A file beside the record lists them.
    pub keep_operations: bool,
    pub host_counters: bool,
    pub observe: Observers,
    /// Remote observers are copies of this program.
    pub observe_copy: bool,
    pub trace: Option<TraceWhen>,
    pub block_sz: Option<u32>,
    /// Only the user asks for it, as it costs the server work, and may need a licence.
    pub statistics_type: Option<StatisticsType>,
    pub options: EngineOptions,
}

impl RunSpec {
    /// Fails with all contradictions between parameters.
    pub fn from_settings(settings: &Settings) -> Result<Checked<Self>, SpecErrors> {
        let mut said = Diagnostics::default();
        let length = match settings.required("WORK_LOOP")? {
            0 => Length::Time(settings.required("RUN_TIME")?),
            operations => Length::Operations(operations),
        };
        let (scale, block_bytes): (Size, _) = (settings.required("SCALE")?, settings.block_bytes());
        let hot_spot = hot_spot(settings, &mut said)?;
        let mut workload = workload(settings, &mut said)?;
        workload.scale_blocks = scale.blocks(block_bytes);
        workload.hot_spot = hot_spot.map(|hot| hot.in_blocks(block_bytes));
        // Every operation of a WORK_LOOP counts.
        let warmup = match length {
            Length::Time(_) => settings.required("WARMUP")?,
            Length::Operations(_) => WarmUp::NONE,
        };
        workload.warmup_s = warmup.at_most().as_secs_f64();
        (workload.run_time_s, workload.work_loop) = match length {
            Length::Time(time) => (Some(time.as_secs_f64()), None),
            Length::Operations(count) => (None, Some(count)),
        };
        let skip_host: bool = settings.required("NO_OS_PERF_DATA")?;
        let spec = Self {
            target: target(settings, &mut said.errors)?,
            workload,
            scale,
            scan_table: scan_table(settings)?,
            length,
            warmup,
            until_steady: until_steady(settings)?,
            abort_on: settings.optional("ABORT_ON"),
            session_loss: settings.required("TOLERATE_SESSION_LOSS")?,
            hot_spot,
            external_script: settings.optional("EXTERNAL_SCRIPT"),
            seed: settings.optional("SEED").map(NonZeroU64::get),
            run_name: settings.required("RUN_NAME")?,
            results_dir: settings.required("RESULTS_DIR")?,
            keep_operations: settings.required("KEEP_OPERATIONS")?,
            host_counters: !skip_host,
            observe: settings.required("OBSERVE")?,
            observe_copy: settings.required("OBSERVE_COPY")?,
            trace: settings.optional("TRACE"),
            block_sz: settings.block_sz(),
            statistics_type: statistics_type(settings),
            options: EngineOptions::from_settings(settings),
        };
        check_services(settings, &mut said.errors);
        spec.check_sessions(&mut said.errors);
        spec.check_blocks(&mut said.errors);
        spec.check_pace(&mut said.errors);
        spec.check_schedule(&mut said.errors);
        spec.check_trace(&mut said.errors);
        spec.check_scans(settings, &mut said);
        SpecErrors::check(said.errors)?;
        Ok(Checked { spec, warnings: said.warnings })
    }

    pub fn block_bytes(&self) -> u32 {
        self.block_sz.unwrap_or(DEFAULT_BLOCK_BYTES)
    }

    pub fn workload(&self, block_bytes: u32, seed: u64, nonce: u64) -> Workload {
        Workload {
            scale_blocks: self.scale.blocks(block_bytes),
            hot_spot: self.hot_spot.map(|hot| hot.in_blocks(block_bytes)),
            seed,
            nonce,
            ..self.workload.clone()
        }
    }

    fn check_sessions(&self, errors: &mut Vec<String>) {
        let (schemas, threads) = (self.workload.schemas.get(), self.workload.threads_per_schema.get());
        let sessions = u64::from(schemas) * u64::from(threads);
        if sessions > MAX_SESSIONS {
            errors.push(format!(
                "SCHEMAS={schemas} with THREADS_PER_SCHEMA={threads} makes {sessions} sessions, but at most {MAX_SESSIONS} \
                 are possible. Lower one of them."
            ));
        }
    }

    /// Operations must fit into the hot spot, and both into the active data set.
    fn check_blocks(&self, errors: &mut Vec<String>) {
        let Self { scale, hot_spot, workload, .. } = self;
        let Workload { scale_blocks, work_unit, update_work_unit, .. } = *workload;
        let block_bytes = self.block_bytes();
        let mut units = vec![("WORK_UNIT", work_unit)];
        if !workload.update_pct.is_zero() && update_work_unit != work_unit {
            units.push(("UPDATE_WORK_UNIT", update_work_unit));
        }
        for (key, unit) in units {
            let blocks = u64::from(unit.get());
            if blocks > scale_blocks {
                errors.push(format!(
                    "{key}={unit} is more blocks than SCALE={scale} has, which is {scale_blocks} blocks of {block_bytes} \
                     bytes. Lower {key} or raise SCALE."
                ));
            }
            let Some(hot) = hot_spot else { continue };
            let (size_mb, hot_blocks) = (hot.size_mb, hot.in_blocks(block_bytes).blocks);
            if blocks > hot_blocks {
                errors.push(format!(
                    "{key}={unit} is more blocks than HOTSPOT_MB={size_mb} has, which is {hot_blocks} blocks of \
                     {block_bytes} bytes. Lower {key} or raise HOTSPOT_MB."
                ));
            }
        }
        let Some(hot) = hot_spot else { return };
        let (HotSpotSize { size_mb, offset_mb, .. }, end) = (hot, hot.in_blocks(block_bytes).last_block());
        if end > scale_blocks {
            errors.push(format!(
                "the hot spot ends at block {end} (HOTSPOT_OFFSET_MB={offset_mb}, HOTSPOT_MB={size_mb}), but SCALE={scale} \
                 has {scale_blocks} blocks of {block_bytes} bytes. Lower HOTSPOT_OFFSET_MB or HOTSPOT_MB, or raise SCALE."
            ));
        }
    }

    fn check_pace(&self, errors: &mut Vec<String>) {
        if let (Some(rate), Some(_)) = (&self.workload.rate_per_s, self.workload.think_time) {
            errors.push(format!(
                "RATE={rate} and think time are both set, but one starts operations on schedule and the other pauses after \
                 them. Set RATE=0 or THINK_TM_FREQUENCY=0."
            ));
        }
        let Some(UntilSteady { window_s, .. }) = self.until_steady else { return };
        let least_s = UntilSteady::WINDOWS * window_s;
        match self.length {
            Length::Operations(operations) => errors.push(format!(
                "UNTIL_STEADY=TRUE ends a run by its rate, but WORK_LOOP={operations} by its operations. Set WORK_LOOP=0, or \
                 leave out UNTIL_STEADY."
            )),
            Length::Time(most) if most.as_secs() < least_s => {
                let run_time_s = format_seconds(most);
                errors.push(format!(
                    "UNTIL_STEADY=TRUE compares three windows of STEADY_WINDOW={window_s} s, which takes {least_s} s, but \
                     RUN_TIME={run_time_s} is the longest that the run may take. Raise RUN_TIME or lower STEADY_WINDOW."
                ));
            }
            Length::Time(_) => {}
        }
    }

    /// No run reaches such a step, or calls such a rate steady.
    fn check_schedule(&self, errors: &mut Vec<String>) {
        let schedule = self.workload.rate_per_s.as_ref().filter(|schedule| schedule.only().is_none());
        let Some(schedule) = schedule else { return };
        if self.until_steady.is_some() {
            errors.push(format!(
                "RATE={schedule} changes with time, but UNTIL_STEADY=TRUE waits for a rate that does not. Set one rate, or leave \
                 out UNTIL_STEADY."
            ));
        }
        let last = schedule.steps().last().map(|step| step.from);
        match (self.length, last) {
            (Length::Time(run_time), Some(from)) if from >= run_time => errors.push(format!(
                "RATE={schedule} has a rate from {} s on, but RUN_TIME={} ends the window by then. Raise RUN_TIME, or leave that \
                 rate out.",
                format_seconds(from),
                format_seconds(run_time)
            )),
            _ => {}
        }
    }

    fn check_trace(&self, errors: &mut Vec<String>) {
        if self.trace.is_some() && !self.host_counters {
            errors.push(
                "TRACE looks into the database's host, but NO_OS_PERF_DATA=TRUE forbids that. Set TRACE=off, or leave out \
                 NO_OS_PERF_DATA."
                    .to_owned(),
            );
        }
        if let (Some(TraceWhen::After), Length::Operations(operations)) = (self.trace, self.length) {
            errors.push(format!(
                "TRACE=after goes on behind the window, but WORK_LOOP={operations} leaves no operations for that. Set \
                 TRACE=window, or WORK_LOOP=0."
            ));
        }
    }

    fn check_scans(&self, settings: &Settings, said: &mut Diagnostics) {
        let scan_pct = self.workload.scan_pct;
        if scan_pct.is_zero() {
            return;
        }
        if self.scan_table.is_none() {
            let scan_table = settings.value("SCAN_TABLE_SZ").map(ToString::to_string).unwrap_or_default();
            said.errors.push(format!(
                "SCAN_PCT={scan_pct} asks for short scans, but SCAN_TABLE_SZ={scan_table} makes no table of at least one \
                 block. Set SCAN_TABLE_SZ (and load again) or SCAN_PCT=0."
            ));
        } else if self.workload.update_pct == Percent::ALL {
            said.warnings.push(format!(
                "SCAN_PCT={scan_pct} has no effect, because UPDATE_PCT=100 leaves no SELECTs of which some could be scans"
            ));
        }
    }
}

/// Block size and length of the run are not needed.
fn workload(settings: &Settings, said: &mut Diagnostics) -> Result<Workload, SpecErrors> {
    let work_unit = settings.required("WORK_UNIT")?;
    let process = settings.required("ARRIVALS")?;
    let mut workload = Workload {
        schemas: settings.required("SCHEMAS")?,
        threads_per_schema: settings.required("THREADS_PER_SCHEMA")?,
        update_work_unit: settings.optional("UPDATE_WORK_UNIT").unwrap_or(work_unit),
        update_pct: settings.required("UPDATE_PCT")?,
        commit_every: settings.required("COMMIT_EVERY")?,
        scan_pct: settings.required("SCAN_PCT")?,
        redo_stress: settings.required("REDO_STRESS")?,
        think_time: think(settings, &mut said.errors)?,
        rate_per_s: settings.optional("RATE"),
        ..Workload::selects(0, work_unit)
    };
    workload.arrivals = workload.rate_per_s.is_some().then_some(process);
    if let Err(error) = set_roles(settings, &mut workload, &mut said.warnings) {
        said.errors.push(error);
    }
    workload.hot_schema_every = hot_schema(settings, workload.schemas, &mut said.warnings);
    Ok(workload)
}

/// WRITERS and READERS decide how many sessions work on each schema. They spread over the schemas evenly.
fn set_roles(settings: &Settings, workload: &mut Workload, warnings: &mut Vec<String>) -> Result<(), String> {
    let count = |key| settings.optional::<u64>(key).map(|count| count as u32);
    let (writers, readers) = (count("WRITERS"), count("READERS"));
    if writers.or(readers).is_none() {
        return Ok(());
    }
    let roles @ Roles { writers, readers } =
        Roles { writers: writers.unwrap_or(0), readers: readers.unwrap_or(0) };
    let sessions = u64::from(writers) + u64::from(readers);
    let made = format!("WRITERS={writers} and READERS={readers} make {sessions} sessions");
    if sessions > MAX_SESSIONS {
        return Err(format!("{made}, but at most {MAX_SESSIONS} are possible. Lower one of them."));
    }
    let Some(all) = NonZeroU32::new(writers + readers) else {
        return Err(format!("{made}: nothing would work. Raise one of them."));
    };
    let schemas = workload.schemas.min(all);
    if !all.get().is_multiple_of(schemas.get()) {
        let fewer = (1..schemas.get()).rev().find(|fewer| all.get().is_multiple_of(*fewer)).unwrap_or(1);
        return Err(format!(
            "{made}, which can't be spread evenly over SCHEMAS={schemas}. Set SCHEMAS={fewer}, or change the number of \
             sessions."
        ));
    }
    workload.schemas = schemas;
    workload.threads_per_schema = NonZeroU32::new(all.get() / schemas).unwrap_or(NonZeroU32::MIN);
    workload.update_pct = roles.update_pct();
    workload.writers = roles.mixed_writers();
    for key in ["UPDATE_PCT", "THREADS_PER_SCHEMA"] {
        warnings.extend(
            settings.entry(key).filter(|entry| entry.origin().is_set()).map(|_| {
                format!("{key} has no effect, because WRITERS and READERS say what each session does")
            }),
        );
    }
    Ok(())
}

/// ENDPOINTS replaces its hosts.
fn target(settings: &Settings, errors: &mut Vec<String>) -> Result<Target, SpecErrors> {
    let target: Target = settings.required("TARGET")?;
    let Some(list) = settings.optional::<String>("ENDPOINTS") else { return Ok(target) };
    Ok(target.with_endpoints(&list).unwrap_or_else(|fault| {
        // A misspelt list may hold a password.
        errors.push(format!("ENDPOINTS can't replace the hosts of TARGET={target}: {fault}"));
        target
    }))
}

fn check_services(settings: &Settings, errors: &mut Vec<String>) {
    // 0 is one service without a number.
    let max = settings.optional::<NonZeroU32>("SQLNET_SERVICE_MAX");
    if let (Some(max), None) = (max, settings.optional::<String>("SQLNET_SERVICE_BASE")) {
        errors.push(format!(
            "SQLNET_SERVICE_MAX={max} numbers services, but SQLNET_SERVICE_BASE is not set. Set it, or leave out \
             SQLNET_SERVICE_MAX."
        ));
    }
}

/// Less than one block makes no table.
fn scan_table(settings: &Settings) -> Result<Option<Size>, SpecErrors> {
    let size: Size = settings.required("SCAN_TABLE_SZ")?;
    Ok(Some(size).filter(|size| size.blocks(settings.block_bytes()) > 0))
}

fn statistics_type(settings: &Settings) -> Option<StatisticsType> {
    let key = "DATABASE_STATISTICS_TYPE";
    settings.entry(key).filter(|entry| entry.origin().is_set()).and_then(|_| settings.optional(key))
}

fn until_steady(settings: &Settings) -> Result<Option<UntilSteady>, SpecErrors> {
    let wanted: bool = settings.required("UNTIL_STEADY")?;
    let window: Duration = settings.required("STEADY_WINDOW")?;
    let tolerance: u64 = settings.required("STEADY_TOLERANCE")?;
    // The parameter's range ends at 50.
    let tolerance_percent = u8::try_from(tolerance).unwrap_or(u8::MAX);
    Ok(wanted.then_some(UntilSteady { window_s: window.as_secs(), tolerance_percent }))
}

fn hot_spot(settings: &Settings, said: &mut Diagnostics) -> Result<Option<HotSpotSize>, SpecErrors> {
    if !settings.required::<bool>("DO_HOTSPOT")? {
        return Ok(None);
    }
    let Some(every) = settings.optional("HOTSPOT_FREQUENCY") else {
        said.warnings.push(
            "DO_HOTSPOT=TRUE has no effect, because HOTSPOT_FREQUENCY=0 means never; set HOTSPOT_FREQUENCY to 1 or more"
                .to_owned(),
        );
        return Ok(None);
    };
    let Some(size_mb) = settings.optional("HOTSPOT_MB") else {
        said.errors.push(
            "DO_HOTSPOT=TRUE asks for a hot spot, but HOTSPOT_MB=0 leaves it no room. Raise HOTSPOT_MB or set \
             DO_HOTSPOT=FALSE."
                .to_owned(),
        );
        return Ok(None);
    };
    Ok(Some(HotSpotSize { size_mb, offset_mb: settings.required("HOTSPOT_OFFSET_MB")?, every }))
}

fn hot_schema(settings: &Settings, schemas: NonZeroU32, warnings: &mut Vec<String>) -> Option<NonZeroU32> {
    let every: NonZeroU32 = settings.optional("HOT_SCHEMA_FREQUENCY")?;
    if schemas.get() > 1 {
        return Some(every);
    }
    warnings.push(format!(
        "HOT_SCHEMA_FREQUENCY={every} has no effect with one schema; raise SCHEMAS or use DO_HOTSPOT"
    ));
    None
}

fn think(settings: &Settings, errors: &mut Vec<String>) -> Result<Option<ThinkTime>, SpecErrors> {
    let Some(every) = settings.optional("THINK_TM_FREQUENCY") else { return Ok(None) };
    let (min, max): (Duration, Duration) =
        (settings.required("THINK_TM_MIN")?, settings.required("THINK_TM_MAX")?);
    // Think times are at most an hour, which fits.
    let microseconds = |pause: Duration| u32::try_from(pause.as_micros()).unwrap_or(u32::MAX);
    if min <= max {
        return Ok(Some(ThinkTime { every, min_us: microseconds(min), max_us: microseconds(max) }));
    }
    let (min_s, max_s) = (format_seconds(min), format_seconds(max));
    errors.push(format!(
        "THINK_TM_MIN={min_s} is more than THINK_TM_MAX={max_s} (seconds). Lower THINK_TM_MIN or raise THINK_TM_MAX."
    ));
    Ok(None)
}

/// Services and accounts of some engines are among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineOptions(BTreeMap<&'static str, (Group, Value)>);

impl EngineOptions {
    fn from_settings(settings: &Settings) -> Self {
        let is_option = |group| matches!(group, Group::Engine(_) | Group::Servers | Group::Access);
        let values = settings.entries().filter_map(|entry| Some((entry.param(), entry.value()?)));
        let options = values.filter(|(param, _)| is_option(param.group));
        Self(options.map(|(param, value)| (param.key, (param.group, value.clone()))).collect())
    }

    /// Leaves out the options of other engines.
    pub fn of(&self, engine: &str) -> Self {
        let is_of = |group: &Group| !matches!(group, Group::Engine(name) if *name != engine);
        let own = self.0.iter().filter(|(_, (group, _))| is_of(group));
        Self(own.map(|(key, value)| (*key, value.clone())).collect())
    }

    /// `None` if the option is unset, unknown or of another kind.
    pub fn get<T: FromValue>(&self, key: &str) -> Option<T> {
        self.0.get(key).and_then(|(_, value)| T::from_value(value))
    }
}
