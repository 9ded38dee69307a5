//! What would spoil a test, looked for before it is run: `slob doctor` tells all of it, a load and a run warn of what is wrong.

use std::path::Path;

use slob_host::{MachineSettings, free_space};

use crate::output;

/// A record with its pages takes some megabytes; with KEEP_OPERATIONS much more.
const RECORD_BYTES: u64 = 100 << 20;

/// How grave something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    /// As it should be.
    Good,
    /// Figures would be smaller, less even, or less certain.
    Warning,
    /// There would be no test.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) subject: &'static str,
    pub(crate) grade: Grade,
    pub(crate) said: String,
    /// What to do about it.
    pub(crate) remedy: Option<String>,
}

impl Check {
    pub(crate) fn good(subject: &'static str, said: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Good, said: said.into(), remedy: None }
    }

    pub(crate) fn warning(subject: &'static str, said: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Warning, said: said.into(), remedy: Some(remedy.into()) }
    }

    /// Advice holds its remedy.
    pub(crate) fn advice(subject: &'static str, said: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Warning, said: said.into(), remedy: None }
    }

    /// Errors of ours hold their remedy.
    pub(crate) fn problem(subject: &'static str, said: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Problem, said: said.into(), remedy: None }
    }
}

/// How this machine is set up.
pub(crate) fn machine() -> Vec<Check> {
    let machine = MachineSettings::read();
    vec![governor(&machine), clock(&machine)]
}

/// Whether the CPUs of a machine are slowed down.
pub(crate) fn governor(machine: &MachineSettings) -> Check {
    match machine.slow_governor() {
        Some(slow) => Check::warning(
            "CPU frequency",
            format!("the governor '{slow}' slows down CPUs that wait for I/O"),
            "cpupower frequency-set -g performance",
        ),
        None if machine.governors.is_empty() => Check::good("CPU frequency", "not set by this kernel"),
        None => Check::good("CPU frequency", "governor 'performance'"),
    }
}

fn clock(machine: &MachineSettings) -> Check {
    match (machine.slow_clocksource(), &machine.clocksource) {
        (Some(slow), _) => Check::warning(
            "Clock",
            format!("'{slow}' takes a microsecond or more to read, and every operation is timed"),
            "write tsc or kvm-clock to /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        (None, Some(clock)) => Check::good("Clock", format!("'{clock}'")),
        (None, None) => Check::good("Clock", "the kernel does not say which"),
    }
}

/// Whether records can be kept.
pub(crate) fn results(folder: &Path) -> Check {
    let subject = "Results";
    // It is made when it is needed.
    let there = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    if let Err(error) = tempfile::tempfile_in(there) {
        return Check::problem(
            subject,
            format!("{} can't be written: {error}; name another folder with --results-dir", folder.display()),
        );
    }
    match free_space(there) {
        Ok(free_bytes) if free_bytes < RECORD_BYTES => Check::warning(
            subject,
            format!("only {} MB are free for {}", free_bytes / 1_000_000, folder.display()),
            "make room, or name another folder with --results-dir",
        ),
        Ok(free_bytes) => {
            Check::good(subject, format!("{}: {:.1} GB free", folder.display(), free_bytes as f64 / 1e9))
        }
        Err(error) => Check::problem(subject, error.to_string()),
    }
}

/// Says what is wrong, before a load or a run.
pub(crate) fn warn(checks: &[Check]) {
    for check in checks.iter().filter(|check| check.grade != Grade::Good) {
        let remedy = check.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        output::say(&format!("warning: {}: {}{remedy}", check.subject, check.said));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_results_folder_need_not_be_there_but_must_be_possible() {
        let folder = tempfile::tempdir().unwrap();
        assert_ne!(results(&folder.path().join("a/b")).grade, Grade::Problem);
        std::fs::write(folder.path().join("file"), "").unwrap();
        let refused = results(&folder.path().join("file/runs"));
        assert!(refused.grade == Grade::Problem && refused.said.contains("--results-dir"), "{refused:?}");
    }
}
