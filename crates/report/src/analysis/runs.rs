//! Runs as an analysis sees them: labels, figures, and the models of SLOB.R.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use slob_awr::info::{Head, Named, Row};
use slob_awr::{NamePattern, Rates, RunName};
use slob_record::Status;

use super::{TableSpec, Variant};
use crate::columns::{AWR_COLUMNS, did_you_mean};
use slob_facts::measured::timed_events;
use slob_facts::settings::set_limits;
use slob_facts::{Figure, Judged, Lead, figure, figure_named};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub id: String,
    pub label: String,
    /// A run with readers and writers belongs to two models of SLOB.R.
    pub models: BTreeSet<String>,
    /// SLOB.R counts a run with 8 readers and 4 writers for 8 sessions and for 4.
    pub sessions: BTreeSet<u32>,
    /// Names are those of `slob info`; PREADS and PWRITES, requests, and redo in bytes have own names.
    pub figures: BTreeMap<String, f64>,
    pub lead: Lead,
    pub verdicts: Vec<Judged>,
    pub product: Option<String>,
    pub limits: Vec<String>,
    pub top_wait: Option<String>,
}

/// Bytes, as in SLOB.R; figures of `slob info` are megabytes.
const REDO_BYTES: &str = "redo_bytes_per_s";

#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) figure: &'static Figure,
}

impl Part {
    const fn of(figure: &'static Figure) -> Self {
        Self { name: figure.name, figure }
    }
}

#[derive(Debug)]
pub(super) struct IoUnit {
    words: &'static str,
    reads: Part,
    writes: Part,
}

const REQUESTS: IoUnit = IoUnit {
    words: "in requests",
    reads: Part::of(&figure::PHYSICAL_READ_REQUESTS_PER_S),
    writes: Part { name: "physical_write_requests_per_s", figure: &figure::PHYSICAL_WRITES_PER_S },
};
const BLOCKS: IoUnit = IoUnit {
    words: "in blocks",
    reads: Part::of(&figure::PHYSICAL_READS_PER_S),
    writes: Part::of(&figure::PHYSICAL_WRITES_PER_S),
};
/// Columns of `awr_info`: whether they are blocks or requests depends on the report.
const UNKNOWN: IoUnit = IoUnit {
    words: "as PREADS and PWRITES count them",
    reads: Part { name: "PREADS", figure: &figure::PHYSICAL_READS_PER_S },
    writes: Part { name: "PWRITES", figure: &figure::PHYSICAL_WRITES_PER_S },
};

impl IoUnit {
    /// The first unit in which these runs know reads and writes: both tables have the same one. Many databases count requests of
    /// reads only.
    pub(super) fn known_to(runs: &[&Run]) -> &'static Self {
        const UNITS: [&IoUnit; 3] = [&REQUESTS, &BLOCKS, &UNKNOWN];
        let knows = |run: &Run, part: &Part| run.figures.contains_key(part.name);
        let all_know = |of: fn(&IoUnit) -> &Part, unit: &IoUnit| {
            let knowing = || runs.iter().filter(|run| UNITS.iter().any(|unit| knows(run, of(unit))));
            knowing().all(|run| knows(run, of(unit)))
        };
        let fits = |unit: &&&Self| all_know(|unit| &unit.reads, unit) && all_know(|unit| &unit.writes, unit);
        UNITS.iter().find(fits).unwrap_or(&&UNKNOWN)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum LatencyOf {
    Read,
    Operation,
    Response,
}

impl LatencyOf {
    pub(super) fn known_to(runs: &[&Run]) -> Option<Self> {
        if Lead::of_all(runs.iter().map(|run| run.lead)) == Lead::Response {
            return Some(Self::Response);
        }
        const BOTH: [LatencyOf; 2] = [LatencyOf::Read, LatencyOf::Operation];
        let knows = |of: &Self, run: &&Run| run.figures.contains_key(of.mean().name);
        let all = BOTH.into_iter().find(|of| runs.iter().all(|run| knows(of, run)));
        all.or_else(|| BOTH.into_iter().find(|of| runs.iter().any(|run| knows(of, run))))
    }

    pub(super) fn mean(self) -> &'static Figure {
        match self {
            Self::Read => &figure::SINGLE_READ_MEAN_US,
            Self::Operation => &figure::OPERATION_MEAN_US,
            Self::Response => &figure::RESPONSE_MEAN_US,
        }
    }

    pub(super) fn p99(self) -> &'static Figure {
        match self {
            Self::Read => &figure::PHYSICAL_READ_P99_US,
            Self::Operation => &figure::OPERATION_P99_US,
            Self::Response => &figure::RESPONSE_P99_US,
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operation => Lead::Operation.word(),
            Self::Response => Lead::Response.word(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Metric {
    Reads,
    Redo,
    Writes,
    ReadWrite,
    Figure(&'static Figure),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no metric '{name}'{near}; use reads, redo, writes, read-write or a column that `slob info --columns \
     help` lists"
)]
pub struct UnknownMetric {
    name: String,
    near: String,
}

impl Metric {
    pub fn named(name: &str) -> Result<Self, UnknownMetric> {
        match name {
            "reads" => Ok(Self::Reads),
            "redo" => Ok(Self::Redo),
            "writes" => Ok(Self::Writes),
            "read-write" => Ok(Self::ReadWrite),
            _ => figure_named(name)
                .map(Self::Figure)
                .map_err(|_| UnknownMetric { name: name.to_owned(), near: did_you_mean(name) }),
        }
    }

    pub(super) fn words(&self, IoUnit { words, .. }: &IoUnit) -> String {
        match self {
            Self::Redo => self.noun().to_owned(),
            Self::Figure(figure) if figure.unit.is_empty() => figure.name.to_owned(),
            Self::Figure(figure) => format!("{} ({})", figure.name, figure.unit),
            Self::Reads | Self::Writes | Self::ReadWrite => format!("{} ({words})", self.noun()),
        }
    }

    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Reads => "physical reads per second",
            Self::Redo => "bytes of redo per second",
            Self::Writes => "physical writes per second",
            Self::ReadWrite => "physical reads and writes per second",
            Self::Figure(figure) => figure.name,
        }
    }

    pub(super) fn words_of_change(&self) -> [&'static str; 2] {
        match self {
            Self::Figure(figure) if figure.unit == "us" || figure.unit == "s" => ["longer", "shorter"],
            Self::Figure(figure) if !figure.unit.contains('/') => ["higher", "lower"],
            _ => ["faster", "slower"],
        }
    }

    pub(super) fn parts(&self, unit: &IoUnit) -> Vec<Part> {
        match self {
            Self::Reads => vec![unit.reads],
            Self::Redo => vec![Part { name: REDO_BYTES, figure: &figure::REDO_MB_PER_S }],
            Self::Writes => vec![unit.writes],
            Self::ReadWrite => vec![unit.reads, unit.writes],
            Self::Figure(figure) => vec![Part::of(figure)],
        }
    }
}

const BLOCK_BYTES: f64 = 8192.0;
const READS_MODEL: &str = "READS";
const REDO_MODEL: &str = "REDO";
const WRITES_MODEL: &str = "WRITES";

pub fn slob_r_tables() -> Vec<TableSpec> {
    let tables = [
        ("READS", READS_MODEL, Metric::Reads),
        ("REDO", REDO_MODEL, Metric::Redo),
        ("WRITES", WRITES_MODEL, Metric::Writes),
        ("READWRITE", WRITES_MODEL, Metric::ReadWrite),
    ];
    tables.map(|(title, model, metric)| TableSpec { title: title.into(), model: model.into(), metric }).into()
}

/// SLOB.R's models of a run, from its columns of `awr_info`.
///
/// If writers and readers are known: READS with readers; REDO if redo bytes / (writes x block size) is more than 2 without READS;
/// WRITES with writers and without REDO. If only sessions are known: READS if writes and redo are each at most 1 % of the bytes
/// read; else REDO or WRITES by the same ratio.
fn models(figures: &BTreeMap<String, f64>, writers_and_readers: Option<[u32; 2]>) -> Vec<&'static str> {
    let write_model = write_model(figures, UNKNOWN.writes.name, BLOCK_BYTES);
    let Some([writers, readers]) = writers_and_readers else {
        let bytes = |name: &str, size: f64| figures.get(name).map_or(0.0, |count| count * size);
        let written = bytes(REDO_BYTES, 1.0).max(bytes(UNKNOWN.writes.name, BLOCK_BYTES));
        // A little is the database's own housekeeping.
        let is_reads = written <= 0.01 * bytes(UNKNOWN.reads.name, BLOCK_BYTES);
        return vec![if is_reads { READS_MODEL } else { write_model }];
    };
    let is_redo = readers == 0 && write_model == REDO_MODEL;
    let models = [(readers > 0, READS_MODEL), (is_redo, REDO_MODEL), (writers > 0 && !is_redo, WRITES_MODEL)];
    models.into_iter().filter_map(|(is_model, name)| is_model.then_some(name)).collect()
}

fn write_model(figures: &BTreeMap<String, f64>, writes: &str, block_bytes: f64) -> &'static str {
    let is_redo = |(redo, writes): (&f64, &f64)| *redo > 2.0 * writes * block_bytes;
    let is_redo = figures.get(REDO_BYTES).zip(figures.get(writes)).is_some_and(is_redo);
    if is_redo { REDO_MODEL } else { WRITES_MODEL }
}

/// The record needs its series. `None` unless the run completed.
pub fn run_of(all: &slob_facts::Run<'_>) -> Option<Run> {
    let record = all.record;
    if record.status != Status::Completed || record.window.is_none() {
        return None;
    }
    let known = figure::ALL.iter().filter_map(|figure| Some((figure.name.to_owned(), figure.of(all)?)));
    let mut figures: BTreeMap<String, f64> = known.collect();
    if let Some(mb) = figures.get(figure::REDO_MB_PER_S.name) {
        figures.insert(REDO_BYTES.to_owned(), mb * 1e6);
    }
    let model = match record.workload.redo_of_updates() {
        None => READS_MODEL,
        Some(_) => write_model(&figures, BLOCKS.writes.name, f64::from(record.server.block_bytes)),
    };
    let blocks = [BLOCKS.reads, BLOCKS.writes].map(|part| figures.get(part.name).copied());
    figures.extend(if_known([(UNKNOWN.reads.name, blocks[0]), (UNKNOWN.writes.name, blocks[1])]));
    Some(Run {
        id: record.id.clone(),
        label: record.name.clone(),
        models: BTreeSet::from([model.to_owned()]),
        sessions: BTreeSet::from([record.workload.sessions()]),
        figures,
        lead: all.lead(),
        verdicts: all.judged().to_vec(),
        product: Some(record.server.product.clone()),
        limits: set_limits(record),
        top_wait: timed_events(record).into_iter().next().map(|event| event.name),
    })
}

fn if_known<const N: usize>(figures: [(&str, Option<f64>); N]) -> impl Iterator<Item = (String, f64)> {
    figures.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?)))
}

pub fn run_of_row(row: &Row) -> Run {
    let name = |head: Head, own: &'static str| match head {
        Head::Reads => UNKNOWN.reads.name,
        Head::Writes => UNKNOWN.writes.name,
        _ => own,
    };
    let known = AWR_COLUMNS
        .into_iter()
        .filter_map(|(head, column)| Some((name(head, column.name).to_owned(), row.figure(head)?)));
    let mut figures: BTreeMap<String, f64> = known.collect();
    figures.extend(if_known([(REDO_BYTES, row.figure(Head::RedoMib).map(|mib| mib * 1_048_576.0))]));
    let sessions: Vec<u32> = match row.writers_and_readers {
        Some(counts) => counts.into(),
        None => row.figure(Head::Sessions).map(|sessions| sessions as u32).into_iter().collect(),
    };
    let models = models(&figures, row.writers_and_readers);
    let run = Run {
        id: row.file.clone(),
        label: row.file.clone(),
        models: models.into_iter().map(str::to_owned).collect(),
        sessions: sessions.into_iter().filter(|sessions| *sessions > 0).collect(),
        figures,
        top_wait: row.top_wait.clone(),
        ..Run::default()
    };
    // The newer form has no columns for writers and readers: the name of the file may tell them.
    let name = if row.writers_and_readers.is_none() { RunName::of(&row.file) } else { None };
    match name {
        Some(name) => run.named(&name),
        None => run,
    }
}

impl Run {
    fn named(self, name: &RunName) -> Self {
        let model = name.writers_and_readers.map(|roles| match roles {
            // Runs with both roles are not among those that only read.
            [0, _] => READS_MODEL,
            [_, 0] => write_model(&self.figures, UNKNOWN.writes.name, BLOCK_BYTES),
            _ => WRITES_MODEL,
        });
        let models = model.map_or(self.models, |model| BTreeSet::from([model.to_owned()]));
        Self { sessions: BTreeSet::from([name.sessions]), models, ..self }
    }
}

/// Reads and writes are requests, with blocks beside them. The file's name tells writers and readers.
pub fn run_of_report(named: &Named, pattern: Option<&NamePattern>) -> Run {
    let mut run = run_of_row(&Row::of(named));
    let rates = Rates::of(&named.report);
    let [reads, writes] = [UNKNOWN.reads, UNKNOWN.writes].map(|part| run.figures.get(part.name).copied());
    run.figures.extend(if_known([(REQUESTS.reads.name, reads), (REQUESTS.writes.name, writes)]));
    let blocks = [(BLOCKS.reads.name, rates.physical_reads), (BLOCKS.writes.name, rates.physical_writes)];
    run.figures.extend(if_known(blocks));
    let name = match pattern {
        Some(pattern) => {
            run.sessions.clear();
            pattern.read(&named.file)
        }
        None => RunName::of(&named.file),
    };
    let Some(name) = name else { return run };
    run = run.named(&name);
    if let (Some(_), Some(variant)) = (pattern, name.variant) {
        run.label = variant;
    }
    run
}

pub fn variants_of<'a>(labels: impl IntoIterator<Item = &'a str>) -> Vec<Variant> {
    let stems: BTreeSet<String> = labels.into_iter().map(stem).collect();
    // A stem within another one would take its runs too.
    let is_within_another =
        |stem: &String| stems.iter().any(|other| other != stem && other.contains(stem.as_str()));
    let variant = |stem: &String| match is_within_another(stem) {
        true => Variant::whole(stem),
        false => Variant::part(stem),
    };
    stems.iter().map(variant).collect()
}

/// `x/AWR-XFS-run3.8.0` is `AWR-XFS`, `read-raw-r2` is `read-raw`. If the rest says nothing, it is the folder: `raw/awr.016.txt`
/// is `raw`.
pub fn stem(label: &str) -> String {
    if let Some(name) = RunName::of(label) {
        let folder = || label.rsplit('/').nth(1).filter(|folder| !folder.is_empty()).unwrap_or("awr");
        return name.variant.unwrap_or_else(|| folder().to_owned());
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = label.rsplit('/').next().unwrap_or(label);
    for _ in 0..2 {
        match rest.rsplit_once('.') {
            Some((head, tail)) if is_number(tail) && !head.is_empty() => rest = head,
            _ => break,
        }
    }
    let without_digits = rest.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if without_digits.len() == rest.len() {
        return rest.to_owned();
    }
    let word = ["run", "Run", "RUN", "r"].iter().find_map(|word| without_digits.strip_suffix(word));
    let head = word.unwrap_or(without_digits);
    // Only a number after a separator counts runs: `ext4` ends with a number too.
    let separated = head.strip_suffix(['-', '_', '.']);
    separated.filter(|head| !head.is_empty()).unwrap_or(rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_have_no_numbers_of_runs_and_sessions() {
        for (name, expected) in [
            ("AWR-FCSAN-run1.8.0", "AWR-FCSAN"),
            ("/tmp/x/AWR-XFS-run10.0.16", "AWR-XFS"),
            ("awr.txt.128", "awr.txt"),
            ("ext4", "ext4"),
            ("ext4-2", "ext4"),
            ("old/SLOB-AWR-EXT3-1.0.8", "SLOB-AWR-EXT3"),
            ("SLOB-AWR-XFS-16-8-8-1.txt", "SLOB-AWR-XFS"),
            ("old/raw/awr.016.txt", "raw"),
            ("awr.016.txt", "awr"),
            ("read-raw-r2", "read-raw"),
            ("EXT3_READ_7.16.0", "EXT3_READ"),
            ("7", "7"),
            ("run", "run"),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
