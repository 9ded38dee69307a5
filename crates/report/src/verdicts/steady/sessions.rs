//! Were the sessions alike, each of them all the time?

use slob_record::{Record, SessionRecord};
use slob_stats::nearest_rank;

use super::{Answer, Finding};
use crate::counters::ratio;
use crate::figure::{self, Figures};
use crate::format::{count, fixed, percent, plural};

/// A session that stood still for less than this, in seconds, or than this share of the window, moves no figure.
const STANDSTILL_S: f64 = 0.5;
const STANDSTILL_SHARE: f64 = 0.05;
/// Where operations are long, only what is so many times as long as their mean is a standstill.
const STANDSTILL_OPERATIONS: f64 = 20.0;
/// A session that did less than this share of what the median session did was held up.
const BEHIND: f64 = 0.5;
/// With fewer operations chance makes sessions differ.
const LEAST_OPERATIONS: u64 = 100;

pub(super) fn judge(figures: &Figures<'_>) -> Vec<Finding> {
    standstill(figures).into_iter().chain(behind(figures.record)).collect()
}

/// The session that stood still for longest, if that is worth a word.
fn standstill(figures: &Figures<'_>) -> Option<Finding> {
    let record = figures.record;
    let window_s = figure::WINDOW_S.of(figures)?;
    let stood_still = |session: &&SessionRecord| {
        let mean_s = ratio(session.busy_us as f64 / 1e6, session.operations() as f64).unwrap_or(0.0);
        session.longest_wait.is_some_and(|wait| {
            wait.seconds >= STANDSTILL_S.max(STANDSTILL_SHARE * window_s)
                && wait.seconds >= STANDSTILL_OPERATIONS * mean_s
        })
    };
    let still: Vec<&SessionRecord> = record.sessions.iter().filter(stood_still).collect();
    let waits = still.iter().filter_map(|session| Some((session.session, session.longest_wait?)));
    let (session, wait) = waits.max_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))?;
    let others = match still.len() as u64 - 1 {
        0 => String::new(),
        others => format!("; so did {}, for less", plural(others, "other session")),
    };
    let sentence = format!(
        "Not all the time: session {session} stood still for {} s, {} % of the window, from second {} on{others}.",
        fixed(wait.seconds, 1),
        percent(100.0 * wait.seconds / window_s),
        fixed(wait.at_s, 1)
    );
    Some(Finding::new(Answer::Doubt, sentence))
}

/// The session that did least, if others with the same work did much more.
fn behind(record: &Record) -> Option<Finding> {
    // With WORK_LOOP all do the same number; and who lost its database is named elsewhere.
    if record.workload.work_loop.is_some() || record.sessions.len() < 3 {
        return None;
    }
    let mut done: Vec<u64> = record.sessions.iter().map(SessionRecord::operations).collect();
    done.sort_unstable();
    let median = done[nearest_rank(50.0, done.len() as u64) as usize - 1];
    let least =
        record.sessions.iter().filter(|session| session.whole_window).min_by_key(|s| s.operations())?;
    let share = ratio(least.operations() as f64, median as f64).filter(|share| *share < BEHIND)?;
    (median >= LEAST_OPERATIONS).then(|| {
        let sentence = format!(
            "Not evenly: session {} did {} operations, {} % of what the median session did.",
            least.session,
            count(least.operations()),
            percent(100.0 * share)
        );
        Finding::new(Answer::Doubt, sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_record::LongestWait;

    fn sentences(record: &Record) -> Vec<String> {
        judge(&Figures::of(record)).into_iter().map(|finding| finding.sentence).collect()
    }

    #[test]
    fn a_session_that_stood_still_is_named_with_its_moment() {
        let mut record = fixture::direct_read_run();
        assert!(sentences(&record).is_empty());
        let wait = |seconds| Some(LongestWait { at_s: 17.25, seconds });
        record.sessions[2].longest_wait = wait(2.9);
        assert!(sentences(&record).is_empty(), "below 5 % of a minute");
        record.sessions[2].longest_wait = wait(12.0);
        let said =
            "Not all the time: session 2 stood still for 12.0 s, 20.0 % of the window, from second 17.2 on.";
        assert_eq!(sentences(&record), [said]);
        record.sessions[0].longest_wait = wait(3.1);
        assert!(sentences(&record)[0].ends_with("; so did 1 other session, for less."));
        // Of operations that take half a second each, one that takes four is none.
        for session in &mut record.sessions {
            session.busy_us = session.operations() * 700_000;
        }
        assert!(sentences(&record).is_empty());
    }

    #[test]
    fn a_session_that_did_much_less_is_named() {
        let mut record = fixture::direct_read_run();
        record.sessions[1].selects /= 3;
        record.sessions[1].updates /= 3;
        let said = sentences(&record);
        assert!(said.len() == 1 && said[0].starts_with("Not evenly: session 1 did "), "{said:?}");
        record.workload.work_loop = Some(4500);
        assert!(sentences(&record).is_empty());
    }
}
