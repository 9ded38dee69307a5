//! Snapshots, of one instance and of a cluster.

use slob_engine::{Counter, Engine, ErrorKind, LatencyKind, ServerSnapshot, Snapshot};
use slob_spec::EngineOptions;
use slob_testing::work::assert_says;

use super::{Server, options};
use crate::OracleEngine;
use crate::capture::replay;

#[test]
fn a_snapshot_is_put_together_from_the_views() {
    let server = Server::plays(&["open", "a snapshot of one instance", "statistics may not be read"]);
    let engine = server.open();
    let figures = engine.snapshot().unwrap().total();
    assert_eq!(figures.counters.get(Counter::RedoBytes), Some(4096));
    assert_eq!(figures.counters.get(Counter::PhysicalReadTimeNs), Some(900_000));
    assert_eq!(figures.counters.get(Counter::Commits), None, "it is not among the answers");
    let reads = figures.latencies.get(LatencyKind::PhysicalRead).unwrap();
    assert_eq!((reads.histogram.count(), reads.exact.unwrap().time_us), (7, 900));
    assert_eq!(figures.events.len(), 4);
    assert_eq!(figures.events.iter().filter(|event| event.background).count(), 2);
    let error = engine.snapshot().unwrap_err();
    assert!(error.to_string().contains("SELECT_CATALOG_ROLE"), "{error}");
}

#[test]
fn a_cluster_is_queried_as_a_whole() {
    let server = Server::plays(&["open on a cluster", "a cluster is queried as a whole"]);
    server.open().snapshot().unwrap();
}

#[test]
fn the_root_of_a_container_database_is_refused() {
    let server = Server::plays(&["the service leads to the root"]);
    let opened = server.open_as("oracle://system:manager@//db1/orcl", EngineOptions::default());
    assert_eq!(opened.err().map(|error| error.kind()), Some(ErrorKind::Usage));
}

#[test]
fn what_a_pluggable_database_does_not_count_is_absent_and_not_small() {
    let server = Server::plays(&["open in a pluggable database", "views of a pluggable database: 3"]);
    server.then("two schemas are loaded");
    server.then("settings are not visible");
    let engine = server.open();
    let figures = engine.snapshot().unwrap().total();
    let counter = |counter| figures.counters.get(counter);
    assert_eq!((counter(Counter::PhysicalReads), counter(Counter::RedoBytes)), (Some(7), Some(7)));
    for absent in [Counter::PhysicalWrites, Counter::PhysicalWriteBytes, Counter::RedoWrites] {
        assert_eq!(counter(absent), None, "{absent:?}");
    }
    assert!(figures.events.iter().all(|event| !event.background), "{:?}", figures.events);
    assert!(figures.latencies.get(LatencyKind::PhysicalWrite).is_none());
    assert!(figures.latencies.get(LatencyKind::PhysicalRead).unwrap().exact.is_some());
    let settings = engine.server().unwrap().settings;
    let setting = |name: &str| &settings.iter().find(|setting| setting.name == name).unwrap().value;
    assert_eq!(setting("container of the counters"), "3");
    assert!(setting("scope of the counters").starts_with("the pluggable database alone"));
    // Histograms of the instance go without totals of another scope.
    server.then("views of a pluggable database: 0");
    let figures = engine.snapshot().unwrap().total();
    assert_eq!(figures.latencies.get(LatencyKind::PhysicalRead).unwrap().exact, None);
    assert!(figures.latencies.get(LatencyKind::PhysicalWrite).is_some());
}

#[test]
fn captured_answers_make_the_figures_of_a_snapshot() {
    for histograms in ["3", "0"] {
        let views = format!("views of a pluggable database: {histograms}");
        let server = Server::plays(&["open in a pluggable database", "two schemas are loaded", &views])
            .with_passwords();
        server.then("settings are not visible");
        server.then("answers are captured");
        let engine = server.open();
        let captured = engine.capture().unwrap();
        assert_eq!(replay(&captured).unwrap(), engine.snapshot().unwrap().total());
        let plan = captured.iter().find(|said| said.name == "plan of a SELECT").unwrap();
        assert!(plan.rows.len() > 2 && plan.question.starts_with("EXPLAIN PLAN"), "{plan:?}");
        let text = format!("{captured:?}");
        assert!(!text.contains("SL01ob__") && !text.contains("\"manager\""), "no password: {text}");
        assert!(replay(&captured[..3]).is_err());
    }
}

#[test]
fn counters_are_read_in_the_root_where_its_service_is_named() {
    let server = Server::plays(&["open in a pluggable database", "connect to the root: PDB1 | 3"]);
    let open = || {
        let options = options(&[("ORACLE_ROOT_SERVICE", "//db1/cdb")]);
        server.open_as("oracle://system:m@//db1/pdb1", options)
    };
    assert_says(&open().err().unwrap(), ErrorKind::Usage, &["PDB1"]);
    server.then("open in a pluggable database");
    server.then("connect to the root: CDB$ROOT | 1");
    server.then("views of a pluggable database: 0");
    let engine = open().unwrap();
    let figures = engine.snapshot().unwrap().total();
    assert_eq!(figures.counters.get(Counter::PhysicalWrites), Some(7));
    assert!(figures.events.iter().any(|event| event.background));
    server.then("two schemas are loaded");
    server.then("settings are not visible");
    let settings = engine.server().unwrap().settings;
    assert!(settings.iter().any(|setting| setting.value.contains("ORACLE_ROOT_SERVICE")));
}

fn open_on(server: &Server, target: &str) -> OracleEngine {
    server.open_as(target, EngineOptions::default()).unwrap()
}

fn reads(snapshot: &Snapshot) -> Vec<Option<u64>> {
    let one = |seen: &ServerSnapshot| match seen {
        ServerSnapshot::Figures(figures) => figures.counters.get(Counter::PhysicalReads),
        _ => None,
    };
    snapshot.servers.iter().map(one).collect()
}

/// The first two services lead to the second instance.
#[test]
fn endpoints_that_lead_to_all_instances_have_their_own_figures() {
    let server = Server::plays(&[
        "open a cluster by db1",
        "a snapshot of two instances",
        "connect to three services",
        "a snapshot of two instances",
        "a snapshot without the second instance",
    ]);
    let engine = open_on(&server, "oracle://system:m@db1,db2,db3/pdb");
    let before = engine.snapshot().unwrap();
    assert_eq!(reads(&before), [Some(7), None, Some(100)]);
    assert_eq!(before.servers[1], ServerSnapshot::SameAs(0));
    let after = engine.snapshot().unwrap();
    assert_eq!(after.servers[0], ServerSnapshot::Unreachable, "the second instance is gone");
    assert_eq!(after.since(&before).counters.get(Counter::PhysicalReads), Some(30));
}

#[test]
fn a_cluster_of_which_services_reach_a_part_is_counted_as_a_whole() {
    let server = Server::plays(&[
        "open a cluster by db1",
        "a snapshot of two instances",
        "connect to two services",
        "a snapshot of two instances",
    ]);
    let engine = open_on(&server, "oracle://system:m@db1,db2/pdb");
    assert_eq!(reads(&engine.snapshot().unwrap()), [Some(107), None]);
}
