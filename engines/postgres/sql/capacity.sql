-- The limits of connections: most, reserved, in use, name, remedy. Superusers may use what is reserved, and no other limit
-- is theirs. A negative limit is none.
SELECT l.*
FROM pg_catalog.pg_roles r, pg_catalog.pg_database d, LATERAL (VALUES
    (current_setting('max_connections')::bigint,
     CASE WHEN r.rolsuper THEN 0
          ELSE current_setting('superuser_reserved_connections')::bigint
               + coalesce(current_setting('reserved_connections', true), '0')::bigint END,
     (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'),
     'max_connections',
     'raise max_connections'),
    (CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END,
     0,
     (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE usename = current_user),
     'the connection limit of the role ''' || r.rolname || '''',
     'raise it with ALTER ROLE ... CONNECTION LIMIT'),
    (CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END,
     0,
     (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE datname = current_database()),
     'the connection limit of the database ''' || d.datname || '''',
     'raise it with ALTER DATABASE ... CONNECTION LIMIT')) l
WHERE r.rolname = current_user AND d.datname = current_database()
