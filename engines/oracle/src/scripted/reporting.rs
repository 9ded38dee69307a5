//! Oracle's own reports, call by call.

use slob_engine::{Engine, ErrorKind, ServerReport};
use slob_spec::{EngineOptions, StatisticsType};

use super::Script;

const AWR: &str = "BEGIN :answer := DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT";
const STATSPACK: &str = "BEGIN :answer := PERFSTAT.STATSPACK.SNAP";
const INSTANCES: &str = "SELECT s.dbid, s.instance_number";
const REPORT: &str = "SELECT output FROM TABLE(DBMS_WORKLOAD_REPOSITORY.";

/// Opened with snapshot 41 and closed with 42.
fn closed(script: &Script, kind: StatisticsType, begin: &str) -> Box<dyn ServerReport> {
    let folder = tempfile::tempdir().unwrap();
    let engine = script.open(folder.path(), EngineOptions::default());
    script.take_log();
    script.rows(begin, &[&["41"]]);
    let mut report = engine.open_server_report(kind).unwrap().unwrap();
    script.rows(begin, &[&["42"]]);
    report.close().unwrap();
    report
}

#[test]
fn the_reports_of_one_instance_are_fetched_whole() {
    let script = Script::new();
    let mut report = closed(&script, StatisticsType::Awr, AWR);
    script.rows(INSTANCES, &[&["1594", "1"]]);
    script.rows(
        &format!("{REPORT}AWR_REPORT_TEXT"),
        &[&["WORKLOAD REPOSITORY report for"], &["NULL"], &["x "]],
    );
    script.rows(&format!("{REPORT}AWR_REPORT_HTML"), &[&["<html>"]]);
    let words = report.fetch().unwrap();
    assert_eq!(words.snapshots, [41, 42]);
    let files: Vec<_> = words.files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    assert_eq!(files, [("awr.txt", "WORKLOAD REPOSITORY report for\n\nx\n"), ("awr.html", "<html>\n")]);
    let log = script.take_log();
    assert_eq!(log.iter().filter(|line| line.contains("CONNECT")).count(), 1, "one connection: {log:#?}");
    assert!(log.iter().any(|line| line.contains("d.con_dbid")), "{log:#?}");
    let binds = "[Number(1594), Number(1), Number(41), Number(42)]";
    assert!(log.last().unwrap().ends_with(binds), "{log:#?}");
}

#[test]
fn a_cluster_has_one_report_of_all_instances() {
    let script = Script::new();
    let mut report = closed(&script, StatisticsType::Awr, AWR);
    script.rows(INSTANCES, &[&["1594", "1"], &["1594", "2"]]);
    script.rows(&format!("{REPORT}AWR_GLOBAL_REPORT_TEXT"), &[&["all"]]);
    script.fails(&format!("{REPORT}AWR_GLOBAL_REPORT_HTML"), 20019);
    let words = report.fetch().unwrap();
    assert_eq!(words.files.len(), 1);
    assert_eq!(words.files[0].name, "awr_rac.txt");
    assert!(words.notes[0].contains("awr_rac.html") && words.notes[0].contains("ORA-20019"), "{words:?}");
    assert!(script.take_log().last().unwrap().contains("Text(\"1,2\")"));
}

#[test]
fn snapshots_that_are_not_there_are_said() {
    let script = Script::new();
    let mut report = closed(&script, StatisticsType::Awr, AWR);
    let error = report.fetch().unwrap_err().to_string();
    assert!(error.contains("41 and 42") && error.contains("awrrpt"), "{error}");
}

#[test]
fn a_database_without_the_licence_is_not_touched() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.rows("SELECT value AS pack_access", &[&["NONE"]]);
    script.take_log();
    let error = engine.open_server_report(StatisticsType::Awr).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(!script.take_log().iter().any(|line| line.contains("WORKLOAD_REPOSITORY")));
}

#[test]
fn statspack_says_how_its_report_is_made() {
    let script = Script::new();
    let mut report = closed(&script, StatisticsType::Statspack, STATSPACK);
    script.rows("SELECT SYS_CONTEXT('USERENV', 'INSTANCE_NAME')", &[&["orcl1"]]);
    let words = report.fetch().unwrap();
    assert!(words.files.is_empty());
    for word in ["41 and 42", "orcl1", "spreport"] {
        assert!(words.notes[0].contains(word), "{word}: {:?}", words.notes);
    }
    assert!(!script.take_log().iter().any(|line| line.contains("WORKLOAD_REPOSITORY")), "no pack is touched");
}

#[test]
fn statspack_that_is_not_installed_says_how_it_is() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.fails(STATSPACK, 6550);
    let error = engine.open_server_report(StatisticsType::Statspack).err().unwrap().to_string();
    assert!(error.contains("spcreate") && error.contains("DATABASE_STATISTICS_TYPE=none"), "{error}");
}
