SELECT event, wait_class, SUM(total_waits_fg) AS waits, SUM(time_waited_micro_fg) AS time_us
FROM {v}system_event
WHERE wait_class <> 'Idle' AND total_waits_fg > 0
GROUP BY event, wait_class
