//! Reads until burst credits are spent, with the rate of each second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use slob_stats::TokenBucket;

use super::result::ProbeStep;
use super::scratch::Scratch;
use super::sessions::{self, Order};
use super::{ProbeEvent, ProbePlan, StepKind, StepPlan, queued_reads};
use crate::Device;

/// Other programs that read on a volume seldom stay as long at an even rate.
const CERTAIN_S: f64 = 30.0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UntilCliff {
    /// Its figures are those of the whole time, before the cliff and after it.
    pub step: ProbeStep,
    /// Reads in each second.
    pub iops: Vec<f64>,
    /// `None` if no cliff is certain.
    pub bucket: Option<TokenBucket>,
}

/// Ends at `stop`, after `seconds`, or if the rate is even after a cliff.
pub(super) fn run(
    plan: &ProbePlan,
    step: StepPlan,
    seconds: f64,
    scratch: &Scratch,
    event: &mut dyn FnMut(ProbeEvent),
    stop: &AtomicBool,
) -> UntilCliff {
    let plan = ProbePlan { seconds_per_step: seconds, ..plan.clone() };
    let (completed, end) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut iops, mut others) = (Vec::new(), Vec::new());
    let device = Device::behind(&plan.dir).ok();
    let moved_blocks = || {
        let used = device.as_ref()?.counters().ok()??.used;
        Some(used.read_bytes.saturating_add(used.write_bytes) as f64 / f64::from(plan.block_bytes))
    };
    let mut moved = moved_blocks();
    let step = thread::scope(|scope| {
        let reads = scope.spawn(|| match step.kind {
            StepKind::AsyncRead => queued_reads::run(&plan, step, scratch, &end, &completed),
            _ => sessions::run(&plan, step, Order::Random, scratch, &end, &completed),
        });
        let begun = Instant::now();
        let (mut sampled, mut counted) = (begun, 0);
        while !reads.is_finished() && !end.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
            let now = Instant::now();
            let due_s = (now - begun).as_secs_f64() - iops.len() as f64;
            if due_s >= 1.0 {
                let (reads, moved_until) = (completed.load(Ordering::Relaxed), moved_blocks());
                // On a busy machine a sample may be of several seconds, and the next one of less than one.
                let sample_s = (now - sampled).as_secs_f64();
                let rate = (reads - counted) as f64 / sample_s;
                let all = moved_until.zip(moved).map(|(until, from)| (until - from) / sample_s);
                iops.extend(vec![rate.round(); due_s as usize]);
                others.extend(vec![all.map(|all| all - rate); due_s as usize]);
                (sampled, counted, moved) = (now, reads, moved_until);
                event(ProbeEvent::Sampled { second: iops.len() as u64, of: seconds as u64, iops: rate });
            }
            let is_certain = due_s >= 1.0 && is_even_after_cliff(&iops, &others);
            end.store(is_certain || stop.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        reads.join().unwrap_or_else(|_| ProbeStep::failed(step, "the probe panicked".into()))
    });
    let bucket = fit(&iops, &others).filter(|_| step.error.is_none());
    UntilCliff { step, iops, bucket }
}

/// `others` are blocks that other programs moved on the device, where that is known.
fn fit(iops: &[f64], others: &[Option<f64>]) -> Option<TokenBucket> {
    let points: Vec<(f64, f64)> =
        iops.iter().enumerate().map(|(second, rate)| (second as f64, *rate)).collect();
    let others = others.iter().enumerate().filter_map(|(second, rate)| Some((second as f64, (*rate)?)));
    let others: Vec<(f64, f64)> = others.collect();
    TokenBucket::fit(&points).filter(|bucket| !bucket.is_of_others(&others))
}

fn is_even_after_cliff(iops: &[f64], others: &[Option<f64>]) -> bool {
    fit(iops, others).is_some_and(|bucket| iops.len() as f64 - bucket.lasts_s >= CERTAIN_S)
}
