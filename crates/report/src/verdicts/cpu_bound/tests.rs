use super::*;
use crate::fixture::{self, with_host_busy, with_utilisation};
use rstest::rstest;
use slob_measure::Counter;

fn verdict(record: &Record) -> Verdict {
    judge(&Figures::of(record))
}

fn without_probe(host_percent: f64, device_percent: Option<f64>) -> Record {
    let mut record = fixture::direct_read_run();
    record.probe = None;
    with_host_busy(&mut record, host_percent);
    with_utilisation(&mut record, device_percent);
    record
}

/// Makes this run use that percentage of the host's CPUs; the fixture's host has 16 for 60 s.
fn with_own_cpu(record: &mut Record, percent: f64) {
    let cpu = &mut record.db_cpu.as_mut().unwrap().cpu;
    (cpu.user_s, cpu.system_s) = (16.0 * 60.0 * percent / 100.0, 0.0);
}

#[rstest]
#[case(45.0, Some(98.0), Answer::Good, "No: CPUs 45.0 % busy, device 98.0 % busy")]
#[case(89.9, Some(40.0), Answer::Good, "No:")]
#[case(90.1, Some(40.0), Answer::Bad, "the CPU, not the storage")]
#[case(97.0, Some(89.0), Answer::Bad, "CPUs were 97.0 % busy, device 89.0 % busy")]
#[case(97.0, Some(91.0), Answer::Doubt, "both near their limits")]
#[case(97.0, None, Answer::Doubt, "not known")]
fn host_and_device_decide(
    #[case] host: f64,
    #[case] device: Option<f64>,
    #[case] answer: Answer,
    #[case] words: &str,
) {
    let mut record = without_probe(host, device);
    if host > CPU_FULL_PERCENT {
        with_own_cpu(&mut record, host - 2.0);
    }
    let verdict = verdict(&record);
    assert_eq!(verdict.answer, answer, "{verdict:?}");
    assert!(verdict.sentence.contains(words), "{verdict:?}");
}

#[test]
fn a_busy_device_that_is_far_from_its_ceiling_is_no_excuse() {
    let mut record = fixture::direct_read_run();
    with_host_busy(&mut record, 97.0);
    with_own_cpu(&mut record, 90.0);
    with_utilisation(&mut record, Some(99.0));
    let ceiling = figure::PERCENT_OF_CEILING.of(&Figures::of(&record)).unwrap();
    assert!(ceiling < DEVICE_FULL_PERCENT, "{ceiling}");
    assert_eq!(verdict(&record).answer, Answer::Bad);
    let figures = &mut record.probe.as_mut().unwrap().result.steps;
    figures.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = 19_500.0);
    let near = verdict(&record);
    assert_eq!(near.answer, Answer::Doubt);
    assert!(near.sentence.contains("of its ceiling"), "{near:?}");
}

#[test]
fn a_cached_test_is_meant_to_use_the_cpu() {
    let mut record = without_probe(99.0, Some(1.0));
    with_own_cpu(&mut record, 95.0);
    record.counters.set(Counter::PhysicalReads, 10);
    let own = verdict(&record);
    assert_eq!(own.answer, Answer::Good);
    assert!(own.sentence.contains("cached"), "{own:?}");
    with_own_cpu(&mut record, 5.0);
    assert_eq!(verdict(&record).answer, Answer::Doubt, "others' CPU use is no test");
}

#[test]
fn sessions_can_be_bound_while_the_host_is_idle() {
    let mut record = without_probe(30.0, Some(20.0));
    record.db_cpu.as_mut().unwrap().cpu.user_s = 0.95 * figure::DB_TIME_S.of(&Figures::of(&record)).unwrap();
    let verdict = verdict(&record);
    assert_eq!(verdict.answer, Answer::Doubt);
    assert!(verdict.sentence.contains("of DB time"), "{verdict:?}");
}

#[test]
fn stolen_time_is_named() {
    let mut record = without_probe(45.0, Some(98.0));
    let cpu = record.host.as_mut().unwrap().cpu.as_mut().unwrap();
    cpu.steal_s = 0.05 * cpu.total_s();
    let verdict = verdict(&record);
    assert_eq!(verdict.answer, Answer::Doubt);
    assert!(verdict.sentence.contains("steal"), "{verdict:?}");
}

#[test]
fn another_hosts_cpu_is_not_known_from_here() {
    let mut record = without_probe(12.0, None);
    record.server.embedded = false;
    record.server.data_path = None;
    record.db_cpu = None;
    record.target = "db://u@another:5432/d".into();
    let far = verdict(&record);
    assert_eq!(far.answer, Answer::Unknown);
    assert!(far.sentence.contains("runs on another host"), "{far:?}");
    with_host_busy(&mut record, 95.0);
    let client = verdict(&record);
    assert_eq!(client.answer, Answer::Bad);
    assert!(client.sentence.contains("where only the sessions run"), "{client:?}");
    record.host = None;
    assert_eq!(verdict(&record).answer, Answer::Unknown);
    assert_eq!(verdict(&fixture::failed_run()).answer, Answer::Unknown);
}

#[test]
fn cpus_that_others_used_are_not_this_runs() {
    let mut record = without_probe(97.0, Some(40.0));
    with_own_cpu(&mut record, 20.0);
    let others = verdict(&record);
    assert_eq!(others.answer, Answer::Doubt);
    assert!(others.sentence.starts_with("Others used the CPUs: 77.0 %"), "{others:?}");
    with_own_cpu(&mut record, 60.0);
    let own = verdict(&record);
    assert_eq!(own.answer, Answer::Bad);
    assert!(own.details.iter().any(|detail| detail.contains("This run used 60.0 %")), "{own:?}");
    // What a hypervisor withheld is others' too.
    let cpu = record.host.as_mut().unwrap().cpu.as_mut().unwrap();
    (cpu.steal_s, cpu.user_s) = (0.7 * cpu.total_s(), 0.27 * cpu.total_s());
    with_own_cpu(&mut record, 25.0);
    assert_eq!(verdict(&record).answer, Answer::Doubt);
    record.db_cpu = None;
    let unknown = verdict(&record);
    assert_eq!(unknown.answer, Answer::Doubt);
    assert!(unknown.sentence.contains("this run's share of that is not known"), "{unknown:?}");
}

#[test]
fn a_servers_cpu_and_this_programs_count_together() {
    let mut record = without_probe(97.0, Some(40.0));
    record.server.embedded = false;
    with_own_cpu(&mut record, 30.0);
    let client = record.client_cpu.as_mut().unwrap();
    (client.user_s, client.system_s) = (16.0 * 60.0 * 0.25, 0.0);
    assert_eq!(verdict(&record).answer, Answer::Bad);
    record.client_cpu.as_mut().unwrap().user_s = 0.0;
    assert_eq!(verdict(&record).answer, Answer::Doubt);
}

/// With a probe, and CPUs that this run filled.
fn full_with_probe(device_percent: f64) -> Record {
    let mut record = fixture::direct_read_run();
    with_host_busy(&mut record, 97.0);
    with_own_cpu(&mut record, 90.0);
    with_utilisation(&mut record, Some(device_percent));
    record
}

#[test]
fn a_device_at_its_ceiling_for_others_is_at_its_ceiling() {
    let mut record = full_with_probe(99.0);
    // 19,507 reads/s of this run, six times as many by the device, of 118,000.
    fixture::with_device_read_share(&mut record, 6.0);
    let figures = Figures::of(&record);
    assert!(figure::PERCENT_OF_CEILING.of(&figures).unwrap() < 20.0);
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Doubt);
    assert!(found.sentence.contains("99.2 % of its ceiling, others' reads included"), "{found:?}");
}

#[test]
fn a_probe_of_reads_does_not_explain_a_device_that_is_busy_with_writes() {
    let mut record = full_with_probe(99.0);
    assert_eq!(verdict(&record).answer, Answer::Bad);
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    device.counters.as_mut().unwrap().used.writes = 900_000;
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Doubt);
    assert!(found.sentence.contains("device 99.0 % busy"), "{found:?}");
    with_utilisation(&mut record, Some(50.0));
    assert_eq!(verdict(&record).answer, Answer::Bad);
}

#[test]
fn a_run_above_its_probe_is_not_judged_by_it() {
    let mut record = full_with_probe(99.0);
    let steps = &mut record.probe.as_mut().unwrap().result.steps;
    steps.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = 1_775.0);
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Doubt);
    assert!(found.sentence.contains("more reads than the probe achieved"), "{found:?}");
    assert!(!found.sentence.contains("1,099"), "{found:?}");
}

#[test]
fn a_test_of_writes_is_judged_by_its_cpu_like_any_other() {
    let mut record = full_with_probe(40.0);
    record.counters.set(Counter::PhysicalReads, 10);
    assert_eq!(verdict(&record).answer, Answer::Good);
    record.counters.set(Counter::RedoBytes, 3_800_000_000);
    assert_eq!(verdict(&record).answer, Answer::Bad);
}

#[test]
fn cpu_time_above_db_time_is_explained() {
    let mut record = without_probe(30.0, Some(20.0));
    record.db_cpu.as_mut().unwrap().cpu.user_s = 1.04 * figure::DB_TIME_S.of(&Figures::of(&record)).unwrap();
    let found = verdict(&record);
    assert!(found.details.iter().any(|detail| detail.contains("outside of operations")), "{found:?}");
}

#[test]
fn a_local_database_whose_processes_are_not_seen_is_not_said_to_be_on_another_host() {
    let mut record = without_probe(12.0, None);
    (record.server.embedded, record.server.data_path, record.db_cpu) = (false, None, None);
    record.target = "db:/".into();
    let free = verdict(&record);
    assert_eq!(free.answer, Answer::Unknown);
    assert!(free.sentence.contains("nor is it known whether the database runs on this host"), "{free:?}");
    let db_time_s = figure::DB_TIME_S.of(&Figures::of(&record)).unwrap();
    record.events.push(slob_measure::WaitEvent {
        name: "DB CPU".into(),
        class: "CPU".into(),
        waits: None,
        time_us: (0.25 * 1e6 * db_time_s) as u64,
        background: false,
    });
    with_host_busy(&mut record, 95.0);
    let full = verdict(&record);
    assert_eq!(full.answer, Answer::Bad);
    assert!(!full.sentence.contains("only the sessions"), "{full:?}");
    assert!(full.details.iter().any(|detail| detail.contains("25.0 % of DB time")), "{full:?}");
}

#[test]
fn a_cached_session_that_its_one_cpu_limits_is_cpu_bound() {
    let mut record = without_probe(7.0, Some(1.0));
    record.counters.set(Counter::PhysicalReads, 10);
    record.server.embedded = false;
    record.db_cpu.as_mut().unwrap().cpu.user_s = 0.95 * figure::DB_TIME_S.of(&Figures::of(&record)).unwrap();
    let found = verdict(&record);
    assert_eq!(found.answer, Answer::Good, "{found:?}");
    assert!(
        found.sentence.starts_with("Yes, in each session, as expected of a test of cached reads"),
        "{found:?}"
    );
    record.db_cpu.as_mut().unwrap().cpu.user_s *= 1.9;
    let found = verdict(&record);
    assert!(found.sentence.contains("background threads included"), "{found:?}");
    // Where they are processes of their own they are nobody's session.
    let cpu = &mut record.db_cpu.as_mut().unwrap();
    cpu.sessions = Some(slob_host::CpuSplit { user_s: cpu.cpu.user_s * 0.2, system_s: 0.0 });
    let found = verdict(&record);
    assert!(found.sentence.starts_with("No: CPUs"), "{found:?}");
}
