SELECT CAST(f.SUM_TIMER_WRITE DIV 1000 AS UNSIGNED), CAST(f.SUM_TIMER_MISC DIV 1000 AS UNSIGNED)
FROM performance_schema.file_summary_by_event_name f
JOIN performance_schema.setup_instruments i ON i.NAME = f.EVENT_NAME
WHERE f.EVENT_NAME = 'wait/io/file/innodb/innodb_log_file' AND i.ENABLED = 'YES' AND i.TIMED = 'YES' AND f.COUNT_WRITE > 0
