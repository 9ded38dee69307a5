SELECT d.blks_hit + d.blks_read AS logical_reads,
       d.blks_read AS physical_reads,
       d.blks_read * block.bytes AS physical_read_bytes,
       d.xact_commit AS commits,
       d.tup_returned AS rows_read,
       d.tup_inserted + d.tup_updated + d.tup_deleted AS rows_changed,
       d.temp_bytes AS temp_bytes,
       CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint END
           AS redo_bytes
-- The time of reads, and the number that it is divided by, are both of all databases since requests are counted; before, both
-- are of ours, and the number is that of the blocks.
-- versions 13 to 17
       , CASE WHEN current_setting('track_io_timing')::boolean THEN (d.blk_read_time * 1e6)::bigint END
           AS physical_read_time_ns
-- versions 18 to 99
       , (SELECT sum(reads)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_read_requests,
       CASE WHEN current_setting('track_io_timing')::boolean
            THEN (SELECT (sum(read_time) * 1e6)::bigint FROM pg_stat_io WHERE object = 'relation') END
           AS physical_read_time_ns
-- Blocks of tables and indexes written by any process.
-- versions 13 to 15
       , (SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter) AS physical_writes,
       (SELECT (buffers_checkpoint + buffers_clean + buffers_backend) * block.bytes FROM pg_stat_bgwriter)
           AS physical_write_bytes
-- versions 16 to 17
       , (SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_writes,
       (SELECT sum(writes * op_bytes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_write_bytes
-- versions 18 to 99
       , (SELECT sum(write_bytes)::bigint / block.bytes FROM pg_stat_io WHERE object = 'relation') AS physical_writes,
       (SELECT sum(write_bytes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_write_bytes
-- Before 17, checkpoints begun; in 17, those that came about; since 18, those that had something to do.
-- versions 13 to 16
       , (SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter) AS checkpoints
-- versions 17 to 17
       , (SELECT num_timed + num_requested FROM pg_stat_checkpointer) AS checkpoints
-- versions 18 to 99
       , (SELECT num_done FROM pg_stat_checkpointer) AS checkpoints
-- Writes and forced writes of the log.
-- versions 14 to 17
       , (SELECT wal_write FROM pg_stat_wal) AS redo_writes, (SELECT wal_sync FROM pg_stat_wal) AS redo_syncs,
       CASE WHEN current_setting('track_wal_io_timing')::boolean
            THEN (SELECT (wal_write_time * 1e6)::bigint FROM pg_stat_wal) END AS redo_write_time_ns,
       CASE WHEN current_setting('track_wal_io_timing')::boolean
            THEN (SELECT (wal_sync_time * 1e6)::bigint FROM pg_stat_wal) END AS redo_sync_time_ns
-- versions 18 to 99
       , (SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') AS redo_writes,
       (SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') AS redo_syncs,
       CASE WHEN current_setting('track_wal_io_timing')::boolean
            THEN (SELECT (sum(write_time) * 1e6)::bigint FROM pg_stat_io WHERE object = 'wal' AND context = 'normal')
            END AS redo_write_time_ns,
       CASE WHEN current_setting('track_wal_io_timing')::boolean
            THEN (SELECT (sum(fsync_time) * 1e6)::bigint FROM pg_stat_io WHERE object = 'wal' AND context = 'normal')
            END AS redo_sync_time_ns
-- versions 13 to 99
