//! Every parameter's value and where it came from: defaults, then file, then environment, then flags.

mod resolve;
#[cfg(test)]
mod tests;

use crate::conf::ConfFile;
use crate::error::{SpecError, SpecErrors};
use crate::origin::Origin;
use crate::param::Param;
use crate::table::{DEFAULT_BLOCK_BYTES, Table};
use crate::types::Secret;
use crate::value::{FromValue, Value};
use crate::warning::Warning;

/// One parameter with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    param: Param,
    value: Option<Value>,
    origin: Origin,
    changed_from_default: bool,
}

impl Entry {
    /// The parameter.
    #[must_use]
    pub fn param(&self) -> &Param {
        &self.param
    }

    /// The value; `None` if the parameter is optional and unset.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The value as it may be shown: passwords are masked or left out. `None` if unset.
    #[must_use]
    pub fn displayed(&self) -> Option<String> {
        self.value.as_ref().map(Value::to_string)
    }

    /// Where the value came from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether the value differs from the shipped default, by whatever way it got here.
    ///
    /// A key that is deleted from the file can take a different default: that counts as changed.
    #[must_use]
    pub fn changed_from_default(&self) -> bool {
        self.changed_from_default
    }
}

/// The values of all parameters of a table, each one checked by itself.
#[derive(Clone, Debug)]
pub struct Settings {
    entries: Vec<Entry>,
}

/// Settings, and what was odd on the way to them.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The settings.
    pub settings: Settings,
    /// What their author probably did not mean.
    pub warnings: Vec<Warning>,
}

impl Settings {
    /// Decides every parameter's value: defaults, overridden by the file, by the environment, by flags.
    ///
    /// `environment` holds full names and may be the whole environment: `SLOB_<KEY>` is taken, and the few
    /// bare keys that the original kit read there; all else is left alone. `flags` holds pairs of key and
    /// value; the last one of a key counts. An empty value unsets an optional parameter.
    ///
    /// # Errors
    /// Every value that is not permitted, all at once, among those that are in effect.
    pub fn resolve(
        table: &Table,
        file: Option<&ConfFile>,
        environment: &[(String, String)],
        flags: &[(String, String)],
    ) -> Result<Resolved, SpecErrors> {
        resolve::resolve(table, file, environment, flags)
    }

    /// These settings with some values replaced by those of a plan that makes many runs: pairs of key and text, of which
    /// the last one of a key counts. `place` says where in the plan they stand.
    ///
    /// # Errors
    /// Every key that is not known and every value that is not permitted, all at once.
    pub fn overridden(
        &self,
        table: &Table,
        pairs: &[(String, String)],
        place: &str,
    ) -> Result<Resolved, SpecErrors> {
        resolve::overridden(self, table, pairs, place)
    }

    /// These settings with what a load decided, for those of its parameters that nobody set: pairs of key and text. Their
    /// origin is [`Origin::Loaded`].
    ///
    /// # Errors
    /// Every key that is not known and every value that is not permitted, all at once.
    pub fn as_loaded(&self, table: &Table, load: &[(&'static str, String)]) -> Result<Self, SpecErrors> {
        resolve::as_loaded(self, table, load)
    }

    /// These settings with a password for TARGET, as it was typed in. Nothing else shows that there is one.
    #[must_use]
    pub fn with_password(mut self, password: Secret) -> Self {
        let target = self.entries.iter_mut().find(|entry| entry.param.key == "TARGET");
        if let Some(Value::Target(target)) = target.and_then(|entry| entry.value.as_mut()) {
            *target = target.clone().with_password(password);
        }
        self
    }

    /// All parameters in the order of the table.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The entry of a key or alias.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.param.keys().any(|name| name == key))
    }

    /// The value of a key or alias; `None` if it is unset or unknown.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entry(key).and_then(Entry::value)
    }

    /// A value that can't be left out.
    pub(crate) fn required<T: FromValue>(&self, key: &'static str) -> Result<T, SpecError> {
        self.optional(key).ok_or(SpecError::Missing { key })
    }

    /// A value that can be left out.
    pub(crate) fn optional<T: FromValue>(&self, key: &str) -> Option<T> {
        self.value(key).and_then(T::from_value)
    }

    /// The size of the server's blocks in bytes, if somebody said what it is to be.
    pub(crate) fn block_sz(&self) -> Option<u32> {
        self.optional::<&'static str>("BLOCK_SZ").and_then(|text| text.parse().ok())
    }

    /// The block size that sizes are divided by, in bytes, as long as no server was asked.
    pub(crate) fn block_bytes(&self) -> u32 {
        self.block_sz().unwrap_or(DEFAULT_BLOCK_BYTES)
    }
}
