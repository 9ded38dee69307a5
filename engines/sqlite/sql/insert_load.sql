INSERT INTO slob_load(format, seed, scale, scan_blocks, obfuscated, slice_rows) VALUES(?1, ?2, ?3, ?4, ?5, ?6)
