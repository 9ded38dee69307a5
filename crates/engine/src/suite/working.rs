//! Checks of executed batches, and of the counters that they move.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};

use slob_method::{Action, Batch, Op, Planner, RowState, SchemaNo, Stamp, Table};
use slob_spec::{Percent, RedoStress, ThinkTime, WorkUnit, Workload};

use super::{Checked, LOAD, Subject, ensure, second, session, verify};
use crate::execution::nanoseconds;
use crate::{Counter, Counters, Engine, EngineError, ErrorKind, Outcome, RunPlan, Session, Slice, Snapshot};

const SHORT: Duration = Duration::from_millis(50);
/// A busy machine may hold up some of them.
const TRIES: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(60);

fn workload(update_pct: u8, unit: u16) -> Checked<Workload> {
    let update_pct = Percent::new(update_pct)?;
    Ok(Workload { update_pct, ..Workload::selects(LOAD.scale, WorkUnit::new(unit)?) })
}

/// Each `nonce` writes other values.
fn batch(workload: Workload, nonce: u64, home: SchemaNo, count: usize) -> Checked<Batch> {
    workload.check()?;
    let mut batch = Batch::with_capacity(count);
    Planner::new(Workload { seed: nonce, nonce, ..workload }, 0, home).fill(&mut batch, count);
    Ok(batch)
}

fn pausing(pause_us: u32, count: usize) -> Checked<Batch> {
    let think = ThinkTime { every: NonZeroU32::MIN, min_us: pause_us, max_us: pause_us };
    batch(Workload { think_time: Some(think), ..workload(0, 1)? }, 1, SchemaNo::FIRST, count)
}

struct Working {
    engine: Box<dyn Engine>,
    session: Box<dyn Session>,
}

impl Working {
    fn open(subject: &Subject<'_>, redo: Option<RedoStress>) -> Checked<Self> {
        let engine = subject.engine()?;
        let session = session(engine.as_ref(), 0, SchemaNo::FIRST, redo)?;
        Ok(Self { engine, session })
    }
}

/// Checks the rows of each operation against its plan.
fn execute(session: &mut dyn Session, batch: &Batch) -> Checked<Outcome> {
    let mut outcome = Outcome::new();
    session.execute(batch, None, &mut outcome)?;
    ensure(outcome.ops().len() == batch.ops().len(), || {
        format!("{} of {} operations came back", outcome.ops().len(), batch.ops().len())
    })?;
    for (op, done) in batch.ops().iter().zip(outcome.ops()) {
        if let Some(rows) = op.rows() {
            ensure(done.rows == rows, || {
                format!("{:?} saw {} rows instead of {rows}", op.action, done.rows)
            })?;
        }
    }
    Ok(outcome)
}

fn work_ns(outcome: &Outcome) -> u64 {
    outcome.ops().iter().map(|op| op.duration_ns).sum()
}

fn stamps(engine: &dyn Engine, schema: SchemaNo) -> Checked<BTreeMap<u64, Stamp>> {
    let mut stamps = BTreeMap::new();
    verify(engine, schema, Table::Main, &mut |key, state| {
        if let RowState::Updated(stamp) = state {
            stamps.insert(key, stamp);
        }
    })?;
    Ok(stamps)
}

pub(super) fn selects_are_exact(subject: &Subject<'_>) -> Checked {
    let mut on = Working::open(subject, None)?;
    for unit in [1, 3, 64, 600] {
        execute(on.session.as_mut(), &batch(workload(0, unit)?, 1, SchemaNo::FIRST, 50)?)?;
    }
    Ok(())
}

pub(super) fn scans_are_whole(subject: &Subject<'_>) -> Checked {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, second()?, None)?;
    let scan = Batch::from(vec![Op { action: Action::Scan, schema: second()?, pause_us: 0, commits: true }]);
    let rows = execute(session.as_mut(), &scan)?.ops()[0].rows;
    let expected = if subject.stores_data()? { LOAD.scan_blocks } else { 0 };
    ensure(rows == expected, || format!("a scan saw {rows} rows instead of {expected}"))
}

/// Each row has the stamp of its last update, or is unchanged.
pub(super) fn updates(subject: &Subject<'_>, redo: RedoStress, nonce: u64) -> Checked {
    let stores_data = subject.stores_data()?;
    let Working { engine, mut session } = Working::open(subject, Some(redo))?;
    let engine = engine.as_ref();
    let mut expected = if stores_data { stamps(engine, SchemaNo::FIRST)? } else { BTreeMap::new() };
    let batch = batch(workload(50, 5)?, nonce, SchemaNo::FIRST, 100)?;
    execute(session.as_mut(), &batch)?;
    drop(session);
    if !stores_data {
        return Ok(());
    }
    let mut written = Vec::new();
    for op in batch.ops() {
        if let Action::Update(range, stamp) = op.action {
            expected.extend((range.first..range.end()).map(|key| (key, stamp)));
            written.push(stamp.hex());
        }
    }
    let found = stamps(engine, SchemaNo::FIRST)?;
    ensure(found == expected, || {
        let key = (1..=LOAD.scale).find(|key| found.get(key) != expected.get(key)).unwrap_or(0);
        format!("key {key} carries {:?}, but the plan left {:?}", found.get(&key), expected.get(&key))
    })?;
    // HEAVY changes c3, and LITE does not.
    let mut in_c3 = 0;
    engine.read_rows(
        &Slice { schema: SchemaNo::FIRST, table: Table::Main, positions: 1..LOAD.scale + 1 },
        &mut |row| {
            in_c3 += u32::from(written.iter().any(|stamp| row.columns[1].starts_with(stamp)));
        },
    )?;
    ensure((in_c3 > 0) == (redo == RedoStress::Heavy), || format!("{in_c3} rows were changed in c3"))
}

/// The end of a call ends the last transaction.
pub(super) fn transactions(subject: &Subject<'_>) -> Checked {
    let mut on = Working::open(subject, Some(RedoStress::Lite))?;
    let all = batch(workload(100, 3)?, 71, SchemaNo::FIRST, 90)?;
    let one = batch(workload(100, 1)?, 72, SchemaNo::FIRST, 1)?;
    let commits = |at: usize| at % 3 == 2 && at != 89;
    let ops: Vec<Op> =
        all.ops().iter().enumerate().map(|(at, op)| Op { commits: commits(at), ..*op }).collect();
    let (batch, engine) = (Batch::from(ops), on.engine.as_ref());
    let before = engine.snapshot()?;
    execute(on.session.as_mut(), &batch)?;
    // Another session waits for nothing.
    let mut other = session(engine, 1, SchemaNo::FIRST, Some(RedoStress::Lite))?;
    execute(other.as_mut(), &one)?;
    on.session.publish()?;
    other.publish()?;
    let expected = 31;
    let enough = |delta: &Counters| delta.get(Counter::Commits).is_none_or(|commits| commits >= expected);
    let delta = counted_since(engine, &before, enough)?;
    if let Some(commits) = delta.get(Counter::Commits) {
        // Servers also count other transactions.
        let most = if engine.server()?.capabilities.embedded { expected } else { 90 };
        ensure((expected..=most).contains(&commits), || {
            format!("90 UPDATEs in threes and another one made {commits} commits")
        })?;
    }
    drop(other);
    let Working { engine, session } = on;
    drop(session);
    let found = stamps(engine.as_ref(), SchemaNo::FIRST)?;
    let last = batch.ops().last().map(|op| op.action);
    let is_there = |key: u64, stamp: Stamp| found.get(&key) == Some(&stamp);
    match last {
        Some(Action::Update(range, stamp)) => {
            ensure((range.first..range.end()).any(|key| is_there(key, stamp)), || {
                "the last transaction of a call was not committed".into()
            })
        }
        _ => Err("no UPDATE was planned".into()),
    }
}

pub(super) fn hot_schema(subject: &Subject<'_>) -> Checked {
    let engine = subject.engine()?;
    let (first, second) = (SchemaNo::FIRST, second()?);
    let mut expected = (stamps(engine.as_ref(), first)?, stamps(engine.as_ref(), second)?);
    let workload =
        Workload { hot_schema_every: NonZeroU32::new(4), update_pct: Percent::new(100)?, ..workload(0, 1)? };
    let batch = batch(workload, 21, second, 40)?;
    let mut session = session(engine.as_ref(), 0, second, Some(RedoStress::Lite))?;
    execute(session.as_mut(), &batch)?;
    drop(session);
    for op in batch.ops() {
        if let Action::Update(range, stamp) = op.action {
            let home = if op.schema == first { &mut expected.0 } else { &mut expected.1 };
            home.insert(range.first, stamp);
        }
    }
    let found = (stamps(engine.as_ref(), first)?, stamps(engine.as_ref(), second)?);
    ensure(found == expected, || "the updates went to other schemas or rows than planned".into())
}

pub(super) fn pauses(subject: &Subject<'_>) -> Checked {
    let mut on = Working::open(subject, None)?;
    let batch = pausing(20_000, 10)?;
    let begun = Instant::now();
    let outcome = execute(on.session.as_mut(), &batch)?;
    let elapsed = begun.elapsed();
    ensure(elapsed >= batch.pauses(), || format!("{:?} of pauses took {elapsed:?}", batch.pauses()))?;
    let work = work_ns(&outcome);
    ensure(work <= nanoseconds(elapsed.saturating_sub(batch.pauses())), || {
        format!("the pauses are within the durations ({work} ns)")
    })
}

pub(super) fn due_times(subject: &Subject<'_>) -> Checked {
    let mut on = Working::open(subject, None)?;
    let plain = batch(workload(0, 1)?, 9, SchemaNo::FIRST, 6)?;
    // The second is late from the start; the last is due after the deadline.
    let dues_ms = [1000, 900, 1040, 1080, 1080, 61_000];
    let mut batch = Batch::due(plain.ops().iter().copied().zip(dues_ms.map(|ms| ms * 1_000_000)));
    batch.hand_over(1_000_000_000);
    let mut outcome = Outcome::new();
    let (mut elapsed, mut tries) = (Duration::ZERO, 0);
    // A busy machine may not begin five of them in time.
    while outcome.ops().len() < 5 && tries < TRIES {
        let begun = Instant::now();
        on.session.execute(&batch, Some(begun + Duration::from_millis(1500)), &mut outcome)?;
        (elapsed, tries) = (begun.elapsed(), tries + 1);
    }
    ensure(outcome.ops().len() == 5, || format!("{} of 5 operations", outcome.ops().len()))?;
    ensure(elapsed < Duration::from_secs(60), || format!("the deadline was missed: {elapsed:?}"))?;
    for (op, due_ms) in outcome.ops().iter().zip(dues_ms) {
        let due_ns = (due_ms * 1_000_000).saturating_sub(1_000_000_000);
        ensure(op.start_ns >= due_ns, || format!("due at {due_ns} ns, begun at {} ns", op.start_ns))?;
    }
    let (work, waited) = (work_ns(&outcome), Duration::from_millis(80));
    ensure(work <= nanoseconds(elapsed.saturating_sub(waited)), || {
        format!("the waits are within the durations ({work} ns)")
    })
}

pub(super) fn debts(subject: &Subject<'_>) -> Checked {
    let debts = subject.engine()?.debts()?;
    ensure(debts.iter().all(|debt| !debt.name.is_empty() && debt.amount > 0), || format!("{debts:?}"))
}

pub(super) fn times_are_ordered(subject: &Subject<'_>) -> Checked {
    let mut on = Working::open(subject, None)?;
    let batch = batch(workload(0, 16)?, 3, SchemaNo::FIRST, 200)?;
    let begun = Instant::now();
    let outcome = execute(on.session.as_mut(), &batch)?;
    let elapsed = nanoseconds(begun.elapsed());
    for pair in outcome.ops().windows(2) {
        ensure(pair[0].start_ns + pair[0].duration_ns <= pair[1].start_ns, || format!("{pair:?} overlap"))?;
    }
    let end = outcome.ops().last().map_or(0, |op| op.start_ns + op.duration_ns);
    ensure(end <= elapsed, || format!("the last operation ends at {end} ns of {elapsed} ns"))?;
    ensure(work_ns(&outcome) > 0, || "no operation took any time".into())
}

pub(super) fn deadline(subject: &Subject<'_>) -> Checked {
    let mut on = Working::open(subject, None)?;
    let long = pausing(10_000, 1000)?;
    let (mut outcome, mut tries) = (Outcome::new(), 0);
    // A busy machine may reach no operation in time.
    while outcome.ops().is_empty() && tries < TRIES {
        on.session.execute(&long, Some(Instant::now() + 3 * SHORT), &mut outcome)?;
        tries += 1;
    }
    let done = outcome.ops().len();
    // 150 ms hold at most 15 operations with pauses of 10 ms, and a last one.
    ensure((1..=16).contains(&done), || format!("{done} operations were done before the deadline"))?;
    on.session.execute(&long, Some(Instant::now()), &mut outcome)?;
    ensure(outcome.ops().is_empty(), || "work was done after the deadline".into())?;
    let short = batch(workload(0, 1)?, 1, SchemaNo::FIRST, 3)?;
    execute(on.session.as_mut(), &short).map_err(|error| format!("after a deadline: {error}"))?;
    Ok(())
}

pub(super) fn cancel(subject: &Subject<'_>) -> Checked {
    let Working { engine, mut session } = Working::open(subject, None)?;
    let capable = engine.server()?.capabilities.cancel;
    let Some(canceller) = session.canceller() else {
        return ensure(!capable, || "sessions have no canceller".into());
    };
    let batch = pausing(1_000_000, 600)?;
    let worker = thread::spawn(move || {
        let mut outcome = Outcome::new();
        let result = session.execute(&batch, None, &mut outcome);
        (result, outcome.ops().len())
    });
    thread::sleep(SHORT);
    let asked = Instant::now();
    canceller.cancel();
    let (result, done) = worker.join().map_err(|_| "the session panicked")?;
    let kind = result.as_ref().err().map(EngineError::kind);
    ensure(kind == Some(ErrorKind::Cancelled), || format!("a cancelled batch ended with {result:?}"))?;
    ensure(done < 600, || "nothing was cancelled".into())?;
    ensure(asked.elapsed() < Duration::from_secs(30), || format!("it took {:?}", asked.elapsed()))
}

/// Two sessions update each schema at once: no operation fails, and none is lost.
pub(super) fn side_by_side(subject: &Subject<'_>) -> Checked {
    let engine = subject.engine()?;
    let mut workers = Vec::new();
    for number in 0..4u32 {
        let home = SchemaNo::new(1 + (number % 2) as u16).ok_or("no schema 0")?;
        let mut session = session(engine.as_ref(), number, home, Some(RedoStress::Lite))?;
        let batch = batch(workload(30, 4)?, 40 + u64::from(number), home, 100)?;
        workers.push(thread::spawn(move || execute(session.as_mut(), &batch).map(drop)));
    }
    for worker in workers {
        worker.join().map_err(|_| "a session panicked")??;
    }
    if subject.stores_data()? {
        stamps(engine.as_ref(), SchemaNo::FIRST)?;
        stamps(engine.as_ref(), second()?)?;
    }
    Ok(())
}

pub(super) fn refuses_unknown_schema(subject: &Subject<'_>) -> Checked {
    let unknown = SchemaNo::new(9).ok_or("no schema 9")?;
    let opened = session(subject.engine()?.as_ref(), 0, unknown, None);
    ensure(opened.is_err(), || "a session was opened on schema 9, which is not loaded".into())
}

/// Waits until counters are `enough`, or patience ends.
fn counted_since(
    engine: &dyn Engine,
    before: &Snapshot,
    enough: impl Fn(&Counters) -> bool,
) -> Checked<Counters> {
    let begun = Instant::now();
    loop {
        let delta = engine.snapshot()?.since(before).counters;
        if enough(&delta) || begun.elapsed() > PATIENCE {
            return Ok(delta);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn counted(
    subject: &Subject<'_>,
    batch: &Batch,
    redo: RedoStress,
    enough: impl Fn(&Counters) -> bool,
) -> Checked<Counters> {
    let mut on = Working::open(subject, Some(redo))?;
    let before = on.engine.snapshot()?;
    on.session.execute(batch, None, &mut Outcome::new())?;
    // Some servers never publish the counters of an idle session.
    on.session.publish()?;
    counted_since(on.engine.as_ref(), &before, enough)
}

pub(super) fn counters_grow(subject: &Subject<'_>) -> Checked {
    // Servers that count at commits must count SELECTs too.
    for update_percent in [20, 0] {
        let batch = batch(workload(update_percent, 8)?, 31, SchemaNo::FIRST, 200)?;
        let updates = batch.ops().iter().filter(|op| matches!(op.action, Action::Update(..))).count() as u64;
        let least = [(Counter::Commits, updates), (Counter::LogicalReads, 200 * 8)];
        let delta = counted(subject, &batch, RedoStress::Lite, |delta| {
            least.iter().all(|(counter, least)| delta.get(*counter).is_none_or(|value| value >= *least))
        })?;
        for (counter, least) in least {
            if let Some(value) = delta.get(counter) {
                ensure(value >= least, || format!("{} grew by {value}, not by {least}", counter.name()))?;
            }
        }
        ensure(delta.iter().count() > 0, || "nothing is counted".into())?;
    }
    Ok(())
}

pub(super) fn redo_by_stress(subject: &Subject<'_>) -> Checked {
    let mut redo_bytes = Vec::new();
    for (redo, nonce) in [(RedoStress::Lite, 51), (RedoStress::Heavy, 52)] {
        let batch = batch(workload(100, 4)?, nonce, SchemaNo::FIRST, 50)?;
        let has_redo = |delta: &Counters| delta.get(Counter::RedoBytes).is_none_or(|bytes| bytes > 0);
        match counted(subject, &batch, redo, has_redo)?.get(Counter::RedoBytes) {
            Some(bytes) => redo_bytes.push(bytes),
            None => return ensure(!subject.stores_data()?, || "redo is not counted".into()),
        }
    }
    // Engines that log whole pages write the same for both.
    ensure(redo_bytes[0] > 0, || "LITE updates made no redo".into())?;
    ensure(redo_bytes[1] * 10 >= redo_bytes[0] * 9, || format!("redo bytes, LITE and HEAVY: {redo_bytes:?}"))
}

/// Counters of one database miss the server's own processes. Embedded databases write when they like.
pub(super) fn writes_are_counted(subject: &Subject<'_>) -> Checked {
    let mut on = Working::open(subject, Some(RedoStress::Lite))?;
    let engine = on.engine.as_ref();
    if engine.server()?.capabilities.embedded {
        return Ok(());
    }
    let before = engine.snapshot()?;
    let batch = batch(workload(100, 4)?, 61, SchemaNo::FIRST, 100)?;
    on.session.execute(&batch, None, &mut Outcome::new())?;
    let (schemas, redo) = ([SchemaNo::FIRST], Some(RedoStress::Lite));
    let run = RunPlan { schemas: &schemas, sessions: 1, redo, scans: false, stop: None };
    let notes = [engine.before_run(&run)?, engine.after_run()].concat();
    // An account that may make no checkpoint says so.
    if notes.iter().any(|note| note.contains("checkpoint")) {
        return Ok(());
    }
    let has_written = |delta: &Counters| {
        let written = delta.get(Counter::Checkpoints).and(delta.get(Counter::PhysicalWrites));
        written.is_none_or(|blocks| blocks > 0)
    };
    let delta = counted_since(engine, &before, has_written)?;
    ensure(has_written(&delta), || {
        "100 UPDATEs and a checkpoint wrote no block, as the server counts: its counter is not of all that is written, and \
         must be absent"
            .into()
    })
}
