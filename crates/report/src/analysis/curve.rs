//! Throughput and latency over sessions: what a search for the knee measured.

use serde::Serialize;
use slob_record::Record;

use super::bottleneck::{Bottleneck, bottleneck};
use crate::figure::{self, Figures};
use crate::format::{ABSENT, duration_us, fixed, or_absent, percent};
use crate::page::{Column, Page, Table};

/// Little's law says 100 %; within this it is held to hold.
const LITTLE_PERCENT: f64 = 5.0;

/// One run of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The run's id.
    pub run: String,
    /// Its sessions.
    pub sessions: u32,
    /// The rate at which operations were to start, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u32>,
    /// Operations per second.
    pub operations_per_s: f64,
    /// Physical reads per second: IOPS.
    pub physical_reads_per_s: Option<f64>,
    /// Mean of an operation in microseconds.
    pub operation_mean_us: Option<f64>,
    /// p99 of an operation in microseconds.
    pub operation_p99_us: Option<f64>,
    /// p99 of response times in microseconds, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_p99_us: Option<f64>,
    /// Throughput x mean latency in percent of the sessions (Little, "A proof for the queuing formula L = lambda W",
    /// *Operations Research* 9 (1961) 383): 100 where every session was always inside an operation. Absent in an open loop, whose sessions wait for arrivals.
    pub little_percent: Option<f64>,
    /// Whether it passed the latency limit.
    pub over_limit: bool,
    /// What held it back.
    pub bottleneck: Bottleneck,
    /// The figures that say so.
    pub reason: String,
}

impl CurvePoint {
    /// The point of a run; `None` if it has no throughput.
    #[must_use]
    pub fn of(record: &Record, over_limit: bool) -> Option<Self> {
        let figures = Figures::of(record);
        let sessions = record.workload.sessions();
        let operations_per_s = figure::OPERATIONS_PER_S.of(&figures)?;
        let operation_mean_us = figure::OPERATION_MEAN_US.of(&figures);
        let (bottleneck, reason) = bottleneck(record);
        Some(Self {
            run: record.id.clone(),
            sessions,
            rate_per_s: record.workload.rate_per_s,
            operations_per_s,
            physical_reads_per_s: figure::PHYSICAL_READS_PER_S.of(&figures),
            operation_mean_us,
            operation_p99_us: figure::OPERATION_P99_US.of(&figures),
            response_p99_us: figure::RESPONSE_P99_US.of(&figures),
            little_percent: operation_mean_us
                .filter(|_| record.workload.rate_per_s.is_none())
                .map(|us| 100.0 * operations_per_s * us / 1e6 / f64::from(sessions)),
            over_limit,
            bottleneck,
            reason,
        })
    }
}

/// A curve, and the point that a search found on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Every run, in the order of the search.
    pub points: Vec<CurvePoint>,
    /// Sessions at the knee; absent if even the fewest passed the limit.
    pub knee_sessions: Option<u32>,
    /// The highest rate that was kept, where the rate was raised and not the sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee_rate_per_s: Option<u32>,
    /// Why there is no more beyond, in a sentence.
    pub why: String,
    /// The latency limit, if there was one.
    pub limit: Option<String>,
    /// The share of throughput that was not counted as growth, in percent.
    pub tolerance_percent: f64,
}

impl Curve {
    /// The runs at the knee.
    pub fn at_knee(&self) -> impl Iterator<Item = &CurvePoint> {
        self.points.iter().filter(|point| self.is_knee(point))
    }

    fn is_knee(&self, point: &CurvePoint) -> bool {
        match self.knee_rate_per_s {
            Some(rate) => point.rate_per_s == Some(rate),
            None => Some(point.sessions) == self.knee_sessions && point.rate_per_s.is_none(),
        }
    }

    /// The curve as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut page = Page::new();
        page.section("Knee");
        for sentence in self.sentences() {
            page.paragraph(&sentence);
        }
        page.section("Curve");
        page.table(&self.table());
        page.paragraph(&self.little());
        page.into_text()
    }

    fn sentences(&self) -> Vec<String> {
        let place = match (self.knee_rate_per_s, self.knee_sessions) {
            (Some(rate), _) => format!("A rate of {rate}/s"),
            (None, Some(sessions)) => format!("{sessions} sessions"),
            (None, None) => return vec![self.why.clone()],
        };
        let runs: Vec<&CurvePoint> = self.at_knee().collect();
        let over = |of: fn(&CurvePoint) -> Option<f64>| -> Option<(f64, f64, f64)> {
            let values: Option<Vec<f64>> = runs.iter().map(|point| of(point)).collect();
            let values = values.filter(|values| !values.is_empty())?;
            let (low, high) =
                values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
            Some((values.iter().sum::<f64>() / values.len() as f64, low, high))
        };
        let range = |figure: Option<(f64, f64, f64)>, show: fn(f64) -> String| match figure {
            None => ABSENT.to_owned(),
            Some((mean, low, high)) if runs.len() > 1 => {
                format!("{} ({} to {})", show(mean), show(low), show(high))
            }
            Some((mean, ..)) => show(mean),
        };
        let whole: fn(f64) -> String = |rate| fixed(rate, 0);
        let mut sentences = vec![format!(
            "{place}: {} operations/s, {} physical reads/s, mean {}, p99 {}; {} run{} there.",
            range(over(|point| Some(point.operations_per_s)), whole),
            range(over(|point| point.physical_reads_per_s), whole),
            range(over(|point| point.operation_mean_us), duration_us),
            range(over(|point| point.operation_p99_us), duration_us),
            runs.len(),
            if runs.len() == 1 { "" } else { "s" },
        )];
        if let Some((_, low, high)) = over(|point| point.response_p99_us) {
            sentences.push(format!(
                "p99 of response times there: {} to {}.",
                duration_us(low),
                duration_us(high)
            ));
        }
        sentences.push(self.why.clone());
        // What holds back shows best where there is most of it: at the largest number of sessions.
        if let Some(last) = self.points.iter().max_by_key(|point| (point.sessions, point.rate_per_s)) {
            let words = last.bottleneck.words();
            let most = last.rate_per_s.map(|rate| format!(" and {rate} operations/s")).unwrap_or_default();
            sentences.push(format!(
                "What limited it at {} sessions{most}: {words}. {}",
                last.sessions, last.reason
            ));
        }
        sentences
    }

    fn table(&self) -> Table {
        let open = self.points.iter().any(|point| point.rate_per_s.is_some());
        let mut table = Table::new([
            Column::right(if open { "Rate/s" } else { "Sessions" }),
            Column::right("Op/s"),
            Column::right("Reads/s"),
            Column::right("Mean"),
            Column::right("p99"),
            Column::right(if open { "p99 response" } else { "Little %" }),
            Column::left("Limited by"),
            Column::left(""),
        ]);
        let mut points: Vec<&CurvePoint> = self.points.iter().collect();
        points.sort_by_key(|point| (point.sessions, point.rate_per_s));
        for point in points {
            let marks =
                [self.is_knee(point).then_some("<- knee"), point.over_limit.then_some("over the limit")];
            table.row([
                match point.rate_per_s {
                    Some(rate) => rate.to_string(),
                    None if open => "closed loop".to_owned(),
                    None => point.sessions.to_string(),
                },
                fixed(point.operations_per_s, 1),
                or_absent(point.physical_reads_per_s, |rate| fixed(rate, 0)),
                or_absent(point.operation_mean_us, duration_us),
                or_absent(point.operation_p99_us, duration_us),
                match open {
                    true => or_absent(point.response_p99_us, duration_us),
                    false => or_absent(point.little_percent, percent),
                },
                point.bottleneck.words().to_owned(),
                marks.into_iter().flatten().collect::<Vec<_>>().join(", "),
            ]);
        }
        table
    }

    /// Whether Little's law holds, in a sentence.
    fn little(&self) -> String {
        if self.points.iter().any(|point| point.rate_per_s.is_some()) {
            return "Response time counts from the moment at which an operation was due: it grows where the rate is not kept."
                .to_owned();
        }
        let off: Vec<String> = self
            .points
            .iter()
            .filter(|point| point.little_percent.is_some_and(|share| (share - 100.0).abs() > LITTLE_PERCENT))
            .map(|point| point.sessions.to_string())
            .collect();
        let law = "Little's law: throughput x mean latency must be the number of sessions";
        match off.is_empty() {
            true => format!("{law}; it is, within {LITTLE_PERCENT} %, at every point."),
            false => format!(
                "{law}. It is not at {} sessions: these spent time outside of operations (think time, a client short \
                 of CPU), or some were not at work throughout.",
                off.join(", ")
            ),
        }
    }
}
