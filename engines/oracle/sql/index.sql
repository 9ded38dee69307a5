CREATE UNIQUE INDEX {user}.i_cf1 ON {user}.cf1 (custid) PCTFREE 0 NOPARALLEL{tablespace}
