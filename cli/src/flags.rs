//! The flags of commands: those of parameters come from the parameter table.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use clap_complete::ArgValueCompleter;
use slob_campaign::is_set_by_plan;
use slob_spec::{Group, Kind, Param, Settings};

use crate::registry::{self, is_of_run};
use crate::{completing, settings};

pub(crate) const PLAIN: &str = "Print lines instead of the dashboard, even on a terminal";
pub(crate) const PRINT_SQL: &str =
    "Print the statements that would be executed, if the engine supports it; makes no connection";
pub(crate) const STRICT: &str = "Exit with code 1 unless every verdict is good";
pub(crate) const NAMING: &str = "\
A RUN is a folder, an id, `latest`, `latest~1` for the one before, a RUN_NAME, or an unambiguous part of an id.";

pub(crate) fn from_board() -> Arg {
    let help =
        "Read the runs of this board in place of the results folder; `slob publish --to URL` publishes them";
    Arg::new(settings::FROM).long(settings::FROM).value_name("URL").help(help).hide_short_help(true)
}

pub(crate) fn with_params(command: Command, is_used: impl Fn(&Param) -> bool) -> Command {
    let help = "The configuration file; /dev/stdin reads it from there [default: ./slob.conf]";
    let file = Arg::new(settings::CONF_FILE).long("conf").value_name("FILE").help(help);
    let table = registry::table();
    let params: Vec<&Param> = table.params().iter().filter(|param| is_used(param)).collect();
    let connects = params.iter().any(|param| param.key == "TARGET");
    let ask = Arg::new(settings::ASK_PASSWORD).long(settings::ASK_PASSWORD).action(ArgAction::SetTrue);
    let ask = ask.help("Prompt for the password of TARGET's user").hide_short_help(true);
    command
        .arg(file.value_hint(ValueHint::FilePath))
        .args(params.into_iter().filter_map(param_arg))
        .args(connects.then(|| ask.help_heading(Group::Target.to_string())))
}

fn param_arg(param: &Param) -> Option<Arg> {
    let default = param.shipped.map(|value| format!(" [{}={value}]", param.key));
    let help = format!("{}{}", param.meaning, default.unwrap_or_else(|| format!(" [{}]", param.key)));
    let arg = Arg::new(param.key).long(param.flag()?).help(help).help_heading(param.group.to_string());
    // Most tests set these.
    let usual = "TARGET SCHEMAS THREADS_PER_SCHEMA SCALE UPDATE_PCT WORK_UNIT RATE RUN_TIME WARMUP RUN_NAME";
    let is_rare = usual.split(' ').all(|key| key != param.key);
    // The target follows from the command line, the environment and ./slob.conf.
    let is_of_another =
        matches!(param.group, Group::Engine(own) if settings::scheme_of_target().is_some_and(|of| of != own));
    let arg = arg.hide_short_help(is_rare).hide_long_help(is_of_another);
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
        Kind::Path => arg.value_name("PATH").allow_hyphen_values(true).value_hint(ValueHint::AnyPath),
        kind => arg.value_name(value_name(kind)).allow_hyphen_values(true),
    };
    Some(match param.key {
        "RUN_TIME" => arg.short('T').visible_alias("time").alias("duration"),
        "SCHEMAS" => arg.short('s').add(ArgValueCompleter::new(completing::schemas)),
        "THREADS_PER_SCHEMA" => arg.short('t'),
        _ => arg,
    })
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Count { .. } | Kind::Every { .. } | Kind::Seed => "N",
        Kind::Percent => "PERCENT",
        Kind::Size { .. } => "SIZE",
        Kind::Duration { .. } => "SECONDS|15m",
        Kind::WarmUp { .. } => "SECONDS|auto",
        Kind::Url => "URL",
        Kind::Rate => "PER_SECOND",
        Kind::Name => "NAME",
        Kind::Observe => "WHERE",
        Kind::Amount => "AMOUNT",
        _ => "VALUE",
    }
}

pub(crate) fn is_given(matches: &ArgMatches, flag: &str) -> bool {
    matches.value_source(flag) == Some(clap::parser::ValueSource::CommandLine)
}

/// The commands that a message offers get the flags of these arguments.
pub(crate) fn offered(message: &str, matches: &ArgMatches) -> String {
    with_flags(message, |takes| settings::flags_for(matches, takes))
}

/// The commands that a message of a plan's run offers get the plan's target and data.
pub(crate) fn offered_by_plan(message: &str, settings: &Settings) -> String {
    with_flags(message, |takes| settings::flags_of_plan(settings, takes))
}

/// The rooms below know no flags, and without them an offered command would work on another target.
fn with_flags(message: &str, flags_for: impl Fn(&dyn Fn(&Param) -> bool) -> String) -> String {
    type Offered = (&'static str, fn(&Param) -> bool);
    const OFFERED: [Offered; 3] =
        [("slob setup", is_of_setup), ("slob drop", is_common), ("slob probe", is_results_dir)];
    let completed = |part: &str| {
        let whole = |rest: &&str| rest.is_empty() || rest.starts_with(' ');
        let offered = |(command, takes): &Offered| {
            let rest = part.strip_prefix(command).filter(whole)?;
            // The number of schemas has its place at the end.
            let is_missing = |param: &Param| {
                let flag = param.flag().map(|flag| format!(" --{flag}"));
                param.key != "SCHEMAS" && flag.is_some_and(|flag| !rest.contains(&flag))
            };
            let flags = flags_for(&|param| takes(param) && is_missing(param));
            Some(format!("{command}{flags}{rest}"))
        };
        OFFERED.iter().find_map(offered).unwrap_or_else(|| part.to_owned())
    };
    let parts = message.split('`').enumerate();
    let parts = parts.map(|(number, part)| if number % 2 == 1 { completed(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

pub(crate) fn is_common(param: &Param) -> bool {
    matches!(param.key, "TARGET" | "ENDPOINTS") || matches!(param.group, Group::Access | Group::Engine(_))
}

fn is_observer(param: &Param) -> bool {
    param.key.starts_with("OBSERVE")
}

pub(crate) fn is_results_dir(param: &Param) -> bool {
    param.key == "RESULTS_DIR"
}

pub(crate) fn is_of_load(param: &Param) -> bool {
    matches!(param.group, Group::Target | Group::Data) || is_common(param)
}

pub(crate) fn is_of_demo(param: &Param) -> bool {
    is_results_dir(param) || param.key == "RUN_TIME" || param.group == Group::Engine(registry::DEMO_SCHEME)
}

pub(crate) fn is_of_setup(param: &Param) -> bool {
    is_of_load(param) || is_results_dir(param) || param.key == "SEED"
}

pub(crate) fn is_left_by_plan(param: &Param) -> bool {
    is_of_run(param) && !is_set_by_plan(param.key)
}

pub(crate) fn is_of_plan(param: &Param) -> bool {
    is_left_by_plan(param) && !["RUN_TIME", "UNTIL_STEADY"].contains(&param.key) || is_results_dir(param)
}

pub(crate) fn is_of_probe(param: &Param) -> bool {
    is_results_dir(param) || is_observer(param)
}

pub(crate) fn is_of_ladder(param: &Param) -> bool {
    is_common(param) || is_of_probe(param) || ["SCHEMAS", "THREADS_PER_SCHEMA", "SCALE"].contains(&param.key)
}

/// How data are read does not matter to a drop.
pub(crate) fn is_of_drop(param: &Param) -> bool {
    is_common(param) && !["PREWARM", "CACHE_MB", "BUFFERED", "LOOP"].contains(&param.key)
}

pub(crate) fn is_of_verify(param: &Param) -> bool {
    is_common(param) || is_results_dir(param) || param.key == "LOAD_PARALLEL_DEGREE"
}

pub(crate) fn is_of_selftest(param: &Param) -> bool {
    is_common(param)
        || is_observer(param)
        || ["TABLESPACE", "BLOCK_SZ", "DATABASE_STATISTICS_TYPE"].contains(&param.key)
}
