//! A run's figures for Prometheus: by the textfile collector of its node exporter, or by a push gateway.
//!
//! Base units, as its conventions ask: seconds and bytes. Names are stable. Every sample has the labels `run`, `name` and
//! `target`; there are no time stamps, because a finished run is a fact and not a moment.

use slob_measure::OpKind;
use slob_record::Record;

use super::metrics::{Kind, Labels, Metrics, name_of};
use crate::figure::{self, Figures};
use crate::info::status_word;
use crate::verdicts::verdicts_by;

/// Ends of the figures' names, the ends of the metrics' names, and what a value is multiplied by to get there.
const UNITS: [(&str, &str, f64); 6] = [
    ("_us_per_physical_read", "_seconds_per_physical_read", 1e-6),
    ("_mb_per_s", "_bytes_per_second", 1e6),
    ("_per_s", "_per_second", 1.0),
    ("_percent", "_ratio", 0.01),
    ("_us", "_seconds", 1e-6),
    ("_s", "_seconds", 1.0),
];

/// The figures of a record in the text exposition format (version 0.0.4). What is not known is left out.
#[must_use]
pub fn prometheus(record: &Record) -> String {
    let mut metrics = Metrics::default();
    let labels = [("run", record.id.as_str()), ("name", &record.name), ("target", &record.target)];
    about(&mut metrics, record, &labels);
    let known = Figures::of(record);
    figures(&mut metrics, &known, &labels);
    verdicts(&mut metrics, &known, &labels);
    counters(&mut metrics, record, &labels);
    operations(&mut metrics, record, &labels);
    latencies(&mut metrics, record, &labels);
    metrics.into_text()
}

fn about(metrics: &mut Metrics, record: &Record, labels: Labels<'_>) {
    let server = &record.server;
    let more = [
        ("product", server.product.as_str()),
        ("version", &server.version),
        ("slob_version", &record.slob_version),
        ("status", status_word(&record.status)),
    ];
    metrics.begin("slob_run_info", Kind::Gauge, "A run of OpenSLOB; the value is always 1.");
    metrics.sample("slob_run_info", &[labels, &more].concat(), 1);
    metrics.begin(
        "slob_run_start_time_seconds",
        Kind::Gauge,
        "When the sessions were started, since the epoch.",
    );
    metrics.sample("slob_run_start_time_seconds", labels, record.started.as_millisecond() as f64 / 1e3);
}

fn figures(metrics: &mut Metrics, figures: &Figures<'_>, labels: Labels<'_>) {
    // The seed tells runs apart and measures nothing.
    for figure in figure::all().filter(|figure| figure.name != figure::SEED.name) {
        let Some(value) = figure.of(figures) else { continue };
        let (name, factor) = metric_of(figure.name);
        metrics.begin(&name, Kind::Gauge, &format!("Of a run: {}.", figure.source));
        metrics.sample(&name, labels, value * factor);
    }
}

/// The name and the factor of a figure in base units.
fn metric_of(figure: &str) -> (String, f64) {
    let unit = UNITS.iter().find_map(|(end, base, factor)| Some((figure.strip_suffix(end)?, base, factor)));
    unit.map_or_else(
        || (format!("slob_{figure}"), 1.0),
        |(stem, base, factor)| (format!("slob_{stem}{base}"), *factor),
    )
}

fn verdicts(metrics: &mut Metrics, figures: &Figures<'_>, labels: Labels<'_>) {
    let name = "slob_verdict";
    metrics.begin(name, Kind::Gauge, "A verdict; the label says which and what, the value is always 1.");
    for verdict in verdicts_by(figures) {
        let question = verdict.question.title().trim_end_matches('?');
        let more = [("question", question), ("answer", verdict.answer.word())];
        metrics.sample(name, &[labels, &more].concat(), 1);
    }
}

fn counters(metrics: &mut Metrics, record: &Record, labels: Labels<'_>) {
    if record.window.is_none() {
        return;
    }
    for (counter, value) in record.counters.iter() {
        let counter = counter.name();
        let name = format!("slob_db_{}_total", name_of(counter));
        metrics.begin(
            &name,
            Kind::Counter,
            &format!("The database's counter {counter}, of the measured window."),
        );
        metrics.sample(&name, labels, value);
    }
}

fn operations(metrics: &mut Metrics, record: &Record, labels: Labels<'_>) {
    if record.window.is_none() {
        return;
    }
    let name = "slob_operation_duration_seconds";
    metrics.begin(name, Kind::Histogram, "Durations of the operations that ended in the measured window.");
    for (kind, figures) in &record.operations {
        let kind = match kind {
            OpKind::Select => "select",
            OpKind::Update => "update",
            OpKind::Scan => "scan",
        };
        metrics.histogram(name, &[labels, &[("operation", kind)]].concat(), &figures.latency);
    }
}

fn latencies(metrics: &mut Metrics, record: &Record, labels: Labels<'_>) {
    if record.window.is_none() {
        return;
    }
    for (kind, values) in record.latencies.iter() {
        let latency = kind.name();
        let name = format!("slob_db_{}_duration_seconds", name_of(latency));
        metrics.begin(
            &name,
            Kind::Histogram,
            &format!("{latency}, as the database timed it in the measured window."),
        );
        metrics.histogram(&name, labels, &values.histogram);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use std::collections::BTreeSet;

    #[test]
    fn names_carry_base_units() {
        assert_eq!(metric_of("operation_p99_us"), ("slob_operation_p99_seconds".into(), 1e-6));
        assert_eq!(metric_of("db_cpu_us_per_physical_read").0, "slob_db_cpu_seconds_per_physical_read");
        assert_eq!(metric_of("redo_mb_per_s"), ("slob_redo_bytes_per_second".into(), 1e6));
        assert_eq!(metric_of("operations_per_s"), ("slob_operations_per_second".into(), 1.0));
        assert_eq!(metric_of("host_busy_percent"), ("slob_host_busy_ratio".into(), 0.01));
        assert_eq!(metric_of("window_s"), ("slob_window_seconds".into(), 1.0));
        assert_eq!(metric_of("sessions"), ("slob_sessions".into(), 1.0));
    }

    #[test]
    fn every_metric_is_begun_once_and_its_samples_follow() {
        for record in [
            fixture::direct_read_run(),
            fixture::page_cache_run(),
            fixture::update_run(),
            fixture::failed_run(),
        ] {
            let text = prometheus(&record);
            let mut begun = BTreeSet::new();
            let mut last = String::new();
            for line in text.lines() {
                if let Some(rest) = line.strip_prefix("# TYPE ") {
                    last = rest.split(' ').next().unwrap().to_owned();
                    assert!(begun.insert(last.clone()), "{last} is begun twice");
                } else if !line.starts_with('#') {
                    let name = line.split(['{', ' ']).next().unwrap();
                    let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
                    assert!(name == last || base == Some(last.as_str()), "{line} does not follow {last}");
                }
            }
        }
    }

    #[test]
    fn buckets_are_cumulative_and_end_with_all() {
        let record = fixture::update_run();
        let text = prometheus(&record);
        let counts: Vec<u64> = text
            .lines()
            .filter(|line| {
                line.starts_with("slob_operation_duration_seconds_bucket") && line.contains("\"update\"")
            })
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(counts.len(), crate::export::metrics::BOUNDS_US.len() + 1);
        assert!(counts.is_sorted());
        assert_eq!(counts.last(), Some(&7_200));
    }

    #[test]
    fn what_is_not_known_is_left_out_and_labels_can_not_break_a_line() {
        let mut record = fixture::failed_run();
        record.target = "a\"b\\c\nd".into();
        let text = prometheus(&record);
        assert!(
            !text.contains("slob_physical_reads_per_second") && text.contains("status=\"failed\""),
            "{text}"
        );
        assert!(text.contains(r#"target="a\"b\\c\nd""#), "{text}");
    }
}
