//! The command line. The flags of parameters come from the parameter table.

mod awr;
mod campaigns;
mod profiles;
mod records;
mod scripts;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use slob_spec::{Group, Kind, Param};

use crate::{registry, version};

/// Parameters that decide what is loaded.
const LOAD_GROUPS: &[Group] = &[Group::Target, Group::Data];

/// Parameters that a run has no use for: the data are as they were loaded.
const LOAD_ONLY: &[&str] = &["LOAD_PARALLEL_DEGREE", "OBFUSCATE_COLUMNS", "TABLESPACE"];

/// The flag by which a password is asked for.
pub(crate) const ASK_PASSWORD: &str = "ask-password";

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("slob")
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(version::long())
        .about("OpenSLOB: what can this platform do for a database?")
        .long_about(
            "OpenSLOB tests whether a platform can carry a database's I/O: real SQL, the most random single-block \
             I/O, through the database's own buffer cache, for the least CPU.",
        )
        .after_help(examples())
        .subcommand_required(true)
        .arg_required_else_help(true)
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
        .subcommand(conf())
        .subcommand(verify())
        .subcommand(drop_command())
        .subcommand(selftest())
        .subcommands(scripts::commands())
        .subcommand(completions())
        .subcommand(man())
}

fn examples() -> String {
    let target = registry::EXAMPLE_TARGET;
    format!(
        "\
Examples:
  slob demo                                  see what it does, in about a minute
  slob setup --target {target} 4           load four schemas
  slob run --target {target} -s 4 -t 2     run two sessions on each of them
  slob report                                print the latest run's report again
  slob info                                  one line for each run, for a spreadsheet
  slob diff latest~1 latest                  what differs between two runs
  slob campaign plan.toml                    variants, models, sessions and repeats by a plan
  slob profile awr/ && slob headroom profile.json   will this platform carry that database?
Parameters come from ./slob.conf, the environment (SLOB_<KEY>) and flags: see `slob conf`.
Exit codes: 0 good; 1 a verdict failed with --strict, data are damaged, or some records could not be read;
2 bad usage, nothing was touched;
3 the load or run failed, what was done is kept; 130 interrupted."
    )
}

fn setup() -> Command {
    with_params(
        Command::new("setup")
            .about("Load the schemas of a test; goes on where an earlier load was stopped")
            .after_help("Examples:\n  slob setup 4\n  slob setup --scale 1G --load-parallel-degree 4 8\n  slob setup IOPS 128      as in the original kit: tablespace, then schemas")
            .arg(Arg::new("tablespace-and-schemas").num_args(1..=2).value_names(["TABLESPACE", "SCHEMAS"]).conflicts_with("SCHEMAS").help("The number of schemas, with a tablespace before it where the database has them"))
            .arg(scripts::print_sql())
            .arg(plain()),
        |param| LOAD_GROUPS.contains(&param.group) || is_common(param) || param.key == "SEED",
    )
}

fn run() -> Command {
    with_params(
        Command::new("run")
            .about("Run the test and print its report")
            .after_help("Examples:\n  slob run 4               one session on each of four schemas\n  slob run -s 4 -t 2 --run-time 60 --update-pct 20\n  slob run -s 1 -t 16      sixteen sessions on one schema\n  slob run --until-steady --run-time 30m   end as soon as the rate is steady, after half an hour at most\n  slob run --metrics 9187  serve the figures at http://127.0.0.1:9187/metrics meanwhile")
            .arg(Arg::new("schemas-in-place").value_name("SCHEMAS").conflicts_with("SCHEMAS").help("The number of schemas"))
            .arg(switch("strict").help("End with exit code 1 unless every verdict is good"))
            .arg(switch("json").help("Print the record as JSON instead of the report"))
            .arg(scripts::print_sql())
            .arg(plain())
            .arg(durability().help("Note in FILE each update that the database acknowledges, for `slob verify --durability FILE` after a crash"))
            .arg(Arg::new("metrics").long("metrics").value_name("ADDRESS:PORT").help("Serve the figures for Prometheus at /metrics while the run lasts; a port alone is one of 127.0.0.1, 0 is a free one")),
        is_of_run,
    )
}

fn mark() -> Command {
    with_params(
        Command::new("mark")
            .about("Mark this moment in the run that is under way")
            .after_help("The mark is in the record, the series and the reports, and a line in the charts.\nExamples:\n  slob mark rebalance begins\n  slob mark --run 20261120T231840Z-run fstrim done   where several runs are under way\n  slob mark --results-dir campaigns/fs backup begins\nEXTERNAL_SCRIPT, and what it starts, may call it as it is.")
            .arg(Arg::new("text").required(true).num_args(1..).value_name("TEXT").help("What happens, in a line"))
            .arg(Arg::new("run").long("run").value_name("ID").help("The run that is meant, by its id or name [default: the only one that is under way]")),
        is_results_dir,
    )
}

fn demo() -> Command {
    with_params(
        Command::new("demo")
            .about("Probe the device, load four small schemas here, run for 20 s, print the report, clean up")
            .after_help("The data go to ./slob-demo and are removed at the end; the report stays.")
            .arg(switch("keep").help("Keep the data"))
            .arg(plain()),
        |param| {
            ["RUN_TIME", "RESULTS_DIR"].contains(&param.key)
                || param.group == Group::Engine(registry::DEMO_SCHEME)
        },
    )
    .mut_arg("RUN_TIME", |arg| arg.help("how long to measure, in seconds [RUN_TIME=20]"))
}

fn report() -> Command {
    with_params(
        Command::new("report")
            .about("Print the report of a run again, from its record")
            .arg(records::run_arg().default_value("latest"))
            .arg(switch("summary").help("Only the verdicts and the key figures").conflicts_with_all(["html", "compare-probe"]))
            .arg(switch("html").help("Write the report with its charts as one HTML file, beside the record").conflicts_with("compare-probe"))
            .arg(Arg::new("output").short('o').long("output").value_name("FILE").requires("html").value_parser(value_parser!(std::path::PathBuf)).help("Where to write the HTML file; `-` is stdout"))
            .arg(switch("compare-probe").help("Only how the run compares with the device without a database: what the buffer cache costs"))
            .after_help("Examples:\n  slob report                                the last run, as text\n  slob report 20261120T231840Z-demo --html   write its report.html again\n  slob report latest --html -o /tmp/r.html\n  slob report latest --compare-probe\n  slob report --html awr-reports/            AWR reports over time, as one page"),
        is_results_dir,
    )
}

fn probe() -> Command {
    let command = Command::new("probe")
        .about("Measure what the device behind a folder can do by itself, without a database")
        .after_help("Reads blocks at random from a scratch file in that folder, which leaves nothing behind.\nThe result is kept in the results folder: later runs on the same device are compared with it.")
        .arg(Arg::new("path").default_value(".").value_parser(value_parser!(std::path::PathBuf)).help("A folder on the device"))
        .arg(switch("write").help("Measure random writes too"))
        .arg(switch("buffered").help("Go through the operating system's page cache"))
        .arg(number("seconds", "2", "Seconds of each step").value_parser(value_parser!(f64)))
        .arg(number("size-mb", "1024", "Size of the scratch file in MiB").value_parser(value_parser!(u64).range(16..=1_048_576)))
        .arg(number("block-bytes", "8192", "Bytes of a block").value_parser(value_parser!(u32).range(512..=1_048_576)))
        .arg(list("sessions", "1,2,4,8,16", "Sessions that read synchronously"))
        .arg(list("depths", "16,64", "Queue depths of asynchronous reads"))
        .arg(switch("json").help("Print the result as JSON"))
        .arg(switch("no-save").help("Do not keep the result"));
    with_params(command, is_results_dir)
}

fn conf() -> Command {
    with_params(
        Command::new("conf")
            .about("Print the effective configuration: every parameter, its value, where it came from, what it means")
            .arg(switch("init").help("Write a commented slob.conf here"))
            .arg(switch("json").help("Print as JSON"))
            .arg(switch("markdown").hide(true).help("Print docs/parameters.md")),
        |_| true,
    )
}

fn verify() -> Command {
    with_params(
        Command::new("verify")
            .about("Read every row back and check every byte of it; or check a run's record")
            .arg(Arg::new("run").long("run").value_name("RUN").conflicts_with("durability").help("Check what can be repeated of a run from its record, instead of the data"))
            .arg(durability().help("Check too that every update is there which the database had acknowledged, by the journal of `slob run --durability FILE`"))
            .after_help("Examples:\n  slob verify --target ...     every row of every schema\n  slob verify --run latest     the run's sums, its counters against each other, and its plan once more: nothing is connected to\nExit codes: 0 all is what it must be; 1 some is not; 2 bad usage; 3 it could not be read to its end; 130 interrupted."),
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
            .about("Remove the schemas that this program loaded, and nothing else")
            .arg(switch("yes").short('y').help("Do not ask")),
        is_common,
    )
}

fn selftest() -> Command {
    with_params(
        Command::new("selftest")
            .about("Check that the engine does on this target what the method asks of it")
            .after_help("Loads two small schemas, works on them, reads every row back, and removes them; then a small test from its load to its\nremoval. The target must hold no schemas. The report is Markdown on stdout, made to be attached to an issue: it names\nhosts and accounts, and no password.\nExample: slob selftest --target ... --output selftest.md\nExit codes: 0 all passed; 1 something failed; 2 nothing was touched; 130 interrupted.")
            .arg(Arg::new("output").short('o').long("output").value_name("FILE").value_parser(value_parser!(std::path::PathBuf)).help("Write the report to this file too"))
            .arg(file("capture", "Save what the server said in this file too, FILE.tar.gz: its version, settings, counters and plans word for word, the time of each call, and errors; no password and no rows"))
            .arg(Arg::new("with-names").long("with-names").action(ArgAction::SetTrue).requires("capture").help("Leave the names of hosts in the capture, which are else replaced by host-1, host-2, ..."))
            .arg(file("replay", "Make figures of what a server said in a capture, without a server, and compare them with those that were made then").conflicts_with_all(["capture", "output"])),
        |param| is_common(param) || ["TABLESPACE", "BLOCK_SZ", "DATABASE_STATISTICS_TYPE"].contains(&param.key),
    )
}

fn file(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(std::path::PathBuf)).help(help)
}

fn completions() -> Command {
    Command::new("completions")
        .about("Print completions for a shell")
        .arg(Arg::new("shell").required(true).value_parser(value_parser!(clap_complete::Shell)))
}

fn man() -> Command {
    Command::new("man")
        .about("Print the manual page, or write those of all commands into a folder")
        .after_help("Examples:\n  slob man | man -l -\n  slob man /usr/local/share/man/man1")
        .arg(
            Arg::new("folder")
                .value_parser(value_parser!(std::path::PathBuf))
                .value_name("FOLDER")
                .help("Where slob.1, slob-run.1 and so on are written; it must exist"),
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
    switch("plain").help("Lines instead of the dashboard, even on a terminal")
}

fn number(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).default_value(default).help(help)
}

fn list(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    number(name, default, help).value_delimiter(',').value_parser(value_parser!(u32).range(1..=4096))
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
        .help("The configuration file, or /dev/stdin [default: ./slob.conf if there is one]");
    let table = registry::table();
    let params: Vec<&Param> = table.params().iter().filter(|param| wanted(param)).collect();
    let connects = params.iter().any(|param| param.key == "TARGET");
    let ask = switch(ASK_PASSWORD)
        .help_heading(Group::Target.to_string())
        .help("Ask for the password of TARGET's user on the terminal");
    command.arg(file).args(params.into_iter().filter_map(param_arg)).args(connects.then_some(ask))
}

fn param_arg(param: &Param) -> Option<Arg> {
    let default = param.shipped.map(|value| format!(" [{}={value}]", param.key));
    let help = format!("{}{}", param.meaning, default.unwrap_or_else(|| format!(" [{}]", param.key)));
    let arg = Arg::new(param.key).long(param.flag?).help(help).help_heading(param.group.to_string());
    let arg = match param.kind {
        Kind::Flag => {
            arg.num_args(0..=1).require_equals(true).default_missing_value("TRUE").value_name("TRUE|FALSE")
        }
        Kind::Choice(choices) => {
            let words = PossibleValuesParser::new(choices.iter().map(|(word, _)| *word));
            arg.value_parser(words).ignore_case(true).value_name("WORD")
        }
        _ => arg.value_name("VALUE").allow_hyphen_values(true),
    };
    Some(match param.key {
        "SCHEMAS" => arg.short('s'),
        "THREADS_PER_SCHEMA" => arg.short('t'),
        _ => arg,
    })
}

/// The parameters that were given as flags, as pairs of key and value.
pub(crate) fn flags(matches: &ArgMatches) -> Vec<(String, String)> {
    let table = registry::table();
    let given = |param: &Param| {
        param.flag?;
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
