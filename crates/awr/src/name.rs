//! Facts of a run from its report's file name, by known patterns or the user's.

use std::str::FromStr;

pub(crate) const MOST_SESSIONS: u32 = 65_536;

/// `SLOB-AWR-EXT3-1.0.8`, `SLOB-AWR-XFS-16-8-8-1.txt`, `awr.016.txt`.
const KNOWN: [&str; 5] = [
    "{variant}-{run}.{writers}.{readers}",
    "{variant}-run{run}.{writers}.{readers}",
    "{variant}-{users}-{writers}-{readers}-{run}.txt",
    "awr.{sessions}.txt",
    "awr.{sessions}.html",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName {
    pub variant: Option<String>,
    pub writers_and_readers: Option<[u32; 2]>,
    pub sessions: u32,
}

impl RunName {
    pub fn of(file: &str) -> Option<Self> {
        let name = base(file);
        KNOWN.iter().find_map(|pattern| {
            let found = pattern.parse::<NamePattern>().ok()?.fields(name)?;
            let number =
                |field| found.iter().find(|(of, _)| *of == field).and_then(|(_, text)| text.parse().ok());
            let is_plausible = match (number(Field::Users), number(Field::Run)) {
                (Some(users), _) => Some(users) == sum(number(Field::Writers), number(Field::Readers)),
                (None, run) => run.is_none_or(|run: u32| run < MOST_RUNS),
            };
            let is_padded = |(field, text): &(Field, &str)| {
                *field != Field::Sessions && field.is_number() && text.len() > 1 && text.starts_with('0')
            };
            let name = Self::from_fields(&found)?;
            (is_plausible && !found.iter().any(is_padded)).then_some(name)
        })
    }

    fn from_fields(found: &[(Field, &str)]) -> Option<Self> {
        let text = |field| found.iter().find(|(of, _)| *of == field).map(|(_, text)| *text);
        let number = |field| text(field).and_then(|text| text.parse::<u32>().ok());
        let roles = [number(Field::Writers), number(Field::Readers)];
        let sessions = number(Field::Sessions).or(sum(roles[0], roles[1]))?;
        let writers_and_readers =
            roles.iter().any(Option::is_some).then(|| roles.map(Option::unwrap_or_default));
        (1..=MOST_SESSIONS).contains(&sessions).then(|| Self {
            variant: text(Field::Variant).map(str::to_owned),
            writers_and_readers,
            sessions,
        })
    }
}

/// Runs are not numbered as years are.
const MOST_RUNS: u32 = 1000;

fn sum(writers: Option<u32>, readers: Option<u32>) -> Option<u32> {
    writers.or(readers)?;
    writers.unwrap_or(0).checked_add(readers.unwrap_or(0))
}

fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
enum Field {
    Variant,
    Run,
    Users,
    Sessions,
    Writers,
    Readers,
    Any,
}

impl Field {
    fn is_number(self) -> bool {
        !matches!(self, Self::Variant | Self::Any)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
}

/// Such as `{variant}-{writers}w-{readers}r.txt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{pattern}' is no pattern of names: {fault}; write it as {{variant}}-{{run}}.{{writers}}.{{readers}}, of variant, run, \
     users, sessions, writers, readers and any, with sessions, writers or readers among them"
)]
pub struct BadPattern {
    pattern: String,
    fault: String,
}

impl FromStr for NamePattern {
    type Err = BadPattern;

    fn from_str(pattern: &str) -> Result<Self, BadPattern> {
        let bad = |fault: String| BadPattern { pattern: pattern.to_owned(), fault };
        let (mut parts, mut rest) = (Vec::new(), pattern);
        while let Some((text, after)) = rest.split_once('{') {
            let (name, after) =
                after.split_once('}').ok_or_else(|| bad("a brace is not closed".to_owned()))?;
            let field = name.parse().map_err(|_| bad(format!("there is no field '{name}'")))?;
            if text.is_empty() && matches!(parts.last(), Some(Part::Field(_))) {
                return Err(bad(format!("nothing separates {{{name}}} from the field before it")));
            }
            if parts.contains(&Part::Field(field)) && field != Field::Any {
                return Err(bad(format!("{{{name}}} is there twice")));
            }
            parts.extend((!text.is_empty()).then(|| Part::Text(text.to_owned())));
            parts.push(Part::Field(field));
            rest = after;
        }
        parts.extend((!rest.is_empty()).then(|| Part::Text(rest.to_owned())));
        let counts = [Field::Sessions, Field::Writers, Field::Readers];
        if !counts.iter().any(|field| parts.contains(&Part::Field(*field))) {
            return Err(bad("it has no number of sessions".to_owned()));
        }
        Ok(Self(parts))
    }
}

impl NamePattern {
    pub fn read(&self, file: &str) -> Option<RunName> {
        RunName::from_fields(&self.fields(base(file))?)
    }

    fn fields<'a>(&self, name: &'a str) -> Option<Vec<(Field, &'a str)>> {
        let mut found = Vec::new();
        matched(&self.0, name, &mut found).then_some(found)
    }
}

/// A field that is no number takes as much as the parts after it allow.
fn matched<'a>(parts: &[Part], text: &'a str, found: &mut Vec<(Field, &'a str)>) -> bool {
    let Some((part, others)) = parts.split_first() else { return text.is_empty() };
    let field = match part {
        Part::Text(literal) => {
            return text.strip_prefix(literal.as_str()).is_some_and(|rest| matched(others, rest, found));
        }
        Part::Field(field) => *field,
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let ends: Vec<usize> = match field.is_number() {
        true => text[..digits].parse::<u32>().ok().map(|_| digits).into_iter().collect(),
        false => text.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev().collect(),
    };
    ends.into_iter().any(|end| {
        found.push((field, &text[..end]));
        let fits = matched(others, &text[end..], found);
        if !fits {
            found.pop();
        }
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(variant: &str, writers_and_readers: Option<[u32; 2]>, sessions: u32) -> Option<RunName> {
        let variant = (!variant.is_empty()).then(|| variant.to_owned());
        Some(RunName { variant, writers_and_readers, sessions })
    }

    #[test]
    fn the_names_of_the_harnesses_are_known() {
        assert_eq!(RunName::of("old/SLOB-AWR-EXT3-1.0.8"), named("SLOB-AWR-EXT3", Some([0, 8]), 8));
        assert_eq!(RunName::of("SLOB-AWR-EXT3-10.16.16"), named("SLOB-AWR-EXT3", Some([16, 16]), 32));
        assert_eq!(RunName::of("SLOB-AWR-XFS-16-8-8-1.txt"), named("SLOB-AWR-XFS", Some([8, 8]), 16));
        assert_eq!(RunName::of("awr.016.txt"), named("", None, 16));
    }

    #[test]
    fn dates_and_other_names_are_no_runs() {
        for name in [
            "awr-2024.11.15",
            "awr-1.01.08",
            "awr-2024-11-15-1.txt",
            "awr-16-8-4-1.txt",
            "awr.20241105.txt",
            "a-1.0.0",
            "-1.0.8",
            "awr.txt",
            "awrrpt_1_10_11.txt",
            "awr.000.txt",
            "",
            "x-99999999999.1.1",
        ] {
            assert_eq!(RunName::of(name), None, "{name}");
        }
    }

    #[test]
    fn a_pattern_of_the_user_is_read() {
        let pattern: NamePattern = "{variant}_{any}_w{writers}r{readers}.lst".parse().unwrap();
        assert_eq!(pattern.read("x/ext4_big_2024_w04r12.lst"), named("ext4_big", Some([4, 12]), 16));
        assert_eq!(pattern.read("ext4_w4r12.lst"), None);
        let one: NamePattern = "{readers}.lst".parse().unwrap();
        assert_eq!(one.read("8.lst"), named("", Some([0, 8]), 8));
    }

    #[test]
    fn a_bad_pattern_is_refused_with_its_fault() {
        for (pattern, fault) in [
            ("{variant}", "it has no number of sessions"),
            ("{sessions", "a brace is not closed"),
            ("{session}", "there is no field 'session'"),
            ("{variant}{sessions}", "nothing separates {sessions}"),
            ("{sessions}-{sessions}", "{sessions} is there twice"),
        ] {
            let error = pattern.parse::<NamePattern>().unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
    }
}
