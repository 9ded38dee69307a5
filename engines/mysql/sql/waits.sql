SELECT EVENT_NAME, COUNT_STAR, CAST(SUM_TIMER_WAIT DIV 1000000 AS UNSIGNED)
FROM performance_schema.events_waits_summary_by_user_by_event_name
WHERE USER = SUBSTRING_INDEX(USER(), '@', 1) AND SUM_TIMER_WAIT > 0
  AND EVENT_NAME <> 'idle' AND EVENT_NAME NOT LIKE 'wait/io/table/%'
