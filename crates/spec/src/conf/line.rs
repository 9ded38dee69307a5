//! One line of `slob.conf`.

use std::iter::Peekable;
use std::str::Chars;

use crate::line_fault::LineFault;

/// What a shell acts on outside quotes.
const UNQUOTED_SYNTAX: [char; 9] = ['$', '`', ';', '&', '|', '(', ')', '<', '>'];

/// Reads a line without its line end: key and value, or `None` if nothing is assigned.
pub(super) fn read(line: &str) -> Result<Option<(String, String)>, LineFault> {
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
        return Value::read(key, value).map(|value| Some((key.to_owned(), value)));
    }
    if rest.trim_start().starts_with('=') {
        return Err(LineFault::SpaceBesideEquals { key: key.to_owned() });
    }
    if exported && is_list_of_keys(rest) { Ok(None) } else { Err(LineFault::NotAnAssignment) }
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether the rest of `export A B C` names keys only, before any comment.
fn is_list_of_keys(rest: &str) -> bool {
    rest.split_whitespace()
        .take_while(|word| !word.starts_with('#'))
        .all(|word| word.chars().all(is_key_char))
}

/// A value on its way from text to what a shell would make of it.
struct Value<'a> {
    key: &'a str,
    chars: Peekable<Chars<'a>>,
    value: String,
    /// Whether the last character read closed a quote.
    after_quote: bool,
}

impl<'a> Value<'a> {
    /// Reads what follows `KEY=`.
    fn read(key: &'a str, text: &'a str) -> Result<String, LineFault> {
        let mut reader =
            Self { key, chars: text.chars().peekable(), value: String::new(), after_quote: false };
        while let Some(&next) = reader.chars.peek() {
            if next.is_whitespace() || (next == '#' && reader.after_quote) {
                break;
            }
            // As in a shell, a '#' is part of a word unless it begins one: at once after the '=' it does not.
            reader.chars.next();
            reader.after_quote = false;
            match next {
                '\'' => reader.single_quoted()?,
                '"' => reader.double_quoted()?,
                plain => reader.unquoted(plain)?,
            }
        }
        reader.end(text)
    }

    fn unquoted(&mut self, next: char) -> Result<(), LineFault> {
        let key = self.key.to_owned();
        match next {
            found if UNQUOTED_SYNTAX.contains(&found) => Err(LineFault::ShellSyntax { key, found }),
            '\\' => Err(LineFault::Backslash { key }),
            '~' if self.value.is_empty() => Err(LineFault::Tilde { key }),
            plain => self.push(plain),
        }
    }

    fn single_quoted(&mut self) -> Result<(), LineFault> {
        loop {
            match self.chars.next() {
                None => return Err(self.unterminated('\'')),
                Some('\'') => break,
                Some(plain) => self.push(plain)?,
            }
        }
        self.after_quote = true;
        Ok(())
    }

    fn double_quoted(&mut self) -> Result<(), LineFault> {
        loop {
            match self.chars.next() {
                None => return Err(self.unterminated('"')),
                Some('"') => break,
                Some(found @ ('$' | '`')) => {
                    return Err(LineFault::ShellSyntax { key: self.key.to_owned(), found });
                }
                // Within double quotes a backslash escapes only what would be special there.
                Some('\\') => match self.chars.next_if(|next| matches!(next, '"' | '\\' | '$' | '`')) {
                    Some(escaped) => self.push(escaped)?,
                    None => self.push('\\')?,
                },
                Some(plain) => self.push(plain)?,
            }
        }
        self.after_quote = true;
        Ok(())
    }

    fn push(&mut self, plain: char) -> Result<(), LineFault> {
        if plain.is_control() && plain != '\t' {
            return Err(LineFault::Control { key: self.key.to_owned() });
        }
        self.value.push(plain);
        Ok(())
    }

    fn unterminated(&self, quote: char) -> LineFault {
        LineFault::Unterminated { key: self.key.to_owned(), quote }
    }

    /// Accepts white space and a comment after the value, and nothing else.
    fn end(self, text: &str) -> Result<String, LineFault> {
        let rest: String = self.chars.collect();
        let rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with('#') {
            return Ok(self.value);
        }
        let key = self.key.to_owned();
        if text.starts_with(char::is_whitespace) {
            return Err(LineFault::SpaceBesideEquals { key });
        }
        match rest.chars().next().filter(|next| UNQUOTED_SYNTAX.contains(next)) {
            Some(found) => Err(LineFault::ShellSyntax { key, found }),
            None => Err(LineFault::TextAfterValue { key }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

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
    fn reads(#[case] line: &str, #[case] value: &str) {
        assert_eq!(read(line).unwrap().map(|(_, value)| value).as_deref(), Some(value));
    }

    #[rstest]
    #[case("")]
    #[case("   ")]
    #[case("# A=1")]
    #[case("\t#")]
    #[case("export A B C")]
    #[case("export A # B=")]
    fn assigns_nothing(#[case] line: &str) {
        assert_eq!(read(line), Ok(None));
    }

    fn key() -> String {
        "A".to_owned()
    }

    #[rstest]
    #[case("A =1", LineFault::SpaceBesideEquals { key: key() })]
    #[case("A= 1", LineFault::SpaceBesideEquals { key: key() })]
    #[case("A = 1", LineFault::SpaceBesideEquals { key: key() })]
    #[case("A=$B", LineFault::ShellSyntax { key: key(), found: '$' })]
    #[case("A=\"x$B\"", LineFault::ShellSyntax { key: key(), found: '$' })]
    #[case("A=\"`date`\"", LineFault::ShellSyntax { key: key(), found: '`' })]
    #[case("A=1;", LineFault::ShellSyntax { key: key(), found: ';' })]
    #[case("A=1 ; B=2", LineFault::ShellSyntax { key: key(), found: ';' })]
    #[case("A=1 && B=2", LineFault::ShellSyntax { key: key(), found: '&' })]
    #[case("A=a|b", LineFault::ShellSyntax { key: key(), found: '|' })]
    #[case("A=(1", LineFault::ShellSyntax { key: key(), found: '(' })]
    #[case("A=<x", LineFault::ShellSyntax { key: key(), found: '<' })]
    #[case("A=1 B=2", LineFault::TextAfterValue { key: key() })]
    #[case("A=\"1\" 2", LineFault::TextAfterValue { key: key() })]
    #[case("A=\"1", LineFault::Unterminated { key: key(), quote: '"' })]
    #[case("A='1\"", LineFault::Unterminated { key: key(), quote: '\'' })]
    #[case("A=\"1\\\"", LineFault::Unterminated { key: key(), quote: '"' })]
    #[case("A=a\\ b", LineFault::Backslash { key: key() })]
    #[case("A=~/x", LineFault::Tilde { key: key() })]
    #[case("A=x\u{0}", LineFault::Control { key: key() })]
    #[case("A", LineFault::NotAnAssignment)]
    #[case("9A=1", LineFault::NotAnAssignment)]
    #[case("A+=1", LineFault::NotAnAssignment)]
    #[case("A[0]=1", LineFault::NotAnAssignment)]
    #[case("if [ 1 ]; then", LineFault::NotAnAssignment)]
    #[case(". ./other.conf", LineFault::NotAnAssignment)]
    #[case("export", LineFault::NotAnAssignment)]
    #[case("export -n A", LineFault::NotAnAssignment)]
    #[case("export A B=2", LineFault::NotAnAssignment)]
    fn refuses(#[case] line: &str, #[case] fault: LineFault) {
        assert_eq!(read(line), Err(fault));
    }
}
