//! The run itself and what is kept of it.

use crate::kind::Kind;
use crate::param::{Group, Param};

/// 30 days.
const LONGEST_RUN_S: u64 = 30 * 24 * 3600;
/// A day.
const LONGEST_WARMUP_S: u64 = 24 * 3600;
/// An hour.
const LONGEST_STEADY_WINDOW_S: u64 = 3600;

pub(super) static PARAMS: &[Param] = &[
    Param::new(
        "RUN_TIME",
        Kind::Duration { min_s: 1, max_s: LONGEST_RUN_S },
        Group::Run,
        "length of the measured window",
    )
    .shipped("300")
    .if_deleted("300")
    .original("at least 30 s")
    .flag("run-time"),
    Param::new(
        "WORK_LOOP",
        Kind::Count { min: 0, max: 1 << 48 },
        Group::Run,
        "if above 0, each session does exactly that many operations, and RUN_TIME is ignored",
    )
    .shipped("0")
    .if_deleted("0")
    .flag("work-loop"),
    Param::new(
        "WARMUP",
        Kind::Duration { min_s: 0, max_s: LONGEST_WARMUP_S },
        Group::Run,
        "time at full load before the measured window; 0 means none",
    )
    .shipped("5")
    .flag("warmup"),
    Param::new(
        "UNTIL_STEADY",
        Kind::Flag,
        Group::Run,
        "end the run as soon as the last three windows of STEADY_WINDOW agree within STEADY_TOLERANCE; RUN_TIME is \
         then the upper limit",
    )
    .shipped("FALSE")
    .flag("until-steady"),
    Param::new(
        "STEADY_TOLERANCE",
        Kind::Count { min: 1, max: 50 },
        Group::Run,
        "with UNTIL_STEADY, the largest difference or drift allowed between the last windows' operations/s, in percent",
    )
    .shipped("3")
    .flag("steady-tolerance"),
    Param::new(
        "STEADY_WINDOW",
        Kind::Duration { min_s: 1, max_s: LONGEST_STEADY_WINDOW_S },
        Group::Run,
        "with UNTIL_STEADY, the length of each of the three windows, in whole seconds",
    )
    .shipped("10")
    .flag("steady-window"),
    Param::new(
        "TOLERATE_SESSION_LOSS",
        Kind::Choice(SESSION_LOSS),
        Group::Run,
        "what happens when a session loses its database",
    )
    .shipped("fail")
    .flag("tolerate-session-loss"),
    Param::new(
        "SEED",
        Kind::Seed,
        Group::Run,
        "the same seed gives the same keys and the same mix; 0 draws a random one",
    )
    .shipped("0")
    .flag("seed"),
    Param::new("RUN_NAME", Kind::Name, Group::Run, "name of the run, the last part of its directory's name")
        .shipped("run")
        .flag("name"),
    Param::new("RESULTS_DIR", Kind::Path, Group::Run, "folder that receives one folder per run")
        .shipped("runs")
        .flag("results-dir"),
    Param::new(
        "KEEP_OPERATIONS",
        Kind::Flag,
        Group::Run,
        "list every operation in operations.csv next to the record; for short runs: about 40 bytes per operation",
    )
    .shipped("FALSE")
    .flag("keep-operations"),
    Param::new(
        "EXTERNAL_SCRIPT",
        Kind::Path,
        Group::Run,
        "program called with 'pre', 'post' and 'end' around the run; it must exit with 0",
    )
    .original("its exit status was ignored")
    .flag("external-script"),
    Param::new(
        "OBSERVE",
        Kind::Observe,
        Group::Run,
        "how the database's host is seen: auto finds the server on this host, pid:N is told its process, ssh:[USER@]HOST[:PORT] \
         starts an observer there (%h is the endpoint's host), none does not look; one for all endpoints, or one for each",
    )
    .shipped("auto")
    .flag("observe"),
    Param::new(
        "OBSERVE_COPY",
        Kind::Flag,
        Group::Run,
        "with OBSERVE=ssh:..., run a copy of this program there, which is gone afterwards, instead of the slob that is installed",
    )
    .shipped("FALSE")
    .flag("observe-copy"),
    Param::new("NO_OS_PERF_DATA", Kind::Flag, Group::Run, "do not collect the host's counters (CPU, disks)")
        .shipped("FALSE")
        .original("an environment variable only")
        .flag("no-os-perf-data")
        .bare_environment(),
    Param::new(
        "DATABASE_STATISTICS_TYPE",
        Kind::Choice(STATISTICS),
        Group::Run,
        "the server's own report to take with a run, on servers that have one; none unless set",
    )
    .shipped("statspack")
    .if_deleted("statspack")
    .flag("statistics-type"),
];

static STATISTICS: &[(&str, &str)] = &[
    ("statspack", "needs no licence: snapshots at both ends of the window"),
    ("awr", "needs a licensed pack: snapshots, and the reports as text and HTML in the run's folder"),
    ("none", "not even if a file says so"),
];

static SESSION_LOSS: &[(&str, &str)] = &[
    ("fail", "the run ends as failed"),
    ("reconnect", "the session reconnects, to an endpoint that answers"),
    ("drop", "the session ends, the others continue"),
];
