UPDATE {user}.slob_load SET row_count = :row_count, row_blocks = :row_blocks, all_blocks = :all_blocks
