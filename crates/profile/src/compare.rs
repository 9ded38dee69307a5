//! How well a run is like the demand it was planned for, and why where it is not.

use serde::Serialize;

use crate::aim::Aim;
use crate::costs::{Costs, Measured};
use crate::demand::Demand;
use crate::figure::Figure;
use crate::plan::Planned;
use crate::why::why;

/// So near a figure must come to the demand.
pub const TOLERANCE_PERCENT: f64 = 5.0;

/// A figure of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitLine {
    /// What.
    pub what: Aim,
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
    /// That the target counts something else than is demanded, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl FitLine {
    /// Whether it lies within [`TOLERANCE_PERCENT`]; no if it is not known.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.percent.is_some_and(|percent| percent.abs() <= TOLERANCE_PERCENT)
    }

    /// Whether the parameters themselves were to come to something else.
    pub(crate) fn planned_beyond(&self) -> bool {
        let off = |planned: f64| 100.0 * (planned / self.demanded - 1.0).abs();
        self.planned.is_some_and(|planned| off(planned) > TOLERANCE_PERCENT)
    }

    /// By how much it is off beyond the tolerance, as a logarithm: twice as much is as far off as half of it.
    fn beyond(&self) -> f64 {
        let ratio = self.percent.map_or(LEAST, |percent| (1.0 + percent / 100.0).max(LEAST));
        (ratio.ln().abs() - TOLERANCE_PERCENT / 100.0).max(0.0)
    }

    fn weight(&self) -> f64 {
        match self.what {
            _ if self.must => 1.0,
            // A test without production's hits lacks most of its CPU.
            Aim::LogicalReads => APPROACHED,
            _ => 0.0,
        }
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

    /// Whether it is nearer to the demand than an earlier one, or about as near: the later one rests on more.
    #[must_use]
    pub fn replaces(&self, earlier: &Self) -> bool {
        match (self.is_met(), earlier.is_met()) {
            (true, false) => true,
            (false, true) => false,
            _ => self.badness() <= earlier.badness() + NEAR,
        }
    }

    /// How far it is from the demand.
    pub(crate) fn badness(&self) -> f64 {
        self.lines.iter().map(|line| line.weight() * line.beyond()).sum()
    }
}

/// Why writes of an interval without a checkpoint are not compared.
const LATE: &str = "none was written in that interval, though its commits changed blocks: checkpoints wrote them later, and a \
                    profile of longer intervals would tell";
/// What is missing altogether, or not counted, is as far off as a hundredth.
const LEAST: f64 = 0.01;
/// What the nearness of a figure that is only approached counts for.
const APPROACHED: f64 = 0.25;
/// Of two fits that differ by less the later one is taken.
const NEAR: f64 = 0.02;
/// Less than this of something, per second, is none of it.
const NOTHING: f64 = 1e-6;

/// Holds a plan, and what was measured of it if anything was, against the demand.
#[must_use]
pub fn compare(demand: &Demand, planned: &Planned, measured: Option<&Measured>, costs: &Costs) -> Fit {
    let lines = Aim::ALL.into_iter().filter_map(|aim| line(aim, demand, planned, measured, costs));
    Fit { lines: lines.collect() }
}

/// What is to be said of a figure; nothing if it is not demanded.
fn line(
    aim: Aim,
    demand: &Demand,
    planned: &Planned,
    measured: Option<&Measured>,
    costs: &Costs,
) -> Option<FitLine> {
    let demanded = aim.of(&demand.figures)?;
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
        unit: aim.figure(demand).unit(),
        demanded,
        planned: plan,
        measured: is,
        percent: compared.filter(|_| !is_late).map(|is| 100.0 * (is / demanded - 1.0)),
        must: aim.must() && !is_late,
        why: is_late.then(|| LATE.to_owned()),
        note: measured.and_then(|measured| aim.counted_otherwise(demand, measured)),
    };
    match line.is_met() || is_late {
        true => Some(line),
        false => Some(FitLine { why: why(&line, demand, planned, measured, costs), ..line }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::demand::ReadsAre;
    use crate::figure::Figures;
    use crate::parameters::Limits;
    use crate::plan::solve;

    pub(crate) fn demand() -> Demand {
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
        // By redo one block is changed, by writes eight: the plan alone says that writes are not met.
        let planned_only = compare(&demand(), &planned, None, &costs);
        let writes = planned_only.lines.iter().find(|line| line.what == Aim::PhysicalWrites).unwrap();
        assert!(!writes.is_met() && writes.why.as_ref().unwrap().contains("redo decides"), "{writes:?}");
        let slow = compare(&demand(), &planned, Some(&measured(0.5)), &costs);
        assert!(slow.badness() > 1.0 && fit.replaces(&slow) && !slow.replaces(&fit));
        assert!(slow.lines[0].why.as_ref().unwrap().contains("of the rate"), "{slow:?}");
    }

    /// What three calibrations for a report came to on PostgreSQL: the first had no scans, and wrote too little; the others wrote
    /// what those before them had changed.
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
        // Whatever must be met comes first.
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
    fn what_is_counted_in_another_unit_is_said() {
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
}
