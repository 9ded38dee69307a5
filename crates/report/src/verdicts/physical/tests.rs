use super::*;
use crate::fixture::{self, with_device_read_share};
use rstest::rstest;
use slob_measure::{Latencies, LatencyKind, WaitTotal};

fn verdict(record: &Record) -> Verdict {
    judge(&Figures::of(record))
}

/// Of a server whose reads go through the page cache.
fn buffered(share: f64) -> Record {
    let mut record = fixture::direct_read_run();
    record.server.embedded = false;
    record.server.direct_io = Some(false);
    with_device_read_share(&mut record, share);
    record
}

#[rstest]
#[case(0.003, Answer::Bad, "page cache served 99.7 %")]
#[case(0.49, Answer::Bad, "page cache served 51.0 %")]
#[case(0.51, Answer::Doubt, "page cache served 49.0 %")]
#[case(0.949, Answer::Doubt, "page cache served 5.1 %")]
#[case(0.951, Answer::Good, "delivered 95.1 %")]
#[case(1.049, Answer::Good, "delivered 104.9 %")]
#[case(1.06, Answer::Doubt, "6.0 % more")]
fn the_devices_share_decides(#[case] share: f64, #[case] answer: Answer, #[case] words: &str) {
    let verdict = verdict(&buffered(share));
    assert_eq!(verdict.answer, answer, "{verdict:?}");
    assert!(verdict.sentence.contains(words), "{verdict:?}");
}

#[test]
fn direct_reads_that_miss_the_device_are_not_blamed_on_the_page_cache() {
    let mut record = buffered(0.1);
    record.server.direct_io = Some(true);
    let verdict = verdict(&record);
    assert_eq!(verdict.answer, Answer::Bad);
    assert!(verdict.sentence.contains("bypass the page cache"), "{verdict:?}");
}

#[test]
fn other_programs_do_not_spoil_what_the_kernel_counted_for_this_process() {
    let mut record = fixture::direct_read_run();
    with_device_read_share(&mut record, 1.4);
    let verdict = verdict(&record);
    assert_eq!(verdict.answer, Answer::Good);
    assert!(verdict.details[0].contains("40.0 % more"), "{verdict:?}");
}

#[test]
fn others_reads_at_the_device_do_not_make_a_cached_run_look_physical() {
    let mut record = buffered(1.0);
    record.server.embedded = true;
    let asked = physical_read_bytes(&record).unwrap();
    record.client_io.as_mut().unwrap().read_bytes = asked / 50;
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Bad);
    assert!(found.sentence.contains("page cache served 98.0 %"), "{found:?}");
    record.client_io.as_mut().unwrap().read_bytes = asked;
    assert_eq!(verdict(&record).answer, Answer::Good);
}

#[test]
fn what_was_fetched_from_another_device_is_not_blamed_on_the_page_cache() {
    let mut record = fixture::direct_read_run();
    record.server.direct_io = Some(false);
    with_device_read_share(&mut record, 0.02);
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Bad);
    assert!(found.sentence.contains("may be on another device"), "{found:?}");
}

#[test]
fn a_loop_device_through_the_page_cache_is_never_good() {
    let mut record = fixture::direct_read_run();
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    device.device.cached_below = true;
    device.device.top.as_mut().unwrap().name = "loop0".into();
    let all = device.counters.unwrap().used.read_bytes;
    let cases = [
        (None, Answer::Doubt, "loop0 reads the file behind it through the page cache"),
        (Some(1.0), Answer::Doubt, "may not have come from a disk"),
        (Some(3.0), Answer::Doubt, "may not have come from a disk"),
        (Some(0.8), Answer::Doubt, "never reached the disks below"),
        (Some(0.04), Answer::Bad, "never reached the disks below"),
    ];
    for (share, answer, words) in cases {
        let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
        let disks = share.map(|share: f64| (all as f64 * share) as u64);
        device.counters.as_mut().unwrap().disk_read_bytes = disks;
        let found = verdict(&record);
        assert_eq!(found.answer, answer, "{share:?} {found:?}");
        assert!(found.sentence.contains(words), "{share:?} {found:?}");
    }
}

#[test]
fn disks_that_read_less_than_the_device_on_top_are_seen_without_a_loop_device() {
    let mut record = fixture::direct_read_run();
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    let counters = device.counters.as_mut().unwrap();
    counters.disk_read_bytes = Some(counters.used.read_bytes / 4);
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Bad);
    assert!(found.sentence.contains("a cache between it and the disks"), "{found:?}");
    let figures = Figures::of(&record);
    let (all, own) = (
        figure::DEVICE_READS_PER_S.of(&figures).unwrap(),
        figure::DATABASE_READS_PER_S.of(&figures).unwrap(),
    );
    assert!((own - all / 4.0).abs() < 1.0, "{own} of {all}");
}

/// Updates of data that fit into the buffer cache.
fn cached_updates() -> Record {
    let mut record = fixture::update_run();
    record.counters.set(Counter::PhysicalReads, 1000);
    record.client_io.as_mut().unwrap().read_bytes = 1000 * u64::from(record.server.block_bytes);
    record
}

#[test]
fn a_run_that_writes_is_no_cached_test() {
    let mut record = cached_updates();
    let found = verdict(&record);
    assert!(!is_cached_test(&record, &Figures::of(&record)));
    assert_eq!(found.answer, Answer::Good);
    assert!(found.sentence.starts_with("This was a test of writes (63.4 MB/s of redo, "), "{found:?}");
    assert!(found.sentence.contains("99.98 % hit the buffer cache"), "{found:?}");
    record.client_io.as_mut().unwrap().read_bytes = 0;
    assert_eq!(verdict(&record).answer, Answer::Doubt);
    record.counters.set(Counter::PhysicalReads, 0);
    assert_eq!(verdict(&record).answer, Answer::Good);
}

#[test]
fn either_redo_or_time_makes_a_load_of_writes() {
    let mut record = cached_updates();
    record.counters.set(Counter::RedoBytes, 59_000_000);
    record.latencies = Latencies::default();
    assert!(is_cached_test(&record, &Figures::of(&record)));
    record.counters.set(Counter::RedoBytes, 61_000_000);
    assert!(!is_cached_test(&record, &Figures::of(&record)));
    fixture::uncounted(&mut record, Counter::RedoBytes);
    assert!(is_cached_test(&record, &Figures::of(&record)));
    let db_time_ns = 1e9 * figure::DB_TIME_S.of(&Figures::of(&record)).unwrap();
    let mut with_share = |share: f64| {
        let each_ns = (share * db_time_ns / 1.08 / 10_000.0) as u64;
        record.latencies.set(LatencyKind::PhysicalWrite, fixture::spread(10_000, each_ns));
        is_cached_test(&record, &Figures::of(&record))
    };
    assert!(with_share(0.08) && !with_share(0.12));
}

/// It came to 140 % of DB time: pages are written by processes of the server's own.
#[test]
fn what_a_servers_own_processes_write_is_no_part_of_db_time() {
    let mut record = cached_updates();
    record.server.embedded = false;
    let db_time_ns = 1e9 * figure::DB_TIME_S.of(&Figures::of(&record)).unwrap();
    record.latencies = Latencies::default();
    let writes_alone = fixture::spread(10_000, (1.4 * db_time_ns / 10_800.0) as u64);
    record.latencies.set(LatencyKind::PhysicalWrite, writes_alone);
    let said = |record: &Record| writes(record, &Figures::of(record)).unwrap();
    assert_eq!(said(&record), "63.4 MB/s of redo");
    let mut syncs = slob_stats::Histogram::new();
    syncs.record_n(1_024_000, 1000);
    record.latencies.set(LatencyKind::RedoSync, syncs);
    let time_us = (0.25 * db_time_ns / 1e3) as u64;
    fixture::with_exact(&mut record, LatencyKind::RedoSync, WaitTotal { waits: 1000, time_us });
    assert_eq!(said(&record), "63.4 MB/s of redo, 25.0 % of DB time for redo syncs");
}

#[test]
fn without_a_device_the_process_is_asked_if_the_database_is_in_it() {
    let mut record = fixture::direct_read_run();
    record.host.as_mut().unwrap().device.as_mut().unwrap().counters = None;
    let embedded = verdict(&record);
    assert_eq!(embedded.answer, Answer::Good);
    assert!(embedded.sentence.contains("the storage delivered"), "{embedded:?}");
    record.server.embedded = false;
    let server = verdict(&record);
    assert_eq!(server.answer, Answer::Unknown);
    assert!(server.sentence.contains("device's counters are missing"), "{server:?}");
    record.host = None;
    assert!(verdict(&record).sentence.contains("switched off"));
}

#[rstest]
#[case(3_000, Answer::Doubt, "on average by its own clock, which is memory's time")]
#[case(216_000, Answer::Unknown, "counters are missing")]
fn without_a_witness_the_databases_own_clock_can_only_contradict(
    #[case] each_ns: u64,
    #[case] answer: Answer,
    #[case] words: &str,
) {
    let mut record = buffered(1.0);
    record.host = None;
    record.latencies.set(LatencyKind::PhysicalRead, fixture::spread(100_000, each_ns));
    let found = verdict(&record);
    assert_eq!(found.answer, answer);
    assert!(found.sentence.contains(words), "{found:?}");
    assert!(
        found.details.iter().any(|detail| detail.contains("No proof, but no contradiction"))
            == (each_ns == 216_000),
        "{found:?}"
    );
}

#[test]
fn a_cached_test_is_a_good_one() {
    let mut record = buffered(0.1);
    record.counters.set(Counter::PhysicalReads, 1000);
    record.counters.set(Counter::LogicalReads, 1_000_000);
    let hits = verdict(&record);
    assert_eq!(hits.answer, Answer::Good);
    assert!(hits.sentence.contains("99.9 % of 1,000,000 block visits"), "{hits:?}");
    record.counters.set(Counter::PhysicalReads, 0);
    fixture::uncounted(&mut record, Counter::LogicalReads);
    assert_eq!(verdict(&record).answer, Answer::Good);
    record.counters.set(Counter::LogicalReads, 0);
    assert_eq!(verdict(&record).answer, Answer::Unknown);
}

#[test]
fn what_is_not_counted_is_not_judged() {
    let mut record = fixture::direct_read_run();
    fixture::uncounted(&mut record, Counter::PhysicalReads);
    assert!(verdict(&record).sentence.contains("does not count"));
    assert_eq!(verdict(&record).answer, Answer::Unknown);
    assert_eq!(verdict(&fixture::failed_run()).answer, Answer::Unknown);
}

/// Reads of a cached server, of which a neighbour's stood in for: 4 us each, and the device's 69.
fn cached_beside_a_neighbour() -> Record {
    let mut record = fixture::page_cache_run();
    let reads = record.counters.get(Counter::PhysicalReads).unwrap();
    record.counters.set(Counter::PhysicalReadTimeNs, reads * 4_000);
    with_device_read_share(&mut record, 0.993);
    let used = &mut record.host.as_mut().unwrap().device.as_mut().unwrap().counters.as_mut().unwrap().used;
    used.read_time_ms = used.reads * 69 / 1000;
    record
}

#[test]
fn a_neighbours_reads_do_not_stand_in_for_those_of_a_cached_server() {
    let mut record = cached_beside_a_neighbour();
    let by_times = verdict(&record);
    assert_eq!(by_times.answer, Answer::Bad, "{by_times:?}");
    assert!(by_times.sentence.contains("memory speed; the device took 69"), "{by_times:?}");
    record.db_io = Some(slob_host::ProcessIo::default());
    let by_bytes = verdict(&record);
    assert_eq!(by_bytes.answer, Answer::Bad, "{by_bytes:?}");
    assert!(by_bytes.sentence.contains("served 100.0 % of these reads"), "{by_bytes:?}");
    assert!(by_bytes.sentence.contains("the server's processes"), "{by_bytes:?}");
    let ceiling = figure::PERCENT_OF_CEILING.of(&Figures::of(&record));
    assert_eq!(ceiling, Some(0.0), "the neighbour's reads are not the run's");
    (record.db_io, record.counters) = (None, record.counters.clone());
    fixture::uncounted(&mut record, Counter::PhysicalReadTimeNs);
    let by_nothing = verdict(&record);
    assert_eq!(by_nothing.answer, Answer::Doubt, "{by_nothing:?}");
    assert!(by_nothing.sentence.contains("only the device's total is known"), "{by_nothing:?}");
}

#[test]
fn what_a_servers_processes_fetched_is_believed_whatever_others_read() {
    let mut record = cached_beside_a_neighbour();
    let asked = physical_read_bytes(&record).unwrap();
    with_device_read_share(&mut record, 2.5);
    record.db_io = Some(slob_host::ProcessIo { read_bytes: asked, ..slob_host::ProcessIo::default() });
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Good, "{found:?}");
    assert!(found.details.iter().any(|detail| detail.contains("other programs used it")), "{found:?}");
}

#[test]
fn times_between_memorys_and_the_devices_are_a_doubt() {
    let mut record = cached_beside_a_neighbour();
    let reads = record.counters.get(Counter::PhysicalReads).unwrap();
    let answer = |record: &mut Record, us: u64| {
        record.counters.set(Counter::PhysicalReadTimeNs, reads * us * 1000);
        verdict(record).answer
    };
    assert_eq!(answer(&mut record, 20), Answer::Doubt);
    assert_eq!(answer(&mut record, 60), Answer::Good);
    // Where the system reads ahead, a read that is waited for brings others.
    let used = &mut record.host.as_mut().unwrap().device.as_mut().unwrap().counters.as_mut().unwrap().used;
    used.reads /= 8;
    used.read_time_ms /= 8;
    assert_eq!(answer(&mut record, 20), Answer::Good);
}

#[test]
fn redo_that_the_device_did_not_write_is_a_doubt() {
    let mut record = cached_updates();
    assert_eq!(verdict(&record).answer, Answer::Good);
    let used = &mut record.host.as_mut().unwrap().device.as_mut().unwrap().counters.as_mut().unwrap().used;
    used.write_bytes /= 4;
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Doubt);
    assert!(found.sentence.contains("of the database's redo"), "{found:?}");
}
