//! Tables beside the record: the series, and the list of all operations.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use slob_host::DeviceUse;
use slob_measure::OpKind;

use crate::OPERATIONS_FILE;
use crate::error::RecordError;
use crate::record::{Interval, Record};

struct Row<'a> {
    record: &'a Record,
    start_s: u64,
    interval: &'a Interval,
}

impl Row<'_> {
    fn width_s(&self) -> f64 {
        self.record.series.width_s() as f64
    }

    /// The interval lies wholly within the window.
    fn is_measured(&self) -> bool {
        let start_s = self.start_s as f64;
        self.record.window.is_some_and(|window| {
            start_s >= window.begin_s && start_s + self.width_s() <= window.begin_s + window.seconds
        })
    }

    fn percentile_us(&self, percent: f64) -> Option<f64> {
        self.interval.latency.percentile(percent).map(|ns| ns as f64 / 1000.0)
    }

    /// The precision is a thousandth.
    fn device(&self, of: fn(&DeviceUse, f64) -> Option<f64>) -> Option<String> {
        let sampled_s = self.interval.observed_s.or(self.interval.sampled_s).unwrap_or(self.width_s());
        of(&self.interval.device?, sampled_s).map(|figure| format!("{figure:.3}"))
    }

    /// RFC 4180 gives the quotes.
    fn marks(&self) -> String {
        let start_s = self.start_s as f64;
        let interval = start_s..start_s + self.width_s();
        let within = self.record.marks.iter().filter(|mark| interval.contains(&mark.at_s));
        let texts: Vec<&str> = within.map(|mark| mark.text.as_str()).collect();
        if texts.is_empty() {
            String::new()
        } else {
            format!("\"{}\"", texts.join("; ").replace('"', "\"\""))
        }
    }
}

type Column = (&'static str, fn(&Row<'_>) -> String);

const SERIES_COLUMNS: [Column; 29] = [
    ("second", |row| row.start_s.to_string()),
    ("width_s", |row| row.width_s().to_string()),
    ("measured", |row| u8::from(row.is_measured()).to_string()),
    ("operations", |row| row.interval.ops.total().to_string()),
    ("selects", |row| row.interval.ops.selects.to_string()),
    ("updates", |row| row.interval.ops.updates.to_string()),
    ("scans", |row| row.interval.ops.scans.to_string()),
    ("rows", |row| row.interval.rows.to_string()),
    ("p50_us", |row| cell(row.percentile_us(50.0))),
    ("p99_us", |row| cell(row.percentile_us(99.0))),
    ("max_us", |row| cell(row.percentile_us(100.0))),
    ("physical_reads", |row| cell(row.interval.physical_reads)),
    ("logical_reads", |row| cell(row.interval.logical_reads)),
    ("redo_bytes", |row| cell(row.interval.redo_bytes)),
    ("db_cpu_s", |row| cell(row.interval.db_cpu.map(|cpu| cpu.total_s()))),
    ("host_busy_percent", |row| cell(row.interval.host_cpu.and_then(|cpu| cpu.busy_percent()))),
    ("device_reads", |row| cell(row.interval.device.map(|device| device.reads))),
    ("device_read_bytes", |row| cell(row.interval.device.map(|device| device.read_bytes))),
    ("device_writes", |row| cell(row.interval.device.map(|device| device.writes))),
    ("device_write_bytes", |row| cell(row.interval.device.map(|device| device.write_bytes))),
    ("device_busy_ms", |row| cell(row.interval.device.map(|device| device.busy_ms))),
    ("device_queue", |row| cell(row.device(|device, sampled_s| device.mean_queue_length(sampled_s)))),
    ("device_read_await_us", |row| cell(row.device(|device, _| device.mean_read_us()))),
    ("device_write_await_us", |row| cell(row.device(|device, _| device.mean_write_us()))),
    ("device_reads_merged", |row| cell(row.interval.device.and_then(|device| device.reads_merged))),
    ("device_writes_merged", |row| cell(row.interval.device.and_then(|device| device.writes_merged))),
    ("device_read_request_bytes", |row| cell(row.device(|device, _| device.mean_read_bytes()))),
    ("device_write_request_bytes", |row| cell(row.device(|device, _| device.mean_write_bytes()))),
    ("marks", |row| row.marks()),
];

fn cell(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Has a row per interval, with empty cells for absent values. `measured` is 1 within the window.
pub fn series_csv(record: &Record) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let heads = line(SERIES_COLUMNS.map(|(name, _)| name.to_owned()).into());
    let rows = record.series.points().filter_map(|point| {
        let row = Row { record, start_s: point.start_s, interval: point.value? };
        Some(line(SERIES_COLUMNS.map(|(_, cell)| cell(&row)).into()))
    });
    std::iter::once(heads).chain(rows).collect()
}
const OPERATIONS_HEADER: &str = "session,kind,start_ns,duration_ns,rows,in_window";
/// The list ended before the run.
const NOT_WHOLE: &str = "and more";

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptOperation {
    /// Its session.
    pub session: u32,
    /// Its kind.
    pub kind: OpKind,
    /// Nanoseconds from the common start of the sessions.
    pub start_ns: u64,
    /// Service time in nanoseconds.
    pub duration_ns: u64,
    /// Rows counted or changed.
    pub rows: u64,
    /// True if it ended within the window.
    pub in_window: bool,
}

impl KeptOperation {
    fn line(&self) -> String {
        let Self { session, kind, start_ns, duration_ns, rows, in_window } = *self;
        let kind = kind.name();
        format!("{session},{kind},{start_ns},{duration_ns},{rows},{}\n", u8::from(in_window))
    }

    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [session, kind, start_ns, duration_ns, rows, in_window] = fields[..] else { return None };
        Some(Self {
            session: session.parse().ok()?,
            kind: kind.parse().ok()?,
            start_ns: start_ns.parse().ok()?,
            duration_ns: duration_ns.parse().ok()?,
            rows: rows.parse().ok()?,
            in_window: ["0", "1"].iter().position(|known| *known == in_window)? == 1,
        })
    }
}

/// Writer of the list during the run.
#[derive(Debug)]
pub struct OperationsWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl OperationsWriter {
    /// Creates the file in a run's folder.
    pub fn create(directory: &Path) -> Result<Self, RecordError> {
        let path = directory.join(OPERATIONS_FILE);
        let file = File::create(&path).map_err(RecordError::io("creating", &path))?;
        let mut writer = Self { path, file: BufWriter::new(file) };
        writer.put(&format!("{OPERATIONS_HEADER}\n"))?;
        Ok(writer)
    }

    /// Appends operations.
    pub fn write(&mut self, operations: &[KeptOperation]) -> Result<(), RecordError> {
        operations.iter().try_for_each(|operation| self.put(&operation.line()))
    }

    /// Marks the end of a list that is not `whole`.
    pub fn finish(mut self, whole: bool) -> Result<(), RecordError> {
        if !whole {
            self.put(&format!("{NOT_WHOLE}\n"))?;
        }
        self.file.flush().map_err(RecordError::io("writing", &self.path))
    }

    /// Removes the list of a run that left no record.
    pub fn remove(directory: &Path) {
        // A file that stays marks itself as incomplete.
        let _ = std::fs::remove_file(directory.join(OPERATIONS_FILE));
    }

    fn put(&mut self, text: &str) -> Result<(), RecordError> {
        self.file.write_all(text.as_bytes()).map_err(RecordError::io("writing", &self.path))
    }
}

/// Operations of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOperations {
    /// Operations of one session are in order.
    pub operations: Vec<KeptOperation>,
    /// True if the list is complete.
    pub whole: bool,
}

/// `None` if the operations were not kept. Fails on a line that this program did not write.
pub fn read_operations(directory: &Path) -> Result<Option<KeptOperations>, RecordError> {
    let path = directory.join(OPERATIONS_FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RecordError::io("opening", path)(error)),
    };
    let mut kept = KeptOperations { operations: Vec::new(), whole: true };
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(RecordError::io("reading", &path))?;
        if number == 0 && line == OPERATIONS_HEADER {
            continue;
        }
        if line == NOT_WHOLE {
            kept.whole = false;
            continue;
        }
        let operation = KeptOperation::parse(&line).ok_or_else(|| RecordError::Line {
            path: path.clone(),
            line: number + 1,
            wanted: OPERATIONS_HEADER,
        })?;
        kept.operations.push(operation);
    }
    Ok(Some(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(session: u32, kind: OpKind) -> KeptOperation {
        KeptOperation { session, kind, start_ns: 7, duration_ns: 123_456, rows: 64, in_window: session == 1 }
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_operations(folder.path()).unwrap(), None);
        let all = [operation(0, OpKind::Select), operation(1, OpKind::Update), operation(2, OpKind::Scan)];
        let mut writer = OperationsWriter::create(folder.path()).unwrap();
        writer.write(&all[..1]).unwrap();
        writer.write(&all[1..]).unwrap();
        writer.finish(true).unwrap();
        let whole = KeptOperations { operations: all.to_vec(), whole: true };
        assert_eq!(read_operations(folder.path()).unwrap(), Some(whole));
        OperationsWriter::create(folder.path()).unwrap().finish(false).unwrap();
        assert!(!read_operations(folder.path()).unwrap().unwrap().whole);
        OperationsWriter::remove(folder.path());
        assert_eq!(read_operations(folder.path()).unwrap(), None);
    }

    #[test]
    fn a_line_that_is_cut_short_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join(OPERATIONS_FILE),
            format!("{OPERATIONS_HEADER}\n0,SELECT,1,2,3,1\n0,SELECT,5,"),
        )
        .unwrap();
        let error = read_operations(folder.path()).unwrap_err().to_string();
        assert!(error.contains("line 3"), "{error}");
    }
}
