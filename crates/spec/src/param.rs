//! One parameter: key, kind, defaults, help and history; and the values of its kind.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::observe::{Observe, Observers};
use crate::rate::RateSchedule;
use crate::target::Target;
use crate::types::{
    Amount, BadValue, Decimal, Every, MASK, Percent, RunName, Secret, Size, WarmUp, WorkUnit, format_seconds,
    parse_seconds, whole,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[non_exhaustive]
pub enum Group {
    Target,
    Data,
    Workload,
    #[display("Hot spot and hot schema")]
    HotSpot,
    #[display("Think time")]
    ThinkTime,
    Run,
    #[display("Services and accounts")]
    Access,
    #[display("Accepted without effect")]
    Compatibility,
    #[display("Options of the engines of servers")]
    Servers,
    #[display("Options of the engine {_0}")]
    Engine(&'static str),
}

/// [`Param::new`] and its methods make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// The environment variable is `SLOB_` and the key.
    pub key: &'static str,
    /// Other kits have these keys.
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    /// `None`: optional and unset.
    pub shipped: Option<&'static str>,
    /// A file lacks the key. `None`: as `shipped`.
    pub if_deleted: Option<&'static str>,
    pub group: Group,
    pub meaning: &'static str,
    /// The original kit differs.
    pub original: Option<&'static str>,
    /// Reason why the key is ignored.
    pub note: Option<&'static str>,
    /// `None` if it is that of the key.
    flag: Option<&'static str>,
    /// The flag without a value has this one.
    pub bare_flag: Option<&'static str>,
    /// The original kit has the bare key as an environment variable.
    pub bare_environment: bool,
}

impl Param {
    pub const fn new(key: &'static str, kind: Kind, group: Group) -> Self {
        Self {
            key,
            aliases: &[],
            kind,
            shipped: None,
            if_deleted: None,
            group,
            meaning: "",
            original: None,
            note: None,
            flag: None,
            bare_flag: None,
            bare_environment: false,
        }
    }

    pub const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub const fn shipped(self, default: &'static str) -> Self {
        Self { shipped: Some(default), ..self }
    }

    /// A file that lacks the key has another default.
    pub const fn defaults(self, shipped: &'static str, if_deleted: &'static str) -> Self {
        Self { shipped: Some(shipped), if_deleted: Some(if_deleted), ..self }
    }

    pub const fn original(self, original: &'static str) -> Self {
        Self { original: Some(original), ..self }
    }

    pub const fn note(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }

    pub const fn named_flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    pub const fn bare_flag(self, value: &'static str) -> Self {
        Self { bare_flag: Some(value), ..self }
    }

    pub const fn bare_environment(self) -> Self {
        Self { bare_environment: true, ..self }
    }

    /// A secret has none, because process lists show arguments.
    pub fn flag(&self) -> Option<String> {
        let has_flag = self.kind != Kind::Secret && self.note.is_none();
        has_flag.then(|| self.flag.map_or_else(|| self.key.to_lowercase().replace('_', "-"), str::to_owned))
    }

    pub const fn is_optional(&self) -> bool {
        self.shipped.is_none()
    }

    pub(crate) fn default_if_deleted(&self) -> Option<&'static str> {
        self.if_deleted.or(self.shipped)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.key).chain(self.aliases.iter().copied())
    }

    /// Masks a secret.
    pub(crate) fn shown_default(&self, default: Option<&'static str>) -> &'static str {
        match (default, self.kind) {
            (None, _) => "unset",
            (Some(_), Kind::Secret) => MASK,
            (Some(default), _) => default,
        }
    }
}

/// Reads text into a [`Value`]. Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    Count {
        min: u64,
        max: u64,
    },
    Percent,
    /// N of 'every Nth'; 0 is never, if it is permitted.
    Every {
        or_never: bool,
        max: u64,
    },
    /// The range is in blocks.
    Size {
        min: u64,
        max: u64,
    },
    /// A unit is `s`, `m`, `h` or `d`.
    Duration {
        min_s: u64,
        max_s: u64,
    },
    /// A duration, or `auto` with a limit.
    WarmUp {
        max_s: u64,
    },
    /// Synonyms and any case count.
    Flag,
    /// Each word has a meaning or an empty text.
    Choice(&'static [(&'static str, &'static str)]),
    Text,
    Path,
    Url,
    Secret,
    Seed,
    Name,
    Observe,
    Amount,
    /// 0 is none.
    Rate,
}

const TRUE_WORDS: [&str; 4] = ["TRUE", "YES", "ON", "1"];
const FALSE_WORDS: [&str; 4] = ["FALSE", "NO", "OFF", "0"];

impl Kind {
    /// The words follow 'must be'.
    pub fn permitted(&self) -> String {
        match *self {
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Percent => "a number from 0 to 100, with up to two decimals".to_owned(),
            Self::Every { or_never, max } => {
                let never = if or_never { "0, or " } else { "" };
                format!("{never}a number from 1 to {max}, with up to six decimals")
            }
            Self::Size { min, max } => {
                format!("{min} to {max} blocks, or a size such as 80M (units K, M, G, T: powers of 1024)")
            }
            Self::Duration { min_s, max_s } => {
                format!("{min_s} to {max_s} seconds, decimals allowed, or with a unit: 90s, 15m, 8h")
            }
            Self::WarmUp { max_s } => WarmUp::permitted(Duration::from_secs(max_s)),
            Self::Flag => "TRUE or FALSE (yes or no, on or off, 1 or 0)".to_owned(),
            Self::Choice(choices) => in_words(choices),
            Self::Text | Self::Secret => "one line of text without control characters".to_owned(),
            Self::Path => "a path without control characters".to_owned(),
            Self::Url => "a target: scheme:path or scheme://user:password@host:port/name".to_owned(),
            Self::Seed => {
                format!("a whole number from 0 to {} (0: chosen at random and recorded)", u64::MAX)
            }
            Self::Name => RunName::PERMITTED.to_owned(),
            Self::Observe => Observe::PERMITTED.to_owned(),
            Self::Amount => Amount::PERMITTED.to_owned(),
            Self::Rate => RateSchedule::permitted(),
        }
    }

    /// Blocks of `block_bytes` bound sizes. Fails outside the range.
    pub fn parse(&self, text: &str, block_bytes: u32) -> Result<Value, BadValue> {
        // Such text fits into a line of `slob.conf`.
        let one_line = || Some(text).filter(|text| !text.chars().any(char::is_control));
        let value = match *self {
            Self::Name => return text.parse().map(Value::Name),
            Self::Observe => {
                let is_host = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
                let advised = |bad: BadValue| match !text.is_empty() && text.chars().all(is_host) {
                    true => {
                        BadValue::expected(format!("{}; for the host {text} write ssh:{text}", bad.permitted))
                    }
                    false => bad,
                };
                return text.parse().map(Value::Observe).map_err(advised);
            }
            Self::Amount => return text.parse().map(Value::Amount),
            Self::Rate => return RateSchedule::parse(text).map(Value::Rate),
            Self::Url => {
                let bad = |fault| BadValue::expected(format!("{}; {fault}", self.permitted()));
                return text.parse::<Target>().map(Value::Target).map_err(bad);
            }
            Self::Size { min, max } => {
                let size = text.parse::<Size>().ok();
                let short = text.trim_end_matches(['b', 'B', 'i']);
                if size.is_none() && short.parse::<Size>().is_ok() {
                    return Err(BadValue::expected(format!("{}; write {short}", self.permitted())));
                }
                let blocks = size.map_or(min, |size| size.blocks(block_bytes));
                if !(min..=max).contains(&blocks) {
                    let permitted = self.permitted();
                    return Err(BadValue::expected(format!(
                        "{permitted}; this is {blocks} blocks of {block_bytes} bytes"
                    )));
                }
                size.map(Value::Size)
            }
            Self::Count { min, max } => {
                whole(text).filter(|number| (min..=max).contains(number)).map(Value::Count)
            }
            Self::Percent => {
                Decimal::parse(text, 2).filter(|number| number.0 <= 100 * Decimal::ONE).map(Value::Decimal)
            }
            Self::Every { or_never, max } => Decimal::parse(text, 6)
                .filter(|number| {
                    (Decimal::ONE..=max.saturating_mul(Decimal::ONE)).contains(&number.0)
                        || (or_never && number.0 == 0)
                })
                .map(Value::Decimal),
            Self::Seed => whole(text).map(Value::Count),
            Self::Duration { min_s, max_s } => parse_seconds(text)
                .filter(|span| (Duration::from_secs(min_s)..=Duration::from_secs(max_s)).contains(span))
                .map(Value::Duration),
            Self::WarmUp { max_s } => WarmUp::parse(text, Duration::from_secs(max_s)).map(Value::WarmUp),
            Self::Flag => {
                let is_among = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
                (is_among(TRUE_WORDS) || is_among(FALSE_WORDS)).then(|| Value::Flag(is_among(TRUE_WORDS)))
            }
            Self::Choice(choices) => choices
                .iter()
                .find(|(word, _)| word.eq_ignore_ascii_case(text))
                .map(|(word, _)| Value::Choice(word)),
            Self::Text => one_line().map(|text| Value::Text(text.to_owned())),
            Self::Path => one_line().map(|text| Value::Path(Path::new(text).to_owned())),
            Self::Secret => one_line().map(|text| Value::Secret(Secret::new(text))),
        };
        value.ok_or_else(|| BadValue::expected(self.permitted()))
    }

    /// Hides what may be a password.
    pub(crate) fn shown(&self, text: &str) -> String {
        match self {
            Self::Secret => MASK.to_owned(),
            _ if text.is_empty() => "empty".to_owned(),
            _ if *self == Self::Url || (text.contains("://") && text.contains('@')) => {
                "an address (not shown, as it may hold a password)".to_owned()
            }
            _ => format!("'{}'", text.escape_debug()),
        }
    }
}

/// The form is 'A (its meaning), B or C'.
fn in_words(choices: &[(&str, &str)]) -> String {
    let word = |(word, meaning): &(&str, &str)| match *meaning {
        "" => (*word).to_owned(),
        meaning => format!("{word} ({meaning})"),
    };
    let words: Vec<String> = choices.iter().map(word).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// [`fmt::Display`] writes it as in `slob.conf`, but never a password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    Count(u64),
    Decimal(Decimal),
    Size(Size),
    Duration(Duration),
    WarmUp(WarmUp),
    Flag(bool),
    Choice(&'static str),
    Text(String),
    Path(PathBuf),
    Name(RunName),
    Observe(Observers),
    Amount(Amount),
    Rate(Option<RateSchedule>),
    Target(Target),
    Secret(Secret),
}

impl Value {
    pub const fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(value) => value.fmt(f),
            Self::Decimal(value) => value.fmt(f),
            Self::Size(value) => value.fmt(f),
            Self::Duration(value) => f.write_str(&format_seconds(*value)),
            Self::WarmUp(value) => value.fmt(f),
            Self::Flag(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Self::Choice(value) => f.write_str(value),
            Self::Text(value) => f.write_str(value),
            Self::Path(value) => value.display().fmt(f),
            Self::Name(value) => value.fmt(f),
            Self::Observe(value) => value.fmt(f),
            Self::Amount(value) => value.fmt(f),
            Self::Rate(Some(value)) => value.fmt(f),
            Self::Rate(None) => f.write_str("0"),
            Self::Target(value) => value.fmt(f),
            Self::Secret(_) => f.write_str(MASK),
        }
    }
}

/// The word of a choice is a `&'static str`.
pub trait FromValue: Sized {
    /// `None` if the value is of another kind or does not fit.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $pattern:pat => $taken:expr;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $pattern => $taken,
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    u64: Value::Count(value) => Some(*value);
    NonZeroU32: Value::Count(value) => u32::try_from(*value).ok().and_then(Self::new);
    NonZeroU64: Value::Count(value) => Self::new(*value);
    WorkUnit: Value::Count(value) => u16::try_from(*value).ok().and_then(|blocks| Self::new(blocks).ok());
    Percent: Value::Decimal(value) => (*value).try_into().ok();
    Every: Value::Decimal(value) => (*value).try_into().ok();
    Size: Value::Size(value) => Some(*value);
    Duration: Value::Duration(value) => Some(*value);
    WarmUp: Value::WarmUp(value) => Some(*value);
    bool: Value::Flag(value) => Some(*value);
    &'static str: Value::Choice(value) => Some(*value);
    String: Value::Text(value) => Some(value.clone());
    PathBuf: Value::Path(value) => Some(value.clone());
    RunName: Value::Name(value) => Some(value.clone());
    Observers: Value::Observe(value) => Some(value.clone());
    Amount: Value::Amount(value) => Some(value.clone());
    RateSchedule: Value::Rate(value) => value.clone();
    Target: Value::Target(value) => Some(value.clone());
    Secret: Value::Secret(value) => Some(value.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const PERCENT: Kind = Kind::Percent;
    const EVERY: Kind = Kind::Every { or_never: true, max: 99 };
    const CHOICE: Kind = Kind::Choice(&[("LITE", "two columns"), ("HEAVY", "all columns")]);
    const SIZE: Kind = Kind::Size { min: 16, max: 1 << 40 };
    const SPAN: Kind = Kind::Duration { min_s: 1, max_s: 3600 };

    #[rstest]
    #[case(PERCENT, "100", "100")]
    #[case(PERCENT, "012.50", "12.5")]
    #[case(PERCENT, ".07", "0.07")]
    #[case(EVERY, "1.0001", "1.0001")]
    #[case(EVERY, "0.0", "0")]
    #[case(EVERY, "3", "3")]
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
    #[case(Kind::Amount, "4.20 EUR", "4.20 EUR")]
    #[case(Kind::Amount, ".5", ".5")]
    #[case(Kind::Rate, "0", "0")]
    #[case(Kind::Rate, "100@0,400@1m", "100@0s,400@60s")]
    fn texts_are_read(#[case] kind: Kind, #[case] text: &str, #[case] shown: &str) {
        assert_eq!(kind.parse(text, 8192).map(|value| value.to_string()), Ok(shown.to_owned()));
    }

    #[rstest]
    #[case(PERCENT, "101|100.01|0.001|.|1.+5|1e1|10%|+10")]
    #[case(EVERY, "0.5|99.0001|1.0000001")]
    #[case(Kind::Every { or_never: false, max: 9 }, "0")]
    #[case(Kind::Count { min: 1, max: 9 }, "0|10")]
    #[case(SIZE, "15|127K|1099511627777")]
    #[case(SPAN, "0.999|3600.000001")]
    #[case(Kind::Flag, "maybe")]
    #[case(CHOICE, "LITER")]
    #[case(Kind::Text, "a\nb")]
    #[case(Kind::Url, "nowhere")]
    #[case(Kind::Amount, "cheap|0 EUR|-1 EUR|4,20 EUR|1 000 EUR|1e3")]
    fn bad_texts_are_refused(#[case] kind: Kind, #[case] texts: &str) {
        for text in texts.split('|') {
            assert!(kind.parse(text, 8192).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_in_bytes_is_checked_in_blocks() {
        let permitted = SIZE.parse("128K", 16384).unwrap_err().permitted;
        assert!(permitted.ends_with("this is 8 blocks of 16384 bytes"), "{permitted}");
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
