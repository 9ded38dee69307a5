//! Advice and errors of all servers.

use slob_engine::{EngineError, ErrorKind, Unanswered};

pub const LOST: &str = "see the server's log: it was restarted, or ended this connection";
pub const NO_PROCEDURE: &str = "drop the schema and load it again, or set LOOP=client";
/// A procedure's answer is not ours.
pub const FOREIGN_PROCEDURE: &str = "the procedure is not slob's: drop the schema and load it again";

/// The server accepts the connection and then is silent.
pub fn unanswered(step: String, silence: &Unanswered) -> EngineError {
    EngineError::new(ErrorKind::Connection, step, silence.to_string()).with_advice(
        "the connection was accepted, then nothing came: check whether the server is stopped or overloaded, and the \
         network",
    )
}

/// The rows of a text with | between three columns.
pub fn table(text: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut columns = line.splitn(3, '|').map(str::trim);
        Some([columns.next()?, columns.next()?, columns.next()?])
    })
}

/// The kind and the advice of a server's code, from a table of codes, kinds and advice. The first line that holds the code
/// counts: by itself, in a range of numbers such as `1653-1655`, or in a class such as `08*`.
pub fn known_error(text: &'static str, code: &str) -> Option<(ErrorKind, Option<&'static str>)> {
    use ErrorKind::{Cancelled, Connection, Data, Fatal, Privilege, Retryable, Space, Usage};
    let number = |text: &str| text.parse::<u32>().ok();
    let holds = |codes: &str| match codes.split_once('-') {
        Some((first, last)) => (number(first)..=number(last)).contains(&number(code)),
        None => codes.strip_suffix('*').map_or(codes == code, |class| code.starts_with(class)),
    };
    let [_, name, advice] = table(text).find(|[codes, ..]| codes.split(' ').any(holds))?;
    let mut kinds = [Cancelled, Connection, Data, Fatal, Privilege, Retryable, Space, Usage].into_iter();
    Some((kinds.find(|kind| format!("{kind:?}") == name)?, Some(advice).filter(|advice| !advice.is_empty())))
}

/// The kind and the advice of a code from a table of refused connections.
pub fn refusal(text: &'static str, code: &str) -> (ErrorKind, &'static str) {
    let (kind, advice) = known_error(text, code).unwrap_or((ErrorKind::Connection, None));
    (kind, advice.unwrap_or("see the server's log"))
}

/// `hint` is what is known about the password.
pub fn refused(
    (kind, advice): (ErrorKind, &str),
    step: String,
    message: String,
    hint: Option<&str>,
) -> EngineError {
    let advice = match hint {
        Some(hint) if kind == ErrorKind::Privilege => format!("{advice}; {hint}"),
        _ => advice.to_owned(),
    };
    EngineError::new(kind, step, message).with_advice(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# about\n1 5-7 | Data | one\n8* X | Space |\n6 | Usage | never\n9 | Wrong |";

    #[test]
    fn the_first_line_that_holds_a_code_counts() {
        let found = |code| known_error(TEXT, code);
        for code in ["1", "5", "6", "7"] {
            assert_eq!(found(code), Some((ErrorKind::Data, Some("one"))), "{code}");
        }
        for code in ["8", "81", "X"] {
            assert_eq!(found(code), Some((ErrorKind::Space, None)), "{code}");
        }
        assert_eq!(["2", "51", "XY", "9"].map(found), [None; 4]);
        assert_eq!(refusal(TEXT, "2"), (ErrorKind::Connection, "see the server's log"));
    }
}
