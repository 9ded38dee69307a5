//! Commands that are offered as the next step: they can be copied into a shell as they are.

use std::path::Path;

use clap::ArgMatches;
use slob_spec::{Entry, Kind, Settings, Value};

use crate::args;

/// `slob report` of a run's folder, wherever the results are kept.
pub(crate) fn report(folder: &Path) -> String {
    format!("slob report {}", quoted(&folder.display().to_string()))
}

/// `slob show` of a run's configuration.
pub(crate) fn configuration(folder: &Path) -> String {
    format!("slob show {} --field configuration", quoted(&folder.display().to_string()))
}

/// `slob run` on what was loaded, with those flags of the load that it needs too. Passwords are left out.
pub(crate) fn run(matches: &ArgMatches, settings: &Settings) -> String {
    let mut command = String::from("slob run");
    if let Some(file) = matches.get_one::<String>("conf-file") {
        command += &format!(" --conf {}", quoted(file));
    }
    for (key, value) in args::flags(matches) {
        let Some(entry) = settings.entry(&key) else { continue };
        let param = entry.param();
        // The schemas come in place, and the seed of a run is another one.
        let is_wanted = args::is_of_run(param) && !["SCHEMAS", "SEED"].contains(&param.key);
        let Some(flag) = param.flag().filter(|_| is_wanted && !entry.value().is_some_and(Value::is_secret))
        else {
            continue;
        };
        let between = if matches!(param.kind, Kind::Flag) { '=' } else { ' ' };
        command += &format!(" --{flag}{between}{}", quoted(&value));
    }
    if matches.get_flag(args::ASK_PASSWORD) {
        command += &format!(" --{}", args::ASK_PASSWORD);
    }
    let schemas = settings.entry("SCHEMAS").and_then(Entry::displayed);
    schemas.map_or_else(|| command.clone(), |schemas| format!("{command} {schemas}"))
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    // Only a word with a NUL byte can't be quoted, and no argument has one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}
