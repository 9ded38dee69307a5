SELECT seed, scale, scan_blocks, obfuscated, slice_rows, 0, row_count, row_blocks, all_blocks,
       (SELECT string_agg(concat_ws(', ', is_scan::text, first, after), ';') FROM {ns}.slob_slice), {number}
FROM {ns}.slob_load
