//! `slob completions`.

use std::process::ExitCode;

use clap::ArgMatches;
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};
use crate::{args, completing, output};

pub(crate) fn completions(matches: &ArgMatches) -> Outcome {
    let shell = *matches.get_one::<Shell>("shell").ok_or_else(|| Failure::usage("name a shell"))?;
    let script = match shell {
        Shell::Bash | Shell::Zsh | Shell::Fish => completing::registration(&shell.to_string()),
        _ => None,
    };
    output::print(&script.unwrap_or_else(|| words_alone(shell)))?;
    Ok(ExitCode::SUCCESS)
}

/// Completions that ask nobody, and so know the words of the command line alone.
fn words_alone(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "slob", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
