//! Measures the planner: nanoseconds per operation, for several mixes.
//!
//!     cargo run --release -p slob-method --example plan_cost
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Instant;

use slob_method::{Batch, Planner, SchemaNo};
use slob_spec::{Every, HotSpot, Percent, ThinkTime, WorkUnit, Workload};

const OPERATIONS: usize = 8192;
const BATCHES: usize = 1000;

fn main() {
    let plain = Workload::selects(1 << 27, WorkUnit::new(64).unwrap());
    let every = NonZeroU32::new(3).unwrap();
    let all = Workload {
        update_pct: Percent::new(37).unwrap(),
        scan_pct: Percent::new(11).unwrap(),
        hot_spot: Some(HotSpot { first_block: 2049, blocks: 1024, every: Every::new(every.get()).unwrap() }),
        hot_schema_every: Some(every),
        think_time: Some(ThinkTime { every, min_us: 100, max_us: 500 }),
        ..plain.clone()
    };
    let updates = Workload { update_pct: Percent::new(100).unwrap(), ..plain.clone() };
    for (name, workload) in [("SELECTs", plain), ("UPDATEs", updates), ("everything", all)] {
        println!("{name:>10}: {:5.1} ns per operation", cost(workload));
    }
}

fn cost(workload: Workload) -> f64 {
    let mut planner = Planner::new(workload, 0, SchemaNo::FIRST);
    let mut batch = Batch::with_capacity(OPERATIONS);
    planner.fill(&mut batch, OPERATIONS);
    let begun = Instant::now();
    for _ in 0..BATCHES {
        planner.fill(&mut batch, OPERATIONS);
        black_box(batch.ops());
    }
    begun.elapsed().as_secs_f64() * 1e9 / (OPERATIONS * BATCHES) as f64
}
