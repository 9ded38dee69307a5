//! `slob.conf`: lines of KEY=value, read and never executed. Text that a shell would expand or run is refused with its line.

use std::collections::HashMap;
use std::fmt;

/// Each error says what, where, and what to do; none shows a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct SpecErrors(pub(crate) Vec<String>);

impl SpecErrors {
    pub(crate) fn check(errors: Vec<String>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    pub fn errors(&self) -> &[String] {
        &self.0
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    /// Has no quotes and escapes; empty for `KEY=`.
    pub(crate) value: String,
    pub(crate) line: usize,
}

impl fmt::Debug for Assignment {
    /// The value may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on line {}", self.key, self.line)
    }
}

/// [`crate::Settings::resolve`] checks keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfFile {
    pub(crate) name: String,
    /// The last assignment of a key counts, as in a shell.
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) warnings: Vec<String>,
}

impl ConfFile {
    /// Messages call the file `name`, and repeat no value. Fails with every malformed line.
    pub fn parse(name: &str, text: &str) -> Result<Self, SpecErrors> {
        let mut file = Self { name: name.to_owned(), assignments: Vec::new(), warnings: Vec::new() };
        let mut errors = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, content) in text.split('\n').enumerate() {
            let line = index + 1;
            match read_line(content.strip_suffix('\r').unwrap_or(content)) {
                Ok(Some((key, value))) => file.assignments.push(Assignment { key, value, line }),
                Ok(None) => {}
                Err(fault) => errors.push(format!("{name} line {line}: {fault}")),
            }
        }
        SpecErrors::check(errors)?;
        file.keep_last_assignments();
        Ok(file)
    }

    fn keep_last_assignments(&mut self) {
        let mut last: HashMap<String, usize> = HashMap::new();
        for assignment in &self.assignments {
            if let Some(first_line) = last.insert(assignment.key.clone(), assignment.line) {
                let warning = assigned_twice(&self.name, (&assignment.key, first_line), assignment);
                self.warnings.push(warning);
            }
        }
        self.assignments.retain(|assignment| last.get(&assignment.key) == Some(&assignment.line));
    }
}

/// The parameter may have two names.
pub(crate) fn assigned_twice(
    file: &str,
    (first_key, first_line): (&str, usize),
    last: &Assignment,
) -> String {
    let Assignment { key, line, .. } = last;
    format!(
        "{file}: {first_key} on line {first_line} is overridden by {key} on line {line}; delete one of them"
    )
}

/// No message repeats the value, which may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum LineFault {
    #[error(
        "this is not KEY=value, and this file is never executed as a shell script; delete the line or put '#' before it"
    )]
    NotAnAssignment,
    #[error("there must be no space beside the '=' after {key}; write {key}=value")]
    SpaceBesideEquals { key: String },
    #[error(
        "the value of {key} has a {found} in it, which a shell would act on; this file is never executed. \
         Write the plain value, in single quotes if the character belongs to it: {key}='...'"
    )]
    ShellSyntax { key: String, found: char },
    #[error("the value of {key} has a backslash outside quotes; put the value in single quotes: {key}='...'")]
    Backslash { key: String },
    #[error("the value of {key} begins with '~', which is not expanded; write the whole path")]
    Tilde { key: String },
    #[error(
        "the value of {key} begins a {quote} quote that is not closed on this line; add the closing quote"
    )]
    Unterminated { key: String, quote: char },
    #[error(
        "there is text after the value of {key}; put a value with spaces in quotes, and '#' before a comment"
    )]
    TextAfterValue { key: String },
    #[error("the value of {key} has a control character in it; delete it")]
    Control { key: String },
}

/// A shell acts on these outside quotes.
const UNQUOTED_SYNTAX: [char; 9] = ['$', '`', ';', '&', '|', '(', ')', '<', '>'];

/// `None` without an assignment.
fn read_line(line: &str) -> Result<Option<(String, String)>, LineFault> {
    let line = line.trim_start();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (exported, line) = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with(char::is_whitespace) => (true, rest.trim_start()),
        _ => (false, line),
    };
    let (key, rest) = line.split_at(line.find(|c: char| !is_key_char(c)).unwrap_or(line.len()));
    if key.is_empty() || key.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(LineFault::NotAnAssignment);
    }
    if let Some(value) = rest.strip_prefix('=') {
        return read_value(key, value).map(|value| Some((key.to_owned(), value)));
    }
    if rest.trim_start().starts_with('=') {
        return Err(LineFault::SpaceBesideEquals { key: key.to_owned() });
    }
    if exported && is_list_of_keys(rest) { Ok(None) } else { Err(LineFault::NotAnAssignment) }
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_list_of_keys(rest: &str) -> bool {
    rest.split_whitespace()
        .take_while(|word| !word.starts_with('#'))
        .all(|word| word.chars().all(is_key_char))
}

/// Reads as a shell does.
fn read_value(key: &str, text: &str) -> Result<String, LineFault> {
    let own_key = || key.to_owned();
    let mut chars = text.chars().peekable();
    let (mut value, mut quote, mut after_quote) = (String::new(), None, false);
    // A '#' begins a comment only at the start of a word; the text after '=' continues a word.
    let ends = |next: char, after_quote| next.is_whitespace() || (next == '#' && after_quote);
    while let Some(next) = chars.next_if(|next| quote.is_some() || !ends(*next, after_quote)) {
        let plain = match (quote, next) {
            (Some(open), _) if next == open => {
                (quote, after_quote) = (None, true);
                continue;
            }
            (None, '\'' | '"') => {
                quote = Some(next);
                continue;
            }
            (Some('"'), found @ ('$' | '`')) => return Err(LineFault::ShellSyntax { key: own_key(), found }),
            // A backslash in double quotes escapes only special characters.
            (Some('"'), '\\') => chars.next_if(|next| matches!(next, '"' | '\\' | '$' | '`')).unwrap_or('\\'),
            (None, found) if UNQUOTED_SYNTAX.contains(&found) => {
                return Err(LineFault::ShellSyntax { key: own_key(), found });
            }
            (None, '\\') => return Err(LineFault::Backslash { key: own_key() }),
            (None, '~') if value.is_empty() => return Err(LineFault::Tilde { key: own_key() }),
            (_, plain) => plain,
        };
        if plain.is_control() && plain != '\t' {
            return Err(LineFault::Control { key: own_key() });
        }
        value.push(plain);
        after_quote = false;
    }
    if let Some(quote) = quote {
        return Err(LineFault::Unterminated { key: own_key(), quote });
    }
    let rest: String = chars.collect();
    let rest = rest.trim_start();
    match rest.chars().next() {
        None | Some('#') => Ok(value),
        Some(_) if text.starts_with(char::is_whitespace) => {
            Err(LineFault::SpaceBesideEquals { key: own_key() })
        }
        Some(found) if UNQUOTED_SYNTAX.contains(&found) => {
            Err(LineFault::ShellSyntax { key: own_key(), found })
        }
        Some(_) => Err(LineFault::TextAfterValue { key: own_key() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn values(text: &str) -> Vec<(String, String)> {
        let file = ConfFile::parse("slob.conf", text).unwrap();
        file.assignments.iter().map(|one| (one.key.clone(), one.value.clone())).collect()
    }

    #[test]
    fn a_file_of_another_editor_is_read() {
        let text =
            "\u{feff}# head\r\nUPDATE_PCT=10\r\n\r\n  SCALE=\"80M\" # size\r\nexport UPDATE_PCT SCALE\r\n";
        let expected =
            [("UPDATE_PCT", "10"), ("SCALE", "80M")].map(|(key, value)| (key.into(), value.into()));
        assert_eq!(values(text), expected);
    }

    #[test]
    fn the_last_assignment_counts_with_a_warning() {
        let file = ConfFile::parse("slob.conf", "A=1\nB=2\nA=3\nA=4").unwrap();
        let kept: Vec<_> = file.assignments.iter().map(|one| (one.key.as_str(), one.line)).collect();
        assert_eq!(kept, [("B", 2), ("A", 4)]);
        assert_eq!(file.warnings.len(), 2);
        let expected = "slob.conf: A on line 3 is overridden by A on line 4; delete one of them";
        assert_eq!(file.warnings[1], expected);
    }

    #[test]
    fn every_bad_line_is_reported_without_its_value() {
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
        fn no_text_panics(text in "(?s).*") {
            let _ = ConfFile::parse("slob.conf", &text);
        }

        #[test]
        fn no_damaged_file_panics(
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
                for one in file.assignments {
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

    #[rstest]
    #[case("A=1", "1")]
    #[case("  A=1\t ", "1")]
    #[case("export A=1", "1")]
    #[case("A=", "")]
    #[case("A= # nothing", "")]
    #[case("A=\"\"", "")]
    #[case("A=a#b", "a#b")]
    #[case("A=#b", "#b")]
    #[case("A=a #b", "a")]
    #[case("A=\"a\"#b", "a")]
    #[case("A=\"a #b\"", "a #b")]
    #[case("A='$x `y` \"z\" \\ ;'", "$x `y` \"z\" \\ ;")]
    #[case("A=\"a;b & (c)\"", "a;b & (c)")]
    #[case(r#"A="\$1 \" \\ \n""#, r#"$1 " \ \n"#)]
    #[case("A=a'b c'\"d\"", "ab cd")]
    #[case("A=/x/*?[y]{z}!", "/x/*?[y]{z}!")]
    #[case("A=a~b=c", "a~b=c")]
    #[case("_a9=x", "x")]
    #[case("export=1", "1")]
    fn values_are_read(#[case] line: &str, #[case] value: &str) {
        assert_eq!(read_line(line).unwrap().map(|(_, value)| value).as_deref(), Some(value));
    }

    #[test]
    fn other_lines_assign_nothing() {
        for line in "|   |# A=1|\t#|export A B C|export A # B=".split('|') {
            assert_eq!(read_line(line), Ok(None), "{line}");
        }
    }

    fn key() -> String {
        "A".to_owned()
    }

    #[rstest]
    #[case(&["A =1", "A= 1", "A = 1"], LineFault::SpaceBesideEquals { key: key() })]
    #[case(&["A=$B", "A=\"x$B\""], LineFault::ShellSyntax { key: key(), found: '$' })]
    #[case(&["A=\"`date`\""], LineFault::ShellSyntax { key: key(), found: '`' })]
    #[case(&["A=1;", "A=1 ; B=2"], LineFault::ShellSyntax { key: key(), found: ';' })]
    #[case(&["A=1 && B=2"], LineFault::ShellSyntax { key: key(), found: '&' })]
    #[case(&["A=a|b"], LineFault::ShellSyntax { key: key(), found: '|' })]
    #[case(&["A=(1"], LineFault::ShellSyntax { key: key(), found: '(' })]
    #[case(&["A=<x"], LineFault::ShellSyntax { key: key(), found: '<' })]
    #[case(&["A=1 B=2", "A=\"1\" 2"], LineFault::TextAfterValue { key: key() })]
    #[case(&["A=\"1", "A=\"1\\\""], LineFault::Unterminated { key: key(), quote: '"' })]
    #[case(&["A='1\""], LineFault::Unterminated { key: key(), quote: '\'' })]
    #[case(&["A=a\\ b"], LineFault::Backslash { key: key() })]
    #[case(&["A=~/x"], LineFault::Tilde { key: key() })]
    #[case(&["A=x\u{0}"], LineFault::Control { key: key() })]
    #[case(&["A", "9A=1", "A+=1", "A[0]=1", "if [ 1 ]; then", ". ./other.conf", "export", "export -n A", "export A B=2"], LineFault::NotAnAssignment)]
    fn bad_lines_are_refused(#[case] lines: &[&str], #[case] fault: LineFault) {
        for line in lines {
            assert_eq!(read_line(line), Err(fault.clone()), "{line}");
        }
    }
}
