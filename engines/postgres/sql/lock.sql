-- In the database of the connection. The server must not end the idle transaction that holds it.
SELECT CASE WHEN pg_catalog.pg_try_advisory_xact_lock({lock}) THEN 1 ELSE 0 END,
       (SELECT pg_catalog.count(pg_catalog.set_config(name, '0', true)) FROM pg_catalog.pg_settings
        WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout'))
