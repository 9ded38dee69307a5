SELECT
    {number} AS schema_number,
    l.seed,
    l.scale,
    l.scan_blocks,
    l.obfuscated,
    l.slice_rows,
    l.row_count,
    l.row_blocks,
    l.all_blocks,
    l.made_user
FROM {user}.slob_load l
