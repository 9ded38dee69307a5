-- A slice and its mark are one transaction, so losing the last ones in a crash loses no consistency.
SET synchronous_commit = off;
-- Plans are pinned by the sessions: a few sampled rows are statistics enough.
SET default_statistics_target = 10;
SET maintenance_work_mem = '256MB';
SET vacuum_cost_delay = 0;
SET statement_timeout = 0;
SET lock_timeout = '60s';
SET idle_in_transaction_session_timeout = 0;
SET client_min_messages = warning;
-- The small ring of buffers that a vacuum may use otherwise makes it wait for the log every few blocks (16 and later).
SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name = 'vacuum_buffer_usage_limit';
-- A client that is gone without a message is noticed after half a minute, and gives back its locks and its place.
SELECT pg_catalog.set_config(name, CASE name WHEN 'tcp_keepalives_idle' THEN '10' WHEN 'tcp_keepalives_interval' THEN '5'
                                             WHEN 'tcp_keepalives_count' THEN '4' ELSE '30000' END, false)
FROM pg_catalog.pg_settings
WHERE name IN ('tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout');
