//! `slob ledger`: platforms in one table, from own runs, AWR reports and files of claims.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_awr::Scope;
use slob_record::SeriesWanted;
use slob_report::ledger::{Entry, Ledger, Platform, read_sheet};

use super::awr::{self, ReadReports};
use crate::answer::Forms;
use crate::args::Given;
use crate::failure::{Failure, Outcome};
use crate::settings;
use crate::tables::Records;

pub(super) fn ledger(matches: &ArgMatches) -> Outcome {
    let forms = Forms::of(matches)?;
    let results = settings::results_dir_of(matches)?;
    let mut rows = Rows { results: &results, platforms: Vec::new(), unread: false };
    for input in matches.texts("inputs") {
        rows.add(input)?;
    }
    let ledger = Ledger::new(rows.platforms);
    forms.write(&ledger)?;
    Ok(forms.exit_code(&ledger, rows.unread))
}

struct Rows<'a> {
    results: &'a Path,
    platforms: Vec<Platform>,
    unread: bool,
}

impl Rows<'_> {
    fn add(&mut self, input: &str) -> Result<(), Failure> {
        let path = Path::new(input);
        if path.extension().is_none_or(|extension| extension != "toml") {
            let measured = self.measured(input)?;
            self.platforms.extend(measured);
            return Ok(());
        }
        let text =
            fs::read_to_string(path).map_err(|error| Failure::usage(format!("reading {input}: {error}")))?;
        for entry in read_sheet(input, &text).map_err(Failure::usage)? {
            match entry {
                Entry::Claim(platform) => self.platforms.push(platform),
                Entry::Beside(from, typed) => {
                    let near = path.with_file_name(&from);
                    let from = if near.exists() { near.display().to_string() } else { from };
                    let measured = self.measured(&from)?;
                    self.platforms.extend(measured.into_iter().map(|platform| typed.beside(platform)));
                }
            }
        }
        Ok(())
    }

    /// The platforms of reports, or else of runs.
    fn measured(&mut self, input: &str) -> Result<Vec<Platform>, Failure> {
        let path = Path::new(input);
        let (platforms, code) = if awr::are_reports(path) {
            let read =
                ReadReports::read([&path.to_owned()], Scope::Row, |named| Platform::of_report(&named))?;
            let code = read.exit_code()?;
            (read.kept, code)
        } else {
            let read = Records::read(self.results, [input], SeriesWanted::Counts, |record| record);
            let code = read.exit_code()?;
            (Platform::of_runs(read.kept), code)
        };
        self.unread |= code != ExitCode::SUCCESS;
        Ok(platforms)
    }
}
