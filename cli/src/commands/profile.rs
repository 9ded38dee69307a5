//! `slob profile`: what a database does per second, from reports, runs, other profiles or a live server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, Args, Subcommand};
use clap_complete::ArgValueCompleter;
use serde::Serialize;
use slob_awr::Scope;
use slob_demand::{
    LeftOut, Profile, Sample, Source, Subject, Summary, choose, collect, merge, parse_time, sample_of_run,
    unique_names,
};
use slob_live::{Progress, duration};
use slob_record::{RUN_FILE, SeriesWanted, list_runs, read_records};
use slob_report::profiles::{
    interval_words, page_cache_intervals, profile_diff_text, profile_page, profile_text,
};
use slob_run::{Watch, WatchEvent};
use slob_spec::Kind;

use super::awr_files::ReadReports;
use crate::failure::{Failure, INTERRUPTED, Outcome, PARTLY};
use crate::flags::is_given;
use crate::{completing, interrupt, output, settings};

pub(super) const FILE: &str = "profile.json";
/// More intervals than this are saved in groups.
const SAVED_SINGLY: usize = 1000;
/// A shorter watch shows no progress.
const UNSEEN: Duration = Duration::from_secs(2);

/// Show what a database does per second, from AWR reports, a live server, or runs
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  slob profile awr/                                   weeks of AWR or Statspack reports, to profile.json
  slob profile awr/*.html --html week.html            with a page of charts
  slob profile --target \"$PROD\" --every 60s --for 1d  a live server, read only; the same command goes on
  slob profile runs/20261120T231840Z-run -o run.json  a run of this program
  slob profile a.json b.json -o both.json             profiles of the same database become one
  slob profile show profile.json
  slob profile diff before.json after.json
Reports of several databases become a profile each. What is not sound (a restart within an interval, a counter that wrapped, a
clock that jumped, the same interval twice) is named and left out.
Exit codes: 0 good; 1 some could not be read; 2 none could, or bad usage; 130 interrupted, what there was is kept."
)]
pub(super) struct ProfileArgs {
    /// Reports, runs, profiles, or folders of them
    #[arg(value_name = "FILE|FOLDER|RUN")]
    inputs: Vec<PathBuf>,
    /// Where the profile is kept [default: profile.json]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How often a live server is asked
    #[arg(long, value_name = "TIME", default_value = "60s")]
    every: String,
    /// How long a live server is watched
    #[arg(long = "for", value_name = "TIME", default_value = "1d")]
    length: String,
    #[command(flatten)]
    shown: Shown,
    #[command(subcommand)]
    command: Option<ProfileCommand>,
}

#[derive(Args)]
struct Shown {
    /// Of several databases, only this one, by its name or number
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Of a cluster, only this instance [default: all together]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Print the profile and its summary as JSON
    #[arg(long)]
    json: bool,
    /// Write a page with charts to this file, `-` for stdout
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Subcommand)]
enum ProfileCommand {
    /// Show a saved profile
    Show {
        #[command(flatten)]
        shown: Shown,
        #[arg(value_name = "PROFILE", default_value = FILE, add = ArgValueCompleter::new(completing::profiles))]
        profile: PathBuf,
    },
    /// Compare two profiles
    Diff {
        #[arg(add = ArgValueCompleter::new(completing::profiles))]
        first: PathBuf,
        #[arg(add = ArgValueCompleter::new(completing::profiles))]
        second: PathBuf,
    },
}

pub(super) fn profile(args: &ProfileArgs, matches: &ArgMatches) -> Outcome {
    match &args.command {
        Some(ProfileCommand::Show { shown, profile }) => {
            shown.print(&shown.chosen(vec![read(profile)?])?)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(ProfileCommand::Diff { first, second }) => {
            output::done(&profile_diff_text(&read(first)?, &read(second)?, output::width()))
        }
        None if args.inputs.is_empty() => from_server(args, matches),
        None => from_files(args, matches),
    }
}

fn from_files(args: &ProfileArgs, matches: &ArgMatches) -> Outcome {
    if is_given(matches, "every") || is_given(matches, "length") {
        return Err(Failure::usage("--every and --for are of a live server: leave the files out, or these"));
    }
    let (profiles, partly) = read_inputs(&args.inputs, matches)?;
    let profiles = args.shown.chosen(profiles)?;
    args.shown.print(&profiles)?;
    let output = args.output.as_deref();
    if !args.shown.json || output.is_some() {
        save_all(&profiles, output.unwrap_or(Path::new(FILE)))?;
    }
    Ok(ExitCode::from(if partly { PARTLY } else { 0 }))
}

#[derive(Default)]
struct Inputs {
    reports: Vec<PathBuf>,
    runs: Vec<PathBuf>,
    profiles: Vec<Profile>,
}

impl Inputs {
    fn add(&mut self, matches: &ArgMatches, path: &Path) -> Result<(), Failure> {
        let is_json = || {
            path.extension().is_some_and(|ending| ending == "json")
                && fs::read(path).is_ok_and(|text| text.trim_ascii_start().starts_with(b"{"))
        };
        let is_run = match path.is_dir() {
            true => path.join(RUN_FILE).is_file(),
            false => path.file_name().is_some_and(|name| name == RUN_FILE) && path.exists(),
        };
        if is_run {
            self.runs.push(path.to_owned());
        } else if path.is_dir() {
            let runs = list_runs(path).unwrap_or_default();
            if runs.is_empty() {
                self.reports.push(path.to_owned());
            }
            self.runs.extend(runs);
        } else if !path.exists() && path.as_os_str() != "-" {
            let name = path.to_string_lossy();
            if name.contains("://") {
                let way =
                    "a live server is named with --target, as in `slob profile --target \"$PROD\" --for 10m`";
                return Err(Failure::usage(format!("this is an address, and no file or run: {way}")));
            }
            let run = settings::results_dir_of(matches)?.find_run(&name);
            self.runs.push(run.map_err(|why| {
                usage!("{name}: there is no such file or folder of AWR reports, and no run: {why}")
            })?);
        } else if is_json() {
            self.profiles.push(read(path)?);
        } else {
            self.reports.push(path.to_owned());
        }
        Ok(())
    }
}

fn read_inputs(paths: &[PathBuf], matches: &ArgMatches) -> Result<(Vec<Profile>, bool), Failure> {
    let mut inputs = Inputs::default();
    for path in paths {
        inputs.add(matches, path)?;
    }
    let Inputs { reports, runs, mut profiles } = inputs;
    let mut partly = false;
    if !reports.is_empty() {
        let read = ReadReports::read(&reports, Scope::All, |named| Sample::of_report(&named))?;
        partly |= read.exit_code()? != ExitCode::SUCCESS;
        profiles.extend(collect(read.kept, Source::Reports));
    }
    let mut samples = Vec::new();
    for (path, sample) in read_records(&runs, SeriesWanted::Counts, |record| sample_of_run(&record)) {
        match sample {
            Ok(sample) => samples.push(sample),
            Err(error) => {
                say!("slob: {}: {error}", path.display());
                partly = true;
            }
        }
    }
    profiles.extend(collect(samples, Source::Runs));
    let (known, empty): (Vec<_>, Vec<_>) =
        merge(profiles).into_iter().partition(|profile| !profile.intervals.is_empty());
    for LeftOut { source, why, .. } in empty.iter().flat_map(|profile| &profile.left_out) {
        say!("slob: left out: {source}: {why}");
    }
    if known.is_empty() {
        return Err(Failure::usage("there is no interval to make a profile of"));
    }
    Ok((known, partly || !empty.is_empty()))
}

#[derive(Serialize)]
struct WithSummary<'a> {
    slob_version: &'static str,
    #[serde(flatten)]
    profile: &'a Profile,
    summary: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_cache_intervals: Option<usize>,
}

impl<'a> WithSummary<'a> {
    fn of(profile: &'a Profile) -> Self {
        Self {
            slob_version: env!("CARGO_PKG_VERSION"),
            profile,
            summary: Summary::of(profile),
            page_cache_intervals: page_cache_intervals(&profile.together()).map(|(cached, _)| cached),
        }
    }
}

impl Shown {
    fn chosen(&self, profiles: Vec<Profile>) -> Result<Vec<Profile>, Failure> {
        choose(profiles, self.database.as_deref(), self.instance.as_deref()).map_err(Failure::usage)
    }

    fn print(&self, profiles: &[Profile]) -> Result<(), Failure> {
        if let Some(path) = &self.html {
            output::write_page(&profile_page(profiles), path)?;
        }
        if !self.json {
            let texts: Vec<String> =
                profiles.iter().map(|profile| profile_text(profile, output::width())).collect();
            return output::print(&texts.join("\n\n"));
        }
        let each: Vec<_> = profiles.iter().map(WithSummary::of).collect();
        output::print(&match &each[..] {
            [only] => output::json("the profile", only),
            several => output::json("the profiles", &several),
        }?)
    }
}

fn save_all(profiles: &[Profile], path: &Path) -> Result<(), Failure> {
    if let [only] = profiles {
        return save_over(only, path);
    }
    say!(
        "these are {} databases, each with its own profile: {}; --database NAME or NUMBER chooses one",
        profiles.len(),
        unique_names(profiles).join(", ")
    );
    let paths = file_names(profiles, path);
    profiles.iter().zip(paths).try_for_each(|(profile, path)| save_over(profile, &path))
}

/// `profile-NAME.json` beside `profile.json`, for each of several profiles.
fn file_names(profiles: &[Profile], path: &Path) -> Vec<PathBuf> {
    let stem = path.file_stem().map_or_else(|| "profile".into(), |stem| stem.to_string_lossy().into_owned());
    let mut names: Vec<String> = Vec::new();
    for profile in profiles {
        let safe = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = profile.subject.words().chars().map(safe).collect();
        let name = format!("{stem}-{}", name.trim_matches('-'));
        let numbered = (2..).map(|nth| format!("{name}-{nth}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names.into_iter().map(|name| path.with_file_name(format!("{name}.json"))).collect()
}

/// Refuses to replace the profile of a live server, which can't be measured again, and other files.
fn save_over(profile: &Profile, path: &Path) -> Result<(), Failure> {
    let refuse = |why: &str| usage!("{} {why}: name another file with -o", path.display());
    match fs::read(path).ok().map(|text| Profile::read(&text).map(|there| there.source)) {
        Some(Ok(Source::Live | Source::Mixed))
            if [Source::Reports, Source::Runs].contains(&profile.source) =>
        {
            return Err(refuse("holds the profile of a live server, which is not overwritten"));
        }
        Some(Err(_)) => return Err(refuse("is there and is no profile")),
        _ => {}
    }
    save(profile, path)?;
    say!("wrote {}", path.display());
    Ok(())
}

fn save(profile: &Profile, path: &Path) -> Result<(), Failure> {
    output::write_output(path, &output::json("the profile", &WithSummary::of(profile))?)
}

pub(super) fn read(path: &Path) -> Result<Profile, Failure> {
    let text = fs::read(path).map_err(|error| {
        usage!("reading the profile {}: {error}; `slob profile` makes one", path.display())
    })?;
    Profile::read(&text).map_err(|error| usage!("{}: {error}", path.display()))
}

fn from_server(args: &ProfileArgs, matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let (every, length) = (time_given("every", &args.every)?, time_given("for", &args.length)?);
    if !settings::is_set(&settings, "TARGET") {
        return Err(Failure::usage(
            "say what to profile: files or folders of reports, runs or profiles, or --target with a live server",
        ));
    }
    if length < every {
        return Err(Failure::usage("--for must not be less than --every"));
    }
    let path = args.output.as_deref().unwrap_or(Path::new(FILE));
    let stop = interrupt::flag()?;
    let (spec, engine) = settings::open(&settings)?;
    let mut watch = Watch::begin(engine.as_ref(), &spec.target)?;
    watch.profile.left_out.iter().for_each(|left| say!("slob: not known: {}", left.why));
    if let Ok(text) = fs::read(path) {
        let subject = std::mem::take(&mut watch.profile.subject);
        watch.profile = earlier(&text, &subject, path)?;
        watch.profile.subject = subject.or(std::mem::take(&mut watch.profile.subject));
    }
    let pause = duration(every.as_secs_f64());
    say!(
        "asking {} every {pause} for {}; Ctrl-C ends it and keeps what there is; the same command resumes",
        watch.profile.subject.name,
        duration(length.as_secs_f64())
    );
    let bar = (output::is_interactive() && length > UNSEEN).then(|| Progress::new("watching"));
    let (mut unsaved, mut latest) = (0, String::new());
    let say = |line: &str| bar.as_ref().map_or_else(|| output::say(line), |bar| bar.say(line));
    let ended = watch.watch(every, length, &stop, &mut |event| {
        match event {
            WatchEvent::LeftOut(left) => say(&format!("slob: left out: {}", left.why)),
            WatchEvent::Waiting(elapsed) => {
                if let Some(bar) = &bar {
                    let [done, of] = [elapsed.min(length), length].map(|time| time.as_millis() as u64);
                    bar.at(done, of, &latest);
                }
            }
            WatchEvent::NoAnswer(error) => {
                say(&format!("slob: {error}; asking again in {pause}"));
            }
            WatchEvent::Interval(profile) => {
                latest = profile.intervals.last().map(interval_words).unwrap_or_default();
                unsaved += 1;
                if is_save_due(unsaved, profile.intervals.len()) && !profile.intervals.is_empty() {
                    save(profile, path)?;
                    unsaved = 0;
                }
            }
        }
        Ok::<(), Failure>(())
    });
    if let Some(bar) = &bar {
        bar.finish();
    }
    let profile = watch.profile;
    let saved = if unsaved > 0 && !profile.intervals.is_empty() { save(&profile, path) } else { Ok(()) };
    let ended = ended?;
    saved?;
    if profile.intervals.is_empty() {
        let why = "no interval was seen to its end: nothing is saved";
        return Err(if ended { Failure::failed(why) } else { Failure::interrupted(why) });
    }
    args.shown.print(std::slice::from_ref(&profile))?;
    say!("the profile is in {}", path.display());
    Ok(if ended { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
}

pub(super) fn time_given(name: &str, text: &str) -> Result<Duration, Failure> {
    const TIME: Kind = Kind::Duration { min_s: 1, max_s: 366 * 86_400 };
    parse_time(TIME, text).ok_or_else(|| usage!("--{name} is {text}; it must be {}, or 1d", TIME.permitted()))
}

/// The file is written whole: saving a long profile less often keeps the cost of an interval constant.
fn is_save_due(unsaved: usize, intervals: usize) -> bool {
    unsaved * SAVED_SINGLY >= intervals
}

fn earlier(text: &[u8], subject: &Subject, path: &Path) -> Result<Profile, Failure> {
    let place = path.display();
    let profile =
        Profile::read(text).map_err(|error| usage!("{place}: {error}; name another file with -o"))?;
    if profile.source != Source::Live || !profile.subject.is_same(subject) {
        return Err(usage!(
            "{place} is a profile of {}, and not of {}: name another file with -o",
            profile.subject.words(),
            subject.words()
        ));
    }
    if let Some(last) = profile.intervals.last() {
        let end = last.end().strftime("%Y-%m-%d %H:%M:%S");
        say!("going on with {place}, whose last interval ended at {end}; the time since is a gap");
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use slob_demand::Figure;

    use super::*;

    fn profile(name: &str) -> Profile {
        let sample = Sample {
            subject: Subject { name: name.into(), ..Subject::default() },
            begin: Some("2026-11-20T10:00".parse().unwrap()),
            seconds: Some(60.0),
            figures: [(Figure::Commits, 5.0)].into(),
            ..Sample::default()
        };
        collect(vec![sample], Source::Live).remove(0)
    }

    #[test]
    fn a_saved_profile_reads_back_and_several_have_names_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        save(&profile("PROD"), &path).unwrap();
        assert_eq!(read(&path).unwrap(), profile("PROD"));
        let several = [profile("A/B-2"), profile("A/B"), profile("a"), profile("A/B")];
        let names = file_names(&several, &path);
        let names: Vec<_> = names.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["profile-A-B-2.json", "profile-A-B.json", "profile-a.json", "profile-A-B-3.json"]);
    }

    #[test]
    fn the_profile_of_a_live_server_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        save(&profile("PROD"), &path).unwrap();
        let reports = Profile { source: Source::Reports, ..profile("PROD") };
        let error = save_over(&reports, &path).unwrap_err().text();
        assert!(error.contains("live server"), "{error}");
        fs::write(&path, "[package]").unwrap();
        assert!(save_over(&reports, &path).unwrap_err().text().contains("is no profile"));
    }

    #[test]
    fn a_long_watch_writes_no_more_for_an_interval_than_a_short_one() {
        let (mut unsaved, mut written) = (0, 0);
        for intervals in 1..=100_000 {
            unsaved += 1;
            assert!(intervals > SAVED_SINGLY || is_save_due(unsaved, intervals));
            if is_save_due(unsaved, intervals) {
                (unsaved, written) = (0, written + intervals);
            }
            assert!(
                unsaved <= intervals / SAVED_SINGLY && written <= intervals * SAVED_SINGLY,
                "{intervals}: {written}"
            );
        }
    }

    #[test]
    fn times_are_read_with_their_units() {
        let of = |text: &str| time_given("every", text).ok().map(|time| time.as_secs());
        assert_eq!([of("60s"), of("15m"), of("1d"), of("90")], [Some(60), Some(900), Some(86_400), Some(90)]);
        assert_eq!([of("x"), of("1w"), of("5 parsecs")], [None, None, None]);
    }
}
