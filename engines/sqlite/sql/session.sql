PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
