//! `slob.conf`: lines of KEY=value, read and never executed.
//!
//! The original kit sources this file in a shell. Here it is data: what a shell would take literally is read
//! the same way, and what a shell would expand or run is refused with its line.

mod line;

use std::collections::HashMap;
use std::fmt;

use crate::error::{SpecError, SpecErrors};
use crate::warning::Warning;

/// One assignment of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The key, known or not.
    pub key: String,
    /// The value, without quotes and escapes; empty for `KEY=`.
    pub value: String,
    /// Its line, counted from 1.
    pub line: usize,
}

impl fmt::Debug for Assignment {
    /// Without the value, which may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on line {}", self.key, self.line)
    }
}

/// A file that has been read. Its keys need not be known, nor its values good: see
/// [`crate::Settings::resolve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfFile {
    name: String,
    assignments: Vec<Assignment>,
    warnings: Vec<Warning>,
}

impl ConfFile {
    /// Reads the text of a file. `name` is what messages call it.
    ///
    /// # Errors
    /// All lines that are not an assignment, a comment or empty. No message repeats a value.
    pub fn parse(name: &str, text: &str) -> Result<Self, SpecErrors> {
        let mut file = Self { name: name.to_owned(), assignments: Vec::new(), warnings: Vec::new() };
        let mut errors = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, content) in text.split('\n').enumerate() {
            let line = index + 1;
            match line::read(content.strip_suffix('\r').unwrap_or(content)) {
                Ok(Some((key, value))) => file.assignments.push(Assignment { key, value, line }),
                Ok(None) => {}
                Err(fault) => errors.push(SpecError::Line { file: name.to_owned(), line, fault }),
            }
        }
        SpecErrors::check(errors)?;
        file.keep_last_assignments();
        Ok(file)
    }

    /// What messages call the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The assignments in the order of their lines, one for each key: the last one counts, as in a shell.
    #[must_use]
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// Keys that are assigned more than once.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn keep_last_assignments(&mut self) {
        let mut last: HashMap<String, usize> = HashMap::new();
        for assignment in &self.assignments {
            if let Some(first_line) = last.insert(assignment.key.clone(), assignment.line) {
                self.warnings.push(Warning::AssignedTwice {
                    file: self.name.clone(),
                    first_key: assignment.key.clone(),
                    first_line,
                    last_key: assignment.key.clone(),
                    last_line: assignment.line,
                });
            }
        }
        self.assignments.retain(|assignment| last.get(&assignment.key) == Some(&assignment.line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<(String, String)> {
        let file = ConfFile::parse("slob.conf", text).unwrap();
        file.assignments().iter().map(|one| (one.key.clone(), one.value.clone())).collect()
    }

    #[test]
    fn reads_a_file_of_another_editor() {
        let text =
            "\u{feff}# head\r\nUPDATE_PCT=10\r\n\r\n  SCALE=\"80M\" # size\r\nexport UPDATE_PCT SCALE\r\n";
        let expected =
            [("UPDATE_PCT", "10"), ("SCALE", "80M")].map(|(key, value)| (key.into(), value.into()));
        assert_eq!(values(text), expected);
    }

    #[test]
    fn the_last_assignment_counts_and_says_so() {
        let file = ConfFile::parse("slob.conf", "A=1\nB=2\nA=3\nA=4").unwrap();
        let kept: Vec<_> = file.assignments().iter().map(|one| (one.key.as_str(), one.line)).collect();
        assert_eq!(kept, [("B", 2), ("A", 4)]);
        let warnings: Vec<_> = file.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), 2);
        assert_eq!(warnings[1], "slob.conf: A on line 3 is overridden by A on line 4; delete one of them");
    }

    #[test]
    fn reports_every_bad_line_and_no_value() {
        let errors = ConfFile::parse("my.conf", "A=tiger$x\nB=1\nif true; then\nC='tiger").unwrap_err();
        let lines: Vec<_> = errors.to_string().lines().map(ToOwned::to_owned).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("my.conf line 1: "), "{}", lines[0]);
        assert!(lines[1].starts_with("my.conf line 3: "), "{}", lines[1]);
        assert!(lines[2].starts_with("my.conf line 4: "), "{}", lines[2]);
        assert!(!errors.to_string().contains("tiger"));
    }

    #[test]
    fn debug_shows_no_value() {
        let file = ConfFile::parse("slob.conf", "SYSDBA_PASSWD=tiger").unwrap();
        assert!(!format!("{file:?}").contains("tiger"));
    }

    const VALID: &str = "# head\nUPDATE_PCT=10 # share\nSCALE=\"80M\"\nexport RUN_TIME='300'\nexport A B\n\
                         EXTERNAL_SCRIPT=\"\"\nSYSDBA_PASSWD='a$b;c'\r\n  X=\"a\\\"b\"\n";

    proptest! {
        #[test]
        fn any_text_is_an_answer(text in "(?s).*") {
            let _ = ConfFile::parse("slob.conf", &text);
        }

        #[test]
        fn a_damaged_file_is_an_answer(
            edits in prop::collection::vec((any::<prop::sample::Index>(), "[ =\"'$`;#&|()<>\\\\\n\r\u{feff}aA1é]{0,3}"), 1..6)
        ) {
            let mut chars: Vec<char> = VALID.chars().collect();
            for (at, insert) in edits {
                let at = at.index(chars.len());
                chars.splice(at..at + 1, insert.chars());
                if chars.is_empty() {
                    break;
                }
            }
            let text: String = chars.iter().collect();
            if let Ok(file) = ConfFile::parse("slob.conf", &text) {
                for one in file.assignments() {
                    prop_assert!(one.line >= 1 && one.line <= text.split('\n').count());
                    prop_assert!(!one.value.contains('\n'));
                }
            }
        }

        #[test]
        fn single_quotes_protect_everything(value in "[^'\\p{Cc}]*") {
            prop_assert_eq!(values(&format!("KEY='{value}'")), [("KEY".to_owned(), value)]);
        }
    }
}
