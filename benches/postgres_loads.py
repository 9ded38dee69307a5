"""The load part of benches/vs-pgio: the same number of blocks loaded by slob and by pgio's method, side by side."""

import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from postgres_peers import slob

BLOCK = 8192


def blocks_of(scale):
    """Blocks of a scale such as 131072, 64M or 1G."""
    factor = {"M": 2**20 // BLOCK, "G": 2**30 // BLOCK}.get(scale[-1])
    return int(scale[:-1]) * factor if factor else int(scale)


class LikePgio:
    """pgio's way of loading, written here: a table of all rows in random order without a fill factor; then for each
    schema a table with fillfactor 10, its index made while it is empty, and one INSERT ... SELECT. No VACUUM follows.
    `streams` schemas are loaded at a time, to the end; pgio itself has one stream less after its first batch."""

    def __init__(self, server, options):
        self.server, self.options = server, options

    def load(self):
        self.server.psql(
            "CREATE TABLE like_pgio_base AS SELECT key::bigint AS mykey, (random() * 1000000000)::bigint AS scratch, "
            f"repeat('X', 1024)::char(1024) AS filler FROM generate_series(1, {blocks_of(self.options.scale)}) AS key "
            "ORDER BY scratch")
        self._each(lambda table: (
            f"CREATE TABLE {table} WITH (fillfactor = 10) AS SELECT * FROM like_pgio_base LIMIT 0",
            f"CREATE INDEX {table}_idx ON {table} (mykey)",
            f"INSERT INTO {table} SELECT * FROM like_pgio_base"))

    def vacuum(self):
        """What slob's time holds and pgio's does not: rows that no run has to mark, and statistics."""
        self._each(lambda table: (f"VACUUM (FREEZE, ANALYZE) {table}",))

    def _each(self, statements):
        tables = [f"like_pgio{number}" for number in range(1, self.options.schemas + 1)]
        with ThreadPoolExecutor(self.options.streams) as streams:
            # The list waits for all, and ends with the error of any.
            list(streams.map(lambda table: self.server.psql(*statements(table)), tables))

    def drop(self):
        names = ["like_pgio_base", *(f"like_pgio{number}" for number in range(1, self.options.schemas + 1))]
        self.server.psql("SET client_min_messages = error", f"DROP TABLE IF EXISTS {', '.join(names)}")


def timed(work):
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def check_blocks(server, tables, options):
    """Ends the comparison unless every table lies on this server, in the blocks that were asked for, within 1 %."""
    asked = blocks_of(options.scale)
    for table in tables:
        blocks = int(server.psql(f"SELECT pg_relation_size('{table}') / current_setting('block_size')::bigint"))
        if abs(blocks - asked) * 100 > asked:
            sys.exit(f"{table} has {blocks} blocks, not {asked}: there is nothing to compare")


def settle(server):
    """Leaves no debts of one side to the other. A role that may not make a checkpoint waits for none."""
    subprocess.run(["psql", "-Xq", "-c", "CHECKPOINT", server.url], env=server.environment, capture_output=True)
    os.sync()
    time.sleep(2)


def ours(server, options):
    words = ["--scale", options.scale, "--load-parallel-degree", str(options.streams)]
    seconds = timed(lambda: slob(server, "setup", *words, str(options.schemas)))
    check_blocks(server, [f"slob{number}.cf1" for number in range(1, options.schemas + 1)], options)
    slob(server, "drop", "--yes")
    settle(server)
    return seconds


def theirs(server, options):
    like = LikePgio(server, options)
    like.drop()
    seconds = timed(like.load)
    check_blocks(server, [f"like_pgio{number}" for number in range(1, options.schemas + 1)], options)
    vacuum = timed(like.vacuum)
    like.drop()
    settle(server)
    return seconds, vacuum


def compare_loads(server, options):
    """Prints the time of each pair, and the medians; who comes first changes from pair to pair."""
    print(f"{options.schemas} schemas of {blocks_of(options.scale)} blocks, {options.streams} streams; "
          "'like-pgio' is SQL of this script with pgio's method of loading; it is not pgio.")
    print(f"{'':>6} {'slob s':>8} {'like-pgio s':>12} {'its VACUUM s':>13} {'ratio':>7} {'with VACUUM':>12}")
    settle(server)
    measured = []
    for number in range(options.pairs):
        if number % 2:
            other = theirs(server, options)
            own = ours(server, options)
        else:
            own = ours(server, options)
            other = theirs(server, options)
        measured.append((own, *other, other[0] / own, sum(other) / own))
        print_loads(f"{number + 1}", measured[-1])
    print_loads("median", [statistics.median(column) for column in zip(*measured)])


def print_loads(name, row):
    own, other, vacuum, ratio, with_vacuum = row
    print(f"{name:>6} {own:>8.1f} {other:>12.1f} {vacuum:>13.1f} {ratio:>7.2f} {with_vacuum:>12.2f}", flush=True)
