//! One parameter: everything that the parser, the defaults, the help and the documents need to know of it.

use std::fmt;

use crate::kind::Kind;

/// A group of parameters, in the order in which groups are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Group {
    /// What is tested and how wide.
    Target,
    /// The data that `setup` loads.
    Data,
    /// What the sessions do.
    Workload,
    /// Where some of the operations go more often.
    HotSpot,
    /// Pauses between operations.
    ThinkTime,
    /// The run itself and what is kept of it.
    Run,
    /// Services and accounts.
    Access,
    /// Keys of older files.
    Compatibility,
    /// Options that several engines of servers share: each is among the parameters of each of them.
    Servers,
    /// The options of one engine, by its name.
    Engine(&'static str),
}

impl fmt::Display for Group {
    /// The heading.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target => f.write_str("Target"),
            Self::Data => f.write_str("Data"),
            Self::Workload => f.write_str("Workload"),
            Self::HotSpot => f.write_str("Hot spot and hot schema"),
            Self::ThinkTime => f.write_str("Think time"),
            Self::Run => f.write_str("Run"),
            Self::Access => f.write_str("Services and accounts"),
            Self::Compatibility => f.write_str("Accepted without effect"),
            Self::Servers => f.write_str("Options of the engines of servers"),
            Self::Engine(name) => write!(f, "Options of the engine {name}"),
        }
    }
}

/// One parameter. Made in a `const` or `static` with [`Param::new`] and the methods that refine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// The key in `slob.conf`; `SLOB_` before it makes the environment variable.
    pub key: &'static str,
    /// Other keys for the same parameter, from other kits.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// The default if there is no file at all. `None`: the parameter is optional and unset.
    pub shipped: Option<&'static str>,
    /// The default if there is a file that lacks the key. `None`: the same as `shipped`.
    pub if_deleted: Option<&'static str>,
    /// The group it is shown in.
    pub group: Group,
    /// What it means, in one line.
    pub meaning: &'static str,
    /// What the original kit allowed or did, where this one differs.
    pub original: Option<&'static str>,
    /// Why it has no effect. `Some` makes the key accepted, ignored and warned about.
    pub note: Option<&'static str>,
    /// The long command-line flag, without its dashes. A secret has none: arguments show in process lists.
    pub flag: Option<&'static str>,
    /// Whether its bare key is an environment variable too, as in the original kit.
    pub bare_environment: bool,
}

impl Param {
    /// A parameter without default, flag or history.
    #[must_use]
    pub const fn new(key: &'static str, kind: Kind, group: Group, meaning: &'static str) -> Self {
        Self {
            key,
            aliases: &[],
            kind,
            shipped: None,
            if_deleted: None,
            group,
            meaning,
            original: None,
            note: None,
            flag: None,
            bare_environment: false,
        }
    }

    /// Adds other keys for the same parameter.
    #[must_use]
    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Sets the default.
    #[must_use]
    pub const fn shipped(self, default: &'static str) -> Self {
        Self { shipped: Some(default), ..self }
    }

    /// Sets the default for a file that lacks the key.
    #[must_use]
    pub const fn if_deleted(self, default: &'static str) -> Self {
        Self { if_deleted: Some(default), ..self }
    }

    /// Tells what the original kit allowed or did.
    #[must_use]
    pub const fn original(self, original: &'static str) -> Self {
        Self { original: Some(original), ..self }
    }

    /// Makes the key one that is accepted without effect, and says why.
    #[must_use]
    pub const fn note(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }

    /// Sets the command-line flag, without its dashes.
    #[must_use]
    pub const fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    /// Makes the bare key an environment variable too.
    #[must_use]
    pub const fn bare_environment(self) -> Self {
        Self { bare_environment: true, ..self }
    }

    /// Whether it may be left without a value.
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        self.shipped.is_none()
    }

    /// The default that applies where there is a file that lacks the key.
    #[must_use]
    pub const fn default_if_deleted(&self) -> Option<&'static str> {
        match self.if_deleted {
            Some(default) => Some(default),
            None => self.shipped,
        }
    }

    /// The key and its aliases.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.key).chain(self.aliases.iter().copied())
    }

    /// The default as documents and messages may show it: a secret's is masked.
    pub(crate) fn shown_default(&self, default: Option<&'static str>) -> String {
        match (default, self.kind) {
            (None, _) => "unset".to_owned(),
            (Some(_), Kind::Secret) => crate::types::MASK.to_owned(),
            (Some(default), _) => default.to_owned(),
        }
    }
}
