//! Settings that change results, and advice on those that spoil an I/O test.

use std::num::NonZeroU64;

use slob_engine::{Capabilities, Result, Server, Setting};
use slob_server::{ServerSettings, literals, loaded_blocks};

use crate::client::{Bind, Client, Row, number, text};
use crate::counters::Views;
use crate::database::Database;
use crate::schemas;
use crate::statements::identifier;

/// The report has this order. Hidden parameters are visible only if set.
const PARAMETERS: &str = "\
    db_block_size db_cache_size sga_target sga_max_size memory_target pga_aggregate_target use_large_pages \
    _db_block_prefetch_limit _db_block_prefetch_quota _db_file_noncontig_mblock_read_count \
    db_file_multiblock_read_count filesystemio_options disk_asynch_io db_writer_processes db_block_checksum \
    db_block_checking log_buffer commit_logging commit_wait fast_start_mttr_target archive_lag_target \
    recyclebin result_cache_mode optimizer_ignore_hints db_flash_cache_size resource_manager_plan \
    statistics_level timed_statistics control_management_pack_access cpu_count processes sessions \
    cluster_database compatible";
/// With these, an index range scan reads several blocks at once.
const PREFETCH: [&str; 3] =
    ["_db_block_prefetch_limit", "_db_block_prefetch_quota", "_db_file_noncontig_mblock_read_count"];

/// Rows of setting, spoiling values and advice.
const SPOILERS: &str = include_str!("advice.txt");
const DEFAULT_BLOCK_BYTES: u32 = 8192;
const CLOCK_STEP: &str = "clock step us";
/// A server on Windows steps by a millisecond, which hides what cached operations take.
const LONG_STEP_US: u64 = 100;
/// At full load, smaller redo logs switch every few seconds.
const SMALL_LOG_BYTES: u64 = 1 << 30;

pub(crate) fn queries(views: Views) -> [(&'static str, String); 6] {
    [
        (
            "parameters",
            include_str!("../sql/parameters.sql").replace("{names}", &literals(PARAMETERS.split(' '))),
        ),
        ("cache", views.fill(include_str!("../sql/cache.sql"))),
        ("database", include_str!("../sql/database.sql").to_owned()),
        ("redo logs", include_str!("../sql/redo_logs.sql").to_owned()),
        ("data files", include_str!("../sql/data_files.sql").to_owned()),
        ("automatic tasks", include_str!("../sql/autotasks.sql").to_owned()),
    ]
}

fn add(found: &mut ServerSettings, name: &str, value: Option<impl ToString>) {
    found.0.extend(value.map(|value| Setting::new(name, value.to_string())));
}

fn find(client: &mut dyn Client, views: Views) -> (ServerSettings, Vec<Row>) {
    let answers = queries(views).map(|(_, sql)| client.query(&sql, &[]).unwrap_or_default());
    let first = answers.each_ref().map(|rows| rows.first().cloned().unwrap_or_default());
    let [_, _, database, logs, files, _] = &first;
    let [parameters, caches, .., tasks] = answers;
    let pair = |row: &Row| Some((text(row, 0)?.to_owned(), text(row, 1).unwrap_or_default().to_owned()));
    let mut found = ServerSettings::in_order(parameters.iter().filter_map(pair), PARAMETERS);
    add(&mut found, "log mode", text(database, 0));
    add(&mut found, "force logging", text(database, 1));
    add(&mut found, "database role", text(database, 2));
    add(&mut found, "redo logs", number(logs, 0));
    add(&mut found, "smallest redo log bytes", number(logs, 1));
    add(&mut found, "data files", number(files, 1));
    add(&mut found, "data files in ASM", number(files, 0));
    let tasks: Vec<String> = tasks.into_iter().flatten().flatten().collect();
    add(&mut found, "automatic tasks", (!tasks.is_empty()).then(|| tasks.join(", ")));
    (found, caches)
}

/// Rows hold component and bytes. Blocks of an unusual size have own caches in the default pool; a pool without a size is the
/// default one.
fn pool_bytes(caches: &[Row], pool: &str, block_bytes: u32, default_block: Option<u64>) -> Option<u64> {
    let size = |component: &str| {
        let row = caches.iter().find(|row| text(row, 0) == Some(component))?;
        number(row, 1).filter(|bytes| *bytes > 0)
    };
    if default_block.is_some_and(|bytes| bytes != u64::from(block_bytes)) {
        return size(&format!("DEFAULT {}K buffer cache", block_bytes >> 10));
    }
    size(&format!("{pool} buffer cache")).or_else(|| size("DEFAULT buffer cache"))
}

pub(crate) fn describe(client: &mut dyn Client, database: &Database) -> Result<Server> {
    let Database { connections, scope, .. } = database;
    let (mut found, caches) = find(client, database.views);
    add(&mut found, "driver", Some(connections.driver.name()));
    let clock_step_us = database.clock_step_us(client);
    add(&mut found, CLOCK_STEP, clock_step_us);
    add(&mut found, "container of the counters", scope.con_id());
    add(&mut found, "scope of the counters", Some(scope.words()));
    add(&mut found, "commit of UPDATEs", Some(connections.options.commit.words));
    let schemas = schemas::all(client, connections)?;
    let block_bytes = match schemas.first() {
        Some(state) => {
            let owner = Bind::Text(connections.user(state.schema));
            block_bytes(client, Some((include_str!("../sql/block_size.sql"), owner)))
        }
        None => block_bytes_of_load(client, database),
    };
    let pool = schemas.first().and_then(|state| {
        let owner = Bind::Text(connections.user(state.schema));
        text(client.query(include_str!("../sql/buffer_pool.sql"), &[owner]).ok()?.first()?, 0)
            .map(str::to_owned)
    });
    let pool = pool.unwrap_or_else(|| "DEFAULT".to_owned());
    let default_block = found.number("db_block_size");
    add(&mut found, "buffer cache bytes", pool_bytes(&caches, &pool, block_bytes, default_block));
    add(&mut found, "buffer pool", Some(pool));
    let data_bytes = loaded_blocks(&schemas).map(|blocks| blocks * u64::from(block_bytes));
    Ok(Server {
        product: "Oracle Database".into(),
        version: database.version.text.clone(),
        block_bytes,
        advice: advice(&found, data_bytes),
        checks_blocks: checks_blocks(&found),
        cache_bytes: None,
        direct_io_advice: (direct_io(&found) == Some(false)).then(|| {
            "On a local file system set filesystemio_options=SETALL in the parameter file, and restart the instance.".to_owned()
        }),
        clock_step_ns: clock_step_us.and_then(|us| NonZeroU64::new(us.saturating_mul(1000))),
        capabilities: Capabilities {
            tablespaces: true,
            stores_data: true,
            // A direct-path insert locks its table until the commit.
            parallel_slices: false,
            batches_in_server: true,
            cancel: true,
            direct_io: direct_io(&found),
            ..Capabilities::default()
        },
        settings: found.0,
    })
}

pub(crate) fn block_bytes_of_load(client: &mut dyn Client, database: &Database) -> u32 {
    let tablespace = database.connections.options.tablespace.as_ref();
    let bind = |name: &String| Bind::Text(identifier(name).replace('"', ""));
    block_bytes(client, tablespace.map(|name| (include_str!("../sql/tablespace.sql"), bind(name))))
}

/// The database's size if the query's is not visible.
fn block_bytes(client: &mut dyn Client, query: Option<(&str, Bind)>) -> u32 {
    let mut ask = |sql: &str, binds: &[Bind]| {
        let bytes = number(client.query(sql, binds).ok()?.first()?, 0)?;
        u32::try_from(bytes).ok()
    };
    let found = query.and_then(|(sql, bind)| ask(sql, &[bind]));
    found.or_else(|| ask(include_str!("../sql/db_block_size.sql"), &[])).unwrap_or(DEFAULT_BLOCK_BYTES)
}

/// True for data in ASM, or files that bypass the page cache.
fn direct_io(found: &ServerSettings) -> Option<bool> {
    if found.get("data files in ASM").is_some_and(|share| share != "0") {
        return Some(true);
    }
    let option = found.get("filesystemio_options")?;
    Some(["SETALL", "DIRECTIO"].iter().any(|direct| option.eq_ignore_ascii_case(direct)))
}

/// OFF, or FALSE in earlier releases, leaves checksums to SYSTEM.
fn checks_blocks(found: &ServerSettings) -> Option<bool> {
    let checksum = found.get("db_block_checksum")?;
    Some(!["OFF", "FALSE"].iter().any(|off| checksum.eq_ignore_ascii_case(off)))
}

fn advice(found: &ServerSettings, data_bytes: Option<u64>) -> Vec<String> {
    let mut advice = Vec::new();
    if let (Some(data), Some(cache)) = (data_bytes, found.number("buffer cache bytes"))
        && data <= cache
    {
        advice.push(format!(
            "The data ({} MiB) fit into the buffer cache ({} MiB): reads will not leave the server. Load more, or lower db_cache_size, to test I/O.",
            data >> 20, cache >> 20
        ));
    }
    // An account that sees no parameters misses none.
    let unset: Vec<&str> = PREFETCH.into_iter().filter(|name| found.get(name) != Some("0")).collect();
    if !unset.is_empty() && found.get("db_block_size").is_some() {
        advice.push(format!(
            "{} {} not 0: the server may read several blocks with one request (db file parallel read), so that reads are fewer than blocks. For single-block I/O set them to 0 on a test database and restart it.",
            unset.join(", "),
            if unset.len() == 1 { "is" } else { "are" }
        ));
    }
    if let Some(step) = found.number(CLOCK_STEP).filter(|step| *step >= LONG_STEP_US) {
        advice.push(format!(
            "The server's clock steps by {step} us: shorter operations count as 0 or as a whole step."
        ));
    }
    advice.extend(found.advice(SPOILERS));
    if found.get("resource_manager_plan").is_some_and(|plan| !plan.is_empty()) {
        advice.push("A resource_manager_plan is set: sessions may wait for CPU or I/O that the plan denies them (resmgr: events).".into());
    }
    if found.get("db_flash_cache_size").is_some_and(|size| !["", "0"].contains(&size)) {
        advice.push("A flash cache is behind the buffer cache (db_flash_cache_size): blocks may come from there, and not from the storage of the data.".into());
    }
    if let Some(smallest) = found.number("smallest redo log bytes").filter(|bytes| *bytes < SMALL_LOG_BYTES) {
        advice.push(format!(
            "The smallest redo log has {} MiB: updates will wait for log switches and checkpoints. Test updates with logs of 1 GiB or more.",
            smallest >> 20
        ));
    }
    if let Some(tasks) = found.get("automatic tasks") {
        advice.push(format!("Automatic tasks are enabled ({tasks}): their windows open in the evening, and at weekends; they would share the window with the test."));
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::Setting;

    const SOUND: &[(&str, &str)] = &[
        ("db_block_size", "8192"),
        ("_db_block_prefetch_limit", "0"),
        ("_db_block_prefetch_quota", "0"),
        ("_db_file_noncontig_mblock_read_count", "0"),
        ("filesystemio_options", "SETALL"),
        ("disk_asynch_io", "TRUE"),
        ("statistics_level", "TYPICAL"),
        ("db_block_checksum", "TYPICAL"),
        ("log mode", "ARCHIVELOG"),
        ("resource_manager_plan", ""),
        ("smallest redo log bytes", "4294967296"),
        ("buffer cache bytes", "67108864"),
        ("result_cache_mode", "MANUAL"),
        ("db_flash_cache_size", "0"),
    ];

    fn with(changes: &[(&str, &str)]) -> ServerSettings {
        let changed = |name: &str| changes.iter().any(|(other, _)| *other == name);
        let rest = SOUND.iter().filter(|(name, _)| !changed(name));
        ServerSettings(rest.chain(changes).map(|(name, value)| Setting::new(*name, *value)).collect())
    }

    #[test]
    fn a_sound_server_gets_no_advice() {
        assert_eq!(advice(&with(&[]), Some(1 << 40)), Vec::<String>::new());
        assert_eq!(advice(&ServerSettings(Vec::new()), Some(1)), Vec::<String>::new(), "nothing may be seen");
    }

    #[test]
    fn each_spoiler_is_named_once() {
        for (name, value, word) in [
            ("buffer cache bytes", "1099511627776", "fit into the buffer cache"),
            ("_db_block_prefetch_limit", "5", "_db_block_prefetch_limit is not 0"),
            ("disk_asynch_io", "FALSE", "disk_asynch_io"),
            ("statistics_level", "BASIC", "statistics_level"),
            ("db_block_checksum", "OFF", "db_block_checksum"),
            ("log mode", "NOARCHIVELOG", "NOARCHIVELOG"),
            ("resource_manager_plan", "DEFAULT_PLAN", "resource_manager_plan"),
            ("smallest redo log bytes", "209715200", "200 MiB"),
            ("automatic tasks", "sql tuning advisor", "sql tuning advisor"),
            ("recyclebin", "on", "recyclebin"),
            ("result_cache_mode", "FORCE", "result_cache_mode"),
            ("db_flash_cache_size", "64G", "flash cache"),
            ("clock step us", "1000", "steps by 1000 us"),
        ] {
            let advice = advice(&with(&[(name, value)]), Some(1 << 30));
            assert!(advice.len() == 1 && advice[0].contains(word), "{name}: {advice:?}");
        }
    }

    #[test]
    fn data_fit_into_the_cache_of_their_own_pool() {
        let caches = crate::tests::rows(
            "DEFAULT buffer cache | 64
             KEEP buffer cache | 4096
             RECYCLE buffer cache | 0
             DEFAULT 16K buffer cache | 32",
        );
        let of = |pool, block_bytes| pool_bytes(&caches, pool, block_bytes, Some(8192));
        assert_eq!((of("DEFAULT", 8192), of("KEEP", 8192)), (Some(64), Some(4096)));
        assert_eq!(of("RECYCLE", 8192), Some(64), "a pool without a size is the default one");
        assert_eq!((of("KEEP", 16_384), of("DEFAULT", 4096)), (Some(32), None));
        assert_eq!(pool_bytes(&[], "DEFAULT", 8192, None), None, "nothing may be seen");
    }

    #[test]
    fn blocks_are_checked_unless_db_block_checksum_is_off() {
        let checks = |value| checks_blocks(&with(&[("db_block_checksum", value)]));
        assert_eq!([checks("TYPICAL"), checks("FULL"), checks("TRUE")], [Some(true); 3]);
        assert_eq!([checks("OFF"), checks("false")], [Some(false); 2]);
        assert_eq!(checks_blocks(&ServerSettings::default()), None);
    }

    #[test]
    fn data_in_asm_go_around_the_page_cache() {
        assert_eq!(
            direct_io(&with(&[("filesystemio_options", "none"), ("data files in ASM", "5")])),
            Some(true)
        );
        assert_eq!(direct_io(&with(&[("filesystemio_options", "ASYNCH")])), Some(false));
        assert_eq!(direct_io(&ServerSettings::default()), None);
    }
}
