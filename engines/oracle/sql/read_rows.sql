SELECT custid, {names} FROM {user}.{table} WHERE custid IN ({keys})
