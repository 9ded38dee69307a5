//! From a demand to the parameters of a run.
//!
//! An open loop starts RATE operations a second. UPDATE_PCT percent of them are UPDATEs of UPDATE_WORK_UNIT blocks with a commit
//! each. SCAN_PCT percent of the others are scans of a small table that stays in the cache; the rest are SELECTs of WORK_UNIT
//! blocks. Commits fix the rate of UPDATEs, redo per commit their blocks, physical reads the blocks of SELECTs; logical reads
//! that hit are scans. Percentages and blocks are whole numbers: the search takes the nearest ones.

use serde::{Deserialize, Serialize};

use crate::demand::{Demand, ReadsAre};
use crate::figure::{Figure, Figures};

const MOST_BLOCKS: u16 = 1024;
/// From this rate on the chance of random arrivals is small.
pub(crate) const POISSON_FROM: f64 = 300.0;

/// The parameters that set the amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    pub rate: u32,
    pub poisson: bool,
    pub update_pct: u8,
    pub scan_pct: u8,
    pub work_unit: u16,
    pub update_work_unit: u16,
    pub heavy: bool,
    pub schemas: u32,
    pub threads: u32,
}

impl Parameters {
    /// Multiplies rate and sessions.
    pub fn times(&self, factor: f64, limits: &Limits) -> Self {
        let rate = (f64::from(self.rate) * factor).round().max(1.0) as u32;
        let wanted = (f64::from(self.schemas * self.threads) * factor).ceil() as u32;
        let threads = limits.threads(wanted.max(self.schemas * self.threads));
        Self { rate, threads, poisson: f64::from(rate) >= POISSON_FROM, ..*self }
    }

    /// Blocks of the main tables visited per second.
    pub(crate) fn visited_per_s(&self) -> f64 {
        let Rates { updates, selects, .. } = Rates::of(self);
        selects * f64::from(self.work_unit) + updates * f64::from(self.update_work_unit)
    }

    /// Keys and values of `slob.conf`.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let word = |is, yes: &str, no: &str| if is { yes } else { no }.to_owned();
        vec![
            ("SCHEMAS", self.schemas.to_string()),
            ("THREADS_PER_SCHEMA", self.threads.to_string()),
            ("RATE", self.rate.to_string()),
            ("ARRIVALS", word(self.poisson, "poisson", "steady")),
            ("UPDATE_PCT", self.update_pct.to_string()),
            ("SCAN_PCT", self.scan_pct.to_string()),
            ("WORK_UNIT", self.work_unit.to_string()),
            ("UPDATE_WORK_UNIT", self.update_work_unit.to_string()),
            ("REDO_STRESS", word(self.heavy, "HEAVY", "LITE")),
        ]
    }
}

/// Limits of the loaded data and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub schemas: u32,
    pub scan_blocks: u64,
    pub scale_blocks: u64,
    pub most_sessions: u32,
}

impl Limits {
    pub(crate) fn threads(&self, sessions: u32) -> u32 {
        let most = (self.most_sessions / self.schemas.max(1)).max(1);
        sessions.div_ceil(self.schemas.max(1)).clamp(1, most)
    }

    pub(crate) fn most_blocks(&self) -> u16 {
        u16::try_from(self.scale_blocks).unwrap_or(MOST_BLOCKS).clamp(1, MOST_BLOCKS)
    }
}

pub(crate) struct Rates {
    pub(crate) updates: f64,
    pub(crate) selects: f64,
    pub(crate) scans: f64,
}

impl Rates {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let rate = f64::from(parameters.rate);
        let updates = rate * f64::from(parameters.update_pct) / 100.0;
        let scans = (rate - updates) * f64::from(parameters.scan_pct) / 100.0;
        Self { updates, scans, selects: rate - updates - scans }
    }
}

/// Assumed redo bytes of an UPDATE of one block until measured: two columns of 128 bytes before and after, and all nineteen.
const ASSUMED_REDO: [f64; 2] = [1200.0, 6000.0];
/// With fewer reads per block than this, a cache serves them: no rate of visits makes them physical.
pub(crate) const CACHED: f64 = 0.02;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub seconds: f64,
    pub figures: Figures,
    pub selects_per_s: f64,
    pub updates_per_s: f64,
    pub scans_per_s: f64,
}

impl Measured {
    pub fn operations_per_s(&self) -> f64 {
        self.selects_per_s + self.updates_per_s + self.scans_per_s
    }

    /// Blocks of the main tables visited per second with these parameters.
    pub(crate) fn visited_per_s(&self, parameters: &Parameters) -> f64 {
        let changed = self.updates_per_s * f64::from(parameters.update_work_unit);
        self.selects_per_s * f64::from(parameters.work_unit) + changed
    }

    /// Physical reads as the demand counts them, or blocks if the target does not count requests.
    pub(crate) fn reads(&self, reads_are: ReadsAre) -> Option<f64> {
        let blocks = self.figures.get(Figure::ReadBlocks);
        match reads_are {
            ReadsAre::Requests => self.figures.get(Figure::ReadRequests).or(blocks),
            ReadsAre::Blocks => blocks.or_else(|| self.figures.get(Figure::ReadRequests)),
        }
    }
}

/// Costs of operations, assumed at first and then learned from runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Physical reads per visited block of the main tables.
    pub reads_per_block: f64,
    /// Logical reads per visited block, index blocks included.
    pub logical_per_block: f64,
    /// Physical reads per block of a scan; `None` until a run scanned.
    pub reads_per_scan_block: Option<f64>,
    /// Blocks written per changed block.
    pub writes_per_block: f64,
    /// For UPDATEs of two columns and of all: blocks and redo bytes of one UPDATE.
    pub(crate) redo: [Vec<(u16, f64)>; 2],
    pub runs: usize,
}

impl Default for Costs {
    /// The method's intent: each block is visited and read once, and written once if changed.
    fn default() -> Self {
        Self {
            reads_per_block: 1.0,
            logical_per_block: 1.0,
            reads_per_scan_block: None,
            writes_per_block: 1.0,
            redo: [Vec::new(), Vec::new()],
            runs: 0,
        }
    }
}

impl Costs {
    /// Learns from a run. Costs that the run does not show stay unchanged.
    pub fn learn(
        &mut self,
        parameters: &Parameters,
        measured: &Measured,
        reads_are: ReadsAre,
        scan_blocks: u64,
    ) {
        self.runs += 1;
        let changed = measured.updates_per_s * f64::from(parameters.update_work_unit);
        let visited = measured.visited_per_s(parameters);
        let scanned = measured.scans_per_s * scan_blocks as f64;
        if let Some(reads) = measured.reads(reads_are).filter(|_| scanned > 0.0 && self.runs > 1) {
            let of_scans = (reads - self.reads_per_block * visited).max(0.0) / scanned;
            self.reads_per_scan_block = Some(of_scans);
        }
        if visited > 0.0 {
            // Missing scans would count as reads of blocks.
            if let Some(reads) = measured.reads(reads_are).filter(|_| scanned <= 0.0 || self.scans_hit()) {
                self.reads_per_block = reads / visited;
            }
            if let Some(logical) = measured.figures.get(Figure::LogicalReads) {
                let of_blocks = logical - measured.scans_per_s * scan_blocks as f64;
                // A partly loaded scan table costs less than assumed: learn nothing.
                if of_blocks > 0.0 {
                    self.logical_per_block = of_blocks / visited;
                }
            }
        }
        if changed > 0.0 {
            if let Some(redo) = measured.figures.get(Figure::RedoBytes) {
                let points = &mut self.redo[usize::from(parameters.heavy)];
                let blocks = parameters.update_work_unit;
                points.retain(|(own, _)| *own != blocks);
                points.push((blocks, redo / measured.updates_per_s));
            }
            if let Some(writes) = measured.figures.writes() {
                self.writes_per_block = writes / changed;
            }
        }
    }

    /// True if scans hit the cache, as far as known.
    pub(crate) fn scans_hit(&self) -> bool {
        self.reads_per_scan_block.is_none_or(|reads| reads < CACHED)
    }

    /// True if a run measured the redo of this kind of UPDATE.
    pub(crate) fn knows_redo(&self, heavy: bool) -> bool {
        !self.redo[usize::from(heavy)].is_empty()
    }

    /// Redo bytes of an UPDATE: proportional to one measurement, along the line of the last two, since a commit has a cost of
    /// its own.
    pub fn redo_of_update(&self, heavy: bool, blocks: u16) -> f64 {
        let blocks = f64::from(blocks);
        let at = |(blocks, redo): (u16, f64)| (f64::from(blocks), redo);
        match self.redo[usize::from(heavy)][..] {
            [] => {
                // Scale by the other kind of UPDATE.
                let other = self.redo[usize::from(!heavy)].last().copied().map(at);
                let scale =
                    other.map_or(1.0, |(blocks, redo)| redo / (blocks * ASSUMED_REDO[usize::from(!heavy)]));
                ASSUMED_REDO[usize::from(heavy)] * scale * blocks
            }
            [only] => at(only).1 / at(only).0 * blocks,
            [.., one, other] => {
                let ((x1, y1), (x2, y2)) = (at(one), at(other));
                let slope = (y2 - y1) / (x2 - x1);
                let base = y2 - slope * x2;
                let is_line = slope > 0.0 && base >= 0.0;
                if is_line { base + slope * blocks } else { y2 / x2 * blocks }
            }
        }
    }
}

/// WORK_UNIT of the shipped `slob.conf`.
const USUAL_BLOCKS: f64 = 64.0;
/// SELECTs per second that suffice to count reads by.
const ENOUGH_SELECTS: f64 = 50.0;
/// Sessions per active one: arrivals come in clusters.
const SPARE: f64 = 2.0;
const FEWEST_SESSIONS: u32 = 8;
/// Below this share of logical reads hits are not worth scans.
const FEW_HITS: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    pub parameters: Parameters,
    pub figures: Figures,
    pub can_scan: bool,
}

/// Parameters for a demand, given the costs of operations.
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

/// Predicted rates of the figures that the demand knows.
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

/// Sessions for the demand: by active sessions, or by the time of reads and commits.
fn sessions(demand: &Demand, limits: &Limits) -> u32 {
    let get = |figure| demand.figures.get(figure);
    let spent = |rate: Option<f64>, us| Some(rate? * get(us)? / 1e6);
    let waiting =
        [spent(demand.figures.reads(), Figure::ReadUs), spent(get(Figure::Commits), Figure::CommitUs)];
    let waiting: f64 = waiting.into_iter().flatten().sum();
    let active = get(Figure::DbTime).unwrap_or(0.0).max(waiting);
    let wanted = (SPARE * active).ceil() as u32;
    wanted.max(FEWEST_SESSIONS).min(limits.most_sessions.max(1))
}

/// The demand in terms of operations.
struct Wanted {
    reads: f64,
    commits: f64,
    redo: Option<f64>,
    writes: Option<f64>,
    logical: Option<f64>,
    /// Physical reads per visited block.
    per_block: f64,
}

impl Wanted {
    fn of(demand: &Demand, costs: &Costs) -> Self {
        let get = |figure| demand.figures.get(figure).filter(|value| *value > 0.0);
        // Visit cached blocks as often as production read them: more visits would not make the reads physical.
        let per_block = if costs.reads_per_block < CACHED { 1.0 } else { costs.reads_per_block };
        Self {
            reads: demand.figures.reads().unwrap_or(0.0),
            commits: get(Figure::Commits).unwrap_or(0.0),
            redo: get(Figure::RedoBytes),
            writes: demand.figures.writes().filter(|writes| *writes > 0.0),
            logical: get(Figure::LogicalReads),
            per_block,
        }
    }

    /// Kind and blocks of an UPDATE: meets redo first, then writes.
    fn update(&self, costs: &Costs, limits: &Limits) -> (bool, u16) {
        if self.commits <= 0.0 {
            return (false, 1);
        }
        let off = |is: f64, wanted: Option<f64>| wanted.map_or(0.0, |wanted| (is / wanted).ln().abs());
        // Redo has priority over writes.
        let badness = |heavy: bool, blocks: u16| {
            let redo = self.commits * costs.redo_of_update(heavy, blocks);
            let writes = self.commits * f64::from(blocks) * costs.writes_per_block.max(0.01);
            // An unmeasured kind of UPDATE must promise more.
            let unknown = if costs.runs > 0 && !costs.knows_redo(heavy) { 0.2 } else { 0.0 };
            // SELECTs cannot undo what UPDATEs read.
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
                // Scans take what SELECTs leave of the other operations.
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

    /// Distance of a mix from the demand: reads and commits count most.
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

fn around(percent: f64, least: u8) -> [u8; 2] {
    let whole = |value: f64| (value as u8).clamp(least, 100);
    [whole(percent.floor()), whole(percent.ceil())]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parameters(update_work_unit: u16) -> Parameters {
        Parameters { work_unit: 10, update_work_unit, ..Parameters::default() }
    }

    fn measured(redo: f64) -> Measured {
        Measured {
            seconds: 10.0,
            figures: [
                (Figure::ReadRequests, 90.0),
                (Figure::LogicalReads, 3.0 * 120.0 + 128.0),
                (Figure::RedoBytes, redo),
                (Figure::WriteBlocks, 40.0),
            ]
            .into(),
            selects_per_s: 10.0,
            updates_per_s: 10.0,
            scans_per_s: 1.0,
        }
    }

    #[test]
    fn costs_are_learned_per_block_and_per_update() {
        let mut costs = Costs::default();
        costs.learn(&parameters(2), &measured(10_000.0), ReadsAre::Requests, 128);
        assert_eq!(costs.reads_per_block, 0.75);
        assert_eq!(costs.logical_per_block, 3.0);
        assert_eq!(costs.writes_per_block, 2.0);
        assert_eq!(costs.redo_of_update(false, 4), 2000.0);
        assert!(!costs.knows_redo(true));
        // The assumptions for the two kinds differ by a factor of five.
        assert_eq!(costs.redo_of_update(true, 2), 5000.0);
    }

    #[test]
    fn reads_are_learned_without_scans_though_scans_miss() {
        let mut costs = Costs::default();
        costs.learn(&parameters(2), &measured(7.0), ReadsAre::Requests, 128);
        let missing = |reads| Measured { figures: [(Figure::ReadRequests, reads)].into(), ..measured(7.0) };
        costs.learn(&parameters(2), &missing(200.0), ReadsAre::Requests, 128);
        assert!(!costs.scans_hit() && costs.reads_per_block == 0.75, "{costs:?}");
        let without = Measured { scans_per_s: 0.0, ..missing(240.0) };
        costs.learn(&parameters(2), &without, ReadsAre::Requests, 128);
        assert_eq!(costs.reads_per_block, 2.0);
    }

    #[test]
    fn two_sizes_of_update_tell_what_a_commit_costs() {
        let mut costs = Costs::default();
        costs.learn(&parameters(2), &measured(10_000.0), ReadsAre::Requests, 0);
        costs.learn(&parameters(6), &measured(26_000.0), ReadsAre::Requests, 0);
        assert_eq!(costs.redo_of_update(false, 2), 1000.0);
        assert_eq!(costs.redo_of_update(false, 4), 1800.0);
    }

    #[test]
    fn what_was_not_done_teaches_nothing() {
        let mut costs = Costs::default();
        let idle = Measured { figures: [(Figure::RedoBytes, 7.0)].into(), ..Measured::default() };
        costs.learn(&parameters(2), &idle, ReadsAre::Blocks, 0);
        assert_eq!(Costs { runs: 0, ..costs }, Costs::default());
    }

    const LIMITS: Limits = Limits { schemas: 4, scan_blocks: 128, scale_blocks: 10_000, most_sessions: 256 };

    fn demand(figures: impl Into<Figures>) -> Demand {
        Demand {
            name: "peak hour".into(),
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

    /// A report's demand on PostgreSQL: UPDATEs of eighteen lightly changed blocks read 370 blocks/s; UPDATEs of three heavily
    /// changed ones read fewer.
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
        let costs = Costs { reads_per_block: 0.001, ..Costs::default() };
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
            let costs = Costs { reads_per_block: per_block, ..Costs::default() };
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
