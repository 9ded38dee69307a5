//! Several processes update one schema, and some are killed: nothing may be torn or lost.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use slob_engine::{Engine, Load, LoadProgress, Outcome, SessionPlan, Slice};
use slob_engine_sqlite::vfs::{IoMode, Location, Meter};
use slob_method::{Action, Batch, Planner, RowState, SchemaNo, Stamp, Table};
use slob_spec::{RedoStress, Workload};
use slob_testing::work::session_plan;

use crate::support::{child, engine, folder_of_the_parent};

const LOAD: Load = Load { seed: 9, scale: 500, scan_blocks: 0, obfuscated: false, slice_rows: 500 };

fn workload() -> Workload {
    Workload { redo_stress: RedoStress::Heavy, ..slob_testing::work::workload(LOAD.scale, 80, 16) }
}

/// Returns the executed batches of each session.
fn work(engine: &dyn Engine, nonce: u64, time: Duration) -> Vec<Vec<Batch>> {
    let end = Instant::now() + time;
    let session = |number: u32| {
        let plan = SessionPlan { scans: false, ..session_plan(&LOAD, number, RedoStress::Heavy) };
        let mut session = engine.session(&plan).expect("the schema is loaded");
        let workload = Workload { seed: nonce, nonce, ..workload() };
        let mut planner = Planner::new(workload, number, SchemaNo::FIRST);
        let mut done = Vec::new();
        // A thread that wakes late has work to show, too.
        while done.is_empty() || Instant::now() < end {
            let (mut batch, mut outcome) = (Batch::default(), Outcome::new());
            planner.fill(&mut batch, 20);
            session.execute(&batch, None, &mut outcome).expect("nothing fails");
            let counted =
                batch.ops().iter().zip(outcome.ops()).all(|(op, done)| op.rows() == Some(done.rows));
            assert!(counted && batch.ops().len() == outcome.ops().len());
            done.push(batch);
        }
        done
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|number| scope.spawn(move || session(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no session panics")).collect()
    })
}

fn start_child(folder: &Path) -> Child {
    child("crash::child_works", folder).stdout(Stdio::null()).spawn().expect("this program can be run")
}

#[test]
fn updates_are_whole_after_kills() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for tests");
    let engine = engine(dir.path());
    engine.create_schema(&LOAD, SchemaNo::FIRST).expect("there is room");
    for slice in LOAD.slices(SchemaNo::FIRST) {
        engine.load_slice(&LOAD, &slice, &LoadProgress::default()).expect("there is room");
    }
    engine.finish_schema(&LOAD, SchemaNo::FIRST).expect("all slices are there");
    for round in 0..4 {
        let mut children = [start_child(dir.path()), start_child(dir.path())];
        work(engine.as_ref(), round, Duration::from_millis(300 + 100 * round));
        for child in &mut children {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
        }
        read_all(engine.as_ref());
    }
    // Without other processes, the last commit must be found.
    let done = work(engine.as_ref(), 99, Duration::from_millis(300));
    let ours: Vec<Stamp> =
        done.iter().flatten().flat_map(|batch| batch.ops()).filter_map(|op| stamp(op.action)).collect();
    let found = read_all(engine.as_ref());
    let last: Vec<Stamp> = done
        .iter()
        .filter_map(|batches| {
            batches.iter().flat_map(|batch| batch.ops()).filter_map(|op| stamp(op.action)).next_back()
        })
        .collect();
    assert!(found.iter().any(|stamp| ours.contains(stamp)));
    assert!(last.iter().any(|stamp| found.contains(stamp)), "the very last update is there");
    let path = dir.path().join("slob1.db");
    let connection = Location { path: &path, io: IoMode::Direct, meter: &Meter::default() }
        .open(false)
        .expect("it is there");
    let verdict: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it runs");
    assert_eq!(verdict, "ok");
}

fn stamp(action: Action) -> Option<Stamp> {
    match action {
        Action::Update(_, stamp) => Some(stamp),
        _ => None,
    }
}

/// Returns the stamps found.
fn read_all(engine: &dyn Engine) -> Vec<Stamp> {
    let filler = engine.schemas().expect("readable")[0].filler_bytes;
    let (verifier, mut stamps, mut rows) =
        (LOAD.verifier(Table::Main, SchemaNo::FIRST, filler), Vec::new(), 0);
    let mut visit = |row: &slob_method::RowView<'_>| {
        rows += 1;
        match verifier.check(row).expect("a whole row") {
            RowState::Updated(stamp) => stamps.push(stamp),
            RowState::Loaded => {}
        }
    };
    engine
        .read_rows(
            &Slice { schema: SchemaNo::FIRST, table: Table::Main, positions: 1..LOAD.scale + 1 },
            &mut visit,
        )
        .expect("readable");
    assert_eq!(rows, LOAD.scale);
    stamps
}

#[test]
#[ignore = "the process that updates_are_whole_after_kills kills"]
fn child_works() {
    let folder = folder_of_the_parent();
    work(engine(&folder).as_ref(), u64::from(std::process::id()) + 1000, Duration::from_secs(60));
}
