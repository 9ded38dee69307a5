//! Checks before a run: nothing is connected or changed until they pass.

use std::time::Duration;

use slob_engine::{Engine, SchemaState, Server};
use slob_host::TooFew;
use slob_method::{Arrivals, PlanSeed, SchemaNo, Workload};
use slob_spec::{Length, Observe, Observers, RunSpec};

use crate::random::fresh_seed;
use crate::workload::{arrivals_of, homes_of, warmup_of, workload_of};
use crate::{ExternalScript, RunError};

/// A run that can begin.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The server, as it described itself.
    pub server: Server,
    /// The schemas of the run, all of them complete; empty where the engine stores no data.
    pub schemas: Vec<SchemaState>,
    /// What the sessions do.
    pub workload: Workload,
    /// What makes their plans.
    pub seed: PlanSeed,
    /// The home schema of each session, in order of the sessions' numbers.
    pub homes: Vec<SchemaNo>,
    /// When operations are to start, in an open loop.
    pub arrivals: Option<Arrivals>,
    /// When the window ends.
    pub length: Length,
    /// How long the sessions run before the window.
    pub warmup: Duration,
    /// The user's own program, if there is one.
    pub script: Option<ExternalScript>,
}

/// Checks a run against the server and the data that are loaded.
///
/// # Errors
/// With [`crate::RunErrorKind::Usage`] if it can't be carried out as it was asked for, with the remedy.
pub fn prepare(engine: &dyn Engine, spec: &RunSpec) -> Result<Prepared, RunError> {
    let server = engine.server().map_err(|error| RunError::while_preparing(&error))?;
    check_block_size(spec.block_sz, server.block_bytes)?;
    let schema_count = u16::try_from(spec.schemas.get()).map_err(|_| RunError::usage("too many schemas"))?;
    let workload = workload_of(spec, server.block_bytes);
    workload.check().map_err(|error| RunError::usage(error.to_string()))?;
    let schemas = if server.capabilities.stores_data {
        let states = engine.schemas().map_err(|error| RunError::while_preparing(&error))?;
        loaded(states, schema_count, &workload)?
    } else {
        Vec::new()
    };
    check_observers(engine, &spec.observe)?;
    let homes: Vec<SchemaNo> = homes_of(spec, schema_count).collect();
    check_room(homes.len() as u64, &server)?;
    let script = spec.external_script.as_deref();
    let script = script.map(|path| ExternalScript::new(path, &spec.results_dir)).transpose()?;
    let warmup = warmup_of(spec);
    let seed = PlanSeed { seed: spec.seed.unwrap_or_else(fresh_seed), nonce: fresh_seed() };
    let arrivals = arrivals_of(spec);
    Ok(Prepared { server, schemas, workload, seed, homes, arrivals, length: spec.length, warmup, script })
}

/// A thread for each session, and a connection where the database is not part of this program.
fn check_room(sessions: u64, server: &Server) -> Result<(), RunError> {
    let connections = u64::from(!server.capabilities.embedded);
    slob_host::room_for_threads(sessions, connections).map_err(|TooFew { limit, most, remedy }| {
        RunError::usage(format!(
            "{sessions} sessions do not fit on this machine: {limit}; {remedy}, or run with at most {most} sessions (fewer \
             schemas or threads)"
        ))
    })
}

/// Checks that there is one for all endpoints, or one for each, and that a process that is named is there.
///
/// # Errors
/// With [`crate::RunErrorKind::Usage`] and the remedy.
pub fn check_observers(engine: &dyn Engine, observers: &Observers) -> Result<(), RunError> {
    let (endpoints, count) = (engine.endpoints().len().max(1), observers.count());
    if count != 1 && count != endpoints {
        return Err(RunError::usage(format!(
            "OBSERVE names {count} observers for {endpoints} endpoints; name one for all, or one for each"
        )));
    }
    for observe in observers.iter() {
        if let Observe::Pid(pid) = observe {
            slob_host::process_clock(*pid).map_err(|error| {
                RunError::usage(format!(
                    "OBSERVE={observe}: {error}; name the first process of the server, or use OBSERVE=auto"
                ))
            })?;
        }
    }
    Ok(())
}

/// BLOCK_SZ can't change what an engine's blocks are.
pub(crate) fn check_block_size(asked: Option<u32>, real: u32) -> Result<(), RunError> {
    let Some(asked) = asked.filter(|asked| *asked != real) else { return Ok(()) };
    Err(RunError::usage(format!(
        "BLOCK_SZ is {asked}, but the blocks of this target have {real} bytes; set BLOCK_SZ={real} or leave it out"
    )))
}

/// The states of schemas `1..=count`, if the run can use them.
fn loaded(states: Vec<SchemaState>, count: u16, workload: &Workload) -> Result<Vec<SchemaState>, RunError> {
    let total = states.len();
    let used: Vec<_> = states.into_iter().filter(|state| state.schema.get() <= count).collect();
    let missing = SchemaNo::up_to(count).find(|number| used.iter().all(|state| state.schema != *number));
    if let Some(number) = missing {
        return Err(RunError::usage(format!(
            "schema {number} is not loaded (the target holds {total} of the {count} that this run needs); \
             load it with `slob setup {count}`, or run with fewer schemas"
        )));
    }
    for state in &used {
        check_schema(state, workload)?;
    }
    if let Some(other) = used.iter().find(|state| state.load != used[0].load) {
        return Err(RunError::usage(format!(
            "schema {} was loaded with other parameters than schema 1, so they can't be used in one run; \
             drop it and load it again",
            other.schema
        )));
    }
    Ok(used)
}

fn check_schema(state: &SchemaState, workload: &Workload) -> Result<(), RunError> {
    let number = state.schema;
    if let Some(lack) = state.state.lack(format_args!("schema {number}")) {
        return Err(RunError::usage(lack.to_string()));
    }
    if let Some(layout) = state.state.layout().filter(|layout| !layout.one_row_per_block()) {
        return Err(RunError::usage(format!(
            "schema {number} does not hold one row per block ({} rows in {} blocks), so operations would not touch \
             what they should; drop it and load it again",
            layout.rows, layout.row_blocks
        )));
    }
    if workload.scale > state.load.scale {
        return Err(RunError::usage(format!(
            "SCALE is {} blocks, but schema {number} was loaded with {}; set SCALE={} or lower, or drop the \
             schemas and load them with the larger scale",
            workload.scale, state.load.scale, state.load.scale
        )));
    }
    if workload.scan_pct.get() > 0 && state.load.scan_blocks == 0 {
        return Err(RunError::usage(format!(
            "SCAN_PCT is {}, but schema {number} was loaded without a scan table; set SCAN_PCT=0, or load with \
             SCAN_TABLE_SZ above 0",
            workload.scan_pct.get()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_size_that_is_written_out_is_the_servers_or_refused() {
        for real in [8192, 16_384] {
            assert!(check_block_size(None, real).is_ok() && check_block_size(Some(real), real).is_ok());
        }
        for (asked, real) in [(8192, 16_384), (16_384, 8192)] {
            let error = check_block_size(Some(asked), real).unwrap_err();
            assert_eq!(error.kind(), crate::RunErrorKind::Usage);
            assert!(error.to_string().contains(&format!("set BLOCK_SZ={real}")), "{error}");
        }
    }
}
