SELECT pg_backend_pid(), extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8,
       current_setting('port'), inet_client_port(),
       -- Since 17, huge_pages_status says if `try` succeeded.
       CASE WHEN current_setting('huge_pages') = 'try' AND current_setting('huge_pages_status', true) IS NULL
                 AND pg_size_bytes(current_setting('shared_buffers')) >= 1 << 30 THEN 1 END
