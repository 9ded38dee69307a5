//! What limits a run.

use itertools::Itertools;
use serde::{Deserialize, Serialize};
use slob_host::{DurableWrite, Flush};
use slob_record::Record;

use crate::ceiling::{commits_of_device, logs, probe_limits};
use crate::figure::{self, Figure};
use crate::format::{duration_us, fixed, percent};
use crate::measured::{TimedEvent, timed_events};
use crate::question::Question;
use crate::run::Run;
use crate::verdicts::{CpuFinding, Finding};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Bottleneck {
    Device,
    #[strum(serialize = "host CPU")]
    HostCpu,
    #[strum(serialize = "DB CPU")]
    DatabaseCpu,
    Locks,
    /// Commits wait for the log, or behind each other for it.
    Log,
    #[strum(serialize = "I/O limit")]
    IoLimit,
    #[strum(serialize = "CPU limit")]
    CpuLimit,
    #[strum(serialize = "not known")]
    Unknown,
}

fn set_limit(figures: &Run<'_>) -> Option<(Bottleneck, String)> {
    let verdict = figures.verdicts().iter().find(|verdict| verdict.question == Question::CpuToSpare)?;
    match &verdict.finding {
        Finding::CpuToSpare(CpuFinding::IoLimited { limit, .. }) => {
            Some((Bottleneck::IoLimit, format!("A limit on I/O: {limit}.")))
        }
        Finding::CpuToSpare(CpuFinding::Confined { server, .. }) => {
            Some((Bottleneck::CpuLimit, format!("A limit on CPU: {server}.")))
        }
        _ => None,
    }
}

/// In this order: a set limit, the device's ceiling, the log's, the host's CPUs, contention and commits, CPU within sessions, a busy
/// device, waits for physical reads.
pub fn bottleneck(figures: &Run<'_>) -> (Bottleneck, String) {
    if let Some(limited) = set_limit(figures) {
        return limited;
    }
    let at_its_limit = |figure: Figure| figure.of(figures).filter(|share| *share >= AT_LIMIT);
    if let Some(share) = at_its_limit(figure::DEVICE_PERCENT_OF_CEILING) {
        let within = if probe_limits(figures.record).is_some() { ", probed within limits" } else { "" };
        let text = format!("The device delivered {} % of its ceiling{within}.", percent(share));
        return (Bottleneck::Device, text);
    }
    if let Some(share) = log_busy_percent(figures).filter(|share| *share >= AT_LIMIT) {
        let begin = format!("The log was being flushed {} % of the time", percent(share.min(100.0)));
        return (
            Bottleneck::Log,
            log_words(figures, &begin, "it flushes quicker without reads and writes beside it"),
        );
    }
    if let Some(share) = at_its_limit(figure::HOST_BUSY_PERCENT) {
        let own = figure::RUN_PERCENT_OF_HOST.of(figures);
        let own = own.map(|own| format!(", {} % with this run", percent(own))).unwrap_or_default();
        return (Bottleneck::HostCpu, format!("The host's CPUs were {} % busy{own}.", percent(share)));
    }
    let waits = Waits::longest(figures);
    match &waits {
        Some(waits) if waits.cause == Bottleneck::Locks => {
            return (waits.cause, format!("{}: sessions waited for each other.", waits.words()));
        }
        Some(waits) if waits.cause == Bottleneck::Log => {
            let between = "sessions hand the log to each other, or wait for a CPU";
            return (waits.cause, log_words(figures, &waits.words(), between));
        }
        _ => {}
    }
    let on_cpu = figures.on_cpu_and_waiting().map(|(share, _)| share);
    if let Some(share) = on_cpu.filter(|share| *share >= AT_LIMIT) {
        let text = format!("CPU was {} % of DB time: sessions hardly waited for anything.", percent(share));
        return (Bottleneck::DatabaseCpu, text);
    }
    if let Some(busy) = at_its_limit(figure::DEVICE_BUSY_PERCENT) {
        let queue = figure::DEVICE_QUEUE.of(figures);
        let queue = queue.map(|queue| format!(", {} requests in flight on average", fixed(queue, 1)));
        let text = format!("The device was {} % busy{}.", percent(busy), queue.unwrap_or_default());
        return (Bottleneck::Device, text);
    }
    match waits {
        Some(waits) => (waits.cause, format!("{}.", waits.words())),
        None => (Bottleneck::Unknown, "Nothing that was sampled is at its limit.".to_owned()),
    }
}

const AT_LIMIT: f64 = 90.0;

/// Waits of one cause that were most of DB time.
struct Waits {
    cause: Bottleneck,
    share: f64,
    /// The longest first.
    names: Vec<String>,
}

impl Waits {
    /// Unknown causes may be many, so each is a cause of its own.
    fn longest(figures: &Run<'_>) -> Option<Self> {
        let db_time_s = figure::DB_TIME_S.of(figures).filter(|db_time_s| *db_time_s > 0.0)?;
        let of_cause = |event: &TimedEvent| match cause(event) {
            Bottleneck::Unknown => (Bottleneck::Unknown, event.name.clone()),
            known => (known, String::new()),
        };
        let groups = timed_events(figures.record).into_iter().into_group_map_by(of_cause);
        let groups = groups.into_iter().map(|((cause, _), events)| Self {
            cause,
            share: 100.0 * events.iter().map(|event| event.time_s).sum::<f64>() / db_time_s,
            names: events.into_iter().map(|event| event.name).unique().collect(),
        });
        groups.filter(|waits| waits.share >= 50.0).max_by(|a, b| a.share.total_cmp(&b.share))
    }

    fn words(&self) -> String {
        const NAMED: usize = 2;
        let names = self.names.iter().take(NAMED).map(|name| format!("'{name}'")).join(" and ");
        format!("{} % of DB time was {names}", percent(self.share))
    }
}

/// The share of the window in which a log is flushed, as a mean of all logs.
fn log_busy_percent(figures: &Run<'_>) -> Option<f64> {
    let flushes_per_s = figure::REDO_SYNCS_PER_S.of(figures)?;
    let busy_s = flushes_per_s * figure::REDO_SYNC_MEAN_US.of(figures)? / 1e6;
    Some(100.0 * busy_s / f64::from(logs(figures.record)))
}

/// The log beside what its device promises, with the remedy. `below` says why it does less.
fn log_words(figures: &Run<'_>, begin: &str, below: &str) -> String {
    let mean = figure::REDO_SYNC_MEAN_US.of(figures);
    let mean = mean.map(|us| format!(", each in {}", duration_us(us))).unwrap_or_default();
    let share = figure::REDO_PERCENT_OF_CEILING.of(figures);
    let promised = share.map(|share| format!(": {} % of what its device promises", percent(share)));
    let flushed = figure::REDO_SYNCS_PER_S.of(figures).map(|per_s| {
        format!(". It was flushed {} times/s{mean}{}", fixed(per_s, 0), promised.unwrap_or_default())
    });
    let remedy = match share {
        Some(share) if share >= AT_LIMIT => {
            "Let commits share flushes (COMMIT_EVERY, more sessions), or put the log on a quicker device"
                .to_owned()
        }
        Some(_) => format!("The device can do more: {below}"),
        None => {
            "`slob probe --durable only` in the log's folder says how often its device can flush".to_owned()
        }
    };
    let quicker = quicker_flush(figures.record).map(|words| format!(". {words}"));
    format!("{begin}{}. {remedy}{}.", flushed.unwrap_or_default(), quicker.unwrap_or_default())
}

/// `O_DSYNC` where the probe found it much quicker than fdatasync.
fn quicker_flush(record: &Record) -> Option<String> {
    const MUCH: f64 = 1.1;
    commits_of_device(record)?;
    let result = &record.probe.as_ref()?.result;
    let iops = |write: DurableWrite| Some(result.durable_writes(write, 1)?.1);
    let usual = iops(DurableWrite::COMMIT)?;
    let dsync = iops(DurableWrite { flush: Flush::Dsync, ..DurableWrite::COMMIT })?;
    (dsync >= MUCH * usual).then(|| {
        let [dsync, usual] = [dsync, usual].map(|per_s| fixed(per_s, 0));
        format!("With O_DSYNC it promises {dsync} flushes/s, with fdatasync {usual}")
    })
}

fn cause(event: &TimedEvent) -> Bottleneck {
    const STORAGE: [&str; 5] = ["io", "i/o", "io/file", "user i/o", "system i/o"];
    const LOCKS: [&str; 5] = ["lock", "latch", "mutex", "concurrency", "enq:"];
    /// Waits for a log, and behind each other for its flush.
    const LOG: [&str; 9] = [
        "walwrite",
        "walsync",
        "walinit",
        "log file",
        "log_file",
        "log buffer",
        "redo sync",
        "handler commit",
        "group commit",
    ];
    let class = event.class.to_lowercase();
    let name = event.name.to_lowercase();
    if class == "commit" || name == "commit" || LOG.iter().any(|word| name.contains(word)) {
        return Bottleneck::Log;
    }
    if STORAGE.contains(&class.as_str()) {
        return Bottleneck::Device;
    }
    if class == "cpu" {
        return Bottleneck::DatabaseCpu;
    }
    // "block" contains "lock".
    let text = format!("{class}/{name}").replace("block", "");
    if LOCKS.iter().any(|word| text.contains(word)) { Bottleneck::Locks } else { Bottleneck::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_host::StepKind;
    use slob_measure::{Counter, Latencies, WaitEvent};
    use slob_testing::records;

    #[rstest]
    #[case("CPU", "DB CPU", Bottleneck::DatabaseCpu)]
    #[case("CPU", "CPU", Bottleneck::DatabaseCpu)]
    #[case("User I/O", "db file sequential read", Bottleneck::Device)]
    #[case("User I/O", "cell single block physical read: RDMA", Bottleneck::Device)]
    #[case("IO", "DataFileRead", Bottleneck::Device)]
    #[case("io/file", "innodb/innodb_data_file", Bottleneck::Device)]
    #[case("I/O", "physical read", Bottleneck::Device)]
    #[case("Concurrency", "cursor: pin S", Bottleneck::Locks)]
    #[case("Application", "enq: TX - row lock contention", Bottleneck::Locks)]
    #[case("LWLock", "BufferMapping", Bottleneck::Locks)]
    #[case("synch/mutex", "innodb/buf_pool_mutex", Bottleneck::Locks)]
    #[case("Commit", "log file sync", Bottleneck::Log)]
    #[case("Configuration", "log buffer space", Bottleneck::Log)]
    #[case("IO", "WALSync", Bottleneck::Log)]
    #[case("LWLock", "WALWrite", Bottleneck::Log)]
    #[case("LWLock", "WALInsert", Bottleneck::Locks)]
    #[case("state", "Commit", Bottleneck::Log)]
    #[case("state", "waiting for handler commit", Bottleneck::Log)]
    #[case("io/file", "innodb/innodb_log_file", Bottleneck::Log)]
    #[case("I/O", "redo sync", Bottleneck::Log)]
    #[case("Client", "ClientRead", Bottleneck::Unknown)]
    #[case("Activity", "thread of its own", Bottleneck::Unknown)]
    #[case("Cluster", "gc cr block 2-way", Bottleneck::Unknown)]
    #[case("-", "CPU and other", Bottleneck::Unknown)]
    fn the_class_of_a_wait_decides_and_not_a_word_within_its_name(
        #[case] class: &str,
        #[case] name: &str,
        #[case] expected: Bottleneck,
    ) {
        let event = TimedEvent { name: name.into(), class: class.into(), waits: None, time_s: 1.0 };
        assert_eq!(cause(&event), expected);
    }

    fn limited(record: &Record) -> (Bottleneck, String) {
        bottleneck(&Run::of(record))
    }

    /// A run whose commits waited for a lock within the log was limited by 'locks'.
    #[test]
    fn waits_behind_anothers_flush_are_waits_for_the_log() {
        let mut record = records::update_run();
        record.server.embedded = false;
        let db_time_s = figure::DB_TIME_S.of(&Run::of(&record)).unwrap();
        let event = |class: &str, name: &str, share| {
            let time_us = (share * db_time_s * 1e6) as u64;
            WaitEvent { class: class.into(), name: name.into(), background: false, waits: None, time_us }
        };
        record.events = vec![
            event("LWLock", "WALWrite", 0.45),
            event("IO", "WALSync", 0.15),
            event("IO", "DataFileRead", 0.3),
        ];
        record.latencies = Latencies::default();
        let (limit, why) = limited(&record);
        assert_eq!(limit, Bottleneck::Log, "{why}");
        let begin = "60.0 % of DB time was 'WALWrite' and 'WALSync'. It was flushed 126 times/s.";
        assert!(why.starts_with(begin) && why.contains("slob probe --durable only"), "{why}");
        // Two causes that are no majority each are none together.
        record.events[0] = event("LWLock", "WALWrite", 0.3);
        assert_ne!(limited(&record).0, Bottleneck::Log);
    }

    #[test]
    fn a_log_that_is_always_being_flushed_limits_and_the_probe_says_whether_its_device_does() {
        let mut record = records::update_run();
        record.server.embedded = false;
        record.counters.set(Counter::RedoSyncs, 31_000);
        record.probe = records::direct_read_run().probe;
        let (limit, why) = limited(&record);
        assert_eq!(limit, Bottleneck::Log, "{why}");
        assert!(why.contains("517 times/s, each in 1.97 ms") && why.contains("COMMIT_EVERY"), "{why}");
        let result = &mut record.probe.as_mut().unwrap().result;
        let mut of_dsync = result.durable_only().steps[0].clone();
        let steps = result.steps.iter_mut().filter(|step| step.kind.durable().is_some());
        steps.for_each(|step| step.figures.as_mut().unwrap().iops = 1000.0);
        of_dsync.kind = StepKind::DurableWrite(DurableWrite { flush: Flush::Dsync, ..DurableWrite::COMMIT });
        of_dsync.figures.as_mut().unwrap().iops = 1200.0;
        result.steps.push(of_dsync);
        let (_, why) = limited(&record);
        let said = [
            "51.7 % of what its device promises. The device can do more: it flushes quicker",
            "With O_DSYNC it promises 1,200",
        ];
        assert!(said.iter().all(|said| why.contains(said)), "{why}");
        record.latencies = Latencies::default();
        assert_ne!(limited(&record).0, Bottleneck::Log, "nothing says that it is always flushed");
    }
}
