//! The parameters of this crate. `docs/reference/parameters.md` is made from this table.

use crate::param::{Group, Kind, Param};
use crate::types::{
    ArrivalProcess, MAX_SCALE_BLOCKS, RedoStress, SessionLoss, StatisticsType, TraceWhen, WorkUnit,
};

/// Schemas have as many numbers.
pub const MAX_SESSIONS: u64 = u16::MAX as u64;

const SESSIONS: Kind = Kind::Count { min: 1, max: MAX_SESSIONS };
const ROLES: Kind = Kind::Count { min: 0, max: MAX_SESSIONS };
/// 16 blocks are enough for a demonstration.
const SCALE: Kind = Kind::Size { min: 16, max: MAX_SCALE_BLOCKS };
const PERCENT: Kind = Kind::Percent;
const WORK_UNITS: Kind = Kind::Count { min: WorkUnit::MIN as u64, max: WorkUnit::MAX as u64 };
/// 0 is never.
const FREQUENCY: Kind = Kind::Count { min: 0, max: u32::MAX as u64 };
const MEGABYTES: Kind = Kind::Count { min: 0, max: 1 << 33 };
const PAUSE: Kind = Kind::Duration { min_s: 0, max_s: 3600 };
const RUN_TIME: Kind = Kind::Duration { min_s: 1, max_s: 30 * 24 * 3600 };
const WARMUP: Kind = Kind::WarmUp { max_s: 24 * 3600 };

/// MiB divide into powers of two.
const BLOCK_SIZES: Kind = Kind::Choice(&[
    ("1024", ""),
    ("2048", ""),
    ("4096", ""),
    ("8192", ""),
    ("16384", ""),
    ("32768", ""),
    ("65536", ""),
]);

const STATISTICS: Kind = Kind::Choice(&[
    StatisticsType::CHOICES[0],
    StatisticsType::CHOICES[1],
    ("none", "not even if a file says so"),
]);

const TRACE: Kind = Kind::Choice(&[
    TraceWhen::CHOICES[0],
    TraceWhen::CHOICES[1],
    ("off", "no trace: nothing is loaded into the kernel"),
]);

pub(crate) static PARAMETERS: &[Param] = &[
    Param::new("TARGET", Kind::Url, Group::Target)
        .meaning("the database to test; its scheme names the engine"),
    Param::new("ENDPOINTS", Kind::Text, Group::Target)
        .meaning("hosts to spread sessions over, round-robin: HOST:PORT,HOST:PORT; unset, those of TARGET"),
    Param::new("SCHEMAS", SESSIONS, Group::Target)
        .meaning("schemas to load, or to run on; a run uses all that are loaded unless this is set")
        .aliases(&["NUM_SCHEMAS"])
        .shipped("1")
        .original("an argument of setup.sh and runit.sh; NUM_SCHEMAS in pgio"),
    Param::new("THREADS_PER_SCHEMA", SESSIONS, Group::Target)
        .meaning("sessions on each schema; SCHEMAS x THREADS_PER_SCHEMA is at most 65535")
        .aliases(&["NUM_THREADS"])
        .defaults("1", "1")
        .original("NUM_THREADS in pgio")
        .named_flag("threads"),
    Param::new("SCALE", SCALE, Group::Data)
        .meaning("size of each schema's main table; a run covers what is loaded unless this is set")
        .defaults("80M", "10000")
        .original("at least 10000 blocks; pgio at least 1024"),
    Param::new("SCAN_TABLE_SZ", Kind::Size { min: 0, max: MAX_SCALE_BLOCKS }, Group::Data)
        .meaning("size of each schema's table for short scans; 0 makes none")
        .shipped("1M"),
    Param::new("LOAD_PARALLEL_DEGREE", Kind::Count { min: 1, max: 4096 }, Group::Data)
        .meaning(
            "parallel streams for loading; unset, twice the CPUs if the server waits for each block it \
            writes",
        )
        .shipped("2"),
    Param::new("OBFUSCATE_COLUMNS", Kind::Flag, Group::Data)
        .meaning("fill rows with incompressible data")
        .defaults("FALSE", "FALSE")
        .original("an environment variable only")
        .bare_environment(),
    Param::new("BLOCK_SZ", BLOCK_SIZES, Group::Data)
        .meaning(
            "block size in bytes, to convert sizes to blocks; unset, the server's own (8192 where no \
            server is asked)",
        )
        .original("an environment variable only")
        .bare_environment(),
    Param::new("TABLESPACE", Kind::Text, Group::Data)
        .meaning("tablespace for the tables, on servers that have them")
        .original("an argument of setup.sh"),
    Param::new("UPDATE_PCT", PERCENT, Group::Workload)
        .meaning("share of the operations that are UPDATEs, in percent")
        .defaults("10", "25")
        .original("0 to 50, or 100"),
    Param::new("WRITERS", ROLES, Group::Workload)
        .meaning(
            "sessions that only update, on schema 1 and the next ones; with READERS it replaces UPDATE_PCT and \
            THREADS_PER_SCHEMA",
        )
        .original("the first argument of runit.sh in the first kits"),
    Param::new("READERS", ROLES, Group::Workload)
        .meaning("sessions that only read, beside or instead of WRITERS")
        .original("the second argument of runit.sh in the first kits"),
    Param::new("SCAN_PCT", PERCENT, Group::Workload)
        .meaning("share of the SELECTs that are short scans, in percent")
        .defaults("0", "0")
        .original("0 to 50, or 100"),
    Param::new("WORK_UNIT", WORK_UNITS, Group::Workload)
        .meaning("blocks that one operation touches, exactly")
        .defaults("64", "256")
        .original("3 to 1024, and one block less was touched; pgio one more"),
    Param::new("UPDATE_WORK_UNIT", WORK_UNITS, Group::Workload)
        .meaning("blocks that one UPDATE touches, if different from WORK_UNIT")
        .original("in pgio only"),
    Param::new("REDO_STRESS", Kind::Choice(RedoStress::CHOICES), Group::Workload)
        .meaning("how much of a row an UPDATE changes")
        .defaults("LITE", "LITE")
        .original("any word but HEAVY meant LITE"),
    Param::new("COMMIT_EVERY", Kind::Every { or_never: false, max: 10_000 }, Group::Workload)
        .meaning(
            "UPDATEs of a session for each COMMIT, one after the other; 1.5 is 1 and 2 in turns. Above 1, sessions of \
            one schema update parts of their own",
        )
        .shipped("1")
        .original("each UPDATE committed"),
    Param::new("RATE", Kind::Rate, Group::Workload)
        .meaning(
            "operations per second over all sessions, each started on schedule whether or not earlier \
            ones are done; 0: as fast as possible. Times of a schedule are those of the measured window; its first rate \
            holds in the warm-up too",
        )
        .defaults("0", "0"),
    Param::new("ARRIVALS", Kind::Choice(ArrivalProcess::CHOICES), Group::Workload)
        .meaning("with RATE, the gaps between operations")
        .defaults("steady", "steady"),
    Param::new("DO_HOTSPOT", Kind::Flag, Group::HotSpot)
        .meaning("direct some operations at a hot spot, defined by the next three parameters")
        .defaults("FALSE", "FALSE"),
    Param::new("HOTSPOT_MB", MEGABYTES, Group::HotSpot)
        .meaning("size of each schema's hot spot in MiB")
        .defaults("8", "10"),
    Param::new("HOTSPOT_OFFSET_MB", MEGABYTES, Group::HotSpot)
        .meaning("where the hot spot begins in each schema, in MiB")
        .defaults("16", "0")
        .original("assumed blocks of 8 KiB and began WORK_UNIT blocks earlier"),
    Param::new("HOTSPOT_FREQUENCY", Kind::Every { or_never: true, max: u32::MAX as u64 }, Group::HotSpot)
        .meaning("every Nth operation goes to the hot spot, with 1.25 four of five; 0 is never")
        .defaults("3", "0"),
    Param::new("HOT_SCHEMA_FREQUENCY", FREQUENCY, Group::HotSpot)
        .meaning("with several schemas, every Nth operation goes to schema 1; 0 is never")
        .defaults("0", "0"),
    Param::new("THINK_TM_FREQUENCY", FREQUENCY, Group::ThinkTime)
        .meaning("a pause follows every Nth operation; 0 is never")
        .defaults("0", "0")
        .original("paused when a drawn key was a multiple of N"),
    Param::new("THINK_TM_MIN", PAUSE, Group::ThinkTime)
        .meaning("shortest pause, in seconds")
        .defaults(".1", ".1"),
    Param::new("THINK_TM_MAX", PAUSE, Group::ThinkTime)
        .meaning("longest pause, in seconds")
        .defaults(".5", ".5"),
    Param::new("RUN_TIME", RUN_TIME, Group::Run)
        .meaning("length of the measured window")
        .defaults("300", "300")
        .original("at least 30 s"),
    Param::new("WORK_LOOP", Kind::Count { min: 0, max: 1 << 48 }, Group::Run)
        .meaning("if above 0, each session does exactly that many operations, and RUN_TIME is ignored")
        .defaults("0", "0"),
    Param::new("WARMUP", WARMUP, Group::Run)
        .meaning(
            "time at full load before the measured window; auto: until that is steady, 300 s at most",
        )
        .shipped("5"),
    Param::new("UNTIL_STEADY", Kind::Flag, Group::Run)
        .meaning(
            "end the run when the last three windows of STEADY_WINDOW agree within STEADY_TOLERANCE, at \
            RUN_TIME at the latest",
        )
        .shipped("FALSE"),
    Param::new("STEADY_TOLERANCE", Kind::Count { min: 1, max: 50 }, Group::Run)
        .meaning("largest difference or drift between windows of UNTIL_STEADY, in percent")
        .shipped("3"),
    Param::new("STEADY_WINDOW", Kind::Duration { min_s: 1, max_s: 3600 }, Group::Run)
        .meaning("length of each window, in whole seconds")
        .shipped("10"),
    Param::new("ABORT_ON", Kind::Text, Group::Run).meaning(
        "end the run where this holds in each second of the window for so long, as in 'read-p99 > 50ms for 30s'; with \
        semicolons between several",
    ),
    Param::new("TOLERATE_SESSION_LOSS", Kind::Choice(SessionLoss::CHOICES), Group::Run)
        .meaning("what happens when a session loses its database")
        .shipped("fail"),
    Param::new("SEED", Kind::Seed, Group::Run)
        .meaning("the same seed gives the same keys and the same mix; 0 draws a random one")
        .shipped("0"),
    Param::new("RUN_NAME", Kind::Name, Group::Run)
        .meaning("name of the run, the last part of its directory's name")
        .shipped("run")
        .named_flag("name"),
    Param::new("RESULTS_DIR", Kind::Path, Group::Run)
        .meaning("folder that receives one folder per run")
        .shipped("runs"),
    Param::new("KEEP_OPERATIONS", Kind::Flag, Group::Run)
        .meaning(
            "list every operation in operations.csv next to the record; for short runs: about 40 bytes \
            per operation",
        )
        .shipped("FALSE"),
    Param::new("COST_PER_HOUR", Kind::Amount, Group::Run)
        .meaning("price of the platform per hour, in your currency, for figures per price: \"4.20 EUR\""),
    Param::new("LICENSED_CORES", Kind::Amount, Group::Run)
        .meaning("cores of the platform that licences are paid for, for figures per licence: \"16 cores\""),
    Param::new("GATE", Kind::Text, Group::Run)
        .meaning(
            "what must hold of the run, as `slob gate --require` takes it, with semicolons between: its exit code is \
            that of `slob gate`",
        ),
    Param::new("EXTERNAL_SCRIPT", Kind::Path, Group::Run)
        .meaning("program called with 'pre', 'post' and 'end' around the run; it must exit with 0, within an hour")
        .original("its exit status was ignored"),
    Param::new("OBSERVE", Kind::Observe, Group::Run)
        .meaning(
            "how the database's host is seen: auto finds the server on this host, pid:N is told its \
            process, ssh:[USER@]HOST[:PORT] starts an observer there (%h is the endpoint's host), none does \
            not look; one for all endpoints, or one for each",
        )
        .shipped("auto"),
    Param::new("OBSERVE_COPY", Kind::Flag, Group::Run)
        .meaning(
            "with OBSERVE=ssh:..., run a copy of this program there, which is gone afterwards, instead \
            of the slob that is installed",
        )
        .shipped("FALSE"),
    Param::new("TRACE", TRACE, Group::Run)
        .meaning(
            "count in the kernel of the database's host, by eBPF, how long each read and write takes and where; needs \
            root, or CAP_BPF and CAP_PERFMON, there",
        )
        .shipped("off")
        .bare_flag("after"),
    Param::new("NO_OS_PERF_DATA", Kind::Flag, Group::Run)
        .meaning("do not collect the host's counters (CPU, disks)")
        .shipped("FALSE")
        .original("an environment variable only")
        .bare_environment(),
    Param::new("DATABASE_STATISTICS_TYPE", STATISTICS, Group::Run)
        .meaning("the server's own report to take with a run, on servers that have one; none unless set")
        .defaults("statspack", "statspack")
        .named_flag("statistics-type"),
    Param::new("ADMIN_SQLNET_SERVICE", Kind::Text, Group::Access)
        .meaning("net service for administration, if not TARGET's"),
    Param::new("SQLNET_SERVICE_BASE", Kind::Text, Group::Access)
        .meaning("net service of the sessions, if not TARGET's"),
    Param::new("SQLNET_SERVICE_MAX", Kind::Count { min: 0, max: MAX_SESSIONS }, Group::Access)
        .meaning("if n is above 0, sessions go round-robin to SQLNET_SERVICE_BASE with 1 to n appended"),
    Param::new("DBA_PRIV_USER", Kind::Text, Group::Access)
        .meaning("privileged account that creates and drops schemas")
        .defaults("system", "system"),
    Param::new("SYSDBA_PASSWD", Kind::Secret, Group::Access)
        .meaning("password of DBA_PRIV_USER; never shown nor recorded")
        .defaults("manager", "manager")
        .original("shown on the terminal, in process lists and in files"),
    Param::new("SHARED_DATA_MODULUS", Kind::Text, Group::Compatibility)
        .meaning("a key of files before 2.3 of the original")
        .note("it has had no effect since release 2.3 of the original; delete the line"),
    Param::new("DBNAME", Kind::Text, Group::Compatibility)
        .meaning("pgio's database")
        .note("set the database in TARGET instead"),
    // pgio users put passwords here.
    Param::new("CONNECT_STRING", Kind::Secret, Group::Compatibility)
        .meaning("pgio's connection")
        .note("set host, user and database in TARGET instead"),
    Param::new("CREATE_BASE_TABLE", Kind::Text, Group::Compatibility)
        .meaning("pgio's choice to keep its seed table")
        .note("there is no seed table; choose what to load with TARGET and SCALE"),
];
