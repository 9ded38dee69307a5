-- The count is taken from the index alone where all blocks are known to be visible.
SELECT count(custid), coalesce(min(custid), 0), coalesce(max(custid), 0),
       pg_catalog.pg_relation_size('{ns}.cf1') / pg_catalog.current_setting('block_size')::bigint,
       (SELECT sum(pg_catalog.pg_relation_size(c.oid))::bigint / pg_catalog.current_setting('block_size')::bigint
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = '{name}' AND c.relkind IN ('r', 'i'))
FROM {ns}.cf1
