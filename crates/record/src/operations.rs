//! Every single operation of a run, in a file beside the record: only when it was asked for.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use slob_measure::OpKind;

use crate::error::RecordError;
use crate::files::OPERATIONS_FILE;

const HEADER: &str = "session,kind,start_ns,duration_ns,rows,in_window";
/// The last line of a list that was ended before the run.
const NOT_WHOLE: &str = "and more";

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptOperation {
    /// The session that did it.
    pub session: u32,
    /// What it was.
    pub kind: OpKind,
    /// When it began, in nanoseconds after the common start.
    pub start_ns: u64,
    /// How long it took: its service time.
    pub duration_ns: u64,
    /// Rows that it counted or changed.
    pub rows: u64,
    /// Whether it ended within the window.
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

/// Writes the file while the run goes on.
#[derive(Debug)]
pub struct OperationsWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl OperationsWriter {
    /// Begins the file in a run's directory.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn create(directory: &Path) -> Result<Self, RecordError> {
        let path = directory.join(OPERATIONS_FILE);
        let file = File::create(&path).map_err(RecordError::io("creating", &path))?;
        let mut writer = Self { path, file: BufWriter::new(file) };
        writer.put(&format!("{HEADER}\n"))?;
        Ok(writer)
    }

    /// Appends operations.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn write(&mut self, operations: &[KeptOperation]) -> Result<(), RecordError> {
        operations.iter().try_for_each(|operation| self.put(&operation.line()))
    }

    /// Ends the file, which says so if the list is not `whole`.
    ///
    /// # Errors
    /// If what was held back can't be written.
    pub fn finish(mut self, whole: bool) -> Result<(), RecordError> {
        if !whole {
            self.put(&format!("{NOT_WHOLE}\n"))?;
        }
        self.file.flush().map_err(RecordError::io("writing", &self.path))
    }

    /// Removes the file from a run's directory, where there is one.
    pub fn remove(directory: &Path) {
        // One that stays is not whole, and says so by its last line.
        let _ = std::fs::remove_file(directory.join(OPERATIONS_FILE));
    }

    fn put(&mut self, text: &str) -> Result<(), RecordError> {
        self.file.write_all(text.as_bytes()).map_err(RecordError::io("writing", &self.path))
    }
}

/// The operations that were kept of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOperations {
    /// Those of a session are in order.
    pub operations: Vec<KeptOperation>,
    /// Whether these are all.
    pub whole: bool,
}

/// Reads the operations of a run's directory; `None` if they were not kept.
///
/// # Errors
/// If the file can't be read, or a line of it is none that this program wrote.
pub fn read_operations(directory: &Path) -> Result<Option<KeptOperations>, RecordError> {
    let path = directory.join(OPERATIONS_FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RecordError::io("opening", path)(error)),
    };
    let mut kept = KeptOperations { operations: Vec::new(), whole: true };
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(RecordError::io("reading", &path))?;
        if number == 0 && line == HEADER {
            continue;
        }
        if line == NOT_WHOLE {
            kept.whole = false;
            continue;
        }
        let operation = KeptOperation::parse(&line).ok_or_else(|| RecordError::Line {
            path: path.clone(),
            line: number + 1,
            wanted: HEADER,
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
            format!("{HEADER}\n0,SELECT,1,2,3,1\n0,SELECT,5,"),
        )
        .unwrap();
        let error = read_operations(folder.path()).unwrap_err().to_string();
        assert!(error.contains("line 3"), "{error}");
    }
}
