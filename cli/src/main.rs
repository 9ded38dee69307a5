//! The binary `slob`: arguments, configuration, the registry of engines, what people see, exit codes.
#![forbid(unsafe_code)]

mod args;
mod as_loaded;
mod checks;
mod commands;
mod completing;
mod conf_file;
mod failure;
mod index;
mod interrupt;
mod live;
mod next_step;
mod output;
mod progress;
mod registry;
mod selftest;
mod server_report;
mod settings;
mod tables;
mod version;

use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn main() -> ExitCode {
    if let Some(code) = completing::answer() {
        return code;
    }
    raise_file_limit();
    leave_no_core();
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return args::exit_with(&error),
    };
    match commands::dispatch(&matches) {
        Ok(code) => code,
        Err(failure) => {
            failure.messages().for_each(|message| output::say(&format!("slob: {message}")));
            failure.code()
        }
    }
}

/// Each session needs a few descriptors, and the usual soft limit of 1,024 is there for programs of another time.
/// What can't be raised is refused later, by name.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The memory of this program holds passwords, and a core dump would be a file that does. Only the soft limit goes: who
/// wants a dump of what a hook starts says `ulimit -c` there.
fn leave_no_core() {
    let limit = getrlimit(Resource::Core);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit });
}
