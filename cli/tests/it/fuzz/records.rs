//! Records: damaged ones are refused, odd ones give reports all the same.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use slob_facts::{Run, verdicts};
use slob_page::Answer;
use slob_record::{Record, SeriesWanted, list_runs, read_record_with, series_csv};
use slob_report::analysis::{Analysis, Options, run_of, slob_r_tables, variants_of};
use slob_report::columns as of_tables;
use slob_report::diff::Diff;
use slob_report::field::field;
use slob_report::hlog;
use slob_report::html::run_page;
use slob_report::{Confidence, compact_summary, compare_probe_text, text_report};

use super::damage::{self, Random, SCRIPT};
use super::each;
use crate::common::SAVED;

fn fixtures() -> Vec<PathBuf> {
    list_runs(Path::new(SAVED)).unwrap().into_iter().map(|run| run.join("run.json")).collect()
}

fn use_all(record: &Record, good: &Record, random: &mut Random) {
    assert!(!text_report(record, None).is_empty() && !compact_summary(record, None).is_empty());
    let _ = (compare_probe_text(record, None), verdicts(record), hlog(record), series_csv(record));
    let columns: Vec<_> = of_tables::all_columns().collect();
    let rows = [record, good].map(|record| of_tables::cells(&Run::of(record), &columns));
    let table = of_tables::table(columns.iter().map(|column| column.name), &columns, rows);
    let _ = (table.csv(), table.json(), table.pipes());
    let paths = "window.seconds figures.iops operations.0.latency.p99999999999999999999_us sessions.-1 .. ";
    paths.split(' ').for_each(|path| drop(field(record, path)));
    let (first, second) = (std::slice::from_ref(record), [good.clone(), record.clone()]);
    let three = [("first", first), ("second", &second[..]), ("third", first)];
    let groups = &three[..if random.one_in(2) { 2 } else { 3 }];
    let diff = Diff::of(groups, Confidence::default());
    if let Ok(diff) = &diff {
        assert!(!diff.text(None).is_empty());
        serde_json::to_string(diff).unwrap();
    }
    let runs: Vec<_> = second.iter().filter_map(|record| run_of(&Run::of(record))).collect();
    let variants = variants_of(runs.iter().map(|run| run.label.as_str()));
    let options = Options::default();
    let _ = Analysis::of(&runs, &variants, &slob_r_tables(), &options).map(|analysis| analysis.text(None));
    // Pages are large; some show what all would.
    if random.one_in(8) {
        assert!(!run_page(record).contains(SCRIPT));
        let _ = diff.map(|diff| assert!(!diff.with_charts(groups).html().contains(SCRIPT)));
    }
}

/// A record must be the same when it is written and read again.
fn read(path: &Path) -> Option<Record> {
    let whole = read_record_with(path, SeriesWanted::Whole);
    let in_part = [SeriesWanted::Empty, SeriesWanted::Counts].map(|part| read_record_with(path, part));
    let is_named = |error: &_| assert!(format!("{error}").contains("run.json"), "{error}");
    let record = whole.inspect_err(is_named).ok()?;
    assert!(in_part.iter().all(Result::is_ok));
    let text = serde_json::to_string(&record).unwrap();
    assert!(serde_json::from_str::<Record>(&text).unwrap() == record);
    Some(record)
}

/// Uses each damaged record that reads. How many there were, and how many of them read.
fn each_damaged(
    reader: &str,
    (usual, most_mib): (u64, usize),
    damaged: impl Fn(&mut Random) -> Vec<u8>,
) -> (u64, u64) {
    let good = read_record_with(&fixtures()[0], SeriesWanted::Whole).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let (mut all, mut were_read) = (0, 0);
    each(reader, usual, most_mib, |random| {
        fs::write(&path, damaged(random)).unwrap();
        all += 1;
        if let Some(record) = read(&path) {
            were_read += 1;
            use_all(&record, &good, random);
        }
    });
    (all, were_read)
}

#[test]
fn damaged_records_are_refused_or_read() {
    let texts: Vec<Vec<u8>> = fixtures().iter().map(|path| fs::read(path).unwrap()).collect();
    let damaged =
        |random: &mut Random| damage::bytes(random.of_these::<Vec<u8>>(&texts), damage::JSON, random);
    each_damaged("run.json, damaged", (200, 64), damaged);
}

#[test]
fn odd_records_give_reports() {
    let texts: Vec<Value> =
        fixtures().iter().map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect();
    let (all, were_read) = each_damaged("run.json, odd values", (150, 96), |random| {
        serde_json::to_vec(&damage::json(random.of_these(&texts), random)).unwrap()
    });
    assert!(all < 100 || were_read * 5 > all, "{were_read} of {all} were read: that shows little");
}

/// Every free text of a record is a script; its pages must show it, and not run it.
#[test]
fn no_text_of_a_record_becomes_part_of_a_page() {
    let fixture = fs::read_to_string(&fixtures()[0]).unwrap();
    let mut record: Value = serde_json::from_str(&fixture).unwrap();
    record["marks"] = json!([{"at_s": 1.0, "text": "backup"}]);
    record["notes"] = json!(["a note"]);
    let mut texts = Vec::new();
    pointers(&record, String::new(), &mut texts);
    let mut changed = 0;
    for text in texts {
        let before = record.pointer(&text).cloned().unwrap();
        *record.pointer_mut(&text).unwrap() = SCRIPT.into();
        match serde_json::from_value::<Record>(record.clone()) {
            Ok(_) => changed += 1,
            Err(_) => *record.pointer_mut(&text).unwrap() = before,
        }
    }
    assert!(changed > 50, "{changed}");
    let odd: Record = serde_json::from_value(record).unwrap();
    let good: Record = serde_json::from_str(&fixture).unwrap();
    let page = run_page(&odd);
    let (first, second) = ([good, odd.clone()], [odd.clone(), odd]);
    let groups = [("first", &first[..]), ("second", &second[..]), (SCRIPT, &first[..])];
    let [pair, three] = [&groups[..2], &groups]
        .map(|groups| Diff::of(groups, Confidence::default()).unwrap().with_charts(groups).html());
    for page in [page, pair, three] {
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("alert(1)"), "it is shown");
    }
}

fn pointers(value: &Value, path: String, texts: &mut Vec<String>) {
    match value {
        Value::String(_) => texts.push(path),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| pointers(item, format!("{path}/{at}"), texts));
        }
        Value::Object(fields) => {
            let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
            fields.iter().for_each(|(name, item)| pointers(item, format!("{path}/{}", escaped(name)), texts));
        }
        _ => {}
    }
}

/// A run may be copied while its disk is full.
#[test]
fn a_record_that_was_cut_is_refused_wherever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    for fixture in fixtures() {
        let whole = fs::read(fixture).unwrap();
        for at in (0..whole.trim_ascii_end().len()).step_by(whole.len() / 100) {
            fs::write(&path, &whole[..at]).unwrap();
            assert!(read(&path).is_none(), "cut at {at}");
        }
    }
}
