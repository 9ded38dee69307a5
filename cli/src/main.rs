//! The binary `slob`: arguments, configuration, the registry of engines, what people see, exit codes.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod interrupt;
mod live;
mod output;
mod progress;
mod registry;
mod settings;

use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return args::exit_with(&error),
    };
    match commands::dispatch(&matches) {
        Ok(code) => code,
        Err(failure) => {
            failure.tell();
            failure.code()
        }
    }
}
