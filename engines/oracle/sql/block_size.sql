SELECT MAX(s.block_size) AS block_size
FROM dba_tablespaces s
INNER JOIN all_tables t ON t.tablespace_name = s.tablespace_name
WHERE t.owner = :owner AND t.table_name = 'CF1'
