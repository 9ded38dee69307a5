"""The other side of each pair: fio, pgbench, a C function in the server, SQL in pgio's way, and a prepared client."""

import glob
import json
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from targets import CPUS, HERE, Skip, run_command

BLOCK = 8192
# A folder with a checkout of pgio.
PGIO = os.environ.get("PGIO")


def need(name):
    if not shutil.which(name):
        raise Skip(f"{name} is not installed")
    return name


def fio(*words):
    said = run_command([need("fio"), "--name=job", "--direct=1", "--ioengine=psync", "--output-format=json", *words])
    return json.loads(said[said.index("{"):])["jobs"]


def fio_reads(files, sessions, seconds, block=BLOCK, each=False):
    """Random reads of a block each second, by as many threads as sessions; or the reads of `each` thread."""
    jobs = fio(f"--filename={':'.join(files)}", "--readonly", "--rw=randread", f"--bs={block}", f"--numjobs={sessions}", "--thread",
               "--file_service_type=random", "--time_based", f"--runtime={seconds}", "--ramp_time=1", "--norandommap",
               "--randrepeat=0", *[] if each else ["--group_reporting"])
    return [job["read"]["total_ios"] for job in jobs] if each else jobs[0]["read"]["iops"]


def fio_writes(folder, size, streams):
    """Bytes per second of new files, one for each stream, written a mebibyte at a time and synced."""
    with tempfile.TemporaryDirectory(dir=folder) as files:
        jobs = fio(f"--directory={files}", f"--size={size // streams}", "--rw=write", "--bs=1M", f"--numjobs={streams}",
                   "--end_fsync=1", "--group_reporting")
    return jobs[0]["write"]["bw_bytes"]


def fio_file(folder, size):
    """A file that fio reads beside a server's data."""
    path = f"{folder}/fio.dat"
    if not os.path.exists(path):
        fio(f"--filename={path}", f"--size={size}", "--rw=write", "--bs=1M", "--end_fsync=1")
    return [path]


# Each plan is an index scan, as slob pins it.
PLAN = {"enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off", "max_parallel_workers_per_gather": "0",
        "plan_cache_mode": "force_generic_plan"}
# The end is a variable too: the server has nothing to add up.
PGBENCH = """\\set first random(1, {last})
\\set end :first + {unit}
SELECT COUNT(c2) FROM slob1.cf1 WHERE custid >= :first AND custid < :end;
"""


def pgbench(server, scale, sessions, unit, seconds, each=False):
    """Rows that the clients of `pgbench -M prepared` see with slob's SELECT, planned once; or the operations of `each` client."""
    environment = {**os.environ, "PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in PLAN.items())}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/script.sql", "w", encoding="utf-8") as file:
            file.write(PGBENCH.format(last=scale - unit + 1, unit=unit))
        log = ["--log", f"--log-prefix={folder}/log"] if each else []
        said = run_command([need("pgbench"), "-n", "-M", "prepared", "-f", f"{folder}/script.sql", "-c", str(sessions),
                            "-j", str(min(sessions, CPUS)), "-T", str(seconds), *log, server.url], env=environment)
        if not each:
            line = next(line for line in said.splitlines() if "actually processed" in line)
            return int(line.split(": ")[1].split("/")[0]) * unit
        done = [0] * sessions
        for name in glob.glob(f"{folder}/log.*"):
            with open(name, encoding="utf-8") as lines:
                for line in lines:
                    done[int(line.split(" ", 1)[0])] += 1
    return done


def in_sessions(server, sessions, *statements):
    """The sum of what the last of these statements returns in each of some sessions."""
    commands = [word for statement in statements for word in ("-c", statement)]
    command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", *commands, server.url]
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(sessions)]
    return sum(int(client.communicate()[0]) for client in clients)


def floor(server, scale, sessions, unit, seconds):
    """Rows that benches/floor.c sees: the same work in one loop of C, which is the least that the server can do for it."""
    library = f"{server.folder}/floor.so"
    if not os.path.exists(library):
        headers = os.environ.get("PG_HEADERS") or run_command([f"{server.programs}/pg_config", "--includedir-server"]).strip()
        if not os.path.exists(f"{headers}/postgres.h"):
            raise Skip(f"no headers of the server in {headers}: install postgresql-server-dev-15, or name them in PG_HEADERS")
        run_command([need("cc"), "-O2", "-shared", "-fPIC", f"-I{headers}", f"{HERE}/floor.c", "-o", library])
    server.ask("CREATE OR REPLACE FUNCTION floor_loop(oid, oid, int, bigint, int) RETURNS bigint LANGUAGE C "
               f"AS '{library}', 'floor_loop'")
    return in_sessions(server, sessions, "SELECT floor_loop('slob1.cf1'::regclass, 'slob1.i_cf1'::regclass, "
                                         f"{seconds}, {scale}, {unit})")


LIKE_PGIO = """
CREATE OR REPLACE FUNCTION pg_temp.like_pgio(seconds double precision, scale bigint, reach integer)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    finish timestamptz := clock_timestamp() + seconds * interval '1 second';
    first bigint;
    seen bigint;
    blocks bigint := 0;
BEGIN
    WHILE clock_timestamp() < finish LOOP
        first := 1 + floor(random() * (scale - reach));
        EXECUTE format('SELECT count(c2) FROM slob1.cf1 WHERE custid BETWEEN %s AND %s', first, first + reach) INTO seen;
        blocks := blocks + seen;
    END LOOP;
    RETURN blocks;
END $$"""


def like_pgio(server, scale, sessions, unit, seconds):
    """Rows that a loop of PL/pgSQL sees that plans each statement anew, as pgio does; it is not pgio."""
    return in_sessions(server, sessions, LIKE_PGIO, f"SELECT pg_temp.like_pgio({seconds}, {scale}, {unit - 1})")


def prepare_pgio(server, scale):
    """Its function, and a table as its setup makes it."""
    if server.ask("SELECT to_regclass('pgio1')"):
        return
    for name in "pgio_get_rand.sql", "pgio.sql":
        path = next((path for path in (f"{PGIO}/sql/{name}", f"{PGIO}/{name}") if os.path.exists(path)), None)
        if not path:
            raise Skip(f"{PGIO} has no {name}")
        run_command(["psql", "-Xq", server.url, "-f", path])
    load_like_pgio(server, scale, ["pgio1"], 1)


def pgio(server, scale, sessions, unit, seconds):
    """Rows that its function sees, each of whose SELECTs is of one row more than the batch it is called with."""
    call = f"mypgio('pgio1', 0, {seconds}, {scale}, {unit - 1}, 1)"
    return unit * in_sessions(server, sessions, f"SELECT sql_selects FROM {call}")


def like_pgio_load(server, scale, schemas, streams):
    """Seconds of pgio's way of loading, up to tables that are frozen and have statistics, as slob's are when its load ends."""
    tables = [f"like_pgio{number}" for number in range(1, schemas + 1)]
    took = load_like_pgio(server, scale, tables, streams)
    server.ask(f"DROP TABLE {', '.join(tables)}")
    return took


def load_like_pgio(server, scale, tables, streams):
    """A table of all rows in random order without a fill factor; then for each schema a table with fillfactor 10, its index
    made while it is empty, one INSERT ... SELECT, and a VACUUM: without it the first reads of a run write hints."""
    begun = time.monotonic()
    server.ask("CREATE TABLE like_pgio_base AS SELECT key::bigint AS mykey, (random() * 1000000000)::bigint AS scratch, "
               f"repeat('X', 1024)::char(1024) AS filler FROM generate_series(1, {scale}) AS key ORDER BY scratch")
    with ThreadPoolExecutor(streams) as pool:
        # The list waits for all, and ends with the error of any.
        list(pool.map(lambda table: server.ask(
            f"CREATE TABLE {table} WITH (fillfactor = 10) AS SELECT * FROM like_pgio_base LIMIT 0",
            f"CREATE INDEX {table}_idx ON {table} (mykey)", f"INSERT INTO {table} SELECT * FROM like_pgio_base",
            f"VACUUM (FREEZE, ANALYZE) {table}"), tables))
    took = time.monotonic() - begun
    for table in tables:
        blocks = int(server.ask(f"SELECT pg_relation_size('{table}') / {BLOCK}"))
        if abs(blocks - scale) * 100 > scale:
            raise RuntimeError(f"{table} has {blocks} blocks, not {scale}: there is nothing to compare")
    server.ask("DROP TABLE like_pgio_base")
    return took


PREPARED = """
function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("SET SESSION optimizer_switch = 'mrr=off'")
  statement = con:prepare("SELECT COUNT(c2) FROM slob1.cf1 FORCE INDEX (i_cf1) WHERE custid >= ? AND custid < ?")
  first, past = statement:bind_create(sysbench.sql.type.BIGINT), statement:bind_create(sysbench.sql.type.BIGINT)
  statement:bind_param(first, past)
end
done = 0
function event()
  local key = sysbench.rand.uniform(1, %(scale)d - %(unit)d + 1)
  first:set(key)
  past:set(key + %(unit)d)
  statement:execute()
  done = done + 1
end
function thread_done()
  print("done by a thread: " .. done)
end
"""


def prepared_rows(server, scale, sessions, unit, seconds, each=False):
    """Rows that sysbench sees, which sends slob's SELECT as a prepared statement; or the operations of `each` thread."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(PREPARED % {"scale": scale, "unit": unit})
        file.flush()
        said = run_command([need("sysbench"), file.name, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}",
                            "--mysql-user=root", "--mysql-db=slob1", f"--threads={sessions}", f"--time={seconds}", "run"])
    done = [int(line.rsplit(":", 1)[1]) for line in said.splitlines() if line.startswith("done by a thread:")]
    return done if each else sum(done) * unit
