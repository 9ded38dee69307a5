//! The command line. The flags of parameters come from the parameter table.

mod awr;
mod campaigns;
mod groups;
mod profiles;
mod records;
mod scripts;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::ArgValueCompleter;
use slob_spec::{Group, Kind, Param};

use crate::{completing, registry, version};

/// Parameters that decide what is loaded.
const LOAD_GROUPS: &[Group] = &[Group::Target, Group::Data];

/// Parameters that a run has no use for: the data are as they were loaded.
const LOAD_ONLY: &[&str] = &["LOAD_PARALLEL_DEGREE", "OBFUSCATE_COLUMNS", "TABLESPACE"];

/// The flag by which a password is asked for.
pub(crate) const ASK_PASSWORD: &str = "ask-password";

/// The whole command line.
pub(crate) fn command() -> Command {
    let command = Command::new("slob")
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(version::long())
        .about("OpenSLOB: what can this platform do for a database?")
        .long_about(
            "OpenSLOB measures what a platform can do for a database: real SQL, random single-block I/O through the \
             database's own buffer cache, for as little CPU as possible.",
        )
        .after_help(examples())
        .subcommand(demo())
        .subcommand(setup())
        .subcommand(run())
        .subcommand(mark())
        .subcommand(report())
        .subcommands(records::commands())
        .subcommands(campaigns::commands())
        .subcommands(profiles::commands())
        .subcommand(awr::command())
        .subcommand(probe())
        .subcommand(observe())
        .subcommand(conf())
        .subcommand(verify())
        .subcommand(drop_command())
        .subcommand(doctor())
        .subcommand(selftest())
        .subcommands(scripts::commands())
        .subcommand(completions())
        .subcommand(man());
    groups::grouped(command)
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
2 bad usage, nothing was changed; 3 the load or run failed, results are kept; 130 interrupted."
    )
}

fn setup() -> Command {
    with_params(
        Command::new("setup")
            .about("Load the schemas of a test; resumes an interrupted load")
            .after_help("Examples:\n  slob setup 4\n  slob setup --scale 1G --load-parallel-degree 4 8\n  slob setup IOPS 128      as in the original kit: tablespace, then schemas\nA schema that is already loaded is left alone. More schemas are loaded like those already there, unless you say otherwise.")
            .arg(Arg::new("tablespace-and-schemas").num_args(1..=2).value_names(["TABLESPACE", "SCHEMAS"]).conflicts_with("SCHEMAS").help("The number of schemas, preceded by a tablespace where the database has them"))
            .arg(scripts::print_sql())
            .arg(plain()),
        |param| LOAD_GROUPS.contains(&param.group) || is_common(param) || param.key == "SEED",
    )
}

fn run() -> Command {
    with_params(
        Command::new("run")
            .about("Run a test and print its summary")
            .after_help("Examples:\n  slob run                 one session on each loaded schema, over all of its data\n  slob run -t 4 --run-time 60 --update-pct 20\n  slob run -s 1 -t 16      sixteen sessions on one schema\n  slob run --until-steady --run-time 30m   stop as soon as the rate is steady, after 30 minutes at most\n  slob run --observe ssh:db1               the database is on db1: watch its CPU and device through ssh\n  slob run --metrics 9187  serve live figures at http://127.0.0.1:9187/metrics\nSCHEMAS, SCALE and SCAN_TABLE_SZ, if you do not set them, are those of the loaded data.")
            .arg(Arg::new("schemas-in-place").value_name("SCHEMAS").conflicts_with("SCHEMAS").add(ArgValueCompleter::new(completing::schemas)).help("The number of schemas"))
            .arg(switch("strict").help("Exit with code 1 unless every verdict is good"))
            .arg(switch("full").help("Print the full report instead of its summary").conflicts_with("json"))
            .arg(switch("json").help("Print the record as JSON instead of the summary"))
            .arg(scripts::print_sql())
            .arg(plain())
            .arg(durability().help("Log every update that the database acknowledges to FILE, for `slob verify --durability FILE` after a crash"))
            .arg(Arg::new("metrics").long("metrics").value_name("ADDRESS:PORT").help("Serve live figures for Prometheus at /metrics; a bare port binds to 127.0.0.1, port 0 picks a free one")),
        is_of_run,
    )
}

fn mark() -> Command {
    with_params(
        Command::new("mark")
            .about("Note an event in a run that is under way")
            .after_help("The mark appears in the record, the series and the reports, and as a line in the charts.\nExamples:\n  slob mark rebalance begins\n  slob mark --run 20261120T231840Z-run fstrim done   if several runs are under way\n  slob mark --results-dir campaigns/fs backup begins\nEXTERNAL_SCRIPT, and anything it starts, can call `slob mark TEXT` without naming the run.")
            .arg(Arg::new("text").required(true).num_args(1..).value_name("TEXT").help("What is happening, in one line"))
            .arg(Arg::new("run").long("run").value_name("ID").add(ArgValueCompleter::new(completing::under_way)).help("The run, by its id or name [default: the only one under way]")),
        is_results_dir,
    )
}

fn demo() -> Command {
    with_params(
        Command::new("demo")
            .about("See the whole method here: probe the device, load, run for 20 s, report, clean up")
            .after_help("The data go to ./slob-demo and are removed at the end; the report stays in ./runs.")
            .arg(switch("keep").help("Keep the data"))
            .arg(switch("full").help("Print the full report instead of its summary"))
            .arg(plain()),
        |param| {
            ["RUN_TIME", "RESULTS_DIR"].contains(&param.key)
                || param.group == Group::Engine(registry::DEMO_SCHEME)
        },
    )
    .mut_arg("RUN_TIME", |arg| arg.help("seconds to measure [RUN_TIME=20]"))
}

fn report() -> Command {
    with_params(
        Command::new("report")
            .about("Print the report of a run, or write it as a page with charts")
            .arg(records::run_arg().default_value("latest"))
            .arg(switch("summary").help("Print only the verdicts and key figures").conflicts_with_all(["html", "compare-probe"]))
            .arg(switch("html").help("Write the report with charts as one HTML file, next to the record").conflicts_with("compare-probe"))
            .arg(Arg::new("output").short('o').long("output").value_name("FILE").requires("html").value_parser(value_parser!(std::path::PathBuf)).help("Where to write the HTML file; `-` means stdout"))
            .arg(switch("compare-probe").help("Print only the comparison with the bare device: what the database costs"))
            .arg(switch("limits").hide(true).help("Print the table of limits of docs/method.md"))
            .after_help("Examples:\n  slob report                                the latest run, as text\n  slob report 20261120T231840Z-demo --html   rewrite its report.html\n  slob report latest --html -o /tmp/r.html\n  slob report latest --compare-probe\n  slob report --html awr-reports/            AWR reports over time, as one page"),
        is_results_dir,
    )
}

fn probe() -> Command {
    let command = Command::new("probe")
        .about("Measure the device behind a folder, without a database")
        .after_help("Reads random blocks of a scratch file in that folder, then removes the file.\nThe result is kept in the results folder; later runs on the same device are compared with it.\nExamples:\n  slob probe /data                       the device behind a folder of this host\n  slob probe --observe ssh:db1 /data     the same on the database's host; the result is kept here under its name")
        .arg(Arg::new("path").default_value(".").value_parser(value_parser!(std::path::PathBuf)).help("A folder on the device"))
        .arg(switch("write").help("Measure random writes as well"))
        .arg(switch("buffered").help("Read through the operating system's page cache"))
        .arg(number("seconds", "2", "Seconds per step").value_parser(value_parser!(f64)))
        .arg(number("size-mb", "1024", "Size of the scratch file in MiB").value_parser(value_parser!(u64).range(16..=1_048_576)))
        .arg(number("block-bytes", "8192", "Block size in bytes").value_parser(value_parser!(u32).range(512..=1_048_576)))
        .arg(list("sessions", "1,2,4,8,16", "Numbers of sessions reading synchronously"))
        .arg(list("depths", "16,64", "Queue depths of asynchronous reads"))
        .arg(switch("json").help("Print the result as JSON"))
        .arg(switch("no-save").help("Do not save the result"));
    with_params(command, |param| is_results_dir(param) || is_observer(param))
}

fn observe() -> Command {
    Command::new("observe")
        .about("Watch this host for a run elsewhere: started here by `slob run --observe ssh:HOST`")
        .after_help("Reads questions from stdin and answers each on stdout with a line of JSON, until stdin ends. It opens no port and\nchanges nothing except for the scratch file of a probe.\nExample: slob observe < /dev/null     the greeting: release, protocol, host")
}

fn conf() -> Command {
    with_params(
        Command::new("conf")
            .about("Show every parameter: its value, where it came from, what it means")
            .arg(switch("init").help("Write a commented slob.conf to the current folder"))
            .arg(switch("json").help("Print as JSON"))
            .arg(switch("markdown").hide(true).help("Print docs/parameters.md")),
        |_| true,
    )
}

fn verify() -> Command {
    with_params(
        Command::new("verify")
            .about("Check every byte of the loaded data, or a run's record")
            .arg(Arg::new("run").long("run").value_name("RUN").add(ArgValueCompleter::new(completing::runs)).conflicts_with("durability").help("Check a run's record instead of the data"))
            .arg(durability().help("Check as well that no acknowledged update is missing, using the journal of `slob run --durability FILE`"))
            .after_help("Examples:\n  slob verify --target ...     every row of every schema\n  slob verify --run latest     checks the run's sums and counters and replays its plan; makes no connection\nExit codes: 0 everything is correct; 1 something is not; 2 bad usage; 3 not everything could be read; 130 interrupted."),
        |param| is_common(param) || is_results_dir(param) || ["LOAD_PARALLEL_DEGREE"].contains(&param.key),
    )
}

/// The journal of the updates that a database acknowledged.
fn durability() -> Arg {
    Arg::new("durability")
        .long("durability")
        .value_name("FILE")
        .value_parser(value_parser!(std::path::PathBuf))
}

fn drop_command() -> Command {
    with_params(
        Command::new("drop")
            .about("Remove the schemas that slob loaded, and nothing else")
            .arg(switch("yes").short('y').help("Do not ask")),
        is_common,
    )
}

fn doctor() -> Command {
    with_params(
        Command::new("doctor")
            .about("Check this machine and the target for anything that would spoil a test")
            .after_help("Changes nothing. Takes a second or two, in which it watches other programs. `slob setup` and `slob run` use the same checks.\nExamples:\n  slob doctor\n  slob doctor --target ... --scale 4G -s 8\n  slob doctor --target ... --observe ssh:db1\nExit codes: 0 a test is possible, with or without warnings; 1 it is not; 2 bad usage."),
        |param| LOAD_GROUPS.contains(&param.group) || is_common(param) || is_results_dir(param) || is_observer(param),
    )
}

fn selftest() -> Command {
    with_params(
        Command::new("selftest")
            .about("Check that an engine behaves on this target as the method requires")
            .after_help("Loads two small schemas, works on them, reads every row back and removes them; then does the same for a small test from\nload to removal. The target must hold no schemas. The report is Markdown on stdout, meant to be attached to an issue: it\nnames hosts and accounts, but no passwords.\nExample: slob selftest --target ... --output selftest.md\nExit codes: 0 all checks passed; 1 a check failed; 2 nothing was changed; 130 interrupted.")
            .arg(Arg::new("output").short('o').long("output").value_name("FILE").value_parser(value_parser!(std::path::PathBuf)).help("Write the report to this file as well"))
            .arg(file("capture", "Save the server's answers to FILE.tar.gz: version, settings, counters and plans verbatim, the time of each call, and errors; no passwords, no rows"))
            .arg(Arg::new("with-names").long("with-names").action(ArgAction::SetTrue).requires("capture").help("Keep host names in the capture instead of replacing them by host-1, host-2, ..."))
            .arg(file("replay", "Recompute the figures from a capture, without a server, and compare them with the original ones").conflicts_with_all(["capture", "output"])),
        |param| {
            is_common(param)
                || is_observer(param)
                || ["TABLESPACE", "BLOCK_SZ", "DATABASE_STATISTICS_TYPE"].contains(&param.key)
        },
    )
}

fn file(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(std::path::PathBuf)).help(help)
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
        .arg(
            Arg::new("folder")
                .value_parser(value_parser!(std::path::PathBuf))
                .value_name("FOLDER")
                .help("An existing folder for slob.1, slob-run.1 and so on"),
        )
}

/// What a run takes.
pub(crate) fn is_of_run(param: &Param) -> bool {
    !LOAD_ONLY.contains(&param.key)
}

/// The target and how to reach it.
fn is_common(param: &Param) -> bool {
    matches!(param.key, "TARGET" | "ENDPOINTS") || matches!(param.group, Group::Access | Group::Engine(_))
}

fn switch(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

/// Of the commands that have a dashboard.
fn plain() -> Arg {
    switch("plain").help("Print lines instead of the dashboard, even on a terminal")
}

fn number(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).default_value(default).help(help)
}

fn list(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    number(name, default, help).value_delimiter(',').value_parser(value_parser!(u32).range(1..=4096))
}

/// How the database's host is seen.
fn is_observer(param: &Param) -> bool {
    param.key.starts_with("OBSERVE")
}

/// Commands that only need to know where records are kept.
fn is_results_dir(param: &Param) -> bool {
    param.key == "RESULTS_DIR"
}

/// Adds `--conf` and the flags of those parameters that a command uses.
fn with_params(command: Command, wanted: impl Fn(&Param) -> bool) -> Command {
    let file = Arg::new("conf-file")
        .long("conf")
        .value_name("FILE")
        .value_hint(ValueHint::FilePath)
        .help("The configuration file, or /dev/stdin [default: ./slob.conf, if it exists]");
    let table = registry::table();
    let params: Vec<&Param> = table.params().iter().filter(|param| wanted(param)).collect();
    let connects = params.iter().any(|param| param.key == "TARGET");
    let ask = switch(ASK_PASSWORD)
        .help_heading(Group::Target.to_string())
        .help("Prompt for the password of TARGET's user");
    command.arg(file).args(params.into_iter().filter_map(param_arg)).args(connects.then_some(ask))
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
            arg.value_parser(words).ignore_case(true).value_name("WORD")
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

/// The parameters that were given as flags, as pairs of key and value.
pub(crate) fn flags(matches: &ArgMatches) -> Vec<(String, String)> {
    let table = registry::table();
    let given = |param: &Param| {
        param.flag()?;
        let value = matches.try_get_one::<String>(param.key).ok().flatten()?;
        Some((param.key.to_owned(), value.clone()))
    };
    table.params().iter().filter_map(given).collect()
}

/// Prints what clap has to say: help and versions to stdout, mistakes to stderr with exit code 2.
pub(crate) fn exit_with(error: &clap::Error) -> ExitCode {
    // A closed pipe behind --help is not worth a word.
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
    fn flags_become_parameters() {
        let matches = command()
            .try_get_matches_from(["slob", "run", "-s", "4", "-t", "2", "--run-time", "20"])
            .unwrap();
        let (_, run) = matches.subcommand().unwrap();
        let mut given = flags(run);
        given.sort();
        let expected = [("RUN_TIME", "20"), ("SCHEMAS", "4"), ("THREADS_PER_SCHEMA", "2")];
        assert_eq!(given, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
}
