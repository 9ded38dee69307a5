//! Two profiles side by side.

use serde::Serialize;

use crate::figure::Figure;
use crate::summary::Summary;

/// How a figure changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Which.
    pub figure: Figure,
    /// Median of the first and the second.
    pub median: [f64; 2],
    /// 95th percentile.
    pub p95: [f64; 2],
    /// Peak.
    pub peak: [f64; 2],
}

impl Change {
    /// By how much the second differs from the first, in percent; absent where the first is 0.
    #[must_use]
    pub fn percent(of: [f64; 2]) -> Option<f64> {
        (of[0] != 0.0).then(|| 100.0 * (of[1] - of[0]) / of[0])
    }
}

/// Each figure that both know.
#[must_use]
pub fn diff(one: &Summary, other: &Summary) -> Vec<Change> {
    let change = |figure: Figure| {
        let (one, other) = (one.figure(figure)?, other.figure(figure)?);
        Some(Change {
            figure,
            median: [one.median.value, other.median.value],
            p95: [one.p95.value, other.p95.value],
            peak: [one.peak.value, other.peak.value],
        })
    };
    Figure::all().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::hourly;

    #[test]
    fn changes_are_relative_to_the_first() {
        let [one, other] =
            [&[10.0, 20.0][..], &[10.0, 30.0][..]].map(|commits| Summary::of(&hourly(commits)).unwrap());
        let changes = diff(&one, &other);
        let commits = changes.iter().find(|change| change.figure == Figure::Commits).unwrap();
        assert_eq!((commits.median, commits.peak), ([10.0, 10.0], [20.0, 30.0]));
        assert_eq!(Change::percent(commits.peak), Some(50.0));
        assert_eq!(Change::percent([0.0, 1.0]), None);
    }
}
