//! Whether the parts of a run fit together.

use super::RunSpec;
use crate::error::SpecError;
use crate::settings::Settings;
use crate::table::MAX_SESSIONS;
use crate::types::{HotSpot, Length, UntilSteady, WorkUnit, seconds};
use crate::warning::Warning;

pub(super) fn check(
    spec: &RunSpec,
    settings: &Settings,
    errors: &mut Vec<SpecError>,
    warnings: &mut Vec<Warning>,
) {
    let (schemas, threads) = (spec.schemas.get(), spec.threads_per_schema.get());
    if u64::from(schemas) * u64::from(threads) > MAX_SESSIONS {
        errors.push(SpecError::TooManySessions { schemas, threads, max: MAX_SESSIONS });
    }
    for (key, unit) in work_units(spec) {
        check_work_unit(spec, key, unit, errors);
    }
    if let Some(hot) = &spec.hot_spot {
        check_end_of_hot_spot(spec, hot, errors);
    }
    if let (Some(rate), Some(_)) = (spec.rate, spec.think) {
        errors.push(SpecError::RateWithThinkTime { rate: rate.per_second.get() });
    }
    if let Some(steady) = spec.until_steady {
        check_until_steady(spec.length, steady, errors);
    }
    let scan_pct = spec.scan_pct.get();
    if scan_pct > 0 && spec.scan_table.is_none() {
        let scan_table = settings.value("SCAN_TABLE_SZ").map(ToString::to_string).unwrap_or_default();
        errors.push(SpecError::ScanWithoutTable { scan_pct, scan_table });
    } else if scan_pct > 0 && spec.update_pct.get() == 100 {
        warnings.push(Warning::NoSelectToScan { scan_pct });
    }
}

fn check_until_steady(length: Length, steady: UntilSteady, errors: &mut Vec<SpecError>) {
    let least_s = UntilSteady::WINDOWS * steady.window_s;
    match length {
        Length::Operations(operations) => errors.push(SpecError::SteadyWithWorkLoop { operations }),
        Length::Time(most) if most.as_secs() < least_s => errors.push(SpecError::SteadyBeyondRunTime {
            run_time_s: seconds::format(most),
            window_s: steady.window_s,
            least_s,
        }),
        Length::Time(_) => {}
    }
}

/// The work units in use, each with the key that sets it.
fn work_units(spec: &RunSpec) -> Vec<(&'static str, WorkUnit)> {
    let mut units = vec![("WORK_UNIT", spec.work_unit)];
    if spec.update_pct.get() > 0 && spec.update_work_unit != spec.work_unit {
        units.push(("UPDATE_WORK_UNIT", spec.update_work_unit));
    }
    units
}

fn check_work_unit(spec: &RunSpec, key: &'static str, unit: WorkUnit, errors: &mut Vec<SpecError>) {
    let (unit, block_bytes) = (unit.get(), spec.block_bytes());
    let blocks = spec.scale_blocks();
    if u64::from(unit) > blocks {
        let scale = spec.scale.to_string();
        errors.push(SpecError::WorkUnitBeyondScale { key, unit, scale, blocks, block_bytes });
    }
    if let Some(hot) = &spec.hot_spot {
        let blocks = hot.blocks(block_bytes);
        if u64::from(unit) > blocks {
            let size_mb = hot.size_mb.get();
            errors.push(SpecError::WorkUnitBeyondHotSpot { key, unit, size_mb, blocks, block_bytes });
        }
    }
}

fn check_end_of_hot_spot(spec: &RunSpec, hot: &HotSpot, errors: &mut Vec<SpecError>) {
    let (end, blocks) = (hot.last_key(spec.block_bytes()), spec.scale_blocks());
    if end > blocks {
        errors.push(SpecError::HotSpotBeyondScale {
            end,
            offset_mb: hot.offset_mb,
            size_mb: hot.size_mb.get(),
            scale: spec.scale.to_string(),
            blocks,
            block_bytes: spec.block_bytes(),
        });
    }
}
