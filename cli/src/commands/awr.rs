//! `slob awr`: reading the reports that a database vendor's tools wrote.

use clap::ArgMatches;

use super::{awr_check, awr_diff, awr_histogram, awr_info, awr_page};
use crate::failure::{Failure, Outcome};

pub(crate) fn awr(matches: &ArgMatches) -> Outcome {
    match matches.subcommand() {
        Some(("info", matches)) => awr_info::info(matches),
        Some(("histogram", matches)) => awr_histogram::histogram(matches),
        Some(("check", matches)) => awr_check::check(matches),
        Some(("diff", matches)) => awr_diff::diff(matches),
        Some(("page", matches)) => awr_page::awr_page(matches),
        _ => Err(Failure::usage("no such command")),
    }
}
