//! Complete? Did everything run as planned, on sound data?

use slob_record::{Interval, Record, Status, error_of_session};

use super::{Answer, Finding, Question, Verdict};
use crate::counters::ratio;
use crate::due::Due;
use crate::format::{capitalised, count, fixed, plural, seconds};
use crate::window::window_intervals;

/// A window that is shorter than planned by more than this share was cut.
const WINDOW_TOLERANCE: f64 = 0.01;
/// A window that is longer than planned by more than this share and more than [`LATE_S`] was not ended in time. The
/// same share of its intervals may be without a sample.
const LATE_TOLERANCE: f64 = 0.05;
/// A window that took longer than planned by this factor is not what was asked for.
const TOO_LATE: f64 = 1.5;
/// A snapshot that takes this long in a short window is nothing to speak of, in seconds.
const LATE_S: f64 = 0.5;
/// Below this share of what was due a rate was missed, and not just not quite met.
const RATE_MISSED: f64 = 0.95;
/// Rows and the blocks that hold them differ by at most this share if one row lies in each block.
const LAYOUT_TOLERANCE: f64 = 0.01;

pub(super) fn judge(record: &Record) -> Verdict {
    let found = [
        ending(record),
        sessions(record),
        window(record),
        unmet_rate(record),
        gaps(record),
        verification(record),
        unread(record),
        layout(record),
    ];
    Verdict::worst_of(found.into_iter().flatten().collect(), complete(record))
}

fn complete(record: &Record) -> Verdict {
    let sessions = plural(u64::from(record.workload.sessions()), "session");
    let ran = match record.workload.work_loop {
        Some(_) => format!("all operations of {sessions} were done"),
        None => format!("{sessions} ran through the whole window"),
    };
    let verified = match &record.verification {
        Some(verification) => format!("{} sampled rows are sound", count(verification.rows)),
        None => "no row was read back".into(),
    };
    let verdict = Verdict::new(Question::Complete, Answer::Good, format!("Yes: {ran}; {verified}."));
    let verdict = match Due::of(record) {
        Some(due) => verdict.with_detail(format!("The rate was met: {}.", due.words())),
        None => verdict,
    };
    match record.load.as_ref().map(|load| load.schemas.len() as u64) {
        Some(schemas) if schemas > 0 => {
            verdict.with_detail(format!("Each block holds one row ({} checked).", plural(schemas, "schema")))
        }
        _ => verdict,
    }
}

fn ending(record: &Record) -> Option<Finding> {
    match &record.status {
        Status::Completed => None,
        Status::Interrupted => Some(Finding::new(
            Answer::Doubt,
            match record.window {
                Some(window) => format!(
                    "Not quite: the run was interrupted; what was measured in {} is valid.",
                    seconds(window.seconds)
                ),
                None => {
                    "No: the run was interrupted before its measured window; nothing was measured.".into()
                }
            },
        )),
        Status::Failed { error } => {
            let error = error.trim_end_matches('.');
            Some(Finding::new(Answer::Bad, format!("No: the run failed: {error}.")))
        }
    }
}

fn sessions(record: &Record) -> Option<Finding> {
    // Before the window there is nothing that sessions could have missed.
    record.window?;
    let planned = u64::from(record.workload.sessions());
    let whole = record.sessions.iter().filter(|session| session.whole_window).count() as u64;
    if whole >= planned {
        return None;
    }
    let first = record.sessions.iter().find_map(|session| Some((session.session, session.error.as_ref()?)));
    let lost = record.losses.first().map(|loss| (loss.session, &loss.error));
    let why = first
        .or(lost)
        .map(|(session, error)| error_of_session(session, error.trim_end_matches('.')))
        .map(|error| format!(" {}.", capitalised(&error)));
    Some(Finding::new(
        Answer::Doubt,
        format!(
            "Not quite: {} of {} did not work through the whole window.{}",
            count(planned - whole),
            plural(planned, "session"),
            why.unwrap_or_default()
        ),
    ))
}

/// Interrupted and failed runs are named as such; for others the window must have its planned length.
fn window(record: &Record) -> Option<Finding> {
    if record.status != Status::Completed {
        return None;
    }
    let Some(window) = record.window else {
        return Some(Finding::new(Answer::Bad, "No: the run has no measured window."));
    };
    let planned_s = record.workload.run_time_s?;
    let doubt = |sentence: String| Some(Finding::new(Answer::Doubt, sentence));
    let (is_s, planned) = (window.seconds, seconds(planned_s));
    // RUN_TIME is then the longest that it may take.
    let is_steady = record.until_steady.as_ref().is_some_and(|until| until.reached);
    if is_s < planned_s * (1.0 - WINDOW_TOLERANCE) && !is_steady {
        return doubt(format!("Not quite: the window took {} instead of {planned}.", seconds(is_s)));
    }
    if is_s > planned_s * (1.0 + LATE_TOLERANCE) && is_s > planned_s + LATE_S {
        let answer = if is_s > planned_s * TOO_LATE { Answer::Bad } else { Answer::Doubt };
        let (says, is) = (if answer == Answer::Bad { "No" } else { "Not quite" }, fixed(is_s, 2));
        return Some(Finding::new(
            answer,
            format!(
                "{says}: the window took {is} s instead of {planned}: {}. Rates use the actual length.",
                why_late(record)
            ),
        ));
    }
    None
}

/// What an end that came late waited for.
fn why_late(record: &Record) -> String {
    match record.edges.map(|edges| u64::from(edges.end.sessions_at_work)) {
        None => "the sampler was held up".into(),
        Some(0) => "operations that had begun in time took that long to end".into(),
        Some(sessions) => format!("{} were still at work by then", plural(sessions, "session")),
    }
}

/// In an open loop, what was due in the window must have been done in it.
fn unmet_rate(record: &Record) -> Option<Finding> {
    let due = Due::of(record)?;
    let share = due.share().filter(|share| due.is_unmet() && *share < 1.0)?;
    let answer = if share < RATE_MISSED { Answer::Bad } else { Answer::Doubt };
    Some(Finding::new(answer, format!("No: the rate was not met: {}.", due.words())))
}

/// A sample that comes late leaves the intervals before it without any.
fn gaps(record: &Record) -> Option<Finding> {
    let intervals = window_intervals(record);
    let sampled = |interval: Option<&Interval>| interval.is_some_and(|interval| interval.sampled_s.is_some());
    let missing = intervals.iter().filter(|(_, interval)| !sampled(*interval)).count();
    let share = ratio(missing as f64, intervals.len() as f64)?;
    let missing_s = missing as f64 * record.series.width_s() as f64;
    (share > LATE_TOLERANCE && missing_s > LATE_S).then(|| {
        let all = plural(intervals.len() as u64, "interval");
        let sentence = format!(
            "Not quite: {} of the window's {all} had no sample: the sampler was held up.",
            count(missing as u64)
        );
        Finding::new(Answer::Doubt, sentence)
    })
}

fn verification(record: &Record) -> Option<Finding> {
    let verification = record.verification.as_ref()?;
    let first = verification.faults.first()?;
    Some(Finding::new(
        Answer::Bad,
        format!(
            "No: of {} sampled rows, {} not what was written: {}.",
            count(verification.rows),
            match verification.faults.len() {
                1 => "1 is".into(),
                faults => format!("{} are", count(faults as u64)),
            },
            first.trim_end_matches('.')
        ),
    ))
}

/// That a server does not answer after a run says nothing about its rows.
fn unread(record: &Record) -> Option<Finding> {
    let why = record.verification.as_ref()?.unread.as_ref()?;
    let sentence = format!("Not known: the rows could not be read back: {}.", why.trim_end_matches('.'));
    Some(Finding::new(Answer::Doubt, sentence))
}

fn layout(record: &Record) -> Option<Finding> {
    let schemas = record.load.as_ref()?.schemas.iter();
    let rows_per_block = schemas.filter_map(|schema| {
        let per_block = ratio(schema.rows as f64, schema.row_blocks as f64)?;
        ((per_block - 1.0).abs() > LAYOUT_TOLERANCE).then_some((schema.schema, per_block))
    });
    let off: Vec<_> = rows_per_block.collect();
    let (schema, per_block) = off.first()?;
    Some(Finding::new(
        Answer::Doubt,
        format!(
            "Not quite: {} without one row per block; schema {schema} has {} rows per block.",
            plural(off.len() as u64, "schema"),
            fixed(*per_block, 2)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_record::{EdgeRecord, Edges, Verification};

    #[test]
    fn a_whole_run_is_complete() {
        let verdict = judge(&fixture::direct_read_run());
        assert_eq!(verdict.answer, Answer::Good, "{verdict:?}");
        assert_eq!(
            verdict.sentence,
            "Yes: 4 sessions ran through the whole window; 100 sampled rows are sound."
        );
    }

    #[test]
    fn nothing_read_back_is_said() {
        let mut record = fixture::direct_read_run();
        record.verification = None;
        record.workload.work_loop = Some(5000);
        record.workload.run_time_s = None;
        let verdict = judge(&record);
        assert_eq!(verdict.answer, Answer::Good);
        assert_eq!(verdict.sentence, "Yes: all operations of 4 sessions were done; no row was read back.");
    }

    #[test]
    fn a_run_that_ended_because_it_was_steady_is_not_a_short_one() {
        let mut record = fixture::direct_read_run();
        record.workload.run_time_s = Some(600.0);
        assert_eq!(judge(&record).answer, Answer::Doubt);
        let until = slob_record::UntilSteady {
            reached: true,
            tolerance_percent: 3.0,
            window_s: 10,
            since_s: Some(40),
            operations_per_s: vec![300.0; 3],
        };
        record.until_steady = Some(until.clone());
        assert_eq!(judge(&record).answer, Answer::Good);
        record.until_steady = Some(slob_record::UntilSteady { reached: false, ..until });
        assert_eq!(judge(&record).answer, Answer::Doubt);
    }

    #[test]
    fn a_lost_session_is_named() {
        let mut record = fixture::direct_read_run();
        record.sessions[2].whole_window = false;
        record.sessions[2].error = Some("the disk went away.".into());
        let lost = judge(&record);
        assert_eq!(lost.answer, Answer::Doubt);
        assert!(lost.sentence.ends_with("Session 2: the disk went away."), "{lost:?}");
        record.sessions.pop();
        assert!(judge(&record).sentence.contains("2 of 4 sessions"));
    }

    #[test]
    fn failures_and_faults_are_bad() {
        let failed = judge(&fixture::failed_run());
        assert_eq!(failed.answer, Answer::Bad);
        assert!(failed.sentence.starts_with("No: the run failed: "), "{failed:?}");
        let mut record = fixture::direct_read_run();
        let faults = vec!["schema 1, row 7: c2 is wrong".to_owned()];
        record.verification = Some(Verification { rows: 100, updated: 0, faults, unread: None });
        let faulty = judge(&record);
        assert_eq!(faulty.answer, Answer::Bad);
        assert_eq!(
            faulty.sentence,
            "No: of 100 sampled rows, 1 is not what was written: schema 1, row 7: c2 is wrong."
        );
    }

    #[test]
    fn rows_that_can_not_be_read_back_are_not_called_wrong() {
        let mut record = fixture::direct_read_run();
        let unread = Some("no answer within 30 s".to_owned());
        record.verification = Some(Verification { rows: 0, updated: 0, faults: Vec::new(), unread });
        let verdict = judge(&record);
        assert_eq!(verdict.answer, Answer::Doubt);
        assert_eq!(verdict.sentence, "Not known: the rows could not be read back: no answer within 30 s.");
    }

    #[test]
    fn an_interruption_keeps_what_was_measured() {
        let mut record = fixture::direct_read_run();
        record.status = Status::Interrupted;
        let after = judge(&record);
        assert_eq!(after.answer, Answer::Doubt);
        assert!(after.sentence.contains("in 60 s is valid"), "{after:?}");
        record.window = None;
        assert!(judge(&record).sentence.contains("before its measured window"));
        record.status = Status::Completed;
        assert_eq!(judge(&record).answer, Answer::Bad);
    }

    #[test]
    fn a_window_that_was_not_ended_in_time_is_seen() {
        let mut record = fixture::direct_read_run();
        record.workload.run_time_s = Some(6.0);
        record.window.as_mut().unwrap().seconds = 14.96;
        let late = judge(&record);
        assert_eq!(late.answer, Answer::Bad);
        assert!(late.sentence.contains("took 14.96 s instead of 6 s: the sampler was held up"), "{late:?}");
        let at_work = |sessions_at_work| {
            let end = EdgeRecord { sessions_at_work, operations_under_way: 9 };
            Some(Edges { begin: EdgeRecord::default(), end })
        };
        record.window.as_mut().unwrap().seconds = 8.0;
        for (sessions, why) in
            [(0, "operations that had begun in time"), (2, "2 sessions were still at work")]
        {
            record.edges = at_work(sessions);
            let late = judge(&record);
            assert_eq!(late.answer, Answer::Doubt);
            assert!(late.sentence.contains(why), "{late:?}");
        }
        record.edges = None;
        // Either by little, or by a small share, is nothing to speak of.
        for (planned_s, seconds) in [(6.0, 6.45), (100.0, 104.0)] {
            record.workload.run_time_s = Some(planned_s);
            record.window.as_mut().unwrap().seconds = seconds;
            assert!(!judge(&record).sentence.contains("held up"));
        }
    }

    #[test]
    fn seconds_without_a_sample_are_seen() {
        let with_gap = |seconds: std::ops::Range<u64>| {
            let mut record = fixture::direct_read_run();
            fixture::with_gap(&mut record, seconds);
            judge(&record)
        };
        // 2 and 5 of 59 intervals.
        assert_eq!(with_gap(20..22).answer, Answer::Good);
        let gap = with_gap(20..25);
        assert_eq!(gap.answer, Answer::Doubt);
        assert!(gap.sentence.contains("5 of the window's 59 intervals had no sample"), "{gap:?}");
        assert_eq!(with_gap(0..10).answer, Answer::Good, "before the window");
    }

    #[test]
    fn a_rate_that_was_not_met_is_said() {
        let mut record = fixture::direct_read_run();
        // 18,000 operations in 60 s.
        record.workload.rate_per_s = Some(300);
        record.workload.arrivals = Some("steady".into());
        let met = judge(&record);
        assert_eq!(met.answer, Answer::Good, "{met:?}");
        assert!(met.details[0].contains("300/s of 300/s"), "{met:?}");
        record.workload.rate_per_s = Some(306);
        assert_eq!(judge(&record).answer, Answer::Doubt);
        record.workload.rate_per_s = Some(1200);
        let missed = judge(&record);
        assert_eq!(missed.answer, Answer::Bad);
        assert!(missed.sentence.contains("18,000 of 72,000 operations that were due, 25.0 %"), "{missed:?}");
        assert!(crate::compact_summary(&record).contains("300/s of 1,200/s"));
    }

    /// Of Poisson arrivals the number itself is drawn by chance.
    #[test]
    fn few_random_arrivals_are_no_unmet_rate() {
        let mut record = fixture::direct_read_run();
        record.window.as_mut().unwrap().seconds = 60.0;
        record.workload.rate_per_s = Some(305);
        record.workload.arrivals = Some("poisson".into());
        assert_eq!(judge(&record).answer, Answer::Good, "{:?}", judge(&record));
    }

    #[test]
    fn a_short_window_and_a_wrong_layout_are_seen() {
        let mut record = fixture::direct_read_run();
        record.workload.run_time_s = Some(61.0);
        assert!(judge(&record).sentence.contains("took 60 s instead of 61 s"));
        let mut record = fixture::direct_read_run();
        record.load.as_mut().unwrap().schemas[1].row_blocks /= 2;
        let packed = judge(&record);
        assert_eq!(packed.answer, Answer::Doubt);
        assert!(packed.sentence.contains("schema 2 has 2.00 rows per block"), "{packed:?}");
    }
}
