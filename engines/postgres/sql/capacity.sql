-- The limits of connections and what is in use of each. Superusers may use what is reserved, and no other limit is
-- theirs.
SELECT current_setting('max_connections')::bigint,
       CASE WHEN r.rolsuper THEN 0
            ELSE current_setting('superuser_reserved_connections')::bigint
                 + coalesce(current_setting('reserved_connections', true), '0')::bigint END,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'),
       CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END::bigint,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE usename = current_user),
       CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END::bigint,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE datname = current_database()),
       r.rolname::text,
       d.datname::text
FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
WHERE r.rolname = current_user AND d.datname = current_database()
