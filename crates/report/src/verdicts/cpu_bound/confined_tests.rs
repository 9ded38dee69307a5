use super::*;
use crate::fixture;
use rstest::rstest;
use slob_host::CpuSplit;

/// A minute of a server that used so many seconds of CPU in a group that may use half a CPU, and was held up so often.
fn held(used_s: f64, periods: u64, throttled_periods: u64) -> slob_record::Record {
    let mut record = fixture::direct_read_run();
    record.server.embedded = false;
    record.db_cpu.as_mut().unwrap().cpu = CpuSplit { user_s: used_s, system_s: 0.0 };
    let mut server = fixture::half_a_cpu();
    server.cpu = Some(CpuSplit { user_s: used_s, system_s: 0.0 });
    let group = server.group.as_mut().unwrap();
    (group.cpu_s, group.periods) = (Some(used_s), Some(periods));
    group.throttled_periods = Some(throttled_periods);
    record.observed = vec![server];
    record
}

#[rstest]
#[case(
    29.7,
    600,
    590,
    Answer::Bad,
    "Yes: the server used 99.0 % of the 0.50 CPUs that its control group may use"
)]
#[case(29.7, 600, 590, Answer::Bad, "held up (throttled) in 98.3 % of the quota's periods, for 41.5 s")]
#[case(20.0, 600, 90, Answer::Doubt, "Now and then: the server used 66.7 %")]
#[case(20.0, 600, 30, Answer::Good, "No: CPUs")]
#[case(20.0, 0, 0, Answer::Good, "No: CPUs")]
fn a_server_that_may_use_half_a_cpu_is_bound_by_it_on_a_host_that_is_idle(
    #[case] used_s: f64,
    #[case] periods: u64,
    #[case] throttled: u64,
    #[case] answer: Answer,
    #[case] words: &str,
) {
    let record = held(used_s, periods, throttled);
    let found = judge(&Figures::of(&record));
    assert_eq!(found.answer, answer, "{found:?}");
    assert!(found.sentence.contains(words), "{found:?}");
}

#[test]
fn a_limit_as_high_as_the_host_is_none() {
    let mut record = held(29.7, 600, 590);
    let cpus = record.host.as_ref().unwrap().info.cpus_online.unwrap();
    record.observed[0].cpus = Some(f64::from(cpus));
    let found = judge(&Figures::of(&record));
    assert_eq!(found.answer, Answer::Good, "{found:?}");
}

#[test]
fn a_full_client_host_is_told_and_its_cpu_is_no_part_of_the_databases_host() {
    let mut record = held(20.0, 0, 0);
    record.client_cpu = Some(CpuSplit { user_s: 1e4, system_s: 0.0 });
    let mut cpu = record.host.as_ref().unwrap().cpu.unwrap();
    cpu.user_s += 100.0 * cpu.total_s();
    record.client_host = Some(slob_record::ClientHostRecord {
        hostname: "client".into(),
        cpus_online: Some(2),
        cpu: Some(cpu),
    });
    let found = judge(&Figures::of(&record));
    assert_eq!(found.answer, Answer::Bad, "{found:?}");
    assert!(found.sentence.contains("client's side: the CPUs of client"), "{found:?}");
    record.client_host.as_mut().unwrap().cpu = None;
    assert_eq!(judge(&Figures::of(&record)).answer, Answer::Good);
}

#[test]
fn of_several_hosts_the_fullest_is_named() {
    let mut record = held(20.0, 0, 0);
    let idle = record.host.as_ref().unwrap().cpu.unwrap();
    let mut full = idle;
    full.user_s += 100.0 * idle.total_s();
    for (name, cpu) in [("db1:5000", idle), ("db2:5000", full)] {
        let mut server = record.observed[0].clone();
        (server.endpoint, server.host_cpu, server.host_cpus) = (Some(name.into()), Some(cpu), Some(4));
        record.observed.push(server);
    }
    let found = judge(&Figures::of(&record));
    assert!(found.sentence.contains("host of db2:5000"), "{found:?}");
    // Both on one host.
    record.observed[1].host_cpu = Some(full);
    let found = judge(&Figures::of(&record));
    assert!(!format!("{found:?}").contains("more than the others"), "{found:?}");
}
