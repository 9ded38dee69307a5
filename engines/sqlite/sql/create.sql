-- A schema is one database file. Our marker is this application_id ('SLOB') together with the table slob_load.
PRAGMA page_size = 8192;
PRAGMA application_id = 0x534C4F42;

BEGIN;

-- One row: the parameters of the load. The last two columns are filled when the schema is complete.
CREATE TABLE slob_load(
    format INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    scale INTEGER NOT NULL,
    scan_blocks INTEGER NOT NULL,
    obfuscated INTEGER NOT NULL,
    slice_rows INTEGER NOT NULL,
    row_blocks INTEGER,
    all_blocks INTEGER
);

-- The loaded slices.
CREATE TABLE slob_slice(
    tab TEXT NOT NULL,
    first_position INTEGER NOT NULL,
    end_position INTEGER NOT NULL,
    PRIMARY KEY(tab, first_position)
) WITHOUT ROWID;

-- The row at a position has it as its id, so rows are appended in the order of the file. c2 to c20 may be NULL
-- as far as SQLite knows: it would answer COUNT of a column that can't be NULL from the index alone.
CREATE TABLE cf1(
    id INTEGER PRIMARY KEY, custid INTEGER NOT NULL,
    c2 TEXT, c3 TEXT, c4 TEXT, c5 TEXT, c6 TEXT, c7 TEXT, c8 TEXT, c9 TEXT, c10 TEXT, c11 TEXT,
    c12 TEXT, c13 TEXT, c14 TEXT, c15 TEXT, c16 TEXT, c17 TEXT, c18 TEXT, c19 TEXT, c20 TEXT,
    filler BLOB
);
CREATE TABLE cf2(
    id INTEGER PRIMARY KEY, custid INTEGER NOT NULL,
    c2 TEXT, c3 TEXT, c4 TEXT, c5 TEXT, c6 TEXT, c7 TEXT, c8 TEXT, c9 TEXT, c10 TEXT, c11 TEXT,
    c12 TEXT, c13 TEXT, c14 TEXT, c15 TEXT, c16 TEXT, c17 TEXT, c18 TEXT, c19 TEXT, c20 TEXT,
    filler BLOB
);
