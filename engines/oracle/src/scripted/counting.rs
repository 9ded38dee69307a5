//! Snapshots, of one instance and of a cluster.

use slob_engine::{Counter, Engine, ErrorKind, LatencyKind, Seen, Snapshot};
use slob_spec::EngineOptions;

use super::Script;
use super::working::opened;
use crate::engine::OracleEngine;

#[test]
fn a_snapshot_is_put_together_from_the_views() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    script.rows(
        "SELECT 1 AS instance_number, name, SUM(value)",
        &[&["1", "redo size", "4096"], &["1", "physical reads", "7"]],
    );
    script.rows(
        "SELECT 1 AS instance_number, event, wait_class",
        &[&["1", "db file sequential read", "User I/O", "7", "900", "1", "5"]],
    );
    script.rows("SELECT 1 AS instance_number, function_name", &[&["1", "LGWR", "3", "4000"]]);
    script.rows(
        "SELECT 1 AS instance_number, stat_name",
        &[&["1", "DB time", "2000"], &["1", "DB CPU", "300"]],
    );
    script.rows(
        "SELECT 1 AS instance_number, event, wait_time_micro, SUM",
        &[&["1", "db file sequential read", "256", "7"]],
    );
    let figures = engine.snapshot().unwrap().total();
    assert_eq!(figures.counters.get(Counter::RedoBytes), Some(4096));
    assert_eq!(figures.counters.get(Counter::PhysicalReadTimeNs), Some(900_000));
    assert_eq!(figures.counters.get(Counter::Commits), None, "the script does not say");
    let reads = figures.latencies.get(LatencyKind::PhysicalRead).unwrap();
    assert_eq!((reads.histogram.count(), reads.exact.unwrap().time_us), (7, 900));
    assert_eq!(figures.events.len(), 4);
    assert_eq!(figures.events.iter().filter(|event| event.background).count(), 2);
    script.fails("SELECT 1 AS instance_number, name, SUM(value)", 942);
    let error = engine.snapshot().unwrap_err();
    assert!(error.to_string().contains("SELECT_CATALOG_ROLE"), "{error}");
}

#[test]
fn a_cluster_is_asked_as_a_whole_and_a_container_root_refused() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    script.rows("SELECT COUNT(*) AS instances", &[&["2"]]);
    let engine = opened(&script, &folder);
    engine.snapshot().unwrap();
    let log = script.take_log();
    assert!(log.iter().all(|line| line.contains("gv$") || line.contains("CONNECT")), "{log:#?}");
    script.rows("SELECT SYS_CONTEXT", &[&["CDB$ROOT"]]);
    let target = "oracle://system:manager@//db1/orcl".parse().unwrap();
    let spec = slob_engine::OpenSpec::new(target, slob_engine::Purpose::Use, EngineOptions::default());
    let opened = crate::engine::open_with(&spec, Box::new(script), Some(folder.path().join("p")));
    assert_eq!(opened.err().map(|error| error.kind()), Some(ErrorKind::Usage));
}

/// The views of an instance, of which 3 is the pluggable database's number.
fn pluggable(script: &Script, histograms: &str) {
    script.rows("SELECT SYS_CONTEXT('USERENV', 'CON_NAME')", &[&["PDB1", "3"]]);
    let statistics =
        ["physical reads", "physical writes", "physical write bytes", "redo size", "redo writes"];
    let rows: Vec<[&str; 4]> = statistics.map(|name| ["1", name, "7", "3"]).to_vec();
    let rows: Vec<&[&str]> = rows.iter().map(<[&str; 4]>::as_slice).collect();
    script.rows("SELECT 1 AS instance_number, name, SUM(value)", &rows);
    script.rows(
        "SELECT 1 AS instance_number, event, wait_class",
        &[
            &["1", "db file sequential read", "User I/O", "7", "900", "1", "5", "3"],
            &["1", "db file parallel write", "System I/O", "0", "0", "2", "9", "3"],
        ],
    );
    script.rows("SELECT 1 AS instance_number, function_name", &[&["1", "LGWR", "3", "4000", "0"]]);
    script.rows(
        "SELECT 1 AS instance_number, event, wait_time_micro, SUM",
        &[
            &["1", "db file sequential read", "256", "7", histograms],
            &["1", "db file parallel write", "256", "9", histograms],
        ],
    );
}

#[test]
fn what_a_pluggable_database_does_not_count_is_absent_and_not_small() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    pluggable(&script, "3");
    let engine = opened(&script, &folder);
    let figures = engine.snapshot().unwrap().total();
    let counter = |counter| figures.counters.get(counter);
    assert_eq!((counter(Counter::PhysicalReads), counter(Counter::RedoBytes)), (Some(7), Some(7)));
    for absent in [Counter::PhysicalWrites, Counter::PhysicalWriteBytes, Counter::RedoWrites] {
        assert_eq!(counter(absent), None, "{absent:?}");
    }
    assert!(figures.events.iter().all(|event| !event.background), "{:?}", figures.events);
    assert!(figures.latencies.get(LatencyKind::PhysicalWrite).is_none());
    assert!(figures.latencies.get(LatencyKind::PhysicalRead).unwrap().exact.is_some());
    let server = engine.server().unwrap();
    let setting = |name: &str| {
        server.settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.clone())
    };
    assert_eq!(setting("container of the counters").as_deref(), Some("3"));
    assert!(setting("scope of the counters").unwrap().starts_with("the pluggable database alone"));
    // Of the instance, by their rows: they stand, without totals of another scope.
    pluggable(&script, "0");
    let figures = engine.snapshot().unwrap().total();
    assert_eq!(figures.latencies.get(LatencyKind::PhysicalRead).unwrap().exact, None);
    assert!(figures.latencies.get(LatencyKind::PhysicalWrite).is_some());
}

/// What a server said makes the figures that its snapshot had.
#[test]
fn what_was_said_is_replayed() {
    for histograms in ["3", "0"] {
        let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
        pluggable(&script, histograms);
        let engine = opened(&script, &folder);
        let said = engine.testimony().unwrap();
        assert_eq!(crate::testimony::replay(&said).unwrap(), engine.snapshot().unwrap().total());
        let plan = said.iter().find(|said| said.name == "plan of a SELECT").unwrap();
        assert!(plan.rows.len() > 2 && plan.question.starts_with("EXPLAIN PLAN"), "{plan:?}");
        let text = format!("{said:?}");
        assert!(!text.contains("SL01ob__") && !text.contains("\"manager\""), "no password: {text}");
        assert!(crate::testimony::replay(&said[..3]).is_err());
    }
}

#[test]
fn counters_are_read_in_the_root_where_its_service_is_named() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    pluggable(&script, "0");
    let options = || super::options(&[("ORACLE_ROOT_SERVICE", "//db1/cdb")]);
    let spec = || {
        let target = "oracle://system:m@//db1/pdb1".parse().unwrap();
        slob_engine::OpenSpec::new(target, slob_engine::Purpose::Use, options())
    };
    let open = |script: &Script| {
        crate::engine::open_with(&spec(), Box::new(script.clone()), Some(folder.path().join("p")))
    };
    let error = open(&script).err().unwrap();
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("PDB1"), "{error}");
    script.rows_once("SELECT SYS_CONTEXT('USERENV', 'CON_NAME')", &[&["CDB$ROOT", "1"]]);
    script.rows_once("SELECT SYS_CONTEXT('USERENV', 'CON_NAME')", &[&["PDB1", "3"]]);
    let engine = open(&script).unwrap();
    let figures = engine.snapshot().unwrap().total();
    assert_eq!(figures.counters.get(Counter::PhysicalWrites), Some(7));
    assert!(figures.events.iter().any(|event| event.background));
    assert!(script.take_log().iter().any(|line| line == "system: CONNECT //db1/cdb"));
    let server = engine.server().unwrap();
    assert!(server.settings.iter().any(|setting| setting.value.contains("ORACLE_ROOT_SERVICE")));
}

/// Two instances; each has read so many blocks.
fn cluster(script: &Script, reads: &[(&str, &str)]) {
    script.rows("SELECT COUNT(*) AS instances", &[&["2"]]);
    let rows: Vec<[&str; 3]> =
        reads.iter().map(|(instance, value)| [*instance, "physical reads", *value]).collect();
    let rows: Vec<&[&str]> = rows.iter().map(<[&str; 3]>::as_slice).collect();
    script.rows("SELECT inst_id AS instance_number, name", &rows);
}

fn opened_on(script: &Script, target: &str, folder: &tempfile::TempDir) -> OracleEngine {
    let spec = slob_engine::OpenSpec::new(
        target.parse().unwrap(),
        slob_engine::Purpose::Use,
        EngineOptions::default(),
    );
    crate::engine::open_with(&spec, Box::new(script.clone()), Some(folder.path().join("p"))).unwrap()
}

fn reads(snapshot: &Snapshot) -> Vec<Option<u64>> {
    let one = |seen: &Seen| match seen {
        Seen::Figures(figures) => figures.counters.get(Counter::PhysicalReads),
        _ => None,
    };
    snapshot.servers.iter().map(one).collect()
}

#[test]
fn endpoints_that_lead_to_all_instances_have_their_own_figures() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    cluster(&script, &[("1", "100"), ("2", "7")]);
    let engine = opened_on(&script, "oracle://system:m@db1,db2,db3/pdb", &folder);
    // The first two services are on the second instance.
    script.rows("SELECT SYS_CONTEXT('USERENV', 'INSTANCE')", &[&["1"]]);
    script.rows_once("SELECT SYS_CONTEXT('USERENV', 'INSTANCE')", &[&["2"]]);
    script.rows_once("SELECT SYS_CONTEXT('USERENV', 'INSTANCE')", &[&["2"]]);
    let before = engine.snapshot().unwrap();
    assert_eq!(reads(&before), [Some(7), None, Some(100)]);
    assert_eq!(before.servers[1], Seen::SameAs(0));
    cluster(&script, &[("1", "130")]);
    let after = engine.snapshot().unwrap();
    assert_eq!(after.servers[0], Seen::Unreachable, "the second instance is gone");
    assert_eq!(after.since(&before).counters.get(Counter::PhysicalReads), Some(30));
}

#[test]
fn a_cluster_of_which_services_reach_a_part_is_counted_as_a_whole() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    cluster(&script, &[("1", "100"), ("2", "7")]);
    let engine = opened_on(&script, "oracle://system:m@db1,db2/pdb", &folder);
    script.rows("SELECT SYS_CONTEXT('USERENV', 'INSTANCE')", &[&["1"]]);
    let snapshot = engine.snapshot().unwrap();
    assert_eq!(reads(&snapshot), [Some(107), None]);
}
