SELECT d.blks_hit + d.blks_read AS logical_reads,
       d.blks_read AS physical_reads,
       d.blks_read * block.bytes AS physical_read_bytes,
       CASE WHEN current_setting('track_io_timing')::boolean THEN (d.blk_read_time * 1e6)::bigint END
           AS physical_read_time_ns,
       d.xact_commit AS commits,
       d.tup_returned AS rows_read,
       d.tup_inserted + d.tup_updated + d.tup_deleted AS rows_changed,
       d.temp_bytes AS temp_bytes,
       CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint END
           AS redo_bytes
