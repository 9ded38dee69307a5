//! What happens before the sessions of a run are opened.

use slob_engine::{EngineError, RunPlan};
use slob_server::Limit;

use crate::catalog::{number, text};
use crate::client::{Client, Row};
use crate::connector::Who;
use crate::database::Database;
use crate::error::failed;
use crate::plans;

/// Processes that this program and the server may need beside the sessions.
const OTHERS: u64 = 10;
const COUNTING: &str = "counting processes";
/// 'insufficient privileges', and 'table or view does not exist', which is the same for those who may not see it.
const DENIED: [i32; 2] = [1031, 942];

/// Writes out what is dirty, and refuses a run that would not do what it says. Returns what the account could not do.
///
/// # Errors
/// [`slob_engine::ErrorKind::Usage`] if a plan is not single-block I/O, or there is no room for the sessions.
pub(crate) fn prepare(database: &Database, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
    let mut notes: Vec<String> = database.connector.driver().note.into_iter().collect();
    notes.extend(database.scope.note());
    notes.extend(database.count(|client| check_limits(client, database, run))?);
    database.links.with(&database.connector, Who::Admin, |client| {
        for schema in run.schemas {
            plans::check(client, &database.connector, *schema)?;
        }
        notes.extend(checkpoint(client)?);
        Ok(notes)
    })
}

/// There must be room for the sessions. V$RESOURCE_LIMIT answers nothing in a pluggable database; the parameters are seen
/// there, and so are processes and sessions, if not those of others.
fn check_limits(
    client: &mut dyn Client,
    database: &Database,
    run: &RunPlan<'_>,
) -> Result<Option<String>, EngineError> {
    let limits_of = [include_str!("../sql/limits.sql"), include_str!("../sql/parameter_limits.sql")];
    for sql in limits_of {
        match client.query(&database.views.fill(sql), &[]) {
            Ok(rows) => {
                let limits: Vec<Limit> = limits(&rows).collect();
                limits.iter().try_for_each(|limit| limit.check(run.sessions, OTHERS, COUNTING))?;
                if !rows.is_empty() {
                    return Ok(None);
                }
            }
            Err(fault) if fault.code.is_some_and(|code| DENIED.contains(&code)) => {}
            Err(fault) => return Err(failed(COUNTING, &fault)),
        }
    }
    let note = "Neither V$RESOURCE_LIMIT nor V$PARAMETER, V$PROCESS and V$SESSION tell this account the limits, so it is not known \
                whether there is room for all sessions: GRANT SELECT_CATALOG_ROLE to it.";
    Ok(Some(note.into()))
}

/// `processes` and `sessions` are limits of each instance; sessions spread evenly.
fn limits(rows: &[Row]) -> impl Iterator<Item = Limit> {
    rows.iter().filter_map(|row| {
        // UNLIMITED is not a number.
        let (name, in_use, most) = (text(row, 0)?, number(row, 1)?, number(row, 2)?);
        let instances = number(row, 3).unwrap_or(1);
        let remedy = format!("raise {name} and restart the instance");
        let name = if instances > 1 { format!("{name} of {instances} instances") } else { name.to_owned() };
        Some(Limit { name, most: most * instances, reserved: 0, in_use, remedy })
    })
}

/// What RDS offers where ALTER SYSTEM is granted to nobody.
const OF_RDS: &str = include_str!("../sql/rds_checkpoint.sql");

fn checkpoint(client: &mut dyn Client) -> Result<Option<String>, EngineError> {
    match client.execute("ALTER SYSTEM CHECKPOINT", &[]) {
        Ok(_) => Ok(None),
        Err(fault) if fault.code.is_some_and(|code| DENIED.contains(&code)) => {
            // Elsewhere there is no such procedure.
            Ok(client.execute(OF_RDS, &[]).is_err().then(|| {
                "The account may not make a checkpoint, so blocks left dirty by earlier work may be written during the run: GRANT ALTER SYSTEM to it, or name another with DBA_PRIV_USER; on RDS, EXECUTE on rdsadmin.rdsadmin_util.".into()
            }))
        }
        Err(fault) => Err(failed("making a checkpoint", &fault)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instance_has_its_limits() {
        let row = |most: &str, instances: &str| -> Row {
            ["processes", "90", most, instances].iter().map(|text| Some((*text).to_owned())).collect()
        };
        let refused = |row: Row, sessions| {
            let refused = limits(&[row]).find_map(|limit| limit.check(sessions, OTHERS, COUNTING).err());
            refused.map(|error| error.to_string())
        };
        assert_eq!(refused(row("300", "1"), 200), None);
        let error = refused(row("300", "1"), 201).unwrap();
        assert!(error.contains("at most 200 sessions"), "{error}");
        assert_eq!(refused(row("300", "2"), 400), None, "two instances have twice the room");
        assert_eq!(refused(row("UNLIMITED", "1"), 4000), None);
    }
}
