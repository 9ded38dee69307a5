use super::*;
use crate::fixture::{self, with_device_read_share};
use slob_measure::Counter;

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
}

#[test]
fn rates_are_of_the_window() {
    let figures = Figures::of(&fixture::direct_read_run());
    assert_eq!(figures.window_s, Some(60.0));
    close(figures.load.operations_per_s, 300.0);
    close(figures.load.selects_per_s, 300.0);
    close(figures.load.updates_per_s, 0.0);
    close(figures.load.rows_per_s, 19_200.0);
    close(figures.load.physical_reads_per_s, 19_507.2);
    close(figures.load.physical_read_mb_per_s, 159.802_982_4);
    close(figures.load.hit_percent, 100.0 * (5_184_000.0 - 1_170_432.0) / 5_184_000.0);
    assert_eq!(figures.load.redo_mb_per_s, None, "not counted is not 0");
    assert_eq!(figures.load.commits, None, "neither counted nor updated");
    close(figures.load.average_active_sessions, figures.load.db_time_s.unwrap() / 60.0);
}

#[test]
fn cpu_is_set_against_reads_and_time() {
    let figures = Figures::of(&fixture::direct_read_run()).cpu;
    close(figures.host_busy_percent, 100.0 * 59.5 / 960.0);
    close(figures.db_cpu_percent_of_host, 100.0 * 50.0 / 960.0);
    close(figures.physical_reads_per_db_cpu_s, 1_170_432.0 / 50.0);
    close(figures.physical_reads_per_host_cpu_s, 1_170_432.0 / 59.5);
    close(figures.db_cpu_us_per_physical_read, 50e6 / 1_170_432.0);
    close(figures.foreign_cpu_percent, 100.0 * 3.0 / 960.0);
}

#[test]
fn an_embedded_databases_cpu_is_subtracted_once_and_a_servers_with_the_clients() {
    let mut record = fixture::page_cache_run();
    close(Figures::of(&record).cpu.foreign_cpu_percent, 100.0 * (184.0 - 180.0 - 1.75) / 960.0);
    record.db_cpu = None;
    assert_eq!(Figures::of(&record).cpu.foreign_cpu_percent, None);
}

#[test]
fn reads_from_the_page_cache_do_not_reach_the_ceiling() {
    let mut record = fixture::direct_read_run();
    with_device_read_share(&mut record, 0.1);
    let tenth = Figures::of(&record);
    close(tenth.device.database_reads_per_s, 1_950.716_666_666);
    close(tenth.probe.percent_of_ceiling, 100.0 * 1_950.716_666_666 / 118_000.0);
    with_device_read_share(&mut record, 2.0);
    let shared = Figures::of(&record);
    close(shared.device.database_reads_per_s, 19_507.2);
    close(shared.probe.percent_of_sync, 100.0 * 19_507.2 / 20_900.0);
    close(shared.device.foreign_read_mb_per_s, 159.802_982_4);
}

#[test]
fn a_probe_with_other_blocks_is_not_compared() {
    let mut record = fixture::direct_read_run();
    record.probe.as_mut().unwrap().result.plan.block_bytes = 4096;
    assert_eq!(Figures::of(&record).probe, ProbeFigures::default());
}

#[test]
fn read_latency_is_measured_or_else_counted() {
    let mut record = fixture::page_cache_run();
    close(Figures::of(&record).latency.physical_read_mean_us, 140e6 / 29_538_360.0);
    record.counters.set(Counter::PhysicalReadRequests, 1_000_000);
    close(Figures::of(&record).latency.physical_read_mean_us, 140.0);
    assert_eq!(Figures::of(&record).latency.physical_read_p99_us, None);
    fixture::uncounted(&mut record, Counter::PhysicalReadTimeNs);
    assert_eq!(Figures::of(&record).latency.physical_read_mean_us, None);
}

#[test]
fn commits_are_counted_or_else_the_updates() {
    let mut record = fixture::update_run();
    close(Figures::of(&record).load.commits_per_s, 120.0);
    record.counters.set(Counter::Commits, 7_300);
    assert_eq!(Figures::of(&record).load.commits, Some(7_300));
    fixture::uncounted(&mut record, Counter::Commits);
    assert_eq!(Figures::of(&record).load.commits, Some(7_200));
}

#[test]
fn without_a_window_nothing_is_known() {
    assert_eq!(Figures::of(&fixture::failed_run()), Figures::default());
    let mut record = fixture::direct_read_run();
    record.window.as_mut().unwrap().seconds = 0.0;
    assert_eq!(Figures::of(&record), Figures::default());
}

#[test]
fn what_the_kernel_did_not_fetch_for_this_process_came_from_no_device() {
    let mut record = fixture::direct_read_run();
    record.client_io.as_mut().unwrap().read_bytes /= 50;
    let figures = Figures::of(&record);
    close(figures.device.database_reads_per_s, 19_507.2 / 50.0);
    close(figures.probe.percent_of_ceiling, 100.0 * 19_507.2 / 50.0 / 118_000.0);
    record.server.embedded = false;
    with_device_read_share(&mut record, 1.0);
    close(Figures::of(&record).device.database_reads_per_s, 19_507.2);
}

#[test]
fn a_run_above_its_probe_has_no_share_of_the_ceiling() {
    let with_ceiling = |iops: f64| {
        let mut record = fixture::direct_read_run();
        with_device_read_share(&mut record, 1.0);
        let steps = &mut record.probe.as_mut().unwrap().result.steps;
        steps.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = iops);
        Figures::of(&record).probe
    };
    let near = with_ceiling(19_507.2 / 1.04);
    close(near.percent_of_ceiling, 104.0);
    assert!(!near.run_is_above_probe);
    let above = with_ceiling(1_775.0);
    assert_eq!((above.percent_of_ceiling, above.device_percent_of_ceiling), (None, None));
    assert!(above.run_is_above_probe);
}

#[test]
fn a_probe_through_the_page_cache_is_no_ceiling() {
    let mut record = fixture::direct_read_run();
    record.probe.as_mut().unwrap().result.plan.direct = false;
    assert_eq!(Figures::of(&record).probe, ProbeFigures::default());
}

#[test]
fn writes_of_blocks_and_of_the_log_have_their_own_rates() {
    let load = Figures::of(&fixture::update_run()).load;
    close(load.physical_write_mb_per_s, 455_000.0 * 8192.0 / 60.0 / 1e6);
    close(load.redo_writes_per_s, 464_000.0 / 60.0);
    close(load.redo_syncs_per_s, 7_540.0 / 60.0);
    assert_eq!(Figures::of(&fixture::page_cache_run()).load.physical_write_mb_per_s, None);
}
