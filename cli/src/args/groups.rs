//! `slob --help`: the commands by what people want of them.

use std::fmt::Write;

use clap::Command;

/// What a command is for, and the commands, in the order of use.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Test",
        &["demo", "setup", "run", "mark", "probe", "saturate", "campaign", "profile", "plan", "headroom"],
    ),
    ("Look", &["list", "report", "info", "show", "export"]),
    ("Compare", &["diff", "analyze"]),
    ("Oracle's reports and servers", &["awr", "oracle"]),
    ("Housekeeping", &["doctor", "conf", "verify", "drop", "selftest", "observe", "completions", "man"]),
];

/// The command with its subcommands listed in groups.
pub(super) fn grouped(command: Command) -> Command {
    let names = command.get_subcommands().map(|sub| sub.get_name().len());
    let width = names.max().unwrap_or(0);
    let mut groups = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(groups, "{group}:");
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
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
            let count =
                GROUPS.iter().flat_map(|(_, names)| *names).filter(|name| **name == sub.get_name()).count();
            assert_eq!(count, 1, "`slob {}` is in {count} groups", sub.get_name());
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((1..=84).contains(&about.len()), "{about}");
        }
    }
}
