//! Live figures in Prometheus' text exposition format, at /metrics. Units are seconds and bytes.
//! Counters include the warm-up; gauges are of the last second.

use std::sync::{Arc, Mutex, PoisonError};

use crate::exposition::{Kind, Labels, Metrics};
use strum::VariantNames;

use crate::http::{Asked, Pages, Reply};
use crate::state::{RunState, Second, Stage};

#[derive(Clone, Debug, Default)]
pub struct Figures(Arc<Mutex<Option<RunState>>>);

impl Figures {
    pub(crate) fn set(&self, state: &RunState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(state.clone());
    }

    pub(crate) fn exposition(&self) -> String {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        state.as_ref().map(exposition).unwrap_or_default()
    }
}

impl Pages for Figures {
    fn reply(&self, asked: &Asked<'_>) -> Reply {
        match asked.path {
            "/metrics" => Reply::text("text/plain; version=0.0.4; charset=utf-8", self.exposition()),
            _ => Reply::NotFound("The figures are at /metrics."),
        }
    }
}

fn exposition(state: &RunState) -> String {
    let mut metrics = Metrics::default();
    let run = state.run_id.as_deref().unwrap_or_default();
    let labels = [("run", run), ("name", &state.name), ("target", &state.target)];
    let more = [("slob_version", env!("CARGO_PKG_VERSION")), ("status", "running")];
    metrics.begin("slob_run_info", Kind::Gauge, "A run of OpenSLOB; the value is always 1.");
    metrics.sample("slob_run_info", &[&labels[..], &more].concat(), 1);
    metrics.begin("slob_run_phase", Kind::Gauge, "1 for what the run does now, 0 for the other phases.");
    for phase in Stage::VARIANTS {
        let is_now = u8::from(state.stage.word() == *phase);
        metrics.sample("slob_run_phase", &[&labels[..], &[("phase", phase)]].concat(), is_now);
    }
    let mut gauge = |name, help, value: Option<f64>| metrics.one(name, Kind::Gauge, help, &labels, value);
    gauge("slob_run_elapsed_seconds", "Since the sessions were started.", Some(state.elapsed.as_secs_f64()));
    let left = state.left.map(|left| left.as_secs_f64()).filter(|_| state.stage != Stage::Verifying);
    gauge("slob_run_left_seconds", "Until the measured window ends.", left);
    gauge("slob_sessions", "Of a run: schemas times threads.", Some(f64::from(state.sessions)));
    gauge("slob_sessions_at_work", "Sessions that have not ended.", state.alive.map(f64::from));
    counters(&mut metrics, state, &labels);
    if let Some(now) = state.now() {
        gauges(&mut metrics, now, &labels);
    }
    metrics.into_text()
}

fn counters(metrics: &mut Metrics, state: &RunState, labels: Labels<'_>) {
    let totals = &state.totals;
    if state.history.is_empty() {
        return;
    }
    metrics.begin("slob_operations_total", Kind::Counter, "Operations that ended, the warm-up's included.");
    let kinds = [("select", totals.ops.selects), ("update", totals.ops.updates), ("scan", totals.ops.scans)];
    for (kind, count) in kinds {
        metrics.sample("slob_operations_total", &[labels, &[("operation", kind)]].concat(), count);
    }
    let mut counter = |name, help, value: Option<u64>| metrics.one(name, Kind::Counter, help, labels, value);
    counter("slob_db_physical_reads_total", "The database's counter physical_reads.", totals.physical_reads);
    counter("slob_db_logical_reads_total", "The database's counter logical_reads.", totals.logical_reads);
    counter("slob_db_redo_bytes_total", "The database's counter redo_bytes.", totals.redo_bytes);
    let device = totals.device;
    counter("slob_device_reads_total", "Reads of the device.", device.map(|of| of.reads));
    counter("slob_device_read_bytes_total", "Bytes read from the device.", device.map(|of| of.read_bytes));
    counter("slob_device_writes_total", "Writes of the device.", device.map(|of| of.writes));
    counter("slob_device_write_bytes_total", "Bytes written to the device.", device.map(|of| of.write_bytes));
    let mut seconds = |name, help, value: Option<f64>| metrics.one(name, Kind::Counter, help, labels, value);
    let busy_s = device.map(|of| of.busy_ms as f64 / 1e3);
    seconds("slob_device_busy_seconds_total", "Time in which the device had requests.", busy_s);
    let db_s = totals.db_cpu.map(|cpu| cpu.total_s());
    seconds("slob_db_cpu_seconds_total", "CPU time of the database's processes.", db_s);
    let response = "From the intended start of operations to their end.";
    let latencies = [
        ("slob_operation_duration_seconds", "Durations of operations.", &totals.latency),
        ("slob_response_duration_seconds", response, &totals.response),
    ];
    for (name, help, values) in latencies.into_iter().filter(|(_, _, values)| !values.is_empty()) {
        metrics.begin(name, Kind::Histogram, help);
        metrics.histogram(name, labels, values);
    }
}

fn gauges(metrics: &mut Metrics, now: &Second, labels: Labels<'_>) {
    let mut gauge = |name, help, value: Option<f64>| metrics.one(name, Kind::Gauge, help, labels, value);
    let last = "Of the last second.";
    gauge("slob_operations_per_second", last, Some(now.operations_per_s));
    gauge("slob_operation_p50_seconds", last, now.p50_us.map(|us| us / 1e6));
    gauge("slob_operation_p99_seconds", last, now.p99_us.map(|us| us / 1e6));
    gauge("slob_response_p99_seconds", last, now.response_p99_us.map(|us| us / 1e6));
    gauge("slob_physical_reads_per_second", last, now.physical_reads_per_s);
    gauge("slob_redo_bytes_per_second", last, now.redo_bytes_per_s);
    gauge("slob_host_busy_ratio", last, now.host_busy_percent.map(|percent| percent / 100.0));
    gauge("slob_db_cpus", last, now.db_cpus);
    gauge("slob_device_reads_per_second", last, now.device_reads_per_s);
    gauge("slob_device_busy_ratio", last, now.device_busy_percent.map(|percent| percent / 100.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::fixture;

    #[test]
    fn base_units_and_labels() {
        let text = exposition(&fixture::state(30, |_, second| second));
        let labels = r#"{run="20261120T231840Z-evening",name="evening",target="sqlite:/data/slob"}"#;
        for line in [
            format!("slob_operations_per_second{labels} 466"),
            format!("slob_operation_p99_seconds{labels} 0.066"),
            format!("slob_redo_bytes_per_second{labels} 27000000"),
            format!("slob_sessions_at_work{labels} 8"),
            format!("slob_run_left_seconds{labels} 30"),
        ] {
            assert!(text.lines().any(|said| said == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let text =
            exposition(&fixture::state(1, |_, second| Second { physical_reads_per_s: None, ..second }));
        assert!(!text.contains("slob_physical_reads_per_second"), "{text}");
        assert_eq!(Figures::default().exposition(), "");
    }
}
