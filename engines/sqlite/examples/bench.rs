//! Measures the engine's paths through the contract.
//!
//! `bench load FOLDER SCHEMAS SCALE STREAMS` loads missing schemas. `bench run FOLDER SESSIONS WORK_UNIT UPDATE_PCT SECONDS
//! CACHE_MB [buffered]` works on all schemas of a folder.
#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use slob_engine::{Counter, Engine, Load, LoadProgress, OpenSpec, Outcome, Purpose, Session, SessionPlan};
use slob_engine_sqlite::KIND;
use slob_method::{Batch, Planner, SchemaNo};
use slob_spec::{LoadSpec, Percent, RedoStress, Settings, Table, WorkUnit, Workload};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const WARM_UP: Duration = Duration::from_secs(2);
/// Snapshots wait for a CPU like the sessions, which therefore work longer.
const LATE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["load", folder, schemas, scale, streams] => {
            load(folder, schemas.parse()?, scale.parse()?, streams.parse()?)
        }
        ["run", folder, sessions, work_unit, update_pct, seconds, cache_mb, ref buffered @ ..] => {
            let workload = workload(work_unit.parse()?, update_pct.parse()?)?;
            let engine = open(folder, Purpose::Use, cache_mb, !buffered.is_empty())?;
            run(engine.as_ref(), workload, sessions.parse()?, seconds.parse()?)
        }
        _ => Err("usage: see the head of this program's source".into()),
    }
}

fn open(folder: &str, purpose: Purpose, cache_mb: &str, buffered: bool) -> Result<Box<dyn Engine>, Failure> {
    let flag = |key: &str, value: String| (key.to_owned(), value);
    let flags = [flag("CACHE_MB", cache_mb.into()), flag("BUFFERED", buffered.to_string())];
    let settings = Settings::resolve(&Table::new("sqlite:.", &[KIND.params]), None, &[], &flags)?.settings;
    let options = LoadSpec::from_settings(&settings)?.spec.options;
    Ok((KIND.open)(&OpenSpec::new(format!("sqlite:{folder}").parse()?, purpose, options))?)
}

fn load(folder: &str, schemas: u16, scale: u64, streams: usize) -> Result<(), Failure> {
    let engine = open(folder, Purpose::Load, "8", false)?;
    let load = Load { seed: 1, scale, scan_blocks: 128, obfuscated: false, slice_rows: 8192 };
    let schemas: Vec<SchemaNo> = SchemaNo::up_to(schemas).collect();
    let (next, progress, begun) = (AtomicUsize::new(0), LoadProgress::default(), Instant::now());
    std::thread::scope(|scope| {
        let stream = || -> Result<(), Failure> {
            while let Some(schema) = schemas.get(next.fetch_add(1, Relaxed)) {
                engine.create_schema(&load, *schema)?;
                for slice in load.slices(*schema) {
                    engine.load_slice(&load, &slice, &progress)?;
                }
                let slices = begun.elapsed();
                let layout = engine.finish_schema(&load, *schema)?;
                println!("schema {schema} slices {slices:.2?} finished {:.2?} {layout:?}", begun.elapsed());
            }
            Ok(())
        };
        let streams: Vec<_> = (0..streams).map(|_| scope.spawn(stream)).collect();
        streams.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a stream panicked")?)
    })?;
    let megabytes = progress.rows() as f64 * 8192.0 / 1e6;
    println!(
        "MB/s {:.0} cpu-s/GB {:.2}",
        megabytes / begun.elapsed().as_secs_f64(),
        cpu_us() as f64 / megabytes / 1e3
    );
    Ok(())
}

fn workload(work_unit: u16, update_pct: u8) -> Result<Workload, Failure> {
    let update_pct = Percent::new(update_pct)?;
    Ok(Workload { update_pct, ..Workload::selects(0, WorkUnit::new(work_unit)?) })
}

fn run(engine: &dyn Engine, workload: Workload, sessions: u32, seconds: u64) -> Result<(), Failure> {
    let states = engine.schemas()?;
    let first = states.first().ok_or("no schema is loaded")?;
    let seed = u64::from(std::process::id());
    let workload = Workload { scale_blocks: first.load.scale, seed, nonce: seed, ..workload };
    workload.check()?;
    let barrier = Barrier::new(sessions as usize + 1);
    let mut connected = Vec::new();
    for number in 0..sessions {
        let home = states[number as usize % states.len()].schema;
        let update_text = Arc::new(first.load.content().update_text());
        let redo = (!workload.update_pct.is_zero()).then_some(RedoStress::Lite);
        let plan =
            SessionPlan { attempt: 0, number, home, hot_schema: false, scans: false, redo, update_text };
        connected.push((engine.session(&plan)?, Planner::new(workload.clone(), number, home)));
    }
    std::thread::scope(|scope| {
        let end = Instant::now() + WARM_UP + Duration::from_secs(seconds) + LATE;
        let threads: Vec<_> = connected
            .into_iter()
            .map(|(session, planner)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    work(session, planner, end)
                })
            })
            .collect();
        barrier.wait();
        print_warm_up(engine)?;
        let (before, cpu) = (engine.snapshot()?, cpu_us());
        std::thread::sleep(Duration::from_secs(seconds));
        let (after, cpu) = (engine.snapshot()?, cpu_us() - cpu);
        let elapsed = (after.taken - before.taken).as_secs_f64();
        let delta = after.since(&before).counters;
        let count = |counter| delta.get(counter).unwrap_or(0) as f64;
        let (reads, rows) =
            (count(Counter::PhysicalReads), count(Counter::RowsRead) + count(Counter::RowsChanged));
        println!(
            "sessions {sessions} reads/s {:.0} rows/s {:.0} visits/s {:.0} commits/s {:.0} syncs/s {:.0} redo-B/commit {:.0} \
             writes/s {:.0} cpu-us/read {:.2} cpu-us/row {:.3}",
            reads / elapsed,
            rows / elapsed,
            count(Counter::LogicalReads) / elapsed,
            count(Counter::Commits) / elapsed,
            count(Counter::RedoSyncs) / elapsed,
            count(Counter::RedoBytes) / count(Counter::Commits),
            count(Counter::PhysicalWrites) / elapsed,
            cpu as f64 / reads,
            cpu as f64 / rows,
        );
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a session panicked")?)
    })
}

/// The first half of its reads must not be much slower than the second.
fn print_warm_up(engine: &dyn Engine) -> Result<(), Failure> {
    let begun = engine.snapshot()?;
    let mut last = begun.clone();
    for half in [WARM_UP / 2, WARM_UP] {
        std::thread::sleep((begun.taken + half).saturating_duration_since(Instant::now()));
        let now = engine.snapshot()?;
        let reads = now.since(&last).counters.get(Counter::PhysicalReads).unwrap_or(0);
        println!("warm-up, half: reads/s {:.0}", reads as f64 / (now.taken - last.taken).as_secs_f64());
        last = now;
    }
    Ok(())
}

fn work(mut session: Box<dyn Session>, mut planner: Planner, end: Instant) -> Result<(), Failure> {
    let (mut batch, mut outcome) = (Batch::default(), Outcome::new());
    while Instant::now() < end {
        planner.fill(&mut batch, 200);
        session.execute(&batch, Some(end), &mut outcome)?;
        let wrong = batch.ops().iter().zip(outcome.ops()).find(|(op, done)| op.rows() != Some(done.rows));
        if let Some((op, done)) = wrong {
            return Err(format!("{op:?} saw {} rows", done.rows).into());
        }
    }
    Ok(())
}

fn cpu_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}
