SELECT p.name, MAX(c.in_use) AS in_use, MIN(p.value) AS most, COUNT(*) AS instances
FROM {v}parameter p
INNER JOIN (
    SELECT 'processes' AS name, COUNT(*) AS in_use FROM {v}process
    UNION ALL
    SELECT 'sessions' AS name, COUNT(*) AS in_use FROM {v}session
) c ON c.name = p.name
GROUP BY p.name
