//! Two counters of the same thing.

use crate::format::{count, signed_percent};

/// Two counts agree if they differ by no more than this share of the larger one.
const TOLERANCE: f64 = 0.01;

/// How two counts must relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// They must be equal.
    Equal,
    /// The left one must not be smaller than the right one.
    AtLeast,
    /// They are told, and nothing follows.
    Shown,
}

/// A counter's name and what it counted.
pub(crate) type Counted = (&'static str, u64);

/// Two counters of the same thing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) rule: Rule,
    pub(crate) left: Counted,
    pub(crate) right: Counted,
    /// Difference that is allowed on top of the tolerance, in the counters' unit.
    slack: f64,
}

impl Pair {
    pub(super) fn new(rule: Rule, left: Counted, right: Counted, slack: f64) -> Self {
        Self { rule, left, right, slack }
    }

    pub(crate) fn agrees(&self) -> bool {
        let (left, right) = (self.left.1 as f64, self.right.1 as f64);
        let allowed = TOLERANCE * left.max(right) + self.slack;
        match self.rule {
            Rule::Equal => (left - right).abs() <= allowed,
            Rule::AtLeast => left + allowed >= right,
            Rule::Shown => true,
        }
    }

    /// By how much the left count is above the right one, in percent of the right one.
    pub(super) fn difference_percent(&self) -> Option<f64> {
        let (left, right) = (self.left.1 as f64, self.right.1 as f64);
        if left == right {
            return Some(0.0);
        }
        (right > 0.0).then(|| 100.0 * (left - right) / right)
    }

    /// Both counts and their difference.
    pub(crate) fn words(&self) -> String {
        let ((left, left_count), (right, right_count)) = (self.left, self.right);
        let counts = format!("{left} {}, {right} {}", count(left_count), count(right_count));
        match self.difference_percent() {
            Some(difference) => format!("{counts} ({} %)", signed_percent(difference)),
            None => counts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Rule::Equal, 100_000, 99_000, 0.0, true)]
    #[case(Rule::Equal, 100_000, 98_999, 0.0, false)]
    #[case(Rule::Equal, 98_999, 100_000, 1.0, true)]
    #[case(Rule::Equal, 0, 0, 0.0, true)]
    #[case(Rule::Equal, 4, 0, 4.0, true)]
    #[case(Rule::Equal, 5, 0, 4.0, false)]
    #[case(Rule::AtLeast, 500_000, 100_000, 0.0, true)]
    #[case(Rule::AtLeast, 99_000, 100_000, 0.0, true)]
    #[case(Rule::AtLeast, 98_000, 100_000, 0.0, false)]
    #[case(Rule::Shown, 0, 100_000, 0.0, true)]
    fn edges(
        #[case] rule: Rule,
        #[case] left: u64,
        #[case] right: u64,
        #[case] slack: f64,
        #[case] agrees: bool,
    ) {
        let pair = Pair::new(rule, ("a", left), ("b", right), slack);
        assert_eq!(pair.agrees(), agrees);
    }

    #[test]
    fn words_name_both_and_the_difference() {
        let pair = |left, right| Pair::new(Rule::Equal, ("a", left), ("b", right), 0.0);
        assert_eq!(pair(1100, 1000).words(), "a 1,100, b 1,000 (+10.0 %)");
        assert_eq!(pair(3, 0).words(), "a 3, b 0");
        assert_eq!(pair(0, 0).words(), "a 0, b 0 (0.0 %)");
    }
}
