//! From the errors of server and client library to the engine's.

use mysql::Error;
use slob_engine::{EngineError, ErrorKind};
use slob_server::advice::{DAMAGED, LOST, NO_ROOM, READ_ONLY, STOPPED, advised};

/// Translates an error that happened in `step`.
pub(crate) fn failed(step: impl Into<String>, error: &Error) -> EngineError {
    let Error::MySqlError(server) = error else { return lost(step, error) };
    let result = EngineError::new(kind_of(server.code), step, server.message.clone())
        .with_code(format!("error {}", server.code));
    advised(result, advice(server.code))
}

/// An error that the server did not report: the connection broke, or an answer made no sense.
fn lost(step: impl Into<String>, error: &Error) -> EngineError {
    let (kind, message) = match error {
        Error::IoError(error) => (ErrorKind::Connection, error.to_string()),
        Error::TlsError(error) => (ErrorKind::Connection, format!("{error:?}")),
        Error::CodecError(error) => (ErrorKind::Connection, error.to_string()),
        Error::DriverError(error) => (ErrorKind::Connection, error.to_string()),
        other => (ErrorKind::Fatal, other.to_string()),
    };
    let result = EngineError::new(kind, step, message);
    advised(result, (kind == ErrorKind::Connection).then_some(LOST))
}

/// The server's code of an error, if it is one of the server.
pub(crate) fn code_of(error: &Error) -> Option<u16> {
    match error {
        Error::MySqlError(server) => Some(server.code),
        _ => None,
    }
}

/// Whether the server refused for lack of rights.
pub(crate) fn is_denied(error: &Error) -> bool {
    code_of(error).is_some_and(|code| kind_of(code) == ErrorKind::Privilege)
}

/// What sort of failure a code of the server stands for.
pub(crate) fn kind_of(code: u16) -> ErrorKind {
    match code {
        // KILL QUERY, and the time limits of statements of both products.
        1317 | 1969 | 3024 => ErrorKind::Cancelled,
        // Lock wait and deadlock; Galera says the latter of a COMMIT that lost against another node, MySQL's group
        // replication the last.
        1205 | 1213 | 3101 | 3572 => ErrorKind::Retryable,
        // Shutdown, KILL CONNECTION, gone away.
        1053 | 1152 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 4031 => ErrorKind::Connection,
        // A server that answers and can't serve: a Galera node that left its cluster, at a COMMIT and after it, and a
        // primary that became a replica. Another endpoint may.
        1047 | 1180 | 1290 | 1792 | 1836 => ErrorKind::Connection,
        1021 | 1114 | 1041 => ErrorKind::Space,
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1410 | 1698 => ErrorKind::Privilege,
        1007 | 1008 | 1040 | 1046 | 1049 | 1050 | 1051 | 1146 | 1203 | 1226 | 1305 => ErrorKind::Usage,
        1034 | 1194 | 1712 | 1815 | 1877 => ErrorKind::Data,
        _ => ErrorKind::Fatal,
    }
}

fn advice(code: u16) -> Option<&'static str> {
    Some(match code {
        1021 | 1114 => NO_ROOM,
        1040 | 1203 | 1226 => {
            "raise max_connections (or max_user_connections), or use fewer schemas or threads"
        }
        1044 | 1142 | 1143 | 1227 | 1370 | 1410 => {
            "the role needs all rights on its databases: GRANT ALL ON `slob%`.* TO it"
        }
        1205 => {
            "another session holds a lock on our rows or tables: see SHOW ENGINE INNODB STATUS, and end it"
        }
        1053 | 1927 | 2013 => STOPPED,
        1047 => "this node has left its cluster: see its log and wsrep_cluster_status",
        1180 => {
            "this node lost its cluster, or can't write its log: see the server's log and wsrep_cluster_status"
        }
        1153 => "raise max_allowed_packet on the server",
        1290 | 1792 | 1836 => READ_ONLY,
        1712 | 1815 | 1877 => DAMAGED,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(1317, ErrorKind::Cancelled)]
    #[case(1213, ErrorKind::Retryable)]
    #[case(1205, ErrorKind::Retryable)]
    #[case(3101, ErrorKind::Retryable)]
    #[case(1047, ErrorKind::Connection)]
    #[case(1180, ErrorKind::Connection)]
    #[case(1290, ErrorKind::Connection)]
    #[case(1792, ErrorKind::Connection)]
    #[case(1836, ErrorKind::Connection)]
    #[case(1927, ErrorKind::Connection)]
    #[case(2006, ErrorKind::Connection)]
    #[case(2013, ErrorKind::Connection)]
    #[case(1053, ErrorKind::Connection)]
    #[case(1114, ErrorKind::Space)]
    #[case(1040, ErrorKind::Usage)]
    #[case(1045, ErrorKind::Privilege)]
    #[case(1142, ErrorKind::Privilege)]
    #[case(1877, ErrorKind::Data)]
    #[case(1064, ErrorKind::Fatal)]
    fn codes_have_their_kinds(#[case] code: u16, #[case] kind: ErrorKind) {
        assert_eq!(kind_of(code), kind);
    }

    /// A node of a cluster that does not serve must send a session to the next one, and say what to look at.
    #[rstest]
    #[case(1047, "wsrep_cluster_status")]
    #[case(1180, "wsrep_cluster_status")]
    #[case(1290, "name the primary")]
    fn a_node_that_does_not_serve_is_a_lost_one(#[case] code: u16, #[case] advice: &str) {
        let server = mysql::MySqlError {
            state: "08S01".into(),
            message: "WSREP has not yet prepared node".into(),
            code,
        };
        let error = failed("session 3", &Error::MySqlError(server));
        assert_eq!((error.kind(), error.code()), (ErrorKind::Connection, Some(&*format!("error {code}"))));
        assert!(error.to_string().contains(advice), "{error}");
    }

    #[test]
    fn a_broken_connection_is_a_lost_one() {
        for kind in [std::io::ErrorKind::ConnectionReset, std::io::ErrorKind::UnexpectedEof] {
            let error = failed("session 3", &Error::IoError(kind.into()));
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        }
    }
}
