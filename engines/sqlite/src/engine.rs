//! The engine: one folder of schemas, and the counts of its sessions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::{fs, io};

use slob_engine::{
    BlockReader, Capabilities, Counter, Counters, Debt, Engine, EngineKind, Figures, LatencyKind, Layout,
    Load, LoadProgress, OpenSpec, Result, SchemaState, Server, ServerLocation, Session, SessionPlan, Setting,
    Slice, Snapshot, TargetLock, WaitEvent,
};
use slob_method::{RowView, SchemaNo};

use crate::counts::{Counts, Tally};
use crate::error::os_failed;
use crate::lock::FolderLock;
use crate::schema_file::SchemaFile;
use crate::session::{CHECKPOINT_PAGES, Inner, SqliteSession};
use crate::target::{BLOCK_BYTES, FORM, PARAMS, Place, SCHEME};
use crate::vfs::{IoTotals, Meter, TransferTotals, read_page};
use crate::{load, rows, target};

pub const KIND: EngineKind = EngineKind {
    scheme: SCHEME,
    target_form: FORM,
    summary: "SQLite, embedded, with direct I/O: needs no server",
    library: || format!("SQLite {}, built in", rusqlite::version()),
    params: PARAMS,
    open,
    scripts: None,
    board: Some(crate::board::KIND),
    replay: None,
};

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>> {
    let place = Place::from_spec(spec)?;
    crate::initialise()?;
    Ok(Box::new(SqliteEngine(Arc::new(Inner {
        place,
        session_meter: Meter::default(),
        other_meter: Meter::default(),
        tally: Tally::default(),
        turns: Mutex::default(),
    }))))
}

struct SqliteEngine(Arc<Inner>);

impl Engine for SqliteEngine {
    fn server(&self) -> Result<Server> {
        let Place { buffered, cache_blocks, .. } = self.0.place;
        let cache_mb = cache_blocks / ((1 << 20) / BLOCK_BYTES);
        Ok(Server {
            product: "SQLite".into(),
            version: rusqlite::version().into(),
            block_bytes: BLOCK_BYTES,
            settings: vec![
                Setting::new("data file I/O", if buffered { "buffered" } else { "direct" }),
                Setting::new("page_size", format!("{BLOCK_BYTES} bytes")),
                Setting::new("cache of each session", format!("{cache_mb} MiB")),
                Setting::new("journal_mode", "WAL"),
                Setting::new("synchronous", "FULL"),
                Setting::new("wal_autocheckpoint", format!("{CHECKPOINT_PAGES} pages")),
            ],
            advice: Vec::new(),
            checks_blocks: Some(false),
            cache_bytes: None,
            direct_io_advice: buffered.then(|| "Leave out --buffered (BUFFERED=FALSE).".to_owned()),
            clock_step_ns: None,
            capabilities: Capabilities {
                stores_data: true,
                embedded: true,
                cancel: true,
                direct_io: Some(!buffered),
                ..Capabilities::default()
            },
        })
    }

    fn schemas(&self) -> Result<Vec<SchemaState>> {
        target::schemas(&self.0.place, &self.0.other_meter)
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()> {
        load::create(&self.0.place, load, schema, &self.0.other_meter)
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()> {
        load::load_slice(&self.0.place, load, slice, progress, &self.0.other_meter)
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout> {
        load::finish(&self.0.place, load, schema, &self.0.other_meter)
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<()> {
        target::drop_schema(&self.0.place, schema, &self.0.other_meter)
    }

    fn lock(&self) -> Result<TargetLock> {
        FolderLock::take(&self.0.place.folder)
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        Ok(Box::new(SqliteSession::open(&self.0, plan)?))
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let (io, sums) = (self.0.session_meter.totals(), self.0.tally.sums());
        let counters = Counters::from([
            (Counter::LogicalReads, sums.logical_reads),
            (Counter::PhysicalReads, io.page_reads.count()),
            (Counter::PhysicalReadRequests, io.page_reads.count()),
            (Counter::PhysicalReadBytes, io.page_reads.bytes),
            (Counter::PhysicalReadTimeNs, io.page_reads.ns.sum()),
            (Counter::PhysicalWrites, io.page_writes.count()),
            (Counter::PhysicalWriteBytes, io.page_writes.bytes),
            (Counter::RedoBytes, io.log_writes.bytes),
            (Counter::RedoWrites, io.log_writes.count()),
            (Counter::RedoSyncs, io.log_syncs.count()),
            (Counter::Commits, sums.commits),
            (Counter::RowsRead, sums.rows_read),
            (Counter::RowsChanged, sums.rows_changed),
            (Counter::Checkpoints, sums.checkpoints),
        ]);
        let events = events(&io, &sums);
        let latencies = [
            (LatencyKind::Commit, self.0.commits()),
            (LatencyKind::PhysicalRead, io.page_reads.ns),
            (LatencyKind::PhysicalWrite, io.page_writes.ns),
            (LatencyKind::RedoSync, io.log_syncs.ns),
        ];
        Ok(Snapshot::now(Figures { counters, latencies: latencies.into(), events, ..Figures::default() }))
    }

    /// A load and each run end with a checkpoint, unless they are killed.
    fn debts(&self) -> Result<Vec<Debt>> {
        // SQLite reuses the log once its pages are in the file: a log of usual length is the run's own.
        const USUAL_BYTES: u64 = 4 * CHECKPOINT_PAGES as u64 * BLOCK_BYTES as u64;
        let files = target::schema_files(&self.0.place)?;
        let bytes =
            |path: &PathBuf| fs::metadata(format!("{}-wal", path.display())).map_or(0, |about| about.len());
        let logs = files.iter().map(|(schema, path)| (schema, bytes(path)));
        let notable = logs.filter(|(_, bytes)| *bytes > USUAL_BYTES);
        Ok(notable
            .map(|(schema, bytes)| Debt::new(format!("log of schema {schema}"), bytes, "bytes"))
            .collect())
    }

    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
        let Inner { place, other_meter, .. } = &*self.0;
        let file = SchemaFile::open(slice.schema, &place.file(slice.schema), place.io(), other_meter)?;
        rows::read_rows(&file, slice, visit)
    }

    fn block_reader(&self, schema: SchemaNo) -> Result<Option<BlockReader>> {
        let Inner { place, other_meter, .. } = &*self.0;
        let path = place.file(schema);
        let file = SchemaFile::open(schema, &path, place.io(), other_meter)?;
        let about =
            fs::metadata(&path).map_err(|error| os_failed(format!("reading {}", path.display()), &error))?;
        let connection = file.connection;
        let read = move |block: &mut [u8], offset| {
            let page = offset / u64::from(BLOCK_BYTES) + 1;
            read_page(&connection, page as u32, block).map_err(io::Error::other)
        };
        Ok(Some(BlockReader { bytes: about.len(), read: Box::new(read) }))
    }

    fn locations(&self) -> Vec<ServerLocation> {
        let mut location = ServerLocation::embedded(Some(self.0.place.folder.clone()));
        // SQLite makes it for the first connection.
        let log = |(_, path): &(SchemaNo, PathBuf)| PathBuf::from(format!("{}-wal", path.display()));
        location.clues.log_files = target::schema_files(&self.0.place).iter().flatten().map(log).collect();
        vec![location]
    }
}

/// Calls of the VFS, and waits for the turn to write.
fn events(io: &IoTotals, sums: &Counts<u64>) -> Vec<WaitEvent> {
    let of = |transfers: &TransferTotals| (transfers.count(), transfers.ns.sum());
    let event = |(name, class, (waits, ns)): (&str, &str, (u64, u64))| WaitEvent {
        name: name.into(),
        class: class.into(),
        waits: Some(waits),
        time_us: ns / 1000,
        background: false,
    };
    let events = [
        ("page read", "data", of(&io.page_reads)),
        ("page write", "data", of(&io.page_writes)),
        ("file fsync", "data", of(&io.file_syncs)),
        ("log write", "log", of(&io.log_writes)),
        ("log fsync", "log", of(&io.log_syncs)),
        ("write lock", "concurrency", (sums.write_waits, sums.write_wait_ns)),
    ];
    events.map(event).into()
}
