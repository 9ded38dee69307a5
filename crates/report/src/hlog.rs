//! The HdrHistogram interval log of a run.
//!
//! The series as CSV is [`slob_record::series_csv`], which every run has beside its record.

use std::fmt::Display;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use slob_record::Record;
use slob_stats::{Histogram, bucket_index, bucket_midpoint};

use slob_facts::format::duration_us;
use slob_facts::measured::is_measured;

#[derive(Debug, thiserror::Error)]
#[error("writing the histogram of second {second}: {reason}")]
pub struct HlogError {
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

#[cfg(test)]
mod tests {
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
}
