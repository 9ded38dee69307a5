//! Facts about a server.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use slob_measure::Setting;

use crate::{Counters, Result};

/// A server or embedded library, for the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The makers' spelling.
    pub product: String,
    /// The full version.
    pub version: String,
    /// Size of a block.
    pub block_bytes: u32,
    /// Settings in reading order.
    pub settings: Vec<Setting>,
    /// Advice on settings that spoil an I/O test.
    pub advice: Vec<String>,
    /// True if the server verifies a checksum of each block; `None` if unknown.
    pub checks_blocks: Option<bool>,
    /// Its buffer cache, if it needs little more memory.
    pub cache_bytes: Option<u64>,
    /// A way past the page cache.
    pub direct_io_advice: Option<String>,
    /// Step of the clock of operations; `None` if this program times them, or if unknown.
    pub clock_step_ns: Option<NonZeroU64>,
    /// Abilities of the engine with this server.
    pub capabilities: Capabilities,
}

/// Abilities of an engine. Code asks these, never an engine's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// False only without a database.
    pub stores_data: bool,
    /// Slices of one schema may load at once.
    pub parallel_slices: bool,
    /// A table of one slice is written once. In pieces it would be rewritten at the end.
    pub whole_tables: bool,
    /// A stream of a load waits for each block.
    pub loads_wait_for_blocks: bool,
    /// Runs inside this process, on its CPU time.
    pub embedded: bool,
    /// Otherwise the client sends operation by operation.
    pub batches_in_server: bool,
    /// Most blocks of SELECTs joined in one statement of a closed loop; 0 if none.
    pub joined_blocks: u16,
    /// A load can choose [`crate::OpenSpec::tablespace`].
    pub tablespaces: bool,
    /// Another thread can cancel a session.
    pub cancel: bool,
    /// Reads bypass the page cache; `None` if unknown.
    pub direct_io: Option<bool>,
}

/// Cumulative counters, for all clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTotals {
    /// Counters of all databases and sessions.
    pub counters: Counters,
    /// `None` if it does not report its start.
    pub uptime_s: Option<u64>,
    /// Product and version.
    pub version: Option<String>,
    /// Size of a block.
    pub block_bytes: Option<u32>,
    /// Missing counters, with reason and remedy.
    pub not_counted: Vec<String>,
}

/// Location of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerLocation {
    /// The first of [`crate::Engine::endpoints`], from 0.
    pub endpoint: usize,
    /// `None` if it is reached without a network.
    pub host: Option<String>,
    /// Clues to its processes.
    pub clues: Clues,
}

impl ServerLocation {
    /// This process has the database and its data.
    pub fn embedded(data: Option<PathBuf>) -> Self {
        Self { clues: Clues { pid: Some(std::process::id()), data, ..Clues::default() }, ..Self::default() }
    }
}

/// Clues to a server's processes, in the server's own paths and numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clues {
    /// The number on its host.
    pub pid: Option<u32>,
    /// Prefixes of process names.
    pub names: Vec<String>,
    /// Seconds from its start to the search.
    pub age_s: Option<f64>,
    /// Listening port.
    pub port: Option<u16>,
    /// The client's port of a connection.
    pub client_port: Option<u16>,
    /// Listening unix socket.
    pub socket: Option<PathBuf>,
    /// Holds the number of its process.
    pub pid_file: Option<PathBuf>,
    /// A child of the server's first process that serves a connection.
    pub child: Option<u32>,
    /// True if each session has a process.
    pub has_children: bool,
    /// Relative paths start at its working directory.
    pub data: Option<PathBuf>,
    /// Relative paths start at its working directory.
    pub log: Option<PathBuf>,
    /// Files of the log, and folders with nothing else; some may be missing. Relative paths start there too.
    pub log_files: Vec<PathBuf>,
    /// Advice if its process has no huge pages.
    pub small_pages: Option<String>,
}

impl Clues {
    /// The server grows older while its host is reached.
    #[must_use]
    pub fn after(self, elapsed: Duration) -> Self {
        Self { age_s: self.age_s.map(|age_s| age_s + elapsed.as_secs_f64()), ..self }
    }
}

/// A query and its raw answer, without rows of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedAnswer {
    /// Stays the same while the query may change.
    pub name: String,
    /// The query.
    pub question: String,
    /// Empty if the client library lacks them.
    pub columns: Vec<String>,
    /// `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Time of the answer.
    pub took: Duration,
    /// The server's error.
    pub fault: Option<String>,
}

/// Columns and rows.
pub type Answer = (Vec<String>, Vec<Vec<Option<String>>>);

impl CapturedAnswer {
    /// Captures the answer or the error.
    pub fn ask<E: ToString>(name: &str, question: &str, ask: impl FnOnce(&str) -> Result<Answer, E>) -> Self {
        let begun = Instant::now();
        let answer = ask(question);
        let took = begun.elapsed();
        let (columns, rows, fault) = match answer {
            Ok((columns, rows)) => (columns, rows, None),
            Err(error) => (Vec::new(), Vec::new(), Some(error.to_string())),
        };
        Self { name: name.into(), question: question.into(), columns, rows, took, fault }
    }

    /// Empty if the answer is missing, or an error.
    pub fn rows_of<'a>(all: &'a [Self], name: &str) -> &'a [Vec<Option<String>>] {
        all.iter().find(|answer| answer.name == name).map_or(&[], |answer| answer.rows.as_slice())
    }

    /// The first value of that answer.
    pub fn value_of<'a>(all: &'a [Self], name: &str) -> Option<&'a str> {
        Self::rows_of(all, name).first()?.first()?.as_deref()
    }
}

/// The server's own report, after its first snapshot.
pub trait ServerReport: Send {
    /// Takes the second snapshot while sessions still work.
    fn close(&mut self) -> Result<()>;

    /// Fetches it after the sessions and [`ServerReport::close`]. Notes name missing files.
    fn fetch(&mut self) -> Result<FetchedReport>;
}

/// A server's own report of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchedReport {
    /// Numbers of the two snapshots.
    pub snapshots: [u64; 2],
    /// Files in reading order.
    pub files: Vec<ReportFile>,
    /// Notes on reports that need the server's own tools.
    pub notes: Vec<String>,
}

/// A file for the folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// The name has no folder.
    pub name: String,
    /// Its content.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_and_an_error_are_captured() {
        let row = vec![Some("19.24".to_owned()), None];
        let sound = CapturedAnswer::ask("version", "SELECT v", |_| {
            Ok::<_, String>((vec!["v".into(), "w".into()], vec![row.clone()]))
        });
        let refused = CapturedAnswer::ask("io", "SELECT x", |_| Err::<Answer, _>("ORA-00942"));
        let all = [sound, refused];
        assert_eq!(CapturedAnswer::value_of(&all, "version"), Some("19.24"));
        assert_eq!(CapturedAnswer::rows_of(&all, "io").len(), 0);
        assert_eq!(all[1].fault.as_deref(), Some("ORA-00942"));
        assert_eq!(CapturedAnswer::value_of(&all, "nothing"), None);
    }

    #[test]
    fn a_server_ages_while_its_host_is_connected_to() {
        let clues = Clues { age_s: Some(600.0), ..Clues::default() };
        assert_eq!(clues.after(Duration::from_secs(44)).age_s, Some(644.0));
        assert_eq!(Clues::default().after(Duration::from_secs(44)).age_s, None);
    }
}
