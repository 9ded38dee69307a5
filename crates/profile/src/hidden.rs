//! What the length of intervals hides, and what hours nobody looked at.

use crate::figure::{Figure, Figures};
use crate::model::{Interval, Profile};

/// Intervals that are longer average over too much, in seconds: reports are usually of an hour, and end a little after it.
pub(crate) const LONG_S: f64 = 4000.0;
/// A figure of an interval.
type Of = fn(&Figures) -> Option<f64>;
/// What is looked at.
const FIGURES: [(&str, Of); 3] = [
    ("reads", Figures::reads),
    ("redo", |figures| figures.get(Figure::RedoBytes)),
    ("commits", |figures| figures.get(Figure::Commits)),
];

/// Sentences about what a profile can't show.
#[must_use]
pub fn hidden(profile: &Profile) -> Vec<String> {
    let whole = profile.together();
    let mut said = Vec::new();
    let longest = whole.intervals.iter().map(|interval| interval.seconds).fold(0.0, f64::max);
    let shortest = whole.intervals.iter().map(|interval| interval.seconds).fold(f64::INFINITY, f64::min);
    if whole.intervals.is_empty() {
        return said;
    }
    let lengths = if longest - shortest > 0.1 * longest {
        format!("Intervals are {} to {} long", length(shortest), length(longest))
    } else {
        format!("Intervals are {} long", length(longest))
    };
    said.push(format!(
        "{lengths}: a minute at several times their mean does not show. What a platform must carry for a minute can be up to \
         {:.0} times the peak here, if all of an interval's work was done in one.",
        longest / 60.0
    ));
    if longest <= 90.0 {
        said.pop();
        said.push(format!("{lengths}: bursts of seconds do not show."));
    }
    said.extend(flattened(&whole.intervals));
    if longest > LONG_S {
        said.push(format!(
            "Intervals of {} average over busy and quiet times: take reports of 15 to 60 minutes.",
            length(longest)
        ));
    }
    said.extend(unseen(&whole));
    said
}

/// What is lost where two intervals become one tells what was lost when these were made of shorter ones.
fn flattened(intervals: &[Interval]) -> Option<String> {
    if intervals.len() < 4 {
        return None;
    }
    let parts: Vec<String> = FIGURES
        .iter()
        .filter_map(|(name, value)| {
            let peak = intervals.iter().filter_map(|one| value(&one.figures)).fold(0.0, f64::max);
            let pairs = intervals.windows(2).filter_map(|pair| {
                let follows = pair[1].begin.duration_since(pair[0].end()).as_secs_f64().abs() < 60.0;
                let seconds = pair[0].seconds + pair[1].seconds;
                let sum =
                    value(&pair[0].figures)? * pair[0].seconds + value(&pair[1].figures)? * pair[1].seconds;
                follows.then_some(sum / seconds)
            });
            let peak_of_pairs = pairs.fold(0.0, f64::max);
            let lost = 100.0 * (1.0 - peak_of_pairs / peak);
            (peak > 0.0 && peak_of_pairs > 0.0 && lost >= 1.0).then(|| format!("{name} by {lost:.0} %"))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "In intervals twice as long the peaks would be lower: {}. About as much is lost where these were made of shorter ones.",
            parts.join(", ")
        )
    })
}

/// Hours of the day and days of the week that no interval is of.
fn unseen(profile: &Profile) -> Option<String> {
    let covered: f64 = profile.intervals.iter().map(|interval| interval.seconds).sum();
    let day_s = 86_400.0;
    if covered < 0.95 * day_s {
        return Some(format!(
            "All of it is {}: batches of the night, month ends and other days are not in it.",
            length(covered)
        ));
    }
    (covered < 6.5 * day_s).then(|| {
        format!("All of it is {:.1} days: weekends and month ends may not be in it.", covered / day_s)
    })
}

/// A length of time in words: `45 s`, `15 min`, `2.5 h`.
#[must_use]
pub fn length(seconds: f64) -> String {
    let trimmed = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match seconds {
        _ if seconds < 120.0 => trimmed(seconds, "s"),
        _ if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 2.0 * 86_400.0 => trimmed(seconds / 3600.0, "h"),
        _ => trimmed(seconds / 86_400.0, "days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::hourly;

    #[test]
    fn what_longer_intervals_would_lose_is_said_of_each_figure() {
        let text = hidden(&hourly(&[1.0, 8.0, 1.0, 1.0])).join("\n");
        assert!(text.contains("Intervals are 60 min long") && text.contains("up to 60 times"), "{text}");
        assert!(text.contains("reads by 44 %, commits by 44 %") && !text.contains("redo"), "{text}");
        assert!(text.contains("All of it is 4 h"), "{text}");
    }

    #[test]
    fn a_whole_week_has_no_unseen_day() {
        let text = hidden(&hourly(&[5.0; 7 * 24])).join("\n");
        assert!(!text.contains("All of it") && !text.contains("would be lower"), "{text}");
    }

    #[test]
    fn lengths_in_words() {
        let all = [15.0, 90.5, 900.0, 3600.0, 9000.0, 604_800.0].map(length);
        assert_eq!(all, ["15 s", "90.5 s", "15 min", "60 min", "2.5 h", "7 days"]);
    }
}
