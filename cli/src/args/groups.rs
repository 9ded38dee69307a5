//! `slob --help`: the commands by what people want of them.

use std::fmt::Write;

use clap::Command;

use super::awr;
use crate::registry;

const HOUSEKEEPING: &str = "Housekeeping";

/// What a command is for, and the commands, in the order of use. Commands that prepare an engine's server come with the
/// housekeeping.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Test",
        &["demo", "setup", "run", "mark", "probe", "saturate", "campaign", "profile", "plan", "headroom"],
    ),
    ("Look", &["list", "report", "info", "show", "export"]),
    ("Compare", &["diff", "analyze"]),
    (awr::HEADING, &["awr"]),
    (HOUSEKEEPING, &["doctor", "conf", "verify", "drop", "selftest", "observe", "completions", "man"]),
];

/// The names of a group's commands.
fn members<'a>(group: &str, names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let prepared =
        registry::ENGINES.iter().filter(|engine| engine.scripts.is_some()).map(|engine| engine.scheme);
    let prepared = prepared.filter(move |_| group == HOUSEKEEPING).collect::<Vec<_>>();
    names.iter().copied().chain(prepared)
}

/// The command with its subcommands listed in groups.
pub(super) fn grouped(command: Command) -> Command {
    let names = command.get_subcommands().map(|sub| sub.get_name().len());
    let width = names.max().unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        let command = args::command();
        for sub in command.get_subcommands() {
            let named = GROUPS.iter().flat_map(|(group, names)| members(group, names));
            let count = named.filter(|name| *name == sub.get_name()).count();
            assert_eq!(count, 1, "`slob {}` is in {count} groups", sub.get_name());
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((1..=84).contains(&about.len()), "{about}");
        }
    }
}
