SELECT SUM(blocks) AS all_blocks
FROM user_segments
WHERE segment_name IN ('CF1', 'CF2', 'I_CF1', 'SLOB_LOAD', 'SLOB_SLICE', 'SLOB_SLICE_ONCE')
