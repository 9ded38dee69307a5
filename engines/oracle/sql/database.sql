SELECT d.log_mode, d.force_logging, d.database_role FROM v$database d
