//! How well a run meets the demand it was planned for, and why it does not.

use serde::Serialize;

use crate::demand::Demand;
use crate::figure::{Figure, Figures, READS, WRITES};
use crate::plan::{CACHED, Costs, Measured, Planned};

/// A figure that a plan must meet, saved by [`Aim::words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum Aim {
    PhysicalReads,
    Redo,
    Commits,
    PhysicalWrites,
    LogicalReads,
}

impl Aim {
    /// In display order.
    pub const ALL: [Self; 5] =
        [Self::PhysicalReads, Self::Redo, Self::Commits, Self::PhysicalWrites, Self::LogicalReads];

    pub fn words(self) -> &'static str {
        match self {
            Self::PhysicalReads => "physical reads",
            Self::Redo => "redo",
            Self::Commits => "commits",
            Self::PhysicalWrites => "physical writes",
            Self::LogicalReads => "logical reads",
        }
    }

    /// Logical reads are only approached; the others must be met.
    pub(crate) fn must(self) -> bool {
        self != Self::LogicalReads
    }

    /// True if it is proportional to commits.
    pub(crate) fn comes_with_commits(self) -> bool {
        matches!(self, Self::Redo | Self::Commits | Self::PhysicalWrites)
    }

    /// The figures that count it: the first one known.
    fn figures(self) -> &'static [Figure] {
        match self {
            Self::PhysicalReads => &READS,
            Self::Redo => &[Figure::RedoBytes],
            Self::Commits => &[Figure::Commits],
            Self::PhysicalWrites => &WRITES,
            Self::LogicalReads => &[Figure::LogicalReads],
        }
    }

    /// The figure by which a demand counts it, if it has any.
    fn figure(self, demand: &Demand) -> Option<Figure> {
        self.figures().iter().copied().find(|figure| demand.figures.get(*figure).is_some())
    }

    fn of(self, figures: &Figures) -> Option<f64> {
        figures.first(self.figures())
    }

    /// Its measured value, counted as the demand does if possible.
    fn measured(self, demand: &Demand, measured: &Measured) -> Option<f64> {
        match self {
            Self::PhysicalReads => measured.reads(demand.reads_are),
            _ => self.of(&measured.figures),
        }
    }

    /// A note if a run counts blocks where the demand counts requests, or the reverse.
    fn counted_otherwise(self, wanted: Figure, measured: &Measured) -> Option<&'static str> {
        let is_counted = self.of(&measured.figures).is_some();
        if !is_counted || measured.figures.get(wanted).is_some() {
            return None;
        }
        Some(match wanted {
            Figure::ReadRequests | Figure::WriteRequests => {
                "requests are demanded, and blocks measured: the target does not count requests"
            }
            _ => "blocks are demanded, and requests measured: the target does not count blocks",
        })
    }
}

impl From<Aim> for &'static str {
    fn from(aim: Aim) -> Self {
        aim.words()
    }
}

/// A figure is met within this deviation from the demand.
pub const TOLERANCE_PERCENT: f64 = 5.0;

/// A demanded figure beside its planned and measured values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitLine {
    pub what: Aim,
    pub unit: &'static str,
    pub demanded: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// Deviation of the measured value, or else the planned one, from the demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    pub must: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl FitLine {
    /// False if the deviation is unknown.
    pub fn is_met(&self) -> bool {
        self.percent.is_some_and(|percent| percent.abs() <= TOLERANCE_PERCENT)
    }

    /// True if the plan itself misses the demand.
    pub(crate) fn planned_beyond(&self) -> bool {
        let off = |planned: f64| 100.0 * (planned / self.demanded - 1.0).abs();
        self.planned.is_some_and(|planned| off(planned) > TOLERANCE_PERCENT)
    }

    /// Deviation beyond the tolerance, as a logarithm: twice as much is as far off as half.
    fn beyond(&self) -> f64 {
        let ratio = self.percent.map_or(LEAST, |percent| (1.0 + percent / 100.0).max(LEAST));
        (ratio.ln().abs() - TOLERANCE_PERCENT / 100.0).max(0.0)
    }

    fn weight(&self) -> f64 {
        match self.what {
            _ if self.must => 1.0,
            // A test without production's hits lacks most of its CPU work.
            Aim::LogicalReads => APPROACHED,
            _ => 0.0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    pub lines: Vec<FitLine>,
}

impl Fit {
    /// True if every figure that must be met is met.
    pub fn is_met(&self) -> bool {
        self.lines.iter().filter(|line| line.must).all(FitLine::is_met)
    }

    /// True if this fit is better than an earlier one, or about as good: it rests on more runs.
    pub fn replaces(&self, earlier: &Self) -> bool {
        match (self.is_met(), earlier.is_met()) {
            (true, false) => true,
            (false, true) => false,
            _ => self.badness() <= earlier.badness() + NEAR,
        }
    }

    pub(crate) fn badness(&self) -> f64 {
        self.lines.iter().map(|line| line.weight() * line.beyond()).sum()
    }
}

const LATE: &str = "none was written in that interval, though its commits changed blocks: checkpoints wrote them later, and a \
                    profile of longer intervals would tell";
/// Unknown and missing values count as a hundredth of the demand.
const LEAST: f64 = 0.01;
/// Weight of figures that are only approached.
const APPROACHED: f64 = 0.25;
/// Of two fits that differ by less the later one wins.
const NEAR: f64 = 0.02;
/// Rates per second below this count as zero.
const NOTHING: f64 = 1e-6;

/// Compares a plan, and its measured run if there is one, with the demand.
pub fn compare(demand: &Demand, planned: &Planned, measured: Option<&Measured>, costs: &Costs) -> Fit {
    let lines = Aim::ALL.into_iter().filter_map(|aim| line(aim, demand, planned, measured, costs));
    Fit { lines: lines.collect() }
}

/// `None` if the figure is not demanded.
fn line(
    aim: Aim,
    demand: &Demand,
    planned: &Planned,
    measured: Option<&Measured>,
    costs: &Costs,
) -> Option<FitLine> {
    let figure = aim.figure(demand)?;
    let demanded = demand.figures.get(figure)?;
    let commits = demand.figures.get(Figure::Commits).unwrap_or(0.0);
    let is_late = aim == Aim::PhysicalWrites && demanded <= NOTHING && commits > NOTHING;
    if demanded <= NOTHING && !is_late {
        return None;
    }
    let plan = aim.of(&planned.figures);
    let is = measured.and_then(|measured| aim.measured(demand, measured));
    let compared = if measured.is_some() { is } else { plan };
    let line = FitLine {
        what: aim,
        unit: figure.unit(),
        demanded,
        planned: plan,
        measured: is,
        percent: compared.filter(|_| !is_late).map(|is| 100.0 * (is / demanded - 1.0)),
        must: aim.must() && !is_late,
        why: is_late.then(|| LATE.to_owned()),
        note: measured.and_then(|measured| aim.counted_otherwise(figure, measured)),
    };
    match line.is_met() || is_late {
        true => Some(line),
        false => Some(FitLine { why: why(&line, demand, planned, measured, costs), ..line }),
    }
}

/// A run below this share of RATE did not keep the rate.
const KEPT: f64 = 0.98;

pub(crate) fn why(
    line: &FitLine,
    demand: &Demand,
    planned: &Planned,
    measured: Option<&Measured>,
    costs: &Costs,
) -> Option<String> {
    let Some(percent) = line.percent else {
        return Some("the target does not count them".into());
    };
    let parameters = &planned.parameters;
    if let Some(measured) = measured.filter(|_| percent < 0.0) {
        let kept = measured.operations_per_s() / f64::from(parameters.rate);
        if kept < KEPT {
            return Some(format!(
                "the target kept {:.1} % of the rate: {:.0} of {} operations/s",
                100.0 * kept,
                measured.operations_per_s(),
                parameters.rate
            ));
        }
    }
    if let Some(why) = measured.and_then(|measured| too_few(line, demand, measured)) {
        return Some(why);
    }
    match line.what {
        Aim::PhysicalReads => Some(why_reads(percent, demand, planned, measured, costs)),
        Aim::Redo if costs.runs == 0 => Some(format!(
            "an UPDATE of {} is thought to write {:.0} bytes of redo, and blocks are whole: --target measures it",
            blocks(parameters.update_work_unit),
            costs.redo_of_update(parameters.heavy, parameters.update_work_unit)
        )),
        Aim::Redo => Some(why_redo(line, percent, demand, planned, costs)),
        Aim::PhysicalWrites => Some(why_writes(percent, measured, planned)),
        Aim::LogicalReads if percent < 0.0 && !costs.scans_hit() => Some(
            "the target's cache does not keep the table for short scans, which the hits would be made with"
                .into(),
        ),
        Aim::LogicalReads if parameters.scan_pct > 0 && line.planned_beyond() => Some(
            "UPDATE_PCT and SCAN_PCT are whole, and with those next to them the others fit less well".into(),
        ),
        Aim::LogicalReads if percent < 0.0 => {
            let why = match planned.can_scan {
                false => "there are no short scans to make the hits with (SCAN_TABLE_SZ)",
                true => "with as many short scans as would make the hits the others fit less well",
            };
            Some(why.to_owned()).filter(|_| parameters.scan_pct == 0)
        }
        Aim::LogicalReads => Some(format!(
            "a visited block costs {:.1} logical reads here, those of its index included",
            costs.logical_per_block
        )),
        Aim::Commits => None,
    }
}

/// Few commits deviate by chance: operations are drawn from decks of a hundred, which a short run does not finish.
fn too_few(line: &FitLine, demand: &Demand, measured: &Measured) -> Option<String> {
    if !line.what.comes_with_commits() {
        return None;
    }
    let wanted = demand.figures.get(Figure::Commits).filter(|commits| *commits > 0.0)?;
    let off = 100.0 * (measured.updates_per_s / wanted - 1.0);
    let commits = measured.updates_per_s * measured.seconds;
    // Two standard deviations of as many independent draws.
    let chance = 200.0 / commits.max(1.0).sqrt();
    let comes_of_them = (line.percent? - off).abs() <= TOLERANCE_PERCENT;
    (off.abs() > 1.0 && off.abs() <= chance && comes_of_them).then(|| {
        format!("the run had {commits:.0} commits only, and chance makes {chance:.0} % of so few: take longer runs (--calibration)")
    })
}

fn why_reads(
    percent: f64,
    demand: &Demand,
    planned: &Planned,
    measured: Option<&Measured>,
    costs: &Costs,
) -> String {
    if costs.reads_per_block < CACHED {
        return format!(
            "the target's cache served {:.1} % of the blocks: load more than it holds (SCALE)",
            100.0 * (1.0 - costs.reads_per_block)
        );
    }
    let commits = demand.figures.get(Figure::Commits).unwrap_or(0.0);
    let own = commits * f64::from(planned.parameters.update_work_unit) * costs.reads_per_block;
    if percent > 0.0 && demand.figures.reads().is_some_and(|reads| own > 0.95 * reads) {
        return format!("the UPDATEs alone read {own:.0} blocks/s before they change them");
    }
    // Physical reads per visited block, measured and planned.
    let per_block =
        measured.and_then(|measured| Some([measured.reads(demand.reads_are)?, planned.figures.reads()?]));
    let visited = measured.map_or(0.0, |measured| measured.visited_per_s(&planned.parameters));
    let said = per_block.filter(|_| visited > 0.0).map(|[read, planned_for]| {
        let planned_for = 100.0 * planned_for / planned.parameters.visited_per_s();
        format!(
            "{:.0} % of the visited blocks were read, and {planned_for:.0} % were planned for; ",
            100.0 * read / visited
        )
    });
    let said = said.unwrap_or_default();
    format!(
        "{said}the cache does not serve the same in every run: let it warm up longer (WARMUP), or load more (SCALE)"
    )
}

fn why_redo(line: &FitLine, percent: f64, demand: &Demand, planned: &Planned, costs: &Costs) -> String {
    let parameters = &planned.parameters;
    let get = |figure| demand.figures.get(figure).unwrap_or(0.0);
    let (commits, redo) = (get(Figure::Commits), get(Figure::RedoBytes));
    if commits <= 0.0 {
        return "the demand has no commits, and redo comes with them".into();
    }
    let own = costs.redo_of_update(parameters.heavy, parameters.update_work_unit);
    let smallest = parameters.update_work_unit == 1 && !parameters.heavy;
    match percent > 0.0 {
        true if smallest => format!(
            "an UPDATE of one block writes {own:.0} bytes of redo here, and {:.0} for each commit are demanded",
            redo / commits
        ),
        false if parameters.update_work_unit >= 1024 => format!(
            "the largest UPDATE writes {own:.0} bytes of redo here, and {:.0} for each commit are demanded",
            redo / commits
        ),
        _ if line.planned_beyond() => format!(
            "{:.0} bytes for each commit are demanded, and steps of whole blocks are too coarse: an UPDATE of {} writes {own:.0} here",
            redo / commits,
            blocks(parameters.update_work_unit)
        ),
        _ => format!(
            "an UPDATE of {} wrote {own:.0} bytes of redo, another share than in the run before: checkpoints decide how \
             much of a block is logged",
            blocks(parameters.update_work_unit)
        ),
    }
}

fn blocks(count: u16) -> String {
    if count == 1 { "one block".to_owned() } else { format!("{count} blocks") }
}

fn why_writes(percent: f64, measured: Option<&Measured>, planned: &Planned) -> String {
    let changed = measured.map_or(0.0, |measured| measured.updates_per_s)
        * f64::from(planned.parameters.update_work_unit);
    let written = measured.and_then(|measured| measured.figures.writes()).unwrap_or(0.0);
    if planned.parameters.update_pct == 0 {
        return "the demand has no commits, and blocks are changed by UPDATEs alone".into();
    }
    if changed <= 0.0 {
        return "redo decides how many blocks are changed, and these are not as many as were written".into();
    }
    let share = 100.0 * written / changed;
    match share {
        _ if percent < 0.0 && share < 80.0 => format!(
            "{share:.0} % of the changed blocks were written within the run: the rest is left to later checkpoints"
        ),
        _ if percent > 0.0 && share > 120.0 => format!(
            "{changed:.0} blocks/s were changed within the run and {written:.0} written: what was changed before it, or besides \
             the tables"
        ),
        _ => format!(
            "redo decides how many blocks are changed: {changed:.0}/s were, and each was written {:.1} times",
            written / changed
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Limits, solve};

    pub(crate) fn demand() -> Demand {
        Demand {
            name: "peak hour".into(),
            point: "peak".into(),
            grow: 1.0,
            figures: [
                (Figure::ReadRequests, 5000.0),
                (Figure::Commits, 100.0),
                (Figure::RedoBytes, 120_000.0),
                (Figure::WriteBlocks, 800.0),
            ]
            .into(),
            reads_are: crate::ReadsAre::Requests,
            histograms: Default::default(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn measured(factor: f64) -> Measured {
        let figures: Figures = demand().figures.times(factor);
        Measured {
            seconds: 10.0,
            figures,
            selects_per_s: 80.0 * factor,
            updates_per_s: 100.0 * factor,
            scans_per_s: 0.0,
        }
    }

    #[test]
    fn what_is_met_needs_no_reason_and_what_is_not_has_one() {
        let costs = Costs::default();
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&demand(), &costs, &limits);
        let fit = compare(&demand(), &planned, Some(&measured(1.02)), &costs);
        assert!(fit.is_met() && fit.badness() < NEAR && fit.lines.iter().all(|line| line.why.is_none()));
        // Redo asks for one changed block, writes for eight: the plan alone misses the writes.
        let planned_only = compare(&demand(), &planned, None, &costs);
        let writes = planned_only.lines.iter().find(|line| line.what == Aim::PhysicalWrites).unwrap();
        assert!(!writes.is_met() && writes.why.as_ref().unwrap().contains("redo decides"), "{writes:?}");
        let slow = compare(&demand(), &planned, Some(&measured(0.5)), &costs);
        assert!(slow.badness() > 1.0 && fit.replaces(&slow) && !slow.replaces(&fit));
        assert!(slow.lines[0].why.as_ref().unwrap().contains("of the rate"), "{slow:?}");
    }

    /// Three calibrations of a report on PostgreSQL: the first had no scans and wrote too little; the others wrote what those
    /// before them had changed.
    #[test]
    fn a_run_without_hits_is_not_preferred_to_one_whose_writes_are_those_of_the_run_before() {
        let fit = |percents: [f64; 5]| Fit {
            lines: Aim::ALL
                .into_iter()
                .zip(percents)
                .map(|(what, percent)| FitLine {
                    what,
                    unit: "",
                    demanded: 1.0,
                    planned: None,
                    measured: None,
                    percent: Some(percent),
                    must: what.must(),
                    why: None,
                    note: None,
                })
                .collect(),
        };
        let [first, second, third] = [
            [-1.3, -59.0, -0.8, -34.4, -99.7],
            [-3.8, -22.0, -0.6, 209.1, 23.3],
            [3.2, -19.4, 2.8, 177.9, -13.4],
        ]
        .map(fit);
        assert!(second.replaces(&first) && third.replaces(&second));
        // Figures that must be met come first.
        let met = fit([1.0, 4.0, -2.0, 0.0, -70.0]);
        assert!(!third.replaces(&met) && met.replaces(&third));
        assert!(!fit([-8.3, 0.0, 0.0, 0.0, 0.0]).replaces(&met));
    }

    #[test]
    fn writes_that_came_after_the_interval_are_not_compared() {
        let mut late = demand();
        late.figures.set(Figure::WriteBlocks, 0.0);
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&late, &Costs::default(), &limits);
        let fit = compare(&late, &planned, Some(&measured(1.0)), &Costs::default());
        let writes = fit.lines.iter().find(|line| line.what == Aim::PhysicalWrites).unwrap();
        assert_eq!(
            (writes.demanded, writes.measured, writes.percent, writes.must),
            (0.0, Some(800.0), None, false)
        );
        assert!(writes.why.as_ref().unwrap().contains("checkpoints wrote them later"), "{writes:?}");
        late.figures.set(Figure::Commits, 0.0);
        let fit = compare(&late, &planned, Some(&measured(1.0)), &Costs::default());
        assert!(fit.lines.iter().all(|line| line.what != Aim::PhysicalWrites), "{fit:?}");
    }

    #[test]
    fn a_different_unit_is_noted() {
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&demand(), &Costs::default(), &limits);
        let figures = Figures::from([(Figure::ReadBlocks, 5000.0), (Figure::WriteBlocks, 800.0)]);
        let fit =
            compare(&demand(), &planned, Some(&Measured { figures, ..measured(1.0) }), &Costs::default());
        let line = |what: Aim| fit.lines.iter().find(|line| line.what == what).unwrap();
        assert!(line(Aim::PhysicalReads).is_met() && line(Aim::PhysicalReads).unit == "1/s");
        assert!(line(Aim::PhysicalReads).note.unwrap().contains("does not count requests"), "{fit:?}");
        assert_eq!((line(Aim::PhysicalWrites).unit, line(Aim::PhysicalWrites).note), ("blocks/s", None));
    }

    #[test]
    fn few_commits_are_off_by_chance() {
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&demand(), &Costs::default(), &limits);
        let measured = Measured { seconds: 1.0, ..measured(1.08) };
        let fit = compare(&demand(), &planned, Some(&measured), &Costs::default());
        let redo = fit.lines.iter().find(|line| line.what == Aim::Redo).unwrap();
        assert!(redo.why.as_ref().unwrap().contains("the run had 108 commits only"), "{redo:?}");
        let long = Measured { seconds: 100.0, ..measured };
        let fit = compare(&demand(), &planned, Some(&long), &Costs::default());
        let redo = fit.lines.iter().find(|line| line.what == Aim::Redo).unwrap();
        assert!(!redo.why.as_ref().unwrap().contains("chance"), "{redo:?}");
    }

    /// 575 bytes per commit: an UPDATE of one block makes 419 bytes, of two blocks 838. The plan itself misses.
    #[test]
    fn redo_between_two_block_counts_names_the_coarse_steps() {
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let mut demand = demand();
        demand.figures.set(Figure::RedoBytes, 57_500.0);
        let mut costs = Costs::default();
        let run = |redo: f64| {
            let mut measured = measured(1.0);
            measured.seconds = 1000.0;
            measured.figures.set(Figure::RedoBytes, redo);
            measured
        };
        let first = solve(&demand, &costs, &limits);
        assert_eq!(first.parameters.update_work_unit, 1);
        costs.learn(&first.parameters, &run(41_900.0), demand.reads_are, 0);
        let planned = solve(&demand, &costs, &limits);
        let why = |measured: &Measured| {
            let fit = compare(&demand, &planned, Some(measured), &costs);
            fit.lines.into_iter().find(|line| line.what == Aim::Redo).unwrap().why.unwrap()
        };
        assert!(
            why(&run(41_900.0)).contains("575 bytes for each commit are demanded"),
            "{}",
            why(&run(41_900.0))
        );
    }

    #[test]
    fn hits_beyond_whole_percentages_name_the_percentages() {
        let limits = Limits { schemas: 1, scan_blocks: 128, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&demand(), &Costs::default(), &limits);
        let why = |of_demand: f64| {
            let mut planned = planned.clone();
            planned.parameters.scan_pct = 94;
            planned.figures.set(Figure::LogicalReads, of_demand * 97_456.0);
            let (mut demand, mut measured) = (demand(), measured(1.0));
            demand.figures.set(Figure::LogicalReads, 97_456.0);
            measured.figures.set(Figure::LogicalReads, 121_617.0);
            let fit = compare(&demand, &planned, Some(&measured), &Costs::default());
            fit.lines.into_iter().find(|line| line.what == Aim::LogicalReads).unwrap().why.unwrap()
        };
        assert!(why(1.22).contains("SCAN_PCT are whole"), "{}", why(1.22));
        assert!(why(1.0).contains("index"), "{}", why(1.0));
    }

    #[test]
    fn reads_served_by_a_cache_name_the_cache() {
        let costs = Costs { reads_per_block: 0.001, ..Costs::default() };
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&demand(), &costs, &limits);
        let mut cached = measured(1.2);
        cached.figures.set(Figure::ReadRequests, 3.0);
        let fit = compare(&demand(), &planned, Some(&cached), &costs);
        assert!(fit.lines[0].why.as_ref().unwrap().contains("cache served 99.9 %"), "{fit:?}");
    }
}
