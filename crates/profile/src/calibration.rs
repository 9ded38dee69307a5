//! Short runs that measure the costs of operations on a target, until a plan fits.

use crate::{Costs, Demand, Fit, Limits, Measured, Parameters, Planned, compare, solve};

pub const CALIBRATION_RUNS: usize = 3;

/// The best measured plan.
#[derive(Clone, Debug)]
pub struct Calibrated {
    pub planned: Planned,
    pub fit: Fit,
    pub runs: Vec<String>,
}

/// Calibrates a plan. `measure` makes the run of that number and returns its id and its figures. Of the measured plans the
/// best fit is returned; a plan that was not measured is never the result.
pub fn calibrate<E>(
    demand: &Demand,
    limits: &Limits,
    mut measure: impl FnMut(usize, &Parameters) -> Result<(String, Measured), E>,
) -> Result<Calibrated, E> {
    let can_scan = limits.scan_blocks > 0;
    let mut costs = Costs::default();
    let mut runs = Vec::new();
    let mut best: Option<(Planned, Fit)> = None;
    // The first run has no scans and no hot spot: the reads that later runs add show whether these hit the cache.
    let mut planned = solve(demand, &costs, &Limits { scan_blocks: 0, hot_blocks: 0, ..*limits });
    loop {
        (planned.can_scan, planned.can_be_hot) = (can_scan, limits.hot_blocks > 0);
        let (id, measured) = measure(runs.len() + 1, &planned.parameters)?;
        runs.push(id);
        costs.learn(&planned.parameters, &measured, demand.reads_are, limits.scan_blocks);
        let fit = compare(demand, &planned, Some(&measured), &costs);
        let is_met = fit.is_met();
        let (planned_best, fit_best) = match best {
            Some(earlier) if !fit.replaces(&earlier.1) => earlier,
            _ => (planned, fit),
        };
        planned = solve(demand, &costs, limits);
        let wants_scans = runs.len() == 1 && planned.parameters.scan_pct > 0.0;
        let is_done = (is_met && !wants_scans) || planned_best.parameters == planned.parameters;
        if is_done || runs.len() == CALIBRATION_RUNS {
            return Ok(Calibrated { planned: planned_best, fit: fit_best, runs });
        }
        best = Some((planned_best, fit_best));
    }
}
