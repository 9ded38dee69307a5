//! The HdrHistogram interval log, version 1.3: read by HistogramLogProcessor, HistogramLogAnalyzer and the libraries
//! of a dozen languages.
//!
//! Values are nanoseconds, which is what these tools take them for: they divide by a million to show milliseconds. The
//! column Interval_Max is in milliseconds for the same reason.

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use slob_record::Record;
use slob_stats::{Histogram, bucket_index, bucket_midpoint};

use crate::window::is_measured;

/// Three significant digits: finer than the buckets of a record, so that nothing is lost on the way.
const SIGNIFICANT_DIGITS: u8 = 3;
/// Nanoseconds of a millisecond, the unit of Interval_Max.
const MAX_DIVISOR: f64 = 1e6;
/// The tag of intervals that do not lie wholly within the window. Tools leave tagged lines out unless they are asked.
const OUTSIDE: &str = "outside_window";

/// Why a log can't be written.
#[derive(Debug, thiserror::Error)]
#[error("writing the histogram of second {second}: {reason}")]
pub struct HlogError {
    /// First second of the interval, from the sessions' start.
    second: u64,
    reason: String,
}

/// The latency of operations as an HdrHistogram interval log: a V2 compressed histogram for each interval of the
/// series in which operations ended. Times are seconds since the start of the sessions, which the header gives.
///
/// # Errors
/// If a histogram can't be encoded.
pub fn hlog(record: &Record) -> Result<String, HlogError> {
    let failed =
        |second: u64, reason: &dyn std::fmt::Display| HlogError { second, reason: reason.to_string() };
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut header = IntervalLogWriterBuilder::new();
    header
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!("[Logged with OpenSLOB {}: run {}]", record.slob_version, one_line(&record.id)))
        .add_comment("[Values are operation latencies in nanoseconds; Interval_Max is in milliseconds]")
        .with_start_time(SystemTime::from(record.started))
        .with_max_value_divisor(MAX_DIVISOR);
    let mut writer = header.begin_log_with(&mut log, &mut serializer).map_err(|error| failed(0, &error))?;
    let width = Duration::from_secs(record.series.width_s());
    for point in record.series.points() {
        let Some(latency) =
            point.value.map(|interval| &interval.latency).filter(|latency| !latency.is_empty())
        else {
            continue;
        };
        let tag = if is_measured(record, point.start_s) { None } else { Tag::new(OUTSIDE) };
        let encoded = hdr(latency).map_err(|error| failed(point.start_s, &error))?;
        writer
            .write_histogram(&encoded, Duration::from_secs(point.start_s), width, tag)
            .map_err(|error| failed(point.start_s, &error))?;
    }
    String::from_utf8(log).map_err(|error| failed(0, &error))
}

/// The same values in the other histogram: each bucket's midpoint, and the smallest and the largest value exactly.
fn hdr(latency: &Histogram) -> Result<Hdr<u64>, Box<dyn std::error::Error>> {
    let (Some(min), Some(max)) = (latency.min(), latency.max()) else {
        return Ok(Hdr::new(SIGNIFICANT_DIGITS)?);
    };
    let mut hdr = Hdr::new_with_max(max.max(2), SIGNIFICANT_DIGITS)?;
    hdr.record(min)?;
    // Values beyond the range of the record's buckets count as the largest, which is the only one known of them.
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

/// A header line must stay one.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use proptest::prelude::*;

    #[test]
    fn the_log_names_its_version_unit_and_start_and_tags_the_warm_up() {
        let record = fixture::direct_read_run();
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
    fn a_run_without_a_window_has_a_header_only() {
        let log = hlog(&fixture::failed_run()).unwrap();
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
}
