INSERT /*+ APPEND_VALUES */ INTO {user}.{table} (custid, {names}) VALUES (:1, {values})
