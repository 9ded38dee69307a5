CREATE TABLE IF NOT EXISTS {db}.slob_load (
    seed         BIGINT UNSIGNED NOT NULL,
    scale        BIGINT UNSIGNED NOT NULL,
    scan_blocks  BIGINT UNSIGNED NOT NULL,
    obfuscated   BOOLEAN         NOT NULL,
    slice_rows   BIGINT UNSIGNED NOT NULL,
    filler_bytes BIGINT UNSIGNED NOT NULL,
    -- The layout of the rows, once the schema is complete.
    row_count    BIGINT UNSIGNED,
    row_blocks   BIGINT UNSIGNED,
    all_blocks   BIGINT UNSIGNED,
    PRIMARY KEY (seed)
) ENGINE = InnoDB COMMENT = '{comment}'
