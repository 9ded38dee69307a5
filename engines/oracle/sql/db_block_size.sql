SELECT value AS block_size FROM v$parameter WHERE name = 'db_block_size'
