SELECT component, SUM(current_size) AS bytes FROM {v}memory_dynamic_components WHERE component LIKE '%buffer cache' GROUP BY component
