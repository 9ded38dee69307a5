-- The connection that holds the lock.
SELECT 'pid ' || l.pid || ' of the server (user ' || coalesce(a.usename::text, '?') || ', from '
       || coalesce(pg_catalog.host(a.client_addr), 'a socket') || ', since '
       || coalesce(pg_catalog.to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ'), '?') || ')'
FROM pg_catalog.pg_locks l
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32 | l.objid::bigint) = {lock}
  AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
