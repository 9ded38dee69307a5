FROM pg_stat_database d, (SELECT current_setting('block_size')::bigint AS bytes) block
WHERE d.datname = current_database()
