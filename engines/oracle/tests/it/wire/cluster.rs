//! A cluster of two instances, a listener each.

use super::*;

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

#[test]
fn a_lost_instance_takes_only_its_own_sessions_with_it() {
    let Some(oracle) = Oracle::start_instances_or_skip("19c", 2) else { return };
    let bed = Bed::of(oracle);
    let engine = bed.loaded();
    let [mut first, mut second] =
        [0, 1].map(|number| work::session(engine.as_ref(), number, RedoStress::Lite).unwrap());
    bed.oracle.fail("@2: => cut");
    let (error, _) = error_of(second.as_mut(), &batch(0, 4, 3, 50));
    assert_says(&error, ErrorKind::Connection, &["session 1"]);
    executed(first.as_mut(), &batch(20, 4, 3, 50), None);
    engine.snapshot().unwrap();
}

#[test]
fn sessions_by_a_listener_that_redirects_are_on_both_instances() {
    let Some(oracle) = Oracle::start_instances_or_skip("19c", 2) else { return };
    let bed = Bed::of(oracle);
    let engine = bed.open_with(&bed.oracle.redirecting_target(), &[]).unwrap();
    load_schema(engine.as_ref(), &LOAD, FIRST);
    let before = engine.snapshot().unwrap();
    let mut report = engine.open_server_report(StatisticsType::Awr).unwrap().unwrap();
    let mut sessions: Vec<_> =
        (0..4).map(|number| work::session(engine.as_ref(), number, RedoStress::Lite).unwrap()).collect();
    for session in &mut sessions {
        executed(session.as_mut(), &batch(0, 8, 3, 100), None);
    }
    let grown = |since| engine.snapshot().unwrap().since(since).counters.get(Counter::PhysicalReads);
    assert_eq!(grown(&before), Some(4 * 8 * 100), "one service: the figures of both together");
    report.close().unwrap();
    let files = report.fetch().unwrap().files;
    assert!(files[0].text.contains("global report of 1,2"), "{}", files[0].text);
    let of_instance = |number| bed.sent(0, &format!("SLOB1@{number}: DECLARE"));
    assert!(of_instance(1) > 1 && of_instance(2) > 1, "{} and {}", of_instance(1), of_instance(2));
    // One instance goes in the midst of a batch.
    bed.oracle.fail("@2: => slow 0.1");
    let before_batches = bed.oracle.statements().len();
    let broken = thread::scope(|scope| {
        let batches: Vec<_> = sessions
            .iter_mut()
            .map(|session| {
                scope.spawn(move || session.execute(&batch(20, 4, 5, 40), None, &mut Outcome::new()))
            })
            .collect();
        for number in [1, 2] {
            bed.has_begun(before_batches, &format!("SLOB1@{number}: DECLARE"));
        }
        bed.oracle.lose(2);
        let ended: Vec<_> = batches.into_iter().filter_map(|batch| batch.join().unwrap().err()).collect();
        ended.iter().map(EngineError::kind).collect::<Vec<_>>()
    });
    assert_eq!(broken, [ErrorKind::Connection; 2]);
    assert_eq!(grown(&before), None, "figures of the lost instance are not taken for those of both");
    // New sessions are redirected to the one that is left.
    for number in 0..2 {
        let mut again = work::session(engine.as_ref(), number, RedoStress::Lite).unwrap();
        executed(again.as_mut(), &batch(20, 4, 6, 50), None);
    }
}
