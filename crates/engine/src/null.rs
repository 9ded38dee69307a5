//! The engine without a database does nothing, at once or after a latency (`null:?latency_us=100`). It shows the cost of the
//! tool, and is the skeleton for new engines.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use slob_method::{Action, Batch, Op, RowView, SchemaNo};

use crate::{
    Cancel, CancelToken, Capabilities, Counter, Engine, EngineError, EngineKind, ErrorKind, Figures, Layout,
    Load, LoadProgress, OpenSpec, Outcome, Perform, Result, SchemaState, Server, ServerLocation, Session,
    SessionPlan, Setting, Slice, Snapshot, execute_each,
};

/// The engine of the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: "null",
    target_form: "null: or null:?latency_us=N",
    summary: "no database: shows what the tool itself costs",
    library: || "none".to_owned(),
    params: &[],
    open,
    scripts: None,
    board: None,
    replay: None,
};

const BLOCK_BYTES: u32 = 8192;

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>> {
    let mut latency = Duration::ZERO;
    for (name, value) in spec.target.query() {
        let us = (name == "latency_us").then(|| value.parse().ok()).flatten().ok_or_else(|| {
            EngineError::new(ErrorKind::Usage, "opening null:", format!("can't use {name}={value}"))
                .with_advice("the only option is latency_us=<microseconds>")
        })?;
        latency = Duration::from_micros(us);
    }
    Ok(Box::new(NullEngine { latency, counts: Arc::default() }))
}

#[derive(Debug, Default)]
struct Counts {
    commits: AtomicU64,
    rows_read: AtomicU64,
    rows_changed: AtomicU64,
}

struct NullEngine {
    latency: Duration,
    counts: Arc<Counts>,
}

impl Engine for NullEngine {
    fn server(&self) -> Result<Server> {
        Ok(Server {
            product: "null".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            block_bytes: BLOCK_BYTES,
            settings: vec![Setting::new("latency_us", self.latency.as_micros().to_string())],
            advice: vec!["No database is behind this target: the figures show the tool alone.".into()],
            checks_blocks: None,
            cache_bytes: None,
            direct_io_advice: None,
            clock_step_ns: None,
            capabilities: Capabilities {
                parallel_slices: true,
                embedded: true,
                cancel: true,
                ..Capabilities::default()
            },
        })
    }

    fn schemas(&self) -> Result<Vec<SchemaState>> {
        Ok(Vec::new())
    }

    fn create_schema(&self, _: &Load, _: SchemaNo) -> Result<()> {
        Ok(())
    }

    fn load_slice(&self, _: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()> {
        progress.add(slice.positions.end - slice.positions.start);
        Ok(())
    }

    fn finish_schema(&self, load: &Load, _: SchemaNo) -> Result<Layout> {
        Ok(Layout { rows: load.scale, row_blocks: load.scale, all_blocks: load.scale + load.scan_blocks })
    }

    fn drop_schema(&self, _: SchemaNo) -> Result<()> {
        Ok(())
    }

    fn session(&self, _: &SessionPlan) -> Result<Box<dyn Session>> {
        let (latency, counts) = (self.latency, Arc::clone(&self.counts));
        Ok(Box::new(NullSession { latency, counts, token: Arc::default() }))
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let counters = [
            (Counter::Commits, read(&self.counts.commits)),
            (Counter::RowsRead, read(&self.counts.rows_read)),
            (Counter::RowsChanged, read(&self.counts.rows_changed)),
        ];
        Ok(Snapshot::now(Figures { counters: counters.into_iter().collect(), ..Figures::default() }))
    }

    fn read_rows(&self, _: &Slice, _: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
        Ok(())
    }

    fn locations(&self) -> Vec<ServerLocation> {
        vec![ServerLocation::embedded(None)]
    }
}

struct NullSession {
    latency: Duration,
    counts: Arc<Counts>,
    token: Arc<CancelToken>,
}

impl Perform for NullSession {
    fn perform(&mut self, op: &Op) -> Result<u64> {
        self.token.sleep(self.latency, None)?;
        let rows = op.rows().unwrap_or(0);
        match op.action {
            Action::Update(..) => {
                self.counts.commits.fetch_add(op.commits.into(), Ordering::Relaxed);
                self.counts.rows_changed.fetch_add(rows, Ordering::Relaxed);
            }
            Action::Select(_) | Action::Scan => {
                self.counts.rows_read.fetch_add(rows, Ordering::Relaxed);
            }
        }
        Ok(rows)
    }
}

impl Session for NullSession {
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()> {
        outcome.clear();
        let token = Arc::clone(&self.token);
        execute_each(self, batch, deadline, &token, outcome)
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::<CancelToken>::clone(&self.token))
    }
}
