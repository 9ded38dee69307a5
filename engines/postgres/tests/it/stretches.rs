//! SELECTs that follow each other, as one statement of the server.

use std::thread;
use std::time::Duration;

use rstest::rstest;
use slob_engine::{ErrorKind, Outcome};
use slob_method::{Action, Batch, Op};
use slob_spec::RedoStress;
use slob_testing::jobs;
use slob_testing::postgres::Version;
use slob_testing::tries::{ensure, until};
use slob_testing::work::{LOAD, batch, executed, median, select};

use crate::loaded::loaded;

/// Most of the table.
const WIDE: u16 = 600;

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn each_operation_of_a_stretch_has_its_own_duration(#[case] version: Version) {
    let Some(loaded) = loaded(version, &[("shared_buffers", "32MB")], &[]) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    let ops = (0..400).map(|i| if i % 2 == 0 { select(i + 1, WIDE) } else { select(i + 1, 1) });
    let batch = Batch::from(ops.collect::<Vec<_>>());
    executed(session.as_mut(), &batch, None);
    let outcome = executed(session.as_mut(), &batch, None);
    assert_eq!(outcome.ops().len(), 400);
    let of = |rest| {
        let ops = outcome.ops().iter().enumerate().filter(|(i, _)| i % 2 == rest);
        median(ops.map(|(_, op)| op.duration_ns).collect())
    };
    let (wide, narrow) = (of(0), of(1));
    assert!(wide > 5 * narrow && narrow > 0, "{WIDE} blocks took {wide} ns, one {narrow} ns");
    let is_gapless =
        |pair: &[slob_engine::OpOutcome]| pair[0].start_ns + pair[0].duration_ns == pair[1].start_ns;
    assert!(outcome.ops().windows(2).all(is_gapless), "one begins when the one before it has ended");
}

#[test]
fn stretches_between_anything_else_are_exact() {
    let flags = [("LOOP", "server")];
    let Some(loaded) = loaded(Version::V15, &[("fsync", "off")], &flags) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    let mut ops = batch(20, 3, 5, 300).ops().to_vec();
    ops[40].pause_us = 1000;
    ops[41].pause_us = 1000;
    ops.insert(100, Op { action: Action::Scan, ..ops[100] });
    ops.extend((1..50).map(|first| select(first, 7)));
    let outcome = executed(session.as_mut(), &Batch::from(ops.clone()), None);
    assert_eq!(outcome.ops().len(), ops.len());
    assert_eq!(outcome.ops()[100].rows, LOAD.scan_blocks);
    for (i, pair) in outcome.ops().windows(2).enumerate() {
        let between = pair[1].start_ns.checked_sub(pair[0].start_ns + pair[0].duration_ns);
        let least = u64::from(ops[i].pause_us) * 1000;
        assert!(between.is_some_and(|ns| ns >= least && (ns == 0 || least > 0)), "{i}: {pair:?}");
    }
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn a_deadline_ends_a_stretch_between_operations(#[case] version: Version) {
    let Some(loaded) = loaded(version, &[], &[]) else { return };
    let patience = Duration::from_millis(200);
    for (patience, outcome) in jobs::a_deadline_ends_a_stretch(&loaded, batch(0, WIDE, 3, 20_000), patience) {
        let ops = outcome.ops();
        let before_last: u64 = ops[..ops.len() - 1].iter().map(|op| op.duration_ns).sum();
        assert!(u128::from(before_last) <= patience.as_nanos(), "the last one began after {before_last} ns");
    }
}

#[test]
fn a_stretch_that_is_cancelled_counts_nothing() {
    const BUSY: &str = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'slob' AND state = 'active' AND query LIKE 'CALL%' AND query_start < now() - interval '0.1 s'";
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    let canceller = session.canceller().expect("it can be cancelled");
    let worker = thread::spawn(move || {
        let mut outcome = Outcome::new();
        // This would take longer than the test waits.
        let result = session.execute(&batch(0, WIDE, 3, 100_000), None, &mut outcome);
        (result, outcome)
    });
    until(|| ensure(loaded.server.ask::<i64>(BUSY) > 0, || "the session executes nothing".to_owned()));
    canceller.cancel();
    let (result, outcome) = worker.join().expect("no panic");
    assert_eq!(result.expect_err("it was cancelled").kind(), ErrorKind::Cancelled);
    assert!(outcome.ops().is_empty(), "{} operations", outcome.ops().len());
}

#[test]
fn a_stretch_of_small_operations_costs_less_than_a_statement_for_each() {
    let Some(loaded) = loaded(Version::V15, &[("shared_buffers", "32MB")], &[]) else { return };
    jobs::a_stretch_costs_less_than_statements(&loaded);
}
