//! Steady? Was the load even over the window, and alone on host and device?

use slob_stats::{RobustTrend, STEADY_VARIATION, Steadiness, TREND_PERCENT, WILD_VARIATION};

use super::{Answer, Finding, NO_WINDOW, Question, Verdict};
use crate::counters::{own_read_bytes, ratio};
use crate::figure::{self, Figures};
use crate::format::{count, fixed, or_absent, percent, plural, signed_percent};
use crate::window::{Rate, operation_rates};

/// Fewer intervals tell nothing: it is also the least number for the test of a trend.
const LEAST_INTERVALS: usize = RobustTrend::MIN_POINTS_FOR_TEST;
/// With fewer operations in an interval, counting whole operations alone makes it vary by several percent.
const LEAST_OPERATIONS: f64 = 20.0;
/// Change over the window from which on its mean describes neither its beginning nor its end.
const STEEP_TREND_PERCENT: f64 = 20.0;
/// A change that noise must not hide.
const HIDDEN_TREND_PERCENT: f64 = 15.0;
/// Share of stalls from which on they are the rule and not an accident.
const MANY_STALLS: f64 = 0.05;
/// Others' CPU use, in percent of the host, that can move a result.
const FOREIGN_CPU_PERCENT: f64 = 5.0;
/// Others' reads, in percent of all that the device read, that can move a result.
const FOREIGN_READ_PERCENT: f64 = 5.0;
/// Below this rate others' reads do no harm, however little this run reads.
const FOREIGN_READ_MB_PER_S: f64 = 1.0;

pub(super) fn judge(figures: &Figures<'_>) -> Verdict {
    let record = figures.record;
    if !figures.is_measured() {
        return Verdict::unknown(Question::Steady, NO_WINDOW);
    }
    let rates = operation_rates(record);
    let width_s = record.series.width_s() as f64;
    let steadiness = steadiness(&rates);
    let good = even(&rates, &steadiness, width_s);
    let mut uneven = match (&steadiness, good.answer) {
        (Some(steadiness), Answer::Good) => uneven(&rates, steadiness, width_s),
        _ => Vec::new(),
    };
    let others =
        sessions::judge(figures).into_iter().chain(foreign_cpu(figures)).chain(foreign_reads(figures));
    let mut verdict = if uneven.is_empty() {
        good.qualified_by(others.collect())
    } else {
        uneven.extend(others);
        Verdict::worst_of(uneven, good)
    };
    verdict.details.extend(neighbours::came_and_went(record));
    verdict.details.extend(others_unknown(figures));
    verdict
}

/// What is said if nothing is found, or why nothing can be found.
fn even(rates: &[Rate], steadiness: &Option<Steadiness>, width_s: f64) -> Verdict {
    let unknown = |why: String| Verdict::unknown(Question::Steady, why);
    let Some(steadiness) = steadiness.as_ref().filter(|_| rates.len() >= LEAST_INTERVALS) else {
        let intervals = plural(rates.len() as u64, "interval");
        return unknown(format!(
            "Too short to tell: the window holds {intervals} of {width_s} s, {LEAST_INTERVALS} are needed."
        ));
    };
    let median = steadiness.median;
    if median * width_s < LEAST_OPERATIONS {
        return unknown(format!(
            "Too slow to tell: {} operations in {width_s} s, {LEAST_OPERATIONS} are needed.",
            fixed(median * width_s, 1)
        ));
    }
    Verdict::new(
        Question::Steady,
        Answer::Good,
        format!(
            "Yes: {} operations/s, varying by {} % from interval to interval, {}, no stalls.",
            count(median.round() as u64),
            or_absent(steadiness.variation, |share| percent(100.0 * share)),
            trend_words(steadiness)
        ),
    )
}

/// A trend that may be chance is not printed as one.
fn trend_words(steadiness: &Steadiness) -> String {
    let within = steadiness.trend.and_then(|trend| trend.within_percent);
    match steadiness.drift(0.0) {
        Some(change) => format!("trend {} % over the window", signed_percent(change)),
        None => format!("no trend found, within +-{} %", or_absent(within, percent)),
    }
}

fn uneven(rates: &[Rate], steadiness: &Steadiness, width_s: f64) -> Vec<Finding> {
    let stalls = stalls(rates, steadiness, width_s);
    let drift = drift(steadiness).or_else(|| hidden_drift(steadiness));
    [drift, stalls, variation(steadiness)].into_iter().flatten().collect()
}

/// Noise that a change would not be seen in.
fn hidden_drift(steadiness: &Steadiness) -> Option<Finding> {
    let within = steadiness.trend?.within_percent.filter(|within| *within >= HIDDEN_TREND_PERCENT)?;
    let sentence = format!(
        "Not certain: the rate varies so much that a change of {} % over the window would go unnoticed.",
        percent(within)
    );
    Some(Finding::new(Answer::Doubt, sentence))
}

fn drift(steadiness: &Steadiness) -> Option<Finding> {
    let change = steadiness.drift(TREND_PERCENT)?;
    let answer = if change.abs() >= STEEP_TREND_PERCENT { Answer::Bad } else { Answer::Doubt };
    let verb = if change < 0.0 { "fell" } else { "rose" };
    let first = if change < 0.0 { "something wore off" } else { "the warm-up was too short" };
    let change = percent(change.abs());
    let sentence = format!("No: operations/s {verb} by {change} % over the window; perhaps {first}.");
    Some(Finding::new(answer, sentence))
}

fn stalls(rates: &[Rate], steadiness: &Steadiness, width_s: f64) -> Option<Finding> {
    let stalled: Vec<&Rate> = steadiness.stalls.iter().filter_map(|place| rates.get(*place)).collect();
    let worst = stalled.iter().min_by(|a, b| a.operations_per_s.total_cmp(&b.operations_per_s))?;
    let many = ratio(stalled.len() as f64, rates.len() as f64)? > MANY_STALLS;
    let answer = if many { Answer::Bad } else { Answer::Doubt };
    Some(Finding::new(
        answer,
        format!(
            "No: {} of {} intervals of {width_s} s did less than half the median of {} operations/s; the worst, {} \
             operations/s, began at second {}.",
            stalled.len(),
            rates.len(),
            fixed(steadiness.median, 0),
            fixed(worst.operations_per_s, 0),
            worst.start_s
        ),
    ))
}

fn variation(steadiness: &Steadiness) -> Option<Finding> {
    let variation = steadiness.variation?;
    let answer = match variation {
        _ if variation >= WILD_VARIATION => Answer::Bad,
        _ if variation > STEADY_VARIATION => Answer::Doubt,
        _ => return None,
    };
    let share = percent(100.0 * variation);
    Some(Finding::new(answer, format!("No: operations/s vary by {share} % from interval to interval.")))
}

fn foreign_cpu(figures: &Figures<'_>) -> Option<Finding> {
    let foreign = figure::FOREIGN_CPU_PERCENT.of(figures).filter(|share| *share >= FOREIGN_CPU_PERCENT)?;
    let share = percent(foreign);
    let sentence = format!(
        "Not alone: other programs and the kernel's own threads used {share} % of the host's CPU time."
    );
    Some(Finding::new(Answer::Doubt, sentence))
}

fn foreign_reads(figures: &Figures<'_>) -> Option<Finding> {
    let foreign = figure::FOREIGN_READ_MB_PER_S.of(figures).filter(|mb| *mb >= FOREIGN_READ_MB_PER_S)?;
    let all = figure::DEVICE_READ_MB_PER_S.of(figures)?;
    let share = ratio(100.0 * foreign, all).filter(|share| *share >= FOREIGN_READ_PERCENT)?;
    let (foreign, share) = (fixed(foreign, 1), percent(share));
    let whose = match own_read_bytes(figures.record) {
        Some(_) => "were not this run's reads",
        None => "were not asked for by this run: other programs' reads, or read ahead",
    };
    let sentence = format!("Not alone: {foreign} MB/s, {share} % of what the device read, {whose}.");
    Some(Finding::new(Answer::Doubt, sentence))
}

fn others_unknown(figures: &Figures<'_>) -> Option<String> {
    let cpu = figure::FOREIGN_CPU_PERCENT.of(figures).is_none().then_some("CPU use");
    let reads = figure::FOREIGN_READ_MB_PER_S.of(figures).is_none().then_some("device reads");
    let unknown: Vec<&str> = cpu.into_iter().chain(reads).collect();
    (!unknown.is_empty()).then(|| format!("Other programs' {} could not be measured.", unknown.join(" and ")))
}

fn steadiness(rates: &[Rate]) -> Option<Steadiness> {
    let points: Vec<(f64, f64)> = rates.iter().map(|rate| (rate.start_s, rate.operations_per_s)).collect();
    Steadiness::of(&points)
}

mod neighbours;
mod sessions;
#[cfg(test)]
mod tests;
