//! Why a figure of a plan is not met.

use crate::aim::Aim;
use crate::compare::{FitLine, TOLERANCE_PERCENT};
use crate::costs::{CACHED, Costs, Measured};
use crate::demand::Demand;
use crate::figure::Figure;
use crate::plan::Planned;

/// A rate below this share of what was to start was not kept.
const KEPT: f64 = 0.98;

/// The reason in words, for a line that is not met.
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

/// What comes with commits is off by as much as they are, and few of them are off by chance: operations are drawn from decks of a
/// hundred, which a short run does not finish.
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
    if percent > 0.0 && demand.reads().is_some_and(|reads| own > 0.95 * reads) {
        return format!("the UPDATEs alone read {own:.0} blocks/s before they change them");
    }
    // Reads for each block that was visited, as measured and as planned for.
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
    use crate::compare::compare;
    use crate::compare::tests::{demand, measured};
    use crate::parameters::Limits;
    use crate::plan::solve;

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

    /// 575 bytes for each commit, of which one block makes 419 and two 838: the plan knew it would not fit.
    #[test]
    fn redo_that_lies_between_two_numbers_of_blocks_is_not_said_to_be_another_share_than_before() {
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
    fn hits_that_whole_percentages_can_not_make_are_not_said_to_be_reads_of_an_index() {
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
