SELECT n.nspname::text
FROM pg_catalog.pg_namespace n
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'slob_load' AND c.relkind = 'r'
WHERE n.nspname LIKE 'slob%'
  AND pg_catalog.obj_description(n.oid, 'pg_namespace') LIKE $1::text || '%'
