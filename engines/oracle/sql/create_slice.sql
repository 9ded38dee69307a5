CREATE TABLE {user}.slob_slice (
    is_scan NUMBER(1) NOT NULL,
    first_position NUMBER(12) NOT NULL,
    end_position NUMBER(12) NOT NULL,
    CONSTRAINT slob_slice_once PRIMARY KEY (is_scan, first_position)
){tablespace}
