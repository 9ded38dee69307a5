//! From files, environment and flags to settings.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use clap::ArgMatches;
use slob_record::ConfigEntry;
use slob_spec::{ConfFile, Entry, Observers, Origin, Secret, Settings, Value};

use crate::failure::Failure;
use crate::interrupt::HiddenAnswer;
use crate::{args, conf_file, output, registry};

/// The variable by which EXTERNAL_SCRIPT, and what it starts, knows its run. It is no parameter.
pub(crate) const RUN_ID: &str = "SLOB_RUN_ID";

/// Resolves the settings of a command and says what is odd about them.
///
/// `extra` are parameters that were given in another form than their flags; the flags go before them.
pub(crate) fn resolve(matches: &ArgMatches, extra: &[(String, String)]) -> Result<Settings, Failure> {
    let asked = matches.try_get_one::<String>("conf-file").ok().flatten();
    let file = conf_file::read(asked.map(String::as_str))?;
    resolve_with(file.as_ref(), matches, extra)
}

/// The same for commands that must work whatever `slob.conf` says.
pub(crate) fn resolve_without_file(
    matches: &ArgMatches,
    extra: &[(String, String)],
) -> Result<Settings, Failure> {
    resolve_with(None, matches, extra)
}

fn resolve_with(
    file: Option<&ConfFile>,
    matches: &ArgMatches,
    extra: &[(String, String)],
) -> Result<Settings, Failure> {
    let environment: Vec<(String, String)> = env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| key != RUN_ID)
        .collect();
    let mut flags = extra.to_vec();
    flags.extend(args::flags(matches));
    let resolved = Settings::resolve(&registry::table(), file, &environment, &flags)?;
    refuse_visible_password(&resolved.settings)?;
    warn(&resolved.warnings);
    warn_of_readable_password(&resolved.settings);
    let asked = matches.try_get_one::<bool>(args::ASK_PASSWORD).ok().flatten().copied().unwrap_or(false);
    if asked { ask_password(resolved.settings) } else { Ok(resolved.settings) }
}

/// Asks for the password of the target's user. It is read from the terminal, which does not show it, and never from stdin.
fn ask_password(settings: Settings) -> Result<Settings, Failure> {
    let target = settings.entry("TARGET").and_then(Entry::displayed).unwrap_or_default();
    let hidden = HiddenAnswer::begin()?;
    let password = rpassword::prompt_password(format!("Password for {target}: ")).map_err(|error| {
        if error.kind() == io::ErrorKind::Interrupted {
            return Failure::interrupted(format!("asking for the password of {target} was interrupted"));
        }
        Failure::usage(format!(
            "asking for the password of {target}: {error}; without a terminal, give it in the database's own password file \
             or in the environment"
        ))
    })?;
    drop(hidden);
    Ok(settings.with_password(Secret::new(password)))
}

/// A password in a file that others can read is theirs too.
fn warn_of_readable_password(settings: &Settings) {
    let holds = |entry: &&Entry| match entry.value() {
        Some(Value::Target(target)) => target.password().is_some(),
        value => value.is_some_and(Value::is_secret),
    };
    for entry in settings.entries().filter(holds) {
        let Origin::File { name, .. } = entry.origin() else { continue };
        let mode = fs::metadata(name).map_or(0, |about| about.mode() & 0o777);
        if mode & 0o077 != 0 {
            let key = entry.param().key;
            output::say(&format!(
                "warning: {name} has mode {mode:04o}, so others can read the password in {key}: chmod 0600 {name}"
            ));
        }
    }
}

/// A password on the command line is read by everybody who lists processes.
fn refuse_visible_password(settings: &Settings) -> Result<(), Failure> {
    let target = settings.entry("TARGET").filter(|entry| *entry.origin() == Origin::Flag);
    match target.and_then(Entry::value) {
        Some(Value::Target(target)) if target.password().is_some() => Err(Failure::usage(format!(
            "--target {target} came with a password (not shown), which everybody on this host can read in the list of \
             processes; change it, and give it in the database's own password file, in the environment (SLOB_TARGET may hold the \
             whole address), or in a slob.conf that only you can read"
        ))),
        _ => Ok(()),
    }
}

/// Says warnings.
pub(crate) fn warn(warnings: &[String]) {
    for warning in warnings {
        output::say(&format!("warning: {warning}"));
    }
}

/// The effective configuration, for a record.
pub(crate) fn for_record(settings: &Settings) -> Vec<ConfigEntry> {
    let entry = |entry: &slob_spec::Entry| {
        Some(ConfigEntry {
            key: entry.param().key.to_owned(),
            value: entry.displayed()?,
            origin: entry.origin().to_string(),
        })
    };
    settings.entries().filter_map(entry).collect()
}

/// Where records are kept, for what must be neither heard nor stopped: a configuration that is wrong counts for nothing.
pub(crate) fn results_dir_at_a_glance(conf: Option<&str>, flag: Option<String>) -> PathBuf {
    let file = conf_file::read(conf).ok().flatten();
    let environment: Vec<(String, String)> = env::var("SLOB_RESULTS_DIR")
        .ok()
        .map(|value| ("SLOB_RESULTS_DIR".into(), value))
        .into_iter()
        .collect();
    let flags: Vec<(String, String)> = flag.map(|value| ("RESULTS_DIR".into(), value)).into_iter().collect();
    let resolved = Settings::resolve(&registry::table(), file.as_ref(), &environment, &flags)
        .or_else(|_| Settings::resolve(&registry::table(), None, &environment, &flags));
    resolved.map_or_else(|_| "runs".into(), |resolved| results_dir(&resolved.settings))
}

/// How the hosts of the database are seen.
pub(crate) fn observers(settings: &Settings) -> Observers {
    match settings.entry("OBSERVE").and_then(Entry::value) {
        Some(Value::Observe(observers)) => observers.clone(),
        _ => Observers::default(),
    }
}

/// Whether who looks from afar is a copy of this program.
pub(crate) fn copies_observer(settings: &Settings) -> bool {
    matches!(settings.entry("OBSERVE_COPY").and_then(Entry::value), Some(Value::Flag(true)))
}

/// Where records are kept.
pub(crate) fn results_dir(settings: &Settings) -> PathBuf {
    settings
        .entry("RESULTS_DIR")
        .and_then(slob_spec::Entry::displayed)
        .map_or_else(|| "runs".into(), PathBuf::from)
}
