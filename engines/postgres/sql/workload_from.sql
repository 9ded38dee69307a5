
FROM (SELECT sum(blks_hit)::bigint AS blks_hit, sum(blks_read)::bigint AS blks_read,
             sum(xact_commit)::bigint AS xact_commit, sum(xact_rollback)::bigint AS xact_rollback,
             sum(tup_returned)::bigint AS tup_returned, sum(tup_inserted)::bigint AS tup_inserted,
             sum(tup_updated)::bigint AS tup_updated, sum(tup_deleted)::bigint AS tup_deleted,
             sum(temp_bytes)::bigint AS temp_bytes, sum(blk_read_time) AS blk_read_time{active}
      FROM pg_stat_database) d,
     (SELECT current_setting('block_size')::bigint AS bytes) block
