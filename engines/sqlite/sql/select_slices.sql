SELECT tab, first_position, end_position FROM slob_slice ORDER BY tab, first_position
