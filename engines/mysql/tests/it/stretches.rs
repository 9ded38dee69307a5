//! SELECTs that follow each other, as one statement of the server.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rstest::rstest;
use slob_engine::{ErrorKind, OpOutcome, Outcome};
use slob_method::{Action, Batch, Op};
use slob_spec::RedoStress;
use slob_testing::mariadb::{MariaDb, Product};
use slob_testing::tries::{ensure, shown_within};
use slob_testing::work::{LOAD, batch, executed, median, select, session, took};

use crate::loaded::{Loaded, loaded_on, open};

fn on(product: Product) -> Option<Loaded> {
    loaded_on(MariaDb::start_product_or_skip(product, &["innodb-buffer-pool-size=64M"])?, &[])
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn each_operation_of_a_stretch_has_its_own_duration(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    let widest = loaded.engine.server().expect("an answer").capabilities.joined_blocks;
    assert!(widest >= 8, "{widest}");
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    for width in [1, widest - 1, widest] {
        let outcome = executed(session.as_mut(), &batch(0, width, 7, 3000), None);
        assert_eq!(outcome.ops().len(), 3000);
        let in_order = |pair: &[OpOutcome]| pair[0].start_ns + pair[0].duration_ns <= pair[1].start_ns;
        assert!(outcome.ops().windows(2).all(in_order), "one begins when the one before it has ended");
        let timed = outcome.ops().iter().filter(|op| op.duration_ns > 0).count();
        assert!(timed > 2900, "{timed} of 3000 operations of {width} blocks took time");
    }
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn a_row_that_is_missing_is_missed_by_those_who_look_for_it_alone(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    loaded.server.admin().query_drop("DELETE FROM slob1.cf1 WHERE custid = 11").expect("it is there");
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let mut outcome = Outcome::new();
    let ops: Vec<_> = (6..16).map(|first| select(first, 3)).collect();
    session.execute(&Batch::from(ops), None, &mut outcome).expect("it runs");
    assert_eq!(outcome.ops().iter().map(|op| op.rows).collect::<Vec<_>>(), [3, 3, 3, 2, 2, 2, 3, 3, 3, 3]);
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn stretches_between_anything_else_are_exact(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let mut ops = batch(5, 3, 5, 3000).ops().to_vec();
    ops[40].pause_us = 1000;
    ops.insert(100, Op { action: Action::Scan, ..ops[100] });
    let outcome = executed(session.as_mut(), &Batch::from(ops.clone()), None);
    assert_eq!(outcome.ops().len(), ops.len());
    assert_eq!(outcome.ops()[100].rows, LOAD.scan_blocks);
    let in_order = |pair: &[OpOutcome]| pair[0].start_ns + pair[0].duration_ns <= pair[1].start_ns;
    assert!(outcome.ops().windows(2).all(in_order));
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn a_deadline_ends_a_stretch_between_operations(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let mut batch = batch(0, 8, 3, 100_000);
    // The first one prepares.
    batch.advance(
        executed(session.as_mut(), &batch, Some(Instant::now() + Duration::from_millis(1))).ops().len(),
    );
    let patience = Duration::from_millis(100);
    for _ in 0..3 {
        let outcome = executed(session.as_mut(), &batch, Some(Instant::now() + patience));
        let count = outcome.ops().len();
        assert!(count > 0 && count < batch.ops().len(), "{count} of {}", batch.ops().len());
        let last = outcome.ops()[count - 1];
        assert!(
            u128::from(last.start_ns) <= patience.as_nanos() * 3 / 2,
            "the last one began after {} ns",
            last.start_ns
        );
        batch.advance(count);
    }
}

#[test]
fn a_stretch_that_is_cancelled_says_so() {
    let Some(loaded) = on(Product::asked()) else { return };
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let canceller = session.canceller().expect("it can be cancelled");
    let worker = std::thread::spawn(move || {
        let mut outcome = Outcome::new();
        // Longer than anybody waits.
        let result = session.execute(&batch(0, 16, 3, 10_000_000), None, &mut outcome);
        (result, outcome)
    });
    std::thread::sleep(Duration::from_millis(500));
    canceller.cancel();
    let (result, outcome) = worker.join().expect("no panic");
    assert_eq!(result.expect_err("it was cancelled").kind(), ErrorKind::Cancelled);
    assert!(outcome.ops().iter().all(|op| op.rows == 16), "what earlier statements did is told");
}

/// What it is for. The server's own durations are compared, in turns.
#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn a_stretch_of_small_operations_costs_less_than_a_statement_for_each(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    let apart = open(&loaded.target, &[("LOOP", "statement")]).expect("it opens");
    assert_eq!(apart.server().expect("an answer").capabilities.joined_blocks, 0);
    let mut sessions = [&loaded.engine, &apart]
        .map(|engine| session(engine.as_ref(), 0, RedoStress::Lite).expect("it opens"));
    let batch = batch(0, 3, 1, 2000);
    shown_within(3, || {
        let mut sums = [Vec::new(), Vec::new()];
        for _ in 0..5 {
            for (session, sums) in sessions.iter_mut().zip(&mut sums) {
                sums.push(took(&executed(session.as_mut(), &batch, None)));
            }
        }
        let [joined, apart] = sums.map(median);
        ensure(joined * 5 < apart * 4, || format!("{joined} ns as one statement, {apart} ns as 2000"))
    });
}
