//! What limits a run.

use serde::{Deserialize, Serialize};

use crate::figure::{self, Figure};
use crate::format::{fixed, percent};
use crate::measured::{TimedEvent, timed_events};
use crate::question::Question;
use crate::run::Run;
use crate::verdicts::{CpuFinding, Finding};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Bottleneck {
    Device,
    #[strum(serialize = "host CPU")]
    HostCpu,
    #[strum(serialize = "DB CPU")]
    DatabaseCpu,
    Locks,
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

/// In this order: a set limit, the device's ceiling, the host's CPUs, contention, CPU within sessions, a busy device, waits for
/// physical reads.
pub fn bottleneck(figures: &Run<'_>) -> (Bottleneck, String) {
    if let Some(limited) = set_limit(figures) {
        return limited;
    }
    let at_its_limit = |figure: Figure| figure.of(figures).filter(|share| *share >= 90.0);
    if let Some(share) = at_its_limit(figure::DEVICE_PERCENT_OF_CEILING) {
        let text = format!("The device delivered {} % of its ceiling.", percent(share));
        return (Bottleneck::Device, text);
    }
    if let Some(share) = at_its_limit(figure::HOST_BUSY_PERCENT) {
        let own = figure::RUN_PERCENT_OF_HOST.of(figures);
        let own = own.map(|own| format!(", {} % with this run", percent(own))).unwrap_or_default();
        return (Bottleneck::HostCpu, format!("The host's CPUs were {} % busy{own}.", percent(share)));
    }
    let db_time_s = figure::DB_TIME_S.of(figures).filter(|db_time_s| *db_time_s > 0.0);
    let events = timed_events(figures.record);
    let shares =
        events.first().zip(db_time_s).map(|(event, db_time_s)| (event, 100.0 * event.time_s / db_time_s));
    let top = shares.filter(|(_, share)| *share >= 50.0);
    if let Some((event, share)) = top.filter(|(event, _)| cause(event) == Bottleneck::Locks) {
        let share = percent(share);
        let text = format!("{share} % of DB time was '{}': sessions waited for each other.", event.name);
        return (Bottleneck::Locks, text);
    }
    let on_cpu = figures.on_cpu_and_waiting().map(|(share, _)| share);
    if let Some(share) = on_cpu.filter(|share| *share >= 90.0) {
        let text = format!("CPU was {} % of DB time: sessions hardly waited for anything.", percent(share));
        return (Bottleneck::DatabaseCpu, text);
    }
    if let Some(busy) = at_its_limit(figure::DEVICE_BUSY_PERCENT) {
        let queue = figure::DEVICE_QUEUE.of(figures);
        let queue = queue.map(|queue| format!(", {} requests in flight on average", fixed(queue, 1)));
        let text = format!("The device was {} % busy{}.", percent(busy), queue.unwrap_or_default());
        return (Bottleneck::Device, text);
    }
    match top {
        Some((event, share)) => {
            (cause(event), format!("{} % of DB time was '{}'.", percent(share), event.name))
        }
        None => (Bottleneck::Unknown, "Nothing that was sampled is at its limit.".to_owned()),
    }
}

fn cause(event: &TimedEvent) -> Bottleneck {
    const STORAGE: [&str; 5] = ["io", "i/o", "io/file", "user i/o", "system i/o"];
    const LOCKS: [&str; 5] = ["lock", "latch", "mutex", "concurrency", "enq:"];
    let class = event.class.to_lowercase();
    if STORAGE.contains(&class.as_str()) {
        return Bottleneck::Device;
    }
    if class == "cpu" {
        return Bottleneck::DatabaseCpu;
    }
    // "block" contains "lock".
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
        let event = TimedEvent { name: name.into(), class: class.into(), waits: None, time_s: 1.0 };
        assert_eq!(cause(&event), expected);
    }
}
