//! The contract suite: every engine must pass it on a real target. It loads two small schemas, works on them, and removes all.
//! Users may run it.

mod loading;
mod working;

use std::error::Error;
use std::sync::Arc;

use slob_method::{RowState, SchemaNo, Table};
use slob_spec::RedoStress;

use crate::{Engine, EngineError, ErrorKind, Load, Result, Session, SessionPlan, Slice};

/// The error is the complaint.
pub type Verdict = Result<(), String>;

type Checked<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

type Check = fn(&Subject<'_>) -> Checked;

enum Applies {
    Always(Check),
    /// Only where rows can be read back.
    WithData(Check),
}

use Applies::{Always, WithData};

/// The first checks load, the last ones remove.
const CHECKS: &[(&str, Applies)] = &[
    ("the server describes itself", Always(loading::describes_itself)),
    (
        "an empty target has no schemas",
        Always(|subject| ensure(subject.engine()?.schemas()?.is_empty(), || "there are schemas".into())),
    ),
    ("a load that was stopped is resumed", Always(loading::loads_and_resumes)),
    ("a loaded schema is listed as what it was loaded as", WithData(loading::lists_what_it_loaded)),
    ("every row has its own block", Always(loading::one_row_per_block)),
    ("an existing schema is not replaced", WithData(loading::refuses_to_replace)),
    ("every row reads back as loaded", WithData(loading::reads_back)),
    ("a SELECT counts exactly its work unit", Always(working::selects_are_exact)),
    ("a scan counts the whole scan table", Always(working::scans_are_whole)),
    (
        "LITE updates change c2 and c20 of exactly the planned rows",
        Always(|subject| working::updates(subject, RedoStress::Lite, 11)),
    ),
    (
        "HEAVY updates change all columns of exactly the planned rows",
        Always(|subject| working::updates(subject, RedoStress::Heavy, 12)),
    ),
    (
        "UPDATEs of a transaction share its commit, and none outlives its call",
        WithData(working::transactions),
    ),
    ("hot-schema operations go to schema 1", WithData(working::hot_schema)),
    ("pauses are kept and are not counted as work", Always(working::pauses)),
    ("no operation starts before it is due", Always(working::due_times)),
    ("starts and durations are in order", Always(working::times_are_ordered)),
    ("a deadline ends a batch between operations", Always(working::deadline)),
    ("a batch is cancelled from another thread", Always(working::cancel)),
    ("sessions work side by side", Always(working::side_by_side)),
    ("a session on a schema that is not loaded is refused", WithData(working::refuses_unknown_schema)),
    ("counters grow with the work", Always(working::counters_grow)),
    ("updates make redo, HEAVY ones no less than LITE", Always(working::redo_by_stress)),
    ("what UPDATEs leave to a checkpoint is counted as written", Always(working::writes_are_counted)),
    ("what earlier work left has a name and an amount", Always(working::debts)),
    ("a dropped schema is gone and its neighbour is not", Always(loading::drops)),
];

/// `open` opens the target, which must hold no schema of ours, for each call.
///
/// `on_check` gets each verdict; false stops the suite. Fails if the target can't be opened or is in use.
pub fn run(
    open: &dyn Fn() -> Result<Box<dyn Engine>>,
    on_check: &mut dyn FnMut(&'static str, &Verdict) -> bool,
) -> Result<Vec<(&'static str, Verdict)>> {
    if !open()?.schemas()?.is_empty() {
        return Err(EngineError::new(ErrorKind::Usage, "contract suite", "the target already holds schemas")
            .with_advice(
                "give it a target of its own: it loads and drops schemas 1 and 2; `slob drop` with the same target \
                 removes what is there",
            ));
    }
    let subject = Subject { open };
    let mut verdicts = Vec::new();
    for (name, applies) in CHECKS {
        let checked = match applies {
            Always(check) => check(&subject),
            WithData(check) => subject
                .stores_data()
                .and_then(|stores_data| if stores_data { check(&subject) } else { Ok(()) }),
        };
        let verdict = checked.map_err(|complaint| complaint.to_string());
        let go_on = on_check(name, &verdict);
        verdicts.push((*name, verdict));
        if !go_on {
            let engine = open()?;
            engine.schemas()?.iter().try_for_each(|state| engine.drop_schema(state.schema))?;
            break;
        }
    }
    Ok(verdicts)
}

const LOAD: Load = Load { seed: 77, scale: 600, scan_blocks: 40, obfuscated: false, slice_rows: 256 };
const SCHEMAS: u16 = 2;

struct Subject<'a> {
    open: &'a dyn Fn() -> Result<Box<dyn Engine>>,
}

impl Subject<'_> {
    fn engine(&self) -> Result<Box<dyn Engine>> {
        (self.open)()
    }

    fn stores_data(&self) -> Checked<bool> {
        Ok(self.engine()?.server()?.capabilities.stores_data)
    }
}

fn ensure(condition: bool, complaint: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(complaint().into()) }
}

fn second() -> Checked<SchemaNo> {
    Ok(SchemaNo::new(SCHEMAS).ok_or("schema numbers start at 1")?)
}

fn session(
    engine: &dyn Engine,
    number: u32,
    home: SchemaNo,
    redo: Option<RedoStress>,
) -> Result<Box<dyn Session>> {
    engine.session(&SessionPlan {
        attempt: 0,
        number,
        home,
        hot_schema: home != SchemaNo::FIRST,
        scans: true,
        redo,
        update_text: Arc::new(LOAD.content().update_text()),
    })
}

/// Complains of the first damaged or missing row.
fn verify(
    engine: &dyn Engine,
    schema: SchemaNo,
    table: Table,
    visit: &mut dyn FnMut(u64, RowState),
) -> Checked {
    let state = engine.schemas()?.into_iter().find(|state| state.schema == schema);
    let state = state.ok_or_else(|| format!("schema {schema} is not listed"))?;
    let verifier = LOAD.verifier(table, schema, state.filler_bytes);
    let (mut rows, mut complaint) = (0, None);
    engine.read_rows(&Slice { schema, table, positions: 1..LOAD.rows(table) + 1 }, &mut |row| {
        rows += 1;
        match verifier.check(row) {
            Ok(state) => visit(row.custid, state),
            Err(fault) if complaint.is_none() => {
                complaint = Some(format!("schema {schema}, {}, row {}: {fault}", table.name(), row.position));
            }
            Err(_) => {}
        }
    })?;
    if let Some(complaint) = complaint {
        return Err(complaint.into());
    }
    ensure(rows == LOAD.rows(table), || format!("{rows} rows read back instead of {}", LOAD.rows(table)))
}
