//! The settings that change results.

use slob_engine::{Capabilities, EngineError, Server, Setting};
use slob_server::{Found, loaded_blocks};

use crate::advice::{advice, checks_blocks, direct_io};
use crate::catalog::{self, number, text};
use crate::client::{Bind, Client, Row};
use crate::counters::Views;
use crate::database::Database;
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
    "optimizer_ignore_hints",
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

fn add(found: &mut Found, name: &str, value: Option<impl ToString>) {
    found.0.extend(value.map(|value| Setting::new(name, value.to_string())));
}

/// What is asked for settings, by name.
pub(crate) fn questions(views: Views) -> [(&'static str, String); 6] {
    [
        ("parameters", include_str!("../sql/parameters.sql").replace("{names}", &literals(NAMES))),
        ("cache", views.fill(include_str!("../sql/cache.sql"))),
        ("database", include_str!("../sql/database.sql").to_owned()),
        ("redo logs", include_str!("../sql/redo_logs.sql").to_owned()),
        ("data files", include_str!("../sql/data_files.sql").to_owned()),
        ("automatic tasks", include_str!("../sql/autotasks.sql").to_owned()),
    ]
}

/// The names of these, and those that are set, from the server.
///
/// What the account may not see is absent: a query that fails gives nothing.
fn ask(client: &mut dyn Client, views: Views) -> Found {
    let [parameters, cache, database, logs, files, tasks] =
        questions(views).map(|(_, sql)| -> Vec<Row> { client.query(&sql, &[]).unwrap_or_default() });
    let pair = |row: &Row| Some((text(row, 0)?.to_owned(), text(row, 1).unwrap_or_default().to_owned()));
    let mut found = Found::in_order(parameters.iter().filter_map(pair), NAMES);
    let first = |rows: Vec<Row>| rows.into_iter().next().unwrap_or_default();
    add(&mut found, "buffer cache bytes", number(&first(cache), 0));
    let database = first(database);
    for (column, name) in ["log mode", "force logging", "database role"].into_iter().enumerate() {
        add(&mut found, name, text(&database, column));
    }
    let logs = first(logs);
    add(&mut found, "redo logs", number(&logs, 0));
    add(&mut found, "smallest redo log bytes", number(&logs, 1));
    let files = first(files);
    add(&mut found, "data files", number(&files, 1));
    add(&mut found, "data files in ASM", number(&files, 0));
    let tasks: Vec<String> = tasks.into_iter().flatten().flatten().collect();
    add(&mut found, "automatic tasks", (!tasks.is_empty()).then(|| tasks.join(", ")));
    found
}

/// Describes the server.
///
/// # Errors
/// If it can't be asked for our schemas.
pub(crate) fn describe(client: &mut dyn Client, database: &Database) -> Result<Server, EngineError> {
    let mut found = ask(client, database.views);
    add(&mut found, "driver", Some(database.connector.driver().name));
    add(&mut found, "container of the counters", database.scope.con_id());
    add(&mut found, "scope of the counters", Some(database.scope.words()));
    add(&mut found, "commit of UPDATEs", Some(database.options.commit.words()));
    let schemas = catalog::schemas(client, &database.connector)?;
    let place = match schemas.first() {
        Some(state) => Place::Table(database.connector.prefix.user(state.schema)),
        None => database.options.tablespace.clone().map_or(Place::Default, Place::Tablespace),
    };
    let block_bytes = block_bytes(client, &place);
    let bytes = loaded_blocks(&schemas).map(|blocks| blocks * u64::from(block_bytes));
    Ok(Server {
        product: "Oracle Database".into(),
        version: database.version.text.clone(),
        block_bytes,
        advice: advice(&found, bytes),
        checks_blocks: checks_blocks(&found),
        capabilities: Capabilities {
            tablespaces: true,
            whole_tables: false,
            loads_wait_for_blocks: false,
            stores_data: true,
            // A direct-path insert locks its table until the commit: streams take a schema each.
            parallel_slices: false,
            embedded: false,
            batches_in_server: true,
            joined_blocks: 0,
            cancel: true,
            direct_io: direct_io(&found),
        },
        settings: found.0,
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
