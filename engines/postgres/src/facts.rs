//! Sizes of a server, and how much of its data is in use. Locks no table.

use postgres::Client;
use slob_engine::{Bound, Debt, Facts, Result, WorkingSet};

use crate::sql::Ask;
use slob_server::Row;

const STEP: &str = "reading sizes";
/// Before version 16, `pg_buffercache` copies a line for each block: 8 GiB take a second and 50 MB.
const MOST_COPIED_BLOCKS: u64 = 1 << 20;
const SUMMARY_SINCE: u32 = 16;
/// It does not change the estimate.
const SMALL_SHARE: f64 = 0.05;

pub(crate) fn facts(client: &mut Client, version: u32) -> Result<Facts> {
    let row = client.row(STEP, include_str!("../sql/facts.sql"))?;
    let (database_bytes, cache_bytes, block_bytes) = (row.get(0), row.get(1), row.get(2).unwrap_or(8192));
    let cache_blocks = cache_bytes.unwrap_or(0) / block_bytes;
    let may_copy = version >= SUMMARY_SINCE || cache_blocks <= MOST_COPIED_BLOCKS;
    let schema = row.get::<String>(3).filter(|_| may_copy);
    let by_cache = schema.and_then(|schema| by_cache(client, version, &schema, block_bytes));
    let working_set = working_set(client, by_cache, block_bytes)?;
    Ok(Facts { database_bytes, cache_bytes, working_set: Some(working_set) })
}

/// A CHECKPOINT precedes each run: dirty buffers are those of its warm-up.
pub(crate) fn debts(client: &mut Client) -> Result<Vec<Debt>> {
    let rows = client.rows("reading what earlier work left", include_str!("../sql/debts.sql"))?;
    let debt = |row: &Row| {
        let (name, amount, unit) = (row.get::<String>(0)?, row.get(1)?, row.get::<String>(2)?);
        Some(Debt::under_way(name, amount, unit))
    };
    Ok(rows.iter().filter_map(debt).collect())
}

/// Uses relations if the cache gives only a lower bound.
fn working_set(client: &mut Client, by_cache: Option<(u64, Bound)>, block_bytes: u64) -> Result<WorkingSet> {
    const AGAIN: &str =
        "blocks in shared_buffers that were visited again lately (pg_buffercache, usage count of 2 or more)";
    const ALLOW: &str = "CREATE EXTENSION pg_buffercache and the role pg_monitor would tell more";
    let estimate = |bytes, bound, method: String| WorkingSet::Estimate { bytes, bound, method };
    if let Some((bytes, Bound::AtMost)) = by_cache {
        let method = "shared_buffers has room: it holds all that was visited since the start, except by scans of large \
                      tables (pg_buffercache)";
        return Ok(estimate(bytes, Bound::AtMost, method.into()));
    }
    Ok(match (by_relations(client, block_bytes)?, by_cache) {
        (Ok(bytes), again) => {
            let more = again
                .map_or_else(|| ALLOW.into(), |(bytes, _)| format!("at least {} MiB: {AGAIN}", bytes >> 20));
            let method = format!("tables and indexes that 95 % of the visits went to; {more}");
            estimate(bytes, Bound::AtMost, method)
        }
        (Err(_), Some((bytes, bound))) => estimate(bytes, bound, AGAIN.into()),
        (Err(why), None) => WorkingSet::unknown(format!("{why}; {ALLOW}")),
    })
}

/// `None` if the role may not see them.
fn by_cache(client: &mut Client, version: u32, schema: &str, block_bytes: u64) -> Option<(u64, Bound)> {
    let sql = if version >= SUMMARY_SINCE {
        format!(
            "SELECT (SELECT buffers_unused FROM {schema}.pg_buffercache_summary()), sum(buffers), \
             sum(buffers) FILTER (WHERE usage_count >= 2) FROM {schema}.pg_buffercache_usage_counts()"
        )
    } else {
        format!(
            "SELECT count(*) FILTER (WHERE relfilenode IS NULL), count(*), count(*) FILTER (WHERE usagecount >= 2) \
             FROM {schema}.pg_buffercache"
        )
    };
    let row = client.row(STEP, &sql).ok()?;
    let (blocks, bound) = cached(row.get(0)?, row.get(1)?, row.get(2).unwrap_or(0))?;
    Some((blocks * block_bytes, bound))
}

/// A cache with room holds all visited blocks. In a full one, blocks visited again are in use.
fn cached(unused: u64, all: u64, again: u64) -> Option<(u64, Bound)> {
    let has_room = unused as f64 > SMALL_SHARE * all as f64;
    let (blocks, bound) =
        if has_room { (all.saturating_sub(unused), Bound::AtMost) } else { (again, Bound::AtLeast) };
    (blocks > 0).then_some((blocks, bound))
}

/// The inner error says why relations do not bound the working set.
fn by_relations(client: &mut Client, block_bytes: u64) -> Result<std::result::Result<u64, String>> {
    let row = client.row(STEP, include_str!("../sql/visited_relations.sql"))?;
    let blocks = row.get::<u64>(0).filter(|blocks| *blocks > 0);
    let (never_analysed, here) = (row.get(1).unwrap_or(0.0), row.get(2).unwrap_or(0.0));
    let visits = |share: f64, of: &str| format!("{:.0} % of the visits went to {of}", 100.0 * share);
    Ok(match blocks {
        None => Err("no table was visited".into()),
        Some(_) if 1.0 - here > SMALL_SHARE => Err(visits(1.0 - here, "other databases of the server")),
        Some(_) if never_analysed > SMALL_SHARE => {
            Err(visits(never_analysed, "tables of unknown size, which were never analysed"))
        }
        Some(blocks) => Ok(blocks * block_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_with_room_bounds_the_working_set_from_above_and_a_full_one_from_below() {
        assert_eq!(cached(400, 1000, 10), Some((600, Bound::AtMost)));
        assert_eq!(cached(0, 1000, 300), Some((300, Bound::AtLeast)));
        assert_eq!((cached(0, 1000, 0), cached(1000, 1000, 0)), (None, None));
    }
}
