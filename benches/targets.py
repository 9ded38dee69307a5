"""The databases of the benches: private servers on this machine, started when a row needs them, and what slob does on them."""

import json
import os
import pwd
import resource
import shutil
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SLOB = os.environ.get("SLOB", os.path.join(HERE, "..", "target", "release", "slob"))
TEST_SERVERS = os.path.join(HERE, "..", "target", "test-servers")
TICKS = os.sysconf("SC_CLK_TCK")
CPUS = len(os.sched_getaffinity(0))
# Started by root, slob works as this account, if it is set.
SLOB_ACCOUNT = os.environ.get("SLOB_ACCOUNT")


class Skip(Exception):
    """This machine lacks something that a row needs."""


def run_command(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def as_account(account, command):
    """The command of another account where root starts it."""
    if not account or os.getuid() != 0:
        return command
    return ["setpriv", f"--reuid={account}", f"--regid={pwd.getpwnam(account).pw_gid}", "--clear-groups", *command]


def program(*paths):
    found = next((path for path in paths if os.access(path, os.X_OK)), None)
    if not found:
        raise Skip(f"{paths[0]} is missing")
    return found


class Target:
    """What slob is pointed at.."""

    def __init__(self, folder, url):
        self.folder, self.url, self.loaded = folder, url, None
        os.makedirs(folder)
        # What slob writes is its account's.
        self.own = f"{folder}/own"
        os.mkdir(self.own)
        if SLOB_ACCOUNT:
            shutil.chown(self.own, SLOB_ACCOUNT)

    def slob(self, *words):
        environment = {**os.environ, "HOME": self.own, "SLOB_RESULTS_DIR": f"{self.own}/runs", "SLOB_TARGET": self.url}
        return run_command(as_account(SLOB_ACCOUNT, [SLOB, *words]), env=environment, cwd=self.own)

    def load(self, scale, schemas=1, streams=None):
        """Replaces what is loaded, unless it is just this. Returns the seconds it took."""
        wanted = scale, schemas
        if self.loaded == wanted:
            return 0.0
        self.drop()
        begun = time.monotonic()
        degree = ["--load-parallel-degree", str(streams)] if streams else []
        self.slob("setup", str(schemas), "--scale", scale, *degree)
        self.loaded = wanted
        return time.monotonic() - begun

    def drop(self):
        if self.loaded:
            self.slob("drop", "--yes")
        self.loaded = None

    def record(self, sessions, unit, seconds, **flags):
        """The record of a run that only reads."""
        schemas = min(sessions, self.loaded[1])
        flags = {"run-time": seconds, "warmup": 1, "update-pct": 0, "scan-pct": 0, "scale": self.loaded[0],
                 "work-unit": unit, **flags}
        words = [f"--{key.replace('_', '-')}={value}" for key, value in flags.items()]
        return json.loads(self.slob("run", "--json", "-s", str(schemas), "-t", str(sessions // schemas), *words))


class Sqlite(Target):
    def __init__(self, folder):
        super().__init__(folder, f"sqlite:{folder}/own/data")

    def stop(self):
        self.drop()


class Server(Target):
    """A server of this script's own. As root it runs as `account`; servers refuse root."""

    def __init__(self, folder, account, scheme, user, **settings):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        super().__init__(folder, f"{scheme}://{user}@127.0.0.1:{self.port}/{user if scheme == 'postgres' else ''}")
        self.account, self.settings, self.process = account, settings, None
        if os.getuid() == 0:
            os.chmod(folder, 0o755)
            owner = pwd.getpwnam(account)
            os.chown(folder, owner.pw_uid, owner.pw_gid)

    def as_account(self, command):
        return as_account(self.account, command)

    def start(self):
        with open(f"{self.folder}/log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder)
        for _ in range(600):
            if self.process.poll() is not None:
                break
            try:
                self.ask("SELECT 1")
                return
            except RuntimeError:
                time.sleep(0.1)
        self.stop()
        with open(f"{self.folder}/log", encoding="utf-8") as log:
            raise Skip(f"the server does not start: {log.read().strip().splitlines()[-1]}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(self.ENDS)
            self.process.wait()

    def set(self, **settings):
        """Restarts the server if it has other settings."""
        if self.settings != {**self.settings, **settings}:
            self.stop()
            self.settings = {**self.settings, **settings}
            self.start()

    def cost(self, work):
        """What `work` returns, for each CPU second of the server and of the programs that `work` started."""
        children = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before = self.cpu_seconds() + children()
        done = work()
        return done / (self.cpu_seconds() + children() - before)

    def cpu_seconds(self):
        """User and system CPU of all processes of the server since it started, those that ended included."""
        # Clients that are gone leave backends that still end.
        time.sleep(0.5)
        while True:
            own = read_stat(self.process.pid)
            others = map(read_stat, filter(str.isdigit, os.listdir("/proc")))
            ticks = sum(stat["ticks"] for stat in others if stat and stat["parent"] == self.process.pid)
            # A process that ended in between would be counted twice or not at all.
            if read_stat(self.process.pid)["of_ended"] == own["of_ended"]:
                return (own["ticks"] + own["of_ended"] + ticks) / TICKS


def read_stat(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return {"parent": int(fields[1]), "ticks": int(fields[11]) + int(fields[12]), "of_ended": int(fields[13]) + int(fields[14])}


class Postgres(Server):
    ENDS = 2  # SIGINT: fast shutdown

    def __init__(self, folder, version, **settings):
        self.programs = os.path.dirname(program(f"{TEST_SERVERS}/pg{version}/bin/postgres", f"/usr/lib/postgresql/{version}/bin/postgres"))
        super().__init__(folder, "postgres", "postgres", "postgres", max_connections=600, **settings)
        run_command(self.as_account([f"{self.programs}/initdb", "--no-sync", "--data-checksums", "--no-locale", "-Upostgres",
                                     "--auth=trust", "-D", f"{folder}/data"]), cwd=folder)
        self.start()

    def command(self):
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        return self.as_account([f"{self.programs}/postgres", "-D", f"{self.folder}/data", "-k", self.folder, "-h", "127.0.0.1",
                                "-p", str(self.port), *settings])

    def ask(self, *statements):
        commands = [word for statement in statements for word in ("-c", statement)]
        return run_command(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", *commands, self.url]).strip()

    def describe(self):
        return "PostgreSQL " + self.ask("SHOW server_version")


class MySql(Server):
    """MariaDB of this machine, or MySQL 9.7 in a root of its own."""

    ENDS = 15

    def __init__(self, folder, product, **settings):
        self.root = f"{TEST_SERVERS}/mysql-9.7" if product == "mysql" else ""
        self.server = "/usr/sbin/mysqld" if self.root else "/usr/sbin/mariadbd"
        program(self.root + self.server)
        # A root's programs need its libraries.
        self.outer = ["unshare", "--mount", "--propagation=private", "--", "sh", "-c", 'mount --bind "$0/usr" /usr && exec "$@"',
                      self.root] if self.root else []
        logs = {"innodb-redo-log-capacity": "512M", "mysqlx": "OFF", "secure-file-priv": ""} if self.root else {
            "innodb-log-file-size": "512M"}
        super().__init__(folder, "mysql", "mysql", "root", **{"max-connections": 600, "innodb-flush-method": "O_DIRECT", **logs, **settings})
        init = [self.server, "--no-defaults", "--initialize-insecure"] if self.root else [
            "mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]
        run_command(self.outer + self.as_account([*init, f"--datadir={folder}/data"]), cwd=folder)
        self.start()

    def command(self):
        settings = [f"--{name}={value}" for name, value in self.settings.items()]
        return self.outer + self.as_account([self.server, "--no-defaults", f"--datadir={self.folder}/data", f"--port={self.port}",
                                             f"--socket={self.folder}/s", "--bind-address=127.0.0.1", *settings])

    def ask(self, sql):
        return run_command(["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", "-NBe", sql]).strip()

    def describe(self):
        return self.ask("SELECT VERSION()")


def reads_per_s(record):
    return record["counters"]["physical_reads"] / record["window"]["seconds"]


def cpu(split):
    return split["user_s"] + split["system_s"]


def rows_of(record):
    """Rows are blocks."""
    return sum(kind["rows"] for kind in record["operations"].values())


def rows_per_cpu_s(record):
    """Rows for each CPU second of server and client within the window."""
    return rows_of(record) / (cpu(record["db_cpu"]["cpu"]) + cpu(record["client_cpu"]))


def own_cpu_pct(record):
    return cpu(record["client_cpu"]) / cpu(record["db_cpu"]["cpu"]) * 100


def operations_of_sessions(record):
    return [session["selects"] for session in record["sessions"]]
