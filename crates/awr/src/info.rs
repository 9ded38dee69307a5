//! One row per report: the columns of `awr_info`, from a report or from that script's text.

mod columns;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::figure::{Figure, MIB};
use crate::name::{MOST_SESSIONS, RunName};
use crate::report::{IoProfileLine, Period, Report, WaitEvent};

pub use columns::{Column, Work, columns};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Text(String),
    Number(f64),
}

impl Value {
    /// Machines get six significant digits at least, without separators and exponent.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => plain_number(*number),
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

/// As [`Value::plain`].
pub fn plain_number(number: f64) -> String {
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

#[derive(Clone, Debug)]
pub struct Named {
    pub file: String,
    pub nth: usize,
    pub report: Report,
}

impl Named {
    pub fn new(file: impl Into<String>, report: Report) -> Self {
        Self { file: file.into(), nth: 1, report }
    }

    pub fn nth(self, nth: usize) -> Self {
        Self { nth, ..self }
    }

    /// `FILE (1st)`, `FILE#2 (2nd)`
    pub fn label(&self) -> String {
        let file = part_of_file(&self.file, self.nth);
        match self.report.period {
            None => file,
            Some(Period::First) => format!("{file} (1st)"),
            Some(Period::Second) => format!("{file} (2nd)"),
        }
    }

    /// The file's name has it: after the last dot, as in `awr.txt.128` or `run7.html.16`, or where [`RunName`] finds it. A date
    /// is no number of sessions.
    pub fn sessions(&self) -> Option<u32> {
        self.number_at_the_end().or_else(|| RunName::of(&self.file).map(|name| name.sessions))
    }

    fn number_at_the_end(&self) -> Option<u32> {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file).to_ascii_lowercase();
        let (before, number) = name.rsplit_once('.')?;
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_of_a_report = before.ends_with(".txt") || before.ends_with(".html");
        let is_of_awr = before.strip_prefix("awr.").is_some_and(|kind| !kind.split('.').any(is_number));
        let sessions: u32 = number.parse().ok().filter(|_| is_number(number) && !number.starts_with('0'))?;
        (sessions <= MOST_SESSIONS && (is_of_a_report || is_of_awr)).then_some(sessions)
    }
}

/// `FILE`, `FILE#2` and so on.
pub fn part_of_file(file: &str, nth: usize) -> String {
    if nth > 1 { format!("{file}#{nth}") } else { file.to_owned() }
}

fn load(report: &Report, names: &[&str]) -> Option<Figure> {
    report.load(names)?.per_second
}

pub(crate) struct Rate {
    pub(crate) names: &'static [&'static str],
    pub(crate) statistic: &'static str,
}

impl Rate {
    pub(crate) fn in_load_profile(&self, report: &Report) -> Option<Figure> {
        load(report, self.names)
    }

    pub(crate) fn per_s(&self, report: &Report) -> Option<Figure> {
        Figure::finer(self.in_load_profile(report), report.statistic_per_s(self.statistic))
    }
}

pub(crate) const LOGICAL_READS: Rate = Rate {
    names: &["Logical read (blocks)", "Logical reads", "Logical reads (blocks)"],
    statistic: "session logical reads",
};
/// Blocks, not requests.
pub(crate) const PHYSICAL_READS: Rate = Rate {
    names: &["Physical read (blocks)", "Physical reads", "Physical reads (blocks)"],
    statistic: "physical reads",
};
/// Blocks, not requests.
pub(crate) const PHYSICAL_WRITES: Rate = Rate {
    names: &["Physical write (blocks)", "Physical writes", "Physical writes (blocks)"],
    statistic: "physical writes",
};
pub(crate) const REDO: Rate = Rate { names: &["Redo size (bytes)", "Redo size"], statistic: "redo size" };
pub(crate) const EXECUTES: Rate = Rate { names: &["Executes (SQL)", "Executes"], statistic: "execute count" };
pub(crate) const USER_CALLS: Rate = Rate { names: &["User calls"], statistic: "user calls" };
pub(crate) const PARSES: Rate = Rate { names: &["Parses (SQL)", "Parses"], statistic: "parse count (total)" };
pub(crate) const HARD_PARSES: Rate =
    Rate { names: &["Hard parses (SQL)", "Hard parses"], statistic: "parse count (hard)" };
pub(crate) const LOGONS: Rate = Rate { names: &["Logons"], statistic: "logons cumulative" };
pub(crate) const BLOCK_CHANGES: Rate = Rate { names: &["Block changes"], statistic: "db block changes" };

pub(crate) const DB_TIME: &[&str] = &["DB Time(s)", "DB time"];
pub(crate) const DB_CPU: &[&str] = &["DB CPU(s)", "CPU time"];
pub(crate) const BACKGROUND_CPU: &str = "Background CPU(s)";

pub(crate) fn db_time_per_s(report: &Report) -> Option<Figure> {
    Figure::finer(load(report, DB_TIME), report.per_second(report.db_time_s()))
}

/// Background CPU is included if the load profile has it.
pub(crate) fn db_cpu_per_s(report: &Report) -> Option<Figure> {
    let divided = |time: Option<Figure>| report.per_second(time);
    let foreground = Figure::finer(load(report, DB_CPU), divided(report.db_cpu_s()))?;
    let background = report.load(&[BACKGROUND_CPU]);
    let background = background
        .and_then(|line| Figure::finer(line.per_second, divided(report.time_model_s("background cpu time"))));
    Figure::sum([Some(foreground), background])
}

const CELL_READ: &str = "cell single block physical read";

/// Since 19c reads from flash, persistent memory and RDMA have own names (`cell single block physical read: RDMA`). Text cuts
/// them.
fn is_cell_read(name: &str) -> bool {
    name.starts_with(CELL_READ) || (name.len() >= 25 && CELL_READ.starts_with(name))
}

/// Exadata has an event for each kind of memory: their mean is weighted by waits.
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
    // The more precise mean counts.
    let time = |event: &WaitEvent| Some(event.mean_us()?.times(waits_of(event) / 1e6));
    let times: Option<Vec<Figure>> = kinds.iter().map(time).collect();
    let Some(times) = times.filter(|_| all > 0.0) else { return Some(largest) };
    let time = Figure::sum(times.into_iter().map(Some))?;
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

/// Declares the columns of `awr_info`: for each its heading and, unless it is a text, its figure of a report.
macro_rules! heads {
    ($($(#[$doc:meta])* $name:ident = $text:literal $(: $figure:expr)?;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Head {
            $($(#[$doc])* $name,)+
        }

        impl Head {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            fn figure(self) -> Option<Get> {
                match self {
                    $(Self::$name => [$($figure as Get)?].first().copied(),)+
                }
            }
        }
    };
}

type Get = fn(&Named) -> Option<f64>;

// Latencies are the most precise means of the report, in microseconds.
heads! {
    File = "FILE";
    Sessions = "SESSIONS": |named| named.sessions().map(f64::from);
    /// Seconds.
    Elapsed = "ELAPSED": |named| named.report.elapsed_s();
    /// CPUs busy with the database.
    DbCpu = "DB CPU": |named| Some(db_cpu_per_s(&named.report)?.value);
    /// Average active sessions.
    DbTime = "DB Tm": |named| Some(db_time_per_s(&named.report)?.value);
    /// Per second.
    Executes = "EXECUTES": |named| Some(EXECUTES.per_s(&named.report)?.value);
    /// Blocks per second.
    LogicalReads = "LIO": |named| Some(LOGICAL_READS.per_s(&named.report)?.value);
    /// Requests of the application per second; for its own runs `slob info` prints blocks.
    Reads = "PREADS": |named| requests(&named.report, "physical read IO requests", "Read IO requests");
    /// MiB per second, all I/O.
    ReadMib = "READ_MBS": |named| mib(&named.report, "physical read total bytes", |line| line.read);
    /// Per second, counted like `Reads`.
    Writes = "PWRITES": |named| requests(&named.report, "physical write IO requests", "Write IO requests");
    /// MiB per second, all I/O.
    WriteMib = "WRITE_MBS": |named| mib(&named.report, "physical write total bytes", |line| line.written);
    /// MiB per second.
    RedoMib = "REDO_MBS": |named| Some(REDO.per_s(&named.report)?.value / MIB);
    SingleBlockRead = "DFSR_LAT": |named| mean_us(single_block_read(&named.report));
    DirectRead = "DPR_LAT": |named| mean_us(named.report.foreground("direct path read"));
    ParallelRead = "DFPR_LAT": |named| mean_us(named.report.foreground("db file parallel read"));
    BlockWrite = "DFPW_LAT": |named| mean_us(named.report.background("db file parallel write"));
    LogWrite = "LFPW_LAT": |named| mean_us(named.report.background("log file parallel write"));
    TopWait = "TOP WAIT";
}

impl Head {
    pub fn is_text(self) -> bool {
        self.figure().is_none()
    }
}

fn requests(report: &Report, statistic: &str, load_name: &str) -> Option<f64> {
    let rate = report.statistic_per_s(statistic).or_else(|| load(report, &[load_name]));
    Some(rate?.value)
}

fn mib(report: &Report, statistic: &str, side: fn(&IoProfileLine) -> Option<Figure>) -> Option<f64> {
    let profile = || Some(side(report.io_profile_line("Total (MB)")?)?.times(MIB));
    Some(report.statistic_per_s(statistic).or_else(profile)?.value / MIB)
}

/// `None` if the print is too coarse to tell the mean from 0.
fn mean_us(event: Option<WaitEvent>) -> Option<f64> {
    event?.mean_us()?.known()
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub file: String,
    /// The older form of `awr_info` has these in place of SESSIONS.
    pub writers_and_readers: Option<[u32; 2]>,
    pub top_wait: Option<String>,
    /// Unknown figures are absent, never 0.
    figures: BTreeMap<Head, f64>,
}

impl Row {
    pub fn figure(&self, head: Head) -> Option<f64> {
        self.figures.get(&head).copied()
    }

    pub fn cell(&self, head: Head) -> Option<Value> {
        match head {
            Head::File => Some(Value::Text(self.file.clone())),
            Head::TopWait => self.top_wait.clone().map(Value::Text),
            head => self.figure(head).map(Value::Number),
        }
    }

    pub fn cells(&self) -> impl Iterator<Item = Option<Value>> {
        Head::ALL.iter().map(|head| self.cell(*head))
    }

    pub fn of(named: &Named) -> Self {
        let known = Head::ALL.iter().filter_map(|head| Some((*head, head.figure()?(named)?)));
        Self {
            file: named.label(),
            writers_and_readers: None,
            top_wait: named.report.top_wait().map(|event| event.name.clone()),
            figures: known.filter(|(_, figure)| figure.is_finite()).collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipesError {
    #[error(
        "it is not in the form of awr_info: the first line must begin with FILE| and name SESSIONS, or WRITERS and READERS"
    )]
    Head,
    #[error("line {line} has {found} cells, but the head has {expected}")]
    Cells { line: usize, found: usize, expected: usize },
    #[error("line {line}: {head} is '{text}', which is not a number")]
    Number { line: usize, head: String, text: String },
}

pub fn is_pipes(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let after_file = first.and_then(|line| line.trim_start().strip_prefix(Head::File.text()));
    after_file.is_some_and(|rest| rest.starts_with('|'))
}

/// Heads may repeat, as in joined files; empty cells are unknown. The older form has WRITERS, READERS and REDO (bytes per second)
/// in place of SESSIONS and REDO_MBS.
pub fn read_pipes(text: &str) -> Result<Vec<Row>, PipesError> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = lines.next().ok_or(PipesError::Head)?;
    let heads = pipe_cells(head);
    let has = |head: &str| heads.contains(&head);
    let is_older = has("WRITERS") && has("READERS");
    if heads.first() != Some(&Head::File.text()) || !(is_older || has(Head::Sessions.text())) {
        return Err(PipesError::Head);
    }
    let mut rows = Vec::new();
    for (line, text) in lines.filter(|(_, text)| pipe_cells(text) != heads) {
        let cells = pipe_cells(text);
        if cells.len() != heads.len() {
            return Err(PipesError::Cells { line, found: cells.len(), expected: heads.len() });
        }
        rows.push(row_of_pipes(line, &heads.iter().copied().zip(cells).collect(), is_older)?);
    }
    Ok(rows)
}

/// The last pipe ends the last cell.
fn pipe_cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    line.strip_suffix('|').unwrap_or(line).split('|').map(str::trim).collect()
}

fn row_of_pipes(line: usize, cells: &BTreeMap<&str, &str>, is_older: bool) -> Result<Row, PipesError> {
    let words = |head: &str| cells.get(head).filter(|text| !text.is_empty()).map(|text| (*text).to_owned());
    let number = |head: &str| -> Result<Option<f64>, PipesError> {
        let Some(text) = words(head) else { return Ok(None) };
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        let error = || PipesError::Number { line, head: head.to_owned(), text };
        value.map(Some).ok_or_else(error)
    };
    let mut figures = BTreeMap::new();
    for head in Head::ALL.iter().filter(|head| !head.is_text()) {
        figures.extend(number(head.text())?.map(|value| (*head, value)));
    }
    figures.extend(number("REDO")?.map(|bytes| (Head::RedoMib, bytes / MIB)));
    let count = |head| number(head).map(|count| count.unwrap_or(0.0) as u32);
    Ok(Row {
        file: words(Head::File.text()).unwrap_or_default(),
        writers_and_readers: if is_older { Some([count("WRITERS")?, count("READERS")?]) } else { None },
        top_wait: words(Head::TopWait.text()),
        figures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(file: &str) -> Named {
        Named::new(file, Report::default())
    }

    #[test]
    fn the_number_after_the_last_dot_is_the_sessions() {
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
    fn an_absent_figure_is_empty_and_not_0() {
        let row = Row::of(&named("awr.txt"));
        assert!(row.cells().skip(1).all(|cell| cell.is_none()), "{row:?}");
    }
}
