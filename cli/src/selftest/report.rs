//! The report, written as the test goes on: what is there when something dies is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slob_engine::Server;
use slob_host::HostInfo;
use slob_spec::Target;

use crate::failure::Failure;
use crate::output;

/// Markdown, on stdout and in a file where one is named. It holds no password: targets, settings and errors show none.
pub(crate) struct Report {
    text: String,
    file: Option<PathBuf>,
    passed: usize,
    failed: usize,
}

impl Report {
    /// An empty one.
    ///
    /// # Errors
    /// If the file can't be written: said before anything is touched.
    pub(crate) fn new(file: Option<&Path>) -> Result<Self, Failure> {
        if let Some(file) = file {
            fs::write(file, "").map_err(|error| {
                Failure::usage(format!(
                    "writing {}: {error}; name another file with --output",
                    file.display()
                ))
            })?;
        }
        Ok(Self { text: String::new(), file: file.map(Path::to_owned), passed: 0, failed: 0 })
    }

    /// Adds text as it is.
    pub(crate) fn add(&mut self, text: &str) {
        self.text.push_str(text);
        // Neither a closed pipe nor a full disk must keep the test from cleaning up.
        let _ = output::print(text);
        if let Some(file) = &self.file
            && let Err(error) = fs::write(file, &self.text)
        {
            output::say(&format!(
                "warning: writing {}: {error}; the report is on stdout alone",
                file.display()
            ));
            self.file = None;
        }
    }

    /// What is tested, and where from.
    pub(crate) fn begin(&mut self, target: &Target, server: &Server) {
        let host = HostInfo::read();
        let of = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".into());
        let cpus = host.cpus_usable.map_or_else(|| "not known".into(), |cpus| cpus.to_string());
        let memory = host.memory_bytes.map_or_else(|| "not known".into(), slob_report::format::size);
        self.add(&format!(
            "# slob selftest\n\n\
             - slob {}, begun {}\n\
             - Target: `{target}`\n\
             - Server: {} {}, blocks of {} bytes\n\
             - This host: {}, kernel {} {}, {} usable CPUs ({}), {memory} of memory\n\n\
             No password is in this report. It names hosts and accounts: read it before you publish it.\n",
            env!("CARGO_PKG_VERSION"),
            jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            server.product,
            line(&server.version),
            server.block_bytes,
            of(&host.os),
            host.kernel,
            host.architecture,
            cpus,
            of(&host.cpu_model),
        ));
        self.add("\n## Settings of the server\n\n| setting | value |\n| --- | --- |\n");
        for setting in &server.settings {
            self.add(&format!("| {} | {} |\n", cell(&setting.name), cell(&setting.value)));
        }
        for advice in &server.advice {
            self.add(&format!("\n- {}", line(advice)));
        }
        self.add(if server.advice.is_empty() { "" } else { "\n" });
    }

    /// All of it so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A heading.
    pub(crate) fn section(&mut self, title: &str) {
        self.add(&format!("\n## {title}\n\n"));
    }

    /// The result of a step: words that add to its name, or what is wrong.
    pub(crate) fn step(&mut self, name: &str, took: Duration, result: &Result<String, String>) {
        let seconds = took.as_secs_f64();
        match result {
            Ok(words) => {
                self.passed += 1;
                let words = if words.is_empty() { String::new() } else { format!(": {}", line(words)) };
                self.add(&format!("- ok: {name}{words} ({seconds:.1} s)\n"));
            }
            Err(complaint) => {
                self.failed += 1;
                self.add(&format!("- **FAILED**: {name}: {} ({seconds:.1} s)\n", line(complaint)));
            }
        }
    }

    /// The end; how many steps failed.
    pub(crate) fn end(&mut self, interrupted: bool) -> usize {
        let all = self.passed + self.failed;
        let words = match self.failed {
            _ if interrupted => format!("Interrupted after {all} steps, of which {} failed.", self.failed),
            0 => format!("All {all} steps passed."),
            failed => format!("**{failed} of {all} steps failed.**"),
        };
        self.section("Result");
        self.add(&format!("{words}\n"));
        self.failed
    }
}

/// In one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// In a cell of a table.
fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_when_it_dies_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.md");
        let mut report = Report::new(Some(&path)).unwrap();
        report.step("first", Duration::from_millis(1200), &Ok("two rows".into()));
        report.step("second", Duration::ZERO, &Err("broken\nin two lines".into()));
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "- ok: first: two rows (1.2 s)\n- **FAILED**: second: broken in two lines (0.0 s)\n"
        );
        assert_eq!(report.end(false), 1);
        assert!(fs::read_to_string(&path).unwrap().ends_with("**1 of 2 steps failed.**\n"));
        assert!(Report::new(Some(&path.join("below-a-file"))).is_err());
    }
}
