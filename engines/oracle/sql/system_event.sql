SELECT
    {instance} AS instance_number,
    event,
    wait_class,
    SUM(total_waits_fg) AS waits,
    SUM(time_waited_micro_fg) AS time_us,
    SUM(total_waits - total_waits_fg) AS own_waits,
    SUM(time_waited_micro - time_waited_micro_fg) AS own_time_us{con_id}
FROM {v}system_event
WHERE wait_class <> 'Idle'
GROUP BY {by_instance}event, wait_class
