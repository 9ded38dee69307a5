SELECT
    {instance} AS instance_number,
    function_name,
    SUM(number_of_waits) AS waits,
    SUM(wait_time) * 1000 AS time_us{con_id}
FROM {v}iostat_function
GROUP BY {by_instance}function_name
