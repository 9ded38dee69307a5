SELECT (SELECT CASE WHEN bool_and(may) THEN sum(CASE WHEN may THEN pg_database_size(oid) END)::bigint END
        FROM (SELECT oid, has_database_privilege(oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'USAGE') AS may
              FROM pg_database) d) AS database_bytes,
       pg_size_bytes(current_setting('shared_buffers')) AS cache_bytes,
       current_setting('block_size')::bigint AS block_bytes,
       (SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pg_buffercache') AS extension
