//! `slob completions`.

use std::process::ExitCode;

use clap::ArgMatches;
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};
use crate::{args, output};

pub(crate) fn completions(matches: &ArgMatches) -> Outcome {
    let shell = *matches.get_one::<Shell>("shell").ok_or_else(|| Failure::usage("name a shell"))?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "slob", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
