//! `slob publish`: runs where others see them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use slob_campaign::Folder;
use slob_facts::format::plural;
use slob_page::Answer;
use slob_record::{RUN_FILE, Record, SIGNATURE_FILE, Signers, read_digests, record_file, signature_file};
use slob_report::html::run_page;
use slob_report::{HTML_REPORT, with_digest};

use super::analyses::analysis_of;
use super::ledger::ledger_of;
use super::trend::trend_of_targets;
use super::verify;
use crate::board::{self, Publisher, name_of};
use crate::failure::{Failure, Outcome, PARTLY};
use crate::flags::NAMING;
use crate::registry::{EXAMPLE_BOARD, board_forms};
use crate::tables::{Runs, texts};
use crate::{completing, index, output, settings};

/// Publish runs for a team, as pages or into a database
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob publish --site public                    every run of the results folder; open public/index.html
  slob publish latest campaigns/fs --site public
  slob publish runs --site public --signed-by team.allowed_signers
  slob publish --to {EXAMPLE_BOARD}   into tables, which `slob list --from {EXAMPLE_BOARD}` reads
The site is a folder of pages without a server: for a browser, GitHub Pages or a bucket. It is a results folder too, so
`slob list --results-dir public` and `slob verify --run public/ID` read it. Records name hosts and paths of the platform.
Only records that `slob verify --run` finds correct are published. A run that is there already stays as it is.
Exit codes: 0 all are published; 1 only some; 2 none.
{NAMING}"))]
pub(super) struct PublishArgs {
    /// Runs, folders of runs, or campaigns [default: RESULTS_DIR]
    #[arg(value_name = "RUN|FOLDER", num_args = 0.., add = ArgValueCompleter::new(completing::campaigns))]
    runs: Vec<String>,
    /// The folder of the site
    #[arg(long, value_name = "DIR", required_unless_present = "to")]
    site: Option<PathBuf>,
    #[arg(long, value_name = "URL", help = format!("The database that keeps the runs: {}", board_forms()))]
    to: Option<String>,
    /// Each record must be signed with this public key, or with one of the allowed signers in this file
    #[arg(long, value_name = "FILE")]
    signed_by: Option<PathBuf>,
}

#[derive(Default)]
struct Count {
    new: usize,
    known: usize,
    refused: usize,
}

pub(super) fn publish(args: &PublishArgs, matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir_of(matches)?;
    let signers = args.signed_by.as_deref().map(Signers::read).transpose()?;
    let whole = results.display().to_string();
    let named = if args.runs.is_empty() { vec![whole.as_str()] } else { texts(&args.runs) };
    let site = args.site.as_deref().map(Site::open).transpose()?;
    let mut board = args.to.as_deref().map(Publisher::open).transpose()?;
    let mut count = Count::default();
    let mut are_all_known = true;
    for input in &named {
        let campaign = Folder::read(Path::new(input))?.map(|folder| folder.path);
        let name = campaign.as_deref().map(name_of);
        let runs = Runs::named(&results, [*input]);
        are_all_known &= runs.are_all_known();
        for run in runs.paths() {
            let mut published = || -> Result<bool, Failure> {
                let record = checked(run, signers.as_ref())?;
                let mut is_new = false;
                if let Some(site) = &site {
                    is_new |= site.add(run, &record)?;
                }
                if let Some(board) = &mut board {
                    is_new |= board.publish(run, &record, name.as_deref())?;
                }
                Ok(is_new)
            };
            match published() {
                Ok(true) => count.new += 1,
                Ok(false) => count.known += 1,
                Err(failure) => {
                    failure.messages().for_each(|message| say!("slob: {message}"));
                    count.refused += 1;
                }
            }
        }
        if let (Some(board), Some(campaign)) = (&mut board, &campaign)
            && let Err(failure) = board.publish_campaign(campaign)
        {
            failure.messages().for_each(|message| say!("slob: {message}"));
            count.refused += 1;
        }
    }
    let Count { new, known, refused } = count;
    if new + known == 0 {
        return Err(Failure::usage("no run could be published"));
    }
    let are_all_there = site.as_ref().map_or(Ok(true), |site| site.write_pages(&named))?;
    let places = [site.map(|site| site.index().display().to_string()), args.to.clone()];
    let places = places.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let already = if known > 0 { format!(", {known} were there already") } else { String::new() };
    output::print(&format!("{places}: {} published{already}\n", plural(new as u64, "run")))?;
    Ok(if refused == 0 && are_all_known && are_all_there {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(PARTLY)
    })
}

/// A record that `slob verify --run` finds correct, and whose id is a name.
fn checked(run: &Path, signers: Option<&Signers>) -> Result<Record, Failure> {
    let (record, checks) = verify::checked(run, signers)?;
    let id = &record.id;
    if !board::is_name(id) {
        return Err(usage!("{}: '{id}' is no id of a run: not published", run.display()));
    }
    match checks.iter().find(|check| check.differs()) {
        None => Ok(record),
        Some(wrong) => {
            let run = output::quoted(&run.display().to_string());
            Err(usage!("{id}: {}: not published; `slob verify --run {run}` lists all checks", wrong.words))
        }
    }
}

/// A folder of pages, which is a results folder too.
struct Site<'a>(&'a Path);

impl<'a> Site<'a> {
    fn open(folder: &'a Path) -> Result<Self, Failure> {
        let index = folder.join(index::INDEX);
        match index.exists() && !index::is_own(&index) {
            true => Err(usage!("{} is not a page of runs: name another folder with --site", index.display())),
            false => Ok(Self(folder)),
        }
    }

    fn index(&self) -> PathBuf {
        self.0.join(index::INDEX)
    }

    /// False if the run is there already.
    fn add(&self, run: &Path, record: &Record) -> Result<bool, Failure> {
        let id = &record.id;
        let there = self.0.join(id);
        if there.join(RUN_FILE).exists() {
            return match read_digests(&there)?.0 == read_digests(run)?.0 {
                true => Ok(false),
                false => Err(usage!(
                    "{id}: {} holds another run of this id: not published; remove one of the two",
                    there.display()
                )),
            };
        }
        // Readers find the whole run or none.
        let unfinished = self.0.join(format!(".{id}.unfinished"));
        let write = || {
            fs::create_dir_all(&unfinished)?;
            fs::copy(record_file(run), unfinished.join(RUN_FILE))?;
            let signature = signature_file(run);
            if signature.is_file() {
                fs::copy(signature, unfinished.join(SIGNATURE_FILE))?;
            }
            output::write_whole(&unfinished.join(HTML_REPORT), &with_digest(&run_page(record)))?;
            fs::rename(&unfinished, &there)
        };
        write().map_err(|error| {
            let _ = fs::remove_dir_all(&unfinished);
            failed!("{id}: writing {}: {error}; nothing of it is published", there.display())
        })?;
        Ok(true)
    }

    /// Writes the pages of several runs, and the list of all. False if a campaign has nothing to compare yet.
    fn write_pages(&self, inputs: &[&str]) -> Result<bool, Failure> {
        let mut are_all_there = true;
        let page = |name: &str, html: String| output::write_output(&self.0.join(name), &html);
        page("ledger.html", ledger_of(self.0)?.html())?;
        if let Some(trend) = trend_of_targets(self.0)? {
            page("trend.html", trend.html())?;
        }
        for input in inputs {
            let Some(folder) = Folder::read(Path::new(input))? else { continue };
            // Searches and neighbours have pages of their own.
            if folder.schedule.demand.is_empty() && !folder.schedule.has_neighbours() {
                match analysis_of(&folder) {
                    Ok(analysis) => {
                        page(&format!("campaign-{}.html", name_of(&folder.path)), analysis.html())?;
                    }
                    Err(failure) => {
                        let place = folder.path.display();
                        say!("slob: {place} has no page of its own: {}", failure.text());
                        are_all_there = false;
                    }
                }
            }
        }
        index::write_of_site(self.0)?;
        Ok(are_all_there)
    }
}
