SELECT s.dbid, s.instance_number
FROM dba_hist_snapshot s
WHERE s.snap_id IN (:first_snapshot, :last_snapshot) AND s.dbid = (SELECT d.{dbid} FROM v$database d)
GROUP BY s.dbid, s.instance_number
HAVING COUNT(*) = 2
ORDER BY s.instance_number
