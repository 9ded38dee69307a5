-- One row for the tables of the run, and one for all tables of users. Without catalogues, which our own questions read.
SELECT is_ours,
       sum(rows_read)::bigint AS table_rows_read,
       sum(rows_changed)::bigint AS rows_changed
-- versions 13 to 17
       , sum(blocks)::bigint AS logical_reads,
       sum(blocks_read)::bigint AS physical_reads,
       sum(blocks_read)::bigint * current_setting('block_size')::bigint AS physical_read_bytes
-- versions 13 to 99
FROM (SELECT is_ours, schemaname,
             seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows_read,
             n_tup_ins + n_tup_upd + n_tup_del AS rows_changed
-- versions 13 to 17
             , heap_blks_read + coalesce(idx_blks_read, 0) + coalesce(toast_blks_read, 0)
               + coalesce(tidx_blks_read, 0) AS blocks_read,
             heap_blks_read + coalesce(idx_blks_read, 0) + coalesce(toast_blks_read, 0)
               + coalesce(tidx_blks_read, 0) + heap_blks_hit + coalesce(idx_blks_hit, 0)
               + coalesce(toast_blks_hit, 0) + coalesce(tidx_blks_hit, 0) AS blocks
-- versions 13 to 99
      FROM (VALUES (true), (false)) side(is_ours), pg_stat_user_tables
-- versions 13 to 17
      JOIN pg_statio_user_tables USING (relid, schemaname, relname)
-- versions 13 to 99
      WHERE NOT is_ours OR {ours}
-- Other databases: all that they do, apart from reads, whose time is that of this database.
-- versions 13 to 17
      UNION ALL
      SELECT false, NULL, 0, tup_inserted + tup_updated + tup_deleted, 0, blks_read + blks_hit
      FROM pg_stat_database WHERE datname <> current_database()
-- versions 13 to 99
     ) counted
GROUP BY is_ours
