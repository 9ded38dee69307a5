SELECT stat_name, SUM(value) AS value FROM {v}sys_time_model WHERE stat_name IN ('DB time', 'DB CPU') GROUP BY stat_name
