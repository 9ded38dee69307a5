SELECT resource_name, SUM(current_utilization) AS in_use, TRIM(MIN(limit_value)) AS most, COUNT(*) AS instances
FROM {v}resource_limit
WHERE resource_name IN ('processes', 'sessions')
GROUP BY resource_name
