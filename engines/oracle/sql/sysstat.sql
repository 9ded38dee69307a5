SELECT {instance} AS instance_number, name, SUM(value) AS value{con_id}
FROM {v}sysstat
WHERE name IN ({names})
GROUP BY {by_instance}name
