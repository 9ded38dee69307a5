       , d.xact_rollback AS rollbacks,
       pg_snapshot_xmax(pg_current_snapshot())::text AS numbered,
       extract(epoch FROM now() - pg_postmaster_start_time())::bigint AS uptime_s,
       current_setting('server_version') AS version,
       block.bytes AS block_bytes
-- versions 14 to 99
       , (d.active_time * 1e6)::bigint AS db_time_ns
-- versions 18 to 99
       , (SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_write_requests
-- versions 13 to 99
FROM (SELECT sum(blks_hit)::bigint AS blks_hit, sum(blks_read)::bigint AS blks_read,
             sum(xact_commit)::bigint AS xact_commit, sum(xact_rollback)::bigint AS xact_rollback,
             sum(tup_returned)::bigint AS tup_returned, sum(tup_inserted)::bigint AS tup_inserted,
             sum(tup_updated)::bigint AS tup_updated, sum(tup_deleted)::bigint AS tup_deleted,
             sum(temp_bytes)::bigint AS temp_bytes, sum(blk_read_time) AS blk_read_time
-- versions 14 to 99
             , sum(active_time) AS active_time
-- versions 13 to 99
      FROM pg_stat_database) d,
     (SELECT current_setting('block_size')::bigint AS bytes) block
