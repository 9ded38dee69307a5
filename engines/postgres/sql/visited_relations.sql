-- The smallest relations that 95 % of the visits went to. Their sizes are those of the last VACUUM or ANALYZE: the size of a file
-- would lock the relation.
WITH visited AS (
    SELECT oid, relpages AS blocks, pg_stat_get_blocks_fetched(oid) AS visits
    FROM pg_class WHERE relkind IN ('r', 'i', 'm', 't') AND pg_stat_get_blocks_fetched(oid) > 0),
ordered AS (
    SELECT *, sum(visits) OVER () AS total,
           sum(visits) OVER (ORDER BY visits::float8 / greatest(blocks, 1) DESC, oid) - visits AS before
    FROM visited),
here AS (
    SELECT sum(blks_hit + blks_read) FILTER (WHERE datname = current_database())
           / nullif(sum(blks_hit + blks_read), 0) AS share
    FROM pg_stat_database)
SELECT (sum(blocks) FILTER (WHERE before < 0.95 * total))::bigint AS blocks,
       sum(visits) FILTER (WHERE blocks = 0)::float8 / max(total)::float8 AS never_analysed,
       (SELECT share::float8 FROM here) AS share_of_server
FROM ordered
