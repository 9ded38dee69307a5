//! Several platforms compared by how many times a demand each carries, from repeated searches.
//!
//! They are compared as the variants of an analysis are: Welch's interval on logarithms, all statements together at the
//! confidence asked for. A search knows its own result only as well as its steps are apart, so every interval is widened by that:
//! repeats that end at the same step do not make it exact.

use serde::Deserialize;
use slob_stats::{Comparison, summary};

use super::times;
use crate::diff::{range, shown_percent};
use crate::format::{fixed, or_absent, plural};
use crate::page::{Column, Page, Table};

/// What a search found, from its JSON.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Multiple {
    /// So many times the demand are carried.
    pub carries: Option<f64>,
    /// So many times were carried in every run.
    pub at_least: Option<f64>,
    /// So many times were carried in none.
    pub less_than: Option<f64>,
    /// Its steps.
    #[serde(default)]
    pub steps: Vec<MultipleStep>,
}

/// Of a step, whether it counts.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct MultipleStep {
    /// Why it proves nothing, if so.
    pub not_counted: Option<String>,
}

impl Multiple {
    /// Why it is no number to compare; `None` if it is one.
    fn unknown(&self) -> Option<String> {
        if let Some(why) = self.steps.iter().find_map(|step| step.not_counted.as_deref()) {
            return Some(format!("a step does not count: {why}"));
        }
        match (self.carries, self.at_least, self.less_than) {
            (None, ..) => Some("not even the least part of the demand that was tried was carried".into()),
            (Some(carries), _, None) => {
                Some(format!("nothing broke up to {} times: allow more with `most`", times(carries)))
            }
            (Some(_), None, _) => Some("its runs differ too much to settle: make them longer".into()),
            (Some(_), Some(_), Some(_)) => None,
        }
    }

    /// By how much the true value may be below and above what is reported, as ratios of 1 or more.
    fn width(&self) -> Option<[f64; 2]> {
        let carries = self.carries?;
        Some([(carries / self.at_least?).max(1.0), (self.less_than? / carries).max(1.0)])
    }
}

/// A platform with its searches.
#[derive(Clone, Debug)]
pub struct Contender {
    /// What it is called.
    pub name: String,
    /// The one that it is the same as, in an A/A pair.
    pub twin_of: Option<String>,
    /// What its searches found, in the order of the repeats.
    pub searches: Vec<Multiple>,
}

impl Contender {
    fn values(&self) -> Vec<f64> {
        self.searches.iter().filter_map(|search| search.carries).collect()
    }

    fn is_known(&self) -> bool {
        !self.searches.is_empty() && self.searches.iter().all(|search| search.unknown().is_none())
    }

    /// The farthest that any search may be off, below and above.
    fn width(&self) -> [f64; 2] {
        let widths = self.searches.iter().filter_map(Multiple::width);
        widths.fold([1.0, 1.0], |[down, up], width| [f64::max(down, width[0]), f64::max(up, width[1])])
    }

    /// Where its multiple lies; `None` with fewer than two searches, or if one is no number.
    fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        let logarithms: Vec<f64> = self.values().into_iter().map(f64::ln).collect();
        let (low, high) =
            self.is_known().then(|| summary::mean_interval(&logarithms, confidence)).flatten()?;
        let [down, up] = self.width();
        Some([low.exp() / down, high.exp() * up])
    }

    /// `2.4 times (2.1 to 2.6)`.
    fn words(&self, confidence: f64) -> Option<String> {
        let median = times(summary::median(&self.values())?);
        let interval = self.interval(confidence);
        let within = interval.map(|[low, high]| format!(" ({} to {})", times(low), times(high)));
        Some(format!("{median} times{}", within.unwrap_or_default()))
    }
}

/// A table with a row for each platform, then a sentence for each pair, the earlier one first. `confidence` is a ratio such
/// as 0.95, of all sentences together; `demand` says what is carried so many times.
#[must_use]
pub fn headrooms_text(demand: &str, contenders: &[Contender], confidence: f64) -> String {
    let mut page = Page::new();
    page.section("Headroom compared");
    page.paragraph(&format!("How many times this demand is carried: {demand}."));
    page.line("");
    page.table(&table(contenders, confidence));
    page.line("");
    for contender in contenders {
        for (index, search) in contender.searches.iter().enumerate() {
            if let Some(why) = search.unknown() {
                page.paragraph(&format!(
                    "{}, search {}: {}.",
                    contender.name,
                    index + 1,
                    why.trim_end_matches('.')
                ));
            }
        }
    }
    let couples = couples(contenders);
    let each = 1.0 - (1.0 - confidence) / couples.len().max(1) as f64;
    for (first, second) in couples {
        page.paragraph(&sentence(first, second, each));
    }
    page.paragraph(
        "Median of the searches; intervals hold how much repeats differ and how far the steps of a search are apart.",
    );
    page.into_text()
}

fn table(contenders: &[Contender], confidence: f64) -> Table {
    let interval = format!("{} % interval", fixed(100.0 * confidence, if confidence > 0.99 { 1 } else { 0 }));
    let mut table = Table::new([
        Column::left("Variant"),
        Column::right("Searches"),
        Column::right("Median"),
        Column::right(&interval),
        Column::right("Smallest"),
        Column::right("Largest"),
    ]);
    for contender in contenders {
        let values = contender.values();
        // Of searches some of which are no numbers the median would be of the others only.
        let known = |of: fn(&[f64]) -> Option<f64>| {
            or_absent(contender.is_known().then(|| of(&values)).flatten(), times)
        };
        table.row([
            contender.name.clone(),
            contender.searches.len().to_string(),
            known(summary::median),
            or_absent(contender.interval(confidence), |[low, high]| {
                format!("{} to {}", times(low), times(high))
            }),
            known(summary::minimum),
            known(summary::maximum),
        ]);
    }
    table
}

/// A twin is compared with its original alone.
fn couples(contenders: &[Contender]) -> Vec<(&Contender, &Contender)> {
    let mut couples = Vec::new();
    for (index, first) in contenders.iter().enumerate() {
        for second in &contenders[index + 1..] {
            let twins = second.twin_of.as_ref() == Some(&first.name);
            if twins || (first.twin_of.is_none() && second.twin_of.is_none()) {
                couples.push((first, second));
            }
        }
    }
    couples
}

fn sentence(first: &Contender, second: &Contender, confidence: f64) -> String {
    let names = format!("{} and {}", first.name, second.name);
    let unknown: Vec<&str> =
        [first, second].iter().filter(|one| !one.is_known()).map(|one| one.name.as_str()).collect();
    if !unknown.is_empty() {
        return format!("{names} can't be compared: there is no number for {}.", unknown.join(" and for "));
    }
    let words = [second, first].map(|one| one.words(confidence));
    let (Some(comparison), [Some(of_second), Some(of_first)]) =
        (Comparison::of(&first.values(), &second.values(), confidence), words)
    else {
        return format!("{names} can't be compared.");
    };
    let figures = format!("{} carries {of_second} this demand, {} {of_first}", second.name, first.name);
    let Some(interval) = comparison.interval else {
        let least = plural(comparison.first_n.min(comparison.second_n) as u64, "search");
        return format!("{figures}: with {least} on a side it can't be said whether that is noise.");
    };
    let ([first_down, first_up], [second_down, second_up]) = (first.width(), second.width());
    let off = f64::max(first_down * second_up, first_up * second_down);
    let interval = interval.widened(100.0 * (off - 1.0));
    let is_twin = second.twin_of.is_some();
    match (interval.excludes_zero(), is_twin) {
        (true, true) => format!(
            "A/A: {figures}, though they are the same ({}): something else changed between the searches. Do not trust \
             differences of that size.",
            range(&interval)
        ),
        (true, false) => {
            let word = if interval.low > 0.0 { "more" } else { "less" };
            format!("{figures}: a difference that is more than noise ({} {word}).", range(&interval))
        }
        (false, _) => {
            let prefix = if is_twin { "A/A: " } else { "" };
            let noise = shown_percent(interval.noise_percent());
            format!("{prefix}{figures}: a difference that noise could make (the noise is {noise} %).")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, values: &[f64]) -> Contender {
        let search = |carries: &f64| Multiple {
            carries: Some(*carries),
            at_least: Some(*carries),
            less_than: Some(carries * 1.08),
            steps: Vec::new(),
        };
        Contender { name: name.into(), twin_of: None, searches: values.iter().map(search).collect() }
    }

    #[test]
    fn a_large_difference_is_more_than_noise_and_a_small_one_may_be_noise() {
        let first = contender("array-a", &[1.8, 1.83, 1.78]);
        let second = contender("array-b", &[2.8, 2.83, 2.75]);
        let text = sentence(&first, &second, 0.95);
        assert!(
            text.starts_with("array-b carries 2.8 times (2.") && text.contains("array-a 1.8 times ("),
            "{text}"
        );
        assert!(text.contains("more than noise") && text.ends_with("more)."), "{text}");
        assert!(sentence(&second, &first, 0.95).ends_with("less)."));
        let near = contender("array-c", &[1.7, 2.0, 1.85]);
        assert!(sentence(&first, &near, 0.95).contains("noise could make"));
    }

    #[test]
    fn repeats_that_end_at_the_same_step_are_known_no_better_than_the_steps_are_apart() {
        let [first, near] = [("a", 2.0), ("b", 2.1)].map(|(name, value)| contender(name, &[value; 3]));
        assert_eq!(
            first.interval(0.95).map(|[low, high]| [times(low), times(high)]),
            Some(["2".into(), "2.16".into()])
        );
        assert!(sentence(&first, &near, 0.95).contains("noise could make"));
        let far = contender("c", &[2.3; 3]);
        assert!(sentence(&first, &far, 0.95).contains("more than noise"));
    }

    #[test]
    fn what_is_no_number_is_said_and_not_compared() {
        let first = contender("a", &[2.0, 2.1]);
        let mut open = contender("b", &[64.0, 64.0]);
        open.searches[1].less_than = None;
        let text = headrooms_text("peak", &[first.clone(), open], 0.95);
        assert!(
            text.contains("b, search 2: nothing broke up to 64 times: allow more with `most`."),
            "{text}"
        );
        assert!(text.contains("a and b can't be compared: there is no number for b."), "{text}");
        let single = contender("c", &[9.0]);
        assert!(sentence(&first, &single, 0.95).contains("with 1 search on a side"));
        let mut cached = contender("d", &[9.0, 9.0]);
        cached.searches[0].steps =
            vec![MultipleStep { not_counted: Some("The page cache served it.".into()) }];
        assert!(
            headrooms_text("peak", &[first, cached], 0.95).contains("a step does not count: The page cache")
        );
    }

    #[test]
    fn a_twin_is_compared_with_its_original_alone() {
        let twin = Contender { twin_of: Some("a".into()), ..contender("a.again", &[2.0, 2.1]) };
        let all = [contender("a", &[2.0, 2.1]), contender("b", &[3.0, 3.1]), twin];
        let names: Vec<_> =
            couples(&all).iter().map(|(first, second)| (first.name.as_str(), second.name.as_str())).collect();
        assert_eq!(names, [("a", "b"), ("a", "a.again")]);
    }
}
