//! What a server said, word for word, so that others can see what our mapping made its figures of.

use std::time::{Duration, Instant};

use slob_measure::Figures;

use crate::EngineError;

/// A question to a server and its answer as it came, in texts. It holds names and numbers of the server, and no rows of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// What was asked for, by a name that stays the same while the question may change.
    pub name: String,
    /// The question.
    pub question: String,
    /// The names of the columns, where the client library tells them.
    pub columns: Vec<String>,
    /// The rows; `None` for what is absent.
    pub rows: Vec<Vec<Option<String>>>,
    /// How long the answer took.
    pub took: Duration,
    /// What was said instead of an answer.
    pub fault: Option<String>,
}

/// Columns and rows.
pub type Answer = (Vec<String>, Vec<Vec<Option<String>>>);

impl Said {
    /// Asks, and writes down what is said.
    pub fn ask<E: ToString>(name: &str, question: &str, ask: impl FnOnce(&str) -> Result<Answer, E>) -> Self {
        let begun = Instant::now();
        let answer = ask(question);
        let took = begun.elapsed();
        let (columns, rows, fault) = match answer {
            Ok((columns, rows)) => (columns, rows, None),
            Err(error) => (Vec::new(), Vec::new(), Some(error.to_string())),
        };
        Self { name: name.into(), question: question.into(), columns, rows, took, fault }
    }

    /// The answer of that name; nothing if it is not there, or was refused.
    #[must_use]
    pub fn rows_of<'a>(all: &'a [Self], name: &str) -> &'a [Vec<Option<String>>] {
        all.iter().find(|said| said.name == name).map_or(&[], |said| said.rows.as_slice())
    }

    /// The first value of the answer of that name.
    #[must_use]
    pub fn value_of<'a>(all: &'a [Self], name: &str) -> Option<&'a str> {
        Self::rows_of(all, name).first()?.first()?.as_deref()
    }
}

/// Makes figures of what a server said, as a snapshot does.
///
/// # Errors
/// If an answer that it needs is not there, or makes no sense.
pub type Replay = fn(&[Said]) -> Result<Figures, EngineError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_and_a_refusal_are_written_down() {
        let row = vec![Some("19.24".to_owned()), None];
        let sound = Said::ask("version", "SELECT v", |_| {
            Ok::<_, String>((vec!["v".into(), "w".into()], vec![row.clone()]))
        });
        let refused = Said::ask("io", "SELECT x", |_| Err::<Answer, _>("ORA-00942"));
        let all = [sound, refused];
        assert_eq!(Said::value_of(&all, "version"), Some("19.24"));
        assert_eq!(Said::rows_of(&all, "io").len(), 0);
        assert_eq!(all[1].fault.as_deref(), Some("ORA-00942"));
        assert_eq!(Said::value_of(&all, "nothing"), None);
    }
}
