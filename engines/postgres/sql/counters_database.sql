SELECT d.blks_hit + d.blks_read AS logical_reads,
       d.blks_read AS physical_reads,
       d.blks_read * block.bytes AS physical_read_bytes,
       d.xact_commit AS commits,
       d.tup_returned AS rows_read,
       d.tup_inserted + d.tup_updated + d.tup_deleted AS rows_changed,
       d.temp_bytes AS temp_bytes,
       CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint END
           AS redo_bytes
