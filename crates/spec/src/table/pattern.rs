//! Where operations go more often, and pauses between them.

use crate::kind::Kind;
use crate::param::{Group, Param};

/// Every Nth operation; 0 turns it off.
const FREQUENCY: Kind = Kind::Count { min: 0, max: u32::MAX as u64 };
/// Up to 8 PiB, the largest scale at 8 KiB blocks.
const MEGABYTES: Kind = Kind::Count { min: 0, max: 1 << 33 };
const PAUSE: Kind = Kind::Duration { min_s: 0, max_s: 3600 };

pub(super) static PARAMS: &[Param] = &[
    Param::new(
        "DO_HOTSPOT",
        Kind::Flag,
        Group::HotSpot,
        "direct some operations at a hot spot, defined by the next three parameters",
    )
    .shipped("FALSE")
    .if_deleted("FALSE")
    .flag("do-hotspot"),
    Param::new("HOTSPOT_MB", MEGABYTES, Group::HotSpot, "size of each schema's hot spot in MiB")
        .shipped("8")
        .if_deleted("10")
        .flag("hotspot-mb"),
    Param::new(
        "HOTSPOT_OFFSET_MB",
        MEGABYTES,
        Group::HotSpot,
        "where the hot spot begins in each schema, in MiB",
    )
    .shipped("16")
    .if_deleted("0")
    .original("assumed blocks of 8 KiB and began WORK_UNIT blocks earlier")
    .flag("hotspot-offset-mb"),
    Param::new(
        "HOTSPOT_FREQUENCY",
        FREQUENCY,
        Group::HotSpot,
        "every Nth operation goes to the hot spot; 0 is never",
    )
    .shipped("3")
    .if_deleted("0")
    .flag("hotspot-frequency"),
    Param::new(
        "HOT_SCHEMA_FREQUENCY",
        FREQUENCY,
        Group::HotSpot,
        "with several schemas, every Nth operation goes to schema 1; 0 is never",
    )
    .shipped("0")
    .if_deleted("0")
    .flag("hot-schema-frequency"),
    Param::new(
        "THINK_TM_FREQUENCY",
        FREQUENCY,
        Group::ThinkTime,
        "a pause follows every Nth operation; 0 is never",
    )
    .shipped("0")
    .if_deleted("0")
    .original("paused when a drawn key was a multiple of N")
    .flag("think-tm-frequency"),
    Param::new("THINK_TM_MIN", PAUSE, Group::ThinkTime, "shortest pause, in seconds")
        .shipped(".1")
        .if_deleted(".1")
        .flag("think-tm-min"),
    Param::new("THINK_TM_MAX", PAUSE, Group::ThinkTime, "longest pause, in seconds")
        .shipped(".5")
        .if_deleted(".5")
        .flag("think-tm-max"),
];
