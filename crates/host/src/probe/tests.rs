//! The probe as a whole, on this host's disk, with short steps.

use std::path::Path;
use std::time::Duration;

use super::*;

/// Buffered where the file system refuses direct I/O.
fn plan(dir: &Path) -> ProbePlan {
    let direct = Scratch::create(dir).unwrap().reopen(true).is_ok();
    ProbePlan {
        file_bytes: 8 << 20,
        seconds_per_step: 0.1,
        sync_sessions: vec![1, 3],
        async_depths: vec![4],
        direct,
        ..ProbePlan::new(dir)
    }
}

fn names(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[test]
fn every_step_is_measured_and_reported_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ProbePlan { write: true, buffer_blocks: 7, ..plan(dir.path()) };
    let mut events = Vec::new();
    let result = run_probe(
        &plan,
        &mut |event| {
            assert_eq!(names(dir.path()), 0, "the scratch file must have no name");
            events.push(event);
        },
        &AtomicBool::new(false),
    )
    .unwrap();
    let kinds: Vec<_> = result.steps.iter().map(|step| (step.kind, step.sessions_or_depth)).collect();
    let expected = [
        (StepKind::SequentialWrite, 1),
        (StepKind::SyncRead, 1),
        (StepKind::SyncRead, 3),
        (StepKind::AsyncRead, 4),
        (StepKind::SyncWrite, 1),
        (StepKind::SyncWrite, 3),
    ];
    assert_eq!(kinds, expected);
    for step in &result.steps {
        assert_eq!(step.error, None);
        let figures = step.figures.as_ref().unwrap();
        assert!(figures.operations > 0 && figures.iops > 0.0 && figures.seconds > 0.0, "{figures:?}");
        assert!(figures.p50_us <= figures.p99_us && figures.p99_us <= figures.p999_us, "{figures:?}");
        assert!(figures.p999_us <= figures.max_us && figures.cpu_us_per_op.unwrap() > 0.0, "{figures:?}");
        assert!(events.contains(&ProbeEvent::StepFinished(Box::new(step.clone()))));
    }
    assert_eq!(result.steps[0].figures.as_ref().unwrap().operations, 8, "8 MiB in writes of 1 MiB");
    assert!(events.contains(&ProbeEvent::Filling { written_bytes: 8 << 20, total_bytes: 8 << 20 }));
    assert!(result.ceiling_iops().unwrap() >= result.sync_iops_at(2).unwrap());
    assert!(!result.interrupted);
}

#[test]
fn direct_reads_of_a_step_reach_the_device_one_for_one() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ProbePlan { async_depths: vec![], sync_sessions: vec![2], ..plan(dir.path()) };
    let device = crate::Device::behind(dir.path()).unwrap();
    if device.top.is_none() || !plan.direct {
        return; // memory or a network: there is nothing to compare with
    }
    let before = std::cell::Cell::new(None);
    let result = run_probe(
        &plan,
        &mut |event| {
            if matches!(event, ProbeEvent::StepStarted { .. }) {
                before.set(device.counters().unwrap());
            }
        },
        &AtomicBool::new(false),
    )
    .unwrap();
    let interval = device.counters().unwrap().unwrap().since(&before.get().unwrap()).unwrap();
    let read_bytes = result.steps[1].figures.as_ref().unwrap().operations * u64::from(plan.block_bytes);
    // Memory served none of these reads.
    assert!(interval.used.read_bytes >= read_bytes, "{} of {read_bytes}", interval.used.read_bytes);
}

#[test]
fn each_flush_of_a_durable_write_reaches_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let alone = ProbePlan { sync_sessions: vec![], async_depths: vec![], durable: true, ..plan(dir.path()) };
    let result =
        run_probe(&alone, &mut |_| assert_eq!(names(dir.path()), 0), &AtomicBool::new(false)).unwrap();
    assert_eq!(result.steps.len(), DurableWrite::steps().count(), "nothing else is written or read");
    for step in &result.steps {
        assert_eq!(step.error, None);
        let (write, figures) = (step.kind.durable().unwrap(), step.figures.as_ref().unwrap());
        let mb_per_s = figures.iops * write.bytes_per_flush() as f64 / 1e6;
        assert!(figures.operations > 0 && (figures.mb_per_s - mb_per_s).abs() < 1e-6, "{figures:?}");
        // The kernel may wake the writer of the last one before it counts.
        if let Some(device) = step.device.filter(|_| step.sessions_or_depth == 1) {
            assert!(device.used.writes + 1 >= figures.operations, "{write:?}: {device:?}");
        }
    }
    assert!(result.durable_writes(DurableWrite::COMMIT, 16).is_some_and(|(streams, _)| streams == 16));
}

/// A step found in a device's cache what the step before had read.
#[test]
fn each_step_reads_other_blocks() {
    let plan = plan(Path::new("/"));
    let blocks = |turn| {
        let mut random = scratch::Random::new(plan.of_turn(turn).seed, 0);
        (0..100).map(|_| random.below(1 << 30)).collect::<Vec<_>>()
    };
    let [first, second, again] = [1, 2, 1].map(blocks);
    assert!(first == again && !first.iter().any(|block| second.contains(block)));
}

/// No test can spend a device's credits: `a_throttle_that_tightens_is_a_cliff_of_burst_credits` of the program's tests limits them.
fn reads_until_the_cliff(sync_sessions: &[u32], async_depths: &[u32], fastest: StepKind) {
    let dir = tempfile::tempdir().unwrap();
    let plan = ProbePlan {
        until_cliff_s: Some(3.5),
        sync_sessions: sync_sessions.to_vec(),
        async_depths: async_depths.to_vec(),
        ..plan(dir.path())
    };
    let mut sampled = Vec::new();
    let mut on_event = |event: ProbeEvent| match event {
        ProbeEvent::Sampled { second, of, .. } => sampled.push((second, of)),
        _ => assert!(sampled.is_empty(), "it is the last one"),
    };
    let result = run_probe(&plan, &mut on_event, &AtomicBool::new(false)).unwrap();
    let until = result.until_cliff.as_ref().unwrap();
    assert_eq!((until.step.kind, until.bucket, result.interrupted), (fastest, None, false));
    assert!(until.iops.len() >= 2 && sampled.last() == Some(&(until.iops.len() as u64, 3)), "{sampled:?}");
    let (counted, all) = (until.iops.iter().sum::<f64>(), until.step.figures.as_ref().unwrap());
    // Each stands for a whole second, and was counted in about one.
    assert!(counted > 0.0 && counted <= all.operations as f64 * 1.05, "{counted} of {}", all.operations);
    assert_eq!(result.ceiling_iops(), result.steps[1].figures.as_ref().map(|figures| figures.iops));
}

#[test]
fn sessions_reads_until_the_cliff_have_a_rate_for_each_second() {
    reads_until_the_cliff(&[2], &[], StepKind::SyncRead);
}

#[test]
fn queued_reads_until_the_cliff_have_a_rate_for_each_second() {
    reads_until_the_cliff(&[], &[4], StepKind::AsyncRead);
}

#[test]
fn a_stop_keeps_the_reads_until_the_cliff() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ProbePlan { until_cliff_s: Some(3600.0), sync_sessions: vec![], ..plan(dir.path()) };
    let stop = AtomicBool::new(false);
    let mut at_sample = |event: ProbeEvent| {
        stop.store(matches!(event, ProbeEvent::Sampled { second: 1.., .. }), Ordering::Relaxed);
    };
    let result = run_probe(&plan, &mut at_sample, &stop).unwrap();
    assert!(result.interrupted && !result.until_cliff.unwrap().iops.is_empty(), "what was measured is kept");
}

#[test]
fn a_stop_ends_the_probe_early_and_keeps_what_was_measured() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ProbePlan { seconds_per_step: 3600.0, ..plan(dir.path()) };
    let stop = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        run_probe(
            &plan,
            &mut |event| {
                if matches!(event, ProbeEvent::StepStarted { number: 1, .. }) {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(300));
                        stop.store(true, Ordering::Relaxed);
                    });
                }
            },
            &stop,
        )
        .unwrap()
    });
    assert!(result.interrupted);
    assert_eq!(result.steps.len(), 2, "the filling and the step that was cut short");
    let cut_short = result.steps[1].figures.as_ref().unwrap();
    assert!(cut_short.operations > 0 && cut_short.seconds < 3600.0);
}

#[test]
fn a_panic_of_the_listener_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let run = || run_probe(&plan, &mut |_| panic!("the display broke"), &AtomicBool::new(false));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    assert_eq!(names(dir.path()), 0);
}

#[test]
fn a_file_that_does_not_fit_is_refused_with_both_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ProbePlan { file_bytes: 1 << 60, ..plan(dir.path()) };
    let error = run_probe(&plan, &mut |_| (), &AtomicBool::new(false)).unwrap_err();
    let free = free_space(dir.path()).unwrap();
    match error {
        HostError::NotEnoughSpace { needed_bytes, free_bytes, .. } => {
            assert_eq!(needed_bytes, 1 << 60);
            assert!(free_bytes.abs_diff(free) < 1 << 32, "{free_bytes} {free}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_missing_folder_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ProbePlan::new(dir.path().join("missing"));
    let error = run_probe(&plan, &mut |_| (), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, HostError::NoSuchPath { .. }), "{error}");
}

#[test]
fn the_defaults_are_a_good_plan_and_reads_come_first() {
    let plan = ProbePlan { write: true, ..ProbePlan::new("/x") };
    plan.check().unwrap();
    let kinds: Vec<_> = plan.steps().iter().map(|step| (step.kind, step.sessions_or_depth)).collect();
    assert_eq!((kinds.len(), kinds[0]), (12, (StepKind::SyncRead, 1)));
    assert_eq!((kinds[6], kinds[7]), ((StepKind::AsyncRead, 64), (StepKind::SyncWrite, 1)));
}

#[test]
fn a_value_that_makes_no_sense_is_named() {
    let good = ProbePlan::new("/x");
    let cases = [
        ("block_bytes", ProbePlan { block_bytes: 3000, ..good.clone() }),
        ("block_bytes", ProbePlan { block_bytes: 0, ..good.clone() }),
        ("file_bytes", ProbePlan { file_bytes: 0, ..good.clone() }),
        ("file_bytes", ProbePlan { file_bytes: (1 << 20) + 512, ..good.clone() }),
        ("seconds_per_step", ProbePlan { seconds_per_step: f64::NAN, ..good.clone() }),
        ("until_cliff_s", ProbePlan { until_cliff_s: Some(0.0), ..good.clone() }),
        ("buffer_blocks", ProbePlan { buffer_blocks: 0, ..good.clone() }),
        ("0 sessions", ProbePlan { sync_sessions: vec![4, 0], ..good.clone() }),
        ("in flight", ProbePlan { async_depths: vec![5000], ..good }),
    ];
    for (word, plan) in cases {
        let error = plan.check().unwrap_err().to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
}
