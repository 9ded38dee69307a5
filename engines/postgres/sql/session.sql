-- One plan for each statement, made once, whose reads are of single blocks.
SET plan_cache_mode = force_generic_plan;
SET enable_indexscan = on;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET enable_nestloop = on;
SET enable_material = off;
SELECT pg_catalog.set_config(name, 'off', false) FROM pg_catalog.pg_settings WHERE name = 'enable_memoize';
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET synchronize_seqscans = off;
SET default_transaction_isolation = 'read committed';
SET default_transaction_read_only = off;
-- A lock on our tables ends the run instead of hanging it.
-- A role, a database or the target's options may set another timeout.
SELECT set_config('lock_timeout', CASE current_setting('lock_timeout') WHEN '0' THEN '60s' ELSE current_setting('lock_timeout') END, false);
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_min_messages = warning;
-- A client that is gone without a message is noticed after half a minute, and gives back its locks and its place.
SELECT pg_catalog.set_config(name, CASE name WHEN 'tcp_keepalives_idle' THEN '10' WHEN 'tcp_keepalives_interval' THEN '5'
                                             WHEN 'tcp_keepalives_count' THEN '4' ELSE '30000' END, false)
FROM pg_catalog.pg_settings
WHERE name IN ('tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout');
