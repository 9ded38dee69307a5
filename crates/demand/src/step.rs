//! A run of a search: its figures, its latencies, and the limit that it broke.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use slob_facts::format::{fixed, plural};
use slob_facts::measured::{OfferedLoad, mean_rate};
use slob_facts::verdicts::spoiled_by_others;
use slob_facts::{Bottleneck, Grade, Judged, Lead, Question, Run, figure, verdicts};
use slob_record::{Record, ServerRecord};

use crate::knee::CurvePoint;
use crate::limits::{Break, HeadroomLimit};
use crate::{Figures, Histograms, runs};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeadroomStep {
    pub factor: f64,
    pub run: String,
    pub rate: u32,
    pub sessions: u32,
    /// Share of the rate that was done.
    pub kept_percent: f64,
    /// False if less was done than chance explains.
    pub rate_kept: bool,
    pub figures: Figures,
    /// In microseconds, by the names of figures.
    pub latencies: BTreeMap<String, f64>,
    #[serde(default)]
    pub leads: Lead,
    /// Empty if the target measures no waits.
    #[serde(skip)]
    pub histograms: Histograms,
    pub broke: Option<Break>,
    pub spoiled: Option<String>,
    pub not_counted: Option<NotCounted>,
    pub bottleneck: Option<Bottleneck>,
    pub reason: String,
    pub verdicts: Vec<Judged>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Environment {
    pub at: Timestamp,
    pub server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Environment {
    pub fn of(record: &Record) -> Self {
        let host = record.host.as_ref().map(|host| {
            let cpus = host.info.cpus_online.map(|cpus| plural(u64::from(cpus), "CPU"));
            let parts = cpus.into_iter().chain(host.info.cpu_model.clone());
            format!("{} ({})", host.info.hostname, parts.collect::<Vec<_>>().join(", "))
        });
        let ServerRecord { product, version, .. } = &record.server;
        Self { at: record.started, server: format!("{product} {version}"), host }
    }

    pub fn words(&self) -> String {
        let at = self.at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string();
        let host = self.host.as_ref().map(|host| format!(", seen from {host}")).unwrap_or_default();
        format!("{}{host}, {at}", self.server)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotCounted {
    Cached,
    /// Others spoiled it, and it was repeated.
    Repeated,
}

impl HeadroomStep {
    /// Reads from the page cache count with `count_cached`. `None` without throughput.
    pub fn of(record: &Record, factor: f64, count_cached: bool) -> Option<Self> {
        let point = CurvePoint::of(record, false)?;
        let rate = mean_rate(record).unwrap_or(0) as u32;
        let is_late = OfferedLoad::of(record).is_some_and(|load| load.is_missed());
        let step = Self {
            factor,
            run: record.id.clone(),
            rate,
            sessions: record.workload.sessions(),
            kept_percent: 100.0 * point.operations_per_s / f64::from(rate.max(1)),
            rate_kept: !is_late,
            figures: runs::figures(record),
            latencies: latencies(&Run::of(record)),
            leads: point.leads,
            histograms: runs::histograms(record),
            broke: None,
            spoiled: spoiled_by_others(record, &verdicts(record)),
            not_counted: None,
            bottleneck: Some(point.bottleneck),
            reason: point.reason,
            verdicts: point.verdicts,
        };
        let not_counted = (step.is_cached() && !count_cached).then_some(NotCounted::Cached);
        Some(Self { not_counted, ..step })
    }

    pub fn latency(&self, column: &str) -> Option<f64> {
        self.latencies.get(column).copied()
    }

    /// Latencies come before the rate.
    pub fn judge(&mut self, limits: &[HeadroomLimit]) {
        let latency = limits.iter().find_map(|limit| limit.broken_by(self));
        let rate = Break::Rate { kept_percent: self.kept_percent, rate: self.rate };
        self.broke = latency.or((!self.rate_kept).then_some(rate));
    }

    pub fn outcome(&self) -> String {
        let outcome = match (self.not_counted, &self.broke) {
            (Some(NotCounted::Cached), _) => return "does not count".to_owned(),
            (Some(NotCounted::Repeated), _) => return "repeated: spoiled by others".to_owned(),
            (None, Some(broke)) => broke.words(),
            (None, None) => "held".to_owned(),
        };
        if self.spoiled.is_some() { format!("{outcome} (spoiled by others)") } else { outcome }
    }

    /// True also if `--count-cached` counts it.
    pub fn is_cached(&self) -> bool {
        self.verdicts.iter().any(|bad| bad.question == Question::Physical && bad.answer == Grade::Bad)
    }

    pub fn why_cached(&self) -> Option<String> {
        let physical = self.verdicts.iter().find(|verdict| verdict.question == Question::Physical);
        let sentence = physical.filter(|_| self.not_counted == Some(NotCounted::Cached))?.sentence.as_str();
        Some(format!("its reads were not physical: {sentence} --count-cached counts them nevertheless."))
    }
}

pub(crate) fn latencies(run: &Run) -> BTreeMap<String, f64> {
    let latencies = figure::ALL.iter().filter(|figure| figure.unit == "us");
    latencies.filter_map(|figure| Some((figure.name.to_owned(), figure.of(run)?))).collect()
}

/// Three digits, the precision of a step.
pub fn times(factor: f64) -> String {
    let decimals = if factor < 1.0 { 3 } else { usize::from(factor < 10.0) + usize::from(factor < 100.0) };
    let text = fixed(factor, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
