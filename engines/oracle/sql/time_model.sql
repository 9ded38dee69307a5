SELECT {instance} AS instance_number, stat_name, SUM(value) AS value{con_id}
FROM {v}sys_time_model
WHERE stat_name IN ('DB time', 'DB CPU')
GROUP BY {by_instance}stat_name
