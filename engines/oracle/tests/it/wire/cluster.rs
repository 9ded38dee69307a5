//! A cluster of two instances, a listener each.

use super::*;

/// Two instances of a cluster, a listener each: sessions take turns, figures stay apart, and AWR reports of both.
#[test]
fn sessions_and_figures_of_two_instances_are_apart() {
    let Some(oracle) = Oracle::start_instances_or_skip("19c", 2) else { return };
    let bed = Bed::of(oracle);
    let engine = bed.loaded();
    assert_eq!(engine.endpoints().len(), 2);
    let before = engine.snapshot().unwrap();
    let mut report = engine.open_server_report(StatisticsType::Awr).unwrap().unwrap();
    let work = [(0, 300), (1, 100)];
    for (number, count) in work {
        let mut session = work::session(engine.as_ref(), number, RedoStress::Lite).unwrap();
        executed(session.as_mut(), &batch(0, 8, 3, count), None);
    }
    let after = engine.snapshot().unwrap();
    let reads =
        |server| after.server_since(server, &before).unwrap().counters.get(Counter::PhysicalReads).unwrap();
    let grown = [reads(0), reads(1)];
    assert_eq!(grown, work.map(|(_, count)| 8 * count as u64));
    report.close().unwrap();
    let files = report.fetch().unwrap().files;
    assert_eq!(
        files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(),
        ["awr_rac.txt", "awr_rac.html"]
    );
    assert!(files[0].text.contains("global report of 1,2"), "{}", files[0].text);
    assert!(bed.sent(0, "SLOB1@1: DECLARE") > 0 && bed.sent(0, "SLOB1@2: DECLARE") > 0);
    assert!(bed.sent(0, "FROM gv$sysstat") > 0 && bed.sent(0, "FROM v$sysstat") == 0);
}

/// The instance of a session is gone; those of the other one work on, and figures are read.
#[test]
fn a_lost_instance_takes_only_its_own_sessions_with_it() {
    let Some(oracle) = Oracle::start_instances_or_skip("19c", 2) else { return };
    let bed = Bed::of(oracle);
    let engine = bed.loaded();
    let [mut first, mut second] =
        [0, 1].map(|number| work::session(engine.as_ref(), number, RedoStress::Lite).unwrap());
    bed.oracle.fail("@2: => cut");
    let (error, _) = error_of(second.as_mut(), &batch(0, 4, 3, 50));
    assert!(error.kind() == ErrorKind::Connection && error.to_string().contains("session 1"), "{error}");
    executed(first.as_mut(), &batch(20, 4, 3, 50), None);
    engine.snapshot().unwrap();
}
