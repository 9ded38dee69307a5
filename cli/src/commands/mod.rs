//! One file per command.

mod analyze;
mod awr;
mod awr_check;
mod awr_diff;
mod awr_files;
mod awr_histogram;
mod awr_info;
mod awr_page;
mod campaign;
mod completions;
mod conf;
mod demo;
mod diff;
mod doctor;
mod drop;
mod export;
mod headroom;
mod headrooms;
mod info;
mod list;
mod man;
mod mark;
mod observe;
mod plan;
mod print_sql;
mod probe;
mod profile;
mod report;
mod run;
mod saturate;
mod selftest;
mod setup;
mod show;
mod start;
mod verify;
mod verify_run;

use clap::ArgMatches;

use crate::failure::Outcome;

/// Does what the command line asks for.
pub(crate) fn dispatch(matches: &ArgMatches) -> Outcome {
    match matches.subcommand() {
        Some(("demo", matches)) => demo::demo(matches),
        Some(("setup", matches)) => setup::setup(matches),
        Some(("run", matches)) => run::run(matches),
        Some(("report", matches)) => report::report(matches),
        Some(("info", matches)) => info::info(matches),
        Some(("list", matches)) => list::list(matches),
        Some(("diff", matches)) => diff::diff(matches),
        Some(("mark", matches)) => mark::mark(matches),
        Some(("show", matches)) => show::show(matches),
        Some(("export", matches)) => export::export(matches),
        Some(("campaign", matches)) => campaign::campaign(matches),
        Some(("saturate", matches)) => saturate::saturate(matches),
        Some(("analyze", matches)) => analyze::analyze(matches),
        Some(("awr", matches)) => awr::awr(matches),
        Some(("profile", matches)) => profile::profile(matches),
        Some(("plan", matches)) => plan::plan(matches),
        Some(("headroom", matches)) => headroom::headroom(matches),
        Some(("probe", matches)) => probe::probe(matches),
        Some(("observe", _)) => observe::observe(),
        Some(("conf", matches)) => conf::conf(matches),
        Some(("verify", matches)) => verify::verify(matches),
        Some(("selftest", matches)) => selftest::selftest(matches),
        Some(("doctor", matches)) => doctor::doctor(matches),
        Some(("drop", matches)) => drop::drop(matches),
        Some(("completions", matches)) => completions::completions(matches),
        Some(("man", matches)) => man::man(matches),
        Some((engine, matches)) => print_sql::init(engine, matches),
        None => start::start(matches),
    }
}
