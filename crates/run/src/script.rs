//! EXTERNAL_SCRIPT: the user's own program, called at three moments of a run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::RunError;

/// When the script is called; its one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptMoment {
    /// All sessions are connected and wait.
    Pre,
    /// The sessions have stopped.
    Post,
    /// The record is written.
    End,
}

impl fmt::Display for ScriptMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pre => "pre",
            Self::Post => "post",
            Self::End => "end",
        })
    }
}

/// A program that is waited for and must exit with 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalScript {
    path: PathBuf,
    results: PathBuf,
}

impl ExternalScript {
    /// Checks that the file can be executed, before anything depends on it. No shell is involved. `results` is where the
    /// run keeps its record: the script and what it starts get to know it, so that `slob mark` finds the run.
    ///
    /// # Errors
    /// If there is no such program, or it may not be executed.
    pub fn new(path: &Path, results: &Path) -> Result<Self, RunError> {
        use std::os::unix::fs::PermissionsExt;
        let refuse = |why: &str| {
            RunError::usage(format!(
                "EXTERNAL_SCRIPT {}: {why}; give the path of an executable file, or leave it empty",
                path.display()
            ))
        };
        let metadata = path.metadata().map_err(|error| refuse(&error.to_string()))?;
        if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
            return Err(refuse("not an executable file"));
        }
        // A relative path without a slash would be looked for in PATH.
        let path = std::path::absolute(path).map_err(|error| refuse(&error.to_string()))?;
        let results = std::path::absolute(results).map_err(|error| refuse(&error.to_string()))?;
        Ok(Self { path, results })
    }

    /// Calls the script and waits for it. What it prints goes to stderr: stdout is for data.
    ///
    /// # Errors
    /// If it can't be started or does not exit with 0.
    pub fn call(&self, moment: ScriptMoment, run_id: &str) -> Result<(), RunError> {
        let fail = |why: String| {
            RunError::failed(format!("EXTERNAL_SCRIPT {} {moment}: {why}", self.path.display()))
        };
        let status = Command::new(&self.path)
            .arg(moment.to_string())
            .env("SLOB_RUN_ID", run_id)
            .env("SLOB_RESULTS_DIR", &self.results)
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            .status()
            .map_err(|error| fail(error.to_string()))?;
        if status.success() { Ok(()) } else { Err(fail(format!("ended with {status}; it must exit with 0"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(folder: &Path, text: &str, mode: u32) -> PathBuf {
        let path = folder.join("script");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_exit_status_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = script(
            folder.path(),
            "#!/bin/sh\n[ \"$1 $SLOB_RUN_ID\" = \"pre x\" ] && [ -d \"$SLOB_RESULTS_DIR\" ]\n",
            0o755,
        );
        let script = ExternalScript::new(&path, folder.path()).unwrap();
        script.call(ScriptMoment::Pre, "x").unwrap();
        let error = script.call(ScriptMoment::Post, "x").unwrap_err();
        assert!(error.to_string().contains("post: ended with exit status: 1"), "{error}");
    }

    #[test]
    fn what_is_not_executable_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = script(folder.path(), "#!/bin/sh\n", 0o644);
        assert_eq!(ExternalScript::new(&path, folder.path()).unwrap_err().kind(), crate::RunErrorKind::Usage);
        assert_eq!(
            ExternalScript::new(folder.path(), folder.path()).unwrap_err().kind(),
            crate::RunErrorKind::Usage
        );
    }
}
