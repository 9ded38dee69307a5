//! `slob` alone, `conf`, `man` and `completions`.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde_json::json;
use slob_facts::format::plural;
use slob_facts::table::{Column, Table};
use slob_record::{SeriesWanted, durable_create, list_runs, read_record_with};
use slob_report::columns::status_word;
use slob_run::Loaded;
use slob_spec::{Entry, LoadSpec, Settings, init_text, markdown};

use crate::failure::{Failure, Outcome};
use crate::{completing, output, registry, settings};

const SUMMARY: &str = "\
OpenSLOB measures what a platform can do for a database: random single-block I/O by real SQL,
through the database's own buffer cache, for as little CPU as possible. It reports IOPS, latencies
and what they cost in CPU, and says in five verdicts whether those figures can be trusted.";

type Suggestion = (Cow<'static, str>, &'static str);

const fn suggest(command: &'static str, purpose: &'static str) -> Suggestion {
    (Cow::Borrowed(command), purpose)
}

const CHECK: Suggestion = suggest("slob doctor", "check this machine and the target before you test");
const LOAD: Suggestion =
    suggest("slob setup --scale 1G 4", "load four schemas of 1 GiB (--target names another database)");
const REPORT: Suggestion = suggest("slob report", "the latest run's report; --html makes a page with charts");
const LIST: Suggestion = suggest("slob list", "every run; --html makes one page of them");
const BEFORE_A_LOAD: [Suggestion; 3] =
    [suggest("slob demo", "see the whole method in about a minute; needs no server"), CHECK, LOAD];
const BEFORE_A_RUN: [Suggestion; 3] = [
    CHECK,
    suggest("slob run --run-time 60", "one session on each schema, for a minute"),
    suggest("slob search --run-time 20", "find the number of sessions beyond which throughput stops growing"),
];
const AFTER_RUNS: [Suggestion; 3] =
    [REPORT, suggest("slob compare latest~1 latest", "what changed between the last two runs"), LIST];

pub(super) fn start(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let (progress, next) = next_steps(matches, &settings)?;
    let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let next: String = next.iter().map(|(command, why)| format!("  {command:<width$}  {why}\n")).collect();
    output::done(&format!("{SUMMARY}\n\n{progress} Next:\n{next}`slob --help` lists every command.\n"))
}

fn next_steps(matches: &ArgMatches, settings: &Settings) -> Result<(String, [Suggestion; 3]), Failure> {
    let results = settings::results_dir(settings);
    let runs = list_runs(&results)?;
    let Some(last) = runs.last() else { return Ok(steps_before_a_run(settings)) };
    let record = read_record_with(last, SeriesWanted::Empty).ok();
    let (results, latest) = (results.display(), last.file_name().unwrap_or_default().to_string_lossy());
    let status = record.as_ref().map(|record| format!(" ({})", status_word(&record.status)));
    let status = status.unwrap_or_default();
    if let ([_], Some(record)) = (&runs[..], record) {
        let again = again(matches, settings, record.target)?;
        let again = again.map_or(LOAD, |again| (again.into(), "another run, to compare it with"));
        return Ok((format!("1 run in {results}: {latest}{status}."), [REPORT, again, LIST]));
    }
    let runs = plural(runs.len() as u64, "run");
    Ok((format!("{runs} in {results}; the latest is {latest}{status}."), AFTER_RUNS))
}

/// An error of the target is a finding here.
fn steps_before_a_run(settings: &Settings) -> (String, [Suggestion; 3]) {
    let target = settings::shown(settings, "TARGET").unwrap_or_default();
    let progress = match loaded(settings) {
        Ok(Some(loaded)) => {
            let schemas = plural(u64::from(loaded.schemas), "schema");
            let progress = format!("{schemas} of {} loaded at {target}; no runs yet.", loaded.scale());
            return (progress, BEFORE_A_RUN);
        }
        Ok(None) => format!("Nothing is loaded at {target} yet."),
        Err(failure) => format!("The target {target} can't be used yet: {}.", failure.text()),
    };
    (progress, BEFORE_A_LOAD)
}

fn loaded(settings: &Settings) -> Result<Option<Loaded>, Failure> {
    settings::refuse_kit_without_target(settings)?;
    let spec = LoadSpec::from_settings(settings)?.spec;
    let is_folder = spec.target.host().is_none() && spec.target.user().is_none();
    if is_folder && !Path::new(spec.target.path()).exists() {
        return Ok(None);
    }
    let (_, engine) = settings::open(settings)?;
    Ok(Loaded::at(engine.as_ref())?)
}

/// `None` if nothing is loaded there any more, as after a demo.
fn again(matches: &ArgMatches, settings: &Settings, target: String) -> Result<Option<String>, Failure> {
    let command = match settings::shown(settings, "TARGET").as_ref() == Some(&target) {
        true => "slob run".to_owned(),
        false => format!("slob run --target {}", output::quoted(&target)),
    };
    let there = settings::resolve(matches, &[("TARGET".to_owned(), target)])?;
    // A target that can't be opened from here may still be loaded.
    Ok((!matches!(loaded(&there), Ok(None))).then_some(command))
}

/// Show every parameter: its value, where it came from, what it means
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob conf                            each parameter, its value, and where that comes from
  slob conf --update-pct 20 --json     with flags, as for a run
  slob conf --init                     writes a commented slob.conf")]
pub(super) struct ConfArgs {
    /// Write a commented slob.conf to the current folder
    #[arg(long)]
    init: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Print docs/reference/parameters.md
    #[arg(long, hide = true)]
    markdown: bool,
}

pub(super) fn conf(args: &ConfArgs, matches: &ArgMatches) -> Outcome {
    if args.markdown {
        return output::done(&markdown(&registry::table()));
    }
    if args.init {
        init(settings::conf_file(matches).unwrap_or(settings::DEFAULT_CONF))?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = settings::resolve_unconnected(matches, &[])?;
    output::done(&if args.json {
        let entry = |entry: &Entry| {
            json!({
                "key": entry.param().key,
                "value": entry.displayed(),
                "origin": entry.origin().to_string(),
                "changed_from_default": entry.changed_from_default(),
                "meaning": entry.param().meaning,
            })
        };
        format!("{:#}\n", serde_json::Value::Array(settings.entries().map(entry).collect()))
    } else {
        let row = |entry: &Entry| {
            let value = entry.displayed().unwrap_or_default();
            let param = entry.param();
            [param.key.to_owned(), value, entry.origin().to_string(), param.meaning.to_owned()]
        };
        let mut columns = ["KEY", "VALUE", "FROM", "MEANING"].map(Column::left);
        columns[0] = Column::left("KEY").at_most(usize::MAX);
        Table::new(columns).with_rows(settings.entries().map(row)).terminal(output::width())
    })
}

fn init(name: &str) -> Result<(), Failure> {
    let fail = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            usage!("{name} already exists; move it away first, it will not be overwritten")
        }
        io::ErrorKind::NotFound => {
            usage!("writing {name}: {error}; make its folder first, or name another file with --conf")
        }
        _ => usage!("writing {name}: {error}; name another file with --conf"),
    };
    let text = init_text(&registry::table());
    // Users add passwords.
    durable_create(Path::new(name), 0o600, |file| file.write_all(text.as_bytes())).map_err(fail)?;
    say!("wrote {name}; `slob conf` shows the resulting configuration");
    Ok(())
}

const MAN_SECTION: &str = "1";

/// Print the manual page, or write all of them to a folder
#[derive(Args)]
#[command(after_help = "Examples:\n  slob man | man -l -\n  slob man /usr/local/share/man/man1")]
pub(super) struct ManArgs {
    /// An existing folder for slob.1, slob-run.1 and so on
    folder: Option<PathBuf>,
}

pub(super) fn man(args: &ManArgs, _: &ArgMatches) -> Outcome {
    let mut command = crate::args::command().disable_help_subcommand(true);
    // Names subcommands in full, such as slob-awr-info.
    command.build();
    match &args.folder {
        Some(folder) if !folder.is_dir() => {
            Err(usage!("{}: there is no such folder; make it first, or name another", folder.display()))
        }
        Some(folder) => {
            write_pages(&command, folder)?;
            Ok(ExitCode::SUCCESS)
        }
        None => output::done(&man_page(&command)?),
    }
}

fn write_pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    let path = folder.join(format!("{}.{MAN_SECTION}", full_name(command)));
    output::write_file(&path, &man_page(command)?)?;
    let mut shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.try_for_each(|sub| write_pages(sub, folder))
}

fn man_page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    let man = Man::new(command.clone().name(full_name(command)))
        .section(MAN_SECTION)
        .manual("OpenSLOB")
        .source(concat!("slob ", env!("CARGO_PKG_VERSION")));
    let mut render = || {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.has_subcommands() {
            man.render_subcommands_section(&mut page)?;
        }
        let mut notes = Roff::new();
        let after = command.get_after_long_help().map(ToString::to_string);
        if let Some(after) = after.filter(|after| !after.is_empty()) {
            notes.control("SH", ["NOTES"]).control("nf", []);
            after.lines().for_each(|line| _ = notes.text([roman(line)]));
            notes.control("fi", []);
        }
        notes.to_writer(&mut page)
    };
    render().map_err(|error: io::Error| failed!("making the manual page: {error}"))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn full_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// Print the script that makes a shell complete slob's command lines
#[derive(Args)]
#[command(after_help = "\
Examples:
  source <(slob completions bash)                      in ~/.bashrc; the same for zsh, after compinit
  slob completions fish > ~/.config/fish/completions/slob.fish
In bash, zsh and fish, the shell asks slob at each Tab, which then offers what exists as well: runs (`latest`, ids, names),
the schemas they worked on, profile*.json, campaigns and their variants. It reads files and makes no connection. Print it anew after an upgrade.
In elvish and PowerShell, commands, flags and words are completed.")]
pub(super) struct CompletionsArgs {
    #[arg(value_name = "shell")]
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs, _: &ArgMatches) -> Outcome {
    let dynamic = match args.shell {
        Shell::Bash | Shell::Zsh | Shell::Fish => completing::registration(&args.shell.to_string()),
        _ => None,
    };
    // Other shells complete the words of the command line alone.
    output::done(&dynamic.unwrap_or_else(|| {
        let mut script = Vec::new();
        clap_complete::generate(args.shell, &mut crate::args::command(), "slob", &mut script);
        String::from_utf8_lossy(&script).into_owned()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn every_suggested_command_exists() {
        let after_a_run = [REPORT, LOAD, suggest("slob run", "another run, to compare it with"), LIST];
        let suggestions = BEFORE_A_LOAD.into_iter().chain(BEFORE_A_RUN).chain(after_a_run).chain(AFTER_RUNS);
        for (command, _) in suggestions {
            let parsed = args::command().try_get_matches_from(command.split(' '));
            assert!(parsed.is_ok(), "{command}: {parsed:?}");
        }
    }
}
