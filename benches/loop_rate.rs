//! Measures what the loop over a batch costs: blocks per second, and per second of the server's CPU and of ours.
//!
//! `loop_rate TARGET BLOCKS [SESSIONS [SECONDS [UPDATE_PCT [SLICE_ROWS]]]]` loads schema 1 with that many blocks, if it is not there,
//! and then runs both loops at work units 64, 16 and 3. The server must be on this machine, and otherwise idle. The examples
//! `loop_rate` of the engines are this, each with its own engine.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slob_engine::{
    Engine, EngineKind, Load, LoadProgress, OpenSpec, Outcome, Purpose, RunPlan, Session, SessionPlan,
};
use slob_method::{Batch, Planner, SchemaNo};
use slob_observe::Observer;
use slob_spec::{EngineOptions, Percent, RedoStress, RunSpec, Settings, Table, WorkUnit, Workload};

const STREAMS: u64 = 2;

struct Arguments {
    target: String,
    blocks: u64,
    sessions: u32,
    time: Duration,
    update_pct: u8,
    slice_rows: u64,
}

/// Measures the engine that is named.
pub(crate) fn run(kind: &EngineKind) -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let target =
        words.next().ok_or("loop_rate TARGET BLOCKS [SESSIONS [SECONDS [UPDATE_PCT [SLICE_ROWS]]]]")?;
    let mut number = |default: u64| words.next().map_or(Ok(default), |word| word.parse());
    let (blocks, sessions) = (number(131_072)?, u32::try_from(number(1)?)?);
    let (time, update_pct) = (Duration::from_secs(number(5)?), u8::try_from(number(0)?)?);
    let slice_rows = number(8192)?;
    let arguments = Arguments { target, blocks, sessions, time, update_pct, slice_rows };
    let mut out = std::io::stdout();
    for place in ["server", "client"] {
        let engine = open(kind, &arguments.target, place)?;
        if engine.schemas()?.is_empty() {
            writeln!(out, "{}", load(engine.as_ref(), &arguments)?)?;
        }
        let load = engine.schemas()?.first().ok_or("nothing is loaded")?.load;
        for note in engine.before_run(&RunPlan {
            schemas: &[SchemaNo::FIRST],
            sessions: 1,
            redo: None,
            scans: false,
            stop: None,
        })? {
            writeln!(out, "{note}")?;
        }
        for unit in [64, 16, 3] {
            writeln!(
                out,
                "loop in {place}, work unit {unit}: {}",
                measure(engine.as_ref(), &load, unit, &arguments)?
            )?;
        }
    }
    Ok(())
}

fn open(kind: &EngineKind, target: &str, place: &str) -> Result<Box<dyn Engine>, Box<dyn Error>> {
    let table = Table::new("null:", &[kind.params]);
    let resolved = Settings::resolve(&table, None, &[], &[("LOOP".into(), place.into())])?;
    let options: EngineOptions = RunSpec::from_settings(&resolved.settings)?.spec.options;
    Ok((kind.open)(&OpenSpec::new(target.parse()?, Purpose::Load, options))?)
}

fn load(engine: &dyn Engine, arguments: &Arguments) -> Result<String, Box<dyn Error>> {
    let Arguments { blocks: scale, slice_rows, .. } = *arguments;
    let load = Load { seed: 1, scale, scan_blocks: 128, obfuscated: false, slice_rows };
    let begun = Instant::now();
    engine.create_schema(&load, SchemaNo::FIRST)?;
    let slices: Vec<_> = load.slices(SchemaNo::FIRST).collect();
    let progress = LoadProgress::default();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let stream = || {
            while let Some(slice) = slices.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                engine.load_slice(&load, slice, &progress)?;
            }
            Ok::<_, slob_engine::EngineError>(())
        };
        let streams: Vec<_> = (0..STREAMS).map(|_| scope.spawn(stream)).collect();
        streams.into_iter().try_for_each(|stream| stream.join().expect("no stream panics"))
    })?;
    let copied = begun.elapsed();
    let layout = engine.finish_schema(&load, SchemaNo::FIRST)?;
    let mb = layout.row_blocks as f64 * f64::from(engine.server()?.block_bytes) / 1e6;
    Ok(format!(
        "loaded {mb:.0} MB: rows in {:.2} s, all in {:.2} s, {:.0} MB/s; {layout:?}",
        copied.as_secs_f64(),
        begun.elapsed().as_secs_f64(),
        mb / begun.elapsed().as_secs_f64()
    ))
}

fn measure(
    engine: &dyn Engine,
    load: &Load,
    unit: u16,
    arguments: &Arguments,
) -> Result<String, Box<dyn Error>> {
    let update_pct = Percent::new(arguments.update_pct)?;
    let workload =
        Workload { update_pct, seed: 9, nonce: 9, ..Workload::selects(load.scale, WorkUnit::new(unit)?) };
    let opening = Instant::now();
    let sessions = open_sessions(engine, load, arguments.sessions)?;
    let opened = opening.elapsed().as_secs_f64();
    let before = engine.snapshot()?;
    let mut observer = Observer::local();
    let server = engine.locations().into_iter().next().ok_or("there is no server")?;
    observer.find(server.clues)?;
    let (server, own) = (server_cpu_s(&mut observer)?, slob_host::own_cpu()?.total_s());
    let begun = Instant::now();
    let end = begun + arguments.time;
    let work = |(number, mut session): Numbered| {
        let mut planner = Planner::new(workload.clone(), number, SchemaNo::FIRST);
        let (mut batch, mut outcome, mut rows, mut count) = (Batch::default(), Outcome::new(), 0, 16);
        while Instant::now() < end {
            planner.fill(&mut batch, count);
            let start = Instant::now();
            session.execute(&batch, Some(end), &mut outcome)?;
            rows += outcome.ops().iter().map(|op| op.rows).sum::<u64>();
            let fitting = 0.2 / start.elapsed().as_secs_f64() * count as f64;
            count = (fitting as usize).clamp(1, 8192);
        }
        Ok::<_, slob_engine::EngineError>((rows, session))
    };
    let (mut rows, mut ended) = (0, Vec::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = sessions.into_iter().map(|session| scope.spawn(|| work(session))).collect();
        threads.into_iter().try_for_each(|thread| {
            let (seen, session) = thread.join().expect("no session panics")?;
            rows += seen;
            ended.push(session);
            Ok::<_, slob_engine::EngineError>(())
        })
    })?;
    let elapsed = begun.elapsed().as_secs_f64();
    let (server, own) = (server_cpu_s(&mut observer)? - server, slob_host::own_cpu()?.total_s() - own);
    let delta = engine.snapshot()?.since(&before).counters;
    let seen = rows as f64;
    Ok(format!(
        "opened in {opened:.2} s; {:.0} blocks/s, {:.0} per server CPU second; own CPU {:.1} % of the server's; {delta:?}, rows {rows}",
        seen / elapsed,
        seen / server,
        own / server * 100.0
    ))
}

/// A session and its number.
type Numbered = (u32, Box<dyn Session>);

fn open_sessions(
    engine: &dyn Engine,
    load: &Load,
    count: u32,
) -> Result<Vec<Numbered>, slob_engine::EngineError> {
    let open = |number| {
        let plan = SessionPlan {
            attempt: 0,
            number,
            home: SchemaNo::FIRST,
            hot_schema: false,
            scans: false,
            redo: Some(RedoStress::Lite),
            update_text: Arc::new(load.content().update_text()),
        };
        Ok((number, engine.session(&plan)?))
    };
    (0..count).map(open).collect()
}

/// CPU time of the server's processes since it was found, in seconds.
fn server_cpu_s(observer: &mut Observer) -> Result<f64, Box<dyn Error>> {
    let pending = observer.request_sample(false);
    let sample = observer.receive_sample(pending).ok_or("the server is not seen")?.sample;
    let server = sample.servers.into_iter().flatten().next().ok_or("the server is gone")?;
    Ok(server.figures.cpu.ok_or("its CPU time is not seen")?.total_s())
}
