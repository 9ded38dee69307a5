INSERT INTO {user}.slob_slice (is_scan, first_position, end_position) VALUES (:is_scan, :first_position, :end_position)
