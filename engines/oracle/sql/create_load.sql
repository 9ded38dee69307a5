CREATE TABLE {user}.slob_load (
    seed VARCHAR2(20) NOT NULL,
    scale NUMBER(12) NOT NULL,
    scan_blocks NUMBER(12) NOT NULL,
    obfuscated NUMBER(1) NOT NULL,
    slice_rows NUMBER(12) NOT NULL,
    made_user NUMBER(1) NOT NULL,
    row_count NUMBER(12),
    row_blocks NUMBER(12),
    all_blocks NUMBER(12)
){tablespace}
