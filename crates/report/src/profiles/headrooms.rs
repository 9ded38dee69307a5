//! Several platforms compared by how many times a demand each carries, from repeated searches.
//!
//! They are compared as the variants of an analysis are: Welch's interval on logarithms, all statements together at the
//! confidence asked for. A search knows its own result only as well as its steps are apart, so every interval is widened by that:
//! repeats that end at the same step do not make it exact.

mod contender;
mod page;
mod pair;
mod text;

use serde::Serialize;
use slob_stats::summary;

pub use self::contender::{Contender, Multiple, MultipleStep};
pub use self::page::headrooms_page;
pub use self::pair::Couple;
pub use self::text::headrooms_text;

use crate::{Confidence, csv_cell};

/// What the searches of a campaign say of its variants.
#[derive(Clone, Debug, Serialize)]
pub struct Headrooms {
    /// What is carried so many times, in words.
    pub demand: String,
    /// How sure statements are: of all pairs together.
    pub confidence: Confidence,
    /// Searches that are done.
    pub done: usize,
    /// Searches that the campaign has.
    pub of: usize,
    /// A row for each platform.
    pub variants: Vec<Row>,
    /// Every pair.
    pub pairs: Vec<Couple>,
}

/// A platform in numbers. Those of all searches are absent if one of them is no number.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// The one that it is the same as, in an A/A pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<String>,
    /// The median of its searches, in times the demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// The lower end of its interval; absent with fewer than two searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What the least of them found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest: Option<f64>,
    /// What the best of them found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<f64>,
    /// Each search.
    pub searches: Vec<Search>,
}

/// What a search found, with what is said of it.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    /// Its numbers.
    #[serde(flatten)]
    pub found: Multiple,
    /// What broke nearest above what is carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Why it is no number to compare, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

impl Headrooms {
    /// Compares platforms, the one to compare with first. `of` is how many searches there are to be.
    #[must_use]
    pub fn of(demand: String, contenders: &[Contender], of: usize, confidence: Confidence) -> Self {
        Self {
            demand,
            confidence,
            done: contenders.iter().map(|contender| contender.searches.len()).sum(),
            of,
            variants: contenders.iter().map(|contender| row(contender, confidence)).collect(),
            pairs: pair::couples(contenders, confidence),
        }
    }

    /// Comma-separated values (RFC 4180): a line for each search, and one for all of a variant: their median, and its interval.
    /// `low` and `high` are between which ends the value lies. What is not known is empty.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut lines = vec!["variant,search,carries,low,high,limit,unknown,folder".to_owned()];
        for row in &self.variants {
            for (search, number) in row.searches.iter().zip(1..) {
                let Multiple { carries, at_least, less_than, folder, .. } = &search.found;
                let words = [search.limit.as_deref(), search.unknown.as_deref(), Some(folder)];
                lines.push(line(&row.name, &number.to_string(), [*carries, *at_least, *less_than], words));
            }
            lines.push(line(&row.name, "all", [row.median, row.low, row.high], [None; 3]));
        }
        lines.join("\n") + "\n"
    }
}

fn line(variant: &str, search: &str, numbers: [Option<f64>; 3], words: [Option<&str>; 3]) -> String {
    let numbers = numbers.map(|number| number.map_or_else(String::new, |number| number.to_string()));
    let words = words.map(|word| csv_cell(word.unwrap_or_default()));
    [&[csv_cell(variant), search.to_owned()][..], &numbers, &words].concat().join(",")
}

fn row(contender: &Contender, confidence: Confidence) -> Row {
    let interval = contender.interval(confidence);
    let search = |found: &Multiple| Search {
        found: found.clone(),
        limit: found.limit().map(str::to_owned),
        unknown: found.unknown(),
    };
    Row {
        name: contender.name.clone(),
        twin_of: contender.twin_of.clone(),
        median: contender.known(summary::median),
        low: interval.map(|[low, _]| low),
        high: interval.map(|[_, high]| high),
        smallest: contender.known(summary::minimum),
        largest: contender.known(summary::maximum),
        searches: contender.searches.iter().map(search).collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A platform whose searches found these.
    pub(crate) fn contender(name: &str, values: &[f64]) -> Contender {
        let search = |(carries, nth): (&f64, i32)| Multiple {
            folder: format!("{name}-headroom-r{nth}"),
            carries: Some(*carries),
            at_least: Some(*carries),
            less_than: Some(carries * 1.08),
            steps: Vec::new(),
        };
        Contender { name: name.into(), twin_of: None, searches: values.iter().zip(1..).map(search).collect() }
    }

    #[test]
    fn every_form_says_the_same_and_leaves_out_what_is_not_known() {
        let mut open = contender("b", &[64.0, 64.0]);
        open.searches[1].less_than = None;
        let headrooms = Headrooms::of(
            "PROD; peak".into(),
            &[contender("a, b", &[2.0, 2.2]), open],
            5,
            Confidence::default(),
        );
        let csv = headrooms.csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[1], "\"a, b\",1,2,2,2.16,,,\"a, b-headroom-r1\"");
        assert!(lines[3].starts_with("\"a, b\",all,2.1,"), "{csv}");
        let why = "nothing broke up to 64 times: allow more with `most`";
        assert_eq!(lines[5], format!("b,2,64,64,,,{why},b-headroom-r2"));
        assert_eq!(lines[6], "b,all,,,,,,");
        let json = serde_json::to_value(&headrooms).unwrap();
        assert_eq!((&json["done"], &json["of"]), (&4.into(), &5.into()));
        assert!(json["variants"][1].get("median").is_none(), "{json:#}");
        assert_eq!(json["variants"][1]["searches"][1]["unknown"], why);
        assert_eq!(json["variants"][0]["searches"][0]["carries"], 2.0);
        assert!(json["pairs"][0]["sentence"].as_str().unwrap().contains("no number for b"));
        let text = headrooms_text(&headrooms);
        assert!(text.contains(&format!("b, search 2: {why}.")), "{text}");
        assert!(text.contains("1 of 5 searches is not done yet."), "{text}");
        let page = headrooms_page(&headrooms);
        assert!(page.contains("data-chart=\"multiples\"") && page.contains("no number for b"), "{page}");
    }
}
