SELECT name, value{con_id} FROM {v}sysstat;
SELECT event, wait_class, total_waits, time_waited_micro, total_waits_fg, time_waited_micro_fg{con_id} FROM {v}system_event;
SELECT stat_name, value{con_id} FROM {v}sys_time_model;
SELECT resource_name, current_utilization, limit_value{con_id} FROM {v}resource_limit;
SELECT name, display_value, isdefault{con_id} FROM {v}parameter WHERE isdefault = 'FALSE' AND (name LIKE 'db%' OR name LIKE '\_db%' ESCAPE '\' OR name LIKE 'optimizer%' OR name LIKE 'commit%');
