//! From PostgreSQL's errors to the engine's.

use postgres::error::SqlState;
use slob_engine::{EngineError, ErrorKind};
use slob_server::advice::{DAMAGED, LOST, NO_ROOM, READ_ONLY, STOPPED, advised};

/// Translates an error that happened in `step`.
pub(crate) fn failed(step: impl Into<String>, error: &postgres::Error) -> EngineError {
    let Some(db) = error.as_db_error() else {
        return lost(step, error);
    };
    let kind = kind_of(db.code());
    let mut message = db.message().to_owned();
    for (name, text) in [("detail", db.detail()), ("hint", db.hint())] {
        if let Some(text) = text {
            message = format!("{message} ({name}: {text})");
        }
    }
    let result = EngineError::new(kind, step, message).with_code(format!("SQLSTATE {}", db.code().code()));
    advised(result, advice(db.code()))
}

/// An error that the server did not report: the connection broke, or an answer made no sense.
fn lost(step: impl Into<String>, error: &postgres::Error) -> EngineError {
    let io = std::iter::successors(std::error::Error::source(error), |cause| cause.source())
        .any(|cause| cause.is::<std::io::Error>());
    // The client's own message leaves out the cause, which is the better half of it.
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    let message = format!("{error}{}", if error.to_string().contains(&cause) { "" } else { &cause });
    if io || error.is_closed() {
        return EngineError::new(ErrorKind::Connection, step, message).with_advice(LOST);
    }
    EngineError::new(ErrorKind::Fatal, step, message)
}

/// What sort of failure an SQLSTATE stands for.
pub(crate) fn kind_of(code: &SqlState) -> ErrorKind {
    match code.code() {
        "57014" => ErrorKind::Cancelled,
        "40001" | "40P01" => ErrorKind::Retryable,
        "57P01" | "57P02" | "57P03" | "57P05" => ErrorKind::Connection,
        "53100" => ErrorKind::Space,
        "42501" => ErrorKind::Privilege,
        "53300" | "3D000" | "42P06" | "2BP01" | "3F000" | "42P01" => ErrorKind::Usage,
        "XX001" | "XX002" => ErrorKind::Data,
        code if code.starts_with("08") => ErrorKind::Connection,
        code if code.starts_with("28") => ErrorKind::Privilege,
        _ => ErrorKind::Fatal,
    }
}

fn advice(code: &SqlState) -> Option<&'static str> {
    Some(match code.code() {
        "53100" => NO_ROOM,
        "53200" => "the server is short of memory: use fewer sessions, or lower its settings",
        "53300" => "raise max_connections, or use fewer schemas or threads",
        "55P03" => "another session holds a lock on our tables: see pg_locks, and end it",
        "57P01" | "57P02" | "57P03" | "57P05" => STOPPED,
        "42501" => "the role must own the schemas, and have CREATE on the database to load them",
        "25006" => READ_ONLY,
        "XX001" | "XX002" => DAMAGED,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("57014", ErrorKind::Cancelled)]
    #[case("40P01", ErrorKind::Retryable)]
    #[case("40001", ErrorKind::Retryable)]
    #[case("08006", ErrorKind::Connection)]
    #[case("57P01", ErrorKind::Connection)]
    #[case("53100", ErrorKind::Space)]
    #[case("53300", ErrorKind::Usage)]
    #[case("28P01", ErrorKind::Privilege)]
    #[case("42501", ErrorKind::Privilege)]
    #[case("XX001", ErrorKind::Data)]
    #[case("42601", ErrorKind::Fatal)]
    fn codes_have_their_kinds(#[case] code: &str, #[case] kind: ErrorKind) {
        assert_eq!(kind_of(&SqlState::from_code(code)), kind);
    }
}
