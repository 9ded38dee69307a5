SELECT
    /*+ INDEX_FFS(cf1 i_cf1) */
    COUNT(custid) AS row_count,
    MIN(custid) AS first_key,
    MAX(custid) AS last_key,
    SUM(CASE WHEN DBMS_ROWID.ROWID_ROW_NUMBER(ROWID) = 0 THEN 1 ELSE 0 END) AS row_blocks
FROM {user}.cf1
WHERE custid IS NOT NULL
