//! Errors of saving and reading.

use std::io;
use std::path::PathBuf;

/// Why a record could not be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system said no.
    #[error("{step} {}: {source}", path.display())]
    Io {
        /// What was being done, such as "reading".
        step: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not a record.
    #[error("{} is not a run record: {source}", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it, with line and column.
        source: serde_json::Error,
    },
    /// A line of a table is none that this program wrote.
    #[error("{}, line {line}: not of the form {wanted}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What a line holds.
        wanted: &'static str,
    },
    /// The file was written by a later release.
    #[error(
        "{} has record version {found}; this release reads versions up to {known}: use a newer one",
        path.display()
    )]
    Version {
        /// Which file.
        path: PathBuf,
        /// The version found.
        found: u64,
        /// The latest version known here.
        known: u32,
    },
    /// Several runs fit.
    #[error("'{name}' fits {} runs: {}; give more of its name", ids.len(), few(ids))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The runs that fit, oldest first.
        ids: Vec<String>,
    },
    /// There are fewer runs than that.
    #[error("'{name}' goes too far back: {} holds only {count} runs", path.display())]
    TooFarBack {
        /// What was asked for.
        name: String,
        /// How many runs there are.
        count: usize,
        /// Where they are.
        path: PathBuf,
    },
    /// A folder without runs.
    #[error("{} holds no runs: neither it nor any folder in it has a {}", path.display(), crate::RUN_FILE)]
    NoRuns {
        /// Which folder.
        path: PathBuf,
    },
    /// Nothing to mark.
    #[error("no run{} is under way in {}{}; --results-dir names the folder of another one",
        run.as_ref().map(|run| format!(" '{run}'")).unwrap_or_default(), path.display(),
        if ids.is_empty() { String::new() } else { format!(" (but {})", few(ids)) })]
    NotUnderWay {
        /// The run that was asked for.
        run: Option<String>,
        /// Those that are under way.
        ids: Vec<String>,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Several runs could be meant.
    #[error("{} runs are under way: {}; name one with --run", ids.len(), few(ids))]
    SeveralUnderWay {
        /// Which.
        ids: Vec<String>,
    },
    /// A text that is no mark.
    #[error("a mark is one line of 1 to {longest} characters")]
    MarkText {
        /// The most characters.
        longest: usize,
    },
    /// No run of that name.
    #[error("there is no run '{name}' in {}; `slob list` shows all runs", path.display())]
    NoRun {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        path: PathBuf,
    },
}

impl RecordError {
    pub(crate) fn io(step: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { step, path, source }
    }
}

/// The latest few of many names, newest first.
fn few(ids: &[String]) -> String {
    const SHOWN: usize = 4;
    let more = if ids.len() > SHOWN { ", ..." } else { "" };
    let shown: Vec<&str> = ids.iter().rev().take(SHOWN).map(String::as_str).collect();
    format!("{}{more}", shown.join(", "))
}
