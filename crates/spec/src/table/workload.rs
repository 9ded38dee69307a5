//! What the sessions do.

use crate::kind::Kind;
use crate::param::{Group, Param};
use crate::types::WorkUnit;

const WORK_UNITS: Kind = Kind::Count { min: WorkUnit::MIN as u64, max: WorkUnit::MAX as u64 };

pub(super) static PARAMS: &[Param] = &[
    Param::new(
        "UPDATE_PCT",
        Kind::Percent,
        Group::Workload,
        "share of the operations that are UPDATEs, in percent",
    )
    .shipped("10")
    .if_deleted("25")
    .original("0 to 50, or 100")
    .flag("update-pct"),
    Param::new(
        "SCAN_PCT",
        Kind::Percent,
        Group::Workload,
        "share of the SELECTs that are short scans, in percent",
    )
    .shipped("0")
    .if_deleted("0")
    .original("0 to 50, or 100")
    .flag("scan-pct"),
    Param::new("WORK_UNIT", WORK_UNITS, Group::Workload, "blocks that one operation touches, exactly")
        .shipped("64")
        .if_deleted("256")
        .original("3 to 1024, and one block less was touched; pgio one more")
        .flag("work-unit"),
    Param::new(
        "UPDATE_WORK_UNIT",
        WORK_UNITS,
        Group::Workload,
        "blocks that one UPDATE touches, if different from WORK_UNIT",
    )
    .original("in pgio only")
    .flag("update-work-unit"),
    Param::new("REDO_STRESS", Kind::Choice(REDO), Group::Workload, "how much of a row an UPDATE changes")
        .shipped("LITE")
        .if_deleted("LITE")
        .original("any word but HEAVY meant LITE")
        .flag("redo-stress"),
    Param::new(
        "RATE",
        Kind::Count { min: 0, max: 100_000_000 },
        Group::Workload,
        "operations per second over all sessions, each started on schedule whether or not earlier ones are done; 0: \
         as fast as possible",
    )
    .shipped("0")
    .if_deleted("0")
    .flag("rate"),
    Param::new("ARRIVALS", Kind::Choice(ARRIVALS), Group::Workload, "with RATE, the gaps between operations")
        .shipped("steady")
        .if_deleted("steady")
        .flag("arrivals"),
];

static ARRIVALS: &[(&str, &str)] =
    &[("steady", "all equal"), ("poisson", "exponential, as from many independent users")];

static REDO: &[(&str, &str)] = &[("LITE", "2 columns"), ("HEAVY", "all 19 columns")];
