CREATE TABLE {user}.{table} (custid NUMBER(12) NOT NULL, {columns})
PCTFREE 99{tablespace}{storage} NOLOGGING NOCOMPRESS {cache} NOPARALLEL
