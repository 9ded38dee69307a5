CREATE USER {user} IDENTIFIED BY "{password}"{tablespace} QUOTA UNLIMITED ON {quota}
