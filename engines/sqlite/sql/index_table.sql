-- Becomes the index i_cf1 once it is filled, see load.rs.
CREATE TABLE slob_index(custid INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY(custid)) WITHOUT ROWID
