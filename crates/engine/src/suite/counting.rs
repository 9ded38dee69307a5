//! Counters against work.

use std::thread;
use std::time::{Duration, Instant};

use slob_method::{Action, Batch, SchemaNo};
use slob_spec::RedoStress;

use super::{Subject, Verdict, ensure, plans, session, text};
use crate::{Counter, Counters, Engine, Outcome, RunPlan};

/// Servers may take a moment to publish what a session did.
const PATIENCE: Duration = Duration::from_secs(60);

/// Executes a batch and returns what was counted meanwhile, once `enough` is content or patience ends.
fn counted(
    engine: &dyn Engine,
    batch: &Batch,
    redo: RedoStress,
    enough: &dyn Fn(&Counters) -> bool,
) -> Result<Counters, String> {
    let mut session = session(engine, 0, SchemaNo::FIRST, Some(redo))?;
    let before = engine.snapshot().map_err(text)?;
    session.execute(batch, None, &mut Outcome::new()).map_err(text)?;
    // A session that does nothing more may never say what it did.
    session.publish().map_err(text)?;
    let begun = Instant::now();
    loop {
        let delta = engine.snapshot().map_err(text)?.since(&before).counters;
        if enough(&delta) || begun.elapsed() > PATIENCE {
            return Ok(delta);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn counters_grow(subject: &Subject<'_>) -> Verdict {
    // What commits may be counted when it does: SELECTs alone must be counted too.
    [20, 0].into_iter().try_for_each(|update_percent| counters_grow_with(subject, update_percent))
}

fn counters_grow_with(subject: &Subject<'_>, update_percent: u8) -> Verdict {
    let engine = subject.engine()?;
    let batch = plans::batch(plans::workload(update_percent, 8)?, 31, SchemaNo::FIRST, 200)?;
    let updates = batch.ops().iter().filter(|op| matches!(op.action, Action::Update(..))).count() as u64;
    let blocks = 200 * 8;
    let least = [(Counter::Commits, updates), (Counter::LogicalReads, blocks)];
    let reached = |delta: &Counters| {
        least.iter().all(|(counter, least)| delta.get(*counter).is_none_or(|value| value >= *least))
    };
    let delta = counted(engine.as_ref(), &batch, RedoStress::Lite, &reached)?;
    for (counter, least) in least {
        if let Some(value) = delta.get(counter) {
            ensure(value >= least, || format!("{} grew by {value}, not by {least}", counter.name()))?;
        }
    }
    ensure(delta.iter().count() > 0, || "nothing is counted".into())
}

pub(super) fn redo_by_stress(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let mut redo_bytes = Vec::new();
    for (redo, nonce) in [(RedoStress::Lite, 51), (RedoStress::Heavy, 52)] {
        let batch = plans::batch(plans::workload(100, 4)?, nonce, SchemaNo::FIRST, 50)?;
        let delta = counted(engine.as_ref(), &batch, redo, &|delta| {
            delta.get(Counter::RedoBytes).is_none_or(|bytes| bytes > 0)
        })?;
        match delta.get(Counter::RedoBytes) {
            Some(bytes) => redo_bytes.push(bytes),
            None => return ensure(!subject.stores_data()?, || "redo is not counted".into()),
        }
    }
    // Engines that log whole pages write the same for both; none may write less for nineteen columns.
    ensure(redo_bytes[0] > 0, || "LITE updates made no redo".into())?;
    ensure(redo_bytes[1] * 10 >= redo_bytes[0] * 9, || format!("redo bytes, LITE and HEAVY: {redo_bytes:?}"))
}

/// A counter of one database where the server's own processes write for all of them stands still, which must not pass for few
/// writes. Where there is no server, everything is counted by who does it, and written when it likes.
pub(super) fn writes_are_counted(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    if engine.server().map_err(text)?.capabilities.embedded {
        return Ok(());
    }
    let batch = plans::batch(plans::workload(100, 4)?, 61, SchemaNo::FIRST, 100)?;
    let mut session = session(engine.as_ref(), 0, SchemaNo::FIRST, Some(RedoStress::Lite))?;
    let before = engine.snapshot().map_err(text)?;
    session.execute(&batch, None, &mut Outcome::new()).map_err(text)?;
    let schemas = [SchemaNo::FIRST];
    let run =
        RunPlan { schemas: &schemas, sessions: 1, redo: Some(RedoStress::Lite), scans: false, stop: None };
    let notes = engine.before_run(&run).map_err(text)?;
    let told = engine.after_run();
    // An account that may not make one says so.
    if notes.iter().chain(&told).any(|note| note.contains("checkpoint")) {
        return Ok(());
    }
    let begun = Instant::now();
    loop {
        let written = engine.snapshot().map_err(text)?.since(&before).counters.get(Counter::PhysicalWrites);
        if written.is_none_or(|blocks| blocks > 0) {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err("100 UPDATEs and a checkpoint wrote no block, as the server counts: its counter is not of all that \
                        is written, and must be absent"
                .into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}
