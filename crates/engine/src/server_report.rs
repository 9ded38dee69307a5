//! The server's own report of a run: some products make one from two snapshots of their own counters.

use crate::EngineError;

/// A report that has begun: the server has taken its first snapshot.
pub trait ServerReport: Send {
    /// Has the server take its second snapshot. The sessions are still at work, so that the report holds no idle time.
    ///
    /// # Errors
    /// If the server can't.
    fn close(&mut self) -> Result<(), EngineError>;

    /// Fetches what the server makes of its snapshots; called when the sessions have stopped, once
    /// [`ServerReport::close`] has succeeded.
    ///
    /// # Errors
    /// If nothing can be fetched. What can't be had of several files is said in the notes.
    fn fetch(&mut self) -> Result<ServersWords, EngineError>;
}

/// What a server made of its snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServersWords {
    /// The numbers of the two snapshots, as the server counts them.
    pub snapshots: [u64; 2],
    /// Files for the folder of the run, in the order in which they should be read.
    pub files: Vec<Artefact>,
    /// Sentences for the record, such as how a report is made that only the server's own tools can make.
    pub notes: Vec<String>,
}

/// A file that an engine adds to the folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefact {
    /// Its name, without a folder.
    pub name: String,
    /// What it holds.
    pub text: String,
}
