//! From a demand to the parameters of a run.
//!
//! Scans of a small cached table, or visits of a hot spot (HOTSPOT_FREQUENCY), make the hits that SELECTs and UPDATEs lack.
//! Non-negative least squares find rates of commits, redo, physical and logical reads; a search finds the nearest whole
//! parameters.

use serde::{Deserialize, Serialize};

use crate::demand::{Demand, ReadsAre};
use crate::figure::{Figure, Figures};
use crate::least_squares::{Equation, SAME, non_negative};

const MOST_BLOCKS: u16 = 1024;
const MOST_OF_TRANSACTION: f64 = 10_000.0;
/// From this rate on the chance of random arrivals is small.
pub(crate) const POISSON_FROM: f64 = 300.0;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    pub rate: u32,
    pub poisson: bool,
    /// Up to two decimals.
    pub update_pct: f64,
    pub scan_pct: f64,
    pub work_unit: u16,
    pub update_work_unit: u16,
    pub heavy: bool,
    /// UPDATEs for each COMMIT, with up to six decimals.
    pub commit_every: f64,
    /// Every Nth SELECT or UPDATE visits a hot spot; up to six decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_every: Option<f64>,
    pub hot_mb: u32,
    pub schemas: u32,
    pub threads: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            rate: 0,
            poisson: false,
            update_pct: 0.0,
            scan_pct: 0.0,
            work_unit: 1,
            update_work_unit: 1,
            heavy: false,
            commit_every: 1.0,
            hot_every: None,
            hot_mb: 0,
            schemas: 0,
            threads: 0,
        }
    }
}

impl Parameters {
    pub fn times(&self, factor: f64, limits: &Limits) -> Self {
        let rate = (f64::from(self.rate) * factor).round().max(1.0) as u32;
        let wanted = (f64::from(self.schemas * self.threads) * factor).ceil() as u32;
        let threads = limits.threads(wanted.max(self.schemas * self.threads));
        Self { rate, threads, poisson: f64::from(rate) >= POISSON_FROM, ..*self }
    }

    pub(crate) fn visited_per_s(&self) -> f64 {
        let Rates { updates, selects, .. } = Rates::of(self);
        selects * f64::from(self.work_unit) + updates * f64::from(self.update_work_unit)
    }

    pub(crate) fn cold_share(&self) -> f64 {
        self.hot_every.map_or(1.0, |every| 1.0 - 1.0 / every)
    }

    pub(crate) fn blocks_of_commit(&self) -> f64 {
        f64::from(self.update_work_unit) * self.commit_every
    }

    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let word = |is, yes: &str, no: &str| if is { yes } else { no }.to_owned();
        let mut pairs = vec![
            ("SCHEMAS", self.schemas.to_string()),
            ("THREADS_PER_SCHEMA", self.threads.to_string()),
            ("RATE", self.rate.to_string()),
            ("ARRIVALS", word(self.poisson, "poisson", "steady")),
            ("UPDATE_PCT", self.update_pct.to_string()),
            ("SCAN_PCT", self.scan_pct.to_string()),
            ("WORK_UNIT", self.work_unit.to_string()),
            ("UPDATE_WORK_UNIT", self.update_work_unit.to_string()),
            ("REDO_STRESS", word(self.heavy, "HEAVY", "LITE")),
            ("COMMIT_EVERY", self.commit_every.to_string()),
            ("DO_HOTSPOT", word(self.hot_every.is_some(), "TRUE", "FALSE")),
        ];
        if let Some(every) = self.hot_every {
            pairs.extend([
                ("HOTSPOT_MB", self.hot_mb.to_string()),
                ("HOTSPOT_OFFSET_MB", "0".to_owned()),
                ("HOTSPOT_FREQUENCY", every.to_string()),
            ]);
        }
        pairs
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub schemas: u32,
    pub scan_blocks: u64,
    pub scale_blocks: u64,
    pub most_sessions: u32,
    /// 0 where the data have no room for a hot spot.
    pub hot_mb: u32,
    pub hot_blocks: u64,
}

impl Limits {
    /// A small hot spot stays in any cache.
    const HOT_MB: u64 = 2;

    /// The hot spot is at most a quarter of each schema.
    pub fn with_hot_spot(self, block_bytes: u32) -> Self {
        let of_mib = (1 << 20) / u64::from(block_bytes.max(1));
        let hot_mb = Self::HOT_MB.min(self.scale_blocks / 4 / of_mib.max(1));
        Self { hot_mb: hot_mb as u32, hot_blocks: hot_mb * of_mib, ..self }
    }

    pub(crate) fn threads(&self, sessions: u32) -> u32 {
        let most = (self.most_sessions / self.schemas.max(1)).max(1);
        sessions.div_ceil(self.schemas.max(1)).clamp(1, most)
    }

    pub(crate) fn most_blocks(&self) -> u16 {
        u16::try_from(self.scale_blocks).unwrap_or(MOST_BLOCKS).clamp(1, MOST_BLOCKS)
    }

    /// Operations must fit into the data, the hot spot, and a session's part of them.
    fn have_room_for(&self, mix: &Parameters) -> bool {
        let room = if mix.hot_every.is_some() { self.hot_blocks } else { self.scale_blocks };
        let parts = if mix.commit_every > 1.0 { u64::from(mix.threads.max(1)) } else { 1 };
        u64::from(mix.work_unit) <= room && u64::from(mix.update_work_unit) <= room / parts
    }
}

pub(crate) struct Rates {
    pub(crate) updates: f64,
    pub(crate) commits: f64,
    pub(crate) selects: f64,
    pub(crate) scans: f64,
}

impl Rates {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let rate = f64::from(parameters.rate);
        let updates = rate * parameters.update_pct / 100.0;
        let scans = (rate - updates) * parameters.scan_pct / 100.0;
        let commits = updates / parameters.commit_every;
        Self { updates, commits, scans, selects: rate - updates - scans }
    }
}

/// Redo bytes of an UPDATE of one block until measured: two columns of 128 bytes before and after, and all nineteen.
const ASSUMED_REDO: [f64; 2] = [1200.0, 6000.0];
/// With fewer reads per block a cache serves them: no rate of visits makes them physical.
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

    pub(crate) fn visited_per_s(&self, parameters: &Parameters) -> f64 {
        let changed = self.updates_per_s * f64::from(parameters.update_work_unit);
        self.selects_per_s * f64::from(parameters.work_unit) + changed
    }

    /// Reads are counted as the demand counts them, or as blocks if the target does not count requests.
    pub(crate) fn reads(&self, reads_are: ReadsAre) -> Option<f64> {
        let blocks = self.figures.get(Figure::ReadBlocks);
        match reads_are {
            ReadsAre::Requests => self.figures.get(Figure::ReadRequests).or(blocks),
            ReadsAre::Blocks => blocks.or_else(|| self.figures.get(Figure::ReadRequests)),
        }
    }
}

/// Assumed at first and then learned from runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    pub reads_per_block: f64,
    /// Index blocks count per visited block.
    pub logical_per_block: f64,
    pub reads_per_scan_block: Option<f64>,
    pub reads_per_hot_block: f64,
    pub writes_per_block: f64,
    /// UPDATEs of two columns, then of all: blocks and redo bytes of one transaction.
    pub(crate) redo: [Vec<(f64, f64)>; 2],
    pub runs: usize,
}

impl Default for Costs {
    /// The method's intent: each block is visited and read once, and written once if changed.
    fn default() -> Self {
        Self {
            reads_per_block: 1.0,
            logical_per_block: 1.0,
            reads_per_scan_block: None,
            reads_per_hot_block: 0.0,
            writes_per_block: 1.0,
            redo: [Vec::new(), Vec::new()],
            runs: 0,
        }
    }
}

impl Costs {
    /// Costs that the run does not show stay unchanged.
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
        let cold = parameters.cold_share() * visited;
        let scanned = measured.scans_per_s * scan_blocks as f64;
        let hot = visited - cold;
        if let Some(reads) = measured.reads(reads_are).filter(|_| self.runs > 1) {
            let further = (reads - self.reads_per_block * cold).max(0.0);
            if hot > 0.0 {
                self.reads_per_hot_block = further / hot;
            } else if scanned > 0.0 {
                self.reads_per_scan_block = Some(further / scanned);
            }
        }
        if cold > 0.0 && hot <= 0.0 {
            // Missing scans would count as reads of blocks.
            if let Some(reads) = measured.reads(reads_are).filter(|_| scanned <= 0.0 || self.scans_hit()) {
                self.reads_per_block = reads / cold;
            }
        }
        if visited > 0.0
            && let Some(logical) = measured.figures.get(Figure::LogicalReads)
        {
            let of_blocks = logical - measured.scans_per_s * scan_blocks as f64;
            // A partly loaded scan table costs less than assumed: learn nothing.
            if of_blocks > 0.0 {
                self.logical_per_block = of_blocks / visited;
            }
        }
        if changed > 0.0 {
            if let Some(redo) = measured.figures.get(Figure::RedoBytes) {
                let points = &mut self.redo[usize::from(parameters.heavy)];
                let blocks = parameters.blocks_of_commit();
                points.retain(|(own, _)| (own / blocks - 1.0).abs() > SAME_BLOCKS);
                points.push((blocks, redo * parameters.commit_every / measured.updates_per_s));
            }
            if let Some(writes) = measured.figures.writes() {
                self.writes_per_block = writes / changed;
            }
        }
    }

    pub(crate) fn scans_hit(&self) -> bool {
        self.reads_per_scan_block.is_none_or(|reads| reads < CACHED)
    }

    /// Reads of a visit of the hot spot, as a share of those of another.
    fn hot_misses(&self) -> f64 {
        (self.reads_per_hot_block / self.reads_per_block.max(CACHED)).min(1.0)
    }

    pub(crate) fn knows_redo(&self, heavy: bool) -> bool {
        !self.redo[usize::from(heavy)].is_empty()
    }

    pub fn redo_of_commit(&self, heavy: bool, blocks: f64) -> f64 {
        let [base, of_block] = self.redo_line(heavy);
        base + of_block * blocks
    }

    /// Redo of a commit and of each changed block: in proportion to one measurement, or along the line of the last two.
    fn redo_line(&self, heavy: bool) -> [f64; 2] {
        match self.redo[usize::from(heavy)][..] {
            [] => {
                // Scale by the other kind of UPDATE.
                let other = self.redo[usize::from(!heavy)].last();
                let scale =
                    other.map_or(1.0, |(blocks, redo)| redo / (blocks * ASSUMED_REDO[usize::from(!heavy)]));
                [0.0, ASSUMED_REDO[usize::from(heavy)] * scale]
            }
            [(blocks, redo)] => [0.0, redo / blocks],
            [.., (x1, y1), (x2, y2)] => {
                let slope = (y2 - y1) / (x2 - x1);
                let base = y2 - slope * x2;
                if slope > 0.0 && base >= 0.0 { [base, slope] } else { [0.0, y2 / x2] }
            }
        }
    }
}

/// Transactions whose blocks differ by less are the same point of a line.
const SAME_BLOCKS: f64 = 0.02;
/// WORK_UNIT of the shipped `slob.conf`.
const USUAL_BLOCKS: f64 = 64.0;
/// SELECTs per second that suffice to count reads by.
const ENOUGH_SELECTS: f64 = 50.0;
/// Sessions per active one: arrivals come in clusters.
const SPARE: f64 = 2.0;
const FEWEST_SESSIONS: u32 = 8;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    pub parameters: Parameters,
    pub figures: Figures,
    pub can_scan: bool,
    pub can_be_hot: bool,
}

pub fn solve(demand: &Demand, costs: &Costs, limits: &Limits) -> Planned {
    let search = Search { wanted: Wanted::of(demand, costs), costs, limits };
    let base = Parameters {
        schemas: limits.schemas.max(1),
        threads: limits.threads(sessions(demand, limits)),
        ..Parameters::default()
    };
    let best = [false, true].map(|heavy| search.best(&Parameters { heavy, ..base }));
    let least = best.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let mut parameters = least.map_or(base, |(_, mix)| mix);
    parameters.poisson = f64::from(parameters.rate) >= POISSON_FROM;
    Planned {
        parameters,
        figures: predicted(&parameters, costs, limits, demand),
        can_scan: limits.scan_blocks > 0,
        can_be_hot: limits.hot_blocks > 0,
    }
}

fn predicted(parameters: &Parameters, costs: &Costs, limits: &Limits, demand: &Demand) -> Figures {
    let work = Work::of(parameters, limits, costs);
    let reads = costs.reads_per_block * work.cold;
    let redo = work.commits * costs.redo_of_commit(parameters.heavy, parameters.blocks_of_commit());
    let all = [
        (Figure::LogicalReads, costs.logical_per_block * work.visited + work.scanned),
        (Figure::ReadRequests, reads),
        (Figure::ReadBlocks, reads),
        (Figure::WriteBlocks, costs.writes_per_block * work.changed),
        (Figure::RedoBytes, redo),
        (Figure::Commits, work.commits),
    ];
    let is_known = |figure: Figure| match figure {
        Figure::WriteBlocks => demand.figures.writes().is_some(),
        figure => demand.figures.get(figure).is_some(),
    };
    all.into_iter().filter(|(figure, _)| is_known(*figure)).collect()
}

/// Active sessions, or else the time of reads and commits, decide.
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

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    commits: f64,
    changed: f64,
    visited: f64,
    /// Visited blocks that lie beside the hot spot or are not kept by it.
    cold: f64,
    scanned: f64,
}

impl Work {
    fn of(mix: &Parameters, limits: &Limits, costs: &Costs) -> Self {
        let Rates { updates, commits, scans, .. } = Rates::of(mix);
        let (visited, cold) = (mix.visited_per_s(), mix.cold_share());
        Self {
            commits,
            changed: updates * f64::from(mix.update_work_unit),
            visited,
            cold: (cold + (1.0 - cold) * costs.hot_misses()) * visited,
            scanned: scans * limits.scan_blocks as f64,
        }
    }
}

/// Unknown or zero figures are not demanded.
struct Wanted {
    reads: Option<f64>,
    commits: Option<f64>,
    redo: Option<f64>,
    writes: Option<f64>,
    logical: Option<f64>,
    per_block: f64,
}

impl Wanted {
    fn of(demand: &Demand, costs: &Costs) -> Self {
        let positive = |value: Option<f64>| value.filter(|value| *value > 0.0);
        let get = |figure| positive(demand.figures.get(figure));
        // Visit cached blocks as often as production read them: more visits would not make the reads physical.
        let per_block = if costs.reads_per_block < CACHED { 1.0 } else { costs.reads_per_block };
        Self {
            reads: positive(demand.figures.reads()),
            commits: get(Figure::Commits),
            redo: get(Figure::RedoBytes),
            writes: positive(demand.figures.writes()),
            logical: get(Figure::LogicalReads),
            per_block,
        }
    }
}

/// A plan misses only the less weighty of two contradicting figures.
const WEIGHTS: [f64; 3] = [1e6, 1e3, 1.0];
/// A knob less, or usual blocks, outweigh so much of a deviation.
const OF_KNOB: f64 = 0.06;
const OF_BLOCKS: f64 = 0.005;
/// An unmeasured kind of UPDATE must promise more.
const OF_UNKNOWN: f64 = 0.2;
/// Physical writes follow redo, and decide between plans that are as good.
const OF_WRITES: f64 = 0.02;

struct Search<'a> {
    wanted: Wanted,
    costs: &'a Costs,
    limits: &'a Limits,
}

impl Search<'_> {
    fn best(&self, base: &Parameters) -> (f64, Parameters) {
        // Where cached visits of the index nearly suffice, no further hits are made.
        let by_scans = self.work(base.heavy, true);
        let few_hits = Work { scanned: 0.0, ..by_scans };
        let by_hot_spot = self.work(base.heavy, false);
        let mut works = vec![few_hits, by_scans, by_hot_spot];
        works.dedup();
        let best = works.iter().map(|work| self.best_of(work, base));
        best.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, *base))
    }

    fn best_of(&self, work: &Work, base: &Parameters) -> (f64, Parameters) {
        let mut best = (f64::INFINITY, *base);
        for (update_work_unit, commit_every) in self.transactions(work, base.threads) {
            for work_unit in self.work_units(work) {
                let base = Parameters { update_work_unit, commit_every, work_unit, ..*base };
                for mix in self.mixes(work, &base) {
                    let badness = self.badness(&mix, work);
                    if self.limits.have_room_for(&mix) && badness < best.0 {
                        best = (badness, mix);
                    }
                }
            }
        }
        best
    }

    fn work(&self, heavy: bool, with_scans: bool) -> Work {
        let Self { wanted, costs, limits } = self;
        let [of_commit, of_block] = costs.redo_line(heavy);
        let (read, visit, write) =
            (wanted.per_block, costs.logical_per_block, costs.writes_per_block.max(0.01));
        let [first, second, last] = WEIGHTS;
        // Without commits there are no UPDATEs.
        let updates = if wanted.commits.is_some() { 1.0 } else { 0.0 };
        let scan = if with_scans && limits.scan_blocks > 0 && costs.scans_hit() { 1.0 } else { 0.0 };
        let writes = wanted.writes.filter(|_| wanted.redo.is_none());
        // A commit with its first block, further changed blocks, scanned blocks, and selected ones: scans cost less CPU.
        let equations = [
            (wanted.reads, first, [read * updates, read * updates, 0.0, read]),
            (wanted.commits, first, [1.0, 0.0, 0.0, 0.0]),
            (wanted.redo, second, [(of_commit + of_block) * updates, of_block * updates, 0.0, 0.0]),
            (writes, second, [write * updates, write * updates, 0.0, 0.0]),
            (wanted.logical, last, [visit * updates, visit * updates, scan, visit]),
        ];
        let equation = |(sum, weight, coefficients): &(Option<f64>, f64, [f64; 4])| {
            Some(Equation { coefficients: *coefficients, sum: (*sum)?, weight: *weight })
        };
        let work = |equations: &[(Option<f64>, f64, [f64; 4])]| {
            let equations: Vec<_> = equations.iter().filter_map(equation).collect();
            let ([commits, further, scanned, selected], squares) = non_negative(&equations);
            let (changed, visited) = (commits + further, commits + further + selected);
            (Work { commits, changed, visited, cold: visited, scanned }, squares)
        };
        let (all_cold, squares) = work(&equations);
        let Some(cold) = wanted.reads.filter(|_| self.can_be_hot()).map(|reads| reads / read) else {
            return all_cold;
        };
        // A hot spot takes the visits beyond the reads, which are then met whatever the others are.
        let (with_hot_spot, without_reads) = work(&equations[1..]);
        match with_hot_spot.visited > cold && without_reads < squares - SAME {
            true => Work { cold, ..with_hot_spot },
            false => all_cold,
        }
    }

    fn can_be_hot(&self) -> bool {
        self.limits.hot_blocks > 0 && self.costs.hot_misses() < 0.5
    }

    fn transactions(&self, work: &Work, threads: u32) -> Vec<(u16, f64)> {
        if work.commits <= 0.0 {
            return vec![(1, 1.0)];
        }
        let blocks = work.changed / work.commits;
        let most = self.limits.most_blocks();
        let whole = |blocks: f64, most: u16| blocks.clamp(1.0, most.into()) as u16;
        let part = self.limits.scale_blocks.min(match self.limits.hot_blocks {
            0 => u64::MAX,
            hot => hot,
        });
        let most_of_part = u16::try_from(part / u64::from(threads.max(1))).unwrap_or(most).clamp(1, most);
        let mut all = vec![(whole(blocks.round(), most), 1.0)];
        let mut unit = whole(blocks, most_of_part);
        loop {
            all.push((unit, six_decimals(blocks / f64::from(unit)).clamp(1.0, MOST_OF_TRANSACTION)));
            if unit == 1 {
                return all;
            }
            unit = unit.div_ceil(4);
        }
    }

    fn work_units(&self, work: &Work) -> Vec<u16> {
        if work.visited <= work.changed {
            return vec![1];
        }
        let most = self.limits.most_blocks();
        let next = |unit: &u16| Some(unit + (unit / 32).max(1));
        std::iter::successors(Some(1), next).take_while(|unit| *unit <= most).collect()
    }

    fn mixes(&self, work: &Work, base: &Parameters) -> Vec<Parameters> {
        let updates = work.commits * base.commit_every;
        let selects = (work.visited - work.changed).max(0.0) / f64::from(base.work_unit);
        let scans =
            if self.limits.scan_blocks > 0 { work.scanned / self.limits.scan_blocks as f64 } else { 0.0 };
        let all = updates + selects + scans;
        let mut mixes = Vec::with_capacity(16);
        for rate in both(all, 1.0, f64::from(u32::MAX)) {
            let percent = if selects + scans <= 0.0 { 100.0 } else { 100.0 * updates / rate };
            for update_pct in hundredths(percent) {
                let others = rate * (1.0 - update_pct / 100.0);
                // The rest are scans, or SELECTs.
                let mut of_scans = match scans > 0.0 && others > 0.0 {
                    true => [1.0 - selects / others, scans / others]
                        .into_iter()
                        .flat_map(|share| hundredths(100.0 * share))
                        .collect(),
                    false => vec![0.0],
                };
                of_scans.dedup();
                for scan_pct in of_scans {
                    let mix = Parameters { rate: rate as u32, update_pct, scan_pct, ..*base };
                    mixes.push(self.with_hot_spot(mix, work));
                }
            }
        }
        mixes
    }

    /// Sends visits that must not read to a hot spot.
    fn with_hot_spot(&self, mix: Parameters, work: &Work) -> Parameters {
        let visited = mix.visited_per_s();
        // The nearest whole numbers may visit a little more.
        if !self.can_be_hot() || self.wanted.reads.is_none() || visited <= 1.02 * work.cold {
            return mix;
        }
        let misses = self.costs.hot_misses();
        let cold = ((work.cold / visited - misses) / (1.0 - misses).max(CACHED)).clamp(0.0, 1.0);
        let every = six_decimals(1.0 / (1.0 - cold).max(1e-6)).max(1.0);
        Parameters { hot_every: Some(every), hot_mb: self.limits.hot_mb, ..mix }
    }

    /// Reads and commits count most.
    fn badness(&self, mix: &Parameters, ideal: &Work) -> f64 {
        let Self { wanted, costs, limits } = self;
        let work = Work::of(mix, limits, costs);
        let off = |is: f64, wanted: Option<f64>| {
            wanted.map_or(0.0, |wanted| (is.max(1e-9) / wanted.max(1e-9)).ln().abs())
        };
        let redo = work.commits * costs.redo_of_commit(mix.heavy, mix.blocks_of_commit());
        let logical = costs.logical_per_block * work.visited + work.scanned;
        let writes = off(work.changed * costs.writes_per_block.max(0.01), wanted.writes);
        let of_writes = if wanted.redo.is_some() { OF_WRITES } else { 3.0 };
        let must = 10.0
            * (off(wanted.per_block * work.cold, wanted.reads) + off(work.commits, wanted.commits))
            + 3.0 * off(redo, wanted.redo)
            + 2.0 * off(logical, wanted.logical)
            + of_writes * writes;
        let selected = (ideal.visited - ideal.changed).max(0.0);
        let usual = (selected / ENOUGH_SELECTS).clamp(1.0, USUAL_BLOCKS);
        let is_unknown = costs.runs > 0 && mix.update_pct > 0.0 && !costs.knows_redo(mix.heavy);
        // A scan costs less CPU than SELECTs of a hot spot.
        let of_hot_spot = if limits.scan_blocks > 0 && costs.scans_hit() { 2 } else { 1 };
        let knobs = u8::from(mix.commit_every > 1.0)
            + of_hot_spot * u8::from(mix.hot_every.is_some())
            + u8::from(mix.scan_pct > 0.0);
        must + OF_BLOCKS * (f64::from(mix.work_unit) / usual).ln().abs()
            + OF_BLOCKS * mix.commit_every.ln()
            + OF_KNOB * f64::from(knobs)
            + if is_unknown { OF_UNKNOWN } else { 0.0 }
            + if mix.heavy { 1e-3 } else { 0.0 }
    }
}

fn both(number: f64, least: f64, most: f64) -> [f64; 2] {
    [number.floor(), number.ceil()].map(|whole| whole.clamp(least, most))
}

fn six_decimals(number: f64) -> f64 {
    (1e6 * number).round() / 1e6
}

fn hundredths(percent: f64) -> [f64; 2] {
    both(100.0 * percent, 0.0, 10_000.0).map(|hundredths| hundredths / 100.0)
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
        assert_eq!(costs.redo_of_commit(false, 4.0), 2000.0);
        assert!(!costs.knows_redo(true));
        // The assumptions for the two kinds differ by a factor of five.
        assert_eq!(costs.redo_of_commit(true, 2.0), 5000.0);
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
        assert_eq!(costs.redo_of_commit(false, 2.0), 1000.0);
        assert_eq!(costs.redo_of_commit(false, 4.0), 1800.0);
    }

    #[test]
    fn what_was_not_done_teaches_nothing() {
        let mut costs = Costs::default();
        let idle = Measured { figures: [(Figure::RedoBytes, 7.0)].into(), ..Measured::default() };
        costs.learn(&parameters(2), &idle, ReadsAre::Blocks, 0);
        assert_eq!(Costs { runs: 0, ..costs }, Costs::default());
    }

    const LIMITS: Limits = Limits {
        schemas: 4,
        scan_blocks: 128,
        scale_blocks: 10_000,
        most_sessions: 256,
        hot_mb: 2,
        hot_blocks: 256,
    };

    fn percent_off(planned: &Figures, demand: &Demand, figure: Figure) -> f64 {
        let wanted = demand.figures.get(figure).unwrap();
        100.0 * (planned.get(figure).unwrap() / wanted - 1.0).abs()
    }

    #[test]
    fn a_mixed_demand_is_met_by_whole_numbers() {
        let demand = Demand::of_peak([
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
        let reads = solve(&Demand::of_peak([(Figure::ReadRequests, 5000.0)]), &Costs::default(), &LIMITS);
        assert_eq!((reads.parameters.update_pct, reads.parameters.scan_pct), (0.0, 0.0));
        let visited = reads.parameters.rate * u32::from(reads.parameters.work_unit);
        assert!((4950..=5050).contains(&visited), "{reads:?}");
        let redo = Demand::of_peak([(Figure::Commits, 100.0), (Figure::RedoBytes, 100.0 * 12_000.0)]);
        let redo = solve(&redo, &Costs::default(), &LIMITS);
        assert_eq!((redo.parameters.rate, redo.parameters.update_pct), (100, 100.0));
    }

    #[test]
    fn reads_are_met_though_hardly_anything_is_committed() {
        let demand = Demand::of_peak([
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
        let demand = Demand::of_peak([
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
        let planned = solve(&Demand::of_peak([(Figure::ReadRequests, 5000.0)]), &costs, &LIMITS);
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
            let demand = Demand::of_peak([
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
