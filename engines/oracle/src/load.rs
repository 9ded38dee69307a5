//! Schemas and their rows: creating, loading, completing, removing, reading back.
//!
//! A slice and its mark are one transaction. A direct-path INSERT locks its table until the commit, so one stream loads each
//! schema.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadProgress, Result, Slice};
use slob_method::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowView, SchemaNo, Table};
use slob_server::{check_all_keys, chunks, column_list};

use crate::client::{Bind, Client, During, Fault, failed, number, text};
use crate::database::{Connections, Role};
use crate::options::Accounts;
use crate::passwords::NewPassword;
use crate::schemas::{self, made_user, marked, refuse_kit, slice_mark};
use crate::statements::{
    BEGIN_LOAD, COMPLETE_LOAD, DROP_USER, GRANT_USER, INDEX, LAYOUT, MARK_SLICE, SchemaSql, fill, load_binds,
    scans_by_cache,
};

const SMALLEST_BLOCK: u32 = 4096;
const LARGEST_BLOCK: u32 = 32_768;
/// 'user name conflicts with another user or role name'.
const USER_EXISTS: i32 = 1920;
/// 'name is already used by an existing object'.
const EXISTS: i32 = 955;
/// 'table or view does not exist'.
const MISSING: i32 = 942;
/// 'cannot drop a user that is currently connected'. The server notices late that sessions are gone.
const CONNECTED: i32 = 1940;
/// 'user lacks CREATE SESSION privilege', after a check of the password.
const NO_SESSION: &str = "ORA-01045";
/// 'invalid username/password', 'lacks CREATE SESSION', 'the account is locked', 'the password has expired'.
const LOCKED_OUT: [&str; 4] = ["ORA-01017", NO_SESSION, "ORA-28000", "ORA-28001"];
/// 'insufficient privileges'.
const NOT_ALLOWED: &str = "ORA-01031";
const DROP_ATTEMPTS: u32 = 20;
const DROP_AGAIN: Duration = Duration::from_millis(500);

fn sql_of(connections: &Connections, schema: SchemaNo) -> SchemaSql {
    SchemaSql::new(&connections.options, schema)
}

/// Creates the account too, if a load is to create accounts.
pub(crate) fn create(
    connections: &Connections,
    load: &Load,
    schema: SchemaNo,
    block_bytes: u32,
) -> Result<()> {
    let sql = sql_of(connections, schema);
    let step = format!("creating {}", sql.user);
    refuse_kit(connections, schema, &step)?;
    refuse_block(block_bytes, &step)?;
    let creates_user = connections.options.accounts == Accounts::Create;
    if creates_user {
        connections.with(Role::Admin, |client| create_user(client, connections, &sql, schema, &step))?;
    }
    connections.with(Role::Schema(schema), |client| {
        if !creates_user && sql.tablespace.is_none() {
            let own = client.value(include_str!("../sql/own_tablespace.sql")).during(&step)?;
            own.map_or(Ok(()), |name| refuse_system_tablespace(&name, &step))?;
        }
        for (done, statement) in sql.create().iter().enumerate() {
            if let Err(fault) = client.execute(statement, &[]) {
                // Without the marker nothing could drop these tables later.
                sql.undo(done).iter().for_each(|statement| drop(client.execute(statement, &[])));
                return Err(failed(&step, &fault));
            }
        }
        client.execute(&sql.fill(BEGIN_LOAD), &load_binds(load, creates_user)).during(&step)?;
        client.commit().during(&step)
    })
}

fn refuse_system_tablespace(tablespace: &str, step: &str) -> Result<()> {
    if !["SYSTEM", "SYSAUX"].contains(&tablespace) {
        return Ok(());
    }
    let message =
        format!("no tablespace is named, and the default one is {tablespace}, which is the server's own");
    Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "name one for the data: `slob setup TABLESPACE SCHEMAS`; `slob oracle init` prints how it is made",
    ))
}

pub(crate) fn refuse_block(block_bytes: u32, step: &str) -> Result<()> {
    let message = match block_bytes {
        SMALLEST_BLOCK..=LARGEST_BLOCK => return Ok(()),
        ..SMALLEST_BLOCK => {
            format!("a row of {ROW_BYTES} bytes does not fit into a block of {block_bytes}")
        }
        _ => format!("there are no blocks of {block_bytes} bytes"),
    };
    Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "name a tablespace with blocks of 4 KiB or more, 32 at most, and their size as BLOCK_SZ",
    ))
}

fn create_user(
    client: &mut dyn Client,
    connections: &Connections,
    sql: &SchemaSql,
    schema: SchemaNo,
    step: &str,
) -> Result<()> {
    let own = client.value(include_str!("../sql/own_tablespace.sql")).during(step)?;
    // An invisible default is replaced by that of this account.
    let default = client.value(include_str!("../sql/default_tablespace.sql")).unwrap_or(own);
    let default = default.unwrap_or_else(|| "USERS".into());
    if sql.tablespace.is_none() {
        refuse_system_tablespace(&default, step)?;
    }
    let NewPassword { password, is_known } = connections.passwords.create(&sql.user)?;
    // No error and no log repeats the password.
    match client.execute(&sql.create_user(password.expose(), &default), &[]) {
        // An interrupted load created it.
        Err(fault)
            if fault.code == Some(USER_EXISTS) && is_known && is_ours_and_empty(connections, schema) => {}
        Err(fault) if fault.code == Some(USER_EXISTS) => {
            if !is_known {
                connections.passwords.remove(&sql.user)?;
            }
            return Err(failed(step, &fault).with_advice(format!(
                "the account {} is there, without a finished mark of ours: if it is not needed, a DBA drops it; else choose other names with ORACLE_PREFIX, or set ORACLE_ACCOUNTS=existing",
                sql.user
            )));
        }
        created => created.during(step)?,
    }
    client.execute(&sql.fill(GRANT_USER), &[]).during(step)
}

/// An earlier load made up the password that works.
fn is_ours_and_empty(connections: &Connections, schema: SchemaNo) -> bool {
    match connections.connect(Role::Schema(schema)) {
        Ok(mut client) => client.visible_number(include_str!("../sql/objects.sql")) == Some(0),
        // The load was interrupted before GRANT.
        Err(error) => error.code() == Some(NO_SESSION),
    }
}

pub(crate) fn load_slice(
    client: &mut dyn Client,
    connections: &Connections,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
) -> Result<()> {
    let sql = sql_of(connections, slice.schema);
    let step = format!("loading {}.{}", sql.user, slice.table.name());
    connections
        .require_mark(slice.schema, || schemas::one(client, connections, slice.schema, &step).map(drop))?;
    let cancellation = client.cancellation();
    let mut rows = SliceRows::new(load, slice, progress);
    let inserted = thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let cancellation = &cancellation;
        // The server may be at work on thousands of rows.
        scope.spawn(move || {
            while is_done.recv_timeout(STOP_POLL) == Err(RecvTimeoutError::Timeout) {
                if progress.stopped() {
                    connections.cancel(cancellation);
                }
            }
        });
        let inserted = insert(client, &sql, slice, &mut rows);
        drop(done);
        inserted
    });
    inserted.map_err(|fault| {
        let _ = client.rollback();
        if progress.stopped() {
            return EngineError::new(ErrorKind::Cancelled, step.as_str(), STOPPED);
        }
        failed(&step, &fault)
    })
}

fn insert(
    client: &mut dyn Client,
    sql: &SchemaSql,
    slice: &Slice,
    rows: &mut SliceRows<'_>,
) -> Result<(), Fault> {
    client.insert(&sql.insert_rows(slice.table), rows)?;
    client.execute(&sql.fill(MARK_SLICE), &slice_mark(slice).map(Bind::count))?;
    client.commit()
}

const STRIDE_ROWS: u64 = 64;
const STOP_POLL: Duration = Duration::from_millis(250);
const STOPPED: &str = "the load was stopped";

pub(crate) struct SliceRows<'a> {
    rows: slob_server::SliceRows,
    slice: &'a Slice,
    position: u64,
    progress: &'a LoadProgress,
}

impl<'a> SliceRows<'a> {
    fn new(load: &Load, slice: &'a Slice, progress: &'a LoadProgress) -> Self {
        let rows = slob_server::SliceRows::new(load, slice, 0);
        Self { rows, slice, position: slice.positions.start, progress }
    }

    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.slice.positions.end - self.slice.positions.start).unwrap_or(usize::MAX)
    }

    /// c2 to c20 follow the key. Fails if the load is stopped.
    pub(crate) fn next_row(&mut self) -> Result<Option<(i64, [&str; COLUMNS])>, Fault> {
        let done = self.position - self.slice.positions.start;
        if done.is_multiple_of(STRIDE_ROWS) && self.progress.stopped() {
            return Err(Fault::new(None, STOPPED));
        }
        if self.position >= self.slice.positions.end {
            return Ok(None);
        }
        let custid = self.rows.fill(self.position);
        self.position += 1;
        self.progress.add(1);
        let (columns, _) = self.rows.text.as_chunks::<COLUMN_BYTES>();
        let columns = std::array::from_fn(|index| std::str::from_utf8(&columns[index]).unwrap_or_default());
        Ok(Some((i64::try_from(custid).unwrap_or(i64::MAX), columns)))
    }
}

pub(crate) fn finish(connections: &Connections, load: &Load, schema: SchemaNo) -> Result<Layout> {
    let sql = sql_of(connections, schema);
    let step = format!("completing {}", sql.user);
    let (found, others) = connections.with(Role::Admin, |client| {
        let found = schemas::one(client, connections, schema, &step)?;
        Ok((found, marked(client, &connections.options.prefix, &step)?))
    })?;
    if let Some(layout) = found.state.before_finish(load, schema, &step)? {
        return Ok(layout);
    }
    share_first(connections, schema, &others, &step)?;
    connections.with(Role::Schema(schema), |client| {
        match client.execute(&sql.fill(INDEX), &[]) {
            // An interrupted call created it.
            Err(fault) if fault.code == Some(EXISTS) => {}
            created => created.during(&step)?,
        }
        for table in [Table::Main, Table::Scan] {
            client.execute(&sql.statistics(table), &[]).during(&step)?;
        }
        clean_out(client, &sql).during(&step)?;
        let layout = count_blocks(client, load, &sql, &step)?;
        let binds = [layout.rows, layout.row_blocks, layout.all_blocks].map(Bind::count);
        client.execute(&sql.fill(COMPLETE_LOAD), &binds).during(&step)?;
        client.commit().during(&step)?;
        Ok(layout)
    })
}

/// Whichever of two schemas is completed last grants access to the hot schema.
fn share_first(connections: &Connections, schema: SchemaNo, others: &[SchemaNo], step: &str) -> Result<()> {
    let first = sql_of(connections, SchemaNo::FIRST);
    let to: Vec<SchemaNo> = match schema {
        SchemaNo::FIRST => others.iter().copied().filter(|other| *other != schema).collect(),
        _ if others.contains(&SchemaNo::FIRST) => vec![schema],
        _ => Vec::new(),
    };
    if to.is_empty() {
        return Ok(());
    }
    // Owners may always grant.
    connections.with(Role::Schema(SchemaNo::FIRST), |client| {
        let mut grants = to.iter().flat_map(|other| first.share_with(&connections.user(*other)));
        grants.try_for_each(|grant| client.execute(&grant, &[]).during(step))
    })
}

/// The first reader of a block after its commit makes redo and leaves it dirty, so read it now, by the buffer cache.
fn clean_out(client: &mut dyn Client, sql: &SchemaSql) -> Result<(), Fault> {
    if client.execute(scans_by_cache(true), &[]).is_err() {
        return Ok(());
    }
    for table in [Table::Main, Table::Scan] {
        client.query(&sql.clean_out(table), &[])?;
    }
    client.execute(scans_by_cache(false), &[])
}

fn count_blocks(client: &mut dyn Client, load: &Load, sql: &SchemaSql, step: &str) -> Result<Layout> {
    let mut query = |sql: &str| {
        let rows = client.query(sql, &[]).during(step)?;
        Ok::<_, EngineError>(rows.into_iter().next().unwrap_or_default())
    };
    let (counted, segments) = (query(&sql.fill(LAYOUT))?, query(include_str!("../sql/segments.sql"))?);
    let [rows, first_key, last_key, row_blocks] =
        [0, 1, 2, 3].map(|column| number(&counted, column).unwrap_or(0));
    let all_blocks = number(&segments, 0).unwrap_or(0);
    check_all_keys(load, [rows, first_key, last_key], step)?;
    Ok(Layout { rows, row_blocks, all_blocks })
}

/// Without CASCADE, an account with objects of others stays.
pub(crate) fn drop_schema(connections: &Connections, schema: SchemaNo) -> Result<()> {
    let sql = sql_of(connections, schema);
    let step = format!("removing {}", sql.user);
    refuse_kit(connections, schema, &step)?;
    let drop_tables = |client: &mut dyn Client| {
        sql.drop_tables().iter().try_for_each(|statement| match client.execute(statement, &[]) {
            // An interrupted call dropped it.
            Err(fault) if fault.code == Some(MISSING) => Ok(()),
            dropped => dropped.during(&step),
        })
    };
    let made_user = connections.with(Role::Admin, |client| made_user(client, connections, schema, &step))?;
    match connections.with(Role::Schema(schema), drop_tables) {
        // The mark lets the administrator drop it too.
        Err(error) if is_locked_out(connections, &sql.user, &error)? => {
            connections.with(Role::Admin, drop_tables).map_err(|error| match error.code() {
                Some(NOT_ALLOWED) => error.with_advice(format!(
                    "the password of {} is lost: GRANT DROP ANY TABLE to the account that drops, or name SYSTEM",
                    sql.user
                )),
                _ => error,
            })?;
        }
        dropped => dropped?,
    }
    connections.forget(schema);
    if made_user {
        connections.with(Role::Admin, |client| drop_user(client, &sql).during(&step))?;
        connections.passwords.remove(&sql.user)?;
    }
    Ok(())
}

/// The password is lost, wrong or unusable.
fn is_locked_out(connections: &Connections, user: &str, error: &EngineError) -> Result<bool> {
    let is_refused = error.code().is_some_and(|code| LOCKED_OUT.contains(&code));
    Ok(is_refused || connections.passwords.find(user)?.is_none())
}

fn drop_user(client: &mut dyn Client, sql: &SchemaSql) -> Result<(), Fault> {
    for _ in 1..DROP_ATTEMPTS {
        match client.execute(&sql.fill(DROP_USER), &[]) {
            Err(fault) if fault.code == Some(CONNECTED) => thread::sleep(DROP_AGAIN),
            dropped => return dropped,
        }
    }
    client.execute(&sql.fill(DROP_USER), &[])
}

/// A list may hold a thousand.
const KEYS: u64 = 256;

/// Rows of the original kit can't be verified.
pub(crate) fn read_rows(
    client: &mut dyn Client,
    connections: &Connections,
    slice: &Slice,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<()> {
    let &Slice { schema, table, ref positions } = slice;
    let user = connections.user(schema);
    let step = format!("reading {user}.{}", table.name());
    if connections.options.accounts == Accounts::Kit {
        let message = "what the original kit loaded can't be verified";
        return Err(EngineError::new(ErrorKind::Usage, step, message));
    }
    let load = schemas::one(client, connections, schema, &step)?.load;
    let scatter = load.scatter(schema);
    for chunk in chunks(positions, load.rows(table), KEYS) {
        let key = |position: u64| if table == Table::Main { scatter.key_at(position) } else { position };
        let keys: Vec<String> = chunk.map(|position| key(position).to_string()).collect();
        let (names, keys) = (column_list(), keys.join(", "));
        let values = [("names", &*names), ("user", &user), ("table", table.name()), ("keys", &keys)];
        let query = fill(include_str!("../sql/read_rows.sql"), &values);
        for row in client.query(&query, &[]).during(&step)? {
            let custid = number(&row, 0).unwrap_or(0);
            let position = if table == Table::Main { scatter.position_of(custid) } else { custid };
            let columns = std::array::from_fn(|column| text(&row, column + 1).unwrap_or_default().as_bytes());
            visit(&RowView { position, custid, columns, filler: &[] });
        }
    }
    Ok(())
}
