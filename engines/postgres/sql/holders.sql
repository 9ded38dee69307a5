-- Sessions other than ours that hold locks on the tables of a namespace. A transaction that was prepared has no process.
SELECT DISTINCT coalesce('pid ' || l.pid || ' (user ' || coalesce(a.usename::text, '?') || ', application '''
                         || coalesce(a.application_name, '') || ''')', 'a prepared transaction')
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_class c ON c.oid = l.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE n.nspname = '{schema}' AND l.granted AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
  AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
ORDER BY 1
LIMIT 3
