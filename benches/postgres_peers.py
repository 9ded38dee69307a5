"""What the benches against PostgreSQL's peers share: the server, its CPU, slob's side of a pair, and the table."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

SLOB = os.environ.get("SLOB", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "target", "release", "slob"))
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A PostgreSQL server on this machine; `target` is what slob takes, a URL."""

    def __init__(self, target):
        self.target = target
        parts = urllib.parse.urlsplit(target)
        self.environment = dict(os.environ)
        if parts.password:
            # Not into a command line, where everybody could read it.
            self.environment["PGPASSWORD"] = urllib.parse.unquote(parts.password)
            login, hosts = parts.netloc.rsplit("@", 1)
            parts = parts._replace(netloc=f"{login.split(':')[0]}@{hosts}")
        self.url = urllib.parse.urlunsplit(parts)
        self.postmaster = self._postmaster()

    def database(self, name):
        """The URL of another database of this server."""
        return urllib.parse.urlunsplit(urllib.parse.urlsplit(self.url)._replace(path=f"/{name}"))

    def psql(self, *statements, url=None):
        commands = [word for statement in statements for word in ("-c", statement)]
        return run_command(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", *commands, url or self.url], self.environment)

    def describe(self):
        names = "server_version", "shared_buffers", "huge_pages", "track_io_timing"
        return ", ".join(f"{name} {self.psql(f'SHOW {name}').strip()}" for name in names)

    def _postmaster(self):
        command = ["psql", "-XqAt", self.url]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=self.environment) as client:
            client.stdin.write("SELECT pg_backend_pid();\n")
            client.stdin.flush()
            backend = client.stdout.readline().strip()
            if not backend:
                sys.exit("psql does not reach the server; see the message above")
            parent = read_stat(backend)
            client.stdin.close()
        if parent is None or not parent["name"].startswith("postgres"):
            sys.exit("the server is not on this machine: its CPU can't be read, which is what is compared here")
        return parent["parent"]

    def cpu_seconds(self):
        """User + system CPU of all processes of the server since it started, those that ended included."""
        # Clients that are gone leave backends that still end.
        time.sleep(0.5)
        while True:
            own = read_stat(self.postmaster)
            if own is None:
                sys.exit("the server was stopped")
            children = map(read_stat, filter(str.isdigit, os.listdir("/proc")))
            ticks = sum(stat["ticks"] for stat in children if stat and stat["parent"] == self.postmaster)
            again = read_stat(self.postmaster)
            # A process that ended in between would be counted twice or not at all.
            if again and again["ticks_of_ended"] == own["ticks_of_ended"]:
                return (again["ticks"] + again["ticks_of_ended"] + ticks) / TICKS


def client_seconds():
    """User + system CPU of all programs that this script started and that ended."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def read_stat(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            before, after = file.read().rsplit(")", 1)
    except OSError:
        return None
    fields = after.split()
    return {"name": before.split("(", 1)[1], "parent": int(fields[1]),
            "ticks": int(fields[11]) + int(fields[12]), "ticks_of_ended": int(fields[13]) + int(fields[14])}


def run_command(command, environment=None, folder=None):
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def slob(server, *arguments):
    with tempfile.TemporaryDirectory() as results:
        environment = {**os.environ, "SLOB_RESULTS_DIR": results, "SLOB_TARGET": server.target}
        return run_command([SLOB, *arguments], environment)


def slob_record(server, work_unit, sessions, options):
    """The record of a run that only reads."""
    flags = {"run-time": options.seconds, "warmup": 1, "update-pct": 0, "scan-pct": 0, "scale": options.scale,
             "work-unit": work_unit, "loop": options.loop}
    words = [f"--{key}={value}" for key, value in flags.items()]
    return json.loads(slob(server, "run", "--json", "-s", "1", "-t", str(sessions), *words))


def slob_side(server, work_unit, sessions, options):
    """Blocks per second, and per second of CPU of server and client, of a run of slob's measured window."""
    record = slob_record(server, work_unit, sessions, options)
    rows = sum(kind["rows"] for kind in record["operations"].values())
    if not record.get("db_cpu") or not record.get("client_cpu"):
        sys.exit("slob's record has no CPU of the server or of the client, so there is nothing to compare")
    cpus = record["db_cpu"]["cpu"], record["client_cpu"]
    return rows / record["window"]["seconds"], rows / sum(cpu["user_s"] + cpu["system_s"] for cpu in cpus)


def pairs(ours, theirs, count):
    """Measures both sides `count` times; who comes first changes from pair to pair."""
    for number in range(count):
        if number % 2:
            other = theirs()
            yield ours(), other
        else:
            own = ours()
            yield own, theirs()


def print_header(peer):
    print(f"\n{'':>20} {'blocks/s':>23} {'':>8}   {'blocks per CPU-s, both':>23}")
    print(f"{'WORK_UNIT':>9} {'sessions':>10} {'slob':>11} {peer:>11} {'ratio':>8}"
          f"   {'slob':>11} {peer:>11} {'ratio':>8} {'range':>12}")


def print_row(work_unit, sessions, measured):
    measured = list(measured)
    median = lambda side, i: statistics.median(pair[side][i] for pair in measured)
    ratios = [sorted(ours[i] / theirs[i] for ours, theirs in measured) for i in (0, 1)]
    print(f"{work_unit:>9} {sessions:>10} {median(0, 0):>11.0f} {median(1, 0):>11.0f} {statistics.median(ratios[0]):>8.2f}"
          f"   {median(0, 1):>11.0f} {median(1, 1):>11.0f} {statistics.median(ratios[1]):>8.2f}"
          f" {ratios[1][0]:>6.2f}-{ratios[1][-1]:.2f}", flush=True)


def add_arguments(parser):
    parser.add_argument("target", nargs="?", default=os.environ.get("TARGET"),
                        help="postgres://user@host:port/database of a server on this machine; default: TARGET")
    parser.add_argument("--scale", default="1G", help="size of slob1.cf1 (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser.add_argument("--work-units", type=numbers, default=[64, 16, 3])
    parser.add_argument("--sessions", type=numbers, default=sorted({1, os.cpu_count() or 1}))
    parser.add_argument("--loop", default="server", help="slob's LOOP (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="use slob1 as it is, and leave it there")


def open_server(options):
    if not options.target:
        sys.exit("name the server: postgres://user@host:port/database, as an argument or in TARGET")
    server = Server(options.target)
    print(server.describe())
    return server


class LoadedSchema:
    """slob1, loaded by slob and dropped at the end, unless it is to be kept. slob refuses to replace what is there."""

    def __init__(self, server, options):
        self.server, self.options = server, options

    def __enter__(self):
        if not self.options.keep:
            slob(self.server, "setup", "1", "--scale", self.options.scale)
        return int(self.server.psql("SELECT max(custid) FROM slob1.cf1"))

    def __exit__(self, *_):
        if not self.options.keep:
            slob(self.server, "drop", "--yes")
