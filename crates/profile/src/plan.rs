//! From a demand to the parameters of a run.
//!
//! An open loop starts RATE operations a second, of which UPDATE_PCT percent are UPDATEs of UPDATE_WORK_UNIT blocks with a commit
//! each, and SCAN_PCT percent of the others are scans of a small table that stays in the cache; the rest are SELECTs of
//! WORK_UNIT blocks. So commits fix the rate of UPDATEs, redo for each commit their blocks, physical reads the blocks of SELECTs,
//! and logical reads that hit are scans. Percentages and blocks are whole numbers: the search takes those that come nearest.

use serde::Serialize;

use crate::costs::{CACHED, Costs};
use crate::demand::Demand;
use crate::figure::{Figure, Figures};
use crate::parameters::{Limits, POISSON_FROM, Parameters, Rates};

/// Blocks of a SELECT, if anything goes: as in `slob.conf` as it is shipped.
const USUAL_BLOCKS: f64 = 64.0;
/// SELECTs per second that are enough to count reads by.
const ENOUGH_SELECTS: f64 = 50.0;
/// Sessions for each that is needed on average: arrivals come in clusters.
const SPARE: f64 = 2.0;
const FEWEST_SESSIONS: u32 = 8;
/// Hits below this share of logical reads are not worth scans.
const FEW_HITS: f64 = 0.05;

/// Parameters, and what they should come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    /// The parameters.
    pub parameters: Parameters,
    /// Rates by the costs that are known.
    pub figures: Figures,
    /// Whether there is a table for short scans.
    pub can_scan: bool,
}

/// The parameters that make a demand, by what operations cost.
#[must_use]
pub fn solve(demand: &Demand, costs: &Costs, limits: &Limits) -> Planned {
    let wanted = Wanted::of(demand, costs);
    let (heavy, update_work_unit) = wanted.update(costs, limits);
    let mix = wanted.mix(costs, limits, heavy, update_work_unit);
    let sessions = limits.threads(sessions(demand, limits));
    let parameters = Parameters {
        poisson: f64::from(mix.rate) >= POISSON_FROM,
        heavy,
        update_work_unit,
        schemas: limits.schemas.max(1),
        threads: sessions,
        ..mix
    };
    let figures = predicted(&parameters, costs, limits, demand);
    Planned { parameters, figures, can_scan: limits.scan_blocks > 0 }
}

/// What parameters come to by the costs; only of what the demand knows.
fn predicted(parameters: &Parameters, costs: &Costs, limits: &Limits, demand: &Demand) -> Figures {
    let Rates { updates, scans, .. } = Rates::of(parameters);
    let changed = updates * f64::from(parameters.update_work_unit);
    let visited = parameters.visited_per_s();
    let reads = costs.reads_per_block * visited;
    let all = [
        (Figure::LogicalReads, costs.logical_per_block * visited + scans * limits.scan_blocks as f64),
        (Figure::ReadRequests, reads),
        (Figure::ReadBlocks, reads),
        (Figure::WriteBlocks, costs.writes_per_block * changed),
        (Figure::RedoBytes, updates * costs.redo_of_update(parameters.heavy, parameters.update_work_unit)),
        (Figure::Commits, updates),
    ];
    let is_known = |figure: Figure| match figure {
        Figure::WriteBlocks => demand.figures.writes().is_some(),
        figure => demand.figures.get(figure).is_some(),
    };
    all.into_iter().filter(|(figure, _)| is_known(*figure)).collect()
}

/// Sessions that arrivals find free: by the sessions that were active, or by how long reads and commits took there.
fn sessions(demand: &Demand, limits: &Limits) -> u32 {
    let get = |figure| demand.figures.get(figure);
    let spent = |rate: Option<f64>, us| Some(rate? * get(us)? / 1e6);
    let waiting = [spent(demand.reads(), Figure::ReadUs), spent(get(Figure::Commits), Figure::CommitUs)];
    let waiting: f64 = waiting.into_iter().flatten().sum();
    let active = get(Figure::DbTime).unwrap_or(0.0).max(waiting);
    let wanted = (SPARE * active).ceil() as u32;
    wanted.max(FEWEST_SESSIONS).min(limits.most_sessions.max(1))
}

/// What is demanded, as operations see it.
struct Wanted {
    reads: f64,
    commits: f64,
    redo: Option<f64>,
    writes: Option<f64>,
    logical: Option<f64>,
    /// Physical reads for each block that is visited.
    per_block: f64,
}

impl Wanted {
    fn of(demand: &Demand, costs: &Costs) -> Self {
        let get = |figure| demand.figures.get(figure).filter(|value| *value > 0.0);
        // What a cache serves is visited as often as production read it: a hundred times as often would not make it physical.
        let per_block = if costs.reads_per_block < CACHED { 1.0 } else { costs.reads_per_block };
        Self {
            reads: demand.reads().unwrap_or(0.0),
            commits: get(Figure::Commits).unwrap_or(0.0),
            redo: get(Figure::RedoBytes),
            writes: demand.figures.writes().filter(|writes| *writes > 0.0),
            logical: get(Figure::LogicalReads),
            per_block,
        }
    }

    /// How much an UPDATE changes, and how many blocks: so that redo is met, and writes as near as may be.
    fn update(&self, costs: &Costs, limits: &Limits) -> (bool, u16) {
        if self.commits <= 0.0 {
            return (false, 1);
        }
        let off = |is: f64, wanted: Option<f64>| wanted.map_or(0.0, |wanted| (is / wanted).ln().abs());
        // Redo comes first: what it asks for is kept where writes ask for something else.
        let badness = |heavy: bool, blocks: u16| {
            let redo = self.commits * costs.redo_of_update(heavy, blocks);
            let writes = self.commits * f64::from(blocks) * costs.writes_per_block.max(0.01);
            // What was not measured yet must promise more.
            let unknown = if costs.runs > 0 && !costs.knows_redo(heavy) { 0.2 } else { 0.0 };
            // What UPDATEs read SELECTs can't leave out.
            let read = self.commits * f64::from(blocks) * self.per_block;
            let too_many = if self.reads > 0.0 { (read / self.reads).ln().max(0.0) } else { 0.0 };
            3.0 * off(redo, self.redo)
                + 2.0 * too_many
                + off(writes, self.writes)
                + unknown
                + if heavy { 1e-3 } else { 0.0 }
        };
        let all = [false, true].into_iter().flat_map(|heavy| {
            (1..=limits.most_blocks()).map(move |blocks| (badness(heavy, blocks), heavy, blocks))
        });
        let best = all.min_by(|one, other| one.0.total_cmp(&other.0));
        best.map_or((false, 1), |(_, heavy, blocks)| (heavy, blocks))
    }

    /// Rate, percentages and blocks of a SELECT.
    fn mix(&self, costs: &Costs, limits: &Limits, heavy: bool, update_work_unit: u16) -> Parameters {
        let changed = self.commits * f64::from(update_work_unit);
        let selected = (self.reads / self.per_block - changed).max(0.0);
        let hits = self.logical.map_or(0.0, |logical| {
            let hits = logical - costs.logical_per_block * (selected + changed);
            if hits > FEW_HITS * logical { hits } else { 0.0 }
        });
        let can_scan = limits.scan_blocks > 0 && costs.scans_hit();
        let scans = if can_scan { hits / limits.scan_blocks as f64 } else { 0.0 };
        let base =
            Parameters { update_work_unit, heavy, work_unit: 1, update_pct: 100, ..Parameters::default() };
        if selected < 0.5 && scans <= 0.0 {
            return Parameters { rate: (self.commits.round() as u32).max(1), ..base };
        }
        let usual = (selected / ENOUGH_SELECTS).clamp(1.0, USUAL_BLOCKS);
        let mut best: Option<(f64, Parameters)> = None;
        for work_unit in 1..=limits.most_blocks() {
            let selects = selected / f64::from(work_unit);
            let update_pct = 100.0 * self.commits / (self.commits + selects + scans);
            for update_pct in around(update_pct, if self.commits > 0.0 { 1 } else { 0 }) {
                let rate = match update_pct {
                    0 => selects + scans,
                    percent => 100.0 * self.commits / f64::from(percent),
                };
                let rate = (rate.round() as u32).max(1);
                // Of what is no UPDATE, SELECTs take what reads need, and scans the rest.
                let others = f64::from(rate) * (1.0 - f64::from(update_pct) / 100.0);
                let rest = if scans > 0.0 && others > 0.0 { 100.0 * (1.0 - selects / others) } else { 0.0 };
                for scan_pct in around(rest.clamp(0.0, 100.0), 0) {
                    let mix = Parameters { rate, update_pct, scan_pct, work_unit, ..base };
                    let taste = 0.02 * (f64::from(work_unit) / usual).ln().abs();
                    let badness = self.badness(&mix, costs, limits) + taste;
                    if best.is_none_or(|(least, _)| badness < least) {
                        best = Some((badness, mix));
                    }
                }
            }
        }
        best.map_or(base, |(_, mix)| mix)
    }

    /// How far a mix is from what is wanted: reads and commits count, logical reads a little.
    fn badness(&self, mix: &Parameters, costs: &Costs, limits: &Limits) -> f64 {
        let Rates { updates, scans, .. } = Rates::of(mix);
        let visited = mix.visited_per_s();
        let off = |is: f64, wanted: f64| match wanted > 0.0 {
            true => (is.max(1e-9) / wanted).ln().abs(),
            false => 0.0,
        };
        let reads = off(self.per_block * visited, self.reads);
        let commits = off(updates, self.commits);
        let logical = costs.logical_per_block * visited + scans * limits.scan_blocks as f64;
        10.0 * reads.max(commits) + self.logical.map_or(0.0, |wanted| off(logical, wanted))
    }
}

/// The whole percentages next to one.
fn around(percent: f64, least: u8) -> [u8; 2] {
    let whole = |value: f64| (value as u8).clamp(least, 100);
    [whole(percent.floor()), whole(percent.ceil())]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::costs::Measured;
    use crate::demand::ReadsAre;

    const LIMITS: Limits = Limits { schemas: 4, scan_blocks: 128, scale_blocks: 10_000, most_sessions: 256 };

    fn demand(figures: impl Into<Figures>) -> Demand {
        Demand {
            point: "peak".into(),
            grow: 1.0,
            figures: figures.into(),
            reads_are: ReadsAre::Requests,
            histograms: Default::default(),
            notes: Vec::new(),
        }
    }

    fn percent_off(planned: &Figures, demand: &Demand, figure: Figure) -> f64 {
        let wanted = demand.figures.get(figure).unwrap();
        100.0 * (planned.get(figure).unwrap() / wanted - 1.0).abs()
    }

    #[test]
    fn a_mixed_demand_is_met_by_whole_numbers() {
        let demand = demand([
            (Figure::LogicalReads, 100_000.0),
            (Figure::ReadRequests, 17_000.0),
            (Figure::Commits, 410.0),
            (Figure::RedoBytes, 410.0 * 7200.0),
            (Figure::WriteBlocks, 410.0 * 6.0),
            (Figure::DbTime, 40.0),
        ]);
        let planned = solve(&demand, &Costs::default(), &LIMITS);
        let Parameters { update_work_unit, heavy, schemas, threads, .. } = planned.parameters;
        assert_eq!((update_work_unit, heavy, schemas, threads), (6, false, 4, 20));
        for figure in [Figure::ReadRequests, Figure::Commits, Figure::RedoBytes, Figure::WriteBlocks] {
            assert!(percent_off(&planned.figures, &demand, figure) < 1.0, "{figure:?} {planned:?}");
        }
        assert!(percent_off(&planned.figures, &demand, Figure::LogicalReads) < 5.0, "{planned:?}");
    }

    #[test]
    fn reads_alone_need_no_update_and_commits_alone_no_select() {
        let reads = solve(&demand([(Figure::ReadRequests, 5000.0)]), &Costs::default(), &LIMITS);
        assert_eq!((reads.parameters.update_pct, reads.parameters.scan_pct), (0, 0));
        let visited = reads.parameters.rate * u32::from(reads.parameters.work_unit);
        assert!((4950..=5050).contains(&visited), "{reads:?}");
        let redo = demand([(Figure::Commits, 100.0), (Figure::RedoBytes, 100.0 * 12_000.0)]);
        let redo = solve(&redo, &Costs::default(), &LIMITS);
        assert_eq!((redo.parameters.rate, redo.parameters.update_pct), (100, 100));
    }

    #[test]
    fn reads_are_met_though_hardly_anything_is_committed() {
        let demand = demand([
            (Figure::LogicalReads, 68_000.0),
            (Figure::ReadRequests, 8000.0),
            (Figure::Commits, 0.123),
        ]);
        let planned = solve(&demand, &Costs::default(), &LIMITS);
        assert!(percent_off(&planned.figures, &demand, Figure::ReadRequests) < 5.0, "{planned:?}");
        assert!(percent_off(&planned.figures, &demand, Figure::Commits) < 5.0, "{planned:?}");
    }

    /// A report's demand on PostgreSQL: eighteen blocks of which little changes read 370 a second, three that change whole do not.
    #[test]
    fn redo_is_not_made_of_so_many_blocks_that_updates_read_more_than_is_demanded() {
        let demand = demand([
            (Figure::ReadRequests, 101.4),
            (Figure::Commits, 20.63),
            (Figure::RedoBytes, 20.63 * 7084.0),
        ]);
        let mut costs = Costs::default();
        for (heavy, redo) in [(false, 396.0), (true, 2800.0)] {
            let parameters = Parameters { heavy, update_work_unit: 1, work_unit: 1, ..Parameters::default() };
            let figures = [(Figure::RedoBytes, 20.0 * redo), (Figure::ReadBlocks, 100.0)].into();
            let measured =
                Measured { figures, selects_per_s: 80.0, updates_per_s: 20.0, ..Measured::default() };
            costs.learn(&parameters, &measured, ReadsAre::Blocks, 0);
        }
        let planned = solve(&demand, &costs, &LIMITS);
        assert!(planned.parameters.heavy && planned.parameters.update_work_unit < 4, "{planned:?}");
        assert!(percent_off(&planned.figures, &demand, Figure::ReadRequests) < 5.0, "{planned:?}");
    }

    #[test]
    fn growth_takes_more_sessions_and_a_higher_rate() {
        let parameters = Parameters { rate: 100, schemas: 4, threads: 5, ..Parameters::default() };
        let more = parameters.times(2.5, &LIMITS);
        assert_eq!((more.rate, more.threads, more.poisson), (250, 13, false));
        assert_eq!(parameters.times(0.5, &LIMITS).threads, 5, "never fewer");
        assert_eq!(parameters.times(1000.0, &LIMITS).threads, 64, "as many as are let in");
    }

    #[test]
    fn wholly_cached_reads_are_visited_as_often_as_production_read() {
        let costs = Costs::with_reads(0.001);
        let planned = solve(&demand([(Figure::ReadRequests, 5000.0)]), &costs, &LIMITS);
        let visited = planned.parameters.rate * u32::from(planned.parameters.work_unit);
        assert!((4900..5100).contains(&visited), "{planned:?}");
    }

    proptest! {
        #[test]
        fn demands_of_a_busy_database_are_met_within_5_percent(
            reads_per_commit in 30.0..2000.0_f64,
            commits in 20.0..3000.0_f64,
            blocks in 1_u16..20,
            per_block in 0.3..1.2_f64,
        ) {
            let costs = Costs::with_reads(per_block);
            let demand = demand([
                (Figure::ReadRequests, commits * reads_per_commit),
                (Figure::Commits, commits),
                (Figure::RedoBytes, commits * f64::from(blocks) * 1200.0),
            ]);
            let planned = solve(&demand, &costs, &LIMITS);
            for figure in [Figure::ReadRequests, Figure::Commits, Figure::RedoBytes] {
                let off = percent_off(&planned.figures, &demand, figure);
                prop_assert!(off < 5.0, "{figure:?} {off} {planned:?}");
            }
        }
    }
}
