//! Two platforms side by side.

use serde::Serialize;
use slob_stats::Comparison;

use super::contender::Contender;
use crate::Confidence;
use crate::analysis::pair;
use crate::diff::{range, shown_percent};
use crate::format::plural;

/// What is said of two of them.
#[derive(Clone, Debug, Serialize)]
pub struct Couple {
    /// The earlier one.
    pub first: String,
    /// The later one.
    pub second: String,
    /// By how much more the second carries, in percent; absent where one is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The lower end of where that lies; absent without repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_percent: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_percent: Option<f64>,
    /// Whether it is more than noise; absent where that can't be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_than_noise: Option<bool>,
    /// All of it in words.
    pub sentence: String,
}

/// Every pair, the earlier one first. All statements hold together with that confidence (Bonferroni).
pub(super) fn couples(contenders: &[Contender], confidence: Confidence) -> Vec<Couple> {
    let pairs = pair::couples(contenders, |one| (&one.name, one.twin_of.as_deref()));
    let each = confidence.of_each(pairs.len());
    let couple = |(first, second): (usize, usize)| Couple::of(&contenders[first], &contenders[second], each);
    pairs.into_iter().map(couple).collect()
}

impl Couple {
    fn of(first: &Contender, second: &Contender, confidence: Confidence) -> Self {
        let said = |sentence: String| Self {
            first: first.name.clone(),
            second: second.name.clone(),
            percent: None,
            low_percent: None,
            high_percent: None,
            more_than_noise: None,
            sentence,
        };
        let names = format!("{} and {}", first.name, second.name);
        let unknown: Vec<&str> =
            [first, second].iter().filter(|one| !one.is_known()).map(|one| one.name.as_str()).collect();
        if !unknown.is_empty() {
            let unknown = unknown.join(" and for ");
            return said(format!("{names} can't be compared: there is no number for {unknown}."));
        }
        let words = [second, first].map(|one| one.words(confidence));
        let (Some(comparison), [Some(of_second), Some(of_first)]) =
            (Comparison::of(&first.values(), &second.values(), confidence.ratio()), words)
        else {
            return said(format!("{names} can't be compared."));
        };
        let figures = format!("{} carries {of_second} this demand, {} {of_first}", second.name, first.name);
        let percent = Some(comparison.percent);
        let Some(interval) = comparison.interval else {
            let least = plural(comparison.first_n.min(comparison.second_n) as u64, "search");
            let sentence =
                format!("{figures}: with {least} on a side it can't be said whether that is noise.");
            return Self { percent, ..said(sentence) };
        };
        // A search knows its own result only as well as its steps are apart.
        let ([first_down, first_up], [second_down, second_up]) = (first.width(), second.width());
        let off = f64::max(first_down * second_up, first_up * second_down);
        let interval = interval.widened(100.0 * (off - 1.0));
        let is_twin = second.twin_of.is_some();
        let sentence = match (interval.excludes_zero(), is_twin) {
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
        };
        Self {
            percent,
            low_percent: Some(interval.low),
            high_percent: Some(interval.high),
            more_than_noise: Some(interval.excludes_zero()),
            ..said(sentence)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::contender;
    use super::*;

    fn sentence(first: &Contender, second: &Contender) -> String {
        Couple::of(first, second, Confidence::default()).sentence
    }

    #[test]
    fn a_large_difference_is_more_than_noise_and_a_small_one_may_be_noise() {
        let first = contender("array-a", &[1.8, 1.83, 1.78]);
        let second = contender("array-b", &[2.8, 2.83, 2.75]);
        let couple = Couple::of(&first, &second, Confidence::default());
        let text = &couple.sentence;
        assert!(
            text.starts_with("array-b carries 2.8 times (2.") && text.contains("array-a 1.8 times ("),
            "{text}"
        );
        assert!(text.contains("more than noise") && text.ends_with("more)."), "{text}");
        assert!(couple.more_than_noise == Some(true) && couple.low_percent.unwrap() > 0.0, "{couple:?}");
        assert!(sentence(&second, &first).ends_with("less)."));
        let near = contender("array-c", &[1.7, 2.0, 1.85]);
        let couple = Couple::of(&first, &near, Confidence::default());
        assert!(couple.sentence.contains("noise could make") && couple.more_than_noise == Some(false));
    }

    #[test]
    fn what_is_within_a_step_may_be_noise_though_repeats_agree() {
        let [first, near] = [("a", 2.0), ("b", 2.1)].map(|(name, value)| contender(name, &[value; 3]));
        assert!(sentence(&first, &near).contains("noise could make"));
        let far = contender("c", &[2.3; 3]);
        assert!(sentence(&first, &far).contains("more than noise"));
    }

    #[test]
    fn what_is_no_number_is_not_compared_and_one_search_says_nothing_of_noise() {
        let first = contender("a", &[2.0, 2.1]);
        let mut open = contender("b", &[64.0, 64.0]);
        open.searches[1].less_than = None;
        let couple = Couple::of(&first, &open, Confidence::default());
        assert_eq!(couple.sentence, "a and b can't be compared: there is no number for b.");
        assert!(couple.percent.is_none() && couple.more_than_noise.is_none());
        let single = Couple::of(&first, &contender("c", &[9.0]), Confidence::default());
        assert!(single.sentence.contains("with 1 search on a side"), "{single:?}");
        assert!(single.percent.is_some() && single.more_than_noise.is_none());
    }

    #[test]
    fn a_twin_is_compared_with_its_original_alone() {
        let twin = Contender { twin_of: Some("a".into()), ..contender("a.again", &[2.0, 2.1]) };
        let all = [contender("a", &[2.0, 2.1]), contender("b", &[3.0, 3.1]), twin];
        let names: Vec<_> = couples(&all, Confidence::default())
            .into_iter()
            .map(|couple| (couple.first, couple.second))
            .collect();
        let wanted = [("a", "b"), ("a", "a.again")].map(|(one, other)| (one.to_owned(), other.to_owned()));
        assert_eq!(names, wanted);
    }
}
