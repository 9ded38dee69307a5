SELECT COUNT(custid), COALESCE(MIN(custid), 0), COALESCE(MAX(custid), 0)
FROM {table} FORCE INDEX (`i_cf1`)
