//! The command line. The flags of parameters come from the parameter table.

mod awr;
mod campaigns;
mod profiles;
mod records;

use std::env::consts::{ARCH, OS};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, ValueHint, value_parser};
use clap_complete::ArgValueCompleter;
use slob_engine::EngineKind;
use slob_record::RECORD_VERSION;
use slob_spec::{Group, Kind, Param};

use crate::answer::Forms;
use crate::registry::{self, ENGINES, is_of_run};
use crate::{completing, settings};

/// Parameters that decide what is loaded.
const LOAD_GROUPS: &[Group] = &[Group::Target, Group::Data];
/// The group of commands to which those of engines belong.
const HOUSEKEEPING: &str = "Housekeeping";
/// Commands by purpose, in the order of use.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Test",
        &[
            "demo", "setup", "run", "mark", "probe", "ladder", "saturate", "campaign", "profile", "plan",
            "headroom",
        ],
    ),
    ("Look", &["list", "report", "info", "show", "export"]),
    ("Compare", &["diff", "gate", "analyze", "trend", "ledger"]),
    (awr::HEADING, &["awr"]),
    (HOUSEKEEPING, &["doctor", "conf", "verify", "drop", "selftest", "observe", "completions", "man"]),
];

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
        .subcommands([demo(), setup(), run(), mark(), report()])
        .subcommands(records::commands())
        .subcommands(campaigns::commands())
        .subcommands(profiles::commands())
        .subcommands([awr::command(), probe(), ladder(), observe(), conf(), verify(), drop_command(), doctor()])
        .subcommand(selftest())
        .subcommands(ENGINES.iter().filter(|engine| engine.scripts.is_some()).map(prepare_server))
        .subcommands([completions(), man()]);
    grouped(command)
}

/// Replaces clap's flat list of commands by groups.
fn grouped(command: Command) -> Command {
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let mut groups = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(groups, "{group}:");
        for sub in members(group, names).filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {:<width$}  {about}", sub.get_name());
        }
        groups.push('\n');
    }
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

fn members<'a>(group: &str, names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let engines = ENGINES.iter().filter(|engine| group == HOUSEKEEPING && engine.scripts.is_some());
    let engines: Vec<&str> = engines.map(|engine| engine.scheme).collect();
    names.iter().copied().chain(engines)
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
  slob diff latest~1 latest                what changed between two runs
  slob profile awr/ && slob headroom profile.json   will this platform carry that database?
Parameters come from ./slob.conf, the environment (SLOB_<KEY>) and flags; `slob conf` lists them.
`slob COMMAND --help` explains a command. `slob` alone suggests what to do next.

Exit codes: 0 success; 1 a verdict failed (--strict), data are damaged, or a record is unreadable;
2 bad usage, nothing was changed; 3 the load or run failed, results are kept; 4 `slob gate` can't tell;
130 interrupted."
    )
}

/// `slob --version`: the engines and their libraries, the record's version, the platform and the kind of build.
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

fn setup() -> Command {
    let command = Command::new("setup")
        .about("Load the schemas of a test; resumes an interrupted load")
        .after_help("Examples:\n  slob setup 4\n  slob setup --scale 1G --load-parallel-degree 4 8\n  slob setup IOPS 8        as in the original kit: tablespace, then schemas\n  slob setup IOPS --yes    128 schemas, as in the original kit, without a question\nA schema that is already loaded is left alone. More schemas are loaded like those already there, unless you say otherwise.")
        .arg(
            Arg::new("tablespace-and-schemas")
                .num_args(1..=2)
                .value_names(["TABLESPACE", "SCHEMAS"])
                .conflicts_with("SCHEMAS")
                .help("The number of schemas, preceded by a tablespace where the database has them; 128 for a tablespace alone"),
        )
        .arg(switch("yes", "Do not ask before 128 schemas are loaded, for a tablespace alone").short('y'))
        .args([print_sql(), plain()]);
    with_params(command, |param| {
        LOAD_GROUPS.contains(&param.group) || is_common(param) || is_results_dir(param) || param.key == "SEED"
    })
}

fn run() -> Command {
    let sessions = Arg::new("schemas-or-roles")
        .num_args(1..=2)
        .value_names(["SCHEMAS|WRITERS", "READERS"])
        .help("The number of schemas; or of sessions that only update, and of sessions that only read");
    let journal = "Log every update that the database acknowledges to FILE, for `slob verify --durability FILE` after a crash";
    let metrics = "Serve live figures for Prometheus at /metrics; a bare port binds to 127.0.0.1, port 0 picks a free one";
    let command = Command::new("run")
        .about("Run a test and print its summary")
        .after_help("Examples:\n  slob run                 one session on each loaded schema, over all of its data\n  slob run -t 4 --run-time 60 --update-pct 20\n  slob run -s 1 -t 16      sixteen sessions on one schema\n  slob run 4 8             four sessions that only update beside eight that only read\n  slob run --until-steady --run-time 30m   stop as soon as the rate is steady, after 30 minutes at most\n  slob run --observe ssh:db1               the database is on db1: watch its CPU and device through ssh\n  slob run --rate 100@0s,400@60s           100 operations/s in the first minute, then 400\n  slob run --demand profile.json --from 2026-11-20 --compress 24   that day of production in an hour\n  slob run --metrics 9187  serve live figures at http://127.0.0.1:9187/metrics\nSCHEMAS, SCALE and SCAN_TABLE_SZ, if you do not set them, are those of the loaded data.")
        .args([
            sessions.add(ArgValueCompleter::new(completing::schemas)),
            strict(),
            switch("full", "Print the full report instead of its summary").conflicts_with("json"),
            switch("json", "Print the record as JSON instead of the summary"),
            print_sql(),
            plain(),
            file("durability", journal),
            file("sign", "Sign the record with this private key of OpenSSH (ssh-ed25519), for `slob verify --run RUN --signed-by KEY.pub`"),
            option("metrics", "ADDRESS:PORT", metrics),
            switch("member", "Take settings and start from the program that started this one").hide(true),
            file("demand", "Follow this profile, of `slob profile`: its mix, and its rate interval by interval"),
            option("from", "MOMENT", "With --demand, the begin [default: that of the day of the peak]").requires("demand"),
            option("for", "TIME", "With --demand, how much of the profile").default_value("1d").requires("demand"),
            number("compress", "TIMES", "24", "With --demand, how many times as fast").requires("demand"),
        ]);
    with_params(command, is_of_run)
}

fn mark() -> Command {
    let run = "The run, by its id or name [default: the only one under way]";
    let command = Command::new("mark")
        .about("Note an event in a run that is under way")
        .after_help("The mark appears in the record, the series and the reports, and as a line in the charts.\nExamples:\n  slob mark rebalance begins\n  slob mark --run 20261120T231840Z-run fstrim done   if several runs are under way\n  slob mark --results-dir campaigns/fs backup begins\nEXTERNAL_SCRIPT, and anything it starts, can call `slob mark TEXT` without naming the run.")
        .arg(position("text", "TEXT", "What is happening, in one line").required(true).num_args(1..))
        .arg(option("run", "ID", run).add(ArgValueCompleter::new(completing::under_way)));
    with_params(command, is_results_dir)
}

fn demo() -> Command {
    let command = Command::new("demo")
        .about("See the whole method here: probe the device, load, run for 20 s, report, clean up")
        .after_help("The data go to ./slob-demo and are removed at the end; the report stays in ./runs.")
        .args([
            switch("keep", "Keep the data"),
            switch("full", "Print the full report instead of its summary"),
            plain(),
        ]);
    with_params(command, |param| {
        ["RUN_TIME", "RESULTS_DIR"].contains(&param.key)
            || param.group == Group::Engine(registry::DEMO_SCHEME)
    })
    .mut_arg("RUN_TIME", |arg| arg.help("seconds to measure [RUN_TIME=20]"))
}

fn report() -> Command {
    let command = Command::new("report")
        .about("Print the report of a run, or write it as a page with charts")
        .args([
            records::run_arg().default_value("latest"),
            switch("summary", "Print only the verdicts and key figures")
                .conflicts_with_all(["html", "compare-probe"]),
            switch("html", "Write the report with charts as one HTML file, next to the record")
                .conflicts_with("compare-probe"),
            output("Where to write the HTML file; `-` means stdout").requires("html"),
            switch("compare-probe", "Print only the comparison with the bare device: what the database costs"),
            switch("limits", "Print the table of limits of docs/method.md").hide(true),
        ])
        .after_help("Examples:\n  slob report                                the latest run, as text\n  slob report 20261120T231840Z-demo --html   rewrite its report.html\n  slob report latest --html -o /tmp/r.html\n  slob report latest --compare-probe\n  slob report --html awr-reports/            AWR reports over time, as one page");
    with_params(command, is_results_dir)
}

fn probe() -> Command {
    let number = |name, default, help| Arg::new(name).long(name).default_value(default).help(help);
    let list = |name, default, help| {
        number(name, default, help).value_delimiter(',').value_parser(value_parser!(u32).range(1..=4096))
    };
    let command = Command::new("probe")
        .about("Measure the device behind a folder, without a database")
        .after_help("Reads random blocks of a scratch file in that folder, then removes the file.\nThe result is kept in the results folder; later runs on the same device are compared with it.\nExamples:\n  slob probe /data                       the device behind a folder of this host\n  slob probe --observe ssh:db1 /data     the same on the database's host; the result is kept here under its name")
        .args([
            path("path").default_value(".").help("A folder on the device"),
            switch("write", "Measure random writes as well"),
            switch("buffered", "Read through the operating system's page cache"),
            number("seconds", "2", "Seconds per step").value_parser(value_parser!(f64)),
            number("size-mb", "1024", "Size of the scratch file in MiB")
                .value_parser(value_parser!(u64).range(16..=1_048_576)),
            number("block-bytes", "8192", "Block size in bytes")
                .value_parser(value_parser!(u32).range(512..=1_048_576)),
            list("sessions", "1,2,4,8,16", "Numbers of sessions reading synchronously"),
            list("depths", "16,64", "Queue depths of asynchronous reads"),
            switch("json", "Print the result as JSON"),
            switch("no-save", "Do not save the result"),
        ]);
    with_params(command, |param| is_results_dir(param) || is_observer(param))
}

fn ladder() -> Command {
    let examples = "\
Examples:
  slob ladder                            the device below the data, the file system, the page cache, and the database
  slob ladder -s 1 -t 8 --seconds 20     eight sessions on each rung
  slob ladder /data                      without a database: the folder of a device
  slob ladder /pgdata --target ...       a folder beside the data, if those are not found
  slob ladder --html                     a page with a chart, ladder.html
Reads random blocks, one at a time in each session, for --seconds on each rung. Runs of the database are ordinary records, named
ladder-cached and ladder-storage.";
    let command = Command::new("ladder")
        .about("Read the same blocks from the device, the page cache and through the database")
        .after_help(examples)
        .args([
            path("path").help("A folder on the device [default: the folder of the target's data]"),
            number("seconds", "SECONDS", "5", "Seconds per rung")
                .value_parser(value_parser!(u32).range(1..=3600)),
            number("size-mb", "MIB", "1024", "Size of the scratch file in MiB")
                .value_parser(value_parser!(u64).range(16..=1_048_576)),
        ]);
    with_params(Forms::augment_args(command), |param| {
        is_common(param)
            || is_results_dir(param)
            || is_observer(param)
            || ["SCHEMAS", "THREADS_PER_SCHEMA", "SCALE"].contains(&param.key)
    })
}

fn observe() -> Command {
    Command::new("observe")
        .about("Watch this host for a run elsewhere: started here by `slob run --observe ssh:HOST`")
        .after_help("Reads questions from stdin and answers each on stdout with a line of JSON, until stdin ends. It opens no port and\nchanges nothing except for the scratch file of a probe.\nExample: slob observe < /dev/null     the greeting: release, protocol, host")
}

fn conf() -> Command {
    let command = Command::new("conf")
        .about("Show every parameter: its value, where it came from, what it means")
        .args([
            switch("init", "Write a commented slob.conf to the current folder"),
            switch("json", "Print as JSON"),
            switch("markdown", "Print docs/parameters.md").hide(true),
        ]);
    with_params(command, |_| true)
}

fn verify() -> Command {
    let journal = "Check as well that no acknowledged update is missing, using the journal of `slob run --durability FILE`";
    let command = Command::new("verify")
        .about("Check every byte of the loaded data, or a run's record")
        .args([
            option("run", "RUN", "Check a run's record instead of the data")
                .add(ArgValueCompleter::new(completing::runs))
                .conflicts_with("durability"),
            file("signed-by", "The record must be signed with this public key, or with one of the allowed signers in this file").requires("run"),
            file("durability", journal),
        ])
        .after_help("Examples:\n  slob verify --target ...     every row of every schema\n  slob verify --run latest     checks the run's sums and counters and the files of its folder, and replays its plan; makes no connection\n  slob verify --run latest --signed-by ~/.ssh/id_ed25519.pub\nExit codes: 0 everything is correct; 1 something is not; 2 bad usage; 3 not everything could be read; 130 interrupted.");
    with_params(command, |param| {
        is_common(param) || is_results_dir(param) || param.key == "LOAD_PARALLEL_DEGREE"
    })
}

fn drop_command() -> Command {
    let command = Command::new("drop")
        .about("Remove the schemas that slob loaded, and nothing else")
        .arg(switch("yes", "Do not ask").short('y'));
    with_params(command, is_common)
}

fn doctor() -> Command {
    let command = Command::new("doctor")
        .about("Check this machine and the target for anything that would spoil a test")
        .after_help("Changes nothing. Takes a second or two, in which it watches other programs. `slob setup` and `slob run` use the same checks.\nExamples:\n  slob doctor\n  slob doctor --target ... --scale 4G -s 8\n  slob doctor --target ... --observe ssh:db1\nExit codes: 0 a test is possible, with or without warnings; 1 it is not; 2 bad usage.");
    with_params(command, |param| {
        LOAD_GROUPS.contains(&param.group) || is_common(param) || is_results_dir(param) || is_observer(param)
    })
}

fn selftest() -> Command {
    let capture = "Save the server's answers to FILE.tar.gz: version, settings, counters and plans verbatim, the time of each call, and errors; no passwords, no rows";
    let replay =
        "Recompute the figures from a capture, without a server, and compare them with the original ones";
    let command = Command::new("selftest")
        .about("Check that an engine behaves on this target as the method requires")
        .after_help("Loads two small schemas, works on them, reads every row back and removes them; then does the same for a small test from\nload to removal. The target must hold no schemas. The report is Markdown on stdout, meant to be attached to an issue: it\nnames hosts and accounts, but no passwords.\nExample: slob selftest --target ... --output selftest.md\nExit codes: 0 all checks passed; 1 a check failed; 2 nothing was changed; 130 interrupted.")
        .args([
            output("Write the report to this file as well"),
            file("capture", capture),
            switch("with-names", "Keep host names in the capture instead of replacing them by host-1, host-2, ...")
                .requires("capture"),
            file("replay", replay).conflicts_with_all(["capture", "output"]),
        ]);
    with_params(command, |param| {
        is_common(param)
            || is_observer(param)
            || ["TABLESPACE", "BLOCK_SZ", "DATABASE_STATISTICS_TYPE"].contains(&param.key)
    })
}

/// `slob ENGINE init`, for an engine that can prepare a server.
fn prepare_server(engine: &EngineKind) -> Command {
    let init = Command::new("init")
        .about("Print a parameter file, a tablespace for the planned load and an I/O calibration")
        .after_help("Makes no connection. Read the output before you use it: it is meant for dedicated test databases only.");
    let product = engine.summary.split(':').next().unwrap_or(engine.summary);
    Command::new(engine.scheme)
        .about(format!("Prepare a server: {product}"))
        .subcommand_required(true)
        .subcommand(with_params(init, |param| LOAD_GROUPS.contains(&param.group) || is_common(param)))
}

fn completions() -> Command {
    Command::new("completions")
        .about("Print the script that makes a shell complete slob's command lines")
        .after_help("Examples:\n  source <(slob completions bash)                      in ~/.bashrc; the same for zsh, after compinit\n  slob completions fish > ~/.config/fish/completions/slob.fish\nIn bash, zsh and fish, the shell asks slob at each Tab, which then offers what exists as well: runs (`latest`, ids, names),\nthe schemas they worked on, profile*.json, campaigns and their variants. It reads files and makes no connection. Print it anew after an upgrade.\nIn elvish and PowerShell, commands, flags and words are completed.")
        .arg(Arg::new("shell").required(true).value_parser(value_parser!(clap_complete::Shell)))
}

fn man() -> Command {
    Command::new("man")
        .about("Print the manual page, or write all of them to a folder")
        .after_help("Examples:\n  slob man | man -l -\n  slob man /usr/local/share/man/man1")
        .arg(path("folder").value_name("FOLDER").help("An existing folder for slob.1, slob-run.1 and so on"))
}

/// Parameters of the target and of the way to it.
fn is_common(param: &Param) -> bool {
    matches!(param.key, "TARGET" | "ENDPOINTS") || matches!(param.group, Group::Access | Group::Engine(_))
}

fn is_observer(param: &Param) -> bool {
    param.key.starts_with("OBSERVE")
}

fn is_results_dir(param: &Param) -> bool {
    param.key == "RESULTS_DIR"
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// `--NAME VALUE`.
fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// `--NAME VALUE` with a number and a default.
fn number(name: &'static str, value: &'static str, default: &'static str, help: &'static str) -> Arg {
    option(name, value, help).default_value(default).value_parser(value_parser!(f64))
}

fn file(name: &'static str, help: &'static str) -> Arg {
    option(name, "FILE", help).value_parser(value_parser!(PathBuf))
}

fn output(help: &'static str) -> Arg {
    file("output", help).short('o')
}

fn position(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).help(help)
}

fn path(name: &'static str) -> Arg {
    Arg::new(name).value_parser(value_parser!(PathBuf))
}

fn plain() -> Arg {
    switch("plain", "Print lines instead of the dashboard, even on a terminal")
}

fn strict() -> Arg {
    switch("strict", "Exit with code 1 unless every verdict is good")
}

fn print_sql() -> Arg {
    let help = "Print the statements that would be executed, if the engine supports it; makes no connection";
    switch("print-sql", help)
}

/// Adds `--conf` and the flags of the parameters that a command uses.
fn with_params(command: Command, is_used: impl Fn(&Param) -> bool) -> Command {
    let help = "The configuration file, or /dev/stdin [default: ./slob.conf, if it exists]";
    let file = Arg::new(settings::CONF_FILE).long("conf").value_name("FILE").help(help);
    let table = registry::table();
    let params: Vec<&Param> = table.params().iter().filter(|param| is_used(param)).collect();
    let connects = params.iter().any(|param| param.key == "TARGET");
    let ask = switch(settings::ASK_PASSWORD, "Prompt for the password of TARGET's user");
    command
        .arg(file.value_hint(ValueHint::FilePath))
        .args(params.into_iter().filter_map(param_arg))
        .args(connects.then(|| ask.help_heading(Group::Target.to_string())))
}

fn param_arg(param: &Param) -> Option<Arg> {
    let default = param.shipped.map(|value| format!(" [{}={value}]", param.key));
    let help = format!("{}{}", param.meaning, default.unwrap_or_else(|| format!(" [{}]", param.key)));
    let arg = Arg::new(param.key).long(param.flag()?).help(help).help_heading(param.group.to_string());
    let arg = match param.kind {
        Kind::Flag => {
            arg.num_args(0..=1).require_equals(true).default_missing_value("TRUE").value_name("TRUE|FALSE")
        }
        Kind::Choice(choices) => {
            let words = PossibleValuesParser::new(choices.iter().map(|(word, _)| *word));
            let arg = arg.value_parser(words).ignore_case(true).value_name("WORD");
            match param.bare_flag {
                Some(word) => arg.num_args(0..=1).require_equals(true).default_missing_value(word),
                None => arg,
            }
        }
        Kind::Path => arg.value_name("VALUE").allow_hyphen_values(true).value_hint(ValueHint::AnyPath),
        _ => arg.value_name("VALUE").allow_hyphen_values(true),
    };
    Some(match param.key {
        "SCHEMAS" => arg.short('s').add(ArgValueCompleter::new(completing::schemas)),
        "THREADS_PER_SCHEMA" => arg.short('t'),
        _ => arg,
    })
}

/// Values of arguments by name. Like clap's own functions, these panic for a name that the command does not have.
pub(crate) trait Given {
    fn text(&self, name: &str) -> Option<&str>;
    fn texts(&self, name: &str) -> Vec<&str>;
    fn path(&self, name: &str) -> Option<&Path>;
    fn paths(&self, name: &str) -> Vec<&PathBuf>;
    /// The value of an argument that has a default.
    fn value<T: Copy + Default + Send + Sync + 'static>(&self, name: &str) -> T;
}

impl Given for ArgMatches {
    fn text(&self, name: &str) -> Option<&str> {
        self.get_one::<String>(name).map(String::as_str)
    }

    fn texts(&self, name: &str) -> Vec<&str> {
        self.get_many::<String>(name).unwrap_or_default().map(String::as_str).collect()
    }

    fn path(&self, name: &str) -> Option<&Path> {
        self.get_one::<PathBuf>(name).map(PathBuf::as_path)
    }

    fn paths(&self, name: &str) -> Vec<&PathBuf> {
        self.get_many(name).unwrap_or_default().collect()
    }

    fn value<T: Copy + Default + Send + Sync + 'static>(&self, name: &str) -> T {
        self.get_one(name).copied().unwrap_or_default()
    }
}

/// Prints clap's message: help and versions to stdout, mistakes to stderr with exit code 2.
pub(crate) fn exit_with(error: &clap::Error) -> ExitCode {
    // A closed pipe behind --help is no error.
    let _ = error.print();
    ExitCode::from(u8::from(error.use_stderr()) * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        let command = command();
        for sub in command.get_subcommands() {
            let named = GROUPS.iter().flat_map(|(group, names)| members(group, names));
            let count = named.filter(|name| *name == sub.get_name()).count();
            assert_eq!(count, 1, "`slob {}` is in {count} groups", sub.get_name());
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((1..=84).contains(&about.len()), "{about}");
        }
    }
}
