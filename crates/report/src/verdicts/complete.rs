//! Complete? Did everything run as planned, on sound data?

use serde::Serialize;
use slob_record::{Interval, Record, Status, error_of_session};

use super::thresholds::{LATE, LATE_SECONDS, RATE_MET, RATE_MISSED, ROWS_PER_BLOCK, SHORT_WINDOW, TOO_LATE};
use super::{Judgement, worst_first};
use crate::format::{capitalised, count, fixed, plural, seconds};
use crate::measured::{OfferedLoad, ratio, window_intervals};

/// A finding about 'Complete?'.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", content = "numbers", rename_all = "snake_case")]
pub enum CompleteFinding {
    /// All sessions did their work.
    Whole { sessions: u64, work_loop: bool, sound_rows: Option<u64> },
    /// The requested rate was reached.
    RateMet(Load),
    /// Each block of these schemas holds one row.
    OneRowPerBlock { schemas: u64 },
    /// The user ended the run within its window, or before it.
    Interrupted { measured_s: Option<f64> },
    /// An error ended the run.
    Failed { error: String },
    /// Sessions did not work through the window.
    SessionsLost { lost: u64, sessions: u64, error: Option<String> },
    /// A completed run has no window.
    NoWindow,
    /// The window is shorter than planned.
    ShortWindow { seconds: f64, planned_s: f64 },
    /// The window is longer than planned.
    LateEnd { seconds: f64, planned_s: f64, sessions_at_work: Option<u64> },
    /// The requested rate was not reached.
    RateNotMet(Load),
    /// Intervals lack a sample.
    SamplesMissing { missing: u64, intervals: u64 },
    /// Rows that were read back are damaged.
    RowsDamaged { sampled: u64, faults: u64, first: String },
    /// Rows could not be read back.
    RowsUnread { reason: String },
    /// Schemas do not have one row per block.
    WrongLayout { schemas: u64, first: u16, rows_per_block: f64 },
}

/// The operations that were due and done, with a requested rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Load(OfferedLoad);

impl CompleteFinding {
    pub(super) fn judgement(&self) -> Judgement {
        match self {
            Self::Whole { sessions, work_loop, sound_rows } => {
                let sessions = plural(*sessions, "session");
                let ran = match work_loop {
                    true => format!("all operations of {sessions} were done"),
                    false => format!("{sessions} ran through the whole window"),
                };
                Judgement::good(match sound_rows {
                    Some(rows) => format!("Yes: {ran}; {} sampled rows are sound.", count(*rows)),
                    None => format!("Yes: {ran}; no row was read back."),
                })
            }
            Self::RateMet(Load(load)) => {
                Judgement::observation(format!("The rate was met: {}.", load.words())).by(&RATE_MET)
            }
            Self::OneRowPerBlock { schemas } => Judgement::observation(format!(
                "Each block holds one row ({} checked).",
                plural(*schemas, "schema")
            ))
            .by(&ROWS_PER_BLOCK),
            Self::Interrupted { measured_s: Some(measured_s) } => Judgement::doubt(format!(
                "Not quite: the run was interrupted; what was measured in {} is valid.",
                seconds(*measured_s)
            )),
            Self::Interrupted { measured_s: None } => Judgement::doubt(
                "No: the run was interrupted before its measured window; nothing was measured.",
            ),
            Self::Failed { error } => Judgement::bad(format!("No: the run failed: {error}.")),
            Self::SessionsLost { lost, sessions, error } => Judgement::doubt(format!(
                "Not quite: {} of {} did not work through the whole window.{}",
                count(*lost),
                plural(*sessions, "session"),
                error.as_ref().map(|error| format!(" {}.", capitalised(error))).unwrap_or_default()
            )),
            Self::NoWindow => Judgement::bad("No: the run has no measured window."),
            Self::ShortWindow { seconds: is_s, planned_s } => Judgement::doubt(format!(
                "Not quite: the window took {} instead of {}.",
                seconds(*is_s),
                seconds(*planned_s)
            ))
            .by(&SHORT_WINDOW),
            Self::LateEnd { seconds: is_s, planned_s, sessions_at_work } => {
                let is_too_late = *is_s > planned_s * TOO_LATE.share();
                let why = match sessions_at_work {
                    None => "the sampler was held up".into(),
                    Some(0) => "operations that had begun in time took that long to end".into(),
                    Some(sessions) => format!("{} were still at work by then", plural(*sessions, "session")),
                };
                Judgement::bad_if(
                    is_too_late,
                    format!(
                        "{}: the window took {} s instead of {}: {why}. Rates use the actual length.",
                        if is_too_late { "No" } else { "Not quite" },
                        fixed(*is_s, 2),
                        seconds(*planned_s),
                    ),
                )
                .by(if is_too_late { &TOO_LATE } else { &LATE })
            }
            Self::RateNotMet(Load(load)) => {
                let is_missed = load.share() < Some(RATE_MISSED.share());
                Judgement::bad_if(is_missed, format!("No: the rate was not met: {}.", load.words()))
                    .by(if is_missed { &RATE_MISSED } else { &RATE_MET })
            }
            Self::SamplesMissing { missing, intervals } => Judgement::doubt(format!(
                "Not quite: {} of the window's {} had no sample: the sampler was held up.",
                count(*missing),
                plural(*intervals, "interval")
            ))
            .by(&LATE),
            Self::RowsDamaged { sampled, faults, first } => {
                let faults = match faults {
                    1 => "1 is".into(),
                    faults => format!("{} are", count(*faults)),
                };
                Judgement::bad(format!(
                    "No: of {} sampled rows, {faults} not what was written: {first}.",
                    count(*sampled)
                ))
            }
            // A server that does not answer after a run says nothing about its rows.
            Self::RowsUnread { reason } => {
                Judgement::doubt(format!("Not known: the rows could not be read back: {reason}."))
            }
            Self::WrongLayout { schemas, first, rows_per_block } => Judgement::doubt(format!(
                "Not quite: {} without one row per block; schema {first} has {} rows per block.",
                plural(*schemas, "schema"),
                fixed(*rows_per_block, 2)
            ))
            .by(&ROWS_PER_BLOCK),
        }
    }
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
    let mut findings = worst_first(found.into_iter().flatten().collect());
    if findings.is_empty() {
        findings.push(CompleteFinding::Whole {
            sessions: u64::from(record.workload.sessions()),
            work_loop: record.workload.work_loop.is_some(),
            sound_rows: record.verification.as_ref().map(|verification| verification.rows),
        });
    }
    findings.extend(OfferedLoad::of(record).map(|load| CompleteFinding::RateMet(Load(load))));
    let schemas = record.load.as_ref().map_or(0, |load| load.schemas.len() as u64);
    findings.extend((schemas > 0).then_some(CompleteFinding::OneRowPerBlock { schemas }));
    findings
}

fn ending(record: &Record) -> Option<CompleteFinding> {
    match &record.status {
        Status::Completed => None,
        Status::Interrupted => {
            Some(CompleteFinding::Interrupted { measured_s: record.window.map(|window| window.seconds) })
        }
        Status::Failed { error } => Some(CompleteFinding::Failed { error: without_stop(error) }),
    }
}

fn without_stop(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}

fn sessions_lost(record: &Record) -> Option<CompleteFinding> {
    // Before the window sessions can't miss a part of it.
    record.window?;
    let sessions = u64::from(record.workload.sessions());
    let whole = record.sessions.iter().filter(|session| session.whole_window).count() as u64;
    let lost = sessions.checked_sub(whole).filter(|lost| *lost > 0)?;
    let failed = record.sessions.iter().find_map(|session| Some((session.session, session.error.as_ref()?)));
    let first = failed.or_else(|| record.losses.first().map(|loss| (loss.session, &loss.error)));
    let error = first.map(|(session, error)| error_of_session(session, &without_stop(error)));
    Some(CompleteFinding::SessionsLost { lost, sessions, error })
}

/// A completed run must have a window of the planned length.
fn window(record: &Record) -> Option<CompleteFinding> {
    if record.status != Status::Completed {
        return None;
    }
    let Some(window) = record.window else { return Some(CompleteFinding::NoWindow) };
    let (seconds, planned_s) = (window.seconds, record.workload.run_time_s?);
    // With UNTIL_STEADY the planned time is the longest.
    let is_steady = record.until_steady.as_ref().is_some_and(|until| until.reached);
    if seconds < planned_s * (1.0 - SHORT_WINDOW.share()) && !is_steady {
        return Some(CompleteFinding::ShortWindow { seconds, planned_s });
    }
    let is_late = seconds > planned_s * (1.0 + LATE.share()) && seconds > planned_s + LATE_SECONDS.value;
    let sessions_at_work = record.edges.map(|edges| u64::from(edges.end.sessions_at_work));
    is_late.then_some(CompleteFinding::LateEnd { seconds, planned_s, sessions_at_work })
}

fn rate_not_met(record: &Record) -> Option<CompleteFinding> {
    let load = OfferedLoad::of(record)?;
    load.share().filter(|share| load.is_below(RATE_MET.share()) && *share < 1.0)?;
    Some(CompleteFinding::RateNotMet(Load(load)))
}

/// A late sample leaves the intervals before it without one.
fn samples_missing(record: &Record) -> Option<CompleteFinding> {
    let intervals = window_intervals(record);
    let is_sampled =
        |interval: Option<&Interval>| interval.is_some_and(|interval| interval.sampled_s.is_some());
    let missing = intervals.iter().filter(|(_, interval)| !is_sampled(*interval)).count();
    let share = ratio(missing as f64, intervals.len() as f64)?;
    let missing_s = missing as f64 * record.series.width_s() as f64;
    (share > LATE.share() && missing_s > LATE_SECONDS.value).then_some(CompleteFinding::SamplesMissing {
        missing: missing as u64,
        intervals: intervals.len() as u64,
    })
}

fn rows_damaged(record: &Record) -> Option<CompleteFinding> {
    let verification = record.verification.as_ref()?;
    let first = without_stop(verification.faults.first()?);
    let faults = verification.faults.len() as u64;
    Some(CompleteFinding::RowsDamaged { sampled: verification.rows, faults, first })
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
    let &(first, rows_per_block) = wrong.first()?;
    Some(CompleteFinding::WrongLayout { schemas: wrong.len() as u64, first, rows_per_block })
}
