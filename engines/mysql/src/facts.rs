//! Sizes of a server, and how much of its data is in use.

use std::collections::BTreeMap;

use mysql::Conn;
use slob_engine::{Bound, Debt, Facts, Result, WorkingSet};
use slob_server::literals;

use crate::counters::numbers;
use crate::databases::Product;
use crate::sql::Ask;

const STEP: &str = "reading sizes";
const CACHE: &str = "innodb_buffer_pool_size";
const DEPTH: &str = "innodb_lru_scan_depth";
const INSTANCES: &str = "innodb_buffer_pool_instances";
const PAGE: &str = "Innodb_page_size";
const DATA: &str = "Innodb_buffer_pool_pages_data";
const FREE: &str = "Innodb_buffer_pool_pages_free";

pub(crate) fn facts(conn: &mut Conn, product: &Product) -> Result<Facts> {
    let mut rows = Vec::new();
    for (kind, names) in [("VARIABLES", [CACHE, DEPTH, INSTANCES]), ("STATUS", [PAGE, DATA, FREE])] {
        rows.extend(
            conn.rows(STEP, &format!("SHOW GLOBAL {kind} WHERE Variable_name IN ({})", literals(names)))?,
        );
    }
    let values = numbers(&rows);
    // It needs PROCESS.
    let files = if product.is_mariadb { "INNODB_SYS_TABLESPACES" } else { "INNODB_TABLESPACES" };
    let size = format!(
        "SELECT CAST(SUM(FILE_SIZE) AS UNSIGNED) FROM information_schema.{files} WHERE NAME <> 'innodb_temporary'"
    );
    Ok(Facts {
        database_bytes: conn.row(STEP, &size).unwrap_or_default().get(0),
        cache_bytes: values.get(CACHE).copied(),
        working_set: Some(working_set(&values)),
    })
}

const ALL_PAGES: &str = "Innodb_buffer_pool_pages_total";
const DIRTY: &str = "Innodb_buffer_pool_pages_dirty";
/// MariaDB has it.
const HISTORY: &str = "Innodb_history_list_length";
/// A share of the pool: fewer dirty pages are of the run itself.
const NOTABLE_DIRTY: u64 = 100;
/// Idle servers keep some.
const NOTABLE_HISTORY: u64 = 10_000;

/// Purge and the page cleaner work them off bit by bit.
pub(crate) fn debts(conn: &mut Conn, product: &Product) -> Result<Vec<Debt>> {
    const STEP: &str = "reading what earlier work left";
    let names = literals([ALL_PAGES, DIRTY, HISTORY]);
    let rows = conn.rows(STEP, &format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"))?;
    let values = numbers(&rows);
    let value = |name: &str| values.get(name).copied();
    let history = match product.is_mariadb {
        true => value(HISTORY),
        // It needs PROCESS.
        false => {
            let sql =
                "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";
            conn.row(STEP, sql).unwrap_or_default().get(0)
        }
    };
    let dirty = value(DIRTY).zip(value(ALL_PAGES)).filter(|(dirty, all)| dirty * NOTABLE_DIRTY > *all);
    let dirty = dirty.map(|(dirty, _)| Debt::new("dirty pages", dirty, "pages"));
    let history = history.filter(|length| *length >= NOTABLE_HISTORY);
    let history = history.map(|length| Debt::new("history of old row versions", length, "undo logs"));
    Ok(dirty.into_iter().chain(history).collect())
}

/// InnoDB keeps [`DEPTH`] pages free in each instance. A pool with far more never gave a page up; another shows nothing, as the
/// lists of young and old pages are fixed shares.
fn working_set(values: &BTreeMap<&str, u64>) -> WorkingSet {
    let value = |name: &str| values.get(name).copied();
    let [Some(page), Some(data), Some(free)] = [PAGE, DATA, FREE].map(value) else {
        return WorkingSet::unknown("the server does not show its buffer pool");
    };
    let kept_free = value(DEPTH).unwrap_or(1024) * value(INSTANCES).unwrap_or(1).max(1);
    if free > 2 * kept_free {
        let method =
            "InnoDB's buffer pool has room: it holds all pages that were used since the start".into();
        return WorkingSet::Estimate { bytes: data * page, bound: Bound::AtMost, method };
    }
    WorkingSet::unknown(format!(
        "InnoDB's buffer pool may have given up pages ({free} are free, and it frees up to {kept_free} before it needs them); its \
         young and old pages are fixed shares of it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_that_never_gave_up_a_page_bounds_the_working_set() {
        let of = |free| working_set(&[(PAGE, 16_384), (DATA, 3000), (FREE, free), (DEPTH, 1536)].into());
        let WorkingSet::Estimate { bytes, bound, .. } = of(5000) else { panic!("{:?}", of(5000)) };
        assert_eq!((bytes, bound), (3000 * 16_384, Bound::AtMost));
        let WorkingSet::Unknown { why } = of(1536) else { panic!("{:?}", of(1536)) };
        assert!(why.contains("1536 are free"), "{why}");
    }
}
