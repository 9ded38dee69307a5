//! A live server, watched through its own counters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use jiff::Zoned;
use jiff::civil::DateTime;
use slob_engine::{Counter, Engine, Purpose, Workload};
use slob_profile::{Figure, Figures, PROFILE_VERSION, Profile, Sample, Source, Subject};
use slob_spec::{Kind, LoadSpec, Target, Value};

use super::saved;
use crate::failure::{Failure, INTERRUPTED, Outcome};
use crate::progress::duration;
use crate::{interrupt, output, registry, settings};

const TIME: Kind = Kind::Duration { min_s: 1, max_s: 366 * 86_400 };
/// The block size does not matter to a time.
const ANY_BLOCK: u32 = 8192;
/// How long it waits before it looks whether it was asked to end.
const NAP: Duration = Duration::from_millis(200);
/// Beyond so many intervals some wait for each other to be saved.
const AT_ONCE: usize = 1000;
/// A server that does not answer is asked again at the next interval, so often before it is given up.
const FAILURES: u32 = 60;

/// `slob profile --target ...`: asks a server every so often, and saves what it learned each time.
pub(super) fn profile(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let every = seconds(matches, "every")?;
    let length = seconds(matches, "for")?;
    if settings.entry("TARGET").is_none_or(|entry| !entry.origin().is_set()) {
        return Err(Failure::usage(
            "say what to profile: files or folders of reports, runs or profiles, or --target with a live server",
        ));
    }
    if length < every {
        return Err(Failure::usage("--for must not be less than --every"));
    }
    let spec = LoadSpec::from_settings(&settings)?.spec;
    let target = &spec.target;
    let path = matches.get_one::<PathBuf>("output").cloned().unwrap_or_else(|| super::FILE.into());
    let stop = interrupt::flag()?;
    let engine = registry::open(target, &spec.options, Purpose::Use)?;
    let mut watch = Watch::begin(engine.as_ref(), target, &path)?;
    let ended = watch.go_on(every, length, &stop);
    let saved = watch.save();
    let ended = ended?;
    saved?;
    if watch.profile.intervals.is_empty() {
        let why = "no interval was seen to its end: nothing is saved";
        return Err(if ended { Failure::failed(why) } else { Failure::interrupted(why) });
    }
    super::show_and_save(matches, std::slice::from_ref(&watch.profile), false)?;
    output::say(&format!("the profile is in {}", path.display()));
    Ok(if ended { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
}

/// A time as parameters take them.
fn seconds(matches: &ArgMatches, name: &str) -> Result<Duration, Failure> {
    let text = matches.get_one::<String>(name).map_or("", String::as_str);
    match TIME.parse(text, ANY_BLOCK) {
        Ok(Value::Duration(time)) => Ok(time),
        _ => Err(Failure::usage(format!("--{name} is {text}; it must be {}, or 1d", TIME.permitted()))),
    }
}

/// What is known of a server at a moment.
struct Seen {
    work: Workload,
    at: Instant,
    clock: DateTime,
}

/// The watch of one server.
struct Watch<'a> {
    engine: &'a dyn Engine,
    path: &'a Path,
    profile: Profile,
    /// Intervals that are not in the file yet.
    unsaved: usize,
    last: Option<Seen>,
}

impl<'a> Watch<'a> {
    /// Asks the server for the first time, and goes on with the profile that is there if it is of the same.
    fn begin(engine: &'a dyn Engine, target: &Target, path: &'a Path) -> Result<Self, Failure> {
        let first = look(engine)?;
        let subject = Subject {
            name: target.to_string(),
            version: first.work.version.clone(),
            block_bytes: first.work.block_bytes,
            ..Subject::default()
        };
        let profile = match fs::read(path) {
            Ok(text) => earlier(&text, &subject, path)?,
            Err(_) => Profile {
                profile_version: PROFILE_VERSION,
                source: Source::Live,
                subject,
                intervals: Vec::new(),
                left_out: Vec::new(),
            },
        };
        Ok(Self { engine, path, profile, unsaved: 0, last: Some(first) })
    }

    /// Until the time is over (true) or somebody ends it (false).
    fn go_on(&mut self, every: Duration, length: Duration, stop: &AtomicBool) -> Result<bool, Failure> {
        let begin = Instant::now();
        output::say(&format!(
            "asking {} every {} for {}; Ctrl-C ends it and keeps what there is; the same command resumes",
            self.profile.subject.name,
            duration(every.as_secs_f64()),
            duration(length.as_secs_f64())
        ));
        let mut failures = 0;
        for nth in 1.. {
            let due = begin + every * nth;
            while Instant::now() < due {
                if stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                thread::sleep(NAP.min(due.saturating_duration_since(Instant::now())));
            }
            failures = match look(self.engine) {
                Ok(seen) => {
                    self.add(seen)?;
                    0
                }
                Err(failure) if failures < FAILURES => {
                    output::say(&format!(
                        "slob: {}; asking again in {}",
                        failure.text(),
                        duration(every.as_secs_f64())
                    ));
                    self.last = None;
                    failures + 1
                }
                Err(failure) => return Err(failure),
            };
            if due + every > begin + length {
                break;
            }
        }
        Ok(true)
    }

    /// The interval that ends now.
    fn add(&mut self, seen: Seen) -> Result<(), Failure> {
        if let Some(last) = self.last.take() {
            let sample = sample(&self.profile.subject, &last, &seen);
            let left = self.profile.append(sample);
            left.iter().for_each(|left| output::say(&format!("slob: left out: {}", left.why)));
            self.unsaved += 1;
            if is_due(self.unsaved, self.profile.intervals.len()) {
                self.save()?;
            }
        }
        self.last = Some(seen);
        Ok(())
    }

    /// Writes what is not in the file yet; a profile without an interval would be none.
    fn save(&mut self) -> Result<(), Failure> {
        if self.unsaved > 0 && !self.profile.intervals.is_empty() {
            saved::save(&self.profile, self.path)?;
            self.unsaved = 0;
        }
        Ok(())
    }
}

/// Whether so many intervals are to be saved. The file is written whole, so the longer it is the more of them wait: what an interval
/// costs does not grow with the watch.
fn is_due(unsaved: usize, of: usize) -> bool {
    unsaved * AT_ONCE >= of
}

/// A profile to go on with.
fn earlier(text: &[u8], subject: &Subject, path: &Path) -> Result<Profile, Failure> {
    let place = path.display();
    let profile = Profile::read(text)
        .map_err(|error| Failure::usage(format!("{place}: {error}; name another file with -o")))?;
    if profile.source != Source::Live || !profile.subject.is_same(subject) {
        return Err(Failure::usage(format!(
            "{place} is a profile of {}, and not of {}: name another file with -o",
            profile.subject.words(),
            subject.words()
        )));
    }
    if let Some(last) = profile.intervals.last() {
        let end = last.end().strftime("%Y-%m-%d %H:%M:%S");
        output::say(&format!(
            "going on with {place}, whose last interval ended at {end}; the time since is a gap"
        ));
    }
    Ok(profile)
}

fn look(engine: &dyn Engine) -> Result<Seen, Failure> {
    let work = engine.workload()?.ok_or_else(|| {
        Failure::usage(
            "this database does not count what others do to it: profile a run of it instead (`slob profile RUN`)",
        )
    })?;
    Ok(Seen { work, at: Instant::now(), clock: Zoned::now().datetime() })
}

/// What happened between two moments.
fn sample(subject: &Subject, last: &Seen, seen: &Seen) -> Sample {
    let seconds = seen.at.duration_since(last.at).as_secs_f64();
    let (before, after) = (&last.work, &seen.work);
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
        end: Some(seen.clock),
        seconds: Some(seconds),
        figures: figures(before, after, seconds),
        histograms: Default::default(),
        faults: fault.into_iter().collect(),
    }
}

fn figures(before: &Workload, after: &Workload, seconds: f64) -> Figures {
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
    use slob_engine::Counters;
    use slob_profile::collect;

    use super::*;

    fn seen(commits: u64, uptime_s: u64, second: i64, at: Instant) -> Seen {
        let counters = Counters::from([(Counter::Commits, commits), (Counter::PhysicalReads, 10 * commits)]);
        let clock: DateTime = "2026-11-20T10:00".parse().unwrap();
        let work = Workload { counters, uptime_s: Some(uptime_s), version: None, block_bytes: Some(8192) };
        let past = Duration::from_secs(second.unsigned_abs());
        Seen { work, at: at + past, clock: clock.saturating_add(jiff::SignedDuration::from_secs(second)) }
    }

    fn of(last: &Seen, now: &Seen) -> Profile {
        collect(vec![sample(&Subject::default(), last, now)], Source::Live).remove(0)
    }

    #[test]
    fn rates_are_those_of_the_time_that_passed() {
        let at = Instant::now();
        let profile = of(&seen(100, 50, 0, at), &seen(700, 110, 60, at));
        assert_eq!(
            profile.intervals[0].figures,
            [(Figure::Commits, 10.0), (Figure::ReadBlocks, 100.0)].into()
        );
    }

    #[test]
    fn a_restart_and_a_clock_that_jumped_are_named() {
        let at = Instant::now();
        let restarted = of(&seen(100, 50, 0, at), &seen(700, 10, 60, at));
        assert_eq!(restarted.left_out[0].why, "the server was restarted within it");
        let reset = of(&seen(100, 50, 0, at), &seen(7, 110, 60, at));
        assert!(reset.left_out[0].why.contains("commits was reset"), "{reset:?}");
        let mut late = seen(700, 110, 60, at);
        late.clock = late.clock.saturating_add(jiff::SignedDuration::from_secs(3600));
        assert!(of(&seen(100, 50, 0, at), &late).left_out[0].why.contains("a clock jumped"));
    }

    #[test]
    fn a_long_watch_writes_no_more_for_an_interval_than_a_short_one() {
        let (mut unsaved, mut written) = (0, 0);
        for intervals in 1..=100_000 {
            unsaved += 1;
            assert!(intervals > AT_ONCE || is_due(unsaved, intervals));
            if is_due(unsaved, intervals) {
                (unsaved, written) = (0, written + intervals);
            }
            assert!(
                unsaved <= intervals / AT_ONCE && written <= intervals * AT_ONCE,
                "{intervals}: {written}"
            );
        }
    }

    #[test]
    fn times_are_read_with_their_units() {
        let command = clap::Command::new("x").arg(clap::Arg::new("every").long("every"));
        let of = |text: &str| {
            let matches = command.clone().try_get_matches_from(["x", "--every", text]).unwrap();
            seconds(&matches, "every").ok().map(|time| time.as_secs())
        };
        assert_eq!([of("60s"), of("15m"), of("1d"), of("90")], [Some(60), Some(900), Some(86_400), Some(90)]);
        assert_eq!([of("x"), of("1w"), of("5 parsecs")], [None, None, None]);
    }
}
