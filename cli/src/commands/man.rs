//! `slob man`: manual pages, made from the command line's own definition.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::failure::{Failure, Outcome};
use crate::{args, output};

const SECTION: &str = "1";

pub(crate) fn man(matches: &ArgMatches) -> Outcome {
    let mut command = args::command().disable_help_subcommand(true);
    // Gives every command its whole name, such as slob-awr-info.
    command.build();
    match matches.get_one::<PathBuf>("folder") {
        Some(folder) if !folder.is_dir() => {
            let folder = folder.display();
            return Err(Failure::usage(format!(
                "{folder}: there is no such folder; make it first, or name another"
            )));
        }
        Some(folder) => write_all(&command, folder)?,
        None => output::print(&page(&command).map_err(failed("making the manual page"))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of a command, then those of its subcommands.
fn write_all(command: &Command, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(format!("{}.{SECTION}", name(command)));
    let text = page(command).map_err(failed("making the manual page"))?;
    output::write_whole(&path, &text).map_err(failed(format!("writing {}", path.display())))?;
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|sub| write_all(sub, folder))
}

fn page(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    let title = name(command);
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone().name(title))
        .section(SECTION)
        .manual("OpenSLOB")
        .source(concat!("slob ", env!("CARGO_PKG_VERSION")));
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    notes(&after).to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// What stands below a command's help: lines that keep their places, as examples must.
fn notes(text: &str) -> Roff {
    let mut notes = Roff::new();
    if !text.is_empty() {
        notes.control("SH", ["NOTES"]).control("nf", []);
        for line in text.lines() {
            notes.text([roman(line)]);
        }
        notes.control("fi", []);
    }
    notes
}

fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn failed(step: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
    let step = step.into();
    move |error| Failure::failed(format!("{step}: {error}"))
}
