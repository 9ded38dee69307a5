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
        return match fault.remedy {
            Some(remedy) => EngineError::new(ErrorKind::Usage, step, message).with_advice(remedy),
            None => not_of_the_server(step, message),
        };
    };
    let error = EngineError::new(kind_of(code), step, message).with_code(format!("ORA-{code:05}"));
    match fault.remedy.or_else(|| advice(code)) {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
}

/// How to do without the client library.
const WITHOUT_LIBRARY: &str = if cfg!(feature = "thin") {
    "leave ?driver=oci out"
} else {
    "use the slob of a package, or build with --features thin"
};

/// What the library says, or its absence.
fn not_of_the_server(step: String, message: &str) -> EngineError {
    if message.contains("DPI-1047") {
        return EngineError::new(ErrorKind::Usage, step, message).with_advice(format!(
            "Oracle's client library is not found: install Instant Client Basic or Basic Light, which is free, from \
             https://www.oracle.com/database/technologies/instant-client.html, and set LD_LIBRARY_PATH to its folder; \
             on a database server, set LD_LIBRARY_PATH to $ORACLE_HOME/lib; or {WITHOUT_LIBRARY}: servers from 19c on are \
             reached without it"
        ));
    }
    if message.contains("DPI-1072") || message.contains("DPI-1050") {
        return EngineError::new(ErrorKind::Usage, step, message)
            .with_advice("Oracle's client library is too old: one of 19 reaches servers from 11.2 on");
    }
    // 1067 is a call that took longer than it may.
    let lost = ["DPI-1080", "DPI-1010", "DPI-1067"].iter().any(|code| message.contains(code));
    EngineError::new(if lost { ErrorKind::Connection } else { ErrorKind::Fatal }, step, message)
}

/// What sort of failure a number stands for.
pub(crate) fn kind_of(code: i32) -> ErrorKind {
    match code {
        // The user, or an administrator, asked for it.
        1013 => ErrorKind::Cancelled,
        // Deadlock, can't serialize, resource or library object busy, undo overwritten, and the in-doubt commits of a failover.
        54 | 60 | 1555 | 4021 | 8177 | 16 | 25402 | 25408 => ErrorKind::Retryable,
        28
        | 603
        | 1012
        | 1033
        | 1034
        | 1089
        | 1090
        | 1092
        | 1109
        | 2396
        | 3113
        | 3114
        | 3135
        | 3136
        | 3156
        | 12153
        | 12170
        | 12500..=12519
        | 12521..=12599
        | 25401
        | 27101 => ErrorKind::Connection,
        257 | 1536 | 1652..=1655 | 1658 | 1688 | 1691 | 1692 | 30036 | 19809 | 19815 | 65114 => {
            ErrorKind::Space
        }
        1017 | 1031 | 1045 | 1950 | 28000 | 28001 | 28009 | 1005 => ErrorKind::Privilege,
        18 | 20 | 12154 | 12162 | 12520 | 942 | 955 | 959 | 1918 | 1920 | 1922 | 1940 | 2391 | 3134
        | 16000 | 28003 | 28040 | 28759 | 65096 => ErrorKind::Usage,
        1578 | 8103 | 1410 | 26040 => ErrorKind::Data,
        _ => ErrorKind::Fatal,
    }
}

fn advice(code: i32) -> Option<&'static str> {
    advice_on_access(code).or_else(|| advice_on_work(code))
}

/// What is in the way of a connection.
fn advice_on_access(code: i32) -> Option<&'static str> {
    Some(match code {
        18 | 20 => "raise the parameters processes and sessions, or use fewer schemas or threads",
        1005 | 1017 => {
            "set the password: in the target, or SYSDBA_PASSWD in slob.conf or the environment (SLOB_SYSDBA_PASSWD)"
        }
        1033 | 1034 | 1089 | 1090 | 1109 | 27101 => {
            "the instance is not open: start it, or name another service"
        }
        1045 => "GRANT CREATE SESSION to the account",
        2391 => "raise SESSIONS_PER_USER in the profile of the accounts, or use fewer threads",
        3113 | 3114 | 3135 => {
            "the alert log of the instance says why the session ended; a firewall may have cut it off too"
        }
        12154 => {
            "the net service is not in tnsnames.ora: set TNS_ADMIN to its folder, or write the target as oracle://user@//host:port/service"
        }
        12162 | 12547 => "for the local instance, set ORACLE_HOME and ORACLE_SID as the server has them",
        12170 | 12535 | 12543 | 12545 => {
            "the host does not answer: check its name, the port and firewalls in between"
        }
        12505 | 12514 | 12516 | 12520 | 12541 => {
            "see `lsnrctl status` on the server for the services and the port"
        }
        12518 | 12519 => {
            "the listener has no room for another session: raise processes, or use fewer schemas or threads"
        }
        3134 => {
            "this server is too old for Oracle's client library: one of 19 reaches servers from 11.2 on, one of 21 those from 12.1 on"
        }
        28000 => "unlock the account with ALTER USER ... ACCOUNT UNLOCK",
        28001 => "the password has expired: change it",
        28040 => {
            "client and server agree on no way to log in: use a client of 19, and see SQLNET.ALLOWED_LOGON_VERSION_SERVER"
        }
        28759 => {
            "the wallet is not found: set TNS_ADMIN to the folder with tnsnames.ora, sqlnet.ora and the wallet"
        }
        65096 => "this is the root of a container database: name the service of a pluggable database",
        _ => return None,
    })
}

/// What is in the way of a statement.
fn advice_on_work(code: i32) -> Option<&'static str> {
    Some(match code {
        54 => "somebody else has locked it: see V$LOCKED_OBJECT, and repeat the command",
        257 => "the archiver has no room: back up and delete archived logs, or make the recovery area larger",
        942 => "the account may not see it: give it SELECT_CATALOG_ROLE, or name another with DBA_PRIV_USER",
        955 => {
            "something of that name is there and does not carry slob's mark, so it is left alone: move it, or choose other accounts with ORACLE_PREFIX"
        }
        959 => "name a tablespace that is there, with `slob setup TABLESPACE SCHEMAS`",
        1031 => {
            "the account must be able to create users and tables: use SYSTEM, the master account of your service, or ORACLE_ACCOUNTS=existing"
        }
        1536 | 1950 => "give the account quota on its tablespace",
        1555 | 30036 => {
            "undo is too small for this many updates: enlarge the undo tablespace, or raise undo_retention"
        }
        1578 | 26040 => {
            "blocks loaded without logging are lost with a restore or on a standby: drop the schema and load it again"
        }
        1652 => "make room in the temporary tablespace, which holds the sort of an index",
        1653..=1655 | 1658 | 1688 | 1691 | 1692 | 65114 => {
            "make room in the tablespace, or load a smaller SCALE"
        }
        1922 => "the account holds objects that slob did not make: move or drop them first",
        1940 => "its sessions are still there: see V$SESSION, end them, and say `slob drop` again",
        4030 => "the server has no memory left for its sessions: use fewer schemas or threads",
        4031 => "the shared pool is too small for this many sessions: raise shared_pool_size or sga_target",
        16000 => "the database is open for reading only: a standby, or one that was opened so",
        28003 => {
            "a rule for passwords refuses the random one: give the accounts another profile, or make them yourself and set ORACLE_ACCOUNTS=existing"
        }
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
    #[case(1555, ErrorKind::Retryable)]
    #[case(3156, ErrorKind::Connection)]
    #[case(2391, ErrorKind::Usage)]
    #[case(900, ErrorKind::Fatal)]
    fn codes_have_their_kinds(#[case] code: i32, #[case] kind: ErrorKind) {
        let fault = Fault::new(code, "OCI Error: ORA-x");
        let error = failed("trying", &fault);
        assert_eq!((error.kind(), error.code()), (kind, Some(format!("ORA-{code:05}").as_str())));
        assert!(error.to_string().starts_with("trying: ORA-x"), "{error}");
    }

    #[test]
    fn common_failures_say_what_to_do_next() {
        for (code, word) in [
            (12154, "TNS_ADMIN"),
            (3134, "one of 19"),
            (12541, "lsnrctl"),
            (12514, "lsnrctl"),
            (12170, "firewall"),
            (1017, "SYSDBA_PASSWD"),
            (1031, "ORACLE_ACCOUNTS=existing"),
            (1950, "quota"),
            (1653, "tablespace"),
            (1652, "temporary"),
            (28000, "UNLOCK"),
            (28001, "expired"),
            (942, "SELECT_CATALOG_ROLE"),
            (955, "mark"),
            (1555, "undo"),
            (1940, "V$SESSION"),
            (28003, "profile"),
            (4031, "shared_pool_size"),
        ] {
            let fault = Fault::new(code, "said by the server");
            let error = failed("trying", &fault).to_string();
            assert!(error.contains(word), "ORA-{code:05}: {error}");
        }
    }

    #[test]
    fn a_missing_library_says_where_to_get_it() {
        let fault = Fault::new(None, "DPI Error: DPI-1047: Cannot locate a library");
        let error = failed("connecting", &fault);
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("LD_LIBRARY_PATH"), "{error}");
    }
}
