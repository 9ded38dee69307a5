//! Executing batches.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};

use slob_method::{Action, Batch, RowState, SchemaNo, Stamp, Table, Workload};
use slob_spec::{Percent, RedoStress};

use super::{LOAD, SHORT, Subject, Verdict, ensure, plans, second, session, text, verify};
use crate::{Engine, EngineError, ErrorKind, Outcome, Session};

/// Executes a batch to its end and checks that every operation saw exactly the rows of its plan.
fn execute(session: &mut dyn Session, batch: &Batch) -> Result<Outcome, String> {
    let mut outcome = Outcome::new();
    session.execute(batch, None, &mut outcome).map_err(text)?;
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

pub(super) fn selects_are_exact(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, None)?;
    for unit in [1, 3, 64, 600] {
        let batch = plans::batch(plans::workload(0, unit)?, 1, SchemaNo::FIRST, 50)?;
        execute(session.as_mut(), &batch)?;
    }
    Ok(())
}

pub(super) fn scans_are_whole(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, second()?, None)?;
    let outcome = execute(session.as_mut(), &plans::scan(second()?))?;
    let rows = outcome.ops()[0].rows;
    let expected = if subject.stores_data()? { LOAD.scan_blocks } else { 0 };
    ensure(rows == expected, || format!("a scan saw {rows} rows instead of {expected}"))
}

pub(super) fn lite_updates(subject: &Subject<'_>) -> Verdict {
    updates(subject, RedoStress::Lite, 11)
}

pub(super) fn heavy_updates(subject: &Subject<'_>) -> Verdict {
    updates(subject, RedoStress::Heavy, 12)
}

/// Runs a mix through schema 1 and then reads all of it: each row must carry the stamp of the last update whose
/// range held it, or be as it was.
fn updates(subject: &Subject<'_>, redo: RedoStress, nonce: u64) -> Verdict {
    let engine = subject.engine()?;
    let mut before = BTreeMap::new();
    if subject.stores_data()? {
        before = stamps(engine.as_ref(), SchemaNo::FIRST)?;
    }
    let batch = plans::batch(plans::workload(50, 5)?, nonce, SchemaNo::FIRST, 100)?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, Some(redo))?;
    execute(session.as_mut(), &batch)?;
    drop(session);
    if !subject.stores_data()? {
        return Ok(());
    }
    let mut expected = before;
    for op in batch.ops() {
        if let Action::Update(range, stamp) = op.action {
            expected.extend((range.first..range.end()).map(|key| (key, stamp)));
        }
    }
    let found = stamps(engine.as_ref(), SchemaNo::FIRST)?;
    ensure(found == expected, || {
        let key = (1..=LOAD.scale).find(|key| found.get(key) != expected.get(key)).unwrap_or(0);
        format!("key {key} carries {:?}, but the plan left {:?}", found.get(&key), expected.get(&key))
    })?;
    check_columns(engine.as_ref(), &batch, redo)
}

/// HEAVY must have reached c3, LITE must not have.
fn check_columns(engine: &dyn Engine, batch: &Batch, redo: RedoStress) -> Verdict {
    let stamps: Vec<[u8; 16]> = batch
        .ops()
        .iter()
        .filter_map(|op| match op.action {
            Action::Update(_, stamp) => Some(stamp.hex()),
            _ => None,
        })
        .collect();
    let mut in_c3 = 0;
    engine
        .read_rows(SchemaNo::FIRST, Table::Main, 1..LOAD.scale + 1, &mut |row| {
            in_c3 += u32::from(stamps.iter().any(|stamp| row.columns[1].starts_with(stamp)));
        })
        .map_err(text)?;
    ensure((in_c3 > 0) == (redo == RedoStress::Heavy), || format!("{in_c3} rows were changed in c3"))
}

fn stamps(engine: &dyn Engine, schema: SchemaNo) -> Result<BTreeMap<u64, Stamp>, String> {
    let mut stamps = BTreeMap::new();
    verify(engine, schema, Table::Main, &mut |key, state| {
        if let RowState::Updated(stamp) = state {
            stamps.insert(key, stamp);
        }
    })?;
    Ok(stamps)
}

pub(super) fn hot_schema(subject: &Subject<'_>) -> Verdict {
    if !subject.stores_data()? {
        return Ok(());
    }
    let engine = subject.engine()?;
    let (first, second) = (SchemaNo::FIRST, second()?);
    let before = (stamps(engine.as_ref(), first)?, stamps(engine.as_ref(), second)?);
    let workload = Workload {
        hot_schema_every: NonZeroU32::new(4),
        update_pct: Percent::new(100).map_err(|error| error.to_string())?,
        ..plans::workload(0, 1)?
    };
    let batch = plans::batch(workload, 21, second, 40)?;
    let mut session = session(engine.as_ref(), 0, second, Some(RedoStress::Lite))?;
    execute(session.as_mut(), &batch)?;
    drop(session);
    let mut expected = before;
    for op in batch.ops() {
        if let Action::Update(range, stamp) = op.action {
            let home = if op.schema == first { &mut expected.0 } else { &mut expected.1 };
            home.insert(range.first, stamp);
        }
    }
    let found = (stamps(engine.as_ref(), first)?, stamps(engine.as_ref(), second)?);
    ensure(found == expected, || "the updates went to other schemas or rows than planned".into())
}

pub(super) fn pauses(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, None)?;
    let batch = plans::pausing(plans::workload(0, 1)?, 20_000, 10)?;
    let begun = Instant::now();
    let outcome = execute(session.as_mut(), &batch)?;
    let elapsed = begun.elapsed();
    ensure(elapsed >= batch.pauses(), || format!("{:?} of pauses took {elapsed:?}", batch.pauses()))?;
    let work: u64 = outcome.ops().iter().map(|op| op.duration_ns).sum();
    let most = u64::try_from(elapsed.saturating_sub(batch.pauses()).as_nanos()).unwrap_or(u64::MAX);
    ensure(work <= most, || format!("the pauses are within the durations ({work} ns)"))
}

pub(super) fn dues(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, None)?;
    let plain = plans::batch(plans::workload(0, 1)?, 9, SchemaNo::FIRST, 6)?;
    // The second is late when the batch is handed over; the last one is due after the deadline.
    let dues_ms = [1000, 900, 1040, 1080, 1080, 9000];
    let mut batch = Batch::due(plain.ops().iter().copied().zip(dues_ms.map(|ms| ms * 1_000_000)));
    batch.hand_over(1_000_000_000);
    let begun = Instant::now();
    let mut outcome = Outcome::new();
    let deadline = begun + Duration::from_millis(1500);
    session.execute(&batch, Some(deadline), &mut outcome).map_err(text)?;
    let elapsed = begun.elapsed();
    ensure(outcome.ops().len() == 5, || format!("{} of 5 operations", outcome.ops().len()))?;
    ensure(elapsed < Duration::from_secs(6), || format!("the deadline was missed: {elapsed:?}"))?;
    for (op, due_ms) in outcome.ops().iter().zip(dues_ms) {
        let due_ns = (due_ms * 1_000_000).saturating_sub(1_000_000_000);
        ensure(op.start_ns >= due_ns, || format!("due at {due_ns} ns, begun at {} ns", op.start_ns))?;
    }
    let work: u64 = outcome.ops().iter().map(|op| op.duration_ns).sum();
    let waited = Duration::from_millis(80);
    let most = u64::try_from(elapsed.saturating_sub(waited).as_nanos()).unwrap_or(u64::MAX);
    ensure(work <= most, || format!("the waits are within the durations ({work} ns)"))
}

pub(super) fn times_are_ordered(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, None)?;
    let batch = plans::batch(plans::workload(0, 16)?, 3, SchemaNo::FIRST, 200)?;
    let begun = Instant::now();
    let outcome = execute(session.as_mut(), &batch)?;
    let elapsed = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    for pair in outcome.ops().windows(2) {
        ensure(pair[0].start_ns + pair[0].duration_ns <= pair[1].start_ns, || format!("{pair:?} overlap"))?;
    }
    let end = outcome.ops().last().map_or(0, |op| op.start_ns + op.duration_ns);
    ensure(end <= elapsed, || format!("the last operation ends at {end} ns of {elapsed} ns"))?;
    let work: u64 = outcome.ops().iter().map(|op| op.duration_ns).sum();
    ensure(work > 0, || "no operation took any time".into())
}

pub(super) fn deadline(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, None)?;
    let batch = plans::pausing(plans::workload(0, 1)?, 10_000, 1000)?;
    let mut outcome = Outcome::new();
    let begun = Instant::now();
    session.execute(&batch, Some(begun + 3 * SHORT), &mut outcome).map_err(text)?;
    let done = outcome.ops().len();
    // 150 ms hold at most 15 operations with a pause of 10 ms each, and the one that is running at the end.
    ensure((1..=16).contains(&done), || format!("{done} operations were done before the deadline"))?;
    session.execute(&batch, Some(Instant::now()), &mut outcome).map_err(text)?;
    ensure(outcome.ops().is_empty(), || "work was done after the deadline".into())?;
    let short = plans::batch(plans::workload(0, 1)?, 1, SchemaNo::FIRST, 3)?;
    execute(session.as_mut(), &short).map(drop).map_err(|error| format!("after a deadline: {error}"))
}

pub(super) fn cancel(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, None)?;
    let capable = engine.server().map_err(text)?.capabilities.cancel;
    let Some(canceller) = session.canceller() else {
        return ensure(!capable, || "sessions have no canceller".into());
    };
    // Would take ten minutes.
    let batch = plans::pausing(plans::workload(0, 1)?, 1_000_000, 600)?;
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

/// Four sessions, two on each schema, all updating: no operation may fail, none may be lost.
pub(super) fn side_by_side(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut workers = Vec::new();
    for number in 0..4u32 {
        let home = SchemaNo::new(1 + (number % 2) as u16).ok_or("no schema 0")?;
        let mut session = session(engine.as_ref(), number, home, Some(RedoStress::Lite))?;
        let batch = plans::batch(plans::workload(30, 4)?, 40 + u64::from(number), home, 100)?;
        workers.push(thread::spawn(move || execute(session.as_mut(), &batch).map(|_| ())));
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

pub(super) fn refuses_unknown_schema(subject: &Subject<'_>) -> Verdict {
    if !subject.stores_data()? {
        return Ok(());
    }
    let engine = subject.engine()?;
    let nowhere = SchemaNo::new(9).ok_or("no schema 9")?;
    let opened = session(engine.as_ref(), 0, nowhere, None);
    ensure(opened.is_err(), || "a session was opened on schema 9, which is not loaded".into())
}
