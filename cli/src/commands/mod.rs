//! The commands, in chapters by subject.

mod about;
mod awr;
mod awr_export;
mod campaigns;
mod capture;
mod ladder;
mod ledger;
mod machine;
mod profile;
mod replays;
mod reports;
mod runs;
mod searches;
mod selftest;
mod together;
mod trend;
mod verify;

use clap::ArgMatches;

use crate::failure::Outcome;

pub(crate) fn dispatch(matches: &ArgMatches) -> Outcome {
    match matches.subcommand() {
        Some(("demo", matches)) => runs::demo(matches),
        Some(("setup", matches)) => runs::setup(matches),
        Some(("run", matches)) => runs::run(matches),
        Some(("mark", matches)) => runs::mark(matches),
        Some(("verify", matches)) => verify::verify(matches),
        Some(("drop", matches)) => runs::remove(matches),
        Some(("report", matches)) => reports::report(matches),
        Some(("info", matches)) => reports::info(matches),
        Some(("list", matches)) => reports::list(matches),
        Some(("diff", matches)) => reports::diff(matches),
        Some(("gate", matches)) => reports::gate(matches),
        Some(("show", matches)) => reports::show(matches),
        Some(("export", matches)) => reports::export(matches),
        Some(("analyze", matches)) => reports::analyze(matches),
        Some(("trend", matches)) => trend::trend(matches),
        Some(("ladder", matches)) => ladder::ladder(matches),
        Some(("ledger", matches)) => ledger::ledger(matches),
        Some(("campaign", matches)) => campaigns::campaign(matches),
        Some(("saturate", matches)) => searches::saturate(matches),
        Some(("plan", matches)) => searches::plan(matches),
        Some(("headroom", matches)) => searches::headroom(matches),
        Some(("profile", matches)) => profile::profile(matches),
        Some(("awr", matches)) => awr::awr(matches),
        Some(("doctor", matches)) => machine::doctor(matches),
        Some(("probe", matches)) => machine::probe(matches),
        Some(("observe", _)) => machine::observe(),
        Some(("selftest", matches)) => selftest::selftest(matches),
        Some(("conf", matches)) => about::conf(matches),
        Some(("man", matches)) => about::man(matches),
        Some(("completions", matches)) => about::completions(matches),
        Some((engine, matches)) => runs::init(engine, matches),
        None => about::start(matches),
    }
}
