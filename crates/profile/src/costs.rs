//! What the operations of the method cost on a target.

use serde::{Deserialize, Serialize};

use crate::demand::ReadsAre;
use crate::figure::{Figure, Figures};
use crate::parameters::Parameters;

/// Assumed of an UPDATE of one block until it is measured, in bytes of redo: two columns of 128 bytes before and after with
/// what goes with them, and all nineteen.
const ASSUMED_REDO: [f64; 2] = [1200.0, 6000.0];
/// Fewer reads for each block than this are a cache's: no rate of visits would make them physical.
pub(crate) const CACHED: f64 = 0.02;

/// What a short run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds of its window.
    pub seconds: f64,
    /// Rates per second of it, and means.
    pub figures: Figures,
    /// Operations per second that ended: SELECTs without scans.
    pub selects_per_s: f64,
    /// UPDATEs, each with its commit.
    pub updates_per_s: f64,
    /// Scans.
    pub scans_per_s: f64,
}

impl Measured {
    /// All operations per second.
    #[must_use]
    pub fn operations_per_s(&self) -> f64 {
        self.selects_per_s + self.updates_per_s + self.scans_per_s
    }

    /// Blocks of the main tables that operations of these parameters visited, per second.
    pub(crate) fn visited_per_s(&self, parameters: &Parameters) -> f64 {
        let changed = self.updates_per_s * f64::from(parameters.update_work_unit);
        self.selects_per_s * f64::from(parameters.work_unit) + changed
    }

    /// Physical reads as a demand counts them; blocks where the target does not count requests.
    pub(crate) fn reads(&self, reads_are: ReadsAre) -> Option<f64> {
        let blocks = self.figures.get(Figure::ReadBlocks);
        match reads_are {
            ReadsAre::Requests => self.figures.get(Figure::ReadRequests).or(blocks),
            ReadsAre::Blocks => blocks.or_else(|| self.figures.get(Figure::ReadRequests)),
        }
    }
}

/// Costs of operations, as assumed at first and as measured since.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Physical reads for each block of the main tables that is visited.
    pub reads_per_block: f64,
    /// Logical reads for each of these, those of the index included.
    pub logical_per_block: f64,
    /// Physical reads for each block of a scan, which is to be in the cache; `None` until scans were tried.
    pub reads_per_scan_block: Option<f64>,
    /// Blocks written for each block that was changed.
    pub writes_per_block: f64,
    /// Of UPDATEs that change two columns, and all: blocks of one, and its bytes of redo.
    redo: [Vec<(u16, f64)>; 2],
    /// Runs that it was learned from.
    pub runs: usize,
}

impl Default for Costs {
    /// What the method means to do: each block is a read and a visit, and a changed one is written once.
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
    #[cfg(test)]
    pub(crate) fn with_reads(reads_per_block: f64) -> Self {
        Self { reads_per_block, ..Self::default() }
    }

    /// Takes them from a run. What it did not do, or its target does not count, stays as it was.
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
            // Scans that miss would be taken for reads of blocks.
            if let Some(reads) = measured.reads(reads_are).filter(|_| scanned <= 0.0 || self.scans_hit()) {
                self.reads_per_block = reads / visited;
            }
            if let Some(logical) = measured.figures.get(Figure::LogicalReads) {
                let of_blocks = logical - measured.scans_per_s * scan_blocks as f64;
                // Scans of a table that is not all there cost less than thought: then nothing is learned.
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

    /// Whether scans are logical reads that hit, as far as is known.
    pub(crate) fn scans_hit(&self) -> bool {
        self.reads_per_scan_block.is_none_or(|reads| reads < CACHED)
    }

    /// Whether redo of that kind of UPDATE was measured.
    pub(crate) fn knows_redo(&self, heavy: bool) -> bool {
        !self.redo[usize::from(heavy)].is_empty()
    }

    /// Bytes of redo of an UPDATE of so many blocks: in proportion to what was measured last; between two measurements and
    /// beyond them along their line, for a commit costs something too.
    #[must_use]
    pub fn redo_of_update(&self, heavy: bool, blocks: u16) -> f64 {
        let blocks = f64::from(blocks);
        let at = |(blocks, redo): (u16, f64)| (f64::from(blocks), redo);
        match self.redo[usize::from(heavy)][..] {
            [] => {
                // The other kind tells how this database's log relates to what was assumed.
                let other = self.redo[usize::from(!heavy)].last().copied().map(at);
                let scale =
                    other.map_or(1.0, |(blocks, redo)| redo / (blocks * ASSUMED_REDO[usize::from(!heavy)]));
                // Nobody changes more and writes less.
                let assumed = ASSUMED_REDO[usize::from(heavy)] * scale;
                assumed * blocks
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

#[cfg(test)]
mod tests {
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
        // What was assumed of the two kinds differs by five.
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
}
