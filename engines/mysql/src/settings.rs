//! The settings that change results, and advice on them.

use std::path::PathBuf;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{Capabilities, EngineError, ErrorKind, LoopPlace, Server, Setting};

use crate::catalog;
use crate::engine::Product;
use crate::error::failed;

/// In the order in which they should be read. Those that a server lacks are left out.
const NAMES: &[&str] = &[
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_instances",
    "large_pages",
    "innodb_page_size",
    "innodb_flush_method",
    "innodb_data_file_buffering",
    "innodb_log_file_buffering",
    "innodb_use_native_aio",
    "innodb_read_io_threads",
    "innodb_write_io_threads",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_flush_neighbors",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "binlog_format",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_log_buffer_size",
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_lru_scan_depth",
    "innodb_adaptive_hash_index",
    "innodb_change_buffering",
    "innodb_random_read_ahead",
    "innodb_read_ahead_threshold",
    "innodb_checksum_algorithm",
    "innodb_encrypt_tables",
    "innodb_lock_wait_timeout",
    "innodb_snapshot_isolation",
    "query_cache_type",
    "performance_schema",
    "userstat",
    "thread_handling",
    "max_connections",
    "wsrep_on",
    "wsrep_cluster_name",
];

/// The settings found, by name.
struct Found(Vec<Setting>);

impl Found {
    fn ask(conn: &mut Conn) -> Result<Self, mysql::Error> {
        let list: Vec<String> = NAMES.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", list.join(", "));
        let rows: Vec<(String, String)> = conn.query(sql)?;
        let mut settings: Vec<Setting> =
            rows.into_iter().map(|(name, value)| Setting::new(name, value)).collect();
        settings.sort_by_key(|setting| NAMES.iter().position(|name| *name == setting.name));
        Ok(Self(settings))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Both products read around the page cache where the method says so; later MariaDB has a switch of its own.
    fn direct_io(&self) -> Option<bool> {
        match self.get("innodb_data_file_buffering") {
            Some(buffering) => Some(buffering == "OFF"),
            None => self.get("innodb_flush_method").map(|method| method.starts_with("O_DIRECT")),
        }
    }
}

/// Describes the server; `here` says whether it is known to run on this machine.
///
/// # Errors
/// If it can't be asked.
pub(crate) fn describe(
    conn: &mut Conn,
    product: &Product,
    loop_place: LoopPlace,
    here: bool,
) -> Result<Server, EngineError> {
    let step = "asking for the server's settings";
    let found = Found::ask(conn).map_err(|error| failed(step, &error))?;
    let block_bytes = found.number("innodb_page_size").and_then(|bytes| u32::try_from(bytes).ok());
    let block_bytes = block_bytes.ok_or_else(|| {
        EngineError::new(ErrorKind::Usage, step, "the server has no innodb_page_size")
            .with_advice("this engine tests InnoDB: switch it on")
    })?;
    let direct_io = found.direct_io();
    let blocks = loaded_blocks(conn)?;
    let memory = memory_bytes().filter(|_| here);
    Ok(Server {
        product: product.name().into(),
        version: product.version.clone(),
        block_bytes,
        advice: advice(&found, blocks.map(|blocks| blocks * u64::from(block_bytes)), direct_io, memory),
        settings: found.0,
        capabilities: Capabilities {
            tablespaces: false,
            whole_tables: false,
            stores_data: true,
            parallel_slices: true,
            embedded: false,
            batches_in_server: loop_place == LoopPlace::Server,
            cancel: true,
            direct_io,
        },
        data_path: data_folder(conn).filter(|_| here).filter(|path| path.is_dir()),
    })
}

/// Where the data are.
fn data_folder(conn: &mut Conn) -> Option<PathBuf> {
    conn.query_first::<String, _>("SELECT @@datadir").ok()?.map(PathBuf::from)
}

/// Blocks of all complete schemas; `None` if there is none.
fn loaded_blocks(conn: &mut Conn) -> Result<Option<u64>, EngineError> {
    let blocks = catalog::schemas(conn)?
        .into_iter()
        .filter_map(|state| state.state.layout())
        .map(|layout| layout.all_blocks);
    Ok(Some(blocks.sum()).filter(|blocks| *blocks > 0))
}

/// This machine's memory.
fn memory_bytes() -> Option<u64> {
    use procfs::Current;
    Some(procfs::Meminfo::current().ok()?.mem_total)
}

fn advice(found: &Found, data: Option<u64>, direct_io: Option<bool>, memory: Option<u64>) -> Vec<String> {
    let mib = |bytes: u64| bytes >> 20;
    let mut advice = Vec::new();
    if let (Some(data), Some(pool)) = (data, found.number("innodb_buffer_pool_size"))
        && data <= pool
    {
        advice.push(format!(
            "The data ({} MiB) fit into innodb_buffer_pool_size ({} MiB): reads will not leave the server. Load more, or lower the pool and restart the server, to test I/O.",
            mib(data), mib(pool)
        ));
    }
    if let (Some(data), Some(memory)) = (data, memory)
        && direct_io != Some(true)
        && data <= memory
    {
        advice.push(format!(
            "The data ({} MiB) fit into this machine's memory ({} MiB), and reads go through the page cache of the operating system: many will not reach the device. Load more, or use innodb_flush_method=O_DIRECT.",
            mib(data), mib(memory)
        ));
    }
    for (name, spoilt, text) in SPOILERS {
        if found.get(name) == Some(spoilt) {
            advice.push((*text).into());
        }
    }
    if found.get("log_bin") == Some("ON") && found.get("sync_binlog") != Some("1") {
        advice.push("log_bin is on without sync_binlog=1: commits do not wait for all of the log.".into());
    }
    advice
}

/// Settings and values that make figures better or worse than they are.
const SPOILERS: &[(&str, &str, &str)] = &[
    (
        "innodb_flush_log_at_trx_commit",
        "0",
        "innodb_flush_log_at_trx_commit is 0: commits do not wait for the log, so redo latency is not measured.",
    ),
    (
        "innodb_flush_log_at_trx_commit",
        "2",
        "innodb_flush_log_at_trx_commit is 2: commits wait for the page cache, not for the device.",
    ),
    (
        "innodb_doublewrite",
        "OFF",
        "innodb_doublewrite is off: there are fewer writes than a server that survives torn pages must make.",
    ),
    (
        "innodb_use_native_aio",
        "OFF",
        "innodb_use_native_aio is off: pages are written by a few threads only.",
    ),
    ("query_cache_type", "ON", "query_cache_type is on: it may answer SELECTs without a look at the data."),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(settings: &[(&str, &str)]) -> Found {
        Found(settings.iter().map(|(name, value)| Setting::new(*name, *value)).collect())
    }

    #[test]
    fn direct_io_is_known_by_method_or_switch() {
        assert_eq!(found(&[]).direct_io(), None);
        assert_eq!(found(&[("innodb_flush_method", "fsync")]).direct_io(), Some(false));
        assert_eq!(found(&[("innodb_flush_method", "O_DIRECT_NO_FSYNC")]).direct_io(), Some(true));
        let switched = [("innodb_flush_method", "O_DIRECT"), ("innodb_data_file_buffering", "ON")];
        assert_eq!(found(&switched).direct_io(), Some(false));
    }

    #[test]
    fn advice_names_what_spoils() {
        let pool = ("innodb_buffer_pool_size", "67108864");
        let (small, large) = (1 << 20, 1 << 30);
        assert!(advice(&found(&[pool]), Some(large), Some(true), Some(4 * large)).is_empty());
        assert!(advice(&found(&[pool]), None, None, None).is_empty(), "nothing is loaded");
        let cached = advice(&found(&[pool]), Some(small), Some(true), None);
        assert!(cached.len() == 1 && cached[0].contains("innodb_buffer_pool_size"), "{cached:?}");
        let paged = advice(&found(&[pool]), Some(large), Some(false), Some(4 * large));
        assert!(paged.len() == 1 && paged[0].contains("page cache"), "{paged:?}");
        let lax = found(&[("innodb_flush_log_at_trx_commit", "2"), ("log_bin", "ON"), ("sync_binlog", "0")]);
        assert_eq!(advice(&lax, None, None, None).len(), 2);
    }
}
