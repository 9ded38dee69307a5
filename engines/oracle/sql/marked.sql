SELECT owner FROM all_tab_comments
WHERE table_name = 'SLOB_LOAD' AND comments LIKE 'OpenSLOB%' AND owner LIKE :prefix || '%'
