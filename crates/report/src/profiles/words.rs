//! Figures of profiles in words.

use slob_profile::{Figure, Place, Source};

use crate::format::{duration_us, significant};

/// A value with the unit that fits it, for a cell.
pub(super) fn shown(figure: Figure, value: f64) -> String {
    amount(figure.unit(), value)
}

/// An amount of that unit.
pub(super) fn amount(unit: &str, value: f64) -> String {
    match unit {
        "us" => duration_us(value),
        "bytes/s" if value > 0.0 && value < 1e6 => format!("{} kB/s", significant(value / 1e3)),
        "bytes/s" => format!("{} MB/s", significant(value / 1e6)),
        "s/s" => significant(value),
        "" | "1/s" => format!("{} /s", significant(value)),
        unit => format!("{} {unit}", significant(value)),
    }
}

/// Where a profile comes from.
pub(super) fn source(source: Source) -> &'static str {
    match source {
        Source::Reports => "AWR and Statspack reports",
        Source::Live => "the server's own counters",
        Source::Runs => "runs of this program",
        Source::Mixed => "several sources",
    }
}

/// When an interval began: with its seconds where it is shorter than a minute.
pub(super) fn moment(place: &Place) -> String {
    let form = if place.seconds < 60.0 { "%a %Y-%m-%d %H:%M:%S" } else { "%a %Y-%m-%d %H:%M" };
    place.begin.strftime(form).to_string()
}
