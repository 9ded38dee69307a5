//! The engines' own options.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde::ser::SerializeMap;

use crate::param::Group;
use crate::settings::Settings;
use crate::types::{Percent, Secret, Size};
use crate::value::{FromValue, Value};

/// The values of the engines' own options, by key, and beside them the services and accounts that some engines take
/// too. Those that are unset are not there.
///
/// Serialisation writes each option as `slob.conf` would, and leaves out secrets, services and accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineOptions {
    /// With the engine that an option is for; `None` where engines share it.
    values: BTreeMap<&'static str, (Option<&'static str>, Value)>,
    access: BTreeMap<&'static str, Value>,
}

impl EngineOptions {
    /// Those that have a value.
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        let mut options = Self::default();
        for (param, value) in settings.entries().filter_map(|entry| Some((entry.param(), entry.value()?))) {
            match param.group {
                Group::Engine(engine) => {
                    drop(options.values.insert(param.key, (Some(engine), value.clone())));
                }
                Group::Servers => drop(options.values.insert(param.key, (None, value.clone()))),
                Group::Access => drop(options.access.insert(param.key, value.clone())),
                _ => {}
            }
        }
        options
    }

    /// Only the options of one engine, those that it shares with others among them, and services and accounts.
    #[must_use]
    pub fn of(&self, engine: &str) -> Self {
        let is_its = |owner: &Option<&str>| owner.is_none_or(|owner| owner == engine);
        let values = self.values.iter().filter(|(_, (owner, _))| is_its(owner));
        Self {
            values: values.map(|(key, value)| (*key, value.clone())).collect(),
            access: self.access.clone(),
        }
    }

    /// All options' keys and values, in the order of the keys; not those of services and accounts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(key, (_, value))| (*key, value))
    }

    /// A value; `None` if the option is unset or unknown.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).map(|(_, value)| value).or_else(|| self.access.get(key))
    }

    /// A whole number; this and the following give `None` if the option is unset or of another kind.
    #[must_use]
    pub fn count(&self, key: &str) -> Option<u64> {
        self.typed(key)
    }

    /// A flag.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.typed(key)
    }

    /// A percentage.
    #[must_use]
    pub fn percent(&self, key: &str) -> Option<Percent> {
        self.typed(key)
    }

    /// An amount of data.
    #[must_use]
    pub fn size(&self, key: &str) -> Option<Size> {
        self.typed(key)
    }

    /// A span of time.
    #[must_use]
    pub fn duration(&self, key: &str) -> Option<Duration> {
        self.typed(key)
    }

    /// The word of a choice, spelt as the choice has it.
    #[must_use]
    pub fn choice(&self, key: &str) -> Option<&'static str> {
        self.typed(key)
    }

    /// Text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A path.
    #[must_use]
    pub fn path(&self, key: &str) -> Option<&std::path::Path> {
        match self.get(key) {
            Some(Value::Path(path)) => Some(path),
            _ => None,
        }
    }

    /// A password.
    #[must_use]
    pub fn secret(&self, key: &str) -> Option<&Secret> {
        match self.get(key) {
            Some(Value::Secret(secret)) => Some(secret),
            _ => None,
        }
    }

    fn typed<T: FromValue>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(T::from_value)
    }
}

impl Serialize for EngineOptions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.iter().filter(|(_, value)| !value.is_secret()) {
            map.serialize_entry(key, &value.to_string())?;
        }
        map.end()
    }
}
