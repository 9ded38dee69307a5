SELECT name, SUM(value) AS value FROM {v}sysstat WHERE name IN ({names}) GROUP BY name
