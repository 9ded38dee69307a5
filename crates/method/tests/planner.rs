//! Tests of plans: mix, ranges, hot spot, pauses and independence of sessions.
#![allow(clippy::unwrap_used)]

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use slob_method::{Action, Batch, Op, Planner, SchemaNo};
use slob_spec::{Every, HotSpot, Percent, ThinkTime, WorkUnit, Workload};

fn workload(scale: u64, unit: u16) -> Workload {
    Workload::selects(scale, WorkUnit::new(unit).unwrap())
}

fn every(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

fn plan(workload: Workload, session: u32, count: usize) -> Vec<Op> {
    workload.check().unwrap();
    let mut planner = Planner::new(workload, session, SchemaNo::new(3).unwrap());
    let mut batch = Batch::default();
    planner.fill(&mut batch, count);
    batch.ops().to_vec()
}

#[test]
fn writers_only_update_and_readers_only_read() {
    let alike =
        Workload { threads_per_schema: every(8), scan_pct: Percent::new(20).unwrap(), ..workload(5000, 7) };
    let roles = Workload { writers: Some(every(3)), update_pct: Percent::new(37).unwrap(), ..alike.clone() };
    for session in 0..8 {
        let ops = plan(roles.clone(), session, 500);
        assert!(ops.iter().all(|op| is_update(op) == (session < 3)), "session {session}");
        let scans = ops.iter().filter(|op| op.action == Action::Scan).count();
        assert_eq!(scans, if session < 3 { 0 } else { 100 }, "session {session}");
        // A reader beside writers does what it does alone.
        assert!(session < 3 || ops == plan(alike.clone(), session, 500), "session {session}");
    }
}

fn is_update(op: &Op) -> bool {
    matches!(op.action, Action::Update(..))
}

proptest! {
    /// A transaction's UPDATEs follow each other, no batch ends within it, and no session updates another one's rows.
    #[test]
    fn transactions_hold_as_many_updates_as_asked_for(
        updates in 1..=10_000_u64, every in 10_000..60_000_u64, threads in 1..6_u32, session in 0..20_u32, size in 1..9_usize,
    ) {
        let commit_every = Every::of_millionths(100 * every).unwrap();
        let workload = Workload {
            update_pct: Percent::of_hundredths(updates).unwrap(),
            commit_every,
            threads_per_schema: NonZeroU32::new(threads).unwrap(),
            schemas: NonZeroU32::new(3).unwrap(),
            ..workload(5000, 7)
        };
        workload.check().unwrap();
        let mut planner = Planner::new(workload, session, SchemaNo::FIRST);
        let (mut batch, mut ops) = (Batch::default(), Vec::new());
        while ops.len() < 20_000 {
            planner.fill(&mut batch, size);
            prop_assert!(batch.ops().last().unwrap().commits);
            ops.extend_from_slice(batch.ops());
        }
        prop_assert!(ops.windows(2).all(|pair| pair[0].commits || is_update(&pair[1])));
        let updates: Vec<&Op> = ops.iter().filter(|op| is_update(op)).collect();
        let commits = updates.iter().filter(|op| op.commits).count() as f64;
        prop_assert!((commits - updates.len() as f64 / commit_every.get()).abs() <= 1.0, "{commits} of {}", updates.len());
        let part = 5000 / if every == 10_000 { 1 } else { u64::from(threads) };
        let own = if every == 10_000 { 0 } else { u64::from(session / 3 % threads) * part };
        for op in updates {
            let Action::Update(range, _) = op.action else { unreachable!() };
            prop_assert!(range.first > own && range.end() <= own + part + 1, "{range:?} of {own} + {part}");
        }
    }

    #[test]
    fn every_hundred_operations_hold_the_exact_mix(updates in 0..=100u8, scans in 0..=100u8, seed: u64) {
        let workload = Workload {
            update_pct: Percent::new(updates).unwrap(),
            scan_pct: Percent::new(scans).unwrap(),
            ..workload(5000, 7)
        };
        let ops = plan(Workload { seed, ..workload }, 1, 2000);
        for hundred in ops.chunks(100) {
            prop_assert_eq!(hundred.iter().filter(|op| is_update(op)).count(), usize::from(updates));
        }
        let reads: Vec<&Op> = ops.iter().filter(|op| !is_update(op)).collect();
        for hundred in reads.chunks_exact(100) {
            let found = hundred.iter().filter(|op| op.action == Action::Scan).count();
            prop_assert_eq!(found, usize::from(scans));
        }
    }

    #[test]
    fn every_operation_is_exactly_one_work_unit_within_the_scale(
        scale in 1024..=1u64 << 40, unit in 1..=1024u16, updates in 0..=100u8, seed: u64,
    ) {
        let workload = Workload { update_pct: Percent::new(updates).unwrap(), ..workload(scale, unit) };
        for op in plan(Workload { seed, ..workload }, 9, 300) {
            let (Action::Select(range) | Action::Update(range, _)) = op.action else { panic!("no scans planned") };
            prop_assert_eq!(range.blocks, unit);
            prop_assert!(range.first >= 1 && range.end() - 1 <= scale);
        }
    }

    #[test]
    fn the_hot_spot_is_hit_on_every_nth_operation_and_kept_exactly(
        offset in 0..3000u64, blocks in 64..=1000u64, n in 1..=20u32, updates in 0..=100u8, seed: u64,
    ) {
        let hot = HotSpot { first_block: offset + 1, blocks, every: Every::new(n).unwrap() };
        let workload =
            Workload { hot_spot: Some(hot), update_pct: Percent::new(updates).unwrap(), ..workload(4000, 64) };
        for (i, op) in plan(Workload { seed, ..workload }, 2, 400).iter().enumerate() {
            let (Action::Select(range) | Action::Update(range, _)) = op.action else { panic!("no scans planned") };
            if (i as u64 + 1).is_multiple_of(u64::from(n)) {
                prop_assert!(range.first > offset && range.end() - 1 <= offset + blocks);
            }
        }
    }

    #[test]
    fn hot_schema_and_think_time_come_after_every_nth(n in 1..=30u32, min_us in 0..1000u32, more in 0..5000u32) {
        let think = ThinkTime { every: every(n), min_us, max_us: min_us + more };
        let workload = Workload { hot_schema_every: Some(every(n)), think_time: Some(think), ..workload(4000, 3) };
        for (i, op) in plan(workload, 2, 500).iter().enumerate() {
            let nth = (i as u32 + 1).is_multiple_of(n);
            prop_assert_eq!(op.schema.get(), if nth { 1 } else { 3 });
            if nth {
                prop_assert!((min_us..=min_us + more).contains(&op.pause_us));
            } else {
                prop_assert_eq!(op.pause_us, 0);
            }
        }
    }

    #[test]
    fn batch_sizes_do_not_change_the_stream(sizes in proptest::collection::vec(0..50usize, 1..30), seed: u64) {
        let workload = Workload {
            update_pct: Percent::new(37).unwrap(),
            scan_pct: Percent::new(11).unwrap(),
            ..workload(9000, 16)
        };
        let workload = Workload { seed, nonce: 5, ..workload };
        let whole = plan(workload.clone(), 4, sizes.iter().sum());
        let mut planner = Planner::new(workload, 4, SchemaNo::new(3).unwrap());
        let mut pieces = Vec::new();
        for size in sizes {
            let mut batch = Batch::default();
            planner.fill(&mut batch, size);
            pieces.extend_from_slice(batch.ops());
        }
        prop_assert_eq!(pieces, whole);
    }
}

fn keys(seed: u64, session: u32) -> Vec<u64> {
    let ops = plan(Workload { seed, ..workload(1 << 30, 1) }, session, 1000);
    ops.iter()
        .map(|op| match op.action {
            Action::Select(range) => range.first,
            _ => unreachable!(),
        })
        .collect()
}

#[test]
fn same_seed_same_plan_and_other_sessions_are_independent() {
    assert_eq!(keys(1, 1), keys(1, 1));
    assert_ne!(keys(1, 1), keys(2, 1));
    // Independent streams over 2^30 keys share next to none; correlated ones would show at equal places too.
    let (one, two) = (keys(1, 1), keys(1, 2));
    assert!(one.iter().filter(|key| two.contains(key)).count() < 3);
    let mean = |keys: &[u64]| keys.iter().sum::<u64>() as f64 / keys.len() as f64;
    let (m1, m2) = (mean(&one), mean(&two));
    let cov: f64 = one.iter().zip(&two).map(|(a, b)| (*a as f64 - m1) * (*b as f64 - m2)).sum();
    let var = |keys: &[u64], m: f64| keys.iter().map(|k| (*k as f64 - m).powi(2)).sum::<f64>();
    let correlation = cov / (var(&one, m1) * var(&two, m2)).sqrt();
    // 1000 pairs: the standard deviation of the correlation is 0.032.
    assert!(correlation.abs() < 0.13, "correlation {correlation}");
}

#[test]
fn a_nonce_changes_stamps_and_nothing_else() {
    let workload = Workload { update_pct: Percent::new(50).unwrap(), ..workload(9000, 4) };
    let stamps = |nonce| {
        let ops = plan(Workload { nonce, ..workload.clone() }, 1, 1000);
        let keys: Vec<_> = ops.iter().map(|op| (op.rows(), op.schema)).collect();
        let stamps: Vec<_> = ops
            .iter()
            .filter_map(|op| match op.action {
                Action::Update(_, stamp) => Some(stamp),
                _ => None,
            })
            .collect();
        (keys, stamps)
    };
    let (first, second) = (stamps(1), stamps(2));
    assert_eq!(first.0, second.0);
    assert!(first.1.iter().all(|stamp| !second.1.contains(stamp)));
    let mut unique = first.1;
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 500);
}

/// Values that a chi-square variable with 9 or 99 degrees of freedom exceeds with a probability of 0.001.
const CHI_SQUARE_9: f64 = 27.877;
const CHI_SQUARE_99: f64 = 148.230;

fn chi_square(observed: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(observed.len(), expected.len());
    observed.iter().zip(expected).map(|(&o, &e)| (o as f64 - e).powi(2) / e).sum()
}

#[test]
fn keys_are_uniform() {
    for (scale, unit) in [(10_240, 64), (1 << 40, 1), (1000, 1)] {
        let cells = 100u64;
        let places = scale - u64::from(unit) + 1;
        let mut counts = vec![0u64; cells as usize];
        for op in plan(workload(scale, unit), 1, 200_000) {
            let Action::Select(range) = op.action else { unreachable!() };
            counts[((u128::from(range.first - 1) * u128::from(cells)) / u128::from(places)) as usize] += 1;
        }
        let width = |cell: u64| {
            let edge = |c: u64| (u128::from(c) * u128::from(places)).div_ceil(u128::from(cells));
            (edge(cell + 1) - edge(cell)) as f64
        };
        let expected: Vec<f64> = (0..cells).map(|cell| 200_000.0 * width(cell) / places as f64).collect();
        let statistic = chi_square(&counts, &expected);
        assert!(statistic < CHI_SQUARE_99, "scale {scale}, unit {unit}: {statistic}");
    }
}

#[test]
fn pauses_cover_their_range() {
    let think = ThinkTime { every: every(1), min_us: 100, max_us: 109 };
    let workload = Workload { think_time: Some(think), ..workload(4000, 1) };
    let mut counts = vec![0u64; 10];
    plan(workload, 1, 20_000).iter().for_each(|op| counts[op.pause_us as usize - 100] += 1);
    assert!(chi_square(&counts, &[2000.0; 10]) < CHI_SQUARE_9, "{counts:?}");
}

#[test]
fn impossible_workloads_are_refused() {
    assert!(workload(63, 64).check().is_err());
    let hot = |first, blocks| Workload {
        hot_spot: Some(HotSpot { first_block: first, blocks, every: Every::ONE }),
        ..workload(1000, 64)
    };
    assert!(hot(937, 64).check().is_ok());
    assert!(hot(938, 64).check().is_err(), "ends beyond the scale");
    assert!(hot(1, 63).check().is_err(), "smaller than an operation");
}

#[test]
fn filling_a_batch_again_allocates_nothing() {
    let mut planner = Planner::new(workload(9000, 4), 1, SchemaNo::FIRST);
    let mut batch = Batch::with_capacity(1000);
    planner.fill(&mut batch, 1000);
    let memory = batch.ops().as_ptr();
    for count in [1000, 10, 999] {
        planner.fill(&mut batch, count);
        assert_eq!(batch.ops().as_ptr(), memory);
    }
}

#[test]
fn a_batch_that_was_cut_short_goes_on_with_the_rest() {
    let ops = plan(workload(9000, 4), 1, 10);
    let mut batch = Batch::from(ops.clone());
    batch.advance(3);
    assert_eq!(batch.ops(), &ops[3..]);
    batch.advance(99);
    assert!(batch.ops().is_empty());
}

#[test]
fn long_pauses_do_not_hold_up_what_was_done_before_them() {
    let think = ThinkTime { every: every(50), min_us: 1_000_000, max_us: 1_000_000 };
    let workload = Workload { think_time: Some(think), ..workload(4000, 1) };
    let mut planner = Planner::new(workload.clone(), 1, SchemaNo::new(3).unwrap());
    let (mut batch, mut pieces, mut sizes) = (Batch::default(), Vec::new(), Vec::new());
    while pieces.len() < 200 {
        planner.fill_within(&mut batch, 1000, Duration::from_millis(200));
        sizes.push(batch.ops().len());
        pieces.extend_from_slice(batch.ops());
    }
    assert_eq!(sizes, [49, 1, 49, 1, 49, 1, 49, 1]);
    assert_eq!(pieces, plan(workload, 1, 200), "the stream is the same");
}
