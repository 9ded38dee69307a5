//! `slob ledger`: platforms in one table, from own runs, AWR reports and files of claims.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use slob_awr::Scope;
use slob_campaign::Folder;
use slob_report::JudgedRun;
use slob_report::ledger::{Entry, Ledger, Platform, read_sheet};

use super::awr_files::{ReadReports, are_reports};
use super::campaign_runs::runs_of_campaign;
use crate::answer::Forms;
use crate::failure::{Failure, Outcome};
use crate::flags::NAMING;
use crate::saved::Results;
use crate::tables::{Records, Runs};
use crate::{completing, settings};

/// Put platforms into one table: IOPS per core, per licensed core and per price
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob ledger runs                              the runs of a folder: IOPS per core; repeats are one row
  slob ledger latest awr_db1.txt sheets.toml    measured, reported and claimed in one table
  slob ledger runs sheets.toml --html           as a page, in compare.html

sheets.toml holds what no run and no report knows, a [[platform]] each:
  [[platform]]
  name = \"Two sockets of 6 cores\"
  iops = 625_000
  cores = 12
  iops_per_core = 52_093                 if it is stated; else it follows from the cores
  cost_per_hour = \"4.20 EUR\"
  source = \"who claims it, and where\"
  [[platform]]
  from = \"awr_db1.txt\"                 a run or a report, whose price this is
  cost_per_hour = \"9.60 EUR\"
  licensed_cores = 8
Runs know their price from COST_PER_HOUR and LICENSED_CORES. Figures that rest on a BAD verdict are left out.
Exit codes: 0 good; 1 only some inputs were read, or with --strict a verdict of a run is not good; 2 bad input.
{NAMING}"))]
pub(super) struct LedgerArgs {
    /// Runs, folders of runs, AWR or Statspack reports, and .toml files of claims and prices
    #[arg(required = true, value_name = "RUN|FILE|FOLDER", add = ArgValueCompleter::new(completing::runs))]
    inputs: Vec<String>,
    /// Platforms in one table: IOPS per core, per licensed core and per price
    #[arg(long)]
    platforms: bool,
    #[command(flatten)]
    forms: Forms,
}

pub(super) fn ledger(args: &LedgerArgs, matches: &ArgMatches) -> Outcome {
    let forms = args.forms.checked()?;
    let results = settings::results_dir_of(matches)?;
    let mut rows = Rows { results: &results, platforms: Vec::new(), unread: false };
    for input in &args.inputs {
        rows.add(input)?;
    }
    let ledger = Ledger::new(rows.platforms);
    forms.done(&ledger, rows.unread)
}

/// The platforms of a folder's runs.
pub(super) fn ledger_of(folder: &Path) -> Result<Ledger, Failure> {
    let mut rows = Rows { results: &folder.into(), platforms: Vec::new(), unread: false };
    rows.add(&folder.display().to_string())?;
    Ok(Ledger::new(rows.platforms))
}

struct Rows<'a> {
    results: &'a Results,
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
        let text = fs::read_to_string(path).map_err(|error| usage!("reading {input}: {error}"))?;
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

    /// Runs that a campaign has set aside do not count.
    fn measured(&mut self, input: &str) -> Result<Vec<Platform>, Failure> {
        let path = Path::new(input);
        let (platforms, is_whole) = if are_reports(path) {
            let read =
                ReadReports::read([&path.to_owned()], Scope::Row, |named| Platform::of_report(&named))?;
            let code = read.exit_code()?;
            (read.kept, code == ExitCode::SUCCESS)
        } else if let Some(folder) = Folder::read(path)? {
            let (runs, is_whole) = runs_of_campaign(&folder, JudgedRun::of)?;
            (Platform::of_runs(runs.into_iter().map(|(_, run)| run).collect()), is_whole)
        } else {
            let read = Records::judged(&Runs::named(self.results, [input]), JudgedRun::of);
            let code = read.exit_code()?;
            (Platform::of_runs(read.kept), code == ExitCode::SUCCESS)
        };
        self.unread |= !is_whole;
        Ok(platforms)
    }
}
