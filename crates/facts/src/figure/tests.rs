use std::collections::BTreeSet;

use slob_measure::{Counter, Latencies, LatencyKind, WaitTotal};
use slob_record::Window;

use super::*;
use slob_testing::records::{self, with_device_read_share};

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
}

fn known<'a>(record: &Record, of: impl Iterator<Item = &'a Figure>) -> Vec<&'static str> {
    let figures = Figures::of(record);
    of.filter(|figure| figure.of(&figures).is_some()).map(|figure| figure.name).collect()
}

const PROBED: [&Figure; 5] =
    [&CEILING_IOPS, &SYNC_IOPS, &PERCENT_OF_CEILING, &DEVICE_PERCENT_OF_CEILING, &PERCENT_OF_SYNC];

#[test]
fn names_are_unique_and_say_their_unit() {
    let names: BTreeSet<&str> = ALL.iter().map(|figure| figure.name).collect();
    assert_eq!(names.len(), ALL.len());
    let parts = [("us", "_us"), ("MB/s", "_mb_per_s"), ("MiB/s", "_mib_per_s"), ("s", "_s")];
    for figure in ALL {
        assert!(!figure.title.is_empty() && !figure.source.is_empty(), "{}", figure.name);
        let part = parts.iter().find(|(unit, _)| *unit == figure.unit);
        assert!(
            part.is_none_or(|(_, part)| figure.name.contains(part)),
            "{} is in {}",
            figure.name,
            figure.unit
        );
    }
}

#[test]
fn rates_are_of_the_window() {
    let record = records::direct_read_run();
    let figures = Figures::of(&record);
    assert_eq!(WINDOW_S.of(&figures), Some(60.0));
    close(OPERATIONS_PER_S.of(&figures), 300.0);
    close(SELECTS_PER_S.of(&figures), 300.0);
    close(UPDATES_PER_S.of(&figures), 0.0);
    close(ROWS_PER_S.of(&figures), 19_200.0);
    close(PHYSICAL_READS_PER_S.of(&figures), 19_507.2);
    close(PHYSICAL_READ_MB_PER_S.of(&figures), 159.802_982_4);
    close(HIT_PERCENT.of(&figures), 100.0 * (5_184_000.0 - 1_170_432.0) / 5_184_000.0);
    assert_eq!(REDO_MB_PER_S.of(&figures), None, "not counted is not 0");
    assert_eq!(COMMITS.of(&figures), None, "neither counted nor updated");
    close(AVERAGE_ACTIVE_SESSIONS.of(&figures), DB_TIME_S.of(&figures).unwrap() / 60.0);
}

#[test]
fn cpu_time_is_related_to_reads_and_time() {
    let record = records::direct_read_run();
    let figures = Figures::of(&record);
    close(HOST_BUSY_PERCENT.of(&figures), 100.0 * 59.5 / 960.0);
    close(DB_CPU_PERCENT_OF_HOST.of(&figures), 100.0 * 50.0 / 960.0);
    close(PHYSICAL_READS_PER_DB_CPU_S.of(&figures), 1_170_432.0 / 50.0);
    close(PHYSICAL_READS_PER_HOST_CPU_S.of(&figures), 1_170_432.0 / 59.5);
    close(DB_CPU_US_PER_PHYSICAL_READ.of(&figures), 50e6 / 1_170_432.0);
    close(FOREIGN_CPU_PERCENT.of(&figures), 100.0 * 3.0 / 960.0);
}

#[test]
fn per_core_licence_and_price_are_absent_if_a_part_is() {
    let mut record = records::update_run();
    let io = (936_300.0 + 455_000.0) / 60.0;
    let per = |record: &Record| {
        let figures = [&IOPS_PER_CORE, &IOPS_PER_LICENSED_CORE, &COST_PER_MILLION_IOPS_HOURS];
        figures.map(|figure| figure.of(&Figures::of(record)))
    };
    assert_eq!(per(&record), [Some(io / 8.0), None, None]);
    for (key, value) in [("COST_PER_HOUR", "2 EUR"), ("LICENSED_CORES", "4 cores")] {
        let (key, value) = (key.into(), value.into());
        record.configuration.push(slob_record::ConfigEntry { key, value, origin: "slob.conf line 1".into() });
    }
    assert_eq!(per(&record), [Some(io / 8.0), Some(io / 4.0), Some(2e6 / io)]);
    record.host.as_mut().unwrap().info.cores = None;
    assert_eq!(per(&record)[0], None);
    records::uncounted(&mut record, Counter::PhysicalWrites);
    assert_eq!(per(&record), [None; 3]);
}

#[test]
fn cpu_time_of_an_embedded_database_counts_once() {
    let mut record = records::page_cache_run();
    close(FOREIGN_CPU_PERCENT.of(&Figures::of(&record)), 100.0 * (184.0 - 180.0 - 1.75) / 960.0);
    record.db_cpu = None;
    assert_eq!(FOREIGN_CPU_PERCENT.of(&Figures::of(&record)), None);
}

/// Older releases counted whole lives of ended processes: 304.9 % and the like.
#[test]
fn others_never_use_more_than_a_host_has() {
    let mut record = records::direct_read_run();
    let host = |record: &mut slob_record::Record, others_s| {
        record.host.as_mut().unwrap().others_cpu_s = Some(others_s);
    };
    host(&mut record, 96.0);
    close(FOREIGN_CPU_PERCENT.of(&Figures::of(&record)), 10.0);
    host(&mut record, 3.049 * 960.0);
    close(FOREIGN_CPU_PERCENT.of(&Figures::of(&record)), 100.0 * 3.0 / 960.0);
}

#[test]
fn reads_from_the_page_cache_do_not_reach_the_ceiling() {
    let mut record = records::direct_read_run();
    with_device_read_share(&mut record, 0.1);
    let tenth = Figures::of(&record);
    close(DATABASE_READS_PER_S.of(&tenth), 1_950.716_666_666);
    close(PERCENT_OF_CEILING.of(&tenth), 100.0 * 1_950.716_666_666 / 118_000.0);
    with_device_read_share(&mut record, 2.0);
    let shared = Figures::of(&record);
    close(DATABASE_READS_PER_S.of(&shared), 19_507.2);
    close(PERCENT_OF_SYNC.of(&shared), 100.0 * 19_507.2 / 20_900.0);
    close(FOREIGN_READ_MB_PER_S.of(&shared), 159.802_982_4);
}

#[test]
fn a_probe_with_other_blocks_is_not_compared() {
    let mut record = records::direct_read_run();
    record.probe.as_mut().unwrap().result.plan.block_bytes = 4096;
    assert_eq!(known(&record, PROBED.into_iter()), [""; 0]);
}

#[test]
fn read_latency_is_measured_or_else_counted() {
    let mut record = records::page_cache_run();
    close(PHYSICAL_READ_MEAN_US.of(&Figures::of(&record)), 140e6 / 29_538_360.0);
    record.counters.set(Counter::PhysicalReadRequests, 1_000_000);
    close(PHYSICAL_READ_MEAN_US.of(&Figures::of(&record)), 140.0);
    assert_eq!(PHYSICAL_READ_P99_US.of(&Figures::of(&record)), None);
    records::uncounted(&mut record, Counter::PhysicalReadTimeNs);
    assert_eq!(PHYSICAL_READ_MEAN_US.of(&Figures::of(&record)), None);
}

#[test]
fn commits_are_counted_or_else_the_updates() {
    let mut record = records::update_run();
    close(COMMITS_PER_S.of(&Figures::of(&record)), 120.0);
    record.counters.set(Counter::Commits, 7_300);
    assert_eq!(COMMITS.of(&Figures::of(&record)), Some(7_300.0));
    records::uncounted(&mut record, Counter::Commits);
    assert_eq!(COMMITS.of(&Figures::of(&record)), Some(7_200.0));
}

#[test]
fn without_a_window_no_measured_figure_is_known() {
    for record in [records::direct_read_run(), records::page_cache_run(), records::update_run()] {
        let window = record.window.unwrap();
        for window in [None, Some(Window { seconds: 0.0, ..window })] {
            let record = Record { window, ..record.clone() };
            assert_eq!(known(&record, ALL.iter().filter(|figure| figure.is_measured())), [""; 0]);
        }
        let known = known(&record, ALL.iter());
        assert!(known.len() > 60, "{known:?}");
    }
}

#[test]
fn reads_that_the_kernel_did_not_fetch_are_not_the_devices() {
    let mut record = records::direct_read_run();
    record.client_io.as_mut().unwrap().read_bytes /= 50;
    let figures = Figures::of(&record);
    close(DATABASE_READS_PER_S.of(&figures), 19_507.2 / 50.0);
    close(PERCENT_OF_CEILING.of(&figures), 100.0 * 19_507.2 / 50.0 / 118_000.0);
    record.server.embedded = false;
    with_device_read_share(&mut record, 1.0);
    close(DATABASE_READS_PER_S.of(&Figures::of(&record)), 19_507.2);
}

#[test]
fn a_run_above_its_probe_has_no_share_of_the_ceiling() {
    let with_ceiling = |iops: f64| {
        let mut record = records::direct_read_run();
        with_device_read_share(&mut record, 1.0);
        let steps = &mut record.probe.as_mut().unwrap().result.steps;
        steps.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = iops);
        record
    };
    let near = with_ceiling(19_507.2 / 1.04);
    let near = Figures::of(&near);
    close(PERCENT_OF_CEILING.of(&near), 104.0);
    assert!(!near.is_above_probe());
    let above = with_ceiling(1_775.0);
    let above = Figures::of(&above);
    assert_eq!((PERCENT_OF_CEILING.of(&above), DEVICE_PERCENT_OF_CEILING.of(&above)), (None, None));
    assert!(above.is_above_probe());
}

#[test]
fn the_logs_flushes_are_compared_with_as_many_streams_on_its_device() {
    let mut record = records::update_run();
    record.probe = records::direct_read_run().probe;
    let share = |record: &Record| REDO_PERCENT_OF_CEILING.of(&Figures::of(record));
    close(DURABLE_WRITES_PER_S.of(&Figures::of(&record)), 400.0);
    close(share(&record), 100.0 * (7_540.0 / 60.0) / 400.0);
    // Size of blocks and direct I/O are those of reads.
    record.probe.as_mut().unwrap().result.plan.direct = false;
    assert!(share(&record).is_some());
    record.counters.set(Counter::RedoSyncs, 60_000);
    close(share(&record), 250.0);
    record.probe.as_mut().unwrap().result.steps.retain(|step| step.kind.durable().is_none());
    assert_eq!(share(&record), None);
}

/// PostgreSQL has totals of its log's time and no histogram.
#[test]
fn a_mean_flush_is_that_of_the_databases_total_where_there_is_no_histogram() {
    let mut record = records::update_run();
    record.latencies = Latencies::default();
    let mean = |record: &Record| REDO_SYNC_MEAN_US.of(&Figures::of(record));
    assert_eq!(mean(&record), None);
    record.counters.set(Counter::RedoSyncTimeNs, 7_540 * 1_500_000);
    close(mean(&record), 1_500.0);
}

#[test]
fn a_probe_through_the_page_cache_is_no_ceiling() {
    let mut record = records::direct_read_run();
    record.probe.as_mut().unwrap().result.plan.direct = false;
    assert_eq!(known(&record, PROBED.into_iter()), [""; 0]);
}

#[test]
fn writes_of_blocks_and_of_the_log_have_their_own_rates() {
    let record = records::update_run();
    let load = Figures::of(&record);
    close(PHYSICAL_WRITE_MB_PER_S.of(&load), 455_000.0 * 8192.0 / 60.0 / 1e6);
    close(REDO_WRITES_PER_S.of(&load), 464_000.0 / 60.0);
    close(REDO_SYNCS_PER_S.of(&load), 7_540.0 / 60.0);
    assert_eq!(PHYSICAL_WRITE_MB_PER_S.of(&Figures::of(&records::page_cache_run())), None);
}

#[test]
fn coarse_reads_have_an_exact_mean_and_bounds_as_percentiles() {
    let mut record = records::direct_read_run();
    let mut reads = Histogram::new();
    reads.record_n(256_000, 900);
    reads.record_n(512_000, 100);
    record.latencies.set(LatencyKind::PhysicalRead, reads);
    let as_measured = Figures::of(&record);
    assert!(!PHYSICAL_READ_P99_US.is_bound(&as_measured));
    assert_eq!(PHYSICAL_READ_MEAN_US.of(&as_measured), Some(281.6));
    // 900 reads of 140 us and 100 of 300 us.
    let exact = WaitTotal { waits: 1000, time_us: 156_000 };
    records::with_exact(&mut record, LatencyKind::PhysicalRead, exact);
    let coarse = Figures::of(&record);
    assert!(PHYSICAL_READ_P99_US.is_bound(&coarse) && !PHYSICAL_READ_MEAN_US.is_bound(&coarse));
    assert!(!REDO_SYNC_P99_US.is_bound(&coarse) && !OPERATION_P99_US.is_bound(&coarse));
    assert_eq!(PHYSICAL_READ_MEAN_US.of(&coarse), Some(156.0));
    assert_eq!(PHYSICAL_READ_P50_US.of(&coarse), Some(256.0));
    assert_eq!(PHYSICAL_READ_P99_US.of(&coarse), Some(512.0));
}

#[test]
fn values_have_the_form_of_their_figure() {
    let mut record = records::update_run();
    let reads = record.latencies.get(LatencyKind::PhysicalRead).unwrap().histogram.clone();
    let waits = reads.count();
    records::with_exact(&mut record, LatencyKind::PhysicalRead, WaitTotal { waits, time_us: 140 * waits });
    let figures = Figures::of(&record);
    let shown: Vec<String> = Lead::Operation.key().iter().map(|figure| figure.show(&figures)).collect();
    assert_eq!(shown, ["15,605", "<= 403 us", "240", "44.3 ms", "18,726", "63.4", "-", "-"]);
    assert_eq!(PHYSICAL_READ_P99_US.cell(&figures).show(), "<= 403");
    assert_eq!(SEED.cell(&figures), Cell::Count(42));
}

fn lead(record: &Record) -> Lead {
    Figures::of(record).lead()
}

#[test]
fn responses_lead_where_sessions_wait_outside_operations() {
    let crowded = records::crowded_run();
    assert_eq!((lead(&records::direct_read_run()), lead(&crowded)), (Lead::Operation, Lead::Response));
    let figures = Figures::of(&crowded);
    let [operation, response] =
        [Lead::Operation, Lead::Response].map(|lead| lead.mean().of(&figures).unwrap());
    assert!(response > 3.0 * operation, "{response} of {operation}");
    let shown: Vec<&str> = Lead::Response.key_in_rows().iter().map(|figure| figure.short).collect();
    assert_eq!(shown, ["IOPS", "read p99", "Op./s", "response p99", "op. p99", "in flight"]);
    close(AVERAGE_ACTIVE_SESSIONS.of(&figures), DB_TIME_S.of(&figures).unwrap() / 60.0);
    let waits = |percent: f64| {
        let mut record = crowded.clone();
        record
            .sessions
            .iter_mut()
            .for_each(|session| session.waiting_us = Some((percent * 600_000.0) as u64));
        lead(&record)
    };
    assert_eq!([9.9, 10.0].map(waits), [Lead::Operation, Lead::Response]);
    let mut older = crowded.clone();
    older.operations.values_mut().for_each(|kind| kind.response = Histogram::new());
    assert_eq!(lead(&older), Lead::Operation, "its responses are unknown");
    assert_eq!(Lead::of_all([Lead::Operation, Lead::Response, Lead::Operation]), Lead::Response);
    assert_eq!(Lead::of_all([]), Lead::Operation);
}

/// Sessions that are all at work do not wait, and operations that are due do.
#[test]
fn with_rate_responses_lead_where_operations_are_delayed() {
    let late_by = |percent: u64| {
        let mut record = records::direct_read_run();
        record.workload.rate_per_s = "1200".parse().ok();
        let select = record.operations.get_mut(&slob_measure::OpKind::Select).unwrap();
        select.response = records::spread(18_000, 12_250_000 * (100 + percent) / 100);
        lead(&record)
    };
    assert_eq!([0, 10, 12].map(late_by), [Lead::Operation, Lead::Operation, Lead::Response]);
}

#[test]
fn littles_law_counts_responses_without_an_end() {
    let mut record = records::crowded_run();
    close(LITTLE_PERCENT.of(&Figures::of(&record)), 100.0);
    let ended_s = 16.0 * (60.0 - record.sessions[0].unfinished_us.unwrap() as f64 / 1e6);
    record.sessions.iter_mut().for_each(|session| session.unfinished_us = Some(0));
    close(LITTLE_PERCENT.of(&Figures::of(&record)), 100.0 * ended_s / 960.0);
    record.workload.rate_per_s = "1200".parse().ok();
    assert_eq!(LITTLE_PERCENT.of(&Figures::of(&record)), None, "a response begins when it is due");
    assert_eq!(LITTLE_PERCENT.of(&Figures::of(&records::direct_read_run())), None, "of an older release");
}
