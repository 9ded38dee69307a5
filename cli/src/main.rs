//! The binary `slob`.
#![forbid(unsafe_code)]

/// Says a line on stderr.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::say(&format!($($text)*)) };
}
/// [`failure::Failure`]s with a message.
macro_rules! usage {
    ($($text:tt)*) => { $crate::failure::Failure::usage(format_args!($($text)*)) };
}
macro_rules! failed {
    ($($text:tt)*) => { $crate::failure::Failure::failed(format_args!($($text)*)) };
}
macro_rules! interrupted {
    ($($text:tt)*) => { $crate::failure::Failure::interrupted(format_args!($($text)*)) };
}

mod answer;
mod args;
mod board;
mod commands;
mod completing;
mod failure;
mod flags;
mod index;
mod interrupt;
mod output;
mod registry;
mod saved;
mod settings;
mod tables;
mod verdict_cache;

use std::env;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn main() -> ExitCode {
    if let Some(code) = completing::answer(args::command) {
        return code;
    }
    // Each session needs some descriptors; the usual soft limit of 1,024 is too low. Errors appear later, with their names.
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    // A core dump would hold passwords. Only the soft limit is lowered, so that hooks can raise it with `ulimit -c`.
    let limit = getrlimit(Resource::Core);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit });
    let word = env::args_os().nth(1);
    let matches = match args::command_for(word.as_ref().and_then(|word| word.to_str())).try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return args::exit_with(error),
    };
    match commands::dispatch(&matches) {
        Ok(code) => code,
        Err(failure) => {
            let of_command = matches.subcommand().map_or(&matches, |(_, of_command)| of_command);
            let say = |message: &str| say!("slob: {}", flags::offered(message, of_command));
            failure.messages().for_each(say);
            args::say_page_file();
            failure.code()
        }
    }
}
