"""A database behind Oracle's wire protocol: tables of OpenSLOB's layout, and answers to the statements of its Oracle engine.

It knows those statements and no SQL: what it does not recognise is ORA-00900, so that a new statement of the engine is noticed.
A description (a JSON file beside this one) holds what differs between releases and services. Figures grow with the work, by a
simple model: each row is a block, and each block is read from storage.
"""

import json
import re
import threading
import time
from pathlib import Path

from seerdb.common import tns_consts
from seerdb.server import BackendError, BindVar, ColumnMeta, Result
from seerdb.server.backend import SessionInfo

ROW = 'custid ' + ' '.join(f'c{column}' for column in range(2, 21))
# Characters of an operation in a batch, and of its result.
WIDTH = 30
# Directions of a block's variables on the wire.
OUT, IN, IN_OUT = 16, 32, 48
DIRECTIONS = {'work': IN_OUT, 'run_us': IN, 'stamps': IN}
MESSAGES = {
    28: 'your session has been killed',
    904: 'invalid identifier',
    942: 'table or view does not exist',
    955: 'name is already used by an existing object',
    1013: 'user requested cancel of current operation',
    1031: 'insufficient privileges',
    1555: 'snapshot too old: rollback segment number with name "" too small',
    1918: 'user does not exist',
    1920: 'user name conflicts with another user or role name',
    1922: 'CASCADE must be specified to drop this user',
    1940: 'cannot drop a user that is currently connected',
    65040: 'operation not allowed from within a pluggable database',
}


def fault(code, message=None):
    return BackendError(message or MESSAGES.get(code, 'as the test asked for'), ora_code=code)


def plain(value):
    return value.value if isinstance(value, BindVar) else value


def answer(names, rows):
    """A result set. Columns of texts are VARCHAR2, all others NUMBER."""
    rows = [tuple(row) for row in rows]

    def column(place, name):
        texts = [row[place] for row in rows if isinstance(row[place], str)]
        if not texts:
            return ColumnMeta(name=name.upper().encode(), data_type=tns_consts.TNS_TYPE_NUMBER, data_length=22, max_size=22)
        size = 4 * max(1, *map(len, texts))
        return ColumnMeta(name=name.upper().encode(), data_type=tns_consts.TNS_TYPE_VARCHAR, data_length=size, max_size=size)

    columns = [column(place, name) for place, name in enumerate(names.split())]
    return Result(columns=columns, rows=rows, rowcount=len(rows))


def describe(name):
    """A description. It takes from another what it does not say itself; lists are put before those of the other."""
    own = json.loads((Path(__file__).parent / f'{name}.json').read_text())
    if 'like' not in own:
        return own
    other = describe(own.pop('like'))
    for key, value in own.items():
        if isinstance(value, dict):
            value = {**other.get(key, {}), **value}
        elif isinstance(value, list):
            value = value + other.get(key, [])
        other[key] = value
    return other


class Table:
    def __init__(self, pool='DEFAULT'):
        self.rows, self.pool = {}, pool
        # Keys whose blocks no reader has cleaned out since their load.
        self.unclean = set()


class Instance:
    """What one instance counts."""

    def __init__(self, number, description):
        self.number = number
        self.statistics = dict(description['statistics'])
        self.events = {name: [0, 0] for name in description['events']}

    def count(self, **figures):
        for name, value in figures.items():
            self.statistics[name.replace('_', ' ')] += value

    def wait(self, event, waits, time_us):
        self.events[event][0] += waits
        self.events[event][1] += time_us


class Database:
    """What all sessions share."""

    def __init__(self, description, instances=1):
        self.description = description
        self.lock = threading.RLock()
        self.users = {'SYSTEM': 'manager'}
        self.tables = {}
        self.marked = set()
        self.sessions = {}
        self.dirty = 0
        self.snapshots = 0
        self.instances = [Instance(number + 1, description) for number in range(instances)]
        if 'kit' in description:
            self.add_kit(description['kit'])

    def add_kit(self, kit):
        """Accounts and tables of the original kit."""
        for number in range(1, kit['accounts'] + 1):
            user = f'USER{number}'
            self.users[user] = user.lower()
            for name, count in kit['rows'].items():
                table = self.tables[user, name] = Table('KEEP')
                table.rows = {key: ['x' * 128] * 19 for key in range(1, count + 1)}

    def table(self, owner, name):
        table = self.tables.get((owner.upper(), name.upper()))
        if table is None:
            raise fault(942)
        return table


class Session:
    """One connection: what the wire's server calls for each statement."""

    capabilities = frozenset()

    def __init__(self, database, instance, script):
        self.database, self.instance, self.script = database, instance, script
        self.field_version = database.description['wire']
        self.user, self.pending, self.is_busy = None, [], False
        self.scans_by_cache = False
        self.cancelled = threading.Event()
        with database.lock:
            self.number = 100 + len(database.sessions)
            database.sessions[self.number] = self

    def session_info(self):
        return SessionInfo(session_id=self.number, serial_num=7, instance_name='orcl', db_name='ORCL', service_name='pdb1')

    def authenticate(self, user):
        self.user = user.upper()
        return self.database.users.get(self.user)

    def commit(self):
        with self.database.lock:
            for table, key, columns in self.pending:
                table.rows[key] = columns
                table.unclean.add(key)
            self.pending = []
            self.instance.count(user_commits=1)

    def rollback(self):
        self.pending = []

    def close(self):
        self.user = None

    def execute_many(self, sql, rows):
        self.script.statement(self, sql, rows[0], len(rows))
        match = re.match(r'INSERT /\*\+ APPEND_VALUES \*/ INTO (\w+)\.(\w+) ', sql)
        if not match:
            raise fault(900, f'no array statement is known that begins with {sql[:60]}')
        with self.database.lock:
            table = self.database.table(match[1], match[2])
            self.pending += [(table, int(row[0]), [str(plain(value)) for value in row[1:]]) for row in rows]
        return len(rows)

    def execute(self, sql, binds=()):
        binds = list(binds)
        if 'APPEND_VALUES' in sql:
            return Result(rowcount=self.execute_many(sql, [binds]))
        self.script.statement(self, sql, binds)
        words = ' '.join(sql.split())
        lower = words.lower()
        for refused in self.database.description['refuses']:
            if refused['statement'] in lower:
                raise fault(refused['code'], refused.get('message'))
        if lower.startswith('declare') and ':work' in lower:
            self.is_busy = True
            try:
                return Batch(self, words, binds).run()
            finally:
                self.is_busy = False
        with self.database.lock:
            for given in self.database.description['answers']:
                if given['to'] in lower:
                    return answer(given['columns'], given['rows'])
            for pattern, handler in STATEMENTS:
                match = pattern.search(words)
                if match:
                    return handler(self, match, [plain(bind) for bind in binds], words) or Result()
        raise fault(900, f'no statement is known that begins with {words[:60]}')

    def pause(self, seconds):
        if self.cancelled.wait(seconds):
            self.cancelled.clear()
            raise fault(1013)

    def clean_out(self, table, keys):
        """The first reader of a block after its load makes redo, and leaves it dirty. It returns how many there were."""
        unclean = table.unclean.intersection(keys)
        table.unclean -= unclean
        self.instance.statistics['cleanouts only - consistent read gets'] += len(unclean)
        self.instance.count(redo_size=72 * len(unclean))
        self.database.dirty += len(unclean)

    def instances(self, sql):
        """The instances that a view shows, with the number that the first column gives them."""
        if 'FROM gv$' in sql:
            return [(instance.number, instance) for instance in self.present()]
        return [(1, self.instance)]

    def present(self):
        return [instance for instance in self.database.instances if not self.script.has_lost(instance)]

    def con_id(self, sql):
        """The last column of a view, if the statement asks for it."""
        container = self.database.description['container']
        return (('con_id', [container['id']]) if 'con_id' in sql and container else ('', []))


class Batch:
    """The block that executes a batch, by its branches and the names of its variables."""

    def __init__(self, session, block, binds):
        self.session, self.database, self.instance = session, session.database, session.instance
        unquoted = re.sub(r"'[^']*'", "''", block)
        self.names = list(dict.fromkeys(re.findall(r':(\w+)', unquoted)))
        if set(self.names) - {'stamps'} != {'work', 'run_us', 'took_us', 'error_code', 'error_text'}:
            raise fault(6550, f'line 1, column 1:\nPLS-00201: a block with the variables {self.names} is unknown')
        self.given = dict(zip(self.names, map(plain, binds)))
        self.sleeps = 'SLEEP(' in block
        branches = re.findall(r"IF kind = (\d) THEN ((?:SELECT|UPDATE) .*?);(.*?)(?=ELSIF|END IF)", block)
        self.branches = {kind: self.branch(sql, after) for kind, sql, after in branches}
        self.is_open = False
        self.begun = time.monotonic()

    def branch(self, sql, after):
        place = re.search(r'(?:FROM|UPDATE /\*.*?\*/) (?:(\w+)\.)?(cf[12]) t', sql)
        tails = {int(column): tail for column, tail in re.findall(r"t\.c(\d+) = stamp \|\| '([^']*)'", sql)}
        waits = 'COMMIT WRITE IMMEDIATE WAIT' in after
        return place[1] or self.session.schema, place[2], tails, 'COMMIT' in after, waits

    def now(self):
        step = self.database.description['clock_step_us']
        return int((time.monotonic() - self.begun) * 1e6) // step * step

    def run(self):
        work, stamps, run_us = (self.given.get(name) or '' for name in ['work', 'stamps', 'run_us'])
        results, error = [], (0, None)
        try:
            for number in range(len(work) // WIDTH):
                started = self.now()
                if run_us != '' and started >= int(run_us):
                    break
                self.session.script.operation(self.session, number)
                op = work[number * WIDTH:(number + 1) * WIDTH]
                first, keys, pause_us = int(op[1:16]), int(op[16:20]), int(op[20:30])
                counted = self.operate(op[0], first, first + keys, stamps[number * 16:(number + 1) * 16])
                results.append((started, self.now(), counted))
                if self.sleeps and pause_us:
                    self.session.pause(pause_us / 1e6)
            if self.is_open:
                with self.database.lock:
                    self.commit(True)
        except BackendError as fatal:
            # No exception handler receives these.
            if fatal.ora_code in (28, 1013):
                raise
            error = (-fatal.ora_code, fatal.ora_message)
        text = ''.join(f'{number:010X}' for result in results for number in result)
        given = {'work': text or None, 'took_us': self.now(), 'error_code': error[0], 'error_text': error[1]}
        values = [given.get(name, self.given[name]) for name in self.names]
        return Result(out_binds=values, bind_directions=tuple(DIRECTIONS.get(name, OUT) for name in self.names))

    def operate(self, kind, first, end, stamp):
        self.session.pause(0)
        time.sleep(self.database.description['operation_s'])
        owner, name, tails, commits, waits = self.branches[kind]
        with self.database.lock:
            table = self.database.table(owner, name)
            keys = list(table.rows) if name == 'cf2' else [key for key in range(first, end) if key in table.rows]
            for key in keys if tails else ():
                for column, tail in tails.items():
                    table.rows[key][column - 2] = stamp + tail
            self.count(table, keys, len(tails))
            if commits:
                self.commit(waits)
            elif tails:
                self.is_open = True
        return len(keys)

    def commit(self, waits):
        self.is_open = False
        self.instance.count(user_commits=1, redo_writes=1)
        if waits:
            self.instance.count(redo_synch_writes=1)
            self.instance.wait('log file sync', 1, 400)

    def count(self, table, keys, columns):
        instance, blocks = self.instance, len(keys)
        self.session.clean_out(table, keys)
        redo = 0
        instance.count(
            session_logical_reads=blocks + 3, physical_reads=blocks, physical_read_IO_requests=blocks,
            physical_read_bytes=blocks * 8192,
        )
        instance.wait('db file sequential read', blocks, 150 * blocks)
        if columns:
            redo += blocks * (300 + 280 * columns)
        instance.count(redo_size=redo)
        self.database.dirty += blocks if columns else 0


# Statements, by a pattern. The first that is found counts.
STATEMENTS = []


def on(pattern):
    def known(handler):
        STATEMENTS.append((re.compile(pattern, re.IGNORECASE), handler))
        return handler
    return known


@on(r'^ALTER SYSTEM CANCEL SQL \'(\d+), \d+(?:, @\d+)?\'')
def cancel(session, match, binds, sql):
    other = session.database.sessions.get(int(match[1]))
    if other is None or not other.is_busy:
        raise fault(26, 'missing or invalid session ID')
    other.cancelled.set()


@on(r'^ALTER SYSTEM CHECKPOINT|rdsadmin_util\.checkpoint')
def checkpoint(session, match, binds, sql):
    written, session.database.dirty = session.database.dirty, 0
    session.instance.count(
        physical_writes=written, physical_write_bytes=written * 8192, background_checkpoints_completed=1,
    )
    session.instance.wait('db file parallel write', 1, 900)


@on(r'^ALTER SESSION SET "_serial_direct_read" = (NEVER|AUTO)')
def serial_direct_read(session, match, binds, sql):
    session.scans_by_cache = match[1] == 'NEVER'


@on(r'^SELECT /\*\+ FULL\(t\) \*/ COUNT\(t\.c2\) AS row_count FROM (\w+)\.(cf[12]) t')
def full_scan(session, match, binds, sql):
    table = session.database.table(match[1], match[2])
    if session.scans_by_cache:
        session.clean_out(table, table.rows)
    return answer('row_count', [(len(table.rows),)])


@on(r'^DECLARE latest NUMBER; moment NUMBER; step NUMBER;')
def clock_step(session, match, binds, sql):
    return Result(out_binds=[session.database.description['clock_step_us']], bind_directions=(OUT,))


@on(r'^ALTER SESSION SET CURRENT_SCHEMA = (\w+)')
def current_schema(session, match, binds, sql):
    session.schema = match[1].upper()


@on(r'^(ALTER SESSION|GRANT|EXPLAIN PLAN|BEGIN DBMS_STATS\.GATHER_TABLE_STATS)')
def accepted(session, match, binds, sql):
    pass


@on(r'^CREATE USER (\w+) IDENTIFIED BY "([^"]+)"')
def create_user(session, match, binds, sql):
    if match[1] in session.database.users:
        raise fault(1920)
    session.database.users[match[1]] = match[2]


@on(r'^DROP USER (\w+)$')
def drop_user(session, match, binds, sql):
    database = session.database
    if any(owner == match[1] for owner, _ in database.tables):
        raise fault(1922)
    if any(other.user == match[1] for other in database.sessions.values()):
        raise fault(1940)
    if database.users.pop(match[1], None) is None:
        raise fault(1918)


@on(r'^CREATE TABLE (\w+)\.(\w+)')
def create_table(session, match, binds, sql):
    place = (match[1].upper(), match[2].upper())
    if place in session.database.tables:
        raise fault(955)
    pool = re.search(r'BUFFER_POOL (\w+)', sql)
    session.database.tables[place] = Table(pool[1]) if pool else Table()


@on(r'SELECT t\.buffer_pool FROM all_tables')
def buffer_pool(session, match, binds, sql):
    return answer('buffer_pool', [(session.database.table(binds[0], 'cf1').pool,)])


@on(r'^DROP TABLE (\w+)\.(\w+) PURGE')
def drop_table(session, match, binds, sql):
    owner, name = match[1].upper(), match[2].upper()
    session.database.table(owner, name)
    del session.database.tables[owner, name]
    if name == 'CF1':
        session.database.tables.pop((owner, 'I_CF1'), None)
    if name == 'SLOB_LOAD':
        session.database.marked.discard(owner)


@on(r'^CREATE UNIQUE INDEX (\w+)\.i_cf1')
def create_index(session, match, binds, sql):
    place = (match[1].upper(), 'I_CF1')
    if place in session.database.tables:
        raise fault(955)
    session.database.tables[place] = Table()


@on(r"^COMMENT ON TABLE (\w+)\.slob_load IS 'OpenSLOB")
def mark(session, match, binds, sql):
    session.database.marked.add(match[1].upper())


@on(r'^INSERT INTO (\w+)\.slob_(load|slice) ')
def insert_mark(session, match, binds, sql):
    table = session.database.table(match[1], 'slob_' + match[2])
    columns = [str(binds[0]), *map(int, binds[1:5]), None, None, None, int(binds[5])] if match[2] == 'load' else map(int, binds)
    session.pending.append((table, len(table.rows), list(columns)))
    return Result(rowcount=1)


@on(r'^UPDATE (\w+)\.slob_load SET')
def complete_load(session, match, binds, sql):
    for row in session.database.table(match[1], 'slob_load').rows.values():
        row[5:8] = map(int, binds)
    return Result(rowcount=1)


@on(r"FROM all_tables t INNER JOIN all_indexes i .* i.index_name = 'I_CF1'")
def kit(session, match, binds, sql):
    tables = [(key, len(table.rows)) for key, table in session.database.tables.items() if key[0].startswith(binds[0])]
    return answer('owner table_name num_rows blocks', [(*key, count, count + 8) for key, count in tables])


@on(r'MAX\(t\.custid\) AS last_key')
def kit_keys(session, match, binds, sql):
    place = re.compile(r'SELECT (\d+) AS schema_number.*? FROM (\w+)\.cf1 t\) m .*? FROM \w+\.(cf2)')
    count = lambda owner, name: len(session.database.table(owner, name).rows)
    rows = [(int(number), count(owner, 'cf1'), count(owner, name)) for number, owner, name in place.findall(sql)]
    return answer('schema_number last_key scan_rows', rows)


@on(r'FROM all_tab_comments')
def marked(session, match, binds, sql):
    return answer('owner', [(owner,) for owner in sorted(session.database.marked) if owner.startswith(binds[0])])


@on(r'FROM \w+\.slob_(load l|slice s)')
def markers(session, match, binds, sql):
    rows = []
    for number, owner, name in re.findall(r'SELECT (\d+) AS schema_number,.*? FROM (\w+)\.(slob_load|slob_slice)', sql):
        rows += [(int(number), *row) for row in session.database.table(owner, name).rows.values()]
    if match[1] == 'load l':
        return answer('schema_number seed scale scan_blocks obfuscated slice_rows row_count row_blocks all_blocks made_user', rows)
    return answer('schema_number is_scan first_position end_position', rows)


@on(r'COUNT\(custid\) AS row_count.* FROM (\w+)\.cf1')
def layout(session, match, binds, sql):
    keys = session.database.table(match[1], 'cf1').rows
    return answer('row_count first_key last_key row_blocks', [(len(keys), min(keys), max(keys), len(keys))])


@on(r'FROM user_segments')
def segments(session, match, binds, sql):
    tables = session.database.tables.items()
    blocks = sum(8 + len(table.rows) for (owner, _), table in tables if owner == session.user)
    return answer('all_blocks', [(blocks,)])


@on(r'FROM user_objects')
def objects(session, match, binds, sql):
    return answer('objects', [(sum(owner == session.user for owner, _ in session.database.tables),)])


@on(r'^SELECT custid, c2.* FROM (\w+)\.(cf[12]) WHERE custid IN \(([^)]*)\)')
def read_rows(session, match, binds, sql):
    rows = session.database.table(match[1], match[2]).rows
    keys = [int(key) for key in match[3].split(',')]
    return answer(ROW, [(key, *rows[key]) for key in keys if key in rows])


@on(r'FROM plan_table')
def plan(session, match, binds, sql):
    return answer('operation options', session.database.description['plan'])


@on(r"SELECT version(_full)? FROM product_component_version")
def version(session, match, binds, sql):
    return answer('version', [(session.database.description['full_release' if match[1] else 'release'],)])


@on(r"'CON_NAME'")
def container(session, match, binds, sql):
    found = session.database.description['container']
    return answer('container con_id', [(found['name'], str(found['id']))])


@on(r"SYS_CONTEXT\('USERENV', 'INSTANCE'\)")
def instance_number(session, match, binds, sql):
    return answer('instance_number', [(str(session.instance.number),)])


@on(r'FROM gv\$instance')
def instances(session, match, binds, sql):
    return answer('instances', [(len(session.present()),)])


@on(r'^SELECT name, display_value(, isdefault)?.* FROM g?v\$parameter WHERE')
def parameters(session, match, binds, sql):
    name, values = session.con_id(sql)
    more = ['FALSE'] if match[1] else []
    rows = [(key, value, *more, *values) for key, value in session.database.description['parameters'].items()]
    return answer('name display_value ' + ('isdefault ' if match[1] else '') + name, rows)


@on(r"FROM v\$parameter WHERE name = '(\w+)'")
def parameter(session, match, binds, sql):
    value = session.database.description['parameters'].get(match[1])
    return answer('value', [(value,)] if value is not None else [])


@on(r'FROM g?v\$parameter p INNER JOIN')
def room(session, match, binds, sql):
    count = len(session.database.instances)
    return answer('name in_use most instances', [('processes', 60, '640', count), ('sessions', 70, '984', count)])


@on(r'^SELECT (name|event|stat_name), .*FROM g?v\$(sysstat|system_event|sys_time_model)$')
def whole_view(session, match, binds, sql):
    """The views of a capture, as they are."""
    name, values = session.con_id(sql)
    if match[2] == 'sysstat':
        return answer('name value ' + name, [(*row, *values) for row in session.instance.statistics.items()])
    if match[2] == 'sys_time_model':
        return answer('stat_name value ' + name, [('DB time', 5000000, *values), ('DB CPU', 1200000, *values)])
    rows = [(event, of, *figures, *figures, *values) for event, of, figures in waits(session, session.instance)]
    return answer('event wait_class total_waits time_waited_micro total_waits_fg time_waited_micro_fg ' + name, rows)


def waits(session, instance):
    classes = session.database.description['events']
    return [(event, classes[event], figures) for event, figures in instance.events.items()]


@on(r'FROM g?v\$sysstat WHERE name IN \((.*?)\)')
def statistics(session, match, binds, sql):
    name, values = session.con_id(sql)
    wanted = re.findall(r"'([^']*)'", match[1])
    rows = [
        (number, statistic, instance.statistics[statistic], *values)
        for number, instance in session.instances(sql) for statistic in wanted if statistic in instance.statistics
    ]
    return answer('instance_number name value ' + name, rows)


@on(r'FROM g?v\$system_event')
def system_event(session, match, binds, sql):
    name, values = session.con_id(sql)
    rows = [
        (number, event, of, *((0, 0, *figures) if of == 'System I/O' else (*figures, 0, 0)), *values)
        for number, instance in session.instances(sql) for event, of, figures in waits(session, instance)
    ]
    return answer('instance_number event wait_class waits time_us own_waits own_time_us ' + name, rows)


@on(r'FROM g?v\$sys_time_model')
def time_model(session, match, binds, sql):
    name, values = session.con_id(sql)
    rows = [
        (number, stat, value, *values)
        for number, _ in session.instances(sql) for stat, value in [('DB time', 5000000), ('DB CPU', 1200000)]
    ]
    return answer('instance_number stat_name value ' + name, rows)


@on(r'FROM g?v\$event_histogram(_micro)? ')
def histogram(session, match, binds, sql):
    name, values = session.con_id(sql)
    bound = 512 if match[1] else 1000
    rows = [
        (number, event, bound, figures[0], *values)
        for number, instance in session.instances(sql) for event, _, figures in waits(session, instance)
    ]
    return answer('instance_number event wait_time_micro waits ' + name, rows)


@on(r'FROM g?v\$iostat_function')
def iostat_function(session, match, binds, sql):
    name, values = session.con_id(sql)
    rows = [(number, 'Buffer Cache Reads', 10, 2000, *values) for number, _ in session.instances(sql)]
    return answer('instance_number function_name waits time_us ' + name, rows)


@on(r':answer := (DBMS_WORKLOAD_REPOSITORY\.CREATE_SNAPSHOT|PERFSTAT\.STATSPACK\.SNAP)')
def snapshot(session, match, binds, sql):
    session.database.snapshots += 1
    return Result(out_binds=[session.database.snapshots], bind_directions=(OUT,))


@on(r'FROM dba_hist_snapshot')
def snapshots(session, match, binds, sql):
    return answer('dbid instance_number', [(1234567890, instance.number) for instance in session.present()])


@on(r'FROM TABLE\(DBMS_WORKLOAD_REPOSITORY\.AWR_(GLOBAL_)?REPORT_(TEXT|HTML)')
def awr_report(session, match, binds, sql):
    title = f"AWR {'global ' if match[1] else ''}report of {binds[1]}, {binds[2]} to {binds[3]}"
    return answer('output', [(title,), (None,), ('End of Report',)])
