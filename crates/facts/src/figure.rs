//! The figures of a run, each defined once. Figures are of the measured window unless they were set; unknown ones are `None`.
//! `mb` is 10^6 bytes.

use serde::{Deserialize, Serialize};
use slob_host::DeviceUse;
use slob_measure::{Counter, LatencyKind, OpKind, Span};
use slob_record::{LoadCost, Record};
use slob_spec::Amount;
use slob_stats::Histogram;

use crate::ceiling::{
    ceiling_iops, commits_of_device, database_reads_per_s, device_percent_of_ceiling, device_reads_per_s,
    is_credible, percent_of_ceiling, sync_iops,
};
use crate::format::Format;
use crate::ladder::cached_share;
use crate::measured::{
    Measured, Role, SessionsTime, commits, counter, counter_of_all, db_time_s, device_counters,
    event_mean_us, is_coarse, kernels_reads, latency_mean_us, latency_percentile_us, mean_rate, mean_us,
    outside_s, own_read_bytes, percentile_us, physical_read_bytes, ratio, total_operations, total_rows,
};
use crate::question::Question;
use crate::table::Cell;
use crate::thresholds::WAITING;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Higher,
    Lower,
    Neither,
}

#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub name: &'static str,
    pub title: &'static str,
    pub heading: &'static str,
    pub short: &'static str,
    pub unit: &'static str,
    pub format: Format,
    pub better: Better,
    pub source: &'static str,
    pub rests_on: &'static [Question],
    /// Counts what the figure times. Where it is zero, a missing figure is no lack of the database.
    counter: Option<Counter>,
    get: Get,
}

#[derive(Clone, Copy, Debug)]
enum Get {
    Set(fn(&Record) -> Option<u64>),
    SetNumber(fn(&Record) -> Option<f64>),
    SetDecimal(fn(&Record) -> Option<f64>),
    Count(fn(&Measured<'_>) -> Option<u64>),
    Number(fn(&Measured<'_>) -> Option<f64>),
    /// In microseconds; 100 is the largest value, exactly.
    Percentile(Durations, f64),
}

#[derive(Clone, Copy, Debug)]
enum Durations {
    Operations,
    /// An operation counts from the moment at which it was due or its session ready.
    Responses,
    Dispatch,
    OfRole(Role),
    Database(LatencyKind),
}

impl Figure {
    const fn new(
        name: &'static str,
        title: &'static str,
        unit: &'static str,
        better: Better,
        source: &'static str,
        rests_on: &'static [Question],
        get: Get,
    ) -> Self {
        let format = match unit.as_bytes() {
            b"us" => Format::Micros,
            b"%" => Format::Percent,
            b"MB" | b"MB/s" | b"MiB/s" | b"s" => Format::Tenths,
            _ => Format::Whole,
        };
        let counter = match get {
            Get::Percentile(Durations::Database(LatencyKind::PhysicalRead), _) => {
                Some(Counter::PhysicalReads)
            }
            Get::Percentile(Durations::Database(LatencyKind::RedoSync), _) => Some(Counter::RedoSyncs),
            _ => None,
        };
        Self {
            name,
            title,
            heading: title,
            short: title,
            unit,
            format,
            better,
            source,
            rests_on,
            counter,
            get,
        }
    }

    pub fn cell(&self, figures: &Figures<'_>) -> Cell {
        match self.get {
            Get::Set(get) => get(figures.record).into(),
            Get::SetDecimal(get) => get(figures.record).map_or(Cell::Absent, |value| match value.fract() {
                0.0 => Cell::Count(value as u64),
                _ => Cell::Number(value, Format::Hundredths),
            }),
            Get::Count(get) => figures.measured.as_ref().and_then(get).into(),
            _ => match self.of(figures) {
                Some(value) if self.is_bound(figures) => Cell::Bound(value, self.format),
                value => self.format.cell(value),
            },
        }
    }

    pub fn show(&self, figures: &Figures<'_>) -> String {
        match self.cell(figures) {
            Cell::Number(value, Format::Micros) => Cell::Number(value, Format::Duration),
            Cell::Bound(value, Format::Micros) => Cell::Bound(value, Format::Duration),
            cell => cell,
        }
        .show()
    }

    pub fn in_unit(&self, value: f64) -> String {
        match self.format {
            Format::Micros => Format::Duration.show(value),
            format => format.show(value),
        }
    }

    pub fn of(&self, figures: &Figures<'_>) -> Option<f64> {
        let run = || figures.measured.as_ref();
        let number = match self.get {
            Get::Set(get) => get(figures.record)? as f64,
            Get::SetNumber(get) | Get::SetDecimal(get) => get(figures.record)?,
            Get::Count(get) => get(run()?)? as f64,
            Get::Number(get) => get(run()?)?,
            Get::Percentile(of, percent) => {
                let run = run()?;
                let at = |histogram: &Histogram| percentile_us(histogram, percent);
                match of {
                    Durations::Operations => at(run.operations()),
                    Durations::Responses => at(run.responses()),
                    Durations::Dispatch => at(&run.record.dispatch),
                    Durations::OfRole(role) => at(&run.durations_of(role)?),
                    Durations::Database(kind) => latency_percentile_us(run.record, kind, percent),
                }?
            }
        };
        number.is_finite().then_some(number)
    }

    pub fn is_of_probe(&self) -> bool {
        self.source == CEILING_IOPS.source
    }

    pub fn is_measured(&self) -> bool {
        !matches!(self.get, Get::Set(_) | Get::SetNumber(_) | Get::SetDecimal(_))
    }

    /// Runs that differ in such a figure are no repeats.
    pub fn is_of_workload(&self) -> bool {
        matches!(self.get, Get::Set(_) | Get::SetDecimal(_)) && self.name != SEED.name
    }

    pub fn is_of_responses(&self) -> bool {
        matches!(self.get, Get::Percentile(Durations::Responses, _)) || self.name == RESPONSE_MEAN_US.name
    }

    pub fn is_percentile(&self) -> bool {
        matches!(self.get, Get::Percentile(_, percent) if percent < 100.0)
    }

    /// A total of such waits is not enough.
    pub fn needs_each(&self) -> Option<LatencyKind> {
        match self.get {
            Get::Percentile(Durations::Database(kind), _) => Some(kind),
            _ => None,
        }
    }

    /// True if nothing happened that the figure is of, as in a short run at a rate of two operations.
    pub fn is_idle(&self, record: &Record) -> bool {
        self.counter.is_some_and(|counter| record.counters.get(counter) == Some(0))
    }

    /// True for physical reads that only the kernel timed.
    pub fn is_kernels(&self, figures: &Figures<'_>) -> bool {
        // A direct read is timed as a wait of the database alone.
        let is_of_reads =
            self.counter == Some(Counter::PhysicalReads) && self.name != DIRECT_READ_MEAN_US.name;
        is_of_reads && self.of(figures).is_some() && kernels_reads(figures.record).is_some()
    }

    /// True for the upper bound of one of the database's wide buckets.
    pub fn is_bound(&self, figures: &Figures<'_>) -> bool {
        matches!(self.get, Get::Percentile(Durations::Database(kind), _) if is_coarse(figures.record, kind))
    }
}

#[derive(Debug)]
pub struct Figures<'a> {
    pub record: &'a Record,
    measured: Option<Measured<'a>>,
}

impl<'a> Figures<'a> {
    /// Without a window all measured figures are unknown.
    pub fn of(record: &'a Record) -> Self {
        Self { record, measured: Measured::of(record) }
    }

    pub fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    pub fn on_cpu_and_waiting(&self) -> Option<(f64, Option<f64>)> {
        self.measured.as_ref()?.on_cpu_and_waiting()
    }

    /// Decides which duration leads in every view. With RATE a response may also wait for sessions that are all at work.
    pub fn lead(&self) -> Lead {
        let delayed = || {
            self.record.workload.rate_per_s.as_ref()?;
            Some(100.0 - 100.0 * OPERATION_MEAN_US.of(self)? / RESPONSE_MEAN_US.of(self)?)
        };
        let outside = [WAITING_PERCENT.of(self), delayed()].into_iter().flatten().reduce(f64::max);
        let leads = outside.is_some_and(|percent| percent >= WAITING.value);
        if leads && RESPONSE_MEAN_US.of(self).is_some() { Lead::Response } else { Lead::Operation }
    }

    /// True if the run read more than the probe's best step by more than chance: the probe missed the ceiling.
    pub fn is_above_probe(&self) -> bool {
        let share = self.measured.as_ref().and_then(percent_of_ceiling);
        share.is_some_and(|share| !is_credible(&share))
    }
}

pub fn named(name: &str) -> Option<&'static Figure> {
    ALL.iter().find(|figure| figure.name == name)
}

/// The duration that leads in every view of a run. In an overload operations are a small part of what users wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lead {
    #[default]
    Operation,
    Response,
}

impl Lead {
    /// Runs that are shown together have one leading duration.
    pub fn of_all(runs: impl IntoIterator<Item = Self>) -> Self {
        runs.into_iter().max().unwrap_or_default()
    }

    /// The same statistic of responses for one of operations, if these lead.
    pub fn instead_of(self, figure: &'static Figure) -> &'static Figure {
        const PAIRS: [[&Figure; 2]; 7] = [
            [&OPERATION_MEAN_US, &RESPONSE_MEAN_US],
            [&OPERATION_P50_US, &RESPONSE_P50_US],
            [&OPERATION_P90_US, &RESPONSE_P90_US],
            [&OPERATION_P95_US, &RESPONSE_P95_US],
            [&OPERATION_P99_US, &RESPONSE_P99_US],
            [&OPERATION_P999_US, &RESPONSE_P999_US],
            [&OPERATION_MAX_US, &RESPONSE_MAX_US],
        ];
        let pair =
            PAIRS.iter().find(|[operation, _]| self == Self::Response && operation.name == figure.name);
        pair.map_or(figure, |[_, response]| response)
    }

    pub fn mean(self) -> &'static Figure {
        self.instead_of(&OPERATION_MEAN_US)
    }

    pub fn p99(self) -> &'static Figure {
        self.instead_of(&OPERATION_P99_US)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Response => "response",
        }
    }

    /// Where responses lead, operations come second, and then how many were at work at a time.
    pub const fn key(self) -> &'static [&'static Figure] {
        match self {
            Self::Operation => &[
                &PHYSICAL_READS_PER_S,
                &PHYSICAL_READ_P99_US,
                &OPERATIONS_PER_S,
                &OPERATION_P99_US,
                &PHYSICAL_READS_PER_DB_CPU_S,
                &REDO_MB_PER_S,
                &PERCENT_OF_CEILING,
                &REDO_PERCENT_OF_CEILING,
            ],
            Self::Response => &[
                &PHYSICAL_READS_PER_S,
                &PHYSICAL_READ_P99_US,
                &OPERATIONS_PER_S,
                &RESPONSE_P99_US,
                &OPERATION_P99_US,
                &AVERAGE_ACTIVE_SESSIONS,
                &PHYSICAL_READS_PER_DB_CPU_S,
                &REDO_MB_PER_S,
                &PERCENT_OF_CEILING,
                &REDO_PERCENT_OF_CEILING,
            ],
        }
    }

    /// The first of these figures, for tables of runs.
    pub const fn key_in_rows(self) -> &'static [&'static Figure] {
        let of_one = match self {
            Self::Operation => 4,
            Self::Response => 6,
        };
        self.key().split_at(of_one).0
    }
}

pub const OF_READERS: [&Figure; 4] =
    [&READERS, &READER_OPERATIONS_PER_S, &READER_OPERATION_MEAN_US, &READER_OPERATION_P99_US];
pub const OF_WRITERS: [&Figure; 4] =
    [&WRITERS, &WRITER_OPERATIONS_PER_S, &WRITER_OPERATION_MEAN_US, &WRITER_OPERATION_P99_US];

/// Fields: name, title, unit, better, source, verdicts, value; then those that differ from [`Figure::new`].
macro_rules! figures {
    ($($figure:ident = $name:literal, $title:literal, $unit:literal, $better:ident, $source:expr, $rests_on:expr, $get:expr
        $(, $field:ident: $value:expr)*;)*) => {
        $(
            #[doc = $title]
            pub const $figure: Figure = Figure {
                $($field: $value,)*
                ..Figure::new($name, $title, $unit, Better::$better, $source, $rests_on, $get)
            };
        )*
        pub const ALL: &[Figure] = &[$($figure),*];
    };
}

use Durations::{Database, Dispatch, OfRole, Operations, Responses};
use Get::{Count, Number, Percentile, Set, SetDecimal, SetNumber};

const SET: &[Question] = &[];
const COUNTS: &[Question] = &[Question::Accounted, Question::Complete];
/// An uneven load has no mean.
const LOAD: &[Question] = &[Question::Accounted, Question::Steady, Question::Complete];
/// A cache below the database makes operations that read its storage faster.
const WORK: &[Question] = &[Question::Physical, Question::Accounted, Question::Steady, Question::Complete];
/// A cache below the database, or a lack of CPU, hides the storage.
const READS: &[Question] =
    &[Question::Physical, Question::Accounted, Question::CpuToSpare, Question::Steady, Question::Complete];

const SAVED_LOAD: &str = "the last load of these data that RESULTS_DIR holds";
const OURS: &str = "operations that ended in the window, counted by this program";
const COUNTED: &str = "the database's counters between two snapshots";
const COMMITTED: &str = "the database's count, or else the UPDATEs";
const TIMED: &str = "the duration of every operation of the window";
const RESPONSE: &str = "from the moment at which a session was ready for an operation, with RATE at which it was due, to its end";
const DISPATCH: &str =
    "from the moment at which a session was ready for a batch to the start of its first operation";
const OF_ROLE: &str =
    "with WRITERS and READERS: operations of the window of the sessions of this role, timed by this program";
const READ_TIMES: &str = "physical reads, as the database timed them, or else the kernel's trace";
const SYNCS: &str = "forced writes of the log, as the database timed them";
const HOST: &str = "/proc/stat of the host";
const DB_CPU: &str = "CPU time of the database's processes";
const KERNEL: &str = "the kernel's counters of the device, for everybody on the host";
const TRACED: &str = "the kernel's trace of the server's reads (TRACE)";
const PROBE: &str = "the probe of the device that the record holds";

figures! {
    // Set.
    SESSIONS = "sessions", "Sessions", "", Neither, "schemas x threads", SET,
        Set(|record| Some(record.workload.sessions().into()));
    SCHEMAS = "schemas", "Schemas", "", Neither, "SCHEMAS", SET, Set(|record| Some(record.workload.schemas.get().into()));
    THREADS_PER_SCHEMA = "threads_per_schema", "Threads on each schema", "", Neither, "THREADS_PER_SCHEMA", SET,
        Set(|record| Some(record.workload.threads_per_schema.get().into()));
    SCALE_BLOCKS = "scale_blocks", "Blocks of each schema", "blocks", Neither, "active data set of each schema", SET,
        Set(|record| Some(record.workload.scale_blocks));
    BLOCK_BYTES = "block_bytes", "Bytes of a block", "bytes", Neither, "a block of the server", SET,
        Set(|record| Some(record.server.block_bytes.into()));
    WORK_UNIT = "work_unit", "Blocks of a SELECT", "blocks", Neither, "blocks of a SELECT", SET,
        Set(|record| Some(record.workload.work_unit.get().into()));
    UPDATE_WORK_UNIT = "update_work_unit", "Blocks of an UPDATE", "blocks", Neither, "blocks of an UPDATE", SET,
        Set(|record| Some(record.workload.update_work_unit.get().into()));
    UPDATE_PCT = "update_pct", "UPDATEs among operations (%)", "%", Neither, "operations that are UPDATEs", SET,
        SetDecimal(|record| record.workload.roles().is_none().then(|| record.workload.update_pct.get())), short: "Updates %";
    COMMIT_EVERY = "commit_every", "UPDATEs for each COMMIT", "", Neither, "UPDATEs of a transaction", SET,
        SetDecimal(|record| record.workload.redo_of_updates().map(|_| record.workload.commit_every.get()));
    WRITERS = "writers", "Sessions that only update", "", Neither, "WRITERS, in a run with readers too", SET,
        Set(|record| record.workload.roles().map(|roles| roles.writers.into())), short: "Writers";
    READERS = "readers", "Sessions that only read", "", Neither, "READERS, in a run with writers too", SET,
        Set(|record| record.workload.roles().map(|roles| roles.readers.into())), short: "Readers";
    SCAN_PCT = "scan_pct", "Scans among the others (%)", "%", Neither, "of the others: short scans", SET,
        SetDecimal(|record| Some(record.workload.scan_pct.get()));
    SEED = "seed", "Seed", "", Neither, "seed of the plan", SET, Set(|record| Some(record.workload.seed));
    RATE_PER_S = "rate_per_s", "Rate", "1/s", Neither, "RATE, in an open loop; of a schedule its mean", SET, Set(mean_rate);
    WINDOW_S = "window_s", "Measured window (s)", "s", Neither,
        "length of the measured window, by which rates are divided", SET,
        Number(|run| Some(run.window_s));
    WARMUP_S = "warmup_s", "Warm-up (s)", "s", Neither, "the record", SET, SetNumber(|record| Some(record.workload.warmup_s));
    LOAD_S = "load_s", "Load of the data (s)", "s", Neither, SAVED_LOAD, SET, SetNumber(|record| Some(load(record)?.seconds));
    LOAD_MB = "load_mb", "Load of the data (MB)", "MB", Neither, SAVED_LOAD, SET,
        SetNumber(|record| Some(load(record)?.bytes as f64 / 1e6));
    LOAD_MB_PER_S = "load_mb_per_s", "Rate of the load (MB/s)", "MB/s", Neither, SAVED_LOAD, SET,
        SetNumber(|record| ratio(load(record)?.bytes as f64 / 1e6, load(record)?.seconds));

    // The load.
    OPERATIONS = "operations", "Operations of the window", "", Neither, OURS, COUNTS,
        Count(|run| Some(total_operations(run.record)));
    OPERATIONS_PER_S = "operations_per_s", "Operations", "1/s", Higher, OURS, WORK,
        Number(|run| Some(run.per_s(total_operations(run.record)))), heading: "Operations/s", short: "Op./s";
    SELECTS_PER_S = "selects_per_s", "SELECTs", "1/s", Higher, OURS, WORK,
        Number(|run| Some(run.per_s(run.operations_of(OpKind::Select))));
    // UPDATEs, each with its commit.
    UPDATES_PER_S = "updates_per_s", "UPDATEs", "1/s", Higher, OURS, WORK,
        Number(|run| Some(run.per_s(run.operations_of(OpKind::Update))));
    SCANS_PER_S = "scans_per_s", "Scans", "1/s", Higher, OURS, WORK,
        Number(|run| Some(run.per_s(run.operations_of(OpKind::Scan))));
    WRITER_OPERATIONS_PER_S = "writer_operations_per_s", "Operations of the writers", "1/s", Higher, OF_ROLE, WORK,
        Number(|run| Some(run.per_s(run.durations_of(Role::Writer)?.count())));
    READER_OPERATIONS_PER_S = "reader_operations_per_s", "Operations of the readers", "1/s", Higher, OF_ROLE, WORK,
        Number(|run| Some(run.per_s(run.durations_of(Role::Reader)?.count())));
    ROWS_PER_S = "rows_per_s", "Rows (one per block)", "1/s", Higher, "rows of these operations; each block holds one", WORK,
        Number(|run| Some(run.per_s(total_rows(run.record))));
    COMMITS = "commits", "Transactions of the window", "", Neither, COMMITTED, COUNTS, Count(|run| commits(run.record));
    COMMITS_PER_S = "commits_per_s", "Transactions", "1/s", Higher, COMMITTED, WORK,
        Number(|run| commits(run.record).map(|commits| run.per_s(commits)));
    // Visits of blocks in the buffer cache.
    LOGICAL_READS_PER_S = "logical_reads_per_s", "Logical reads (blocks)", "blocks/s", Higher, COUNTED, WORK,
        Number(|run| run.counted_per_s(Counter::LogicalReads));
    // Blocks that the buffer cache requested from the operating system.
    PHYSICAL_READS_PER_S = "physical_reads_per_s", "Physical reads (blocks)", "blocks/s", Higher, COUNTED, READS,
        Number(|run| run.counted_per_s(Counter::PhysicalReads)), heading: "Physical reads/s (IOPS)", short: "IOPS";
    PHYSICAL_READ_REQUESTS_PER_S = "physical_read_requests_per_s", "Physical read requests", "1/s", Neither, COUNTED, READS,
        Number(|run| run.counted_per_s(Counter::PhysicalReadRequests));
    PHYSICAL_READ_REQUEST_KIB = "physical_read_request_kib", "Physical read request, mean (KiB)", "KiB", Neither,
        "bytes of physical reads by their requests, as the database counts them", READS,
        Number(|run| ratio(physical_read_bytes(run.record)? as f64 / 1024.0, run.counted(Counter::PhysicalReadRequests)?)),
        format: Format::Tenths;
    PHYSICAL_READ_MB_PER_S = "physical_read_mb_per_s", "Physical reads (MB)", "MB/s", Higher, COUNTED, READS,
        Number(read_mb_per_s);
    PHYSICAL_IO_PER_S = "physical_io_per_s", "Physical reads and writes (blocks)", "blocks/s", Higher, COUNTED, READS,
        Number(physical_io_per_s);
    // Blocks of tables and indexes.
    PHYSICAL_WRITES_PER_S = "physical_writes_per_s", "Physical writes (blocks)", "blocks/s", Neither, COUNTED, WORK,
        Number(|run| run.counted_per_s(Counter::PhysicalWrites));
    PHYSICAL_WRITE_MB_PER_S = "physical_write_mb_per_s", "Physical writes (MB)", "MB/s", Neither, COUNTED, WORK,
        Number(write_mb_per_s);
    // The total of AWR's IO Profile: reads, writes and redo.
    IO_PER_S = "io_per_s", "Reads, writes and redo", "1/s", Neither,
        "physical reads and writes (blocks) and redo writes, counted by the database", READS,
        Number(|run| sum(TOTAL_IO.map(|counter| run.counted_per_s(counter))));
    IO_MB_PER_S = "io_mb_per_s", "Reads, writes and redo (MB)", "MB/s", Neither,
        "bytes of physical reads and writes and of redo, counted by the database", READS,
        Number(|run| sum([read_mb_per_s, write_mb_per_s, redo_mb_per_s].map(|mb| mb(run))));
    REDO_WRITES_PER_S = "redo_writes_per_s", "Redo writes", "1/s", Neither, COUNTED, WORK,
        Number(|run| run.counted_per_s(Counter::RedoWrites));
    REDO_MB_PER_S = "redo_mb_per_s", "Redo (MB)", "MB/s", Neither, COUNTED, WORK,
        Number(redo_mb_per_s), heading: "Redo MB/s", short: "Redo MB/s";
    // Forced writes of the log to stable storage.
    REDO_SYNCS_PER_S = "redo_syncs_per_s", "Redo syncs", "1/s", Neither, COUNTED, WORK,
        Number(|run| run.counted_per_s(Counter::RedoSyncs)), format: Format::Tenths;
    CHECKPOINTS_PER_S = "checkpoints_per_s", "Checkpoints", "1/s", Neither, COUNTED, LOAD,
        Number(|run| run.counted_per_s(Counter::Checkpoints));
    HIT_PERCENT = "hit_percent", "Buffer cache hits (%)", "%", Neither, "logical reads that needed no physical one", COUNTS,
        Number(hit_percent);
    DB_TIME_S = "db_time_s", "DB time of the window (s)", "s", Neither,
        "time inside operations, all sessions together", COUNTS,
        Number(|run| db_time_s(run.record));
    AVERAGE_ACTIVE_SESSIONS = "average_active_sessions", "DB time (s)", "", Neither,
        "DB time per second: sessions inside an operation, on average", LOAD,
        Number(|run| Some(db_time_s(run.record)? / run.window_s)), format: Format::Hundredths,
        heading: "In flight", short: "in flight";

    // Latencies.
    OPERATION_MEAN_US = "operation_mean_us", "Operation, mean", "us", Lower, TIMED, WORK, Number(|run| mean_us(run.operations()));
    OPERATION_P50_US = "operation_p50_us", "Operation, p50", "us", Lower, TIMED, WORK, Percentile(Operations, 50.0);
    OPERATION_P90_US = "operation_p90_us", "Operation, p90", "us", Lower, TIMED, WORK, Percentile(Operations, 90.0);
    OPERATION_P95_US = "operation_p95_us", "Operation, p95", "us", Lower, TIMED, WORK, Percentile(Operations, 95.0);
    OPERATION_P99_US = "operation_p99_us", "Operation, p99", "us", Lower, TIMED, WORK, Percentile(Operations, 99.0),
        heading: "p99 of an operation", short: "op. p99";
    OPERATION_P999_US = "operation_p999_us", "Operation, p99.9", "us", Lower, TIMED, WORK, Percentile(Operations, 99.9);
    OPERATION_MAX_US = "operation_max_us", "Operation, max", "us", Lower, TIMED, WORK, Percentile(Operations, 100.0);
    WRITER_OPERATION_MEAN_US = "writer_operation_mean_us", "Operation of a writer, mean", "us", Lower, OF_ROLE, WORK,
        Number(|run| mean_us(&run.durations_of(Role::Writer)?));
    WRITER_OPERATION_P99_US = "writer_operation_p99_us", "Operation of a writer, p99", "us", Lower, OF_ROLE, WORK,
        Percentile(OfRole(Role::Writer), 99.0);
    READER_OPERATION_MEAN_US = "reader_operation_mean_us", "Operation of a reader, mean", "us", Lower, OF_ROLE, WORK,
        Number(|run| mean_us(&run.durations_of(Role::Reader)?));
    READER_OPERATION_P99_US = "reader_operation_p99_us", "Operation of a reader, p99", "us", Lower, OF_ROLE, WORK,
        Percentile(OfRole(Role::Reader), 99.0);
    RESPONSE_MEAN_US = "response_mean_us", "Response, mean", "us", Lower, RESPONSE, WORK, Number(|run| mean_us(run.responses()));
    RESPONSE_P50_US = "response_p50_us", "Response, p50", "us", Lower, RESPONSE, WORK, Percentile(Responses, 50.0);
    RESPONSE_P90_US = "response_p90_us", "Response, p90", "us", Lower, RESPONSE, WORK, Percentile(Responses, 90.0);
    RESPONSE_P95_US = "response_p95_us", "Response, p95", "us", Lower, RESPONSE, WORK, Percentile(Responses, 95.0);
    RESPONSE_P99_US = "response_p99_us", "Response, p99", "us", Lower, RESPONSE, WORK, Percentile(Responses, 99.0),
        heading: "p99 of a response", short: "response p99";
    RESPONSE_P999_US = "response_p999_us", "Response, p99.9", "us", Lower, RESPONSE, WORK, Percentile(Responses, 99.9);
    RESPONSE_MAX_US = "response_max_us", "Response, max", "us", Lower, RESPONSE, WORK, Percentile(Responses, 100.0);
    DISPATCH_MEAN_US = "dispatch_mean_us", "Dispatch, mean", "us", Lower, DISPATCH, LOAD,
        Number(|run| mean_us(&run.record.dispatch));
    DISPATCH_P99_US = "dispatch_p99_us", "Dispatch, p99", "us", Lower, DISPATCH, LOAD, Percentile(Dispatch, 99.0);
    // Waits for this program, the network or a CPU, without think time and waits for arrivals.
    WAITING_PERCENT = "waiting_percent", "Waiting outside operations (% of the sessions' time)", "%", Lower,
        "time in which sessions were ready and no operation of theirs was at work", LOAD,
        Number(|run| {
            let waiting_s = outside_s(run.record, |session| session.waiting_us)?;
            ratio(100.0 * waiting_s, run.window_s * run.record.sessions.len() as f64) });
    LITTLE_PERCENT = "little_percent", "Little's law (% of the sessions)", "%", Neither,
        "without RATE: operations_per_s x (mean response + mean think time) by the sessions, with responses that had not ended",
        SET,
        Number(|run| {
            let time = SessionsTime::of(run.record)?;
            ratio(100.0 * (time.responses_us as f64 + time.idle_us as f64), time.window_us as f64) });
    BACKLOG = "backlog", "Operations due and not done", "", Lower,
        "with RATE: operations that were due at the end of the window and not done", COUNTS,
        Count(|run| run.record.backlog);
    // Exact even if percentiles are bounds.
    PHYSICAL_READ_MEAN_US = "physical_read_mean_us", "Physical read, mean", "us", Lower,
        "physical reads, each as the database timed it, or else the time it counted for them by their number, or the kernel's trace",
        READS,
        Number(read_mean_us), counter: Some(Counter::PhysicalReads);
    PHYSICAL_READ_P50_US = "physical_read_p50_us", "Physical read, p50", "us", Lower, READ_TIMES, READS,
        Percentile(Database(LatencyKind::PhysicalRead), 50.0);
    PHYSICAL_READ_P99_US = "physical_read_p99_us", "Physical read, p99", "us", Lower, READ_TIMES, READS,
        Percentile(Database(LatencyKind::PhysicalRead), 99.0), heading: "p99 of a phys. read", short: "read p99";
    PHYSICAL_WRITE_MEAN_US = "physical_write_mean_us", "Physical write, mean", "us", Lower,
        "writes of blocks, as the database timed them", LOAD,
        Number(|run| latency_mean_us(run.record, LatencyKind::PhysicalWrite)), counter: Some(Counter::PhysicalWrites);
    REDO_SYNC_MEAN_US = "redo_sync_mean_us", "Redo sync, mean", "us", Lower, SYNCS, LOAD,
        Number(redo_sync_mean_us), counter: Some(Counter::RedoSyncs);
    REDO_SYNC_P99_US = "redo_sync_p99_us", "Redo sync, p99", "us", Lower, SYNCS, LOAD,
        Percentile(Database(LatencyKind::RedoSync), 99.0);

    // The kernel's, from the traced stretch.
    READ_CALL_MEAN_US = "read_call_mean_us", "Read call, mean", "us", Lower, TRACED, READS,
        Number(|run| mean_us(&run.record.trace.as_ref()?.kernel.reads()));
    READ_IN_QUEUE_MEAN_US = "read_in_queue_mean_us", "Read request in the queue, mean", "us", Lower, TRACED, READS,
        Number(|run| span_mean_us(run, Span::ReadInQueue));
    READ_IN_DEVICE_MEAN_US = "read_in_device_mean_us", "Read request in the device, mean", "us", Lower, TRACED, READS,
        Number(|run| span_mean_us(run, Span::ReadInDevice));
    READ_WAKE_UP_MEAN_US = "read_wake_up_mean_us", "Read, from the device's answer to the return, mean", "us", Lower,
        TRACED, READS, Number(|run| span_mean_us(run, Span::ReadWakeUp));
    PAGE_CACHE_PERCENT = "page_cache_percent", "Reads from the page cache (%)", "%", Neither, TRACED, READS,
        Number(|run| Some(100.0 * cached_share(run.record.trace.as_ref()?)?));

    // Further columns of `awr_info`, with latencies of Oracle's wait events or the same as this database measured it.
    // Times of the block device never replace them: behind a page cache they are times of other reads.
    PHYSICAL_READ_MIB_PER_S = "physical_read_mib_per_s", "Physical reads (MiB)", "MiB/s", Higher,
        "physical_read_mb_per_s in 2^20 bytes, as awr_info has it", READS,
        Number(|run| read_mb_per_s(run).map(mib));
    PHYSICAL_WRITE_MIB_PER_S = "physical_write_mib_per_s", "Physical writes (MiB)", "MiB/s", Neither,
        "physical_write_mb_per_s in 2^20 bytes, as awr_info has it", WORK,
        Number(|run| write_mb_per_s(run).map(mib));
    REDO_MIB_PER_S = "redo_mib_per_s", "Redo (MiB)", "MiB/s", Neither,
        "redo_mb_per_s in 2^20 bytes, as awr_info has it", WORK,
        Number(|run| redo_mb_per_s(run).map(mib));
    SINGLE_READ_MEAN_US = "single_read_mean_us", "Wait for one block, mean", "us", Lower,
        "mean wait for one block: event 'db file sequential read', or else physical_read_mean_us", READS,
        Number(|run| event_mean_us(run.record, "db file sequential read").or_else(|| read_mean_us(run))),
        counter: Some(Counter::PhysicalReads);
    DIRECT_READ_MEAN_US = "direct_read_mean_us", "Direct path read, mean", "us", Lower,
        "mean wait of event 'direct path read'", READS,
        Number(|run| event_mean_us(run.record, "direct path read")), counter: Some(Counter::PhysicalReads);
    PARALLEL_READ_MEAN_US = "parallel_read_mean_us", "Parallel read, mean", "us", Lower,
        "mean wait of event 'db file parallel read'", READS,
        Number(|run| event_mean_us(run.record, "db file parallel read"));
    BLOCK_WRITE_MEAN_US = "block_write_mean_us", "Write of blocks, mean", "us", Lower,
        "mean write of table and index blocks: event 'db file parallel write', or else as the database measured it", LOAD,
        Number(|run| event_or_latency(run, "db file parallel write", LatencyKind::PhysicalWrite)),
        counter: Some(Counter::PhysicalWrites);
    LOG_WRITE_MEAN_US = "log_write_mean_us", "Write of the log, mean", "us", Lower,
        "mean write of the log: event 'log file parallel write', or else redo_sync_mean_us", LOAD,
        Number(|run| event_or_latency(run, "log file parallel write", LatencyKind::RedoSync)), counter: Some(Counter::RedoSyncs);

    // CPU.
    HOST_CPUS = "host_cpus", "CPUs of the host", "", Neither, "CPUs (hardware threads) of the host", SET,
        Count(|run| run.host_cpus().map(u64::from));
    HOST_CORES = "host_cores", "Cores of the host", "", Neither, "cores of the host, each of one or more CPUs", SET,
        Count(|run| host_cores(run).map(u64::from));
    DB_CPUS = "db_cpus", "DB CPU (s)", "", Neither,
        "DB CPU per second: CPUs that the database kept busy, on average", LOAD,
        Number(|run| ratio(run.db_cpu_s()?, run.observed_s())), format: Format::Hundredths;
    DB_CPU_S = "db_cpu_s", "DB CPU of the window (s)", "s", Neither, DB_CPU, COUNTS, Number(|run| run.db_cpu_s());
    DB_CPU_PERCENT_OF_HOST = "db_cpu_percent_of_host", "DB CPU (% of the host's CPUs)", "%", Neither, DB_CPU, LOAD,
        Number(|run| run.percent_of_host(run.db_cpu_s()?));
    DB_CPU_PERCENT_OF_DB_TIME = "db_cpu_percent_of_db_time", "DB CPU (% of DB time)", "%", Neither, DB_CPU, LOAD,
        Number(|run| ratio(100.0 * run.db_cpu_s()?, db_time_s(run.record)?));
    // CPU of all processes if sessions share them.
    SESSIONS_CPU_PERCENT_OF_DB_TIME = "sessions_cpu_percent_of_db_time", "CPU of the sessions' processes (% of DB time)", "%",
        Neither, "CPU time of the processes that serve the sessions", LOAD,
        Number(|run| ratio(100.0 * run.sessions_cpu_s()?, db_time_s(run.record)?));
    // The same time as `db_cpu_s` with an embedded database.
    CLIENT_CPU_S = "client_cpu_s", "CPU of this program (s)", "s", Neither, "CPU time of this program", COUNTS,
        Number(|run| run.client_cpu_s());
    HOST_BUSY_PERCENT = "host_busy_percent", "Host CPU busy (%)", "%", Neither, HOST, LOAD, Number(host_busy_percent);
    HOST_USER_PERCENT = "host_user_percent", "Host CPU user (%)", "%", Neither, HOST, LOAD,
        Number(|run| run.percent_of_cpus(|cpu| cpu.user_s + cpu.nice_s));
    HOST_SYSTEM_PERCENT = "host_system_percent", "Host CPU system (%)", "%", Neither, HOST, LOAD,
        Number(|run| run.percent_of_cpus(|cpu| cpu.system_s + cpu.irq_s + cpu.softirq_s));
    // A part of idle time: CPUs without work while I/O was outstanding.
    HOST_IO_WAIT_PERCENT = "host_io_wait_percent", "Host CPU I/O wait (%)", "%", Neither, HOST, LOAD,
        Number(|run| run.percent_of_cpus(|cpu| cpu.iowait_s));
    HOST_LOAD = "host_load", "Host load average", "", Neither,
        "load average of the host over the last minute, at the end of the window", LOAD,
        Number(|run| run.record.host.as_ref()?.load_1m), format: Format::Hundredths;
    HOST_STEAL_PERCENT = "host_steal_percent", "Host CPU stolen (%)", "%", Lower, HOST, LOAD,
        Number(|run| run.percent_of_cpus(|cpu| cpu.steal_s));
    // Time without idle, iowait and steal.
    HOST_BUSY_S = "host_busy_s", "CPU time that the host worked (s)", "s", Neither, HOST, COUNTS,
        Number(|run| run.host_cpu().map(|cpu| cpu.busy_s()));
    RUN_PERCENT_OF_HOST = "run_percent_of_host", "DB and client CPU (% of the host's CPUs)", "%", Neither,
        "CPU time of the database and this program together", LOAD,
        Number(|run| run.percent_of_host(run.run_cpu_s()?));
    FOREIGN_CPU_PERCENT = "foreign_cpu_percent", "CPU of others (%)", "%", Lower,
        "CPU time of others than the database and this program", LOAD,
        Number(foreign_cpu_percent);
    PHYSICAL_READS_PER_DB_CPU_S = "physical_reads_per_db_cpu_s", "Physical reads per DB-CPU-s", "blocks/s", Higher,
        "physical reads by CPU time of the database", READS,
        Number(|run| ratio(run.counted(Counter::PhysicalReads)?, run.db_cpu_s()?)),
        heading: "IOPS per DB-CPU-s", short: "IOPS per DB-CPU-s";
    LOGICAL_READS_PER_DB_CPU_S = "logical_reads_per_db_cpu_s", "Logical reads per DB-CPU-s", "blocks/s", Higher,
        "logical reads by CPU time of the database", WORK,
        Number(|run| ratio(run.counted(Counter::LogicalReads)?, run.db_cpu_s()?));
    PHYSICAL_READS_PER_HOST_CPU_S = "physical_reads_per_host_cpu_s", "Physical reads per host-CPU-s", "blocks/s", Higher,
        "physical reads by CPU time of the host", READS,
        Number(|run| ratio(run.counted(Counter::PhysicalReads)?, run.host_cpu()?.busy_s()));
    IOPS_PER_CORE = "iops_per_core", "IOPS per core of the host", "blocks/s", Higher, "physical_io_per_s by host_cores", READS,
        Number(|run| ratio(physical_io_per_s(run)?, f64::from(host_cores(run)?)));
    IOPS_PER_DB_CORE = "iops_per_db_core", "IOPS per core of DB CPU", "blocks/s", Higher,
        "physical_io_per_s by db_cpus", READS,
        Number(|run| ratio(physical_io_per_s(run)? * run.observed_s(), run.db_cpu_s()?));
    IOPS_PER_LICENSED_CORE = "iops_per_licensed_core", "IOPS per licensed core", "blocks/s", Higher,
        "physical_io_per_s by LICENSED_CORES", READS,
        Number(|run| ratio(physical_io_per_s(run)?, licensed_cores(run.record)?.number()));
    COST_PER_MILLION_IOPS_HOURS = "cost_per_million_iops_hours", "Cost of a million IOPS-hours", "", Lower,
        "COST_PER_HOUR by physical_io_per_s in millions, in the currency of COST_PER_HOUR", READS,
        Number(|run| cost_per_million_iops_hours(&cost_per_hour(run.record)?, physical_io_per_s(run)?)), format: Format::Significant;
    DB_CPU_US_PER_PHYSICAL_READ = "db_cpu_us_per_physical_read", "DB CPU per physical read (us)", "us", Lower,
        "CPU time of the database by physical reads", READS,
        Number(|run| ratio(run.db_cpu_s()? * 1e6, run.counted(Counter::PhysicalReads)?)), format: Format::Significant;

    // The block device behind the data, for all programs of the host.
    DEVICE_READS_PER_S = "device_reads_per_s", "Device reads/s", "1/s", Neither, KERNEL, LOAD,
        Number(|run| run.device(DeviceUse::reads_per_s));
    DEVICE_READ_MB_PER_S = "device_read_mb_per_s", "Device read MB/s", "MB/s", Neither, KERNEL, LOAD,
        Number(|run| run.device(DeviceUse::read_mb_per_s));
    // Queueing included (iostat's r_await).
    DEVICE_READ_AWAIT_US = "device_read_await_us", "Device read await (us)", "us", Lower, KERNEL, LOAD,
        Number(|run| run.device(|used, _| used.mean_read_us()));
    // Size after merging (iostat's rareq-sz).
    DEVICE_READ_REQUEST_KIB = "device_read_request_kib", "Device read request, mean (KiB)", "KiB", Neither, KERNEL, LOAD,
        Number(|run| run.device(|used, _| used.mean_read_bytes()).map(|bytes| bytes / 1024.0)), format: Format::Tenths;
    DEVICE_WRITES_PER_S = "device_writes_per_s", "Device writes/s", "1/s", Neither, KERNEL, LOAD,
        Number(|run| run.device(DeviceUse::writes_per_s));
    DEVICE_WRITE_MB_PER_S = "device_write_mb_per_s", "Device write MB/s", "MB/s", Neither, KERNEL, LOAD,
        Number(|run| run.device(DeviceUse::write_mb_per_s));
    // Queueing included (iostat's w_await).
    DEVICE_WRITE_AWAIT_US = "device_write_await_us", "Device write await (us)", "us", Lower, KERNEL, LOAD,
        Number(|run| run.device(|used, _| used.mean_write_us()));
    // iostat's aqu-sz.
    DEVICE_QUEUE = "device_queue", "Device queue", "", Neither, KERNEL, LOAD,
        Number(|run| run.device(DeviceUse::mean_queue_length)), format: Format::Hundredths;
    DEVICE_BUSY_PERCENT = "device_busy_percent", "Device busy (%)", "%", Neither, KERNEL, LOAD,
        Number(|run| run.device(DeviceUse::utilisation_percent));
    DATABASE_READS_PER_S = "database_reads_per_s", "Device reads for the database (blocks)", "blocks/s", Higher,
        "reads that the device served for the database", LOAD,
        Number(database_reads_per_s);
    FOREIGN_READ_MB_PER_S = "foreign_read_mb_per_s", "Device read MB/s for others", "MB/s", Lower,
        "reads of the device for others than this run", LOAD,
        Number(foreign_read_mb_per_s);

    // The probe. The ceiling is the most random reads of one block per second of any step.
    CEILING_IOPS = "ceiling_iops", "Ceiling of the device (IOPS)", "1/s", Neither, PROBE, SET, Number(ceiling_iops);
    // A step with as many sessions as the run.
    SYNC_IOPS = "sync_iops", "Synchronous reads of the device (IOPS)", "1/s", Neither, PROBE, SET, Number(sync_iops);
    // Unknown for a run above the probe.
    PERCENT_OF_CEILING = "percent_of_ceiling", "Of the device's ceiling (%)", "%", Neither, PROBE, LOAD,
        Number(|run| percent_of_ceiling(run).filter(is_credible)),
        heading: "% of device's ceiling", short: "% of ceiling";
    // Reads of all programs, in blocks' worth of bytes; unknown above the ceiling.
    DEVICE_PERCENT_OF_CEILING = "device_percent_of_ceiling", "All reads, of the device's ceiling (%)", "%", Neither, PROBE, LOAD,
        Number(|run| device_percent_of_ceiling(run).filter(is_credible));
    PERCENT_OF_SYNC = "percent_of_sync", "Of the device's synchronous reads (%)", "%", Neither, PROBE, LOAD,
        Number(|run| ratio(100.0 * device_reads_per_s(run)?, sync_iops(run)?));
    // A step with the number of streams that is nearest to the run's logs.
    DURABLE_WRITES_PER_S = "durable_writes_per_s", "Durable writes of the device", "1/s", Neither, PROBE, SET,
        Number(|run| Some(commits_of_device(run.record)?.1));
    // Above 100 the log's flushes are cheaper than the device's.
    REDO_PERCENT_OF_CEILING = "redo_percent_of_ceiling", "Redo syncs, of the device's durable writes (%)", "%", Neither, PROBE, LOAD,
        Number(|run| ratio(100.0 * run.counted_per_s(Counter::RedoSyncs)?, commits_of_device(run.record)?.1)),
        heading: "% of device's durable writes", short: "% of durable writes";
}

fn physical_io_per_s(run: &Measured<'_>) -> Option<f64> {
    Some(run.counted_per_s(Counter::PhysicalReads)? + run.counted_per_s(Counter::PhysicalWrites)?)
}

fn host_cores(run: &Measured<'_>) -> Option<u32> {
    run.record.host.as_ref()?.info.cores
}

/// The divisor is millions of I/Os per second.
pub fn cost_per_million_iops_hours(cost_per_hour: &Amount, io_per_s: f64) -> Option<f64> {
    ratio(1e6 * cost_per_hour.number(), io_per_s)
}

pub fn cost_per_hour(record: &Record) -> Option<Amount> {
    amount(record, "COST_PER_HOUR")
}

pub fn licensed_cores(record: &Record) -> Option<Amount> {
    amount(record, "LICENSED_CORES")
}

fn amount(record: &Record, key: &str) -> Option<Amount> {
    record.configured(key)?.parse().ok()
}

fn read_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    physical_read_bytes(run.record).map(|bytes| run.per_s(bytes) / 1e6)
}

fn write_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    let block_bytes = f64::from(run.record.server.block_bytes);
    run.counted_per_s(Counter::PhysicalWrites).map(|blocks| blocks * block_bytes / 1e6)
}

fn redo_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    run.counted_per_s(Counter::RedoBytes).map(|bytes| bytes / 1e6)
}

const TOTAL_IO: [Counter; 3] = [Counter::PhysicalReads, Counter::PhysicalWrites, Counter::RedoWrites];

fn sum<const N: usize>(parts: [Option<f64>; N]) -> Option<f64> {
    parts.into_iter().sum()
}

fn load(record: &Record) -> Option<LoadCost> {
    record.load.as_ref()?.cost
}

fn mib(mb: f64) -> f64 {
    mb * 1e6 / 1_048_576.0
}

fn span_mean_us(run: &Measured<'_>, span: Span) -> Option<f64> {
    mean_us(run.record.trace.as_ref()?.kernel.span(span)?)
}

/// Read-ahead may make physical reads exceed logical ones: then the ratio is 0.
fn hit_percent(run: &Measured<'_>) -> Option<f64> {
    let (logical, physical) = (run.counted(Counter::LogicalReads)?, run.counted(Counter::PhysicalReads)?);
    ratio(100.0 * (logical - physical).max(0.0), logical)
}

/// The fallback is the time of all reads by their requests. Time of all clients is divided by reads of all.
fn read_mean_us(run: &Measured<'_>) -> Option<f64> {
    let counted = || {
        let time_ns = run.counted(Counter::PhysicalReadTimeNs)?;
        let is_own = run.record.server_counters.get(Counter::PhysicalReadTimeNs).is_some();
        let count = |of| if is_own { counter(run.record, of) } else { counter_of_all(run.record, of) };
        let reads = count(Counter::PhysicalReadRequests).or_else(|| count(Counter::PhysicalReads))?;
        ratio(time_ns / 1e3, reads as f64)
    };
    latency_mean_us(run.record, LatencyKind::PhysicalRead).or_else(counted)
}

fn redo_sync_mean_us(run: &Measured<'_>) -> Option<f64> {
    let counted = || ratio(run.counted(Counter::RedoSyncTimeNs)? / 1e3, run.counted(Counter::RedoSyncs)?);
    latency_mean_us(run.record, LatencyKind::RedoSync).or_else(counted)
}

fn event_or_latency(run: &Measured<'_>, event: &str, kind: LatencyKind) -> Option<f64> {
    event_mean_us(run.record, event).or_else(|| latency_mean_us(run.record, kind))
}

/// Includes stolen time. Sampled ticks miss sessions that sleep again between two ticks: the exact time is used if it is more.
fn host_busy_percent(run: &Measured<'_>) -> Option<f64> {
    let sampled = run.host_cpu()?.busy_percent()?;
    let exact_s = run.db_cpu_s().unwrap_or(0.0) + run.client_cpu_on_host_s().unwrap_or(0.0);
    Some(run.percent_of_host(exact_s).map_or(sampled, |exact| sampled.max(exact.min(100.0))))
}

/// The exact clocks of all processes come first. Sampled time less the run's own leaves interrupts out, as the device's belong to
/// the test.
fn foreign_cpu_percent(run: &Measured<'_>) -> Option<f64> {
    let others_s = run.record.host.as_ref().and_then(|host| host.others_cpu_s);
    let exact = others_s.and_then(|others_s| run.percent_of_host(others_s));
    if let Some(exact) = exact.filter(|share| *share <= 100.0) {
        return Some(exact);
    }
    let host = run.host_cpu()?;
    let programs_s = host.user_s + host.nice_s + host.system_s;
    ratio(100.0 * (programs_s - run.run_cpu_s()?).max(0.0), host.total_s())
}

fn foreign_read_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    let own = own_read_bytes(run.record).or_else(|| physical_read_bytes(run.record))?;
    let read_bytes = device_counters(run.record)?.used.read_bytes;
    Some(run.per_s(read_bytes.saturating_sub(own)) / 1e6)
}

#[cfg(test)]
mod tests;
