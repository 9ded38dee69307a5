//! From Oracle's errors to the engine's.

use slob_engine::{EngineError, ErrorKind};

use crate::client::Fault;

/// Translates a failure that happened in `step`.
pub(crate) fn failed(step: impl Into<String>, fault: &Fault) -> EngineError {
    let step = step.into();
    let message = fault.message.trim();
    let message =
        message.strip_prefix("OCI Error: ").or(message.strip_prefix("DPI Error: ")).unwrap_or(message);
    let Some(code) = fault.code else {
        return not_of_the_server(step, message);
    };
    let error = EngineError::new(kind_of(code), step, message).with_code(format!("ORA-{code:05}"));
    match advice(code) {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
}

/// What the library says, or its absence.
fn not_of_the_server(step: String, message: &str) -> EngineError {
    if message.contains("DPI-1047") {
        return EngineError::new(ErrorKind::Usage, step, message).with_advice(
            "Oracle's client library is not found: install Instant Client Basic or Basic Light, which is free, from \
             https://www.oracle.com/database/technologies/instant-client.html, and set LD_LIBRARY_PATH to its folder; \
             on a database server, set LD_LIBRARY_PATH to $ORACLE_HOME/lib",
        );
    }
    let lost = ["DPI-1080", "DPI-1010"].iter().any(|code| message.contains(code));
    EngineError::new(if lost { ErrorKind::Connection } else { ErrorKind::Fatal }, step, message)
}

/// What sort of failure a number stands for.
pub(crate) fn kind_of(code: i32) -> ErrorKind {
    match code {
        // 1013: the user asked for it; 3156 and 3136 are timeouts of calls and of connecting.
        1013 => ErrorKind::Cancelled,
        // Deadlock, can't serialize, resource busy, XA retry, and the in-doubt commits of a failover.
        54 | 60 | 8177 | 16 | 25402 | 25408 => ErrorKind::Retryable,
        28
        | 1012
        | 1033
        | 1034
        | 1089
        | 1090
        | 1092
        | 2396
        | 3113
        | 3114
        | 3135
        | 3136
        | 12153
        | 12170
        | 12500..=12519
        | 12521..=12599
        | 25401 => ErrorKind::Connection,
        257 | 1536 | 1652..=1655 | 1658 | 1688 | 1691 | 1692 | 30036 | 19809 | 19815 => ErrorKind::Space,
        1017 | 1031 | 1045 | 1950 | 28000 | 28001 | 28009 | 1005 => ErrorKind::Privilege,
        18 | 20 | 12154 | 12520 | 942 | 955 | 959 | 1918 | 1920 | 1922 | 65096 => ErrorKind::Usage,
        1578 | 8103 | 1410 => ErrorKind::Data,
        _ => ErrorKind::Fatal,
    }
}

fn advice(code: i32) -> Option<&'static str> {
    Some(match code {
        18 | 20 => "raise the parameters processes and sessions, or use fewer schemas or threads",
        257 => "the archiver has no room: back up and delete archived logs, or make the recovery area larger",
        942 => "the account may not see it: give it SELECT_CATALOG_ROLE, or name another with DBA_PRIV_USER",
        959 => "name a tablespace that is there, with `slob setup TABLESPACE SCHEMAS`",
        1005 | 1017 => {
            "set the password: in the target, or SYSDBA_PASSWD in slob.conf or the environment (SLOB_SYSDBA_PASSWD)"
        }
        1031 => {
            "the account must be able to create users and tables: use SYSTEM, the master account of your service, or ORACLE_ACCOUNTS=existing"
        }
        1033 | 1034 | 1089 | 1090 => "the instance is not open: start it, or name another service",
        1536 | 1950 => "give the account quota on its tablespace",
        1652..=1655 | 1658 | 1688 | 1691 | 1692 => "make room in the tablespace, or load a smaller SCALE",
        1922 => "the account holds objects that slob did not make: move or drop them first",
        12154 => {
            "the net service is not in tnsnames.ora: set TNS_ADMIN to its folder, or write the target as oracle://user@//host:port/service"
        }
        12514 | 12516 | 12520 | 12541 => "see `lsnrctl status` on the server for the services and the port",
        28000 => "unlock the account with ALTER USER ... ACCOUNT UNLOCK",
        28001 => "the password has expired: change it",
        65096 => "this is the root of a container database: name the service of a pluggable database",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(1013, ErrorKind::Cancelled)]
    #[case(60, ErrorKind::Retryable)]
    #[case(3113, ErrorKind::Connection)]
    #[case(12541, ErrorKind::Connection)]
    #[case(12520, ErrorKind::Usage)]
    #[case(12154, ErrorKind::Usage)]
    #[case(1653, ErrorKind::Space)]
    #[case(1017, ErrorKind::Privilege)]
    #[case(1031, ErrorKind::Privilege)]
    #[case(20, ErrorKind::Usage)]
    #[case(1578, ErrorKind::Data)]
    #[case(900, ErrorKind::Fatal)]
    fn codes_have_their_kinds(#[case] code: i32, #[case] kind: ErrorKind) {
        let fault = Fault { code: Some(code), message: "OCI Error: ORA-x".into() };
        let error = failed("trying", &fault);
        assert_eq!((error.kind(), error.code()), (kind, Some(format!("ORA-{code:05}").as_str())));
        assert!(error.to_string().starts_with("trying: ORA-x"), "{error}");
    }

    #[test]
    fn a_missing_library_says_where_to_get_it() {
        let fault = Fault { code: None, message: "DPI Error: DPI-1047: Cannot locate a library".into() };
        let error = failed("connecting", &fault);
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("LD_LIBRARY_PATH"), "{error}");
    }
}
