SELECT /*+ FULL(t) */ COUNT(t.c2) AS row_count FROM {user}.{table} t
