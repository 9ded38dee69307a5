//! SELECTs that follow each other, as one statement of the server.

use std::time::Duration;

use rstest::rstest;
use slob_engine::{ErrorKind, Outcome};
use slob_method::{Action, Batch, Op};
use slob_spec::RedoStress;
use slob_testing::jobs::{self, TestServer as _, is_in_order};
use slob_testing::mariadb::Product;
use slob_testing::tries::{ensure, shown_within, until};
use slob_testing::work::{LOAD, batch, executed, select};

use crate::loaded::{Loaded, loaded_on};

fn on(product: Product) -> Option<Loaded> {
    loaded_on(product, &["innodb-buffer-pool-size=64M"])
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn each_operation_of_a_stretch_has_its_own_duration(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    let widest = loaded.engine.server().expect("an answer").capabilities.joined_blocks;
    assert!(widest >= 8, "{widest}");
    let mut session = loaded.session(RedoStress::Lite);
    for width in [1, widest - 1, widest] {
        let outcome = executed(session.as_mut(), &batch(0, width, 7, 3000), None);
        assert_eq!(outcome.ops().len(), 3000);
        assert!(is_in_order(&outcome), "one begins when the one before it has ended");
        let timed = outcome.ops().iter().filter(|op| op.duration_ns > 0).count();
        assert!(timed > 2900, "{timed} of 3000 operations of {width} blocks took time");
    }
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn a_missing_row_is_missing_only_from_operations_on_it(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    loaded.server.sql("DELETE FROM slob1.cf1 WHERE custid = 11");
    let mut session = loaded.session(RedoStress::Lite);
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
    let mut session = loaded.session(RedoStress::Lite);
    let mut ops = batch(5, 3, 5, 3000).ops().to_vec();
    ops[40].pause_us = 1000;
    ops.insert(100, Op { action: Action::Scan, ..ops[100] });
    let outcome = executed(session.as_mut(), &Batch::from(ops.clone()), None);
    assert_eq!(outcome.ops().len(), ops.len());
    assert_eq!(outcome.ops()[100].rows, LOAD.scan_blocks);
    assert!(is_in_order(&outcome));
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn a_deadline_ends_a_stretch_between_operations(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    let patience = Duration::from_millis(100);
    // Other work on the machine can take the CPU between two looks at the clock.
    shown_within(5, || {
        let outcomes = jobs::a_deadline_ends_a_stretch(&loaded, batch(0, 8, 3, 100_000), patience);
        outcomes.iter().try_for_each(|(patience, outcome)| {
            let start_ns = outcome.ops()[outcome.ops().len() - 1].start_ns;
            ensure(u128::from(start_ns) <= patience.as_nanos() * 3 / 2, || {
                format!("the last one began after {start_ns} ns")
            })
        })
    });
}

#[test]
fn a_cancelled_stretch_is_an_error_of_kind_cancelled() {
    let Some(loaded) = on(Product::asked()) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    let canceller = session.canceller().expect("it can be cancelled");
    let worker = std::thread::spawn(move || {
        let mut outcome = Outcome::new();
        // This would take longer than the test waits.
        let result = session.execute(&batch(0, 16, 3, 10_000_000), None, &mut outcome);
        (result, outcome)
    });
    until(|| ensure(loaded.server.busy_sessions() > 0, || "the session is idle".to_owned()));
    canceller.cancel();
    let (result, outcome) = worker.join().expect("no panic");
    assert_eq!(result.expect_err("it was cancelled").kind(), ErrorKind::Cancelled);
    assert!(
        outcome.ops().iter().all(|op| op.rows == 16),
        "operations of earlier statements are in the outcome"
    );
}

#[rstest]
#[case(Product::asked())]
#[case(Product::MySql9)]
fn a_stretch_of_small_operations_costs_less_than_a_statement_for_each(#[case] product: Product) {
    let Some(loaded) = on(product) else { return };
    jobs::a_stretch_costs_less_than_statements(&loaded);
}
