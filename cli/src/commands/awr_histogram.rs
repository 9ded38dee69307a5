//! x
use clap::ArgMatches;
use crate::failure::{Failure, Outcome};
pub(crate) fn histogram(_: &ArgMatches) -> Outcome { Err(Failure::usage("x")) }
