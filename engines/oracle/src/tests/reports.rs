//! Oracle's own reports, call by call.

use slob_engine::{Engine, ErrorKind, FetchedReport, Result, ServerReport};
use slob_spec::StatisticsType;

use super::Server;

fn open(titles: &[&str], kind: StatisticsType) -> Result<(Server, Box<dyn ServerReport>)> {
    let server = Server::plays(&[&["open"], titles].concat());
    let report = server.open().open_server_report(kind)?.unwrap();
    Ok((server, report))
}

fn fetched(titles: &[&str], kind: StatisticsType) -> Result<FetchedReport> {
    let (_server, mut report) = open(titles, kind)?;
    report.close()?;
    report.fetch()
}

#[test]
fn the_reports_of_one_instance_are_fetched_whole() {
    let words = fetched(&["AWR snapshots", "reports of one instance"], StatisticsType::Awr).unwrap();
    assert_eq!(words.snapshots, [41, 42]);
    let files: Vec<_> = words.files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    assert_eq!(files, [("awr.txt", "WORKLOAD REPOSITORY report for\n\nx\n"), ("awr.html", "<html>\n")]);
}

#[test]
fn a_cluster_has_one_report_of_all_instances() {
    let words = fetched(&["AWR snapshots", "reports of a cluster"], StatisticsType::Awr).unwrap();
    assert_eq!(words.files.len(), 1);
    assert_eq!(words.files[0].name, "awr_rac.txt");
    assert!(words.notes[0].contains("awr_rac.html") && words.notes[0].contains("ORA-20019"), "{words:?}");
}

#[test]
fn missing_snapshots_are_reported() {
    let fetched = fetched(&["AWR snapshots", "instances of the snapshots"], StatisticsType::Awr);
    let error = fetched.unwrap_err().to_string();
    assert!(error.contains("41 and 42") && error.contains("awrrpt"), "{error}");
}

#[test]
fn a_database_without_the_licence_is_not_touched() {
    let error = open(&["the pack is not licensed"], StatisticsType::Awr).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}

#[test]
fn statspack_says_how_its_report_is_made() {
    let words = fetched(&["Statspack snapshots"], StatisticsType::Statspack).unwrap();
    assert!(words.files.is_empty());
    for word in ["41 and 42", "orcl1", "spreport"] {
        assert!(words.notes[0].contains(word), "{word}: {:?}", words.notes);
    }
}

#[test]
fn statspack_that_is_not_installed_says_how_it_is() {
    let error = open(&["Statspack is not installed"], StatisticsType::Statspack).err().unwrap().to_string();
    assert!(error.contains("spcreate") && error.contains("DATABASE_STATISTICS_TYPE=none"), "{error}");
}
