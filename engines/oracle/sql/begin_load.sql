INSERT INTO {user}.slob_load (seed, scale, scan_blocks, obfuscated, slice_rows, made_user)
VALUES (:seed, :scale, :scan_blocks, :obfuscated, :slice_rows, :made_user)
