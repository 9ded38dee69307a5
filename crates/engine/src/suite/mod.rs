//! The contract suite: what every engine must pass on a real target.
//!
//! It loads two small schemas, works on them, compares what the engine did with what the method planned, reads
//! every row back, and removes everything again. It is part of the program, not only of its tests: a user can
//! run it against a server of their own.

mod counting;
pub mod damage;
mod loading;
mod plans;
mod working;

use std::sync::Arc;
use std::time::Duration;

use slob_method::{SchemaNo, Table};
use slob_spec::RedoStress;

use crate::{Engine, EngineError, ErrorKind, Load, Session, SessionPlan};

/// What the suite says of one check: nothing, or what is wrong.
pub type Verdict = Result<(), String>;

/// A check of the suite.
pub struct Check {
    /// What the engine must do, as a statement.
    pub name: &'static str,
    run: fn(&Subject<'_>) -> Verdict,
}

/// The checks, in the order in which they must run: the first ones load, the last ones remove.
pub const CHECKS: &[Check] = &[
    Check { name: "the server describes itself", run: loading::describes_itself },
    Check { name: "an empty target has no schemas", run: loading::starts_empty },
    Check { name: "a load that was stopped is resumed", run: loading::loads_and_resumes },
    Check { name: "a loaded schema is listed as what it was loaded as", run: loading::lists_what_it_loaded },
    Check { name: "every row has its own block", run: loading::one_row_per_block },
    Check { name: "an existing schema is not replaced", run: loading::refuses_to_replace },
    Check { name: "every row reads back as loaded", run: loading::reads_back },
    Check { name: "a SELECT counts exactly its work unit", run: working::selects_are_exact },
    Check { name: "a scan counts the whole scan table", run: working::scans_are_whole },
    Check { name: "LITE updates change c2 and c20 of exactly the planned rows", run: working::lite_updates },
    Check {
        name: "HEAVY updates change all columns of exactly the planned rows",
        run: working::heavy_updates,
    },
    Check { name: "hot-schema operations go to schema 1", run: working::hot_schema },
    Check { name: "pauses are kept and are not counted as work", run: working::pauses },
    Check { name: "no operation starts before it is due", run: working::dues },
    Check { name: "starts and durations are in order", run: working::times_are_ordered },
    Check { name: "a deadline ends a batch between operations", run: working::deadline },
    Check { name: "a batch is cancelled from another thread", run: working::cancel },
    Check { name: "sessions work side by side", run: working::side_by_side },
    Check {
        name: "a session on a schema that is not loaded is refused",
        run: working::refuses_unknown_schema,
    },
    Check { name: "counters grow with the work", run: counting::counters_grow },
    Check { name: "updates make redo, HEAVY ones no less than LITE", run: counting::redo_by_stress },
    Check {
        name: "what UPDATEs leave to a checkpoint is counted as written",
        run: counting::writes_are_counted,
    },
    Check { name: "a dropped schema is gone and its neighbour is not", run: loading::drops },
];

/// Runs the suite. `open` opens the target anew, for loading, each time it is called; the target must hold no
/// schema of ours. `on_check` hears of each check as it ends, and says whether to go on: if not, only what was loaded
/// is removed. After a check that fails the others still run.
///
/// # Errors
/// If the target can't be opened or is in use.
pub fn run(
    open: &dyn Fn() -> Result<Box<dyn Engine>, EngineError>,
    on_check: &mut dyn FnMut(&'static str, &Verdict) -> bool,
) -> Result<Vec<(&'static str, Verdict)>, EngineError> {
    if !open()?.schemas()?.is_empty() {
        return Err(EngineError::new(ErrorKind::Usage, "contract suite", "the target already holds schemas")
            .with_advice(
                "give it a target of its own: it loads and drops schemas 1 and 2; `slob drop` with the same target \
                 removes what is there",
            ));
    }
    let subject = Subject { open };
    let mut verdicts = Vec::new();
    for check in CHECKS {
        let verdict = (check.run)(&subject);
        let go_on = on_check(check.name, &verdict);
        verdicts.push((check.name, verdict));
        if !go_on {
            clean_up(&subject)?;
            break;
        }
    }
    Ok(verdicts)
}

fn clean_up(subject: &Subject<'_>) -> Result<(), EngineError> {
    let engine = (subject.open)()?;
    engine.schemas()?.iter().try_for_each(|state| engine.drop_schema(state.schema))
}

/// What is loaded for the suite: large enough for several slices, small enough to be read back whole.
const LOAD: Load = Load { seed: 77, scale: 600, scan_blocks: 40, obfuscated: false, slice_rows: 256 };
const SCHEMAS: u16 = 2;

struct Subject<'a> {
    open: &'a dyn Fn() -> Result<Box<dyn Engine>, EngineError>,
}

impl Subject<'_> {
    fn engine(&self) -> Result<Box<dyn Engine>, String> {
        (self.open)().map_err(text)
    }

    fn stores_data(&self) -> Result<bool, String> {
        Ok(self.engine()?.server().map_err(text)?.capabilities.stores_data)
    }
}

// By value, so that it can be handed to `map_err` as it is.
#[allow(clippy::needless_pass_by_value)]
fn text(error: EngineError) -> String {
    error.to_string()
}

fn ensure(condition: bool, complaint: impl FnOnce() -> String) -> Verdict {
    if condition { Ok(()) } else { Err(complaint()) }
}

fn second() -> Result<SchemaNo, String> {
    SchemaNo::new(SCHEMAS).ok_or_else(|| "schema numbers start at 1".into())
}

fn session_plan(number: u32, home: SchemaNo, redo: Option<RedoStress>) -> SessionPlan {
    let update_text = Arc::new(LOAD.content().update_text());
    SessionPlan {
        attempt: 0,
        number,
        home,
        hot_schema: home != SchemaNo::FIRST,
        scans: true,
        redo,
        update_text,
    }
}

fn session(
    engine: &dyn Engine,
    number: u32,
    home: SchemaNo,
    redo: Option<RedoStress>,
) -> Result<Box<dyn Session>, String> {
    engine.session(&session_plan(number, home, redo)).map_err(text)
}

/// Reads a table back and gives each sound row's state to `visit`; the first unsound row, or a row that is
/// missing, is the complaint.
fn verify(
    engine: &dyn Engine,
    schema: SchemaNo,
    table: Table,
    visit: &mut dyn FnMut(u64, slob_method::RowState),
) -> Verdict {
    let state = engine.schemas().map_err(text)?.into_iter().find(|state| state.schema == schema);
    let state = state.ok_or_else(|| format!("schema {schema} is not listed"))?;
    let verifier = LOAD.verifier(table, schema, state.filler_bytes);
    let (mut rows, mut complaint) = (0, None);
    engine
        .read_rows(schema, table, 1..LOAD.rows(table) + 1, &mut |row| {
            rows += 1;
            match verifier.check(row) {
                Ok(state) => visit(row.custid, state),
                Err(fault) if complaint.is_none() => {
                    complaint =
                        Some(format!("schema {schema}, {}, row {}: {fault}", table.name(), row.position));
                }
                Err(_) => {}
            }
        })
        .map_err(text)?;
    complaint.map_or(Ok(()), Err)?;
    ensure(rows == LOAD.rows(table), || format!("{rows} rows read back instead of {}", LOAD.rows(table)))
}

const SHORT: Duration = Duration::from_millis(50);
