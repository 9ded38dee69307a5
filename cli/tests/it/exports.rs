//! Exports are read by independent readers: the record by its schema, the histogram log by HdrHistogram's reader, the metrics by
//! Prometheus' parser. Without the Python packages of `target/test-readers` (`.ci/install-test-servers`) these tests say so and
//! pass, unless CI=true.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use slob_testing::available;

use crate::common::{Folder, SLOB, Signal, kill, read_json, signal, workspace};

fn readers() -> Option<PathBuf> {
    let python = workspace("target/test-readers/bin/python");
    let missing = "there are no readers; .ci/install-test-servers installs them";
    available(Some(python).filter(|python| python.exists()).ok_or(missing.into()))
}

/// The program must print JSON.
fn python(python: &Path, program: &str, argument: &Path) -> Value {
    let output = Command::new(python).args(["-c", program]).arg(argument).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

const READ_SCHEMA: &str = "\
import json, sys
from jsonschema.validators import validator_for
given = json.load(open(sys.argv[1]))
validator = validator_for(given['schema'])(given['schema'])
faults = [[f'{one.json_path}: {one.message[:200]}' for one in validator.iter_errors(document)] for document in given['documents']]
print(json.dumps(faults))";

/// What a schema of docs/reference has against each document; `None` without its reader.
pub(crate) fn faults(schema: &str, documents: &[Value]) -> Option<Vec<Vec<String>>> {
    let reader = readers()?;
    let schema = read_json(workspace("docs/reference").join(schema));
    let given = tempfile::NamedTempFile::new().unwrap();
    fs::write(&given, json!({ "schema": schema, "documents": documents }).to_string()).unwrap();
    Some(serde_json::from_value(python(&reader, READ_SCHEMA, given.path())).unwrap())
}

#[test]
fn records_fit_the_schema_however_the_run_ended() {
    let mut records = Vec::new();
    let folder = Folder::loaded(2, "8M");
    let until = folder.slob("probe . --seconds 0.1 --size-mb 16 --write --until-cliff=2s --html");
    until.prints(&["Until the cliff, random read", "no cliff in 2 s"]);
    assert!(std::fs::read_to_string(folder.at("probe.html")).unwrap().contains("id=\"until-cliff\""));
    let alone = folder.slob("probe . --seconds 0.1 --durable only").prints(&["16 x 8.0 KiB", "Flushes/s"]);
    assert!(!alone.stdout.contains("random read"), "{}", alone.stdout);
    let completed = folder.run_json("-s 2 --update-pct 20 --scan-pct 10 --run-time 1");
    assert_eq!(completed["status"]["state"], "completed");
    records.push(completed);
    let steady = "--until-steady --steady-window 1 --steady-tolerance 50";
    let open = folder.run_json(format!("--target null: --rate 100 --run-time 60 --warmup auto:4 {steady}"));
    assert!(open["warm_up"]["steady"]["since_s"].is_u64(), "{}", open["warm_up"]);
    assert!(open["until_steady"]["since_s"].is_u64(), "{}", open["until_steady"]);
    assert_eq!(open["workload"]["rate_per_s"], 100);
    records.push(open);
    let schedule = folder.run_json("-s 2 --rate 40@0s,80@2s --run-time 4");
    assert_eq!(schedule["rate_steps"].as_array().map(Vec::len), Some(2));
    records.push(schedule);
    folder.script("hook.sh", &format!("#!/bin/sh\n[ \"$1\" != post ] && {SLOB} mark \"$1\"\n"));
    let hot = "--do-hotspot --hotspot-mb 2 --hotspot-frequency 3";
    let think = "--think-tm-frequency 7 --external-script ./hook.sh";
    folder.slob(format!("run --target null: --run-time 1 {hot} {think}")).exits(3);
    let failed = folder.last_record();
    assert_eq!((&failed["status"]["state"], &failed["marks"][0]["text"]), (&"failed".into(), &"pre".into()));
    let (hot, think) = (&failed["workload"]["hot_spot"], &failed["workload"]["think_time"]);
    assert_eq!((&hot["every"], &think["every"], &think["max_us"]), (&3.into(), &7.into(), &500_000.into()));
    records.push(failed);
    let mut child = folder.start_run("--target null:?latency_us=1000 --run-time 60 --name stopped");
    signal(&child, Signal::INT);
    child.wait().unwrap();
    let interrupted = folder.last_record();
    assert_eq!(interrupted["status"]["state"], "interrupted");
    records.push(interrupted);
    folder.slob("run --target null: --rate 9 --run-time 9 --abort-on 'operations_per_s > 0 for 1s'").exits(1);
    let aborted = folder.last_record();
    assert_eq!(aborted["status"]["state"], "aborted");
    records.push(aborted);
    let Some(faults) = faults("run.schema.json", &records) else { return };
    assert!(faults.len() == 6 && faults.iter().all(Vec::is_empty), "{faults:#?}");
}

/// A schema that accepts everything would be worth nothing.
#[test]
fn the_schema_refuses_what_is_no_record() {
    let good = read_json(workspace("crates/record/tests/fixtures/v1/20261121T014616Z-ten/run.json"));
    let damages: [fn(&mut Value); 7] = [
        |record| record["record_version"] = 2.into(),
        |record| record["status"]["state"] = "fine".into(),
        |record| drop(record.as_object_mut().unwrap().remove("window")),
        |record| record["surprise"] = 1.into(),
        |record| record["series"]["points"][0]["value"]["surprise"] = 1.into(),
        |record| record["operations"]["select"]["latency"]["buckets"][0][1] = 0.into(),
        |record| record["workload"]["sessions"] = 1.into(),
    ];
    let damaged = damages.map(|damage| {
        let mut bad = good.clone();
        damage(&mut bad);
        bad
    });
    let documents = [&[good][..], &damaged].concat();
    let Some(faults) = faults("run.schema.json", &documents) else { return };
    let refused: Vec<bool> = faults.iter().map(|faults| !faults.is_empty()).collect();
    assert_eq!(refused, [false, true, true, true, true, true, true, true], "{faults:#?}");
}

#[test]
fn the_series_is_the_one_beside_the_record() {
    let folder = Folder::loaded(1, "8M");
    folder.run_json("--run-time 2");
    let beside = fs::read_to_string(folder.last_run().join("series.csv")).unwrap();
    assert_eq!(folder.slob("export --series").success().stdout, beside);
    folder.slob("export latest --series -o copy.csv").success();
    assert_eq!(folder.read("copy.csv"), beside);
    folder.slob("export latest").exits(2);
    folder.slob("export --hlog -o no/such/folder").exits(2);
}

/// Adds up the intervals that are not tagged, as HdrHistogram's own tools do.
const READ_HLOG: &str = include_str!("scripts/hlog.py");

#[test]
fn the_histogram_log_says_the_same_to_hdrhistograms_own_reader() {
    let Some(reader) = readers() else { return };
    let folder = Folder::loaded(2, "8M");
    let record = folder.run_json("-s 2 --rate 400 --run-time 4 --update-pct 10 --cache-mb 1");
    let path = folder.at("run.hlog");
    folder.slob("export latest --hlog -o run.hlog").success();
    let read = python(&reader, READ_HLOG, &path);
    let started: jiff::Timestamp = record["started"].as_str().unwrap().parse().unwrap();
    let start_s = read["start_s"].as_f64().unwrap();
    assert!((start_s - started.as_millisecond() as f64 / 1e3).abs() < 0.01, "{read}");
    // The same from the record: the whole intervals of the window, added up with our own histogram.
    let record: slob_record::Record = serde_json::from_value(record).unwrap();
    let window = record.window.unwrap();
    let mut ours = slob_stats::Histogram::new();
    let mut intervals = 0;
    for point in record.series.points() {
        let (begin, end) = (point.start_s as f64, (point.start_s + record.series.width_s()) as f64);
        let is_within = begin >= window.begin_s && end <= window.begin_s + window.seconds;
        if let Some(interval) = point.value.filter(|_| is_within) {
            ours.merge(&interval.latency);
            intervals += 1;
        }
    }
    assert!(intervals >= 2 && read["intervals"] == intervals, "{intervals}: {read}");
    assert_eq!(read["count"], ours.count());
    // They round the rank of a percentile where we round it up, so theirs may be the neighbour of ours. They have three
    // significant digits; the smallest and largest value of each interval are exact.
    let rank = 100.0 / ours.count() as f64;
    for (name, percent) in [("p50", 50.0_f64), ("p99", 99.0), ("max", 100.0)] {
        let near = |percent: f64| ours.percentile(percent.min(100.0)).unwrap() as f64;
        let (theirs, low, high) = (read[name].as_f64().unwrap(), near(percent - rank), near(percent + rank));
        let is_near = (0.99 * low..=1.01 * high).contains(&theirs);
        assert!(is_near, "{name}: {theirs} there, {low} to {high} here");
    }
}

/// Everything that Prometheus' own parser finds, once operations have ended: metrics by name with their types and samples.
const READ_PROMETHEUS: &str = include_str!("scripts/prometheus.py");

#[test]
fn prometheus_own_parser_reads_the_metrics_of_a_live_run() {
    let Some(reader) = readers() else { return };
    let folder = Folder::loaded(1, "8M");
    let mut run = folder.start_run("--run-time 60 --cache-mb 1 --metrics 0");
    let mut said = BufReader::new(run.stderr.as_mut().unwrap()).lines().map(Result::unwrap);
    let link = |line: String| Some(line.split_once("metrics at ")?.1.split(' ').next()?.to_owned());
    let link = said.find_map(link).unwrap();
    let found = python(&reader, READ_PROMETHEUS, link.as_ref());
    kill(run);
    for (name, family) in found.as_object().unwrap() {
        assert!(name.starts_with("slob_") && family["type"] != "unknown", "{name}");
        assert!(!family["help"].as_str().unwrap().is_empty(), "{name} has no help");
        assert!(!family["samples"].as_array().unwrap().is_empty(), "{name} has no sample");
    }
    assert_eq!(found["slob_db_physical_reads"]["type"], "counter");
    let durations = &found["slob_operation_duration_seconds"];
    assert_eq!(durations["type"], "histogram");
    let of = |fits: &dyn Fn(&Value) -> bool| {
        let mut samples = durations["samples"].as_array().unwrap().iter();
        samples.find(|sample| fits(sample)).unwrap()["value"].as_f64().unwrap()
    };
    let count = of(&|sample| sample["name"] == "slob_operation_duration_seconds_count");
    assert_eq!(of(&|sample| sample["labels"]["le"] == "+Inf"), count);
    assert_eq!(of(&|sample| sample["labels"]["le"] == "100"), count);
}
