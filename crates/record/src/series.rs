//! The series as a table.

use std::fmt::Write;

use crate::model::Record;

const HEADER: &str = "second,width_s,measured,operations,selects,updates,scans,rows,p50_us,p99_us,max_us,\
physical_reads,logical_reads,redo_bytes,db_cpu_s,host_busy_percent,device_reads,device_read_bytes,\
device_writes,device_write_bytes,device_busy_ms,marks\n";

/// The series as comma-separated values: a row per interval, empty where nothing is known. `measured` is 1 for
/// intervals that lie wholly within the window, `marks` is what was marked in an interval.
#[must_use]
pub fn series_csv(record: &Record) -> String {
    let mut csv = String::from(HEADER);
    let width = record.series.width_s() as f64;
    for point in record.series.points() {
        let Some(interval) = point.value else { continue };
        let (second, begin) = (point.start_s, point.start_s as f64);
        let measured = record.window.is_some_and(|window| {
            begin >= window.begin_s && begin + width <= window.begin_s + window.seconds
        });
        let us = |p| interval.latency.percentile(p).map(|ns| ns as f64 / 1000.0);
        let device = interval.device;
        // Writing to a String can't fail.
        let _ = writeln!(
            csv,
            "{second},{width},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            u8::from(measured),
            interval.ops.total(),
            interval.ops.selects,
            interval.ops.updates,
            interval.ops.scans,
            interval.rows,
            cell(us(50.0)),
            cell(us(99.0)),
            cell(interval.latency.max().map(|ns| ns as f64 / 1000.0)),
            cell(interval.physical_reads),
            cell(interval.logical_reads),
            cell(interval.redo_bytes),
            cell(interval.db_cpu.map(|cpu| cpu.total_s())),
            cell(interval.host_cpu.and_then(|cpu| cpu.busy_percent())),
            cell(device.map(|device| device.reads)),
            cell(device.map(|device| device.read_bytes)),
            cell(device.map(|device| device.writes)),
            cell(device.map(|device| device.write_bytes)),
            cell(device.map(|device| device.busy_ms)),
            marks(record, begin, begin + width),
        );
    }
    csv
}

/// What was marked between two moments, quoted as RFC 4180 asks for.
fn marks(record: &Record, from_s: f64, to_s: f64) -> String {
    let within = record.marks.iter().filter(|mark| (from_s..to_s).contains(&mark.at_s));
    let texts: Vec<&str> = within.map(|mark| mark.text.as_str()).collect();
    if texts.is_empty() { String::new() } else { format!("\"{}\"", texts.join("; ").replace('"', "\"\"")) }
}

fn cell(value: Option<impl std::fmt::Display>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
