//! What the verdicts would say now, of what is at hand while a run goes on.
//!
//! The lines are drawn where the verdicts draw them ([`limits`]). Three questions only: nobody can tell before the end
//! whether all counters agree and whether the run is complete.

use slob_report::format::{fixed, percent, seconds};
use slob_report::{Answer, Question, limits};
use slob_stats::summary;

use super::second::Second;
use super::state::RunState;

/// Sessions report in batches of about 200 ms: a second of a few sessions varies by that alone. A stretch of five
/// hardly does.
const STRETCH_S: f64 = 5.0;
/// Fewer stretches than this tell nothing.
const LEAST_STRETCHES: usize = 4;

/// An answer that may still change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) question: Question,
    pub(super) answer: Answer,
    pub(super) sentence: String,
}

impl Hint {
    fn new(question: Question, answer: Answer, sentence: impl Into<String>) -> Self {
        Self { question, answer, sentence: sentence.into() }
    }

    fn unknown(question: Question, sentence: &str) -> Self {
        Self::new(question, Answer::Unknown, sentence)
    }
}

/// The answers of the seconds that lie within the window.
pub(super) fn hints(state: &RunState) -> [Hint; 3] {
    if state.measured().next().is_none() {
        return [Question::Physical, Question::CpuBound, Question::Steady]
            .map(|question| Hint::unknown(question, "The window has not begun."));
    }
    [physical(state), cpu_bound(state), steady(state)]
}

/// The sum of a figure over the window; `None` unless each second has it.
fn sum(state: &RunState, figure: impl Fn(&Second) -> Option<f64>) -> Option<f64> {
    state.measured().map(figure).sum()
}

fn physical(state: &RunState) -> Hint {
    let hint = |answer, sentence: String| Hint::new(Question::Physical, answer, sentence);
    let count = |figure: fn(&Second) -> Option<u64>| sum(state, |second| Some(figure(second)? as f64));
    let Some((asked, block)) = count(|second| second.physical_reads).zip(state.block_bytes) else {
        return Hint::unknown(
            Question::Physical,
            "Not known: the database does not count its physical reads.",
        );
    };
    if asked == 0.0 {
        return hint(Answer::Unknown, "No block was asked for physically yet.".into());
    }
    let Some(read) = count(|second| second.device_read_bytes) else {
        return Hint::unknown(Question::Physical, "Not known: no counters of a device behind the data.");
    };
    let share = read / (asked * f64::from(block));
    let delivered = percent(100.0 * share);
    match share {
        _ if share < limits::MOSTLY_CACHED => {
            hint(Answer::Bad, format!("No: the device delivered {delivered} % of the physical reads."))
        }
        _ if share < limits::DELIVERED => {
            hint(Answer::Doubt, format!("Not all: the device delivered {delivered} % of the physical reads."))
        }
        _ if share > limits::EXCESS => hint(
            Answer::Doubt,
            format!("Not certain: the device read {delivered} % of what was asked for; others read too."),
        ),
        _ => hint(Answer::Good, format!("Yes: the device delivered {delivered} % of the physical reads.")),
    }
}

fn cpu_bound(state: &RunState) -> Hint {
    let hint = |answer, sentence: String| Hint::new(Question::CpuBound, answer, sentence);
    let used = sum(state, |second| second.host_busy_s);
    let all = sum(state, |second| second.host_cpu_s).filter(|all| *all > 0.0);
    let Some((used, all)) = used.zip(all) else {
        return Hint::unknown(Question::CpuBound, "Not known: the host's CPU time is not sampled.");
    };
    let cpu = 100.0 * used / all;
    let time_s: f64 = state.measured().map(|second| second.seconds).sum();
    let busy_ms = sum(state, |second| Some(second.device_busy_ms? as f64));
    let device = busy_ms.map(|busy_ms| (busy_ms / 10.0 / time_s).min(100.0));
    let cpus = format!("this host's CPUs {} % busy", percent(cpu));
    match device {
        None if cpu >= limits::CPU_FULL_PERCENT => hint(Answer::Bad, format!("Yes: {cpus}.")),
        None if sum(state, |second| second.db_cpu_s).is_none() => {
            hint(Answer::Unknown, format!("Not known: {cpus}; the database may run on another one."))
        }
        None => hint(Answer::Good, format!("No: {cpus}.")),
        Some(device) => {
            let both = format!("{cpus}, device {} % busy", percent(device));
            match (cpu >= limits::CPU_FULL_PERCENT, device >= limits::DEVICE_FULL_PERCENT) {
                (false, _) => hint(Answer::Good, format!("No: {both}.")),
                (true, true) => hint(Answer::Doubt, format!("Possibly: {both}.")),
                (true, false) => hint(Answer::Bad, format!("Yes: {both}.")),
            }
        }
    }
}

fn steady(state: &RunState) -> Hint {
    let hint = |answer, sentence: String| Hint::new(Question::Steady, answer, sentence);
    let rates = stretches(state.measured());
    if rates.len() < LEAST_STRETCHES {
        let needed = seconds(STRETCH_S * LEAST_STRETCHES as f64);
        return hint(Answer::Unknown, format!("Too early to tell: it takes {needed} of the window."));
    }
    let Some((variation, median)) = summary::coefficient_of_variation(&rates).zip(summary::median(&rates))
    else {
        return hint(Answer::Unknown, "No operation ended yet.".into());
    };
    let stalls = rates.iter().filter(|rate| **rate < limits::STALL_SHARE * median).count();
    let text = format!(
        "{} operations/s, varying by {} % between stretches of {}",
        fixed(median, 0),
        percent(100.0 * variation),
        seconds(STRETCH_S)
    );
    match variation {
        _ if variation >= limits::WILD_VARIATION => hint(Answer::Bad, format!("No: {text}.")),
        _ if variation > limits::STEADY_VARIATION => hint(Answer::Doubt, format!("No: {text}.")),
        _ if stalls > 0 => {
            hint(Answer::Doubt, format!("No: {stalls} of {} stretches stalled; {text}.", rates.len()))
        }
        _ => hint(Answer::Good, format!("Yes, so far: {text}.")),
    }
}

/// Operations per second of stretches of [`STRETCH_S`]; the last one is left out until it is whole.
fn stretches<'a>(measured: impl Iterator<Item = &'a Second>) -> Vec<f64> {
    let (mut rates, mut operations, mut time_s) = (Vec::new(), 0, 0.0);
    for second in measured {
        operations += second.operations;
        time_s += second.seconds;
        // Samples are not exactly a second apart.
        if time_s > STRETCH_S - 0.5 {
            rates.push(operations as f64 / time_s);
            (operations, time_s) = (0, 0.0);
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::state::fixture;

    fn answers(state: &RunState) -> [Answer; 3] {
        hints(state).map(|hint| hint.answer)
    }

    #[test]
    fn nothing_is_said_before_the_window() {
        let state = fixture::state(0, |_, second| second);
        assert_eq!(answers(&state), [Answer::Unknown; 3]);
    }

    #[test]
    fn a_run_of_physical_reads_on_a_quiet_host() {
        let state = fixture::state(30, |_, second| second);
        assert_eq!(answers(&state), [Answer::Good; 3], "{:#?}", hints(&state));
        assert_eq!(answers(&fixture::state(10, |_, second| second))[2], Answer::Unknown);
    }

    #[test]
    fn reads_that_never_reached_the_device() {
        let cached = fixture::state(30, |_, second| Second { device_read_bytes: Some(8192), ..second });
        assert_eq!(answers(&cached)[0], Answer::Bad);
        let unknown = fixture::state(30, |_, second| Second { device_read_bytes: None, ..second });
        assert_eq!(answers(&unknown)[0], Answer::Unknown);
    }

    #[test]
    fn full_cpus_count_unless_the_device_is_full_too() {
        let full = |second: Second| Second { host_busy_s: second.host_cpu_s, ..second };
        assert_eq!(answers(&fixture::state(9, |_, second| full(second)))[1], Answer::Bad);
        let both = fixture::state(9, |_, second| Second { device_busy_ms: Some(990), ..full(second) });
        assert_eq!(answers(&both)[1], Answer::Doubt);
    }

    #[test]
    fn a_load_that_comes_and_goes() {
        let wild = fixture::state(60, |second, figures| Second {
            operations: if second / 10 % 2 == 0 { 900 } else { 100 },
            ..figures
        });
        assert_eq!(answers(&wild)[2], Answer::Bad);
        let stalled = fixture::state(200, |second, figures| Second {
            operations: if (50..55).contains(&second) { 100 } else { 450 },
            ..figures
        });
        assert_eq!(answers(&stalled)[2], Answer::Doubt, "{:#?}", hints(&stalled));
    }
}
