//! One row per report: the columns of `awr_info`, and those of `awr-parser` with what it lacks.

mod parser;
mod pipes;
mod row;
mod work;

use crate::figure::Figure;
use crate::report::{Period, Report, WaitEvent};

pub use parser::{Column, columns};
pub use pipes::{PipesError, is_pipes, read_pipes};
pub use row::{Head, Row};
pub use work::Work;

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Words.
    Text(String),
    /// A number.
    Number(f64),
}

impl Value {
    /// As machines read it: no separators, no exponent, six significant digits at least.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => plain(*number),
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

fn plain(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 1e5 => 0,
        size if size >= 1e3 => 2,
        size if size >= 1.0 => 4,
        _ => 7,
    };
    let text = format!("{number:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.into() }
}

/// The most that the parameter SESSIONS takes.
const MOST_SESSIONS: u32 = 65_536;

const MIB: f64 = 1024.0 * 1024.0;

/// A report with the name of its file.
#[derive(Clone, Debug)]
pub struct Named {
    /// The file's name.
    pub file: String,
    /// Which of the reports in the file it is, from 1.
    pub nth: usize,
    /// What it holds.
    pub report: Report,
}

impl Named {
    /// The only report of a file, or the first one.
    #[must_use]
    pub fn new(file: impl Into<String>, report: Report) -> Self {
        Self { file: file.into(), nth: 1, report }
    }

    /// The same as one of several in its file, from 1.
    #[must_use]
    pub fn nth(self, nth: usize) -> Self {
        Self { nth, ..self }
    }

    /// The file's name; `FILE#2` is the second report of a file, and `(1st)` and `(2nd)` are the periods of a comparison.
    #[must_use]
    pub fn label(&self) -> String {
        let place = self.label_of_file();
        match self.report.period {
            None => place,
            Some(Period::First) => format!("{place} (1st)"),
            Some(Period::Second) => format!("{place} (2nd)"),
        }
    }

    /// The file's name; `FILE#2` is the second report of a file.
    #[must_use]
    pub fn label_of_file(&self) -> String {
        part_of_file(&self.file, self.nth)
    }

    /// Sessions from the file's name: the number after its last dot, where the name is one that scripts around SLOB
    /// give, such as `awr.txt.128`, `run7.html.16` or `awr.rac.8`. A date is no number of sessions.
    #[must_use]
    pub fn sessions(&self) -> Option<u32> {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file).to_ascii_lowercase();
        let (before, number) = name.rsplit_once('.')?;
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_of_a_report = before.ends_with(".txt") || before.ends_with(".html");
        let is_of_awr = before.strip_prefix("awr.").is_some_and(|kind| !kind.split('.').any(is_number));
        let sessions: u32 = number.parse().ok().filter(|_| is_number(number) && !number.starts_with('0'))?;
        (sessions <= MOST_SESSIONS && (is_of_a_report || is_of_awr)).then_some(sessions)
    }
}

/// What a report of a file is called: `FILE`, `FILE#2` and so on.
#[must_use]
pub fn part_of_file(file: &str, nth: usize) -> String {
    if nth > 1 { format!("{file}#{nth}") } else { file.to_owned() }
}

/// Megabytes per second of the I/O profile as bytes.
fn profile(
    report: &Report,
    name: &str,
    side: fn(&crate::report::IoProfileLine) -> Option<Figure>,
) -> Option<Figure> {
    report.io_profile_line(name).and_then(side).map(|figure| figure.times(MIB))
}

fn load(report: &Report, names: &[&str]) -> Option<Figure> {
    report.load(names)?.per_second
}

/// A rate that both the load profile and instance activity have: the more precise of them.
fn rate(report: &Report, names: &[&str], statistic: &str) -> Option<Figure> {
    Figure::finer(load(report, names), report.statistic_per_s(statistic))
}

pub(crate) fn logical_reads_per_s(report: &Report) -> Option<Figure> {
    rate(
        report,
        &["Logical read (blocks)", "Logical reads", "Logical reads (blocks)"],
        "session logical reads",
    )
}

pub(crate) fn executes_per_s(report: &Report) -> Option<Figure> {
    rate(report, &["Executes (SQL)", "Executes"], "execute count")
}

pub(crate) fn redo_per_s(report: &Report) -> Option<Figure> {
    rate(report, &["Redo size (bytes)", "Redo size"], "redo size")
}

/// Blocks, not requests.
pub(crate) fn physical_reads_per_s(report: &Report) -> Option<Figure> {
    rate(report, &["Physical read (blocks)", "Physical reads", "Physical reads (blocks)"], "physical reads")
}

/// Blocks, not requests.
pub(crate) fn physical_writes_per_s(report: &Report) -> Option<Figure> {
    rate(
        report,
        &["Physical write (blocks)", "Physical writes", "Physical writes (blocks)"],
        "physical writes",
    )
}

pub(crate) fn db_time_per_s(report: &Report) -> Option<Figure> {
    Figure::finer(load(report, &["DB Time(s)", "DB time"]), report.per_second(report.db_time_s()))
}

/// DB CPU, and background CPU where the load profile has it.
pub(crate) fn db_cpu_per_s(report: &Report) -> Option<Figure> {
    let names = ["DB CPU(s)", "CPU time"];
    let divided = |time: Option<Figure>| report.per_second(time);
    let foreground = Figure::finer(load(report, &names), divided(report.db_cpu_s()))?;
    let background = report
        .load(&["Background CPU(s)"])
        .and_then(|line| Figure::finer(line.per_second, divided(report.background_cpu_s())));
    Some(match background {
        Some(background) => Figure {
            value: foreground.value + background.value,
            resolution: foreground.resolution + background.resolution,
        },
        None => foreground,
    })
}

const CELL_READ: &str = "cell single block physical read";

/// Whether an event is a read of one block from a storage cell: from a disk, or from flash, persistent memory or RDMA, which
/// have names of their own since 19c (`cell single block physical read: RDMA`). Text cuts them.
fn is_cell_read(name: &str) -> bool {
    name.starts_with(CELL_READ) || (name.len() >= 25 && CELL_READ.starts_with(name))
}

/// The wait for one block. Exadata has names of its own for it, one for each kind of memory that it is served from: all of
/// them together, weighed by their waits.
pub(crate) fn single_block_read(report: &Report) -> Option<WaitEvent> {
    let of_cells = || report.waits_of_sessions().iter().filter(|event| is_cell_read(&event.name));
    let mut kinds: Vec<WaitEvent> = match of_cells().count() {
        0 | 1 => report.foreground(CELL_READ).or_else(|| of_cells().next().cloned()).into_iter().collect(),
        _ => of_cells().cloned().collect(),
    };
    kinds.extend(report.foreground("db file sequential read"));
    let most = |one: &&WaitEvent, other: &&WaitEvent| waits_of(one).total_cmp(&waits_of(other));
    let largest = kinds.iter().max_by(most)?.clone();
    if kinds.len() == 1 {
        return Some(largest);
    }
    let all: f64 = kinds.iter().map(waits_of).sum();
    let times: Option<Vec<Figure>> = kinds.iter().map(time_of).collect();
    let Some(times) = times.filter(|_| all > 0.0) else { return Some(largest) };
    let time = Figure {
        value: times.iter().map(|time| time.value).sum(),
        resolution: times.iter().map(|time| time.resolution).sum(),
    };
    Some(WaitEvent {
        waits: Some(Figure { value: all, resolution: largest.waits.map_or(1.0, |waits| waits.resolution) }),
        total_s: Some(time),
        average_us: time.times(1e6).per(all),
        percent: None,
        ..largest
    })
}

fn waits_of(event: &WaitEvent) -> f64 {
    event.waits.map_or(0.0, |waits| waits.value)
}

/// Time of all waits, by the more precise mean.
fn time_of(event: &WaitEvent) -> Option<Figure> {
    Some(event.mean_us()?.times(waits_of(event) / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{Format, Kind};

    fn named(file: &str) -> Named {
        Named::new(file, crate::extract::empty(Kind::Awr, Format::Text))
    }

    #[test]
    fn sessions_are_the_number_after_the_last_dot() {
        for (file, sessions) in
            [("x.y/awr.txt.128", 128), ("awr_rac.txt.65536", 65_536), ("a b/R.HTML.1", 1), ("awr.rac.8", 8)]
        {
            assert_eq!(named(file).sessions(), Some(sessions), "{file}");
        }
    }

    #[test]
    fn a_date_in_a_name_is_no_number_of_sessions() {
        for file in [
            "awrrpt_2024.11.05",
            "awr.20241105",
            "awr.2024.11.15",
            "awrrpt_1_10_11.15",
            "a.txt.20241105",
            "awr.txt.065",
            "awr.txt.0",
            "awr.txt.+8",
            "awr.txt.",
            "a b/awr report.txt",
            "v1.5/awr",
            "awr.txt.8/report",
        ] {
            assert_eq!(named(file).sessions(), None, "{file}");
        }
    }

    #[test]
    fn what_is_absent_is_empty_and_not_0() {
        let row = Row::of(&named("awr.txt"));
        assert!(row.cells().skip(1).all(|cell| cell.is_none()), "{row:?}");
    }
}
