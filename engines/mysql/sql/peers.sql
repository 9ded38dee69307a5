SELECT ID, USER, DB, ATTR_VALUE
FROM information_schema.PROCESSLIST
LEFT JOIN performance_schema.session_connect_attrs
  ON PROCESSLIST_ID = ID AND ATTR_NAME = 'program_name'
WHERE USER NOT IN ('system user', 'event_scheduler', 'unauthenticated user')
  AND COMMAND NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID') AND (COMMAND <> 'Sleep' OR TIME <= 1)
