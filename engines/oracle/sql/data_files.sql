SELECT SUM(CASE WHEN name LIKE '+%' THEN 1 ELSE 0 END) AS on_asm, COUNT(*) AS files FROM v$datafile
