use super::*;
use crate::fixture::{self, with_device_read_share};
use slob_measure::Counters;

fn verdict(record: &Record) -> Verdict {
    judge(&Figures::of(record))
}

#[test]
fn a_sound_run_is_accounted_for() {
    for record in [fixture::direct_read_run(), fixture::update_run()] {
        let verdict = verdict(&record);
        assert_eq!(verdict.answer, Answer::Good, "{verdict:?}");
    }
}

#[test]
fn a_pair_that_disagrees_is_named_with_its_numbers() {
    let mut record = fixture::update_run();
    let commits = record.counters.get(Counter::Commits).unwrap();
    record.counters.set(Counter::Commits, commits / 2);
    let verdict = verdict(&record);
    assert_eq!(verdict.answer, Answer::Doubt);
    assert!(verdict.sentence.contains("commits of the database"), "{verdict:?}");
    assert!(verdict.sentence.contains("(-50.0 %)"), "{verdict:?}");
}

#[test]
fn servers_may_count_more_commits_than_updates() {
    let mut record = fixture::update_run();
    let commits = record.counters.get(Counter::Commits).unwrap();
    record.counters.set(Counter::Commits, commits * 2);
    assert_eq!(verdict(&record).answer, Answer::Doubt);
    record.server.embedded = false;
    assert_eq!(verdict(&record).answer, Answer::Good);
}

#[test]
fn fewer_logical_reads_than_rows_can_not_be() {
    let mut record = fixture::direct_read_run();
    let rows: u64 = record.operations.values().map(|kind| kind.rows).sum();
    record.counters.set(Counter::LogicalReads, rows / 2);
    let verdict = verdict(&record);
    assert!(verdict.sentence.contains("logical reads"), "{verdict:?}");
    assert_eq!(verdict.answer, Answer::Doubt);
}

#[test]
fn others_reads_are_others_where_the_process_agrees() {
    let mut record = fixture::direct_read_run();
    with_device_read_share(&mut record, 1.5);
    assert_eq!(verdict(&record).answer, Answer::Good);
    record.client_io = None;
    assert_eq!(verdict(&record).answer, Answer::Doubt);
    with_device_read_share(&mut record, 0.9);
    assert_eq!(verdict(&record).answer, Answer::Doubt);
}

#[test]
fn others_reads_beside_a_server_are_no_disagreement_and_missing_ones_are() {
    let mut record = fixture::direct_read_run();
    record.server.embedded = false;
    with_device_read_share(&mut record, 1.5);
    let more = verdict(&record);
    assert_eq!(more.answer, Answer::Good, "{more:?}");
    assert!(more.details.iter().any(|detail| detail.contains("50.0 % more than the database")), "{more:?}");
    with_device_read_share(&mut record, 0.9);
    let less = verdict(&record);
    assert_eq!(less.answer, Answer::Doubt);
    assert!(less.sentence.contains("bytes read by the device"), "{less:?}");
}

#[test]
fn the_page_cache_is_not_a_fault_of_accounting() {
    let verdict = verdict(&fixture::page_cache_run());
    assert_eq!(verdict.answer, Answer::Good, "{verdict:?}");
    assert!(verdict.details.iter().any(|detail| detail.contains("ytes read by the device")), "{verdict:?}");
}

#[test]
fn lost_operations_of_a_session_are_seen() {
    let mut record = fixture::direct_read_run();
    record.sessions[1].selects /= 2;
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Doubt);
    assert!(found.sentence.contains("operations by session"), "{found:?}");

    let mut record = fixture::direct_read_run();
    record.sessions[1].busy_us /= 2;
    assert!(verdict(&record).sentence.contains("us of all sessions"));
}

#[test]
fn without_the_databases_counters_there_is_nothing_independent() {
    let mut record = fixture::direct_read_run();
    record.counters = Counters::default();
    assert_eq!(verdict(&record).answer, Answer::Unknown);
    assert_eq!(verdict(&fixture::failed_run()).answer, Answer::Unknown);
}

#[test]
fn a_scan_at_each_edge_of_a_window_is_no_disagreement() {
    let mut record = fixture::direct_read_run();
    with_device_read_share(&mut record, 0.98);
    record.workload.scan_pct = 10;
    let blocks =
        record.counters.get(Counter::PhysicalReads).unwrap() / u64::from(record.workload.sessions()) / 20;
    record.load.as_mut().unwrap().scan_blocks = blocks;
    assert_eq!(verdict(&record).answer, Answer::Good, "{:?}", verdict(&record));
    record.workload.scan_pct = 0;
    assert_ne!(verdict(&record).answer, Answer::Good);
}
