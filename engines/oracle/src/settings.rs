//! The settings that change results.

use slob_engine::{Capabilities, EngineError, Server, Setting};

use crate::advice::advice;
use crate::catalog::{self, number, text};
use crate::client::{Bind, Client, Row};
use crate::counters::Views;
use crate::engine::Inner;
use crate::names::literals;

/// In the order in which they should be read. Hidden ones are seen only where they were set.
const NAMES: &[&str] = &[
    "db_block_size",
    "db_cache_size",
    "sga_target",
    "sga_max_size",
    "memory_target",
    "pga_aggregate_target",
    "use_large_pages",
    "_db_block_prefetch_limit",
    "_db_block_prefetch_quota",
    "_db_file_noncontig_mblock_read_count",
    "db_file_multiblock_read_count",
    "filesystemio_options",
    "disk_asynch_io",
    "db_writer_processes",
    "db_block_checksum",
    "db_block_checking",
    "log_buffer",
    "commit_logging",
    "commit_wait",
    "fast_start_mttr_target",
    "archive_lag_target",
    "recyclebin",
    "result_cache_mode",
    "db_flash_cache_size",
    "resource_manager_plan",
    "statistics_level",
    "timed_statistics",
    "control_management_pack_access",
    "cpu_count",
    "processes",
    "sessions",
    "cluster_database",
    "compatible",
];
const DEFAULT_BLOCK_BYTES: u32 = 8192;

/// The settings found.
pub(crate) struct Found(pub(crate) Vec<Setting>);

impl Found {
    /// The value of a setting.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }

    fn add(&mut self, name: &str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| Setting::new(name, value.to_string())));
    }

    /// Data in ASM are read around the page cache, and files where the option says so.
    pub(crate) fn direct_io(&self) -> Option<bool> {
        if self.get("data files in ASM").is_some_and(|share| share != "0") {
            return Some(true);
        }
        let option = self.get("filesystemio_options")?;
        Some(["SETALL", "DIRECTIO"].iter().any(|direct| option.eq_ignore_ascii_case(direct)))
    }
}

/// The names of these, and those that are set, from the server.
///
/// What the account may not see is absent: a query that fails gives nothing.
fn ask(client: &mut dyn Client, views: Views) -> Found {
    let mut rows = |sql: &str| -> Vec<Row> { client.query(sql, &[]).unwrap_or_default() };
    let parameters = rows(&include_str!("../sql/parameters.sql").replace("{names}", &literals(NAMES)));
    let mut settings: Vec<Setting> = parameters
        .iter()
        .filter_map(|row| Some(Setting::new(text(row, 0)?, text(row, 1).unwrap_or_default())))
        .collect();
    settings.sort_by_key(|setting| NAMES.iter().position(|name| *name == setting.name));
    let mut found = Found(settings);
    let first = |rows: Vec<Row>| rows.into_iter().next().unwrap_or_default();
    let cache = first(rows(&views.fill(include_str!("../sql/cache.sql"))));
    found.add("buffer cache bytes", number(&cache, 0));
    let database = first(rows(include_str!("../sql/database.sql")));
    for (column, name) in ["log mode", "force logging", "database role"].into_iter().enumerate() {
        found.add(name, text(&database, column));
    }
    let logs = first(rows(include_str!("../sql/redo_logs.sql")));
    found.add("redo logs", number(&logs, 0));
    found.add("smallest redo log bytes", number(&logs, 1));
    let files = first(rows(include_str!("../sql/data_files.sql")));
    found.add("data files", number(&files, 1));
    found.add("data files in ASM", number(&files, 0));
    let tasks: Vec<String> =
        rows(include_str!("../sql/autotasks.sql")).into_iter().flatten().flatten().collect();
    found.add("automatic tasks", (!tasks.is_empty()).then(|| tasks.join(", ")));
    found
}

/// Describes the server.
///
/// # Errors
/// If it can't be asked for our schemas.
pub(crate) fn describe(client: &mut dyn Client, inner: &Inner) -> Result<Server, EngineError> {
    let mut found = ask(client, inner.views);
    found.add("client library", inner.connector.client_version());
    let schemas = catalog::schemas(client, &inner.connector)?;
    let place = match schemas.first() {
        Some(state) => Place::Table(inner.connector.prefix.user(state.schema)),
        None => inner.options.tablespace.clone().map_or(Place::Default, Place::Tablespace),
    };
    let block_bytes = block_bytes(client, &place);
    let blocks = schemas.iter().filter_map(|state| state.state.layout()).map(|layout| layout.all_blocks);
    let bytes = Some(blocks.sum::<u64>() * u64::from(block_bytes)).filter(|bytes| *bytes > 0);
    Ok(Server {
        product: "Oracle Database".into(),
        version: inner.version.text.clone(),
        block_bytes,
        advice: advice(&found, bytes),
        capabilities: Capabilities {
            tablespaces: true,
            whole_tables: false,
            stores_data: true,
            // A direct-path insert locks its table until the commit: streams take a schema each.
            parallel_slices: false,
            embedded: false,
            batches_in_server: true,
            cancel: true,
            direct_io: found.direct_io(),
        },
        settings: found.0,
        data_path: None,
    })
}

/// Where data lie, or will lie.
pub(crate) enum Place {
    /// In the tablespace of CF1 of that account.
    Table(String),
    /// In that tablespace.
    Tablespace(String),
    /// In the database's own.
    Default,
}

/// The size of the blocks there, or of the database where that can't be seen.
pub(crate) fn block_bytes(client: &mut dyn Client, place: &Place) -> u32 {
    let ask = |client: &mut dyn Client, sql: &str, binds: &[Bind]| {
        let rows = client.query(sql, binds).ok()?;
        rows.first().and_then(|row| number(row, 0)).and_then(|bytes| u32::try_from(bytes).ok())
    };
    let there = match place {
        Place::Table(owner) => {
            ask(client, include_str!("../sql/block_size.sql"), &[Bind::Text(owner.clone())])
        }
        Place::Tablespace(name) => {
            let name = Bind::Text(crate::names::identifier(name).replace('"', ""));
            ask(client, include_str!("../sql/tablespace.sql"), &[name])
        }
        Place::Default => None,
    };
    let of_database = include_str!("../sql/db_block_size.sql");
    there.or_else(|| ask(client, of_database, &[])).unwrap_or(DEFAULT_BLOCK_BYTES)
}
