UPDATE sqlite_schema
SET type = 'index', name = 'i_cf1', tbl_name = 'cf1', sql = 'CREATE UNIQUE INDEX i_cf1 ON cf1(custid)'
WHERE type = 'table' AND name = 'slob_index'
