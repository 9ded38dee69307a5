//! Throughput and latency over sessions or rates, from a search for the knee; and what limits a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slob_record::Record;
use slob_stats::summary;

use crate::group::write_verdicts;
use crate::page::{Column, Page, Table};
use slob_facts::format::{duration_us, fixed, or_absent, percent, plural};
use slob_facts::measured::{TimedEvent, mean_rate, timed_events};
use slob_facts::verdicts::refusal;
use slob_facts::{Figure, GroupVerdicts, Judged, Run, figure};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    pub run: String,
    pub sessions: u32,
    /// The intended rate of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u32>,
    pub operations_per_s: f64,
    pub physical_reads_per_s: Option<f64>,
    pub physical_read_mean_us: Option<f64>,
    pub physical_read_p99_us: Option<f64>,
    pub operation_mean_us: Option<f64>,
    pub operation_p99_us: Option<f64>,
    /// Known of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_p99_us: Option<f64>,
    /// Throughput x mean latency in percent of the sessions (Little, "A proof for the queuing formula L = lambda W",
    /// *Operations Research* 9 (1961) 383): 100 if every session is always inside an operation. Absent in an open loop,
    /// whose sessions wait for arrivals.
    pub little_percent: Option<f64>,
    pub over_limit: bool,
    pub bottleneck: Bottleneck,
    pub reason: String,
    pub verdicts: Vec<Judged>,
}

impl CurvePoint {
    /// The point of a run; `None` without throughput.
    pub fn of(record: &Record, over_limit: bool) -> Option<Self> {
        let figures = Run::of(record);
        let (sessions, rate_per_s) = (record.workload.sessions(), mean_rate(record).map(|rate| rate as u32));
        let operations_per_s = figure::OPERATIONS_PER_S.of(&figures)?;
        let operation_mean_us = figure::OPERATION_MEAN_US.of(&figures);
        let little_percent = |us: f64| 100.0 * operations_per_s * us / 1e6 / f64::from(sessions);
        let (bottleneck, reason) = bottleneck(&figures);
        Some(Self {
            run: record.id.clone(),
            sessions,
            rate_per_s,
            operations_per_s,
            physical_reads_per_s: figure::PHYSICAL_READS_PER_S.of(&figures),
            physical_read_mean_us: figure::PHYSICAL_READ_MEAN_US.of(&figures),
            physical_read_p99_us: figure::PHYSICAL_READ_P99_US.of(&figures),
            operation_mean_us,
            operation_p99_us: figure::OPERATION_P99_US.of(&figures),
            response_p99_us: figure::RESPONSE_P99_US.of(&figures),
            little_percent: operation_mean_us.filter(|_| rate_per_s.is_none()).map(little_percent),
            over_limit,
            bottleneck,
            reason,
            verdicts: figures.judged().to_vec(),
        })
    }

    /// The level in words: its rate, or its sessions.
    fn level(&self) -> String {
        match self.rate_per_s {
            Some(rate) => format!("a rate of {rate}/s"),
            None => plural(u64::from(self.sessions), "session"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// In the order of the search.
    pub points: Vec<CurvePoint>,
    /// Absent if even the fewest sessions exceed the limit.
    pub knee_sessions: Option<u32>,
    /// The highest rate that was kept, if the search raised the rate instead of the sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee_rate_per_s: Option<u32>,
    pub why: String,
    pub limit: Option<String>,
    /// A smaller gain of throughput is no growth.
    pub tolerance_percent: f64,
}

impl Curve {
    fn is_knee(&self, point: &CurvePoint) -> bool {
        match self.knee_rate_per_s {
            Some(rate) => point.rate_per_s == Some(rate),
            None => Some(point.sessions) == self.knee_sessions && point.rate_per_s.is_none(),
        }
    }

    fn is_open(&self) -> bool {
        self.points.iter().any(|point| point.rate_per_s.is_some())
    }

    /// The verdicts of the runs at each level, the lowest first.
    pub(super) fn verdicts(&self) -> Vec<(String, GroupVerdicts)> {
        let mut levels: BTreeMap<_, Vec<&CurvePoint>> = BTreeMap::new();
        for point in &self.points {
            levels.entry((point.sessions, point.rate_per_s)).or_default().push(point);
        }
        let judged = |points: Vec<&CurvePoint>| {
            let verdicts = GroupVerdicts::of(points.iter().map(|point| point.verdicts.as_slice()));
            (points.first().map_or_else(String::new, |point| point.level()), verdicts)
        };
        levels.into_values().map(judged).collect()
    }

    /// Figures that these runs can't be compared by, and why.
    fn refusals(&self) -> Vec<String> {
        let verdicts = self.verdicts();
        let groups: Vec<_> = verdicts.iter().map(|(level, verdicts)| (level.as_str(), verdicts)).collect();
        let refused = |figure: &Figure| refusal(&groups, figure.rests_on);
        let operations = refused(&figure::OPERATIONS_PER_S);
        match operations {
            Some(why) => vec![format!("This knee can't be relied on: its rates can't be compared. {why}")],
            None => refused(&figure::PHYSICAL_READS_PER_S)
                .map(|why| format!("These physical reads can't be compared. {why}"))
                .into_iter()
                .collect(),
        }
    }

    pub(super) fn write_verdicts(&self, page: &mut Page) {
        let verdicts = self.verdicts();
        let groups: Vec<_> = verdicts.iter().map(|(level, verdicts)| (level.as_str(), verdicts)).collect();
        write_verdicts(page, &groups);
    }

    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = self.refusals();
        let place = match (self.knee_rate_per_s, self.knee_sessions) {
            (Some(rate), _) => format!("A rate of {rate}/s"),
            (None, Some(sessions)) => format!("{sessions} sessions"),
            (None, None) => {
                sentences.push(self.why.clone());
                return sentences;
            }
        };
        let runs: Vec<&CurvePoint> = self.points.iter().filter(|point| self.is_knee(point)).collect();
        let values = |of: fn(&CurvePoint) -> Option<f64>| -> Option<Vec<f64>> {
            let values: Option<Vec<f64>> = runs.iter().map(|point| of(point)).collect();
            values.filter(|values| !values.is_empty())
        };
        let ends = |values: &[f64]| Some((summary::minimum(values)?, summary::maximum(values)?));
        let shown = |of, show: fn(f64) -> String| {
            let values = values(of).unwrap_or_default();
            let mean = or_absent(summary::mean(&values), show);
            let ends = ends(&values).filter(|_| runs.len() > 1);
            mean + &ends.map(|(low, high)| format!(" ({} to {})", show(low), show(high))).unwrap_or_default()
        };
        sentences.push(format!(
            "{place}: {} operations/s, {} physical reads/s, mean of a read {}, mean of an operation {}, p99 {}; {} there.",
            shown(|point| Some(point.operations_per_s), |rate| fixed(rate, 0)),
            shown(|point| point.physical_reads_per_s, |rate| fixed(rate, 0)),
            shown(|point| point.physical_read_mean_us, duration_us),
            shown(|point| point.operation_mean_us, duration_us),
            shown(|point| point.operation_p99_us, duration_us),
            plural(runs.len() as u64, "run"),
        ));
        if let Some((low, high)) =
            values(|point| point.response_p99_us.filter(|_| point.rate_per_s.is_some()))
                .and_then(|values| ends(&values))
        {
            let (low, high) = (duration_us(low), duration_us(high));
            sentences.push(format!("p99 of response times there: {low} to {high}."));
        }
        sentences.push(self.why.clone());
        // The limit shows best at the largest number of sessions.
        if let Some(last) = self.points.iter().max_by_key(|point| (point.sessions, point.rate_per_s)) {
            let most = last.rate_per_s.map(|rate| format!(" and {rate} operations/s")).unwrap_or_default();
            sentences.push(format!(
                "What limited it at {} sessions{most}: {}. {}",
                last.sessions, last.bottleneck, last.reason
            ));
        }
        sentences
    }

    pub(super) fn points_table(&self) -> Table {
        let is_open = self.is_open();
        let [raised, checked] = if is_open { ["Rate/s", "p99 response"] } else { ["Sessions", "Little %"] };
        let numbers = [raised, "Op/s", "Reads/s", "Read mean", "p99", "Op mean", "p99", checked];
        let numbers = numbers.map(|head| Column::right(head).at_most(9));
        let words = ["Limited by", ""].map(|head| Column::left(head).at_most(12));
        let mut table = Table::new([numbers.as_slice(), &words].concat());
        let mut points: Vec<&CurvePoint> = self.points.iter().collect();
        points.sort_by_key(|point| (point.sessions, point.rate_per_s));
        for point in points {
            let marks =
                [self.is_knee(point).then_some("<- knee"), point.over_limit.then_some("over the limit")];
            table.row([
                match point.rate_per_s {
                    Some(rate) => rate.to_string(),
                    None if is_open => "closed loop".to_owned(),
                    None => point.sessions.to_string(),
                },
                fixed(point.operations_per_s, 1),
                or_absent(point.physical_reads_per_s, |rate| fixed(rate, 0)),
                or_absent(point.physical_read_mean_us, duration_us),
                or_absent(point.physical_read_p99_us, duration_us),
                or_absent(point.operation_mean_us, duration_us),
                or_absent(point.operation_p99_us, duration_us),
                match is_open {
                    true => or_absent(point.response_p99_us, duration_us),
                    false => or_absent(point.little_percent, percent),
                },
                point.bottleneck.to_string(),
                marks.into_iter().flatten().collect::<Vec<_>>().join(", "),
            ]);
        }
        table
    }

    pub(super) fn little(&self) -> String {
        const TOLERANCE_PERCENT: f64 = 5.0;
        if self.is_open() {
            return "Response time counts from the moment at which an operation was due: it grows where the rate is not kept."
                .to_owned();
        }
        if self.points.iter().any(|point| point.little_percent.is_none()) {
            return "Little's law is not checked: not every mean latency is known.".to_owned();
        }
        let is_off = |share: f64| (share - 100.0).abs() > TOLERANCE_PERCENT;
        let off = self.points.iter().filter(|point| point.little_percent.is_some_and(is_off));
        let off: Vec<String> = off.map(|point| point.sessions.to_string()).collect();
        let law = "Little's law: throughput x mean latency must be the number of sessions";
        match off.is_empty() {
            true => format!("{law}; it is, within {TOLERANCE_PERCENT} %, at every point."),
            false => format!(
                "{law}. It is not at {} sessions: these spent time outside of operations (think time, a client short \
                 of CPU), or some were not at work throughout.",
                off.join(", ")
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Bottleneck {
    Device,
    #[strum(serialize = "host CPU")]
    HostCpu,
    /// CPU within each session: more sessions would use more of it.
    #[strum(serialize = "DB CPU")]
    DatabaseCpu,
    Locks,
    #[strum(serialize = "not known")]
    Unknown,
}

/// The bottleneck and the figures that show it, in this order: the device at its ceiling, the host's CPUs, waits of
/// sessions for each other, CPU within sessions, a device that was always busy, waits for physical reads.
fn bottleneck(figures: &Run<'_>) -> (Bottleneck, String) {
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
    // The event that took most of DB time, if it took half of it or more.
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

/// The resource that an event waits for, by its class; for locks by its name too.
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
        let event = TimedEvent { name: name.into(), class: class.into(), waits: None, time_s: 1.0 };
        assert_eq!(cause(&event), expected);
    }
}
