//! The rows of a run in a board: each figure with what forbids it, each verdict with its sentence.

use std::collections::BTreeMap;

use slob_engine::Value;
use slob_facts::measured::{device_name, percentile_us};
use slob_facts::{Claim, Figure, Judged, Run, Standing, figure};
use slob_measure::OpKind;
use slob_record::{Interval, KindRecord, Record};
use slob_report::columns::status_word;
use slob_stats::Point;

/// Rows of one table.
pub(super) struct Rows {
    pub(super) table: &'static str,
    pub(super) columns: &'static str,
    pub(super) rows: Vec<Vec<Value>>,
}

pub(super) struct Published<'a> {
    pub(super) record: &'a Record,
    pub(super) digest: &'a str,
    pub(super) campaign: Option<&'a str>,
    /// It is the record's file, byte for byte.
    pub(super) text: &'a str,
    pub(super) signature: Option<&'a str>,
}

/// The run's own row is the first: the others refer to it.
pub(super) fn of(run: &Published<'_>) -> [Rows; 6] {
    let table = |table, columns, rows| Rows { table, columns, rows };
    [
        table(
            "slob_runs",
            "id, digest, name, campaign, target, product, slob_version, status, started, started_s, ended, host, device, record, signature",
            vec![head(run)],
        ),
        table("slob_figures", "run, name, unit, value, forbidden_by", figures(run.record)),
        table("slob_verdicts", "run, question, answer, finding, sentence", verdicts(run.record)),
        table(
            "slob_series",
            "run, at_s, seconds, operations, p50_us, p99_us, physical_reads, logical_reads, redo_bytes",
            series(run.record),
        ),
        table("slob_histograms", "run, operation, from_ns, to_ns, operations", histograms(run.record)),
        table("slob_settings", "run, kind, name, value", settings(run.record)),
    ]
}

fn head(run: &Published<'_>) -> Vec<Value> {
    let record = run.record;
    let host = record.host.as_ref().map(|host| host.info.hostname.as_str());
    vec![
        record.id.as_str().into(),
        run.digest.into(),
        record.name.as_str().into(),
        run.campaign.into(),
        record.target.as_str().into(),
        format!("{} {}", record.server.product, record.server.version).as_str().into(),
        record.slob_version.as_str().into(),
        status_word(&record.status).into(),
        record.started.to_string().as_str().into(),
        (record.started.as_millisecond() as f64 / 1e3).into(),
        record.ended.to_string().as_str().into(),
        host.into(),
        device_name(record).into(),
        run.text.into(),
        run.signature.into(),
    ]
}

fn figures(record: &Record) -> Vec<Vec<Value>> {
    let run = Run::of(record);
    let row = |figure: &Figure| {
        let forbidden = match run.standing(figure, Claim::Storage) {
            Standing::Invalid(question) => Some(question.title()),
            Standing::Sound => None,
        };
        let value = figure.of(&run)?;
        Some(vec![
            record.id.as_str().into(),
            figure.name.into(),
            figure.unit.into(),
            value.into(),
            forbidden.into(),
        ])
    };
    figure::ALL.iter().filter_map(row).collect()
}

fn verdicts(record: &Record) -> Vec<Vec<Value>> {
    let run = Run::of(record);
    let row = |verdict: &Judged| {
        vec![
            record.id.as_str().into(),
            verdict.question.title().into(),
            verdict.answer.word().into(),
            verdict.cause.as_str().into(),
            verdict.sentence.as_str().into(),
        ]
    };
    run.judged().iter().map(row).collect()
}

fn series(record: &Record) -> Vec<Vec<Value>> {
    let row = |point: Point<'_, Interval>| {
        let of = point.value?;
        Some(vec![
            record.id.as_str().into(),
            point.start_s.into(),
            point.covered_s.into(),
            of.ops.total().into(),
            percentile_us(&of.latency, 50.0).into(),
            percentile_us(&of.latency, 99.0).into(),
            of.physical_reads.into(),
            of.logical_reads.into(),
            of.redo_bytes.into(),
        ])
    };
    record.series.points().filter_map(row).collect()
}

fn histograms(record: &Record) -> Vec<Vec<Value>> {
    let of_kind = |(kind, of): (&OpKind, &KindRecord)| {
        let kind = kind.name().to_lowercase();
        let row = |(low, high, count): (u64, u64, u64)| {
            vec![record.id.as_str().into(), kind.as_str().into(), low.into(), high.into(), count.into()]
        };
        of.latency.buckets().map(row).collect::<Vec<_>>()
    };
    record.operations.iter().flat_map(of_kind).collect()
}

/// The last of several settings with one name counts.
fn settings(record: &Record) -> Vec<Vec<Value>> {
    let parameters = record.configuration.iter().map(|entry| ("parameter", &entry.key, &entry.value));
    let server = record.server.settings.iter().map(|setting| ("server", &setting.name, &setting.value));
    let row = |(kind, name, value): (&str, &String, &String)| {
        vec![record.id.as_str().into(), kind.into(), name.as_str().into(), value.as_str().into()]
    };
    let all: BTreeMap<_, _> =
        parameters.chain(server).map(|(kind, name, value)| ((kind, name), value)).collect();
    all.into_iter().map(|((kind, name), value)| row((kind, name, value))).collect()
}
