//! Settings that change results, and advice on them.

use mysql::Conn;
use slob_engine::{EngineError, ErrorKind, Result, Server};
use slob_server::{LoopPlace, ServerSettings, Sizes, literals, loaded_blocks};

use crate::catalog;
use crate::databases::Product;
use crate::sql::Ask;

const REDO_ENABLED: &str = "Innodb_redo_log_enabled";
/// MariaDB times reads only with performance_schema=ON. Untimed reads give no row: a constant sum would look like reads without
/// time.
pub(crate) const READS_QUERY: &str = include_str!("../sql/data_reads.sql");
/// The report has this order.
pub(crate) const NAMES: &str = "\
    innodb_buffer_pool_size innodb_buffer_pool_instances large_pages innodb_page_size innodb_flush_method \
    innodb_dedicated_server innodb_data_file_buffering innodb_log_file_buffering innodb_use_native_aio \
    innodb_read_io_threads innodb_write_io_threads innodb_io_capacity innodb_io_capacity_max \
    innodb_flush_neighbors innodb_doublewrite innodb_doublewrite_files innodb_doublewrite_pages \
    innodb_doublewrite_dir innodb_flush_log_at_trx_commit sync_binlog log_bin binlog_format \
    binlog_group_commit_sync_delay binlog_transaction_compression innodb_log_file_size \
    innodb_redo_log_capacity Innodb_redo_log_enabled innodb_log_buffer_size innodb_log_writer_threads \
    innodb_max_dirty_pages_pct innodb_max_dirty_pages_pct_lwm innodb_lru_scan_depth \
    innodb_adaptive_hash_index innodb_change_buffering innodb_random_read_ahead innodb_read_ahead_threshold \
    innodb_checksum_algorithm innodb_encrypt_tables innodb_lock_wait_timeout innodb_snapshot_isolation \
    query_cache_type performance_schema userstat thread_handling max_connections wsrep_on wsrep_cluster_name \
    group_replication_group_name group_replication_single_primary_mode group_replication_consistency \
    group_replication_flow_control_mode";

/// Later MariaDB has a switch of its own.
fn direct_io(found: &ServerSettings) -> Option<bool> {
    match found.get("innodb_data_file_buffering") {
        Some(buffering) => Some(buffering == "OFF"),
        None => found.get("innodb_flush_method").map(|method| method.starts_with("O_DIRECT")),
    }
}

fn direct_io_advice(found: &ServerSettings) -> String {
    match found.get("innodb_data_file_buffering") {
        Some(_) => "`SET GLOBAL innodb_data_file_buffering=OFF` as an administrator: reads then bypass the page cache.",
        None => "Set innodb_flush_method=O_DIRECT in the option file, and restart the server: reads then bypass the page cache.",
    }
    .to_owned()
}

/// `none` and `strict_none` write a constant in place of a checksum.
fn checks_blocks(found: &ServerSettings) -> Option<bool> {
    found.get("innodb_checksum_algorithm").map(|algorithm| !algorithm.ends_with("none"))
}

pub(crate) fn describe(conn: &mut Conn, product: &Product, loop_place: LoopPlace) -> Result<Server> {
    let step = "asking for the server's settings";
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", literals(NAMES.split(' ')));
    let mut rows = conn.rows(step, &sql)?;
    // MySQL shows this log only in its status.
    rows.extend(conn.rows(step, &format!("SHOW GLOBAL STATUS LIKE '{REDO_ENABLED}'"))?);
    let found =
        ServerSettings::in_order(rows.iter().filter_map(|row| Some((row.get(0)?, row.get(1)?))), NAMES);
    let block_bytes = found.number("innodb_page_size").and_then(|bytes| u32::try_from(bytes).ok());
    let block_bytes = block_bytes.ok_or_else(|| {
        EngineError::new(ErrorKind::Usage, step, "the server has no innodb_page_size")
            .with_advice("this engine tests InnoDB: switch it on")
    })?;
    let sizes = Sizes {
        data: loaded_blocks(&catalog::schemas(conn)?).map(|blocks| blocks * u64::from(block_bytes)),
        cache: found.number("innodb_buffer_pool_size"),
    };
    let mut advice = advice(&found, sizes);
    let is_timed = found.get("performance_schema") == Some("ON");
    if is_timed && conn.rows(step, READS_QUERY).is_err() {
        advice.push(UNTIMED.to_owned());
    }
    Ok(Server {
        product: product.name().into(),
        version: product.version.clone(),
        block_bytes,
        advice,
        checks_blocks: checks_blocks(&found),
        cache_bytes: None,
        direct_io_advice: (direct_io(&found) == Some(false)).then(|| direct_io_advice(&found)),
        clock_step_ns: None,
        capabilities: loop_place.capabilities(product.widest_stretch(loop_place), direct_io(&found)),
        settings: found.0,
    })
}

fn advice(found: &ServerSettings, sizes: Sizes) -> Vec<String> {
    let fits = sizes.advice("innodb_buffer_pool_size").into_iter();
    let log = found.get("log_bin") == Some("ON") && found.get("sync_binlog") != Some("1");
    let log =
        log.then(|| "log_bin is on without sync_binlog=1: commits do not wait for all of the log.".into());
    fits.chain(found.advice(ADVICE)).chain(log).collect()
}

const ADVICE: &str = include_str!("advice.txt");

const UNTIMED: &str = "this account may not read performance_schema: the time of the server's reads is unknown. An administrator allows it with \
     GRANT SELECT ON performance_schema.* TO the account.";

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::Setting;

    fn found(settings: &[(&str, &str)]) -> ServerSettings {
        ServerSettings(settings.iter().map(|(name, value)| Setting::new(*name, *value)).collect())
    }

    #[test]
    fn direct_io_is_known_by_method_or_switch() {
        assert_eq!(direct_io(&found(&[])), None);
        assert_eq!(direct_io(&found(&[("innodb_flush_method", "fsync")])), Some(false));
        assert_eq!(direct_io(&found(&[("innodb_flush_method", "O_DIRECT_NO_FSYNC")])), Some(true));
        let switched = [("innodb_flush_method", "O_DIRECT"), ("innodb_data_file_buffering", "ON")];
        assert_eq!(direct_io(&found(&switched)), Some(false));
        assert!(direct_io_advice(&found(&switched)).contains("innodb_data_file_buffering=OFF"));
        assert!(direct_io_advice(&found(&[])).contains("innodb_flush_method=O_DIRECT"));
    }

    #[test]
    fn blocks_are_checked_except_with_the_algorithm_none() {
        let checks = |value| checks_blocks(&found(&[("innodb_checksum_algorithm", value)]));
        assert_eq!([checks("full_crc32"), checks("crc32")], [Some(true); 2]);
        assert_eq!([checks("none"), checks("strict_none")], [Some(false); 2]);
        assert_eq!(checks_blocks(&found(&[])), None);
    }

    #[test]
    fn settings_that_distort_figures_have_advice() {
        let sizes = Sizes { data: Some(1 << 20), cache: Some(1 << 26) };
        assert!(advice(&found(&[]), Sizes::default()).is_empty());
        let cached = advice(&found(&[]), sizes);
        assert!(cached.len() == 1 && cached[0].contains("innodb_buffer_pool_size"), "{cached:?}");
        let lax = found(&[("innodb_flush_log_at_trx_commit", "2"), ("log_bin", "ON"), ("sync_binlog", "0")]);
        assert_eq!(advice(&lax, Sizes::default()).len(), 2);
    }
}
