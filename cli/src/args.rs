//! The command line, its help, and what a mistake is answered with.

use std::env;
use std::env::consts::{ARCH, OS};
use std::fmt::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use slob_record::RECORD_VERSION;

use crate::commands::{command_named, commands, named_groups};
use crate::registry::{self, ENGINES};

const FEW: usize = 3;

/// Builds the named command alone, which halves the time of a start. Help, mistakes and completion need all commands.
pub(crate) fn command_for(word: Option<&str>) -> Command {
    match word.and_then(command_named) {
        Some(named) => Command::new("slob").subcommand(with_short_help(named)),
        None => command(),
    }
}

pub(crate) fn command() -> Command {
    let command = Command::new("slob")
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(long_version())
        .about("OpenSLOB: what can this platform do for a database?")
        .long_about(
            "OpenSLOB measures what a platform can do for a database: real SQL, random single-block I/O through the \
             database's own buffer cache, for as little CPU as possible.",
        )
        .after_help(examples())
        .subcommands(commands().map(with_short_help));
    grouped(command)
}

fn grouped(command: Command) -> Command {
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let mut groups = String::new();
    for (group, names) in named_groups() {
        let _ = writeln!(groups, "{group}:");
        for sub in names.into_iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {:<width$}  {about}", sub.get_name());
        }
        groups.push('\n');
    }
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

fn with_short_help(command: Command) -> Command {
    let command = command.mut_subcommands(with_short_help);
    let Some(full) = command.get_after_help().map(ToString::to_string) else { return command };
    let is_example = |line: &&str| line.starts_with("  ");
    let mut lines: Vec<&str> = full.lines().skip_while(|line| *line != "Examples:").collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    let examples: Vec<&str> = lines.into_iter().skip(1).take_while(is_example).take(FEW).collect();
    let head =
        if examples.is_empty() { String::new() } else { format!("Examples:\n{}\n", examples.join("\n")) };
    let short = format!("{head}`--help` lists every flag, with more examples.");
    command.mut_args(with_short_meaning).after_help(short).after_long_help(full)
}

/// The end in brackets has the default.
fn with_short_meaning(arg: Arg) -> Arg {
    let Some(full) = arg.get_help().map(ToString::to_string) else { return arg };
    let (meaning, end) = full.rfind(" [").map_or((full.as_str(), ""), |at| full.split_at(at));
    let short = meaning.split("; ").next().unwrap_or(meaning);
    let short = short.split(": ").next().unwrap_or(short);
    let short = format!("{short}{end}");
    arg.help(short).long_help(full)
}

fn examples() -> String {
    let target = registry::EXAMPLE_TARGET;
    format!(
        "\
Examples:
  slob demo                                see what it does, in about a minute
  slob setup --target {target} 4         load four schemas
  slob run --target {target} -t 2        run two sessions on each of them
  slob report                              the latest run's full report
  slob compare latest~1 latest             what changed between two runs
  slob profile awr/ && slob search profile.json   will this platform carry that database?
Parameters come from ./slob.conf, the environment (SLOB_<KEY>) and flags; `slob conf` lists them.
`slob COMMAND --help` explains a command. `slob` alone suggests what to do next.

Exit codes: 0 success; 1 a verdict failed (--strict), data are damaged, or a record is unreadable;
2 bad usage, nothing was changed; 3 the load or run failed, results are kept; 4 the answer is not known;
130 interrupted."
    )
}

fn long_version() -> String {
    let libc = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
    let profile = if cfg!(debug_assertions) { "debug: its figures are of no use" } else { "optimised" };
    let mut text = format!("{}\nrecord    version {RECORD_VERSION}\n", env!("CARGO_PKG_VERSION"));
    for engine in ENGINES {
        text.push_str(&format!("engine    {}: {}\n", engine.scheme, (engine.library)()));
    }
    text.push_str(&format!("built     for {OS} {ARCH} ({libc}), {profile}"));
    text
}

/// Help and versions go to stdout, mistakes to stderr with exit code 2.
pub(crate) fn exit_with(error: clap::Error) -> ExitCode {
    let root = command();
    let error = with_example(with_own_tips(error, &root), &root);
    // A closed pipe behind --help is no error.
    let _ = error.print();
    if error.use_stderr() {
        say_page_file();
    }
    ExitCode::from(u8::from(error.use_stderr()) * 2)
}

/// After a mistake: where `--html` needs no file, a word behind it is an input.
pub(crate) fn say_page_file() {
    let words: Vec<String> = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_page = |pair: &&[String]| pair[0] == "--html" && pair[1].ends_with(".html");
    let (Some(pair), root) = (words.windows(2).find(is_page), command()) else { return };
    let Some(named) = words.get(1).and_then(|word| root.find_subcommand(word)) else { return };
    let argument = |id: &str| named.get_arguments().find(|argument| argument.get_id() == id);
    let of_page = |html: &Arg| match html.get_action().takes_values() {
        true => html.is_require_equals_set().then(|| format!("`--html={}`", pair[1])),
        false => argument("output").map(|_| format!("`--html -o {}`", pair[1])),
    };
    if let Some(way) = argument("html").and_then(of_page) {
        say!("slob: a word after --html is an input; {way} names the page's file");
    }
}

/// The library's tips go by letters: they offer `--gate` for the `--rate` of another command, or a flag as a value, and nothing
/// for `rnu`.
fn with_own_tips(mut error: clap::Error, root: &Command) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            let typed = text(ContextKind::InvalidSubcommand);
            let visible = root.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
            let nearest = visible.min_by_key(|name| strsim::damerau_levenshtein(name, &typed));
            if let Some(name) = nearest.filter(|name| strsim::damerau_levenshtein(name, &typed) <= 1) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name.to_owned()]));
            }
        }
        ErrorKind::UnknownArgument => {
            let (typed, guess) = (text(ContextKind::InvalidArg), text(ContextKind::SuggestedArg));
            error.remove(ContextKind::Suggested);
            let takers = takers_of(&typed, root);
            let is_begun = !guess.is_empty() && guess.starts_with(&typed);
            let meant = command_of(&error, root).and_then(|(sub, _)| flag_meant(&typed, sub));
            if strsim::damerau_levenshtein(&typed, &guess) > 2 && !is_begun {
                error.remove(ContextKind::SuggestedArg);
            }
            if let Some(flag) = meant.filter(|_| !is_begun) {
                error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
            } else if !takers.is_empty() {
                error.remove(ContextKind::SuggestedArg);
                let tip = format!("{typed} is a flag of {}", takers.join(", ")).into();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
            }
        }
        ErrorKind::InvalidValue => {
            let typed = text(ContextKind::InvalidValue);
            if strsim::damerau_levenshtein(&typed, &text(ContextKind::SuggestedValue)) > 1 {
                error.remove(ContextKind::SuggestedValue);
            }
        }
        _ => {}
    }
    error
}

/// Words of other tools, and the flags that have their meaning here.
const OTHER_WORDS: [(&str, &str); 20] = [
    ("sessions", "threads"),
    ("clients", "threads"),
    ("users", "threads"),
    ("concurrency", "threads"),
    ("jobs", "threads"),
    ("size", "scale"),
    ("tables", "schemas"),
    ("seconds", "run-time"),
    ("runtime", "run-time"),
    ("qps", "rate"),
    ("tps", "rate"),
    ("iops", "rate"),
    ("label", "name"),
    ("out", "results-dir"),
    ("output-dir", "results-dir"),
    ("url", "target"),
    ("dsn", "target"),
    ("host", "target"),
    ("password", "ask-password"),
    ("config", "conf"),
];

/// The flag of a command that is spelled or called otherwise: `--UPDATE_PCT`, `--users`.
fn flag_meant(typed: &str, sub: &Command) -> Option<String> {
    let plain = typed.strip_prefix("--")?.to_lowercase().replace('_', "-");
    let other = OTHER_WORDS.iter().find(|(word, _)| *word == plain).map(|(_, flag)| *flag);
    let has_it = |flag: &&str| sub.get_arguments().any(|own| own.get_long() == Some(flag));
    [Some(plain.as_str()), other].into_iter().flatten().find(has_it).map(|flag| format!("--{flag}"))
}

/// The command of a mistake and its name, which its usage begins with.
fn command_of<'a>(error: &clap::Error, root: &'a Command) -> Option<(&'a Command, String)> {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    let usage = usage.to_string();
    let words = usage.split_whitespace().skip_while(|word| *word != "slob").skip(1);
    let (mut sub, mut name) = (root, "slob".to_owned());
    for word in words {
        let Some(below) = sub.find_subcommand(word) else { break };
        (sub, name) = (below, format!("{name} {word}"));
    }
    Some((sub, name))
}

/// The usage without the flag that the library would have guessed, and the first example of the command.
fn with_example(mut error: clap::Error, root: &Command) -> clap::Error {
    if !matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument) {
        return error;
    }
    let Some((sub, name)) = command_of(&error, root) else { return error };
    let help = sub.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let example = help.lines().skip_while(|line| *line != "Examples:").nth(1).unwrap_or_default();
    let example = example.trim_start().split("  ").next().unwrap_or_default();
    let has_tip =
        [ContextKind::Suggested, ContextKind::SuggestedArg].iter().any(|tip| error.get(*tip).is_some());
    if !has_tip && !example.is_empty() {
        let tip = format!("for example `{example}`; `{name} -h` has more").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    if error.kind() == ErrorKind::UnknownArgument {
        let mut sub = sub.clone().bin_name(name);
        error.insert(ContextKind::Usage, ContextValue::StyledStr(sub.render_usage()));
    }
    error
}

fn takers_of(flag: &str, root: &Command) -> Vec<String> {
    const SHOWN: usize = 4;
    let has_it = |sub: &&Command| {
        let mut longs = sub.get_arguments().filter_map(Arg::get_long);
        !sub.is_hide_set() && flag.strip_prefix("--").is_some_and(|flag| longs.any(|long| long == flag))
    };
    let takers = root.get_subcommands().filter(has_it);
    takers.map(|sub| format!("`slob {}`", sub.get_name())).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    /// `slob run -h` had 197 lines.
    #[test]
    fn a_short_help_fits_a_screen() {
        let mut root = command().term_width(100);
        root.build();
        for sub in root.get_subcommands_mut() {
            let help = sub.render_help().to_string();
            let (lines, name) = (help.lines().count(), sub.get_name());
            assert!(lines <= 45, "{lines} lines of `slob {name} -h`:\n{help}");
        }
    }

    /// Scripts use the names that commands had before some of them became one.
    #[test]
    fn commands_have_their_old_names_too() {
        let root = command();
        for old in ["info", "show", "export", "diff", "analyze", "ledger", "saturate", "headroom", "ladder"] {
            assert!(root.find_subcommand(old).is_some_and(Command::is_hide_set), "{old}");
        }
    }

    /// `slob search profile.json --html` wanted a value, and `slob headroom` of scripts gives one without `=`.
    #[test]
    fn a_page_of_a_search_needs_no_name() {
        for words in [
            "search p.json --html",
            "search --html",
            "headroom p.json --html",
            "headroom p.json --html h.html",
        ] {
            let parsed = command().try_get_matches_from(["slob"].into_iter().chain(words.split(' ')));
            assert!(parsed.is_ok(), "{words}: {parsed:?}");
        }
    }

    /// The words of each `slob` command in the shell blocks of a page.
    fn commands_of(page: &str) -> Vec<Vec<String>> {
        let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
        let lines = blocks.flat_map(|block| {
            let joined = block.replace("\\\n", " ");
            joined.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        let parts = lines.flat_map(|line| {
            let line = line.split(" # ").next().unwrap_or_default().replace("&&", "|").replace(';', "|");
            line.split('|').map(str::to_owned).collect::<Vec<_>>()
        });
        let words = parts.filter_map(|part| {
            let words = shlex::split(part.split(['>', '<']).next()?)?;
            let is_before =
                |word: &String| ["sudo", "-E", "-n"].contains(&word.as_str()) || word.contains('=');
            let words: Vec<String> = words.into_iter().skip_while(is_before).collect();
            (words.first().is_some_and(|first| first == "slob")).then_some(words)
        });
        words.collect()
    }

    /// People copy these: each command and flag of the documents exists.
    #[test]
    fn commands_of_the_documents_are_understood() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut folders = vec![root.join("docs")];
        let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.extension().is_some_and(|ending| ending == "md") => pages.push(path),
                    false => {}
                }
            }
        }
        let (mut count, mut wrong) = (0, Vec::new());
        for page in pages {
            for words in commands_of(&std::fs::read_to_string(&page).unwrap()) {
                count += 1;
                if let Err(error) = command().try_get_matches_from(&words)
                    && error.use_stderr()
                {
                    wrong.push(format!("{}: {}: {error}", page.display(), words.join(" ")));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(count > 50, "{count} commands");
    }

    #[test]
    fn a_command_is_described_on_one_line() {
        for sub in command().get_subcommands() {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((1..=84).contains(&about.len()), "{about}");
        }
    }
}
