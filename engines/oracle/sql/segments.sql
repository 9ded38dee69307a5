SELECT SUM(blocks) AS all_blocks FROM user_segments
