//! Facts about a server: its description, its location, its raw answers and its own reports.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use slob_measure::Setting;

use crate::{Counters, Result};

/// A database server (or embedded library), described for the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The product's name as its makers write it.
    pub product: String,
    /// Its version, in full.
    pub version: String,
    /// Size of a block.
    pub block_bytes: u32,
    /// Settings that change results, in reading order.
    pub settings: Vec<Setting>,
    /// Sentences of advice on settings that spoil an I/O test.
    pub advice: Vec<String>,
    /// True if the server's CPU verifies a checksum of each block that it reads; `None` if unknown.
    pub checks_blocks: Option<bool>,
    /// Memory of its buffer cache, if that and little more is what it needs.
    pub cache_bytes: Option<u64>,
    /// A sentence that says how reads come to bypass the page cache, where they don't.
    pub direct_io_advice: Option<String>,
    /// Step of the server's clock that times operations, in nanoseconds; `None` if this program times them, or if it is unknown.
    pub clock_step_ns: Option<NonZeroU64>,
    /// Abilities of the engine with this server.
    pub capabilities: Capabilities,
}

/// Abilities of an engine. Code asks these, never an engine's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Loaded rows can be read back; false only without a database.
    pub stores_data: bool,
    /// Several slices of one schema may be loaded at the same time.
    pub parallel_slices: bool,
    /// A table of a single slice is written once, in its final form. The same table in pieces would be rewritten at the
    /// end.
    pub whole_tables: bool,
    /// A stream of a load waits for each block that it writes.
    pub loads_wait_for_blocks: bool,
    /// The database runs inside this process and uses its CPU time.
    pub embedded: bool,
    /// A batch runs inside the server; otherwise the client sends operation by operation.
    pub batches_in_server: bool,
    /// Most blocks of consecutive SELECTs that a closed loop joins in one statement, with a duration for each; 0 if each
    /// is a statement of its own.
    pub joined_blocks: u16,
    /// A load can choose the place of its tables ([`crate::OpenSpec::tablespace`]).
    pub tablespaces: bool,
    /// Another thread can cancel a session.
    pub cancel: bool,
    /// Reads of the data bypass the page cache of the operating system; `None` if unknown.
    pub direct_io: Option<bool>,
}

/// Cumulative counters of a whole server, for all its clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTotals {
    /// Counters of all databases and sessions.
    pub counters: Counters,
    /// Seconds since its start, if it reports them.
    pub uptime_s: Option<u64>,
    /// Product and version.
    pub version: Option<String>,
    /// Size of a block.
    pub block_bytes: Option<u32>,
    /// Counters that are missing, with the reason and the remedy, in sentences.
    pub not_counted: Vec<String>,
}

/// Location of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerLocation {
    /// The first of [`crate::Engine::endpoints`] that leads to it, counted from 0.
    pub endpoint: usize,
    /// Name or address of the endpoint's host; `None` if it is reached without a network.
    pub host: Option<String>,
    /// Clues to its processes.
    pub clues: Clues,
}

impl ServerLocation {
    /// A database inside this process, with its data there.
    pub fn embedded(data: Option<PathBuf>) -> Self {
        Self { clues: Clues { pid: Some(std::process::id()), data, ..Clues::default() }, ..Self::default() }
    }
}

/// Clues to a server's processes on its host, from the server and from knowledge of the product.
///
/// Paths and numbers of processes are the server's own: a container's differ from those of its host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clues {
    /// The process in the numbers of its host: named by the user, or this program's own.
    pub pid: Option<u32>,
    /// Prefixes of the names of its processes.
    pub names: Vec<String>,
    /// Seconds from its start to the search.
    pub age_s: Option<f64>,
    /// Its listening port.
    pub port: Option<u16>,
    /// The client's port of an open connection, as the server sees it.
    pub client_port: Option<u16>,
    /// Its listening unix socket.
    pub socket: Option<PathBuf>,
    /// The file with the number of its process.
    pub pid_file: Option<PathBuf>,
    /// The process that serves a connection: a child of the server's first process, if each session has one.
    pub child: Option<u32>,
    /// True if each session has a process.
    pub has_children: bool,
    /// Path of its data. A relative path starts at its working directory.
    pub data: Option<PathBuf>,
    /// Path of its log, likewise.
    pub log: Option<PathBuf>,
    /// The advice if its process turns out to have no huge pages, where the server does not say so itself.
    pub small_pages: Option<String>,
}

impl Clues {
    /// The same after that time: a server grows older while its host is connected to.
    #[must_use]
    pub fn after(self, elapsed: Duration) -> Self {
        Self { age_s: self.age_s.map(|age_s| age_s + elapsed.as_secs_f64()), ..self }
    }
}

/// A query to a server and its raw answer, as texts. It holds names and numbers of the server, and no rows of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedAnswer {
    /// A name that stays the same while the query may change.
    pub name: String,
    /// The query.
    pub question: String,
    /// Names of the columns, if the client library has them.
    pub columns: Vec<String>,
    /// The rows; `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Time of the answer.
    pub took: Duration,
    /// The server's error.
    pub fault: Option<String>,
}

/// Columns and rows.
pub type Answer = (Vec<String>, Vec<Vec<Option<String>>>);

impl CapturedAnswer {
    /// Asks, and captures the answer or the error.
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

    /// Rows of the answer of that name; empty if it is missing, or an error.
    pub fn rows_of<'a>(all: &'a [Self], name: &str) -> &'a [Vec<Option<String>>] {
        all.iter().find(|answer| answer.name == name).map_or(&[], |answer| answer.rows.as_slice())
    }

    /// The first value of the answer of that name.
    pub fn value_of<'a>(all: &'a [Self], name: &str) -> Option<&'a str> {
        Self::rows_of(all, name).first()?.first()?.as_deref()
    }
}

/// The server's own report of a run, after its first snapshot.
pub trait ServerReport: Send {
    /// Takes the second snapshot. The sessions still work, so that the report holds no idle time.
    fn close(&mut self) -> Result<()>;

    /// Fetches the report; called after the sessions have stopped, once [`ServerReport::close`] has succeeded.
    /// Fails if nothing can be fetched. Notes name missing files.
    fn fetch(&mut self) -> Result<FetchedReport>;
}

/// A server's own report of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchedReport {
    /// The server's numbers of the two snapshots.
    pub snapshots: [u64; 2],
    /// Files for the folder of the run, in reading order.
    pub files: Vec<ReportFile>,
    /// Sentences for the record, such as the way to a report that only the server's own tools can make.
    pub notes: Vec<String>,
}

/// A file for the folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Without a folder.
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
