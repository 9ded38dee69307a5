//! The binary `slob`.
#![forbid(unsafe_code)]

mod answer;
mod args;
mod commands;
mod completing;
mod failure;
mod index;
mod interrupt;
mod judged;
mod live;
mod output;
mod progress;
mod registry;
mod settings;
mod tables;

use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn main() -> ExitCode {
    if let Some(code) = completing::answer(args::command) {
        return code;
    }
    raise_file_limit();
    leave_no_core();
    output::width().into_iter().for_each(slob_report::fit_into);
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return args::exit_with(error),
    };
    match commands::dispatch(&matches) {
        Ok(code) => code,
        Err(failure) => {
            let of_command = matches.subcommand().map_or(&matches, |(_, of_command)| of_command);
            let say =
                |message: &str| output::say(&format!("slob: {}", commands::offered(message, of_command)));
            failure.messages().for_each(say);
            failure.code()
        }
    }
}

/// Sessions need descriptors; the usual soft limit of 1,024 is too low. Errors appear later, with their names.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// A core dump would hold passwords. Hooks can raise the soft limit with `ulimit -c`.
fn leave_no_core() {
    let limit = getrlimit(Resource::Core);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit });
}
