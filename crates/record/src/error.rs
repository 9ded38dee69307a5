use std::io;
use std::path::{Path, PathBuf};

/// An error of records or marks.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the names do not")]
pub enum RecordError {
    #[error("{step} {}: {source}", path.display())]
    Io { step: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a run record: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("the key {} {why}", path.display())]
    Key { path: PathBuf, why: String },
    #[error("{}, line {line}: not of the form {wanted}", path.display())]
    Line { path: PathBuf, line: usize, wanted: &'static str },
    #[error(
        "{} has record version {found}; this release reads versions up to {known}: use a newer one",
        path.display()
    )]
    Version { path: PathBuf, found: u64, known: u32 },
    #[error("'{name}' fits {} runs: {}; give more of its name", ids.len(), few(ids))]
    Ambiguous { name: String, ids: Vec<String> },
    #[error("'{name}' goes too far back: {} holds only {count} runs", path.display())]
    TooFarBack { name: String, count: usize, path: PathBuf },
    #[error("{} holds no runs: neither it nor any folder in it has a {}", path.display(), crate::RUN_FILE)]
    NoRuns { path: PathBuf },
    #[error("no run{} is under way in {}{}; --results-dir names the folder of another one",
        run.as_ref().map(|run| format!(" '{run}'")).unwrap_or_default(), path.display(),
        if ids.is_empty() { String::new() } else { format!(" (but {})", few(ids)) })]
    NotUnderWay { run: Option<String>, ids: Vec<String>, path: PathBuf },
    #[error("{} runs are under way: {}; name one with --run", ids.len(), few(ids))]
    SeveralUnderWay { ids: Vec<String> },
    #[error("a mark is one line of 1 to {longest} characters, without invisible ones")]
    MarkText { longest: usize },
    #[error("there is no run '{name}': {}", where_runs_are(*count, path))]
    NoRun { name: String, count: usize, path: PathBuf },
    #[error("there is no run '{name}' on {board}; `slob list --from {board}` shows those that are")]
    NotOnBoard { name: String, board: String },
}

impl RecordError {
    /// The error of a step on a file.
    pub fn io(step: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { step, path, source }
    }
}

fn where_runs_are(count: usize, path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let next = match count {
        0 => "`slob run` makes one",
        _ => "`slob list` shows them",
    };
    let runs = if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    format!("{} holds {runs}; {next}, and --results-dir names another folder", whole.display())
}

/// Newest first.
fn few(ids: &[String]) -> String {
    const SHOWN: usize = 4;
    let more = if ids.len() > SHOWN { ", ..." } else { "" };
    let shown: Vec<&str> = ids.iter().rev().take(SHOWN).map(String::as_str).collect();
    format!("{}{more}", shown.join(", "))
}
