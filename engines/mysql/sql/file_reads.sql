-- Reads of tables by the file, of the run and of others. Files in the data folder itself, such as undo logs, are nobody's.
SELECT FILE_NAME REGEXP '{ours}' AS is_ours, SUM(f.COUNT_READ), SUM(f.SUM_NUMBER_OF_BYTES_READ),
       CAST(SUM(f.SUM_TIMER_READ) DIV 1000 AS UNSIGNED)
FROM performance_schema.file_summary_by_instance f
JOIN performance_schema.setup_instruments i ON i.NAME = f.EVENT_NAME
WHERE f.EVENT_NAME = 'wait/io/file/innodb/innodb_data_file' AND i.ENABLED = 'YES' AND i.TIMED = 'YES'
  AND f.FILE_NAME LIKE '%.ibd' AND LOCATE('/', REPLACE(f.FILE_NAME, @@datadir, '')) > 0
GROUP BY is_ours
