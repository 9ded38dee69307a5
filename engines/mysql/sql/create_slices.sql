CREATE TABLE {db}.slob_slice (
    is_scan BOOLEAN         NOT NULL,
    first   BIGINT UNSIGNED NOT NULL,
    past    BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (is_scan, first)
) ENGINE = InnoDB
