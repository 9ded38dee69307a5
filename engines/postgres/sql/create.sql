-- A schema: two tables, and the two that remember what is in them.
CREATE SCHEMA {ns};
CREATE TABLE {ns}.cf1 (custid bigint NOT NULL) WITH ({storage}) {tablespace};
CREATE TABLE {ns}.cf2 (custid bigint NOT NULL) WITH ({storage}) {tablespace};
-- Keys are all different and evenly spread, which a small sample shows. The usual one reads 30,000 blocks at random.
ALTER TABLE {ns}.cf1 ALTER custid SET STATISTICS 10;
ALTER TABLE {ns}.cf2 ALTER custid SET STATISTICS 10;
CREATE TABLE {ns}.slob_load (
    seed        bigint  NOT NULL,
    scale       bigint  NOT NULL,
    scan_blocks bigint  NOT NULL,
    obfuscated  boolean NOT NULL,
    slice_rows  bigint  NOT NULL,
    -- The layout of the rows, once the schema is complete.
    row_count   bigint,
    row_blocks  bigint,
    all_blocks  bigint
) {tablespace};
CREATE TABLE {ns}.slob_slice (
    is_scan  boolean NOT NULL,
    first    bigint  NOT NULL,
    after    bigint  NOT NULL,
    UNIQUE (is_scan, first)
) {tablespace};
COMMENT ON SCHEMA {ns} IS '{comment}';
