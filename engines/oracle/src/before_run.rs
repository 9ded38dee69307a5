//! What happens before the sessions of a run are opened.

use slob_engine::{EngineError, ErrorKind, RunPlan};

use crate::catalog::{number, text};
use crate::client::{Client, Row};
use crate::connector::Who;
use crate::engine::Inner;
use crate::error::failed;
use crate::plans;

/// Processes that this program and the server may need beside the sessions.
const OTHERS: u64 = 10;
/// 'insufficient privileges', and 'table or view does not exist', which is the same for those who may not see it.
const DENIED: [i32; 2] = [1031, 942];

/// Writes out what is dirty, and refuses a run that would not do what it says. Returns what the account could not do.
///
/// # Errors
/// [`ErrorKind::Usage`] if a plan is not single-block I/O, or there is no room for the sessions.
pub(crate) fn prepare(inner: &Inner, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
    inner.links.with(&inner.connector, Who::Admin, |client| {
        let mut notes = Vec::new();
        match client.query(&inner.views.fill(include_str!("../sql/limits.sql")), &[]) {
            Ok(rows) => check_capacity(&rows, run.sessions)?,
            Err(fault) if fault.code.is_some_and(|code| DENIED.contains(&code)) => {
                notes.push("The account may not see V$RESOURCE_LIMIT, so it is not known whether there is room for all sessions: GRANT SELECT_CATALOG_ROLE to it.".into());
            }
            Err(fault) => return Err(failed("counting processes", &fault)),
        }
        for schema in run.schemas {
            plans::check(client, &inner.connector, *schema)?;
        }
        notes.extend(checkpoint(client)?);
        Ok(notes)
    })
}

/// `processes` and `sessions` are limits of each instance; sessions spread evenly.
fn check_capacity(rows: &[Row], sessions: u32) -> Result<(), EngineError> {
    for row in rows {
        let (Some(name), Some(in_use), Some(most)) = (text(row, 0), number(row, 1), number(row, 2)) else {
            // UNLIMITED is not a number.
            continue;
        };
        let all = most * number(row, 3).unwrap_or(1);
        let room = all.saturating_sub(in_use + OTHERS);
        if u64::from(sessions) > room {
            let message = format!(
                "{sessions} sessions do not fit: {name} is {all} in all, of which {in_use} are in use"
            );
            return Err(EngineError::new(ErrorKind::Usage, "counting processes", message).with_advice(format!(
                "raise {name} and restart the instance, or run with at most {room} sessions (fewer schemas or threads)"
            )));
        }
    }
    Ok(())
}

fn checkpoint(client: &mut dyn Client) -> Result<Option<String>, EngineError> {
    match client.execute("ALTER SYSTEM CHECKPOINT", &[]) {
        Ok(_) => Ok(None),
        Err(fault) if fault.code.is_some_and(|code| DENIED.contains(&code)) => Ok(Some(
            "The account may not make a checkpoint, so blocks left dirty by earlier work may be written during the run: GRANT ALTER SYSTEM to it, or name another with DBA_PRIV_USER.".into(),
        )),
        Err(fault) => Err(failed("making a checkpoint", &fault)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_do_not_fit_are_refused() {
        let row = |most: &str, instances: &str| -> Row {
            ["processes", "90", most, instances].iter().map(|text| Some((*text).to_owned())).collect()
        };
        assert!(check_capacity(&[row("300", "1")], 200).is_ok());
        let error = check_capacity(&[row("300", "1")], 201).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("at most 200 sessions"), "{error}");
        assert!(check_capacity(&[row("300", "2")], 400).is_ok(), "two instances have twice the room");
        assert!(check_capacity(&[row("UNLIMITED", "1")], 4000).is_ok());
    }
}
