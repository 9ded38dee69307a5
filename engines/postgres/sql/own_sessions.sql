-- A row for each connection of ours that is still there, and one for all clients, whose process is 0. Blocks of a client that
-- has several processes are counted by background workers.
SELECT c.pid AS process,
       io.hits + io.read_bytes / block.bytes AS logical_reads,
       io.read_bytes / block.bytes AS physical_reads,
       io.read_bytes AS physical_read_bytes,
       io.reads AS physical_read_requests,
       CASE WHEN current_setting('track_io_timing')::boolean THEN io.read_time_ns END AS physical_read_time_ns,
       wal.wal_bytes::bigint AS redo_bytes
FROM (SELECT current_setting('block_size')::bigint AS bytes) block,
     (SELECT unnest('{processes}'::integer[]) AS pid UNION ALL SELECT 0) c,
     LATERAL (SELECT coalesce(sum(hits), 0)::bigint AS hits, coalesce(sum(reads), 0)::bigint AS reads,
                     coalesce(sum(read_bytes), 0)::bigint AS read_bytes,
                     (coalesce(sum(read_time), 0) * 1e6)::bigint AS read_time_ns
              FROM (SELECT hits, reads, read_bytes, read_time FROM pg_stat_get_backend_io(c.pid)
                    WHERE c.pid <> 0 AND object = 'relation'
                    UNION ALL
                    SELECT hits, reads, read_bytes, read_time FROM pg_stat_io
                    WHERE c.pid = 0 AND object = 'relation'
                      AND backend_type IN ('client backend', 'background worker', 'walsender')) counted) io,
     LATERAL (SELECT wal_bytes FROM pg_stat_get_backend_wal(c.pid) WHERE c.pid <> 0
              UNION ALL
              SELECT wal_bytes FROM pg_stat_wal WHERE c.pid = 0) wal
WHERE wal.wal_bytes IS NOT NULL
