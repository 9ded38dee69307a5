-- The location of tables that are or will be loaded: the named tablespace, else that of the schemas that are there, else the
-- default one. An empty location is the data directory.
SELECT pg_catalog.pg_tablespace_location(t.oid)
FROM pg_catalog.pg_tablespace t
WHERE t.oid = coalesce(
    (SELECT n.oid FROM pg_catalog.pg_tablespace n WHERE n.spcname = $1::text),
    (SELECT CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END
     FROM pg_catalog.pg_class c, pg_catalog.pg_database d
     WHERE c.oid = pg_catalog.to_regclass('slob1.cf1') AND d.datname = pg_catalog.current_database()),
    (SELECT n.oid FROM pg_catalog.pg_tablespace n WHERE n.spcname = pg_catalog.current_setting('default_tablespace')),
    (SELECT d.dattablespace FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()))
