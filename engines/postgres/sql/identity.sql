SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), inet_server_port(), d.oid, version())
FROM pg_catalog.pg_database d
WHERE d.datname = current_database()
