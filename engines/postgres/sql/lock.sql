-- 'OpenSLOB' as a number, in the database of the connection. The server must not end the idle connection that holds it.
SELECT CASE WHEN pg_catalog.pg_try_advisory_lock(5724186650906218306) THEN 1 ELSE 0 END,
       (SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name = 'idle_session_timeout')
