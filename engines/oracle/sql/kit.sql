SELECT t.owner, t.table_name, t.num_rows, t.blocks
FROM all_tables t
INNER JOIN all_indexes i ON i.table_owner = t.owner AND i.table_name = 'CF1' AND i.index_name = 'I_CF1'
WHERE t.table_name IN ('CF1', 'CF2') AND t.owner LIKE :prefix || '%'
