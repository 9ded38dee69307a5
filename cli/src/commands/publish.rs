//! `slob publish`: runs where others see them.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use slob_campaign::Folder;
use slob_record::{RUN_FILE, Record, SIGNATURE_FILE, Signers, read_digests, run_folder};
use slob_report::html::run_page;
use slob_report::{Answer, HTML_REPORT, with_digest};

use super::analyses::analysis_of;
use super::ledger::ledger_of;
use super::reports::texts;
use super::trend::trend_of_targets;
use super::verify;
use crate::failure::{Failure, Outcome, PARTLY};
use crate::flags::NAMING;
use crate::tables::Runs;
use crate::{completing, index, output, settings};

/// Publish runs as pages for a team, each number with the record that it can be checked by
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob publish --site public                    every run of the results folder; open public/index.html
  slob publish latest campaigns/fs --site public
  slob publish runs --site public --signed-by team.allowed_signers
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
    #[arg(long, value_name = "DIR", required = true)]
    site: PathBuf,
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
    let site = &args.site;
    let index = site.join(index::INDEX);
    if index.exists() && !index::is_own(&index) {
        return Err(usage!("{} is not a page of runs: name another folder with --site", index.display()));
    }
    let whole = results.display().to_string();
    let named = if args.runs.is_empty() { vec![whole.as_str()] } else { texts(&args.runs) };
    let runs = Runs::named(&results, named.iter().copied());
    let mut count = Count::default();
    for run in runs.paths() {
        match copy(run, site, signers.as_ref()) {
            Ok(true) => count.new += 1,
            Ok(false) => count.known += 1,
            Err(failure) => {
                say!("slob: {}", failure.text());
                count.refused += 1;
            }
        }
    }
    let Count { new, known, refused } = count;
    if new + known == 0 {
        return Err(Failure::usage("no run could be published"));
    }
    write_pages(site, &named)?;
    let already = if known > 0 { format!(", {known} were there already") } else { String::new() };
    output::print(&format!(
        "{}: {} published{already}\n",
        index.display(),
        output::plural(new as u64, "run")
    ))?;
    let is_whole = refused == 0 && runs.are_all_known();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(PARTLY) })
}

/// False if the run is there already.
fn copy(run: &Path, site: &Path, signers: Option<&Signers>) -> Result<bool, Failure> {
    let (record, checks) = verify::checked(run, signers)?;
    let Record { id, .. } = &record;
    // A forged id must not lead out of the site.
    let mut parts = Path::new(id).components();
    let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    if !is_name || id.starts_with('.') {
        return Err(usage!("{}: '{id}' is no id of a run: not published", run.display()));
    }
    if let Some(wrong) = checks.iter().find(|check| check.differs()) {
        let run = output::quoted(&run.display().to_string());
        return Err(usage!(
            "{id}: {}: not published; `slob verify --run {run}` lists all checks",
            wrong.words
        ));
    }
    let there = site.join(id);
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
    let unfinished = site.join(format!(".{id}.unfinished"));
    let write = || {
        fs::create_dir_all(&unfinished)?;
        let record_file = if run.is_dir() { run.join(RUN_FILE) } else { run.to_path_buf() };
        fs::copy(record_file, unfinished.join(RUN_FILE))?;
        let signature = run_folder(run).join(SIGNATURE_FILE);
        if signature.is_file() {
            fs::copy(signature, unfinished.join(SIGNATURE_FILE))?;
        }
        output::write_whole(&unfinished.join(HTML_REPORT), &with_digest(&run_page(&record)))?;
        fs::rename(&unfinished, &there)
    };
    write().map_err(|error| {
        let _ = fs::remove_dir_all(&unfinished);
        failed!("{id}: writing {}: {error}; nothing of it is published", there.display())
    })?;
    Ok(true)
}

/// What the site says of several runs, and the list of all.
fn write_pages(site: &Path, inputs: &[&str]) -> Result<(), Failure> {
    let page = |name: &str, html: String| output::write_output(&site.join(name), &html);
    page("ledger.html", ledger_of(site)?.html())?;
    if let Some(trend) = trend_of_targets(site)? {
        page("trend.html", trend.html())?;
    }
    for input in inputs {
        let Some(folder) = Folder::read(Path::new(input))? else { continue };
        // Searches and neighbours have pages of their own.
        if folder.schedule.demand.is_empty() && !folder.schedule.has_neighbours() {
            let name = folder.path.file_name().unwrap_or_default().to_string_lossy();
            page(&format!("campaign-{name}.html"), analysis_of(&folder)?.html())?;
        }
    }
    index::write_of_site(site).map(drop)
}
