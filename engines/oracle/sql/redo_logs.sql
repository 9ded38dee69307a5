SELECT COUNT(*) AS logs, MIN(bytes) AS smallest FROM v$log
