//! Parameters of this engine, and what a target connects to.

use std::path::PathBuf;

use slob_engine::{EngineError, ErrorKind, OpenSpec, Result};
use slob_server::host_and_port;
use slob_spec::{Endpoint, Group, Kind, Param, Target};

use crate::client::{DRIVERS, Login};
use crate::release::Version;
use crate::statements::Prefix;
use crate::wallet::Wallet;

pub(crate) const SCHEME: &str = "oracle";
pub(crate) const PORT: u16 = 1521;
const CREATE: &str = "create";
const EXISTING: &str = "existing";
const KIT: &str = "kit";
const WAIT: &str = "wait";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accounts {
    Create,
    /// Somebody else created them.
    Existing,
    /// The original kit loaded them, with the name as password.
    Kit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) statement: &'static str,
    pub(crate) words: &'static str,
}

/// Each COMMIT waits for its own log write, as an application's does.
pub(crate) const COMMIT_WAITS: Commit = Commit {
    statement: "COMMIT WRITE IMMEDIATE WAIT",
    words: "each UPDATE waits for its log write (ORACLE_COMMIT=wait)",
};
/// In PL/SQL, a plain COMMIT waits for no log write before the block ends.
pub(crate) const COMMIT_OF_KIT: Commit =
    Commit { statement: "COMMIT", words: "plain COMMIT, as the original kit has it (ORACLE_COMMIT=kit)" };

const GROUP: Group = Group::Engine(SCHEME);

pub(crate) const PARAMS: &[Param] = &[
    Param::new(
        "ORACLE_ACCOUNTS",
        Kind::Choice(&[
            (CREATE, "setup creates an account for each schema, each with a different password"),
            (EXISTING, "the accounts are there; their passwords are in ORACLE_PASSWORD_FILE"),
            (KIT, "USER1, USER2, ... of the original kit, with their tables, used as they are"),
        ]),
        GROUP,
    )
    .meaning("whose accounts hold the schemas")
    .shipped(CREATE),
    Param::new("ORACLE_PREFIX", Kind::Text, GROUP)
        .meaning("what the accounts' names begin with")
        .shipped("slob"),
    Param::new(
        "ORACLE_PASSWORD_FILE",
        Kind::Path,
        GROUP,
    )
    .meaning("file with the accounts' passwords, readable by its owner only; unset: .slob-oracle in the home folder"),
    Param::new(
        "ORACLE_COMMIT",
        Kind::Choice(&[
            (WAIT, "each UPDATE waits for its own log write, as in an application"),
            (KIT, "a plain COMMIT in PL/SQL, which waits for none: to compare with results of the original kit"),
        ]),
        GROUP,
    )
    .meaning("what the COMMIT of an UPDATE waits for")
    .shipped(WAIT),
    Param::new(
        "ORACLE_BUFFER_POOL",
        Kind::Choice(&[
            ("default", "DEFAULT"),
            ("keep", "KEEP, as the original kit has it: its size is db_keep_cache_size"),
            ("recycle", "RECYCLE: its size is db_recycle_cache_size"),
        ]),
        GROUP,
    )
    .meaning("buffer pool of the tables that setup makes; one without a size of its own is the default one")
    .shipped("default"),
    Param::new("ORACLE_WALLET_PASSWORD", Kind::Secret, GROUP)
        .meaning("password of the private key in the wallet that the target names (?wallet=DIR)"),
    Param::new(
        "ORACLE_ROOT_SERVICE",
        Kind::Text,
        GROUP,
    )
    .meaning("service of the container database's root, where counters are read that a pluggable database does not show: \
         writes, checkpoints, the log writer's work"),
    Param::new(
        "ORACLE_RELEASE",
        Kind::Choice(&[
            ("11.2", "Oracle Database 11.2"),
            ("12.2", "12.2: containers, and hints that nothing switches off"),
            ("19", "19c"),
            ("23", "23ai"),
        ]),
        GROUP,
    )
    .meaning("the release that --print-sql and `slob oracle init` write for, which connect to no server that would say it")
    .shipped("19"),
];

fn buffer_pool(name: Option<&str>) -> &'static str {
    match name {
        Some("keep") => " STORAGE (BUFFER_POOL KEEP)",
        Some("recycle") => " STORAGE (BUFFER_POOL RECYCLE)",
        _ => "",
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) accounts: Accounts,
    pub(crate) prefix: Prefix,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) tablespace: Option<String>,
    pub(crate) commit: Commit,
    pub(crate) buffer_pool: &'static str,
    pub(crate) release: Version,
}

impl Options {
    pub(crate) fn new(spec: &OpenSpec) -> Result<Self> {
        let options = &spec.options;
        let accounts = match options.get("ORACLE_ACCOUNTS") {
            Some(EXISTING) => Accounts::Existing,
            Some(KIT) => Accounts::Kit,
            _ => Accounts::Create,
        };
        let prefix = match accounts {
            Accounts::Kit => "user".to_owned(),
            Accounts::Create | Accounts::Existing => {
                options.get("ORACLE_PREFIX").unwrap_or("slob".to_owned())
            }
        };
        let is_of_kit = options.get("ORACLE_COMMIT") == Some(KIT);
        Ok(Self {
            accounts,
            prefix: Prefix::new(&prefix)?,
            password_file: options.get("ORACLE_PASSWORD_FILE"),
            tablespace: spec.tablespace.clone(),
            commit: if is_of_kit { COMMIT_OF_KIT } else { COMMIT_WAITS },
            buffer_pool: buffer_pool(options.get("ORACLE_BUFFER_POOL")),
            release: Version::parse(options.get("ORACLE_RELEASE").unwrap_or("19")),
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) admin: Login,
    pub(crate) admin_service: String,
    /// Counters of the whole instance are read here.
    pub(crate) root_service: Option<String>,
    /// Sessions use them round-robin.
    pub(crate) services: Vec<String>,
}

impl Access {
    pub(crate) fn new(spec: &OpenSpec) -> Result<Self> {
        let text = |key| spec.options.get(key).filter(|text: &String| !text.is_empty());
        let sysdba = asks_for_sysdba(&spec.target)?;
        let of_target = services_of(&spec.target)?;
        let admin_service =
            text("ADMIN_SQLNET_SERVICE").or_else(|| of_target.first().cloned()).unwrap_or_default();
        let services = match (text("SQLNET_SERVICE_BASE"), spec.options.get::<u64>("SQLNET_SERVICE_MAX")) {
            (Some(base), None | Some(0)) => vec![base],
            (Some(base), Some(max)) => (1..=max).map(|number| format!("{base}{number}")).collect(),
            (None, _) if of_target.is_empty() => vec![admin_service.clone()],
            (None, _) => of_target,
        };
        let admin = admin_login(spec, sysdba)?;
        Ok(Self { admin, admin_service, root_service: text("ORACLE_ROOT_SERVICE"), services })
    }
}

pub(crate) fn service_name(service: &str) -> &str {
    if service.is_empty() { "the local instance" } else { service }
}

/// True for `role=sysdba`.
fn asks_for_sysdba(target: &Target) -> Result<bool> {
    let mut sysdba = false;
    for (name, value) in target.query() {
        match (name.as_str(), value.to_ascii_lowercase().as_str()) {
            ("role", "sysdba") => sysdba = true,
            ("role", "normal") => sysdba = false,
            ("driver", driver) if DRIVERS.contains(&driver) => {}
            ("wallet", folder) if !folder.is_empty() => {}
            _ => {
                let message = format!("can't use {name}={value}");
                return Err(EngineError::new(ErrorKind::Usage, "reading the target", message).with_advice(
                    "the options are role=sysdba or role=normal, driver=oci or driver=thin, and wallet=FOLDER",
                ));
            }
        }
    }
    Ok(sysdba)
}

pub(crate) fn wallet_of(spec: &OpenSpec) -> Wallet {
    let folder = spec.target.query_value("wallet").map(str::to_owned);
    Wallet { folder, password: spec.options.get("ORACLE_WALLET_PASSWORD") }
}

fn is_operating_system(target: &Target) -> bool {
    target.endpoints().is_empty() && target.path() == "/" && target.user().is_none()
}

fn services_of(target: &Target) -> Result<Vec<String>> {
    if is_operating_system(target) {
        return Ok(Vec::new());
    }
    if target.endpoints().is_empty() {
        // Without // it is a net service name.
        let path = target.path();
        return Ok(Some(path.to_owned()).filter(|path| !path.is_empty()).into_iter().collect());
    }
    let service = |endpoint: &Endpoint| match (target.database(), endpoint.port) {
        (Some(service), port) => {
            Ok(format!("//{}/{service}", host_and_port(&endpoint.host, port.unwrap_or(PORT))))
        }
        (None, None) => Ok(endpoint.host.clone()),
        (None, Some(_)) => {
            Err(EngineError::new(ErrorKind::Usage, format!("TARGET={target}"), "it names no service")
                .with_advice(
                    "write oracle://user@//host:port/service, or oracle://user@NAME for a net service name",
                ))
        }
    };
    target.endpoints().iter().map(service).collect()
}

fn admin_login(spec: &OpenSpec, sysdba: bool) -> Result<Login> {
    let OpenSpec { target, options, .. } = spec;
    if is_operating_system(target) {
        return Ok(Login { user: None, sysdba: sysdba || target.query_value("role").is_none() });
    }
    let of_options = || options.get("DBA_PRIV_USER").filter(|user: &String| !user.is_empty());
    let user = target.user().map(str::to_owned).or_else(of_options);
    let password = target.password().cloned().or_else(|| options.get("SYSDBA_PASSWD"));
    match (user, password) {
        (Some(user), Some(password)) => Ok(Login { user: Some((user, password)), sysdba }),
        _ => Err(EngineError::new(ErrorKind::Usage, format!("TARGET={target}"), "there is no user or no password")
            .with_advice("put the user into the target or DBA_PRIV_USER, and the password into the target or SYSDBA_PASSWD")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::options;
    use rstest::rstest;
    use slob_engine::Purpose;

    const ADMIN: [(&str, &str); 2] = [("DBA_PRIV_USER", "system"), ("SYSDBA_PASSWD", "manager")];

    fn access(target: &str, others: &[(&str, &str)]) -> Result<Access> {
        let options = options(&[&ADMIN, others].concat());
        Access::new(&OpenSpec::new(target.parse().unwrap(), Purpose::Use, options))
    }

    #[rstest]
    #[case("oracle://u@//db1:1522/pdb1", &["//db1:1522/pdb1"])]
    #[case("oracle://u@db1:1522/pdb1", &["//db1:1522/pdb1"])]
    #[case("oracle://u@db1/pdb1", &["//db1:1521/pdb1"])]
    #[case("oracle://u@[::1]:1522/pdb1", &["//[::1]:1522/pdb1"])]
    #[case("oracle://u@slob", &["slob"])]
    #[case("oracle:slob", &["slob"])]
    #[case("oracle:", &[""])]
    #[case("oracle:/", &[""])]
    #[case("oracle://u@db1,db2:1522/pdb", &["//db1:1521/pdb", "//db2:1522/pdb"])]
    fn targets_lead_to_services(#[case] target: &str, #[case] services: &[&str]) {
        let access = access(target, &[]).unwrap();
        assert_eq!(
            (access.admin_service.as_str(), access.services),
            (services[0], services.iter().map(|service| (*service).to_owned()).collect())
        );
    }

    #[test]
    fn keys_of_the_original_override_the_target() {
        let services = [("ADMIN_SQLNET_SERVICE", "slob"), ("SQLNET_SERVICE_BASE", "rac")];
        let numbered = access("oracle:", &[&services[..], &[("SQLNET_SERVICE_MAX", "3")]].concat()).unwrap();
        assert_eq!(numbered.admin_service, "slob");
        assert_eq!(numbered.services, ["rac1", "rac2", "rac3"]);
        assert_eq!(access("oracle:", &services).unwrap().services, ["rac"]);
    }

    #[rstest]
    #[case("oracle:/", None, true)]
    #[case("oracle:/?role=normal", None, false)]
    #[case("oracle:", Some("system"), false)]
    #[case("oracle://sys:x@db1/s?role=sysdba", Some("sys"), true)]
    fn a_slash_is_the_account_of_the_operating_system(
        #[case] target: &str,
        #[case] user: Option<&str>,
        #[case] sysdba: bool,
    ) {
        let login = access(target, &[]).unwrap().admin;
        assert_eq!((login.user.as_ref().map(|(user, _)| user.as_str()), login.sysdba), (user, sysdba));
    }

    #[rstest]
    #[case("oracle://u@db1:1521")]
    #[case("oracle://u@db1/s?wallet=")]
    #[case("oracle://u@db1/s?walet=x")]
    fn targets_without_service_or_with_unknown_options_are_refused(#[case] target: &str) {
        let error = access(target, &[]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
}
