//! The parameters of this engine, and those of services and accounts that all parameters files have.

use std::path::PathBuf;

use slob_engine::{EngineError, OpenSpec};
use slob_spec::{EngineOptions, Group, Kind, Param, Secret};

use crate::names::Prefix;
use crate::version::Version;

/// The scheme of our targets.
pub(crate) const SCHEME: &str = "oracle";
const CREATE: &str = "create";
const EXISTING: &str = "existing";
const KIT: &str = "kit";
const WAIT: &str = "wait";

/// What becomes of the accounts of schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accounts {
    /// A load makes them, with passwords of its own.
    Create,
    /// They are there, made by somebody else; their passwords are in the password file.
    Existing,
    /// They are those of the original kit, data and all: `USER1` with the password `user1`, and so on.
    Kit,
}

/// What a COMMIT of an UPDATE waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// Each for its own log write, as an application's does.
    Wait,
    /// A plain one, as the original kit has it: within PL/SQL it waits for nothing before the block ends.
    Kit,
}

impl Commit {
    /// The statement.
    pub(crate) fn statement(self) -> &'static str {
        match self {
            Self::Wait => "COMMIT WRITE IMMEDIATE WAIT",
            Self::Kit => "COMMIT",
        }
    }

    /// In words, for the record.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Wait => "each UPDATE waits for its log write (ORACLE_COMMIT=wait)",
            Self::Kit => "plain COMMIT, as the original kit has it (ORACLE_COMMIT=kit)",
        }
    }
}

pub(crate) const PARAMS: &[Param] = &[
    Param::new(
        "ORACLE_ACCOUNTS",
        Kind::Choice(&[
            (CREATE, "setup creates an account for each schema, each with a different password"),
            (EXISTING, "the accounts are there; their passwords are in ORACLE_PASSWORD_FILE"),
            (KIT, "USER1, USER2, ... of the original kit, with their tables, used as they are"),
        ]),
        Group::Engine(SCHEME),
        "whose accounts hold the schemas",
    )
    .shipped(CREATE)
    .flag("oracle-accounts"),
    Param::new("ORACLE_PREFIX", Kind::Text, Group::Engine(SCHEME), "what the accounts' names begin with")
        .shipped("slob")
        .flag("oracle-prefix"),
    Param::new(
        "ORACLE_PASSWORD_FILE",
        Kind::Path,
        Group::Engine(SCHEME),
        "file with the accounts' passwords, readable by its owner only; unset: .slob-oracle in the home folder",
    )
    .flag("oracle-password-file"),
    Param::new(
        "ORACLE_COMMIT",
        Kind::Choice(&[
            (WAIT, "each UPDATE waits for its own log write, as in an application"),
            (KIT, "a plain COMMIT in PL/SQL, which waits for none: to compare with results of the original kit"),
        ]),
        Group::Engine(SCHEME),
        "what the COMMIT of an UPDATE waits for",
    )
    .shipped(WAIT)
    .flag("oracle-commit"),
    Param::new(
        "ORACLE_ROOT_SERVICE",
        Kind::Text,
        Group::Engine(SCHEME),
        "service of the container database's root, where counters are read that a pluggable database does not show: \
         writes, checkpoints, the log writer's work",
    )
    .flag("oracle-root-service"),
    Param::new(
        "ORACLE_RELEASE",
        Kind::Choice(&[
            ("11.2", "Oracle Database 11.2"),
            ("12.2", "12.2: containers, and hints that nothing switches off"),
            ("19", "19c"),
            ("23", "23ai"),
        ]),
        Group::Engine(SCHEME),
        "the release that --print-sql and `slob oracle init` write for, which connect to no server that would say it",
    )
    .shipped("19")
    .flag("oracle-release"),
];

/// The parameters as this engine needs them.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) accounts: Accounts,
    pub(crate) prefix: Prefix,
    pub(crate) password_file: Option<PathBuf>,
    /// Where a load puts tables.
    pub(crate) tablespace: Option<String>,
    pub(crate) admin_service: Option<String>,
    pub(crate) service_base: Option<String>,
    /// So many services, with numbers; 0 for one without.
    pub(crate) service_max: u64,
    pub(crate) commit: Commit,
    /// The release that scripts are written for.
    pub(crate) release: Version,
    /// Where the counters of the whole instance are read.
    pub(crate) root_service: Option<String>,
    pub(crate) dba_user: Option<String>,
    pub(crate) dba_password: Option<Secret>,
}

impl Options {
    /// Reads them.
    ///
    /// # Errors
    /// If the prefix is not a name.
    pub(crate) fn from_spec(spec: &OpenSpec) -> Result<Self, EngineError> {
        let options: &EngineOptions = &spec.options;
        let text = |key| options.text(key).map(str::to_owned).filter(|text| !text.is_empty());
        let accounts = match options.choice("ORACLE_ACCOUNTS") {
            Some(EXISTING) => Accounts::Existing,
            Some(KIT) => Accounts::Kit,
            _ => Accounts::Create,
        };
        let prefix = match accounts {
            Accounts::Kit => Prefix::new("user")?,
            Accounts::Create | Accounts::Existing => {
                Prefix::new(options.text("ORACLE_PREFIX").unwrap_or("slob"))?
            }
        };
        Ok(Self {
            accounts,
            prefix,
            password_file: options.path("ORACLE_PASSWORD_FILE").map(PathBuf::from),
            tablespace: spec.tablespace.clone(),
            admin_service: text("ADMIN_SQLNET_SERVICE"),
            service_base: text("SQLNET_SERVICE_BASE"),
            service_max: options.count("SQLNET_SERVICE_MAX").unwrap_or(0),
            commit: if options.choice("ORACLE_COMMIT") == Some(KIT) { Commit::Kit } else { Commit::Wait },
            release: Version::parse(options.choice("ORACLE_RELEASE").unwrap_or("19")),
            root_service: text("ORACLE_ROOT_SERVICE"),
            dba_user: text("DBA_PRIV_USER"),
            dba_password: options.secret("SYSDBA_PASSWD").cloned(),
        })
    }
}
