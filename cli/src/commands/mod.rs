//! One file per command.

mod completions;
mod conf;
mod demo;
mod drop;
mod probe;
mod report;
mod run;
mod selftest;
mod setup;
mod verify;

use clap::ArgMatches;

use crate::failure::{Failure, Outcome};

/// Does what the command line asks for.
pub(crate) fn dispatch(matches: &ArgMatches) -> Outcome {
    match matches.subcommand() {
        Some(("demo", matches)) => demo::demo(matches),
        Some(("setup", matches)) => setup::setup(matches),
        Some(("run", matches)) => run::run(matches),
        Some(("report", matches)) => report::report(matches),
        Some(("probe", matches)) => probe::probe(matches),
        Some(("conf", matches)) => conf::conf(matches),
        Some(("verify", matches)) => verify::verify(matches),
        Some(("selftest", matches)) => selftest::selftest(matches),
        Some(("drop", matches)) => drop::drop(matches),
        Some(("completions", matches)) => completions::completions(matches),
        _ => Err(Failure::usage("no such command")),
    }
}
