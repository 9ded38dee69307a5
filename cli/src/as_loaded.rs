//! What nobody set and a load already knows: a run covers what is loaded, and more schemas are loaded like those that are
//! there.

use slob_engine::{Engine, Purpose};
use slob_run::Loaded;
use slob_spec::{Entry, LoadSpec, RunSpec, Settings};

use crate::failure::Failure;
use crate::{output, registry};

/// The parameters that a load knows and a run uses.
const OF_RUN: [&str; 3] = ["SCHEMAS", "SCALE", "SCAN_TABLE_SZ"];

/// The settings of a run with what is loaded at its target. Bad input is refused before the target is asked.
pub(crate) fn of_run(settings: &Settings) -> Result<Settings, Failure> {
    let is_free = |key: &&str| settings.entry(key).is_some_and(|entry| !entry.origin().is_set());
    if !OF_RUN.iter().any(is_free) {
        return Ok(settings.clone());
    }
    check_the_rest(settings)?;
    let place = LoadSpec::from_settings(settings)?.spec;
    let engine = registry::open(&place.target, &place.options, Purpose::Use)?;
    match Loaded::at(engine.as_ref())? {
        Some(loaded) => Ok(settings.as_loaded(&registry::table(), &loaded.of_run())?),
        None => Ok(settings.clone()),
    }
}

/// The settings of a load with what is loaded at its target already.
pub(crate) fn of_load(settings: &Settings, engine: &dyn Engine) -> Result<Settings, Failure> {
    match Loaded::at(engine)? {
        Some(loaded) => Ok(settings.as_loaded(&registry::table(), &loaded.of_load())?),
        None => Ok(settings.clone()),
    }
}

/// Refuses what no load could make right: with as much loaded as there can be.
fn check_the_rest(settings: &Settings) -> Result<(), Failure> {
    let most = [("SCALE", "1T"), ("SCAN_TABLE_SZ", "1M")].map(|(key, value)| (key, value.to_owned()));
    RunSpec::from_settings(&settings.as_loaded(&registry::table(), &most)?)?;
    Ok(())
}

/// Says what was taken from the load, where it is not what the defaults are.
pub(crate) fn say(asked: &Settings, taken: &Settings) {
    let differs = |entry: &&Entry| {
        let before = asked.entry(entry.param().key).and_then(Entry::displayed);
        !entry.origin().is_set() && entry.displayed() != before
    };
    let said: Vec<String> = taken
        .entries()
        .filter(differs)
        .filter_map(|entry| Some(format!("{}={}", entry.param().key, entry.displayed()?)))
        .collect();
    if !said.is_empty() {
        output::say(&format!("as loaded: {}", said.join(", ")));
    }
}
