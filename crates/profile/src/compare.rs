//! How well a run is like the demand it was planned for, and why where it is not.

use serde::Serialize;

use crate::costs::{CACHED, Costs, Measured};
use crate::demand::Demand;
use crate::figure::Figure;
use crate::plan::Planned;

/// So near a figure must come to the demand.
pub const TOLERANCE_PERCENT: f64 = 5.0;
/// A rate below this share of what was to start was not kept.
const KEPT: f64 = 0.98;

/// A figure of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitLine {
    /// What.
    pub what: &'static str,
    /// In which unit.
    pub unit: &'static str,
    /// What is demanded.
    pub demanded: f64,
    /// What the parameters should come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<f64>,
    /// What they came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// By how much what was measured, or else what is planned, differs from the demand, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Whether it must be met; logical reads are only approached.
    pub must: bool,
    /// Why it is not met, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl FitLine {
    /// Whether it lies within [`TOLERANCE_PERCENT`]; no if it is not known.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.percent.is_some_and(|percent| percent.abs() <= TOLERANCE_PERCENT)
    }
}

/// All figures of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Those that the demand knows.
    pub lines: Vec<FitLine>,
}

impl Fit {
    /// Whether everything that must be met is.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.lines.iter().filter(|line| line.must).all(FitLine::is_met)
    }

    /// How far it is from that: what is beyond the tolerance, added up.
    #[must_use]
    pub fn badness(&self) -> f64 {
        let beyond = |line: &FitLine| match line.percent {
            Some(percent) => (percent.abs() - TOLERANCE_PERCENT).max(0.0),
            None => 100.0,
        };
        self.lines.iter().filter(|line| line.must).map(beyond).sum()
    }
}

/// Holds a plan, and what was measured of it if anything was, against the demand.
#[must_use]
pub fn compare(demand: &Demand, planned: &Planned, measured: Option<&Measured>, costs: &Costs) -> Fit {
    let requests = "physical reads";
    let of = |figure: Figure| measured.and_then(|measured| measured.figures.get(figure));
    let reads = measured.and_then(|measured| measured.reads(demand.reads_are));
    let written = measured.and_then(|measured| measured.figures.writes());
    let rows = [
        (requests, "1/s", demand.reads(), planned.figures.reads(), reads, true),
        (
            "redo",
            "bytes/s",
            demand.figures.get(Figure::RedoBytes),
            planned.figures.get(Figure::RedoBytes),
            of(Figure::RedoBytes),
            true,
        ),
        (
            "commits",
            "1/s",
            demand.figures.get(Figure::Commits),
            planned.figures.get(Figure::Commits),
            of(Figure::Commits),
            true,
        ),
        ("physical writes", "1/s", demand.figures.writes(), planned.figures.writes(), written, true),
        (
            "logical reads",
            "blocks/s",
            demand.figures.get(Figure::LogicalReads),
            planned.figures.get(Figure::LogicalReads),
            of(Figure::LogicalReads),
            false,
        ),
    ];
    let lines = rows.into_iter().filter_map(|(what, unit, demanded, plan, measured_value, must)| {
        let demanded = demanded.filter(|demanded| *demanded > 0.0)?;
        let is = if measured.is_some() { measured_value } else { plan };
        let percent = is.map(|is| 100.0 * (is / demanded - 1.0));
        let line = FitLine {
            what,
            unit,
            demanded,
            planned: plan,
            measured: measured_value,
            percent,
            must,
            why: None,
        };
        let why = if line.is_met() { None } else { why(&line, demand, planned, measured, costs) };
        Some(FitLine { why, ..line })
    });
    Fit { lines: lines.collect() }
}

fn why(
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
        "physical reads" => Some(why_reads(percent, demand, planned, costs)),
        "redo" if costs.runs == 0 => Some(format!(
            "an UPDATE of {} is thought to write {:.0} bytes of redo, and blocks are whole: --target measures it",
            blocks(parameters.update_work_unit),
            costs.redo_of_update(parameters.heavy, parameters.update_work_unit)
        )),
        "redo" => Some(why_redo(percent, demand, planned, costs)),
        "physical writes" => Some(why_writes(percent, measured, planned)),
        "logical reads" if percent < 0.0 && !costs.scans_hit() => Some(
            "the target's cache does not keep the table for short scans, which the hits would be made with"
                .into(),
        ),
        "logical reads" if percent < 0.0 => {
            let why = match planned.can_scan {
                false => "there are no short scans to make the hits with (SCAN_TABLE_SZ)",
                true => "with as many short scans as would make the hits the others fit less well",
            };
            Some(why.to_owned()).filter(|_| parameters.scan_pct == 0)
        }
        "logical reads" => Some(format!(
            "a visited block costs {:.1} logical reads here, those of its index included",
            costs.logical_per_block
        )),
        _ => None,
    }
}

/// What comes with commits is off by as much as they are, and few of them are off by chance: operations are drawn from decks of a
/// hundred, which a short run does not finish.
fn too_few(line: &FitLine, demand: &Demand, measured: &Measured) -> Option<String> {
    if !["redo", "commits", "physical writes"].contains(&line.what) {
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

fn why_reads(percent: f64, demand: &Demand, planned: &Planned, costs: &Costs) -> String {
    if costs.reads_per_block < CACHED {
        return format!(
            "the target's cache served {:.1} % of the blocks: load more than it holds (SCALE)",
            100.0 * (1.0 - costs.reads_per_block)
        );
    }
    let commits = demand.figures.get(Figure::Commits).unwrap_or(0.0);
    let own = commits * f64::from(planned.parameters.update_work_unit) * costs.reads_per_block;
    if percent > 0.0 && demand.reads().is_some_and(|reads| own > 0.95 * reads) {
        return format!("the UPDATEs alone read {own:.0} blocks/s before they change them");
    }
    "what the cache served changed from run to run: let it warm up longer (WARMUP), or load more (SCALE)"
        .into()
}

fn why_redo(percent: f64, demand: &Demand, planned: &Planned, costs: &Costs) -> String {
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
        _ => format!(
            "an UPDATE of {} wrote {own:.0} bytes of redo, another share than in the run before: checkpoints decide how \
             much of a block is logged, or steps of whole blocks are too coarse",
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
    match percent < 0.0 && share < 80.0 {
        true => format!(
            "{share:.0} % of the changed blocks were written within the run: the rest is left to later checkpoints"
        ),
        false => format!(
            "redo decides how many blocks are changed: {changed:.0}/s were, and each was written {:.1} times",
            written / changed
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demand::ReadsAre;
    use crate::figure::Figures;
    use crate::plan::{Limits, solve};

    fn demand() -> Demand {
        Demand {
            point: "peak".into(),
            grow: 1.0,
            figures: [
                (Figure::ReadRequests, 5000.0),
                (Figure::Commits, 100.0),
                (Figure::RedoBytes, 120_000.0),
                (Figure::WriteBlocks, 800.0),
            ]
            .into(),
            reads_are: ReadsAre::Requests,
            histograms: Default::default(),
            notes: Vec::new(),
        }
    }

    fn measured(factor: f64) -> Measured {
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
        assert!(fit.is_met() && fit.badness() == 0.0 && fit.lines.iter().all(|line| line.why.is_none()));
        // By redo one block is changed, by writes eight: the plan alone says that writes are not met.
        let planned_only = compare(&demand(), &planned, None, &costs);
        let writes = planned_only.lines.iter().find(|line| line.what == "physical writes").unwrap();
        assert!(!writes.is_met() && writes.why.as_ref().unwrap().contains("redo decides"), "{writes:?}");
        let slow = compare(&demand(), &planned, Some(&measured(0.5)), &costs);
        assert!(slow.badness() > 100.0);
        assert!(slow.lines[0].why.as_ref().unwrap().contains("of the rate"), "{slow:?}");
    }

    #[test]
    fn few_commits_are_off_by_chance() {
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&demand(), &Costs::default(), &limits);
        let measured = Measured { seconds: 1.0, ..measured(1.08) };
        let fit = compare(&demand(), &planned, Some(&measured), &Costs::default());
        let redo = fit.lines.iter().find(|line| line.what == "redo").unwrap();
        assert!(redo.why.as_ref().unwrap().contains("the run had 108 commits only"), "{redo:?}");
        let long = Measured { seconds: 100.0, ..measured };
        let fit = compare(&demand(), &planned, Some(&long), &Costs::default());
        let redo = fit.lines.iter().find(|line| line.what == "redo").unwrap();
        assert!(!redo.why.as_ref().unwrap().contains("chance"), "{redo:?}");
    }

    #[test]
    fn reads_of_a_cache_are_named() {
        let costs = Costs::with_reads(0.001);
        let limits = Limits { schemas: 1, scan_blocks: 0, scale_blocks: 10_000, most_sessions: 64 };
        let planned = solve(&demand(), &costs, &limits);
        let mut cached = measured(1.2);
        cached.figures.set(Figure::ReadRequests, 3.0);
        let fit = compare(&demand(), &planned, Some(&cached), &costs);
        assert!(fit.lines[0].why.as_ref().unwrap().contains("cache served 99.9 %"), "{fit:?}");
    }
}
