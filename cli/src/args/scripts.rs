//! What prints statements instead of executing them.

use clap::{Arg, Command};
use slob_engine::EngineKind;

use super::{LOAD_GROUPS, is_common, switch, with_params};
use crate::registry;

/// Of the commands whose statements can be printed.
pub(super) fn print_sql() -> Arg {
    switch("print-sql")
        .help("Print the statements that would be executed, if the engine supports it; makes no connection")
}

/// What its summary begins with: the product and its releases.
fn product(engine: &EngineKind) -> &'static str {
    engine.summary.split(':').next().unwrap_or(engine.summary)
}

/// One command for each engine that can prepare a server: `slob ENGINE init`.
pub(super) fn commands() -> Vec<Command> {
    let engines = registry::ENGINES.iter().filter(|engine| engine.scripts.is_some());
    engines
        .map(|engine| {
            let init = Command::new("init")
                .about("Print a parameter file, a tablespace for the planned load and an I/O calibration")
                .after_help("Makes no connection. Read the output before you use it: it is meant for dedicated test databases only.");
            Command::new(engine.scheme)
                .about(format!("Prepare a server: {}", product(engine)))
                .subcommand_required(true)
                .subcommand(with_params(init, |param| LOAD_GROUPS.contains(&param.group) || is_common(param)))
        })
        .collect()
}
