CREATE USER {user} IDENTIFIED BY "{password}"{default_tablespace} QUOTA UNLIMITED ON {quota}
