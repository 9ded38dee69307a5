SELECT pg_backend_pid(), extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8,
       current_setting('port'), inet_client_port()
