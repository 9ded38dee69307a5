//! Sessions that are cancelled, wait for each other, are too many, or end.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use slob_engine::{Counter, ErrorKind, Outcome, Session, Snapshot};
use slob_method::Batch;
use slob_testing::work::{assert_says, planned, workload};

use crate::support::{LOAD, engine, folder, folder_of_the_parent, in_a_child, load, plan};

fn updates(session: u32, nonce: u64, count: usize) -> Batch {
    planned(workload(LOAD.scale, 100, 64), nonce, session, count)
}

fn execute(session: &mut dyn Session, batch: &Batch) -> Result<(), slob_engine::EngineError> {
    session.execute(batch, None, &mut Outcome::new())
}

fn event(snapshot: &Snapshot, name: &str) -> (u64, u64) {
    let total = snapshot.total();
    let event = total.events.iter().find(|event| event.name == name).expect("listed");
    (event.waits.expect("counted"), event.time_us)
}

/// A unit test covers the rare interrupt inside a checkpoint.
#[test]
fn cancelled_updates_end_as_cancelled() {
    let dir = folder();
    let engine = engine(dir.path());
    load(engine.as_ref(), 1);
    for round in 0..10u64 {
        let mut sessions: Vec<_> =
            (0..4).map(|number| engine.session(&plan(number)).expect("loaded")).collect();
        let cancellers: Vec<_> =
            sessions.iter().map(|session| session.canceller().expect("it has one")).collect();
        std::thread::scope(|scope| {
            let work = |(number, session): (usize, &mut Box<dyn Session>)| {
                let batch = updates(number as u32, round, 100_000);
                execute(session.as_mut(), &batch).expect_err("it is far too long")
            };
            let threads: Vec<_> =
                sessions.iter_mut().enumerate().map(|one| scope.spawn(move || work(one))).collect();
            std::thread::sleep(Duration::from_millis(100 + 7 * round));
            // On a busy machine some begin later than that.
            while !threads.iter().all(|thread| thread.is_finished()) {
                cancellers.iter().for_each(|canceller| canceller.cancel());
                std::thread::sleep(Duration::from_millis(5));
            }
            for thread in threads {
                let error = thread.join().expect("no panic");
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            }
        });
    }
}

#[test]
fn waiting_for_the_write_lock_is_an_event() {
    let dir = folder();
    let engine = engine(dir.path());
    load(engine.as_ref(), 1);
    let mut alone = engine.session(&plan(0)).expect("loaded");
    execute(alone.as_mut(), &updates(0, 1, 5)).expect("nothing fails");
    assert_eq!(event(&engine.snapshot().expect("readable"), "write lock"), (0, 0), "nobody was in the way");
    drop(alone);
    let (barrier, begun) = (Barrier::new(3), Instant::now());
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (engine, barrier) = (&engine, &barrier);
            scope.spawn(move || {
                let mut session = engine.session(&plan(number)).expect("loaded");
                barrier.wait();
                execute(session.as_mut(), &updates(number, 2, 40)).expect("nothing fails");
            });
        }
    });
    let (waits, time_us) = event(&engine.snapshot().expect("readable"), "write lock");
    assert!(waits > 0 && time_us > 0 && waits <= 120, "{waits} waits, {time_us} us");
    assert!(u128::from(time_us) < 3 * begun.elapsed().as_micros(), "no more than the sessions' time");
}

#[test]
fn the_checkpoint_of_a_session_that_ends_counts_as_no_wait() {
    let dir = folder();
    let engine = engine(dir.path());
    load(engine.as_ref(), 1);
    let mut session = engine.session(&plan(0)).expect("loaded");
    // Fewer pages than a checkpoint needs.
    execute(session.as_mut(), &updates(0, 1, 3)).expect("nothing fails");
    let before = engine.snapshot().expect("readable").total();
    drop(session);
    let after = engine.snapshot().expect("readable").total();
    assert!(!dir.path().join("slob1.db-wal").exists(), "what was in the log is in the file");
    assert_eq!(after.events, before.events);
    for counter in [Counter::PhysicalWrites, Counter::RedoSyncs, Counter::RedoBytes, Counter::Commits] {
        assert_eq!(after.counters.get(counter), before.counters.get(counter), "{counter:?}");
    }
    assert!(
        before.counters.get(Counter::RedoBytes) > Some(0) && before.counters.get(Counter::Commits) == Some(3)
    );
}

#[test]
fn too_many_sessions_for_the_limit_of_open_files_are_refused() {
    let dir = folder();
    load(engine(dir.path()).as_ref(), 1);
    in_a_child("sessions::child_with_few_descriptors", dir.path());
}

#[test]
#[ignore = "the process of too_many_sessions_for_the_limit_of_open_files_are_refused"]
fn child_with_few_descriptors() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(40), maximum }).expect("lowering is allowed");
    let engine = engine(&folder_of_the_parent());
    let sessions = (0..40).map(|number| engine.session(&plan(number))).collect::<Result<Vec<_>, _>>();
    let error = sessions.err().expect("each takes descriptors");
    assert_says(&error, ErrorKind::Usage, &["the limit is 40; raise `ulimit -n`"]);
}
