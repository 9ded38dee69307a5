SELECT current_user::text, current_database()::text,
       has_database_privilege(current_database(), 'CREATE'),
       (SELECT has_tablespace_privilege(oid, 'CREATE') FROM pg_catalog.pg_tablespace WHERE spcname = $1)
