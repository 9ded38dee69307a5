//! A run as HdrHistogram interval log and in Prometheus' text exposition format.

use std::fmt::{Display, Write};
use std::num::NonZeroU64;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use slob_record::Record;
use slob_stats::{Histogram, bucket_index, bucket_midpoint};

use crate::info::status_word;
use slob_facts::format::duration_us;
use slob_facts::measured::is_measured;
use slob_facts::{Run, figure};

#[derive(Debug, thiserror::Error)]
#[error("writing the histogram of second {second}: {reason}")]
pub struct HlogError {
    /// Seconds since the sessions' start.
    second: u64,
    reason: String,
}

/// The latency of operations as an HdrHistogram interval log, version 1.3, with V2 compressed histograms.
///
/// Values are nanoseconds, and Interval_Max is milliseconds, as its tools expect. Intervals not wholly within the window have a
/// tag, so that tools can leave them out.
pub fn hlog(record: &Record) -> Result<String, HlogError> {
    let failed = |second: u64, reason: &dyn Display| HlogError { second, reason: reason.to_string() };
    // A line of the header must stay one.
    let id = record.id.replace(['\n', '\r'], " ");
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut header = IntervalLogWriterBuilder::new();
    header
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!("[Logged with OpenSLOB {}: run {id}]", record.slob_version))
        .add_comment("[Values are operation latencies in nanoseconds; Interval_Max is in milliseconds]")
        .with_start_time(SystemTime::from(record.started))
        .with_max_value_divisor(1e6);
    let step = record.operations.values().filter_map(|kind| kind.latency.clock_step()).max();
    if let Some(step) = step {
        let step = duration_us(step.get() as f64 / 1e3);
        header.add_comment(&format!(
            "[The clock steps by {step}: values below are known as such, not by how much]"
        ));
    }
    let mut writer = header.begin_log_with(&mut log, &mut serializer).map_err(|error| failed(0, &error))?;
    let width = Duration::from_secs(record.series.width_s());
    for point in record.series.points() {
        let latency = point.value.map(|interval| &interval.latency);
        let Some(latency) = latency.filter(|latency| !latency.is_empty()) else { continue };
        let tag = if is_measured(record, point.start_s) { None } else { Tag::new("outside_window") };
        let encoded = hdr(latency).map_err(|error| failed(point.start_s, &error))?;
        writer
            .write_histogram(&encoded, Duration::from_secs(point.start_s), width, tag)
            .map_err(|error| failed(point.start_s, &error))?;
    }
    String::from_utf8(log).map_err(|error| failed(0, &error))
}

/// Uses each bucket's midpoint, and the smallest and largest value exactly.
fn hdr(latency: &Histogram) -> Result<Hdr<u64>, Box<dyn std::error::Error>> {
    /// Finer than the buckets of a record, so that nothing is lost.
    const SIGNIFICANT_DIGITS: u8 = 3;
    let (Some(min), Some(max)) = (latency.min(), latency.max()) else {
        return Ok(Hdr::new(SIGNIFICANT_DIGITS)?);
    };
    let mut hdr = Hdr::new_with_max(max.max(2), SIGNIFICANT_DIGITS)?;
    hdr.record(min)?;
    // All values beyond the range of the record's buckets get the largest value.
    let at_max = latency.beyond_range().max(1).min(latency.count() - 1);
    hdr.record_n(max, at_max)?;
    for (low, _, count) in latency.buckets() {
        let index = bucket_index(low);
        let ends =
            u64::from(index == bucket_index(min)) + if index == bucket_index(max) { at_max } else { 0 };
        hdr.record_n(bucket_midpoint(index).clamp(min, max), count.saturating_sub(ends))?;
    }
    Ok(hdr)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    Gauge,
    Counter,
    Histogram,
}

pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// 1, 2 and 5 of each power of ten from 10 us to 100 s.
fn bounds_us() -> impl Iterator<Item = u64> {
    let bounds = (1..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    bounds.take_while(|us| *us <= 100_000_000)
}

/// Prometheus' text exposition format, version 0.0.4.
#[derive(Debug, Default)]
pub struct Metrics {
    text: String,
}

impl Metrics {
    pub fn begin(&mut self, name: &str, kind: Kind, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a String can't fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub fn one(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        labels: Labels<'_>,
        value: Option<impl Display>,
    ) {
        if let Some(value) = value {
            self.begin(name, kind, help);
            self.sample(name, labels, value);
        }
    }

    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let pairs: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    /// Nanoseconds become seconds. The first bucket holds all below the step of the clock.
    pub fn histogram(&mut self, name: &str, labels: Labels<'_>, values: &Histogram) {
        let step_ns = values.clock_step().map_or(0, NonZeroU64::get);
        let finite = bounds_us()
            .filter(|us| us * 1_000 >= step_ns)
            .map(|us| ((us as f64 / 1e6).to_string(), values.count_in(0, us * 1_000)));
        for (bound, count) in finite.chain([("+Inf".to_owned(), values.count())]) {
            self.sample(&format!("{name}_bucket"), &[labels, &[("le", &bound)]].concat(), count);
        }
        self.sample(&format!("{name}_sum"), labels, values.sum() as f64 / 1e9);
        self.sample(&format!("{name}_count"), labels, values.count());
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

fn name_of(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// The figures of a record for Prometheus. Names are stable; units are base units, as its conventions ask.
/// There are no time stamps: a finished run is no moment.
pub fn prometheus(record: &Record) -> String {
    let mut metrics = Metrics::default();
    let labels = [("run", record.id.as_str()), ("name", &record.name), ("target", &record.target)];
    let figures = Run::of(record);
    let more = [
        ("product", record.server.product.as_str()),
        ("version", &record.server.version),
        ("slob_version", &record.slob_version),
        ("status", status_word(&record.status)),
    ];
    let help = "A run of OpenSLOB; the value is always 1.";
    metrics.one("slob_run_info", Kind::Gauge, help, &[&labels[..], &more].concat(), Some(1));
    let (name, help) = ("slob_run_start_time_seconds", "When the sessions were started, since the epoch.");
    metrics.one(name, Kind::Gauge, help, &labels, Some(record.started.as_millisecond() as f64 / 1e3));
    // The seed tells runs apart and measures nothing.
    for figure in figure::ALL.iter().filter(|figure| figure.name != figure::SEED.name) {
        let (name, factor) = in_base_units(figure.name);
        let value = figure.of(&figures).map(|value| value * factor);
        metrics.one(&name, Kind::Gauge, &format!("Of a run: {}.", figure.source), &labels, value);
    }
    let (name, help) = ("slob_verdict", "A verdict; the label says which and what, the value is always 1.");
    metrics.begin(name, Kind::Gauge, help);
    for verdict in figures.verdicts() {
        let question = verdict.question.title().trim_end_matches('?');
        let more = [("question", question), ("answer", verdict.answer.word())];
        metrics.sample(name, &[&labels[..], &more].concat(), 1);
    }
    if record.window.is_some() {
        window(&mut metrics, record, &labels);
    }
    metrics.into_text()
}

pub(crate) fn in_base_units(figure: &str) -> (String, f64) {
    const UNITS: [(&str, &str, f64); 6] = [
        ("_us_per_physical_read", "_seconds_per_physical_read", 1e-6),
        ("_mb_per_s", "_bytes_per_second", 1e6),
        ("_per_s", "_per_second", 1.0),
        ("_percent", "_ratio", 0.01),
        ("_us", "_seconds", 1e-6),
        ("_s", "_seconds", 1.0),
    ];
    let unit = UNITS.iter().find_map(|(end, base, factor)| Some((figure.strip_suffix(end)?, base, factor)));
    unit.map_or_else(
        || (format!("slob_{figure}"), 1.0),
        |(stem, base, factor)| (format!("slob_{stem}{base}"), *factor),
    )
}

fn window(metrics: &mut Metrics, record: &Record, labels: Labels<'_>) {
    for (counter, value) in record.counters.iter() {
        let counter = counter.name();
        let name = format!("slob_db_{}_total", name_of(counter));
        let help = format!("The database's counter {counter}, of the measured window.");
        metrics.one(&name, Kind::Counter, &help, labels, Some(value));
    }
    let name = "slob_operation_duration_seconds";
    metrics.begin(name, Kind::Histogram, "Durations of the operations that ended in the measured window.");
    for (kind, figures) in &record.operations {
        let kind = kind.name().to_lowercase();
        metrics.histogram(name, &[labels, &[("operation", &kind)]].concat(), &figures.latency);
    }
    for (kind, values) in record.latencies.iter() {
        let latency = kind.name();
        let name = format!("slob_db_{}_duration_seconds", name_of(latency));
        let help = format!("{latency}, as the database timed it in the measured window.");
        metrics.begin(&name, Kind::Histogram, &help);
        metrics.histogram(&name, labels, &values.histogram);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;
    use slob_testing::records;

    #[test]
    fn the_log_names_its_version_unit_and_start_and_tags_the_warm_up() {
        let record = records::direct_read_run();
        let log = hlog(&record).unwrap();
        let head: Vec<&str> = log.lines().take_while(|line| line.starts_with('#')).collect();
        assert_eq!(head[0], "#[Histogram log format version 1.3]");
        assert!(head.iter().any(|line| line.contains("nanoseconds")));
        assert!(head.iter().any(|line| line.starts_with("#[StartTime: 1795171500.000")), "{head:?}");
        let lines: Vec<&str> = log.lines().filter(|line| !line.starts_with('#')).collect();
        let tagged = lines.iter().filter(|line| line.starts_with("Tag=outside_window,")).count();
        // 72 s, of which 59 lie wholly within the window of 10.25 to 70.25 s.
        assert_eq!((lines.len(), tagged), (72, 13), "{log}");
        assert!(lines[11].starts_with("11.000,1.000,"), "{}", lines[11]);
    }

    #[test]
    fn the_log_of_a_run_without_a_window_is_a_header() {
        let log = hlog(&records::failed_run()).unwrap();
        assert!(log.lines().all(|line| line.starts_with('#')), "{log}");
    }

    proptest! {
        #[test]
        fn counts_and_percentiles_survive(values in prop::collection::vec(0_u64..1 << 50, 1..300)) {
            let mut latency = Histogram::new();
            values.iter().for_each(|ns| latency.record(*ns));
            let hdr = hdr(&latency).unwrap();
            prop_assert_eq!(hdr.len(), latency.count());
            for percent in [0.0, 50.0, 90.0, 99.0, 100.0] {
                let ours = latency.percentile(percent).unwrap() as f64;
                let theirs = hdr.value_at_percentile(percent) as f64;
                prop_assert!((ours - theirs).abs() <= 1.0 + 1e-3 * ours, "{} {} {}", percent, ours, theirs);
            }
        }
    }

    #[test]
    fn names_of_metrics_have_base_units() {
        assert_eq!(in_base_units("operation_p99_us"), ("slob_operation_p99_seconds".into(), 1e-6));
        assert_eq!(in_base_units("db_cpu_us_per_physical_read").0, "slob_db_cpu_seconds_per_physical_read");
        assert_eq!(in_base_units("redo_mb_per_s"), ("slob_redo_bytes_per_second".into(), 1e6));
        assert_eq!(in_base_units("operations_per_s"), ("slob_operations_per_second".into(), 1.0));
        assert_eq!(in_base_units("host_busy_percent"), ("slob_host_busy_ratio".into(), 0.01));
        assert_eq!(in_base_units("window_s"), ("slob_window_seconds".into(), 1.0));
        assert_eq!(in_base_units("sessions"), ("slob_sessions".into(), 1.0));
    }

    #[test]
    fn every_metric_is_begun_once_and_its_samples_follow() {
        for record in [
            records::direct_read_run(),
            records::page_cache_run(),
            records::update_run(),
            records::failed_run(),
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
        let record = records::update_run();
        let text = prometheus(&record);
        let counts: Vec<u64> = text
            .lines()
            .filter(|line| {
                line.starts_with("slob_operation_duration_seconds_bucket") && line.contains("\"update\"")
            })
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(
            (bounds_us().count(), bounds_us().next(), bounds_us().last()),
            (22, Some(10), Some(100_000_000))
        );
        assert_eq!(counts.len(), bounds_us().count() + 1);
        assert!(counts.is_sorted());
        assert_eq!(counts.last(), Some(&7_200));
    }

    #[test]
    fn unknown_figures_are_left_out_and_labels_do_not_break_a_line() {
        let mut record = records::failed_run();
        record.target = "a\"b\\c\nd".into();
        let text = prometheus(&record);
        assert!(
            !text.contains("slob_physical_reads_per_second") && text.contains("status=\"failed\""),
            "{text}"
        );
        assert!(text.contains(r#"target="a\"b\\c\nd""#), "{text}");
    }
}
