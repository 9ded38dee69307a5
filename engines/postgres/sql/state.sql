SELECT {number}, seed, scale, scan_blocks, obfuscated, slice_rows, row_count, row_blocks, all_blocks,
       ARRAY(SELECT is_scan FROM {ns}.slob_slice ORDER BY is_scan, first),
       ARRAY(SELECT first FROM {ns}.slob_slice ORDER BY is_scan, first),
       ARRAY(SELECT after FROM {ns}.slob_slice ORDER BY is_scan, first)
FROM {ns}.slob_load
