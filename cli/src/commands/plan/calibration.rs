//! Short runs that measure what operations cost on a target, until a plan fits.

use slob_profile::{Costs, Fit, Limits, Planned, compare, solve};
use slob_record::Record;

use super::wanted::{Loaded, Wanted};
use crate::commands::profile::records;
use crate::failure::Failure;
use crate::output;

/// At most so many.
const MOST: usize = 3;
/// Seconds at full load before each, unless somebody said how long that is.
const WARMUP_S: &str = "3";

/// A plan that was measured.
pub(in crate::commands) struct Calibrated {
    pub(in crate::commands) planned: Planned,
    pub(in crate::commands) fit: Fit,
    /// The runs, by their ids.
    pub(in crate::commands) runs: Vec<String>,
}

/// What makes a run of a name with parameters.
type Measure<'a> = dyn FnMut(&str, &[(&'static str, String)]) -> Result<Record, Failure> + 'a;

/// Makes them by `measure`, which is given a name and parameters. Of the plans that were measured the one that fits best
/// comes out: one that was not measured is a hope.
pub(in crate::commands) fn calibrate(
    wanted: &Wanted,
    loaded: &Loaded,
    measure: &mut Measure<'_>,
) -> Result<Calibrated, Failure> {
    let demand = &wanted.demand;
    let mut costs = Costs::default();
    let (mut runs, mut best): (Vec<String>, Option<(Planned, Fit)>) = (Vec::new(), None);
    for nth in 1..=MOST {
        // The first without scans: whether these hit is seen by what they add to the reads.
        let limits = if nth == 1 { Limits { scan_blocks: 0, ..loaded.limits } } else { loaded.limits };
        let planned = solve(demand, &costs, &limits);
        let planned = Planned { can_scan: loaded.limits.scan_blocks > 0, ..planned };
        if best.as_ref().is_some_and(|(measured, _)| measured.parameters == planned.parameters) {
            break;
        }
        let mut pairs = planned.parameters.pairs();
        pairs.extend([
            ("SCALE", loaded.limits.scale_blocks.to_string()),
            ("RUN_TIME", wanted.calibration.clone()),
            ("WORK_LOOP", "0".to_owned()),
            ("UNTIL_STEADY", "FALSE".to_owned()),
        ]);
        if !loaded.knows_warmup {
            pairs.push(("WARMUP", WARMUP_S.to_owned()));
        }
        output::say(&format!(
            "calibration {nth} of at most {MOST}: {} operations/s",
            planned.parameters.rate
        ));
        let record = measure(&format!("calibration-{nth}"), &pairs)?;
        let measured = records::measured(&record)
            .ok_or_else(|| Failure::failed(format!("run {} measured nothing", record.id)))?;
        costs.learn(&planned.parameters, &measured, demand.reads_are, loaded.limits.scan_blocks);
        let fit = compare(demand, &planned, Some(&measured), &costs);
        runs.push(record.id);
        let is_met = fit.is_met();
        if best.as_ref().is_none_or(|(_, earlier)| fit.replaces(earlier)) {
            best = Some((planned, fit));
        }
        let next = solve(demand, &costs, &loaded.limits).parameters;
        let wants_scans = nth == 1 && next.scan_pct > 0;
        if is_met && !wants_scans {
            break;
        }
    }
    let (planned, fit) = best.ok_or_else(|| Failure::failed("nothing was measured"))?;
    Ok(Calibrated { planned, fit, runs })
}
