SELECT t.buffer_pool FROM all_tables t WHERE t.owner = :owner AND t.table_name = 'CF1'
