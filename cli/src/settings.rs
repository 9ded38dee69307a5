//! From slob.conf, environment, flags and what is loaded to the settings of a command.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::ArgMatches;
use slob_engine::{Engine, Purpose};
use slob_record::ConfigEntry;
use slob_run::Loaded;
use slob_spec::{
    Checked, ConfFile, Entry, Kind, LoadSpec, Observers, Origin, Param, Resolved, RunSpec, Secret, Settings,
    Target, Value,
};

use crate::failure::Failure;
use crate::interrupt::HiddenAnswer;
use crate::saved::Results;
use crate::{board, output, registry};

/// Names the run to EXTERNAL_SCRIPT and to what it starts. It is no parameter.
pub(crate) const RUN_ID: &str = "SLOB_RUN_ID";
pub(crate) const CONF_FILE: &str = "conf-file";
pub(crate) const ASK_PASSWORD: &str = "ask-password";

pub(crate) const DEFAULT_CONF: &str = "slob.conf";
const MOST_BYTES: u64 = 1 << 20;
/// A shell passes a file so: something writes there, and ends.
const PASSED_BY_SHELL: &[&str] = &["/dev/stdin", "/dev/fd/", "/proc/self/fd/"];
/// A run takes these from what is loaded.
pub(crate) const LOADED: [&str; 3] = ["SCHEMAS", "SCALE", "SCAN_TABLE_SZ"];

/// Fails if the default target is certainly not the one that is meant. `extra` parameters precede the flags.
pub(crate) fn resolve(matches: &ArgMatches, extra: &[(String, String)]) -> Result<Settings, Failure> {
    resolve_file(None, matches, extra)
}

/// `file` replaces that of --conf.
pub(crate) fn resolve_file(
    file: Option<&Path>,
    matches: &ArgMatches,
    extra: &[(String, String)],
) -> Result<Settings, Failure> {
    let settings = match file {
        Some(file) => resolve_with(read_conf(Some(&file.to_string_lossy()))?.as_ref(), matches, extra)?,
        None => resolve_unconnected(matches, extra)?,
    };
    if matches.try_get_raw("TARGET").is_ok() {
        refuse_kit_without_target(&settings)?;
    }
    Ok(settings)
}

pub(crate) fn resolve_unconnected(
    matches: &ArgMatches,
    extra: &[(String, String)],
) -> Result<Settings, Failure> {
    resolve_with(read_conf(conf_file(matches))?.as_ref(), matches, extra)
}

/// Another kit's file names no target: the shipped one would be measured in its place.
pub(crate) fn refuse_kit_without_target(settings: &Settings) -> Result<(), Failure> {
    let of_kit = |entry: &Entry| match entry.origin() {
        Origin::File { name, .. } => {
            Some((entry.clone(), name.clone(), registry::target_of_kit(entry.param())?))
        }
        _ => None,
    };
    let found = settings.entries().find_map(of_kit);
    let Some((entry, file, form)) = found.filter(|_| !is_set(settings, "TARGET")) else { return Ok(()) };
    Err(usage!(
        "{} sets {}, as files of another kit do, and nothing names the database: {} would be used. Nothing was touched; write \
         TARGET={form} in {file}, or set SLOB_TARGET={form}",
        entry.origin(),
        entry.param().key,
        shown(settings, "TARGET").unwrap_or_default(),
    ))
}

/// Quoted for a shell, without passwords.
pub(crate) fn flags_for(matches: &ArgMatches, takes: impl Fn(&Param) -> bool) -> String {
    let table = registry::table();
    let mut said =
        conf_file(matches).map(|file| format!(" --conf {}", output::quoted(file))).unwrap_or_default();
    for (key, value) in flags(matches) {
        let Some(param) = table.find(&key).filter(|param| takes(param)) else { continue };
        said += &as_flag(param, value).unwrap_or_default();
    }
    if asks_password(matches) {
        said += &format!(" --{ASK_PASSWORD}");
    }
    said
}

/// The flags that stand for a plan's parameters.
pub(crate) fn flags_of_plan(settings: &Settings, takes: &dyn Fn(&Param) -> bool) -> String {
    let planned = settings.entries().filter(|entry| matches!(entry.origin(), Origin::Plan { .. }));
    let taken = planned.filter(|entry| takes(entry.param()));
    taken.filter_map(|entry| as_flag(entry.param(), entry.displayed()?)).collect()
}

fn as_flag(param: &Param, value: String) -> Option<String> {
    // A target that is refused for its password, and a misspelt list of hosts, get here too.
    let shown = match param.kind {
        Kind::Url => value.parse().ok().map(|target: Target| target.to_string()),
        _ => Some(value).filter(|value| param.key != "ENDPOINTS" || !value.contains('@')),
    };
    let (flag, value) = param.flag().zip(shown)?;
    let between = if matches!(param.kind, Kind::Flag) || param.bare_flag.is_some() { '=' } else { ' ' };
    Some(format!(" --{flag}{between}{}", output::quoted(&value)))
}

pub(crate) fn conf_file(matches: &ArgMatches) -> Option<&str> {
    matches.try_get_one::<String>(CONF_FILE).ok().flatten().map(String::as_str)
}

pub(crate) fn asks_password(matches: &ArgMatches) -> bool {
    matches.try_get_one::<bool>(ASK_PASSWORD).ok().flatten().copied().unwrap_or(false)
}

pub(crate) fn resolve_with(
    file: Option<&ConfFile>,
    matches: &ArgMatches,
    extra: &[(String, String)],
) -> Result<Settings, Failure> {
    let known =
        env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    let environment: Vec<(String, String)> = known.filter(|(key, _)| key != RUN_ID).collect();
    let mut pairs = extra.to_vec();
    pairs.extend(flags(matches));
    let resolved = Settings::resolve(&registry::table(), file, &environment, &pairs)?;
    let settings = checked(resolved)?;
    if asks_password(matches) { ask_password(settings) } else { Ok(settings) }
}

pub(crate) fn of_file(path: &Path) -> Result<Settings, Failure> {
    let file = read_conf(Some(&path.to_string_lossy()))?;
    checked(Settings::resolve(&registry::table(), file.as_ref(), &[], &[])?)
}

fn checked(Resolved { settings, warnings }: Resolved) -> Result<Settings, Failure> {
    check_target(&settings)?;
    refuse_visible_password(&settings)?;
    warn(&warnings);
    warn_of_readable_password(&settings);
    Ok(settings)
}

/// Help texts use it. Every engine's parameter of every command asks, so it is looked up once.
pub(crate) fn scheme_of_target() -> Option<&'static str> {
    static SCHEME: OnceLock<Option<String>> = OnceLock::new();
    SCHEME.get_or_init(look_up_scheme).as_deref()
}

fn look_up_scheme() -> Option<String> {
    let words: Vec<String> = env::args().collect();
    if !words.iter().any(|word| word == "--help") {
        return None;
    }
    let after = words.iter().skip_while(|word| *word != "--target").nth(1).cloned();
    let flag =
        after.or_else(|| words.iter().find_map(|word| word.strip_prefix("--target=")).map(str::to_owned));
    let resolved = || {
        let file = read_conf(None).ok().flatten();
        let environment: Vec<(String, String)> =
            env::var("SLOB_TARGET").map(|url| ("SLOB_TARGET".into(), url)).into_iter().collect();
        let resolved = Settings::resolve(&registry::table(), file.as_ref(), &environment, &[]).ok()?;
        shown(&resolved.settings, "TARGET")
    };
    let target = flag.or_else(resolved)?;
    target.split_once(':').map(|(scheme, _)| scheme.to_owned())
}

pub(crate) fn flags(matches: &ArgMatches) -> Vec<(String, String)> {
    let table = registry::table();
    let given = |param: &Param| {
        param.flag()?;
        let value = matches.try_get_one::<String>(param.key).ok().flatten()?;
        Some((param.key.to_owned(), value.clone()))
    };
    table.params().iter().filter_map(given).collect()
}

/// A file that was named must exist; `slob.conf` need not.
fn read_conf(asked: Option<&str>) -> Result<Option<ConfFile>, Failure> {
    let name = asked.unwrap_or(DEFAULT_CONF);
    match conf_text(name) {
        // A file without a key has the kit's defaults, which are others than those without a file.
        Ok(text) if text.trim().is_empty() => Err(usage!(
            "the configuration file {name} is empty: remove it, and write a new one with `slob conf --init`"
        )),
        Ok(text) => Ok(Some(ConfFile::parse(name, &text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && asked.is_none() => Ok(None),
        Err(error) => {
            let advice = conf_advice(name, &error);
            Err(usage!("reading the configuration file {name}: {error}; {advice}"))
        }
    }
}

fn conf_text(name: &str) -> io::Result<String> {
    let about = fs::metadata(name)?;
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Reading a named pipe would block, and some devices have no end.
    if !about.is_file() && !PASSED_BY_SHELL.iter().any(|passed| name.starts_with(passed)) {
        return Err(io::Error::other("not a file, but a device or a pipe"));
    }
    let mut text = String::new();
    let read = File::open(Path::new(name))?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MOST_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

fn conf_advice(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let name = output::quoted(name);
            format!("check its name, or write a new one with `slob conf --init --conf {name}`")
        }
        io::ErrorKind::PermissionDenied => {
            "make it readable to your account, or name another with --conf".into()
        }
        io::ErrorKind::InvalidData => "save it as UTF-8, or name another with --conf".into(),
        io::ErrorKind::FileTooLarge => {
            format!("a configuration has {} KiB at most: name one with --conf", MOST_BYTES >> 10)
        }
        _ => "name an ordinary file with --conf, or /dev/stdin".into(),
    }
}

/// The terminal has no echo meanwhile; stdin is never read.
fn ask_password(settings: Settings) -> Result<Settings, Failure> {
    let target = shown(&settings, "TARGET").unwrap_or_default();
    let hidden = HiddenAnswer::begin()?;
    let password = rpassword::prompt_password(format!("Password for {target}: ")).map_err(|error| {
        if error.kind() == io::ErrorKind::Interrupted {
            return interrupted!("asking for the password of {target} was interrupted");
        }
        usage!(
            "asking for the password of {target}: {error}; without a terminal, give it in the database's own password file \
             or in the environment"
        )
    })?;
    drop(hidden);
    Ok(settings.with_password(Secret::new(password)))
}

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
            say!(
                "warning: {name} has mode {mode:04o}, so others can read the password in {key}: chmod 0600 {name}"
            );
        }
    }
}

/// The target is not shown if no engine takes it.
fn check_target(settings: &Settings) -> Result<(), Failure> {
    match settings.entry("TARGET").and_then(Entry::value) {
        Some(Value::Target(target)) => Ok(registry::engine_of(target).map(drop)?),
        _ => Ok(()),
    }
}

/// Everybody who lists processes reads a password on the command line.
fn refuse_visible_password(settings: &Settings) -> Result<(), Failure> {
    let target = settings.entry("TARGET").filter(|entry| *entry.origin() == Origin::Flag);
    match target.and_then(Entry::value) {
        Some(Value::Target(target)) if target.password().is_some() => Err(usage!(
            "--target {target} came with a password (not shown), which everybody on this host can read in the list of \
             processes; change it, and give it in the database's own password file, in the environment (SLOB_TARGET may hold the \
             whole address), or in a slob.conf that only you can read"
        )),
        _ => Ok(()),
    }
}

pub(crate) fn warn(warnings: &[String]) {
    for warning in warnings {
        say!("warning: {warning}");
    }
}

/// Prints the warnings of a specification.
pub(crate) fn warned<T>(checked: Checked<T>) -> T {
    warn(&checked.warnings);
    checked.spec
}

pub(crate) fn for_record(settings: &Settings) -> Vec<ConfigEntry> {
    let entry = |entry: &Entry| {
        let (key, origin) = (entry.param().key.to_owned(), entry.origin().to_string());
        Some(ConfigEntry { key, value: entry.displayed()?, origin })
    };
    settings.entries().filter_map(entry).collect()
}

pub(crate) fn shown(settings: &Settings, key: &str) -> Option<String> {
    settings.entry(key).and_then(Entry::displayed)
}

pub(crate) fn is_set(settings: &Settings, key: &str) -> bool {
    settings.entry(key).is_some_and(|entry| entry.origin().is_set())
}

pub(crate) fn observers(settings: &Settings) -> Observers {
    match settings.entry("OBSERVE").and_then(Entry::value) {
        Some(Value::Observe(observers)) => observers.clone(),
        _ => Observers::default(),
    }
}

pub(crate) fn copies_observer(settings: &Settings) -> bool {
    matches!(settings.entry("OBSERVE_COPY").and_then(Entry::value), Some(Value::Flag(true)))
}

pub(crate) fn results_dir(settings: &Settings) -> PathBuf {
    shown(settings, "RESULTS_DIR").map_or_else(|| "runs".into(), PathBuf::from)
}

/// With --from it is a folder with the runs of that board.
pub(crate) fn results_dir_of(matches: &ArgMatches) -> Result<Results, Failure> {
    if let Ok(Some(board)) = matches.try_get_one::<String>(FROM) {
        return board::fetched(board);
    }
    Ok(results_dir(&resolve(matches, &[])?).as_path().into())
}

pub(crate) const FROM: &str = "from";

/// Completions must not fail: an invalid configuration is ignored.
pub(crate) fn results_dir_or_default(conf: Option<&str>, flag: Option<String>) -> PathBuf {
    let file = read_conf(conf).ok().flatten();
    let variable = env::var("SLOB_RESULTS_DIR").ok().map(|value| ("SLOB_RESULTS_DIR".to_owned(), value));
    let environment: Vec<(String, String)> = variable.into_iter().collect();
    let flags: Vec<(String, String)> = flag.map(|value| ("RESULTS_DIR".into(), value)).into_iter().collect();
    let resolved = Settings::resolve(&registry::table(), file.as_ref(), &environment, &flags)
        .or_else(|_| Settings::resolve(&registry::table(), None, &environment, &flags));
    resolved.map_or_else(|_| "runs".into(), |resolved| results_dir(&resolved.settings))
}

pub(crate) fn overridden(
    settings: &Settings,
    pairs: &[(&str, String)],
    place: &str,
) -> Result<Settings, Failure> {
    let pairs: Vec<(String, String)> =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let settings = settings.overridden(&registry::table(), &pairs, place)?.settings;
    check_target(&settings)?;
    refuse_kit_without_target(&settings)?;
    Ok(settings)
}

pub(crate) fn open(settings: &Settings) -> Result<(LoadSpec, Box<dyn Engine>), Failure> {
    let spec = LoadSpec::from_settings(settings)?.spec;
    let engine = registry::open_target(&spec.target, &spec.options, Purpose::Use, None)?;
    Ok((spec, engine))
}

/// Refuses bad input without a connection.
pub(crate) fn of_run_as_loaded(settings: &Settings) -> Result<Settings, Failure> {
    if LOADED.iter().all(|key| is_set(settings, key)) {
        return Ok(settings.clone());
    }
    // Any load allows less than this one.
    let largest = [("SCALE", "1T"), ("SCAN_TABLE_SZ", "1M")].map(|(key, value)| (key, value.to_owned()));
    RunSpec::from_settings(&settings.as_loaded(&registry::table(), &largest)?)?;
    let (_, engine) = open(settings)?;
    match Loaded::at(engine.as_ref())? {
        Some(loaded) => Ok(settings.as_loaded(&registry::table(), &loaded.of_run())?),
        None => Ok(settings.clone()),
    }
}

pub(crate) fn of_load_as_loaded(settings: &Settings, engine: &dyn Engine) -> Result<Settings, Failure> {
    match Loaded::at(engine)? {
        Some(loaded) => Ok(settings.as_loaded(&registry::table(), &loaded.of_load())?),
        None => Ok(settings.clone()),
    }
}

pub(crate) fn say_as_loaded(asked: &Settings, taken: &Settings) {
    let differs =
        |entry: &&Entry| !entry.origin().is_set() && entry.displayed() != shown(asked, entry.param().key);
    let differing = taken.entries().filter(differs);
    let said: Vec<String> =
        differing.filter_map(|entry| Some(format!("{}={}", entry.param().key, entry.displayed()?))).collect();
    if !said.is_empty() {
        say!("as loaded: {}", said.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn flags_become_parameters() {
        let matches = args::command()
            .try_get_matches_from(["slob", "run", "-s", "4", "-t", "2", "--run-time", "20"])
            .unwrap();
        let (_, run) = matches.subcommand().unwrap();
        let mut given = flags(run);
        given.sort();
        let expected = [("RUN_TIME", "20"), ("SCHEMAS", "4"), ("THREADS_PER_SCHEMA", "2")];
        assert_eq!(given, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
}
