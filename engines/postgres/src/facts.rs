//! Sizes of a server, and how much of its data is in use. Nothing here locks a table.

use postgres::Client;
use slob_engine::{Bound, Facts, Result, WorkingSet};

use crate::sql::Ask;

const STEP: &str = "reading sizes";
/// Before version 16, `pg_buffercache` copies a line for each block of the cache: 8 GiB of them take a second and 50 MB.
const MOST_COPIED_BLOCKS: u64 = 1 << 20;
const SUMMARY_SINCE: u32 = 16;
/// A share of visits that does not change the estimate.
const SMALL_SHARE: f64 = 0.05;

pub(crate) fn facts(client: &mut Client, version: u32) -> Result<Facts> {
    let row = client.row(STEP, include_str!("../sql/facts.sql"))?;
    let (database_bytes, cache_bytes, block_bytes) = (row.get(0), row.get(1), row.get(2).unwrap_or(8192));
    let cache_blocks = cache_bytes.unwrap_or(0) / block_bytes;
    let may_copy = version >= SUMMARY_SINCE || cache_blocks <= MOST_COPIED_BLOCKS;
    let schema = row.get::<String>(3).filter(|_| may_copy);
    let by_cache = schema.and_then(|schema| by_cache(client, version, &schema, block_bytes));
    let working_set = match by_cache {
        Some(estimate) => estimate,
        None => {
            by_relations(client, block_bytes).unwrap_or_else(|error| WorkingSet::unknown(error.to_string()))
        }
    };
    Ok(Facts { database_bytes, cache_bytes, working_set: Some(working_set) })
}

/// By the blocks of the cache; `None` if the role may not see them.
fn by_cache(client: &mut Client, version: u32, schema: &str, block_bytes: u64) -> Option<WorkingSet> {
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
    cached(row.get(0)?, row.get(1)?, row.get(2).unwrap_or(0), block_bytes)
}

/// A cache with room holds whatever was visited; of a full one, blocks that were visited again are in use.
fn cached(unused: u64, all: u64, again: u64, block_bytes: u64) -> Option<WorkingSet> {
    let (blocks, bound, method) = if unused as f64 > SMALL_SHARE * all as f64 {
        let method = "shared_buffers has room: it holds all that was visited since the start, except by scans of large \
                      tables (pg_buffercache)";
        (all - unused, Bound::AtMost, method)
    } else {
        let method = "blocks in shared_buffers that were visited again lately (pg_buffercache, usage count of 2 or more)";
        (again, Bound::AtLeast, method)
    };
    (blocks > 0).then(|| WorkingSet::Estimate { bytes: blocks * block_bytes, bound, method: method.into() })
}

fn by_relations(client: &mut Client, block_bytes: u64) -> Result<WorkingSet> {
    const ALLOW: &str = "CREATE EXTENSION pg_buffercache and the role pg_monitor would tell more";
    let row = client.row(STEP, include_str!("../sql/visited_relations.sql"))?;
    let blocks = row.get::<u64>(0).filter(|blocks| *blocks > 0);
    let (never_analysed, here) = (row.get(1).unwrap_or(0.0), row.get(2).unwrap_or(0.0));
    let share = |share: f64| 100.0 * share;
    Ok(match blocks {
        None => WorkingSet::unknown(format!("no table was visited; {ALLOW}")),
        Some(_) if 1.0 - here > SMALL_SHARE => WorkingSet::unknown(format!(
            "{:.0} % of the visits went to other databases of the server; {ALLOW}",
            share(1.0 - here)
        )),
        Some(_) if never_analysed > SMALL_SHARE => WorkingSet::unknown(format!(
            "{:.0} % of the visits went to tables of unknown size: ANALYZE them; {ALLOW}",
            share(never_analysed)
        )),
        Some(blocks) => WorkingSet::Estimate {
            bytes: blocks * block_bytes,
            bound: Bound::AtMost,
            method: format!("tables and indexes that 95 % of the visits went to; {ALLOW}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_with_room_bounds_the_working_set_from_above_and_a_full_one_from_below() {
        let of = |unused, again| match cached(unused, 1000, again, 8192) {
            Some(WorkingSet::Estimate { bytes, bound, .. }) => Some((bytes / 8192, bound)),
            _ => None,
        };
        assert_eq!(of(400, 10), Some((600, Bound::AtMost)));
        assert_eq!(of(0, 300), Some((300, Bound::AtLeast)));
        assert_eq!((of(0, 0), of(1000, 0)), (None, None));
    }
}
