//! Creating a schema and loading its slices.
//!
//! A slice is one array INSERT by direct path, and its mark is in the same transaction. Such an insert locks its table
//! until the commit, so a schema is loaded by one stream at a time; streams of different schemas don't meet.

use slob_engine::{EngineError, ErrorKind, Load, LoadProgress, Slice};
use slob_method::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, Scatter, SchemaNo, Table};

use crate::catalog;
use crate::client::{Bind, Client, Fault, NewRow, NewRows};
use crate::connector::{Connector, Who};
use crate::error::failed;
use crate::kit;
use crate::link::Links;
use crate::options::Accounts;
use crate::passwords::Made;
use crate::tables::{Tables, load_binds};

/// Rows between two looks at whether to stop.
const STRIDE_ROWS: u64 = 64;
/// A row of 2.5 KB must fit into a block.
const SMALLEST_BLOCK: u32 = 4096;
/// There are none above.
const LARGEST_BLOCK: u32 = 32_768;
/// The error of an insert that was told to stop.
const STOPPED: &str = "the load was stopped";
const USER_EXISTS: i32 = 1920;
/// 'user lacks CREATE SESSION privilege', which is said to those who know the password.
const NO_SESSION: &str = "ORA-01045";

/// What a schema is made with.
pub(crate) struct Making<'a> {
    pub(crate) connector: &'a Connector,
    pub(crate) links: &'a Links,
    pub(crate) tablespace: Option<&'a str>,
    pub(crate) block_bytes: u32,
}

/// Makes an empty, marked schema, and its account where we make them.
///
/// # Errors
/// If an account or tables of that name exist, or can't be made.
pub(crate) fn create(making: &Making<'_>, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
    let Making { connector, links, tablespace, block_bytes } = *making;
    let tables = Tables::new(&connector.prefix, schema, tablespace);
    let step = format!("creating {}", tables.user);
    if connector.accounts == Accounts::Kit {
        return Err(kit::untouchable(&connector.prefix, schema, &step));
    }
    refuse_block(block_bytes, &step)?;
    let make_user = connector.accounts == Accounts::Create;
    if make_user {
        links.with(connector, Who::Admin, |client| create_user(client, connector, &tables, schema, &step))?;
    }
    links.with(connector, Who::Schema(schema), |client| {
        let fail = |fault: Fault| failed(step.as_str(), &fault);
        if !make_user && tablespace.is_none() {
            let rows = client.query(include_str!("../sql/own_tablespace.sql"), &[]).map_err(fail)?;
            rows.iter().flatten().flatten().try_for_each(|name| refuse_systems_own(name, &step))?;
        }
        let texts = tables.create();
        for (done, sql) in texts.iter().enumerate() {
            if let Err(fault) = client.execute(sql, &[]) {
                // Without its mark nothing here could be dropped later. What was made a moment ago is ours.
                tables.undo(done).iter().for_each(|sql| drop(client.execute(sql, &[])));
                return Err(fail(fault));
            }
        }
        client.execute(&tables.begin_load(), &load_binds(load, make_user)).map_err(fail)?;
        client.commit().map_err(fail)
    })
}

/// Tables of a test have no place among the server's own.
fn refuse_systems_own(tablespace: &str, step: &str) -> Result<(), EngineError> {
    if !["SYSTEM", "SYSAUX"].contains(&tablespace) {
        return Ok(());
    }
    let message =
        format!("no tablespace is named, and the default one is {tablespace}, which is the server's own");
    Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "name one for the data: `slob setup TABLESPACE SCHEMAS`; `slob oracle init` prints how it is made",
    ))
}

/// Blocks that hold no row, or that the database does not have.
pub(crate) fn refuse_block(block_bytes: u32, step: &str) -> Result<(), EngineError> {
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
    connector: &Connector,
    tables: &Tables,
    schema: SchemaNo,
    step: &str,
) -> Result<(), EngineError> {
    let rows =
        client.query(include_str!("../sql/own_tablespace.sql"), &[]).map_err(|fault| failed(step, &fault))?;
    // What new accounts get, or, where that may not be seen, what this one has.
    let rows = client.query(include_str!("../sql/default_tablespace.sql"), &[]).unwrap_or(rows);
    let default = rows.into_iter().flatten().flatten().next().unwrap_or_else(|| "USERS".into());
    if tables.tablespace().is_none() {
        refuse_systems_own(&default, step)?;
    }
    let Made { password, known } = connector.passwords.make(&tables.user)?;
    // The text with the password goes to the server alone: no error and no log repeats it.
    match client.execute(&tables.create_user(password.expose(), &default), &[]) {
        // Cut off after it made the account, a load goes on with it.
        Err(fault) if fault.code == Some(USER_EXISTS) && known && is_ours_and_empty(connector, schema) => {}
        Err(fault) if fault.code == Some(USER_EXISTS) => {
            if !known {
                connector.passwords.forget(&tables.user)?;
            }
            return Err(failed(step, &fault).with_advice(format!(
                "the account {} is there, without a finished mark of ours: if it is not needed, a DBA drops it; else choose other names with ORACLE_PREFIX, or set ORACLE_ACCOUNTS=existing",
                tables.user
            )));
        }
        result => drop(result.map_err(|fault| failed(step, &fault))?),
    }
    client.execute(&tables.grant_user(), &[]).map_err(|fault| failed(step, &fault))?;
    Ok(())
}

/// Whether an account opens with the random password that an earlier load gave it, and nothing is in it yet.
fn is_ours_and_empty(connector: &Connector, schema: SchemaNo) -> bool {
    let mut client = match connector.connect(Who::Schema(schema)) {
        Ok(client) => client,
        // Its password is right, and it has not been given any right yet.
        Err(error) => return error.code() == Some(NO_SESSION),
    };
    let rows = client.query(include_str!("../sql/objects.sql"), &[]).unwrap_or_default();
    rows.first().and_then(|row| catalog::number(row, 0)) == Some(0)
}

/// Loads a slice and marks it.
///
/// # Errors
/// [`ErrorKind::Cancelled`] if the load was stopped; the slice is then not there.
pub(crate) fn load_slice(
    client: &mut dyn Client,
    connector: &Connector,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
) -> Result<(), EngineError> {
    let tables = Tables::new(&connector.prefix, slice.schema, None);
    let step = format!("loading {}.{}", tables.user, slice.table.name());
    catalog::schema(client, connector, slice.schema, &step)?;
    let result = insert(client, &tables, load, slice, progress);
    result.map_err(|fault| {
        // What is not committed goes with the connection, which is closed after an error.
        let _ = client.rollback();
        if progress.stopped() && fault.message == STOPPED {
            return EngineError::new(ErrorKind::Cancelled, step.as_str(), STOPPED);
        }
        failed(step.as_str(), &fault)
    })
}

fn insert(
    client: &mut dyn Client,
    tables: &Tables,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
) -> Result<(), Fault> {
    let mut rows = SliceRows::new(load, slice, progress);
    client.insert(&tables.insert_rows(slice.table), &mut rows)?;
    client.execute(&tables.mark_slice(), &catalog::mark(slice).map(Bind::count))?;
    client.commit()
}

/// The rows of a slice, made as they are asked for.
struct SliceRows<'a> {
    content: RowContent,
    scatter: Option<Scatter>,
    slice: &'a Slice,
    position: u64,
    progress: &'a LoadProgress,
    bytes: [u8; ROW_BYTES],
}

impl<'a> SliceRows<'a> {
    fn new(load: &Load, slice: &'a Slice, progress: &'a LoadProgress) -> Self {
        Self {
            content: load.content(),
            scatter: (slice.table == Table::Main).then(|| load.scatter(slice.schema)),
            slice,
            position: slice.positions.start,
            progress,
            bytes: [0; ROW_BYTES],
        }
    }
}

impl NewRows for SliceRows<'_> {
    fn next(&mut self, take: &mut dyn FnMut(&NewRow<'_>) -> Result<(), Fault>) -> Result<bool, Fault> {
        let done = self.position - self.slice.positions.start;
        if done.is_multiple_of(STRIDE_ROWS) && self.progress.stopped() {
            return Err(Fault::new(None, STOPPED));
        }
        if self.position >= self.slice.positions.end {
            return Ok(false);
        }
        let custid = self.scatter.as_ref().map_or(self.position, |scatter| scatter.key_at(self.position));
        self.content.fill_row(self.slice.table, self.slice.schema, custid, &mut self.bytes);
        let columns: Vec<&str> = (0..COLUMNS)
            .filter_map(|column| {
                std::str::from_utf8(&self.bytes[column * COLUMN_BYTES..(column + 1) * COLUMN_BYTES]).ok()
            })
            .collect();
        take(&NewRow { custid: i64::try_from(custid).unwrap_or(i64::MAX), columns })?;
        self.position += 1;
        self.progress.add(1);
        Ok(true)
    }

    fn count(&self) -> usize {
        usize::try_from(self.slice.positions.end - self.slice.positions.start).unwrap_or(usize::MAX)
    }
}
