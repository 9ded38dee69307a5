SELECT format, seed, scale, scan_blocks, obfuscated, slice_rows, row_blocks, all_blocks FROM slob_load
