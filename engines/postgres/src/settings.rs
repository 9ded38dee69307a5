//! Settings that change results, and advice on them.

use postgres::Client;
use slob_engine::{Capabilities, Result, Server};
use slob_server::{LoopPlace, ServerSettings, Sizes, literals, loaded_blocks};

use crate::catalog;
use crate::sql::Ask;

/// The report has this order.
pub(crate) const NAMES: &[&str] = &[
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

pub(crate) fn describe(client: &mut Client, version: u32, loop_place: LoopPlace) -> Result<Server> {
    let step = "asking for the server's settings";
    let sql = format!(
        "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name IN ({})",
        literals(NAMES)
    );
    let rows = client.rows(step, &sql)?;
    let found =
        ServerSettings::in_order(rows.iter().filter_map(|row| Some((row.get(0)?, row.get(1)?))), NAMES);
    let row = client.row(
        step,
        "SELECT current_setting('server_version'), current_setting('block_size'),
                (SELECT setting FROM pg_settings WHERE name = 'shared_buffers')",
    )?;
    let block_bytes: u32 = row.need(1, step)?;
    let direct_io = direct_io(&found, version);
    let bytes = |blocks: u64| blocks * u64::from(block_bytes);
    let sizes =
        Sizes { data: loaded_blocks(&catalog::schemas(client)?).map(bytes), cache: row.get(2).map(bytes) };
    // A stretch may be of any width.
    let joined_blocks = if loop_place == LoopPlace::Server { u16::MAX } else { 0 };
    Ok(Server {
        product: "PostgreSQL".into(),
        version: row.need(0, step)?,
        block_bytes,
        advice: advice(&found, sizes),
        checks_blocks: checks_blocks(&found),
        cache_bytes: sizes.cache,
        direct_io_advice: direct_io_advice(direct_io, version),
        clock_step_ns: None,
        settings: found.0,
        capabilities: Capabilities {
            tablespaces: true,
            whole_tables: true,
            loads_wait_for_blocks: direct_io == Some(true),
            ..loop_place.capabilities(joined_blocks, direct_io)
        },
    })
}

const DIRECT_IO_SINCE: u32 = 16;

fn direct_io(found: &ServerSettings, version: u32) -> Option<bool> {
    if version < DIRECT_IO_SINCE {
        return Some(false);
    }
    found.get("debug_io_direct").map(|value| value.split(',').any(|part| part.trim() == "data"))
}

fn direct_io_advice(direct_io: Option<bool>, version: u32) -> Option<String> {
    let advice = match version {
        _ if direct_io == Some(true) => return None,
        ..DIRECT_IO_SINCE => format!("PostgreSQL {version} has no direct I/O, {DIRECT_IO_SINCE} and later have."),
        _ => "Reads bypass the page cache after ALTER SYSTEM SET debug_io_direct = 'data', and a restart of the server.".to_owned(),
    };
    Some(advice)
}

fn checks_blocks(found: &ServerSettings) -> Option<bool> {
    found.get("data_checksums").map(|value| value == "on")
}

fn advice(found: &ServerSettings, sizes: Sizes) -> Vec<String> {
    let sizes = sizes.advice("shared_buffers").into_iter();
    let mut advice: Vec<String> = sizes.chain(found.advice(ADVICE)).collect();
    // Two settings may have the same advice.
    advice.dedup();
    advice
}

const ADVICE: &[(&str, &str, &str)] = &[
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
    (
        "track_io_timing",
        "off",
        "track_io_timing is off: the server does not measure the time of its reads. A superuser switches it on with \
         ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf();",
    ),
    (
        "data_checksums",
        "on",
        "data_checksums is on (the default of initdb from 18 on): the server's CPU sums up each block that it reads, which the device's ceiling \
         does not contain. pg_checksums --disable, with the server stopped, switches it off.",
    ),
    ("huge_pages", "off", SMALL_PAGES),
    // Since 17, it says if `try` succeeded.
    ("huge_pages_status", "off", SMALL_PAGES),
];

/// docs/evidence.md has the measurements.
pub(crate) const SMALL_PAGES: &str = "shared_buffers lies in pages of 4 KiB: a visit of a cached block waits for the processor's address tables. With huge pages \
                           (vm.nr_hugepages, huge_pages=on) cached reads cost a quarter less CPU or better.";

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::Setting;

    fn found(settings: &[(&str, &str)]) -> ServerSettings {
        ServerSettings(settings.iter().map(|(name, value)| Setting::new(*name, *value)).collect())
    }

    #[test]
    fn direct_io_is_known_by_version_and_setting() {
        assert_eq!(direct_io(&found(&[]), 15), Some(false));
        assert_eq!(direct_io(&found(&[]), 18), None);
        assert_eq!(direct_io(&found(&[("debug_io_direct", "")]), 18), Some(false));
        assert_eq!(direct_io(&found(&[("debug_io_direct", "data, wal")]), 18), Some(true));
        assert_eq!(direct_io(&found(&[("debug_io_direct", "wal")]), 18), Some(false));
        assert_eq!(direct_io_advice(Some(true), 18), None);
        assert!(direct_io_advice(Some(false), 16).unwrap().contains("debug_io_direct = 'data'"));
        assert!(direct_io_advice(Some(false), 15).unwrap().contains("15 has no direct I/O"));
    }

    #[test]
    fn blocks_are_checked_where_data_checksums_are_on() {
        let checks = |value| checks_blocks(&found(&[("data_checksums", value)]));
        assert_eq!(
            [checks("on"), checks("off"), checks_blocks(&found(&[]))],
            [Some(true), Some(false), None]
        );
    }

    #[test]
    fn settings_that_distort_figures_have_advice() {
        let sound = found(&[("fsync", "on"), ("synchronous_commit", "on"), ("track_io_timing", "on")]);
        let sizes = Sizes { data: Some(900), cache: Some(1000) };
        assert!(advice(&sound, Sizes::default()).is_empty());
        let cached = advice(&sound, sizes);
        assert!(cached.len() == 1 && cached[0].contains("shared_buffers"), "{cached:?}");
        let unsafe_settings = found(&[("fsync", "off"), ("full_page_writes", "off")]);
        assert_eq!(advice(&unsafe_settings, Sizes::default()).len(), 2);
        let summed = |value| advice(&found(&[("data_checksums", value)]), Sizes::default());
        assert!(summed("off").is_empty() && summed("on")[0].contains("pg_checksums --disable"));
        let paged = |name, value| advice(&found(&[(name, value)]), Sizes::default());
        assert!(paged("huge_pages", "try").is_empty() && paged("huge_pages_status", "on").is_empty());
        assert!(paged("huge_pages_status", "off")[0].contains("vm.nr_hugepages"));
    }
}
