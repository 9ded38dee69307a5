//! The limits of verdicts. `docs/reference/verdicts.md` holds the table.

use slob_stats::RobustTrend;

use crate::format::plain_number;
use crate::question::Question;
use crate::table::{Column, Table};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Absent for limits of a search for headroom.
    pub question: Option<Question>,
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub reason: &'static str,
}

impl Threshold {
    pub fn share(&self) -> f64 {
        self.value / 100.0
    }
}

macro_rules! thresholds {
    ($($question:expr => { $($threshold:ident = $name:literal, $value:expr, $unit:literal, $reason:literal;)* })*) => {
        $($(
            #[doc = $reason]
            pub const $threshold: Threshold =
                Threshold { question: $question, name: $name, value: $value, unit: $unit, reason: $reason };
        )*)*
        pub const THRESHOLDS: &[Threshold] = &[$($($threshold),*),*];
    };
}

thresholds! {
    Some(Question::Physical) => {
        DELIVERED = "delivered", 95.0, "%",
            "each count of the reads must reach this share of the database's: counts differ by less at the edges of the window";
        EXCESS = "excess", 105.0, "%",
            "above it a count holds reads that nobody requested: as far above 100 % as `delivered` is below";
        MOSTLY_CACHED = "mostly_cached", 50.0, "%", "below it most reads came from a cache, and the figures are the cache's";
        LEAST_READS = "least_reads", 100.0, "reads",
            "fewer are lost among the reads of the program itself and of the file system";
        CACHED_HITS = "cached_hits", 99.0, "%", "above this hit ratio a run is a test of cached reads";
        WRITE_TIME = "write_time", 10.0, "% of DB time", "above it writes and log flushes are a load of their own";
        WRITE_RATE = "write_rate", 1.0, "MB/s of redo", "above it the storage has to write the log, whoever waits for it";
        MEMORY_READ = "memory_read", 8.0, "us", "no device delivers a block in less: it is a copy from memory";
        ABOVE_PROBE = "above_probe", 105.0, "% of the ceiling",
            "above it the probe did not find the ceiling: run and probe differ by less in time";
    }
    Some(Question::Accounted) => {
        COUNTERS_DIFFER = "counters_differ", 1.0, "% of the larger count",
            "two counters of the same thing may differ by this much";
        LONG_ROUND_TRIP = "long_round_trip", 1.0, "% of the window",
            "above it the window of an observed host is noticeably longer or shorter";
        OTHERS_WORK = "others_work", 1.0, "% of the server's work",
            "above it other clients of the server did more than the counters differ by";
        OTHERS_MUCH = "others_much", 10.0, "% of the server's work", "above it other clients decide what the server's totals say";
        OTHERS_VISITS = "others_visits", 1000.0, "visits, rows or commits",
            "other clients that did less do no harm, however little the run does";
        OTHERS_BYTES = "others_bytes", 4.0, "MiB",
            "other clients that read or logged less do no harm, however little the run does";
        OTHERS_READS = "others_reads", 5.0, "%", "above it further reads of the device are mentioned";
        INCIDENTAL_READS = "incidental_reads", 4.0, "MiB",
            "the kernel may fetch this much more than the database asked for: pages of the program and of its libraries, \
             and directories";
        UNWRITTEN_AHEAD = "unwritten_ahead", 64.0, "blocks of 16 KiB per scan",
            "a database that reads whole extents ahead also asks for blocks of a table's last one that were never written: the file \
             system knows their zeros, and no storage is asked";
        LOG_READ_BACK = "log_read_back", 1.0, "% of redo",
            "the kernel may also fetch this much of the log that the page cache lost before a write or a checkpoint \
             needed it";
    }
    Some(Question::CpuToSpare) => {
        CPU_FULL = "cpu_full", 90.0, "%",
            "from here on CPUs are at their limit: sessions also wait for each other, so that more is rare";
        DEVICE_FULL = "device_full", 90.0, "% busy, or of the ceiling", "from here on the device is close to its own limit";
        SESSIONS_ON_CPU = "sessions_on_cpu", 90.0, "% of DB time", "from here on sessions wait for hardly anything but CPU";
        DEVICE_WRITES = "device_writes", 10.0, "% of requests",
            "above it writes keep the device busy, which a probe of reads does not explain";
        IO_LIMIT = "io_limit", 90.0, "% of the limit", "from here on a control group's limit on I/O is the limit of the run";
        STEAL = "steal", 2.0, "% of CPU time", "from here on what the hypervisor withholds is more than noise";
        THROTTLED = "throttled", 10.0, "% of periods", "from here on throttling by a quota is more than a burst now and then";
    }
    Some(Question::Steady) => {
        LEAST_INTERVALS = "least_intervals", RobustTrend::MIN_POINTS_FOR_TEST as f64, "intervals",
            "fewer do not suffice for the test of a trend";
        LEAST_OPERATIONS = "least_operations", 20.0, "operations per interval",
            "with fewer, whole operations alone make an interval vary by several percent";
        TREND = "trend", slob_stats::TREND_PERCENT, "% over the window",
            "a change from here on is a trend, if it is more than chance";
        STEEP_TREND = "steep_trend", 20.0, "% over the window",
            "from here on the mean describes neither the begin nor the end of the window";
        CLIFF = "cliff", slob_stats::TokenBucket::LEAST_FALL, "times less",
            "volumes fall by more once burst credits are spent";
        HIDDEN_TREND = "hidden_trend", 15.0, "% over the window", "noise must not hide a change of this size";
        STALL = "stall", 100.0 * slob_stats::STALL_SHARE, "% of the median", "an interval below it is a stall";
        MANY_STALLS = "many_stalls", 5.0, "% of intervals", "above it stalls are the rule and not an accident";
        VARIATION = "variation", 100.0 * slob_stats::STEADY_VARIATION, "%",
            "rates of a steady load vary by less from interval to interval";
        WILD_VARIATION = "wild_variation", 100.0 * slob_stats::WILD_VARIATION, "%", "from here on a mean says little";
        STANDSTILL = "standstill", 0.5, "s", "a session that stands still for less moves no figure";
        STANDSTILL_OF_WINDOW = "standstill_of_window", 5.0, "% of the window",
            "a session that stands still for less moves no figure";
        STANDSTILL_OPERATIONS = "standstill_operations", 20.0, "mean operations", "a shorter time may be one long operation";
        BEHIND = "behind", 50.0, "% of the median session", "a session that did less was held up";
        COMPARABLE_OPERATIONS = "comparable_operations", 4.0, "square roots of the median session's operations",
            "sessions that are behind by fewer differ by chance";
        WAITING = "waiting", 10.0, "% of the sessions' time",
            "from here on operations are too small a part of what sessions wait for: responses lead in every view";
        FOREIGN_CPU = "foreign_cpu", 5.0, "% of the host's CPU time", "from here on other programs can move a result";
        FOREIGN_READS = "foreign_reads", 5.0, "% of the device's reads", "from here on other programs' reads can move a result";
        FOREIGN_READ_RATE = "foreign_read_rate", 1.0, "MB/s",
            "below it other programs' reads do no harm, however little the run reads";
        FOREIGN_WRITES = "foreign_writes", 20.0, "% of what the device read and wrote",
            "from here on writes that are not the run's can move a result";
        FOREIGN_WRITE_RATE = "foreign_write_rate", 20.0, "MB/s",
            "below it others' writes do no harm, however little the run does; the run's own count twice, for the file system and \
             mirrors";
        FOREIGN_JOURNAL = "foreign_journal", 32.0, "KiB per sync of the log",
            "the file system's journal may write this much for the run";
        NEIGHBOUR = "neighbour", 20.0, "% of reads or CPU time of an interval",
            "from here on other programs are noticed in an interval";
        NEIGHBOUR_RATE = "neighbour_rate", 1.0, "MB/s", "below it other programs' reads are not noticed";
        NEIGHBOUR_INTERVALS = "neighbour_intervals", 2.0, "intervals", "a shorter visit of other programs is not mentioned";
        NEIGHBOUR_ALWAYS = "neighbour_always", 80.0, "% of intervals", "above it other programs were there all the time";
    }
    Some(Question::Complete) => {
        SHORT_WINDOW = "short_window", 1.0, "%", "a window shorter than planned by more was cut";
        LATE = "late", 5.0, "%", "a window longer than planned by more ended late; the same share of intervals may lack a sample";
        LATE_SECONDS = "late_seconds", 0.5, "s", "a snapshot that takes this long in a short window is normal";
        TOO_LATE = "too_late", 150.0, "%", "a window of this share of the planned time is another test";
        RATE_MET = "rate_met", 99.0, "%", "a rate is met if this share of the operations that were due was done";
        RATE_MISSED = "rate_missed", 95.0, "%", "below it the rate was missed, and not just not quite met";
        ROWS_PER_BLOCK = "rows_per_block", 1.0, "%", "rows and the blocks that hold them differ by less with one row per block";
    }
    None => {
        LATENCY_FACTOR = "latency_factor", 2.0, "times the latency",
            "a platform at whose load a latency doubles spends half of it in queues; the latency is the larger of production's and \
             the platform's own at low load";
        LOW_LOAD = "low_load", 12.5, "% of the demand", "hardly anything queues at this load";
        FLASH_READ = "flash_read", 30.0, "us",
            "flash needs longer for a random read: a shorter mean is, at least in part, a page cache's";
        SPOILED = "spoiled", 50.0, "% of the device's reads",
            "from here on other programs' reads decide the latencies of a step, which is repeated";
        LOAD_MADE = "load_made", 25.0, "% off the demand",
            "a test that is further off made another load, and nothing follows from it";
    }
}

pub fn markdown() -> String {
    let row = |Threshold { question, name, value, unit, reason }: &Threshold| {
        let (of, limit) = (question.map_or("Headroom", Question::title), plain_number(*value));
        [of.to_owned(), format!("`{name}`"), format!("{limit} {unit}"), (*reason).to_owned()]
    };
    let columns = ["question", "name", "limit", "meaning"].map(Column::left);
    Table::new(columns).with_rows(THRESHOLDS.iter().map(row)).markdown()
}
