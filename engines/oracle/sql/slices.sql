SELECT {number} AS schema_number, s.is_scan, s.first_position, s.end_position FROM {user}.slob_slice s
