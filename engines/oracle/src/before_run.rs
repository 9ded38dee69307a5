//! Before a run: room for its sessions, plans that read block by block, and a checkpoint.

use slob_engine::{EngineError, ErrorKind, Result, RunPlan, lock};
use slob_method::SchemaNo;
use slob_server::Limit;

use crate::client::{Bind, Client, During, Row, number, text};
use crate::counters::Unwanted;
use crate::database::{Connections, Database};
use crate::statements::{PLAN_ID, explain};

/// This program and the server need these.
const OTHERS: u64 = 10;
const COUNTING: &str = "counting processes";
/// 'insufficient privileges'; 'table or view does not exist', the error of views that the account may not see.
const DENIED: [i32; 2] = [1031, 942];

/// Returns notes on what the account may not do.
pub(crate) fn prepare(database: &Database, run: &RunPlan<'_>) -> Result<Vec<String>> {
    let mut notes: Vec<String> = database.connections.driver.note().into_iter().collect();
    notes.extend(database.scope.note());
    notes.extend(database.connections.refused_settings());
    notes.extend(database.with_counters(|client| check_limits(client, database, run))?);
    database.as_admin(|client| {
        for schema in run.schemas {
            check_plan(client, &database.connections, *schema)?;
        }
        notes.extend(checkpoint(client));
        Ok(())
    })?;
    let unwanted = Unwanted::count(database).map(|unwanted| (unwanted, run.redo.is_some()));
    *lock(&database.watched) = unwanted;
    Ok(notes)
}

pub(crate) fn look_back(database: &Database) -> Vec<String> {
    let watched = lock(&database.watched).take();
    let notes = |(before, updates)| Some(Unwanted::count(database)?.notes_since(before, updates));
    watched.and_then(notes).unwrap_or_default()
}

/// V$RESOURCE_LIMIT has no rows in a pluggable database, where parameters, processes and sessions are visible.
fn check_limits(client: &mut dyn Client, database: &Database, run: &RunPlan<'_>) -> Result<Option<String>> {
    for sql in [include_str!("../sql/limits.sql"), include_str!("../sql/parameter_limits.sql")] {
        match client.query(&database.views.fill(sql), &[]) {
            Err(fault) if fault.is_one_of(&DENIED) => {}
            rows => {
                let rows = rows.during(COUNTING)?;
                limits(&rows).try_for_each(|limit| limit.check(run.sessions, OTHERS, COUNTING))?;
                if !rows.is_empty() {
                    return Ok(None);
                }
            }
        }
    }
    let note = "Neither V$RESOURCE_LIMIT nor V$PARAMETER, V$PROCESS and V$SESSION tell this account the limits, so it is not known \
                whether there is room for all sessions: GRANT SELECT_CATALOG_ROLE to it.";
    Ok(Some(note.into()))
}

/// These limits are of each instance; sessions spread evenly.
fn limits(rows: &[Row]) -> impl Iterator<Item = Limit> {
    rows.iter().filter_map(|row| {
        let (name, in_use, most) = (text(row, 0)?, number(row, 1)?, number(row, 2)?);
        let instances = number(row, 3).unwrap_or(1);
        let remedy = format!("raise {name} and restart the instance");
        let name = if instances > 1 { format!("{name} of {instances} instances") } else { name.to_owned() };
        Some(Limit { name, most: most * instances, reserved: 0, in_use, remedy })
    })
}

fn check_plan(client: &mut dyn Client, connections: &Connections, schema: SchemaNo) -> Result<()> {
    let user = connections.user(schema);
    let step = format!("looking at the plan of a SELECT in {user}");
    client.execute(&explain(&user), &[]).during(&step)?;
    let rows = client.query(include_str!("../sql/plan.sql"), &[Bind::Text(PLAN_ID.into())]).during(&step)?;
    client.rollback().during(&step)?;
    let line = |row: &Row| [0, 1].map(|column| text(row, column).unwrap_or_default()).join(" ");
    let plan: Vec<String> = rows.iter().map(|row| line(row).trim().to_owned()).collect();
    let has = |step: &str| plan.iter().any(|line| line == step);
    // BATCHED reads the blocks of several rows together.
    if has("INDEX RANGE SCAN") && has("TABLE ACCESS BY INDEX ROWID") {
        return Ok(());
    }
    let message = format!("it does not go from the index to one block after the other: {}", plan.join(", "));
    Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "gather statistics of CF1 with DBMS_STATS, drop SQL profiles, patches and plan baselines of it, and see that hints are not ignored",
    ))
}

/// A run without it only has more writes: a failure is a note.
fn checkpoint(client: &mut dyn Client) -> Option<String> {
    let fault = client.execute("ALTER SYSTEM CHECKPOINT", &[]).err()?;
    // RDS grants ALTER SYSTEM to no account.
    client.execute(include_str!("../sql/rds_checkpoint.sql"), &[]).err()?;
    Some(format!(
        "No checkpoint was made ({}), so blocks left dirty by earlier work may be written during the run: GRANT ALTER SYSTEM to the account, or name another with DBA_PRIV_USER; on RDS, EXECUTE on rdsadmin.rdsadmin_util.",
        fault.message.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instance_has_its_limits() {
        let refused = |row: &str, sessions| {
            let rows = crate::tests::rows(row);
            let refused = limits(&rows).find_map(|limit| limit.check(sessions, OTHERS, COUNTING).err());
            refused.map(|error| error.to_string())
        };
        assert_eq!(refused("processes | 90 | 300 | 1", 200), None);
        let error = refused("processes | 90 | 300 | 1", 201).unwrap();
        assert!(error.contains("at most 200 sessions"), "{error}");
        assert_eq!(refused("processes | 90 | 300 | 2", 400), None, "two instances have twice the room");
        assert_eq!(refused("processes | 90 | UNLIMITED | 1", 4000), None);
    }
}
