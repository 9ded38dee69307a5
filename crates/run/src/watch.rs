//! Watching a live server through its own counters.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Zoned;
use jiff::civil::DateTime;
use slob_demand::{Figure, Figures, Histograms, LeftOut, Profile, Sample, Source, Subject};
use slob_engine::{Counter, Engine, EngineError, Facts, ServerTotals, WorkingSet};
use slob_observe::{NEVER, Observer};
use slob_spec::Target;

/// The stop flag is read at this interval.
const NAP: Duration = Duration::from_millis(200);
/// So many failures in a row end the watch.
const MOST_FAILURES: u32 = 60;

#[derive(Clone, Debug, thiserror::Error)]
pub enum WatchError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(
        "this database does not count what others do to it: profile a run of it instead (`slob profile RUN`)"
    )]
    NotCounted,
}

#[derive(Debug)]
pub enum WatchEvent<'a> {
    LeftOut(&'a LeftOut),
    /// The next interval begins with the next answer.
    NoAnswer(&'a WatchError),
    /// Includes the interval that ended.
    Interval(&'a Profile),
    /// Time since the begin.
    Waiting(Duration),
}

/// Each answer adds an interval to its profile.
pub struct Watch<'a> {
    engine: &'a dyn Engine,
    pub profile: Profile,
    last: Option<ServerWork>,
}

struct ServerWork {
    work: ServerTotals,
    at: Instant,
    clock: DateTime,
}

impl<'a> Watch<'a> {
    /// Fails if the server does not answer, or does not count the work of others.
    pub fn begin(engine: &'a dyn Engine, target: &Target) -> Result<Self, WatchError> {
        let first = ask(engine)?;
        let subject = Subject {
            name: target.to_string(),
            version: first.work.version.clone(),
            block_bytes: first.work.block_bytes,
            cpus: cpus(engine),
            facts: engine.facts().unwrap_or_else(|error| Facts {
                working_set: Some(WorkingSet::unknown(error.to_string())),
                ..Facts::default()
            }),
            ..Subject::default()
        };
        let mut profile = Profile::new(Source::Live, subject);
        let left_out = |why: &String| LeftOut { source: "live".into(), begin: None, why: why.clone() };
        profile.left_out = first.work.not_counted.iter().map(left_out).collect();
        Ok(Self { engine, profile, last: Some(first) })
    }

    /// True if the time ended, false if `stop` was set. Fails after a long silence, and with errors of `on_event`.
    pub fn watch<E: From<WatchError>>(
        &mut self,
        every: Duration,
        length: Duration,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(WatchEvent<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let begin = Instant::now();
        let mut failures = 0;
        for nth in 1.. {
            let due = begin + every * nth;
            while Instant::now() < due {
                if stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                on_event(WatchEvent::Waiting(begin.elapsed()))?;
                thread::sleep(NAP.min(due.saturating_duration_since(Instant::now())));
            }
            match ask(self.engine) {
                Ok(now) => {
                    failures = 0;
                    self.add(now, on_event)?;
                }
                Err(error) if failures < MOST_FAILURES => {
                    failures += 1;
                    self.last = None;
                    on_event(WatchEvent::NoAnswer(&error))?;
                }
                Err(error) => return Err(error.into()),
            }
            if due + every > begin + length {
                break;
            }
        }
        Ok(true)
    }

    fn add<E>(
        &mut self,
        now: ServerWork,
        on_event: &mut dyn FnMut(WatchEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(last) = self.last.take() {
            let sample = sample(&self.profile.subject, &last, &now);
            for left in self.profile.append(sample) {
                on_event(WatchEvent::LeftOut(left))?;
            }
            on_event(WatchEvent::Interval(&self.profile))?;
        }
        self.last = Some(now);
        Ok(())
    }
}

/// `None` if the server is elsewhere.
fn cpus(engine: &dyn Engine) -> Option<u32> {
    let server = engine.locations().into_iter().next()?;
    let mut observer = Observer::local();
    observer.find(server.clues, &NEVER).ok()?;
    observer.hello().ok()?.host.cpus_online
}

fn ask(engine: &dyn Engine) -> Result<ServerWork, WatchError> {
    let work = engine.server_totals()?.ok_or(WatchError::NotCounted)?;
    Ok(ServerWork { work, at: Instant::now(), clock: Zoned::now().datetime() })
}

fn sample(subject: &Subject, last: &ServerWork, now: &ServerWork) -> Sample {
    let seconds = now.at.duration_since(last.at).as_secs_f64();
    let (before, after) = (&last.work, &now.work);
    let restarted = before.uptime_s.zip(after.uptime_s).is_some_and(|(before, after)| after < before);
    let went_back = after
        .counters
        .iter()
        .find(|(counter, value)| before.counters.get(*counter).is_some_and(|before| before > *value));
    let fault = match went_back {
        _ if restarted => Some("the server was restarted within it".to_owned()),
        Some((counter, _)) => Some(format!("the counter {} was reset within it", counter.name())),
        None => None,
    };
    Sample {
        subject: subject.clone(),
        source: "live".into(),
        instance: None,
        begin: Some(last.clock),
        end: Some(now.clock),
        seconds: Some(seconds),
        figures: figures(before, after, seconds),
        histograms: Histograms::default(),
        bad: Vec::new(),
        faults: fault.into_iter().collect(),
    }
}

fn figures(before: &ServerTotals, after: &ServerTotals, seconds: f64) -> Figures {
    let delta = after.counters.since(&before.counters);
    let per_s = |counter: Counter, scale: f64| delta.get(counter).map(|n| n as f64 * scale / seconds);
    let rates = [
        (Figure::LogicalReads, Counter::LogicalReads, 1.0),
        (Figure::ReadRequests, Counter::PhysicalReadRequests, 1.0),
        (Figure::ReadBlocks, Counter::PhysicalReads, 1.0),
        (Figure::ReadBytes, Counter::PhysicalReadBytes, 1.0),
        (Figure::WriteRequests, Counter::PhysicalWriteRequests, 1.0),
        (Figure::WriteBlocks, Counter::PhysicalWrites, 1.0),
        (Figure::RedoBytes, Counter::RedoBytes, 1.0),
        (Figure::Commits, Counter::Commits, 1.0),
        (Figure::Rollbacks, Counter::Rollbacks, 1.0),
        (Figure::Executions, Counter::Executions, 1.0),
        (Figure::TempWriteBytes, Counter::TempBytes, 1.0),
        (Figure::DbTime, Counter::DbTimeNs, 1e-9),
    ];
    let mut figures: Figures = rates
        .into_iter()
        .filter_map(|(figure, counter, scale)| Some((figure, per_s(counter, scale)?)))
        .collect();
    let mean_us = |time: Counter, of: &[Counter]| {
        let number = of.iter().find_map(|counter| delta.get(*counter))?;
        (number > 0).then(|| Some(delta.get(time)? as f64 / 1e3 / number as f64)).flatten()
    };
    let reads = [Counter::PhysicalReadRequests, Counter::PhysicalReads];
    figures.set_known(Figure::ReadUs, mean_us(Counter::PhysicalReadTimeNs, &reads));
    figures.set_known(Figure::CommitUs, mean_us(Counter::RedoSyncTimeNs, &[Counter::RedoSyncs]));
    figures
}

#[cfg(test)]
mod tests {
    use slob_demand::collect;
    use slob_engine::Counters;

    use super::*;

    fn work(commits: u64, uptime_s: u64, second: i64, at: Instant) -> ServerWork {
        let counters = Counters::from([(Counter::Commits, commits), (Counter::PhysicalReads, 10 * commits)]);
        let clock: DateTime = "2026-11-20T10:00".parse().unwrap();
        let work = ServerTotals {
            counters,
            uptime_s: Some(uptime_s),
            version: None,
            block_bytes: Some(8192),
            not_counted: Vec::new(),
        };
        let past = Duration::from_secs(second.unsigned_abs());
        ServerWork {
            work,
            at: at + past,
            clock: clock.saturating_add(jiff::SignedDuration::from_secs(second)),
        }
    }

    fn of(last: &ServerWork, now: &ServerWork) -> Profile {
        collect(vec![sample(&Subject::default(), last, now)], Source::Live).remove(0)
    }

    #[test]
    fn rates_are_per_second_of_the_interval() {
        let at = Instant::now();
        let profile = of(&work(100, 50, 0, at), &work(700, 110, 60, at));
        assert_eq!(
            profile.intervals[0].figures,
            [(Figure::Commits, 10.0), (Figure::ReadBlocks, 100.0)].into()
        );
    }

    #[test]
    fn restarts_resets_and_clock_jumps_are_named() {
        let at = Instant::now();
        let restarted = of(&work(100, 50, 0, at), &work(700, 10, 60, at));
        assert_eq!(restarted.left_out[0].why, "the server was restarted within it");
        let reset = of(&work(100, 50, 0, at), &work(7, 110, 60, at));
        assert!(reset.left_out[0].why.contains("commits was reset"), "{reset:?}");
        let mut late = work(700, 110, 60, at);
        late.clock = late.clock.saturating_add(jiff::SignedDuration::from_secs(3600));
        assert!(of(&work(100, 50, 0, at), &late).left_out[0].why.contains("a clock jumped"));
    }
}
