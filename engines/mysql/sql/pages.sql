SELECT CAST(SUM(IF(table_name = 'cf1' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages', stat_value, 0)) AS UNSIGNED),
       CAST(SUM(IF(stat_name = 'size', stat_value, 0)) AS UNSIGNED)
FROM mysql.innodb_index_stats
WHERE database_name = '{database}'
