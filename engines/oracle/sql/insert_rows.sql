INSERT /*+ APPEND_VALUES */ INTO {user}.{table} (custid, {names}) VALUES (:custid, {values})
