//! Complete? Did everything run as planned, on sound data?

use slob_record::{Interval, Record, SessionRecord, Status, error_of_session};

use super::{BAD, DOUBT, GOOD, OBSERVATION, bad_if, findings, worst_first};
use crate::format::{Count, Hundredths, Seconds, capitalised, plural};
use crate::measured::{OfferedLoad, did_nothing, ratio, window_intervals};
use crate::thresholds::{LATE, LATE_SECONDS, RATE_MET, RATE_MISSED, ROWS_PER_BLOCK, SHORT_WINDOW, TOO_LATE};

findings! {
    CompleteFinding {
        Whole { sessions: u64, work_loop: bool, sound_rows: Option<Count> } = GOOD =>
            "{}; {}.", work_done(*sessions, *work_loop),
            sound_rows.map_or("no row was read back".into(), |rows| format!("{rows} sampled rows are sound"));
        RateMet { load: OfferedLoad } = OBSERVATION.by(&RATE_MET) =>
            "{}: {}.",
            match load.share() >= Some(RATE_MET.share()) {
                true => "The rate was met",
                false => "Chance and what was under way explain what the rate lacks",
            },
            load.words();
        OneRowPerBlock { schemas: u64 } = OBSERVATION.by(&ROWS_PER_BLOCK) =>
            "Each block holds one row ({} checked).", plural(*schemas, "schema");
        InterruptedInWindow { measured_s: Seconds } = DOUBT =>
            "the run was interrupted; what was measured in {measured_s} is valid.";
        InterruptedBeforeWindow = DOUBT => "the run was interrupted before its measured window; nothing was measured.";
        Aborted { measured_s: Seconds, reason: String } = DOUBT =>
            "the run was aborted: {reason}; what was measured in {measured_s} is valid.";
        Failed { error: String } = BAD => "the run failed: {error}.";
        SessionsLost { lost: Count, sessions: u64, error: Option<String> } = DOUBT =>
            "{lost} of {} did not work through the whole window.{}",
            plural(*sessions, "session"),
            error.as_ref().map(|error| format!(" {}.", capitalised(error))).unwrap_or_default();
        NoWindow = BAD => "the run has no measured window.";
        ShortWindow { seconds: Seconds, planned_s: Seconds } = DOUBT.by(&SHORT_WINDOW) =>
            "the window took {seconds} instead of {planned_s}.";
        LateEnd { seconds: Hundredths, planned_s: Seconds, sessions_at_work: Option<u64> } = DOUBT.by(&LATE) =>
            "{}", late_words(*seconds, *planned_s, *sessions_at_work);
        TooLateEnd { seconds: Hundredths, planned_s: Seconds, sessions_at_work: Option<u64> } = BAD.by(&TOO_LATE) =>
            "{}", late_words(*seconds, *planned_s, *sessions_at_work);
        RateNotMet { load: OfferedLoad } = bad_if(load.is_missed(), &RATE_MISSED, &RATE_MET) =>
            "the rate was not met: {}.", load.words();
        SamplesMissing { missing: Count, intervals: u64 } = DOUBT.by(&LATE) =>
            "{missing} of the window's {} had no sample: the sampler was held up.",
            plural(*intervals, "interval");
        RowsDamaged { sampled: Count, faults: Count, first: String } = BAD =>
            "of {sampled} sampled rows, {faults} {} not what was written: {first}.",
            if faults.0 == 1 { "is" } else { "are" };
        // A server that does not answer after a run says nothing about its rows.
        RowsUnread { reason: String } = DOUBT => "the rows could not be read back: {reason}.";
        WrongLayout { schemas: u64, first: u16, rows_per_block: Hundredths } = DOUBT.by(&ROWS_PER_BLOCK) =>
            "{} without one row per block; schema {first} has {rows_per_block} rows per block.",
            plural(*schemas, "schema");
    }
}

fn work_done(sessions: u64, work_loop: bool) -> String {
    let sessions = plural(sessions, "session");
    match work_loop {
        true => format!("all operations of {sessions} were done"),
        false => format!("{sessions} ran through the whole window"),
    }
}

fn late_words(seconds: Hundredths, planned: Seconds, sessions_at_work: Option<u64>) -> String {
    let why = match sessions_at_work {
        None => "the sampler was held up".into(),
        Some(0) => "operations that had begun in time took that long to end".into(),
        Some(sessions) => format!("{} were still at work by then", plural(sessions, "session")),
    };
    format!("the window took {seconds} s instead of {planned}: {why}. Rates use the actual length.")
}

pub(super) fn judge(record: &Record) -> Vec<CompleteFinding> {
    let found = [
        ending(record),
        sessions_lost(record),
        window(record),
        rate_not_met(record),
        samples_missing(record),
        rows_damaged(record),
        rows_unread(record),
        wrong_layout(record),
    ];
    let mut findings = worst_first(found.into_iter().flatten().collect(), CompleteFinding::judgement);
    if findings.is_empty() {
        findings.push(CompleteFinding::Whole {
            sessions: u64::from(record.workload.sessions()),
            work_loop: record.workload.work_loop.is_some(),
            sound_rows: record.verification.as_ref().map(|verification| Count(verification.rows)),
        });
    }
    let observed = [rate_met(record, &findings), one_row_per_block(record, &findings)];
    findings.extend(observed.into_iter().flatten());
    findings
}

fn rate_met(record: &Record, findings: &[CompleteFinding]) -> Option<CompleteFinding> {
    let is_missed = findings.iter().any(|finding| matches!(finding, CompleteFinding::RateNotMet { .. }));
    OfferedLoad::of(record).filter(|_| !is_missed).map(|load| CompleteFinding::RateMet { load })
}

fn one_row_per_block(record: &Record, findings: &[CompleteFinding]) -> Option<CompleteFinding> {
    let is_wrong = findings.iter().any(|finding| matches!(finding, CompleteFinding::WrongLayout { .. }));
    let schemas = record.load.as_ref()?.schemas.len() as u64;
    (schemas > 0 && !is_wrong).then_some(CompleteFinding::OneRowPerBlock { schemas })
}

fn ending(record: &Record) -> Option<CompleteFinding> {
    match &record.status {
        Status::Completed => None,
        Status::Interrupted => Some(match record.window {
            Some(window) => CompleteFinding::InterruptedInWindow { measured_s: Seconds(window.seconds) },
            None => CompleteFinding::InterruptedBeforeWindow,
        }),
        Status::Aborted { reason } => record.window.map(|window| CompleteFinding::Aborted {
            measured_s: Seconds(window.seconds),
            reason: reason.clone(),
        }),
        Status::Failed { error } => Some(CompleteFinding::Failed { error: without_stop(error) }),
    }
}

fn without_stop(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}

fn sessions_lost(record: &Record) -> Option<CompleteFinding> {
    // Sessions lost before the window miss no part of it.
    record.window?;
    let sessions = u64::from(record.workload.sessions());
    let is_whole = |session: &&SessionRecord| session.whole_window && !did_nothing(session);
    let whole = record.sessions.iter().filter(is_whole).count() as u64;
    let lost = sessions.checked_sub(whole).filter(|lost| *lost > 0).map(Count)?;
    let failed = record.sessions.iter().find_map(|session| Some((session.session, session.error.as_ref()?)));
    let first = failed.or_else(|| record.losses.first().map(|loss| (loss.session, &loss.error)));
    let error = first.map(|(session, error)| error_of_session(session, &without_stop(error)));
    Some(CompleteFinding::SessionsLost { lost, sessions, error })
}

fn window(record: &Record) -> Option<CompleteFinding> {
    if record.status != Status::Completed {
        return None;
    }
    let Some(window) = record.window else { return Some(CompleteFinding::NoWindow) };
    let (seconds, planned_s) = (window.seconds, record.workload.run_time_s?);
    // With UNTIL_STEADY the planned time is the longest.
    let is_steady = record.until_steady.as_ref().is_some_and(|until| until.reached);
    if seconds < planned_s * (1.0 - SHORT_WINDOW.share()) && !is_steady {
        let (seconds, planned_s) = (Seconds(seconds), Seconds(planned_s));
        return Some(CompleteFinding::ShortWindow { seconds, planned_s });
    }
    let is_late = seconds > planned_s * (1.0 + LATE.share()) && seconds > planned_s + LATE_SECONDS.value;
    let sessions_at_work = record.edges.map(|edges| u64::from(edges.end.sessions_at_work));
    let (is_too_late, planned_s) = (seconds > planned_s * TOO_LATE.share(), Seconds(planned_s));
    let seconds = Hundredths(seconds);
    is_late.then_some(match is_too_late {
        true => CompleteFinding::TooLateEnd { seconds, planned_s, sessions_at_work },
        false => CompleteFinding::LateEnd { seconds, planned_s, sessions_at_work },
    })
}

fn rate_not_met(record: &Record) -> Option<CompleteFinding> {
    let load = OfferedLoad::of(record)?;
    load.share().filter(|share| load.is_below(RATE_MET.share()) && *share < 1.0)?;
    Some(CompleteFinding::RateNotMet { load })
}

/// A late sample leaves the intervals before it without one.
fn samples_missing(record: &Record) -> Option<CompleteFinding> {
    let intervals = window_intervals(record);
    let is_missing =
        |(_, interval): &&(u64, Option<&Interval>)| interval.is_none_or(|own| own.sampled_s.is_none());
    let missing = intervals.iter().filter(is_missing).count();
    let share = ratio(missing as f64, intervals.len() as f64)?;
    let missing_s = missing as f64 * record.series.width_s() as f64;
    (share > LATE.share() && missing_s > LATE_SECONDS.value).then_some(CompleteFinding::SamplesMissing {
        missing: Count(missing as u64),
        intervals: intervals.len() as u64,
    })
}

fn rows_damaged(record: &Record) -> Option<CompleteFinding> {
    let verification = record.verification.as_ref()?;
    let first = without_stop(verification.faults.first()?);
    let faults = Count(verification.faults.len() as u64);
    Some(CompleteFinding::RowsDamaged { sampled: Count(verification.rows), faults, first })
}

fn rows_unread(record: &Record) -> Option<CompleteFinding> {
    let reason = without_stop(record.verification.as_ref()?.unread.as_ref()?);
    Some(CompleteFinding::RowsUnread { reason })
}

fn wrong_layout(record: &Record) -> Option<CompleteFinding> {
    let schemas = record.load.as_ref()?.schemas.iter();
    let wrong: Vec<(u16, f64)> = schemas
        .filter_map(|schema| Some((schema.schema, ratio(schema.rows as f64, schema.row_blocks as f64)?)))
        .filter(|(_, per_block)| (per_block - 1.0).abs() > ROWS_PER_BLOCK.share())
        .collect();
    let (first, rows_per_block) = wrong.first().map(|(first, rows)| (*first, Hundredths(*rows)))?;
    Some(CompleteFinding::WrongLayout { schemas: wrong.len() as u64, first, rows_per_block })
}
