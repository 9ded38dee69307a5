//! What held a run back, as far as its record tells.

use serde::Serialize;
use slob_record::Record;

use crate::figure::{self, Figures};
use crate::format::{fixed, percent};
use crate::timed::{Timed, timed_events};

/// From here on something is at its limit, in percent of what there is.
const FULL_PERCENT: f64 = 90.0;
/// From this share of DB time on it is what sessions mostly waited for.
const MOST_PERCENT: f64 = 50.0;
/// Classes of waits for the storage, in small letters.
const STORAGE: [&str; 5] = ["io", "i/o", "io/file", "user i/o", "system i/o"];
/// The class of time on a CPU.
const CPU: &str = "cpu";
/// Words that classes and names of waits for other sessions have, on the databases that have such events.
const LOCKS: [&str; 5] = ["lock", "latch", "mutex", "concurrency", "enq:"];

/// What held a run back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The storage.
    Device,
    /// The CPUs of the host.
    HostCpu,
    /// CPU within each session: more sessions would use more of it.
    DatabaseCpu,
    /// Sessions waited for each other.
    Locks,
    /// The record does not tell.
    Unknown,
}

impl Bottleneck {
    /// What it is in a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::HostCpu => "host CPU",
            Self::DatabaseCpu => "DB CPU",
            Self::Locks => "locks",
            Self::Unknown => "not known",
        }
    }
}

/// What held a run back, and the figures that say so. In this order: the device at its ceiling, the host's CPUs, waits of
/// sessions for each other, CPU within sessions, a device that was always busy, waits for physical reads.
#[must_use]
pub fn bottleneck(record: &Record) -> (Bottleneck, String) {
    let figures = Figures::of(record);
    at_a_limit(&figures)
        .or_else(|| waited_for(&figures))
        .unwrap_or_else(|| (Bottleneck::Unknown, "Nothing that was sampled is at its limit.".to_owned()))
}

fn at_a_limit(figures: &Figures<'_>) -> Option<(Bottleneck, String)> {
    let full = |share: Option<f64>| share.filter(|share| *share >= FULL_PERCENT);
    if let Some(share) = full(figure::DEVICE_PERCENT_OF_CEILING.of(figures)) {
        let text = format!("The device delivered {} % of its ceiling.", percent(share));
        return Some((Bottleneck::Device, text));
    }
    let share = full(figure::HOST_BUSY_PERCENT.of(figures))?;
    let own =
        figure::RUN_PERCENT_OF_HOST.of(figures).map(|own| format!(", {} % with this run", percent(own)));
    let text = format!("The host's CPUs were {} % busy{}.", percent(share), own.unwrap_or_default());
    Some((Bottleneck::HostCpu, text))
}

fn waited_for(figures: &Figures<'_>) -> Option<(Bottleneck, String)> {
    let db_time_s = figure::DB_TIME_S.of(figures).filter(|db_time_s| *db_time_s > 0.0);
    let events = timed_events(figures);
    let top = events.first().zip(db_time_s).and_then(|(event, db_time_s)| {
        let share = 100.0 * event.time_s / db_time_s;
        (share >= MOST_PERCENT).then_some((event, share))
    });
    if let Some((event, share)) = top.filter(|(event, _)| cause(event) == Bottleneck::Locks) {
        let text =
            format!("{} % of DB time was '{}': sessions waited for each other.", percent(share), event.name);
        return Some((Bottleneck::Locks, text));
    }
    if let Some(share) = figure::DB_CPU_PERCENT_OF_DB_TIME.of(figures).filter(|share| *share >= FULL_PERCENT)
    {
        let text = format!("CPU was {} % of DB time: sessions hardly waited for anything.", percent(share));
        return Some((Bottleneck::DatabaseCpu, text));
    }
    if let Some(busy) = figure::DEVICE_BUSY_PERCENT.of(figures).filter(|busy| *busy >= FULL_PERCENT) {
        let queue = figure::DEVICE_QUEUE
            .of(figures)
            .map(|queue| format!(", {} requests in flight on average", fixed(queue, 1)));
        let text = format!("The device was {} % busy{}.", percent(busy), queue.unwrap_or_default());
        return Some((Bottleneck::Device, text));
    }
    let (event, share) = top?;
    Some((cause(event), format!("{} % of DB time was '{}'.", percent(share), event.name)))
}

/// What an event is of: its class says so, in the databases' words for it. Only for locks its name is asked too.
fn cause(event: &Timed) -> Bottleneck {
    let class = event.class.to_lowercase();
    if STORAGE.contains(&class.as_str()) {
        return Bottleneck::Device;
    }
    if class == CPU {
        return Bottleneck::DatabaseCpu;
    }
    // A block is no lock.
    let text = format!("{class}/{}", event.name.to_lowercase()).replace("block", "");
    if LOCKS.iter().any(|word| text.contains(word)) { Bottleneck::Locks } else { Bottleneck::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

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
    #[case("Client", "ClientRead", Bottleneck::Unknown)]
    #[case("Activity", "thread of its own", Bottleneck::Unknown)]
    #[case("Cluster", "gc cr block 2-way", Bottleneck::Unknown)]
    #[case("-", "CPU and other", Bottleneck::Unknown)]
    fn the_class_of_a_wait_decides_and_not_a_word_within_its_name(
        #[case] class: &str,
        #[case] name: &str,
        #[case] expected: Bottleneck,
    ) {
        let event = Timed { name: name.into(), class: class.into(), waits: None, time_s: 1.0 };
        assert_eq!(cause(&event), expected);
    }
}
