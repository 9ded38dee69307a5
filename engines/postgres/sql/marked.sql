SELECT n.nspname::text
FROM pg_catalog.pg_namespace n
WHERE n.nspname LIKE 'slob%'
  AND pg_catalog.obj_description(n.oid, 'pg_namespace') LIKE '{comment}%'
