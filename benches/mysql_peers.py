"""What the benches against MySQL's peers share: the server, its CPU, and slob's side of a pair."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import urllib.parse

SLOB = os.environ.get("SLOB", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "target", "release", "slob"))
TICKS = os.sysconf("SC_CLK_TCK")


def run_command(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """A MySQL or MariaDB server on this machine; `target` is what slob takes, a URL."""

    def __init__(self, target):
        if not target:
            sys.exit("name the server: mysql://user@127.0.0.1:port, as an argument or in SLOB_TARGET")
        self.target = target
        parts = urllib.parse.urlsplit(target)
        self.host, self.port, self.user = parts.hostname, parts.port or 3306, parts.username or "root"
        self.password = urllib.parse.unquote(parts.password or "")
        self.environment = {**os.environ, "MYSQL_PWD": self.password}
        version, pool, method, pid_file, folder = self.ask(
            "SELECT VERSION(), @@innodb_buffer_pool_size >> 20, @@innodb_flush_method, @@pid_file, @@datadir").split("\t")
        self.flush_method = method
        print(f"{version}, innodb_buffer_pool_size {pool} MiB, innodb_flush_method {method}")
        with open(os.path.join(folder, pid_file), encoding="utf-8") as file:
            self.pid = int(file.read())

    def ask(self, sql):
        client = next((name for name in ("mariadb", "mysql") if not subprocess.run(
            ["which", name], capture_output=True, check=False).returncode), None)
        if not client:
            sys.exit("neither mariadb nor mysql, the client, is installed")
        return run_command([client, "--no-defaults", f"-h{self.host}", f"-P{self.port}", f"-u{self.user}", "--protocol=tcp",
                            "-N", "-B", "-e", sql], env=self.environment).strip()

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def cost(self, work):
        """What `work` returns, per CPU second of server and client."""
        children = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before = self.cpu_seconds(), children()
        done = work()
        return done / (self.cpu_seconds() - before[0] + children() - before[1])


def slob(server, *arguments):
    with tempfile.TemporaryDirectory() as results:
        environment = {**os.environ, "SLOB_RESULTS_DIR": results, "SLOB_TARGET": server.target}
        return run_command([SLOB, *arguments], env=environment)


def slob_record(server, unit, sessions, options, warmup=0, place="server"):
    """The record of a run that only reads."""
    flags = {"run-time": options.seconds, "warmup": warmup, "update-pct": 0, "scan-pct": 0, "scale": options.scale,
             "work-unit": unit, "loop": place}
    words = [f"--{key}={value}" for key, value in flags.items()]
    return json.loads(slob(server, "run", "--json", "-s", "1", "-t", str(sessions), *words))


def pairs(ours, theirs, count):
    """Measures both sides `count` times; who comes first changes from pair to pair."""
    for number in range(count):
        if number % 2:
            other = theirs()
            yield ours(), other
        else:
            own = ours()
            yield own, theirs()


def add_arguments(parser, scale, sessions):
    parser.add_argument("target", nargs="?", default=os.environ.get("SLOB_TARGET"),
                        help="mysql://user@127.0.0.1:port of a server on this machine; default: SLOB_TARGET")
    parser.add_argument("--scale", default=scale, help="size of slob1.cf1 (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--sessions", type=numbers, default=sessions)


def numbers(text):
    return [int(number) for number in text.split(",")]
