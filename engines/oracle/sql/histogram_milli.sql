SELECT {instance} AS instance_number, event, wait_time_milli * 1000 AS wait_time_micro, SUM(wait_count) AS waits{con_id}
FROM {v}event_histogram
WHERE event IN ({names}){varieties}
GROUP BY {by_instance}event, wait_time_milli
