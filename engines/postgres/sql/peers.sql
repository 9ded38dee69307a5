-- Other clients that work now or did so since the last look. A role without pg_read_all_stats does not see what they do.
SELECT usename, datname, application_name
FROM pg_stat_activity
WHERE datname IS NOT NULL AND usename IS NOT NULL AND pid <> ALL ('{processes}'::integer[])
  AND coalesce(backend_type, 'client backend') IN ('client backend', 'walsender')
  AND (coalesce(state, 'disabled') IN ('active', 'fastpath function call', 'disabled')
       OR state_change > clock_timestamp() - interval '1.5 s')
