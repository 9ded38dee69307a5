//! The kinds of values that parameters take, with their ranges.

use std::path::Path;

use crate::types::{BadValue, Observers, Percent, RunName, Secret, Size, Target, seconds};
use crate::value::Value;

/// What a parameter takes. A kind reads text into a [`Value`] and says in words what it permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A whole percentage, 0 to 100.
    Percent,
    /// A whole number within a range, both ends included.
    Count {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// An amount of data; the range is in blocks, both ends included.
    Size {
        /// The fewest blocks.
        min: u64,
        /// The most blocks.
        max: u64,
    },
    /// A span of time in seconds, with up to six decimals; `s`, `m` or `h` may follow.
    Duration {
        /// The shortest, in seconds.
        min_s: u64,
        /// The longest, in seconds.
        max_s: u64,
    },
    /// TRUE or FALSE, and their usual synonyms, in any case.
    Flag,
    /// One of a few words, in any case, each with its meaning or an empty text.
    Choice(&'static [(&'static str, &'static str)]),
    /// One line of text.
    Text,
    /// A path of the file system.
    Path,
    /// The address of a database: see [`Target`].
    Url,
    /// A password: see [`Secret`].
    Secret,
    /// The seed of all random choices; 0 leaves it to chance.
    Seed,
    /// A name that becomes part of a file name: see [`RunName`].
    Name,
    /// How hosts are seen: see [`Observers`].
    Observe,
}

const TRUE_WORDS: [&str; 4] = ["TRUE", "YES", "ON", "1"];
const FALSE_WORDS: [&str; 4] = ["FALSE", "NO", "OFF", "0"];
const ONE_LINE: &str = "one line of text without control characters";

impl Kind {
    /// What is permitted, in words that follow 'must be'.
    #[must_use]
    pub fn permitted(&self) -> String {
        match *self {
            Self::Percent => Percent::PERMITTED.to_owned(),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Size { min, max } => {
                format!("{min} to {max} blocks, or a size such as 80M (units K, M, G, T: powers of 1024)")
            }
            Self::Duration { min_s, max_s } => {
                format!("{min_s} to {max_s} seconds, decimals allowed, or with a unit: 90s, 15m, 8h")
            }
            Self::Flag => "TRUE or FALSE (yes or no, on or off, 1 or 0)".to_owned(),
            Self::Choice(choices) => in_words(choices),
            Self::Text | Self::Secret => ONE_LINE.to_owned(),
            Self::Path => "a path without control characters".to_owned(),
            Self::Url => "a target: scheme:path or scheme://user:password@host:port/name".to_owned(),
            Self::Seed => {
                "a whole number from 0 to 18446744073709551615 (0: chosen at random and recorded)".to_owned()
            }
            Self::Name => RunName::PERMITTED.to_owned(),
            Self::Observe => Observers::PERMITTED.to_owned(),
        }
    }

    /// Reads a text. `block_bytes` is the size of a block, against which sizes in bytes are checked.
    ///
    /// # Errors
    /// If the text is not of this kind or outside its range.
    pub fn parse(&self, text: &str, block_bytes: u32) -> Result<Value, BadValue> {
        let bad = || BadValue::expected(self.permitted());
        match *self {
            Self::Percent => {
                let percent = whole(text).and_then(|number| u8::try_from(number).ok()).ok_or_else(bad)?;
                Percent::new(percent).map(Value::Percent)
            }
            Self::Count { min, max } => {
                whole(text).filter(|number| (min..=max).contains(number)).map(Value::Count).ok_or_else(bad)
            }
            Self::Seed => whole(text).map(Value::Count).ok_or_else(bad),
            Self::Size { min, max } => {
                let size: Size = text.parse().map_err(|_| bad())?;
                let blocks = size.blocks(block_bytes);
                if (min..=max).contains(&blocks) {
                    return Ok(Value::Size(size));
                }
                let permitted = self.permitted();
                Err(BadValue::expected(format!(
                    "{permitted}; this is {blocks} blocks of {block_bytes} bytes"
                )))
            }
            Self::Duration { min_s, max_s } => seconds::parse(text)
                .filter(|span| {
                    span.as_secs() >= min_s && span.as_nanos() <= u128::from(max_s) * 1_000_000_000
                })
                .map(Value::Duration)
                .ok_or_else(bad),
            Self::Flag => flag(text).map(Value::Flag).ok_or_else(bad),
            Self::Choice(choices) => {
                let choice = choices.iter().find(|(value, _)| value.eq_ignore_ascii_case(text));
                choice.map(|(value, _)| Value::Choice(value)).ok_or_else(bad)
            }
            Self::Text => one_line(text).map(|text| Value::Text(text.to_owned())).ok_or_else(bad),
            Self::Path => one_line(text).map(|text| Value::Path(Path::new(text).to_owned())).ok_or_else(bad),
            Self::Secret => one_line(text).map(|text| Value::Secret(Secret::new(text))).ok_or_else(bad),
            Self::Name => text.parse().map(Value::Name),
            Self::Observe => text.parse().map(Value::Observe),
            Self::Url => text
                .parse::<Target>()
                .map(Value::Target)
                .map_err(|fault| BadValue::expected(format!("{}; {fault}", self.permitted()))),
        }
    }

    /// A rejected text as an error message may show it: never a password, nor what could hold one.
    pub(crate) fn shown(&self, text: &str) -> String {
        match self {
            Self::Secret => crate::types::MASK.to_owned(),
            Self::Url if text.contains(['@', '?']) => {
                "an address (not shown, as it may hold a password)".to_owned()
            }
            _ if text.is_empty() => "empty".to_owned(),
            _ => format!("'{}'", text.escape_debug()),
        }
    }
}

/// The words of a choice as a list: 'A (this), B or C'.
fn in_words(choices: &[(&str, &str)]) -> String {
    let words: Vec<_> = choices
        .iter()
        .map(
            |(value, meaning)| {
                if meaning.is_empty() { (*value).to_owned() } else { format!("{value} ({meaning})") }
            },
        )
        .collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Reads plain digits: no sign, no grouping.
fn whole(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn flag(text: &str) -> Option<bool> {
    let among = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if among(TRUE_WORDS) {
        Some(true)
    } else if among(FALSE_WORDS) {
        Some(false)
    } else {
        None
    }
}

/// Passes text that a line of `slob.conf` can hold.
fn one_line(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::time::Duration;

    const CHOICE: Kind = Kind::Choice(&[("LITE", "two columns"), ("HEAVY", "all columns")]);
    const SIZE: Kind = Kind::Size { min: 16, max: 1 << 40 };
    const SPAN: Kind = Kind::Duration { min_s: 1, max_s: 3600 };

    #[rstest]
    #[case(Kind::Percent, "100", "100")]
    #[case(Kind::Count { min: 1, max: 9 }, "09", "9")]
    #[case(SIZE, "128K", "128K")]
    #[case(SPAN, "1h", "3600")]
    #[case(SPAN, "1.5", "1.5")]
    #[case(Kind::Flag, "oN", "TRUE")]
    #[case(Kind::Flag, "No", "FALSE")]
    #[case(CHOICE, "heavy", "HEAVY")]
    #[case(Kind::Seed, "18446744073709551615", "18446744073709551615")]
    #[case(Kind::Secret, "tiger", "********")]
    #[case(Kind::Url, "db://u:tiger@h/d", "db://u@h/d")]
    fn reads(#[case] kind: Kind, #[case] text: &str, #[case] shown: &str) {
        assert_eq!(kind.parse(text, 8192).map(|value| value.to_string()), Ok(shown.to_owned()));
    }

    #[rstest]
    #[case(Kind::Percent, "101")]
    #[case(Kind::Percent, "10%")]
    #[case(Kind::Percent, "+10")]
    #[case(Kind::Count { min: 1, max: 9 }, "0")]
    #[case(Kind::Count { min: 1, max: 9 }, "10")]
    #[case(SIZE, "15")]
    #[case(SIZE, "127K")]
    #[case(SIZE, "1099511627777")]
    #[case(SPAN, "0.999")]
    #[case(SPAN, "3600.000001")]
    #[case(Kind::Flag, "maybe")]
    #[case(CHOICE, "LITER")]
    #[case(Kind::Text, "a\nb")]
    #[case(Kind::Url, "nowhere")]
    fn refuses(#[case] kind: Kind, #[case] text: &str) {
        assert!(kind.parse(text, 8192).is_err());
    }

    #[test]
    fn a_size_in_bytes_is_checked_in_blocks() {
        assert!(
            SIZE.parse("128K", 16384).unwrap_err().permitted.ends_with("this is 8 blocks of 16384 bytes")
        );
    }

    #[test]
    fn a_choice_is_listed() {
        assert_eq!(CHOICE.permitted(), "LITE (two columns) or HEAVY (all columns)");
        assert_eq!(Kind::Choice(&[("1", ""), ("2", ""), ("3", "")]).permitted(), "1, 2 or 3");
    }

    #[test]
    fn think_time_keeps_its_fraction() {
        let kind = Kind::Duration { min_s: 0, max_s: 3600 };
        assert_eq!(kind.parse(".1", 8192), Ok(Value::Duration(Duration::from_millis(100))));
    }
}
