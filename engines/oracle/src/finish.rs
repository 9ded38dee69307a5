//! Completing a schema, and removing one.

use std::thread;
use std::time::Duration;

use slob_engine::{EngineError, Layout, Load};
use slob_method::{SchemaNo, Table};
use slob_server::all_there;

use crate::catalog::{self, number};
use crate::client::{Bind, Client, Fault};
use crate::connector::{Connector, Who};
use crate::error::failed;
use crate::kit;
use crate::link::Links;
use crate::options::Accounts;
use crate::tables::Tables;

/// 'name is already used by an existing object'.
const EXISTS: i32 = 955;
/// 'table or view does not exist'.
const MISSING: i32 = 942;
/// 'cannot drop a user that is currently connected': the server needs a moment to see that sessions are gone.
const CONNECTED: i32 = 1940;
/// 'invalid username/password', 'lacks CREATE SESSION', 'the account is locked', 'the password has expired'.
const LOCKED_OUT: [&str; 4] = ["ORA-01017", "ORA-01045", "ORA-28000", "ORA-28001"];
/// 'insufficient privileges'.
const MAY_NOT: &str = "ORA-01031";
const MOST_TRIES: u32 = 20;
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Completes a schema whose slices are all there: index, statistics, and the right of the other schemas to work in the
/// first one. Counts rows and blocks.
///
/// # Errors
/// If rows are missing, or anything can't be made.
pub(crate) fn finish(
    links: &Links,
    connector: &Connector,
    load: &Load,
    schema: SchemaNo,
    tablespace: Option<&str>,
) -> Result<Layout, EngineError> {
    let tables = Tables::new(&connector.prefix, schema, tablespace);
    let step = format!("completing {}", tables.user);
    let (known, others) = links.with(connector, Who::Admin, |client| {
        let known = catalog::schema(client, connector, schema, &step)?;
        Ok((known, catalog::marked(client, &connector.prefix, &step)?))
    })?;
    if let Some(layout) = known.state.state.before_finish(load, schema, &step)? {
        return Ok(layout);
    }
    share(links, connector, schema, &others, &step)?;
    links.with(connector, Who::Schema(schema), |client| {
        let fail = |fault: Fault| failed(step.as_str(), &fault);
        let made = client.execute(&tables.index(), &[]);
        if made.as_ref().is_err_and(|fault| fault.code != Some(EXISTS)) {
            made.map_err(fail)?;
        }
        for table in [Table::Main, Table::Scan] {
            client.execute(&tables.statistics(table), &[]).map_err(fail)?;
        }
        let layout = look(client, load, &tables, &step)?;
        let values = [layout.rows, layout.row_blocks, layout.all_blocks].map(Bind::count);
        client.execute(&tables.complete_load(), &values).map_err(fail)?;
        client.commit().map_err(fail)?;
        Ok(layout)
    })
}

/// Operations on the hot schema come from every account: whichever of two schemas is completed last sees to it.
fn share(
    links: &Links,
    connector: &Connector,
    schema: SchemaNo,
    others: &[SchemaNo],
    step: &str,
) -> Result<(), EngineError> {
    let first = Tables::new(&connector.prefix, SchemaNo::FIRST, None);
    let to: Vec<SchemaNo> = match schema {
        SchemaNo::FIRST => others.iter().copied().filter(|other| *other != schema).collect(),
        _ if others.contains(&SchemaNo::FIRST) => vec![schema],
        _ => Vec::new(),
    };
    if to.is_empty() {
        return Ok(());
    }
    // As the owner of the tables, who may grant in any case.
    links.with(connector, Who::Schema(SchemaNo::FIRST), |client| {
        to.iter()
            .flat_map(|other| first.share_with(&connector.prefix.user(*other)))
            .try_for_each(|sql| client.execute(&sql, &[]).map(drop).map_err(|fault| failed(step, &fault)))
    })
}

/// Counts rows and blocks.
fn look(client: &mut dyn Client, load: &Load, tables: &Tables, step: &str) -> Result<Layout, EngineError> {
    let mut ask = |sql: &str| {
        let rows = client.query(sql, &[]).map_err(|fault| failed(step, &fault))?;
        Ok::<_, EngineError>(rows.into_iter().next().unwrap_or_default())
    };
    let row = ask(&tables.layout())?;
    let all_blocks = number(&ask(include_str!("../sql/segments.sql"))?, 0).unwrap_or(0);
    let value = |column: usize| number(&row, column).unwrap_or(0);
    all_there(load, [value(0), value(1), value(2)], step)?;
    Ok(Layout { rows: value(0), row_blocks: value(3), all_blocks })
}

/// Removes a schema: our tables by name, then the account if a load made it, without CASCADE: what others put there is
/// not removed with it.
///
/// # Errors
/// If it is not ours, in use, or holds objects that are not ours.
pub(crate) fn drop_schema(links: &Links, connector: &Connector, schema: SchemaNo) -> Result<(), EngineError> {
    let tables = Tables::new(&connector.prefix, schema, None);
    let step = format!("removing {}", tables.user);
    if connector.accounts == Accounts::Kit {
        return Err(kit::untouchable(&connector.prefix, schema, &step));
    }
    let fail = |fault: Fault| failed(step.as_str(), &fault);
    let drop_tables = |client: &mut dyn Client| {
        for sql in tables.drop() {
            match client.execute(&sql, &[]) {
                // Cut off after some of them, it goes on with the rest.
                Err(fault) if fault.code == Some(MISSING) => {}
                result => drop(result.map_err(fail)?),
            }
        }
        Ok(())
    };
    let made_user =
        links.with(connector, Who::Admin, |client| catalog::made_user(client, connector, schema, &step))?;
    match links.with(connector, Who::Schema(schema), drop_tables) {
        // It carries our mark, and whoever made it may drop it too.
        Err(error) if is_locked_out(connector, &tables.user, &error)? => {
            links.with(connector, Who::Admin, drop_tables).map_err(|error| match error.code() {
                Some(MAY_NOT) => error.with_advice(format!(
                    "the password of {} is lost: GRANT DROP ANY TABLE to the account that drops, or name SYSTEM",
                    tables.user
                )),
                _ => error,
            })?;
        }
        result => result?,
    }
    links.close(schema);
    if made_user {
        links.with(connector, Who::Admin, |client| drop_user(client, &tables).map_err(fail))?;
        connector.passwords.forget(&tables.user)?;
    }
    Ok(())
}

/// Whether an account could not be opened because its password is lost, wrong or of no use.
fn is_locked_out(connector: &Connector, user: &str, error: &EngineError) -> Result<bool, EngineError> {
    let refused = error.code().is_some_and(|code| LOCKED_OUT.contains(&code));
    Ok(refused || connector.passwords.find(user)?.is_none())
}

fn drop_user(client: &mut dyn Client, tables: &Tables) -> Result<(), Fault> {
    let mut tries = 1;
    loop {
        match client.execute(&tables.drop_user(), &[]) {
            Err(fault) if fault.code == Some(CONNECTED) && tries < MOST_TRIES => {
                tries += 1;
                thread::sleep(TRY_AGAIN);
            }
            result => return result.map(drop),
        }
    }
}
