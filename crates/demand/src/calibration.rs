//! Short runs that measure the costs of operations on a target, until a plan fits.

use crate::{Costs, Demand, Fit, Limits, Measured, Parameters, Planned, compare, solve};

/// Costs of visits, then hits by scans, hits by a hot spot, and a plan without them where neither hit.
pub const CALIBRATION_RUNS: usize = 4;

#[derive(Clone, Debug)]
pub struct Calibrated {
    pub planned: Planned,
    pub fit: Fit,
    pub runs: Vec<String>,
}

/// `measure` makes the run of that number and returns its id and figures. A plan that was not measured is never the result.
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::plan::Rates;
    use crate::{Figure, fit::Aim};

    /// Each commit of another session empties the cache of a SQLite session: neither scans nor a hot spot hit. The plan read 14 %
    /// more than was demanded.
    #[test]
    fn where_nothing_hits_reads_are_met_and_hits_are_missed() {
        let demand = Demand::of_peak([
            (Figure::ReadRequests, 1791.0),
            (Figure::LogicalReads, 3575.0),
            (Figure::Commits, 19.6),
            (Figure::RedoBytes, 2.58e6),
        ]);
        let limits = Limits {
            schemas: 2,
            scan_blocks: 128,
            scale_blocks: 8192,
            most_sessions: 256,
            ..Limits::default()
        };
        let measure = |nth: usize, parameters: &Parameters| -> Result<_, Infallible> {
            let Rates { updates, selects, commits, scans } = Rates::of(parameters);
            let (visited, scanned) = (parameters.visited_per_s(), scans * 128.0);
            let figures = [
                (Figure::ReadRequests, 1.27 * visited + scanned),
                (Figure::LogicalReads, 2.16 * visited + scanned),
                (Figure::Commits, commits),
                (Figure::RedoBytes, 8200.0 * updates * f64::from(parameters.update_work_unit)),
            ];
            let figures = figures.into();
            let (selects_per_s, updates_per_s) = (selects, updates);
            let measured =
                Measured { seconds: 15.0, figures, selects_per_s, updates_per_s, scans_per_s: scans };
            Ok((nth.to_string(), measured))
        };
        let Ok(found) = calibrate(&demand, &limits.with_hot_spot(8192), measure);
        let missed: Vec<Aim> = found.fit.missed().map(|line| line.what).collect();
        assert_eq!((missed, found.runs.len()), (vec![Aim::LogicalReads], 4), "{:?}", found.fit);
    }
}
