-- Work of earlier loads and runs: name, amount, unit. A role that may not see the checkpointer gets no row of it.
SELECT 'checkpoint', 1, ''
FROM pg_stat_activity
WHERE backend_type = 'checkpointer' AND wait_event IS DISTINCT FROM 'CheckpointerMain' AND pg_has_role('pg_read_all_stats', 'USAGE')
UNION ALL
SELECT 'vacuum of ' || n.nspname || '.' || c.relname, greatest(p.heap_blks_total - p.heap_blks_scanned, 1), 'blocks'
FROM pg_stat_progress_vacuum p
JOIN pg_class c ON c.oid = p.relid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE p.datname = current_database() AND n.nspname LIKE 'slob%'
