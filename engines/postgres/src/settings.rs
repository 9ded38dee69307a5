//! The settings that change results, and advice on them.

use postgres::Client;
use slob_engine::{Capabilities, EngineError, Server, Setting};

use crate::catalog::{self, get};
use crate::engine::ServerVersion;
use crate::error::failed;
use crate::options::{LoopPlace, Options};
use crate::place;

/// In the order in which they should be read. Those that a version lacks are left out.
const NAMES: &[&str] = &[
    "shared_buffers",
    "huge_pages",
    "huge_pages_status",
    "block_size",
    "io_method",
    "io_workers",
    "debug_io_direct",
    "effective_io_concurrency",
    "io_combine_limit",
    "data_checksums",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "wal_compression",
    "wal_sync_method",
    "wal_buffers",
    "wal_segment_size",
    "commit_delay",
    "max_wal_size",
    "checkpoint_timeout",
    "checkpoint_completion_target",
    "checkpoint_flush_after",
    "backend_flush_after",
    "bgwriter_delay",
    "bgwriter_lru_maxpages",
    "autovacuum",
    "track_io_timing",
    "track_wal_io_timing",
    "shared_preload_libraries",
    "synchronous_standby_names",
    "max_connections",
    "server_encoding",
];

const QUERY: &str =
    "SELECT s.name, pg_catalog.current_setting(s.name) FROM pg_catalog.pg_settings s WHERE s.name = ANY ($1)";

/// The settings found, by name.
struct Found(Vec<Setting>);

impl Found {
    fn ask(client: &mut Client, step: &str) -> Result<Self, EngineError> {
        let rows = client.query(QUERY, &[&NAMES]).map_err(|error| failed(step, &error))?;
        let mut settings = Vec::with_capacity(rows.len());
        for row in &rows {
            settings.push(Setting::new(get::<String>(row, 0, step)?, get::<String>(row, 1, step)?));
        }
        settings.sort_by_key(|setting| NAMES.iter().position(|name| *name == setting.name));
        Ok(Self(settings))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }
}

/// Describes the server; `here` says whether it is known to run on this machine.
///
/// # Errors
/// If it can't be asked.
pub(crate) fn describe(
    client: &mut Client,
    version: ServerVersion,
    options: &Options,
    here: bool,
) -> Result<Server, EngineError> {
    let step = "asking for the server's settings";
    let found = Found::ask(client, step)?;
    let row = client
        .query_one(
            "SELECT current_setting('server_version'), current_setting('block_size')::integer,
                    (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers')",
            &[],
        )
        .map_err(|error| failed(step, &error))?;
    let block_bytes = get::<i32>(&row, 1, step)?.unsigned_abs();
    let buffers = get::<Option<i64>>(&row, 2, step)?.map(i64::cast_unsigned);
    let direct_io = direct_io(&found, version);
    let blocks = loaded_blocks(client)?;
    let data_path = place::of_tables(client, options.tablespace.as_deref());
    Ok(Server {
        product: "PostgreSQL".into(),
        version: get(&row, 0, step)?,
        block_bytes,
        advice: advice(&found, blocks, buffers, direct_io, memory_blocks(block_bytes).filter(|_| here)),
        settings: found.0,
        capabilities: Capabilities {
            tablespaces: true,
            stores_data: true,
            parallel_slices: true,
            whole_tables: true,
            embedded: false,
            batches_in_server: options.loop_place == LoopPlace::Server,
            cancel: true,
            direct_io,
        },
        data_path: data_path.filter(|_| here).filter(|path| path.is_dir()),
    })
}

/// Version 16 brought direct I/O; before it there is none.
fn direct_io(found: &Found, version: ServerVersion) -> Option<bool> {
    if version < ServerVersion::major(16) {
        return Some(false);
    }
    found.get("debug_io_direct").map(|value| value.split(',').any(|part| part.trim() == "data"))
}

/// Blocks of all complete schemas; `None` if there is none.
fn loaded_blocks(client: &mut Client) -> Result<Option<u64>, EngineError> {
    let blocks = catalog::schemas(client)?
        .into_iter()
        .filter_map(|state| state.state.layout())
        .map(|layout| layout.all_blocks);
    Ok(Some(blocks.sum()).filter(|blocks| *blocks > 0))
}

/// This machine's memory, in blocks.
fn memory_blocks(block_bytes: u32) -> Option<u64> {
    use procfs::Current;
    Some(procfs::Meminfo::current().ok()?.mem_total / u64::from(block_bytes))
}

fn advice(
    found: &Found,
    blocks: Option<u64>,
    buffers: Option<u64>,
    direct_io: Option<bool>,
    memory: Option<u64>,
) -> Vec<String> {
    let mut advice = Vec::new();
    if let (Some(blocks), Some(buffers)) = (blocks, buffers)
        && blocks <= buffers
    {
        advice.push(format!(
            "The data ({blocks} blocks) fit into shared_buffers ({buffers} blocks): reads will not leave the server. Load more, or lower shared_buffers, to test I/O."
        ));
    }
    if let (Some(blocks), Some(memory)) = (blocks, memory)
        && direct_io != Some(true)
        && blocks <= memory
    {
        advice.push(format!(
            "The data ({blocks} blocks) fit into this machine's memory ({memory} blocks), and reads go through the page cache of the operating system: many will not reach the device. Load more, or use debug_io_direct=data (16 and later)."
        ));
    }
    for (name, spoilt, text) in SPOILERS {
        if found.get(name) == Some(spoilt) {
            advice.push((*text).into());
        }
    }
    advice
}

/// Settings and values that make figures of writes better than they are.
const SPOILERS: &[(&str, &str, &str)] = &[
    ("fsync", "off", "fsync is off: nothing waits for the device, so figures of updates mean little."),
    (
        "synchronous_commit",
        "off",
        "synchronous_commit is off: commits do not wait for the log, so redo latency is not measured.",
    ),
    (
        "full_page_writes",
        "off",
        "full_page_writes is off: there is less redo than a server that survives torn blocks must write.",
    ),
    ("track_io_timing", "off", "track_io_timing is off: the server does not measure the time of its reads."),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(settings: &[(&str, &str)]) -> Found {
        Found(settings.iter().map(|(name, value)| Setting::new(*name, *value)).collect())
    }

    #[test]
    fn direct_io_is_known_by_version_and_setting() {
        let v15 = ServerVersion(150_006);
        let v18 = ServerVersion(180_001);
        assert_eq!(direct_io(&found(&[]), v15), Some(false));
        assert_eq!(direct_io(&found(&[]), v18), None);
        assert_eq!(direct_io(&found(&[("debug_io_direct", "")]), v18), Some(false));
        assert_eq!(direct_io(&found(&[("debug_io_direct", "data, wal")]), v18), Some(true));
        assert_eq!(direct_io(&found(&[("debug_io_direct", "wal")]), v18), Some(false));
    }

    #[test]
    fn advice_names_what_spoils() {
        let sound = found(&[("fsync", "on"), ("synchronous_commit", "on"), ("track_io_timing", "on")]);
        assert!(advice(&sound, Some(5000), Some(1000), Some(false), Some(4000)).is_empty());
        assert!(advice(&sound, None, Some(1000), None, None).is_empty(), "nothing is loaded");
        let cached = advice(&sound, Some(900), Some(1000), Some(true), Some(4000));
        assert!(cached.len() == 1 && cached[0].contains("shared_buffers"), "{cached:?}");
        let paged = advice(&sound, Some(3000), Some(1000), Some(false), Some(4000));
        assert!(paged.len() == 1 && paged[0].contains("page cache"), "{paged:?}");
        let unsafe_settings = found(&[("fsync", "off"), ("full_page_writes", "off")]);
        assert_eq!(advice(&unsafe_settings, Some(5000), Some(1000), Some(true), None).len(), 2);
    }
}
