SELECT coalesce(wait_event_type, 'CPU'), coalesce(wait_event, 'CPU'), count(*)
FROM pg_catalog.pg_stat_activity
WHERE application_name = 'slob' AND state = 'active' AND datname = current_database()
  AND wait_event IS DISTINCT FROM 'PgSleep'
GROUP BY 1, 2
