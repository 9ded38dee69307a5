//! Who connects where: from the target and the parameters of services and accounts.
//!
//! | target | connects to |
//! | --- | --- |
//! | `oracle://user@//host:port/service`, `oracle://user@host:port/service` | that service; several hosts with commas are endpoints |
//! | `oracle://user@NAME` | the net service NAME of `tnsnames.ora` |
//! | `oracle:` | ADMIN_SQLNET_SERVICE, or the instance of this machine (ORACLE_HOME, ORACLE_SID) |
//! | `oracle:/` | the same, as the account of the operating system, with SYSDBA |

use slob_engine::{EngineError, ErrorKind};
use slob_spec::{Endpoint, Secret, Target};

use crate::client::Login;
use crate::drivers;
use crate::options::Options;

/// The port of a listener.
pub(crate) const PORT: u16 = 1521;

/// What is connected to, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Who makes, drops and looks.
    pub(crate) admin: Login,
    /// Where that happens.
    pub(crate) admin_service: String,
    /// Where counters are read, if it is another place.
    pub(crate) root_service: Option<String>,
    /// Where sessions work, round-robin.
    pub(crate) services: Vec<String>,
}

impl Access {
    /// Reads it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the target is not one.
    pub(crate) fn new(target: &Target, options: &Options) -> Result<Self, EngineError> {
        let sysdba = check_query(target)?;
        let by_target = services_of(target)?;
        let admin_service =
            options.admin_service.clone().or_else(|| by_target.first().cloned()).unwrap_or_default();
        let services = match (&options.service_base, options.service_max) {
            (Some(base), 0) => vec![base.clone()],
            (Some(base), max) => (1..=max).map(|number| format!("{base}{number}")).collect(),
            // Sessions go where the target says; the service for administration is the last resort.
            (None, _) if by_target.is_empty() => vec![admin_service.clone()],
            (None, _) => by_target,
        };
        let root_service = options.root_service.clone();
        Ok(Self { admin: admin(target, options, sysdba)?, admin_service, root_service, services })
    }

    /// The name of a service in messages.
    pub(crate) fn shown(service: &str) -> &str {
        if service.is_empty() { "the local instance" } else { service }
    }
}

/// What a query may hold: whether it asks for SYSDBA.
fn check_query(target: &Target) -> Result<bool, EngineError> {
    let mut sysdba = false;
    for (name, value) in target.query() {
        match (name.as_str(), value.to_ascii_lowercase().as_str()) {
            ("role", "sysdba") => sysdba = true,
            ("role", "normal") => sysdba = false,
            ("driver", value) if drivers::NAMES.contains(&value) => {}
            _ => {
                let message = format!("can't use {name}={value}");
                return Err(EngineError::new(ErrorKind::Usage, "reading the target", message).with_advice(
                    "the options are role=sysdba or role=normal, and driver=oci or driver=thin",
                ));
            }
        }
    }
    Ok(sysdba)
}

fn is_operating_system(target: &Target) -> bool {
    target.endpoints().is_empty() && target.path() == "/" && target.user().is_none()
}

fn services_of(target: &Target) -> Result<Vec<String>, EngineError> {
    if is_operating_system(target) {
        return Ok(Vec::new());
    }
    let path = target.path();
    if target.endpoints().is_empty() {
        // user@//host:port/service leaves all of it to the path; the form without // names a net service.
        return Ok(Some(path.to_owned()).filter(|path| !path.is_empty()).into_iter().collect());
    }
    let one = |endpoint: &Endpoint| match (target.database(), endpoint.port) {
        (Some(service), port) => {
            let host = &endpoint.host;
            let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
            Ok(format!("//{host}:{}/{service}", port.unwrap_or(PORT)))
        }
        (None, None) => Ok(endpoint.host.clone()),
        (None, Some(_)) => {
            Err(EngineError::new(ErrorKind::Usage, format!("TARGET={target}"), "it names no service")
                .with_advice(
                    "write oracle://user@//host:port/service, or oracle://user@NAME for a net service name",
                ))
        }
    };
    target.endpoints().iter().map(one).collect()
}

fn admin(target: &Target, options: &Options, sysdba: bool) -> Result<Login, EngineError> {
    if is_operating_system(target) {
        let sysdba = target.query_value("role").is_none_or(|role| role.eq_ignore_ascii_case("sysdba"));
        return Ok(Login::OperatingSystem { sysdba });
    }
    let user = target.user().map(str::to_owned).or_else(|| options.dba_user.clone());
    let password = target.password().or(options.dba_password.as_ref());
    match (user, password) {
        (Some(user), Some(password)) => {
            Ok(Login::Password { user, password: Secret::new(password.expose()), sysdba })
        }
        _ => Err(EngineError::new(ErrorKind::Usage, format!("TARGET={target}"), "there is no user or no password")
            .with_advice("put the user into the target or DBA_PRIV_USER, and the password into the target or SYSDBA_PASSWD")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_engine::{OpenSpec, Purpose};
    use slob_spec::EngineOptions;

    fn options() -> Options {
        let target: Target = "oracle:".parse().unwrap();
        let mut options =
            Options::from_spec(&OpenSpec::new(target, Purpose::Use, EngineOptions::default())).unwrap();
        options.dba_user = Some("system".into());
        options.dba_password = Some(Secret::new("manager"));
        options
    }

    fn access(target: &str, options: &Options) -> Access {
        Access::new(&target.parse().unwrap(), options).unwrap()
    }

    #[rstest]
    #[case("oracle://u@//db1:1522/pdb1", "//db1:1522/pdb1")]
    #[case("oracle://u@db1:1522/pdb1", "//db1:1522/pdb1")]
    #[case("oracle://u@db1/pdb1", "//db1:1521/pdb1")]
    #[case("oracle://u@[::1]:1522/pdb1", "//[::1]:1522/pdb1")]
    #[case("oracle://u@slob", "slob")]
    #[case("oracle:slob", "slob")]
    #[case("oracle:", "")]
    #[case("oracle:/", "")]
    fn targets_lead_to_services(#[case] target: &str, #[case] service: &str) {
        let access = access(target, &options());
        assert_eq!(
            (access.admin_service.as_str(), access.services.as_slice()),
            (service, &[service.to_owned()][..])
        );
    }

    #[test]
    fn the_originals_keys_go_before_the_target() {
        let mut options = options();
        options.admin_service = Some("slob".into());
        options.service_base = Some("rac".into());
        options.service_max = 3;
        let access = access("oracle:", &options);
        assert_eq!((access.admin_service.as_str(), access.services.len()), ("slob", 3));
        assert_eq!(access.services[2], "rac3");
        options.service_max = 0;
        assert_eq!(super::Access::new(&"oracle:".parse().unwrap(), &options).unwrap().services, ["rac"]);
    }

    #[test]
    fn several_hosts_are_endpoints() {
        let access = access("oracle://u@db1,db2:1522/pdb", &options());
        assert_eq!(access.services, ["//db1:1521/pdb", "//db2:1522/pdb"]);
    }

    #[test]
    fn a_slash_is_the_operating_systems_account() {
        let login = |target: &str| access(target, &options()).admin;
        assert!(matches!(login("oracle:/"), Login::OperatingSystem { sysdba: true }));
        assert!(matches!(login("oracle:/?role=normal"), Login::OperatingSystem { sysdba: false }));
        assert!(matches!(login("oracle:"), Login::Password { user, sysdba: false, .. } if user == "system"));
        assert!(
            matches!(login("oracle://sys:x@db1/s?role=sysdba"), Login::Password { user, sysdba: true, .. } if user == "sys")
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for target in ["oracle://u@db1:1521", "oracle://u@db1/s?wallet=x"] {
            let error = Access::new(&target.parse().unwrap(), &options()).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        }
    }
}
