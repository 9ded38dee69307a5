-- Reads by the files of the run (1), tables of others (0), and files in the data folder itself (2), such as undo logs, which the
-- server reads for nobody in particular.
SELECT CASE WHEN FILE_NAME REGEXP '{ours}' THEN 1
            WHEN f.FILE_NAME LIKE '%.ibd' AND LOCATE('/', REPLACE(f.FILE_NAME, @@datadir, '')) > 0 THEN 0
            ELSE 2 END AS owner,
       SUM(f.COUNT_READ), SUM(f.SUM_NUMBER_OF_BYTES_READ), CAST(SUM(f.SUM_TIMER_READ) DIV 1000 AS UNSIGNED)
FROM performance_schema.file_summary_by_instance f
JOIN performance_schema.setup_instruments i ON i.NAME = f.EVENT_NAME
WHERE f.EVENT_NAME = 'wait/io/file/innodb/innodb_data_file' AND i.ENABLED = 'YES' AND i.TIMED = 'YES'
GROUP BY owner
