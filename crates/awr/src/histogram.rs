use jiff::civil::DateTime;
use serde::Serialize;

use crate::figure::Figure;
use crate::info::Named;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventHistogram {
    /// Text cuts the name.
    pub event: String,
    /// Waits of foreground and background.
    pub waits: Option<Figure>,
    /// Text cut the K, M or G of `waits`, and its decimals showed it.
    pub waits_were_cut: bool,
    /// Short buckets come first, without gaps.
    pub buckets: Vec<Bucket>,
    #[serde(skip)]
    pub sections: Vec<HistogramSection>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistogramSection {
    pub sum: Figure,
    pub waits: Option<Figure>,
    pub share: Figure,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bucket {
    pub from_us: f64,
    /// Absent for the last bucket.
    pub to_us: Option<f64>,
    /// Share of the event's waits. A blank is exactly 0; `.0` is less than 0.05.
    pub percent: Figure,
}

impl Bucket {
    pub fn waits_of(&self, waits: f64) -> f64 {
        waits * self.percent.value / 100.0
    }

    /// In powers of two; 1 for the first and the last bucket.
    fn octaves(&self) -> f64 {
        match self.to_us {
            Some(to_us) if self.from_us > 0.0 => (to_us / self.from_us).log2(),
            _ => 1.0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Over {
    pub least_percent: f64,
    /// Includes the bucket of the limit, which may hold shorter waits.
    pub most_percent: f64,
}

impl EventHistogram {
    /// Borders are powers of two, printed as 8 ms (8,192 us) and 2 min (134 s): one within 3 % of the limit or of its print
    /// counts.
    pub fn over(&self, limit_us: f64) -> Over {
        let borders = self.buckets.iter().map(|bucket| bucket.from_us);
        let is_near = |border: &f64| {
            let near = |value: f64| (value - limit_us).abs() <= 0.03 * limit_us;
            near(*border) || near(printed_us(*border))
        };
        let limit_us = borders.into_iter().find(is_near).unwrap_or(limit_us);
        let mut over = Over { least_percent: 0.0, most_percent: 0.0 };
        for bucket in &self.buckets {
            let percent = bucket.percent.value;
            if bucket.from_us >= limit_us {
                over.least_percent += percent;
                over.most_percent += percent;
            } else if bucket.to_us.is_none_or(|to| to > limit_us) {
                over.most_percent += percent;
            }
        }
        over
    }

    /// Two groups of waits behind one mean, such as reads from a cache and from a disk.
    ///
    /// A peak is a bucket that no neighbour exceeds, by its share per doubling: releases before 12.2 have one bucket from 32 ms
    /// to 1 s. Each side of the valley must hold 5 % of the waits, and the valley less than half of the lower peak.
    pub fn two_peaks(&self) -> Option<TwoPeaks> {
        let shares: Vec<f64> = self.buckets.iter().map(|bucket| bucket.percent.value).collect();
        let heights: Vec<f64> =
            self.buckets.iter().map(|bucket| bucket.percent.value / bucket.octaves()).collect();
        let mut best: Option<(f64, usize, usize, usize)> = None;
        for valley in 1..heights.len().saturating_sub(1) {
            let (left, right) = (highest(&heights[..valley])?, valley + 1 + highest(&heights[valley + 1..])?);
            let lower = heights[left].min(heights[right]);
            let depth = lower - heights[valley];
            if heights[valley] * 2.0 < lower && best.is_none_or(|(deepest, ..)| depth > deepest) {
                best = Some((depth, left, valley, right));
            }
        }
        let (_, left, valley, right) = best?;
        let short_percent = shares[..valley].iter().sum::<f64>();
        let long_percent = shares[valley..].iter().sum::<f64>();
        let waits = |percent: f64| self.waits.map_or(f64::INFINITY, |waits| waits.value * percent / 100.0);
        let are_many = waits(short_percent).min(waits(long_percent)) >= FEWEST_OF_A_PEAK;
        (short_percent >= 5.0 && long_percent >= 5.0 && are_many).then(|| TwoPeaks {
            short: self.buckets[left],
            long: self.buckets[right],
            border_us: self.buckets[valley].from_us,
            short_percent,
            long_percent,
        })
    }
}

/// Fewer waits may be chance.
const FEWEST_OF_A_PEAK: f64 = 20.0;

fn highest(heights: &[f64]) -> Option<usize> {
    (0..heights.len()).max_by(|one, other| heights[*one].total_cmp(&heights[*other]))
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwoPeaks {
    pub short: Bucket,
    pub long: Bucket,
    pub border_us: f64,
    pub short_percent: f64,
    /// Share of the others, of which the highest bucket may hold few.
    pub long_percent: f64,
}

impl TwoPeaks {
    /// The border is 1 ms of 1,024 us.
    pub fn may_be_a_caches(&self) -> bool {
        self.short.to_us.is_some_and(|to_us| to_us <= 1024.0)
    }

    pub fn words(&self, event: &str) -> String {
        let peak = |bucket: &Bucket| {
            let range = match bucket.to_us {
                Some(to) => format!("{} to {}", duration(bucket.from_us), duration(to)),
                None => format!("{} and more", duration(bucket.from_us)),
            };
            format!("{:.0} % took {range}", bucket.percent.value)
        };
        // Only reads are served by a cache.
        let [short, long] = match self.may_be_a_caches() && event.contains(" read") {
            true => [", as a cache would serve them", ", as a slower device would"],
            false => ["", ""],
        };
        let border = duration(self.border_us);
        format!(
            "{:.0} % of waits are shorter than {border} ({}){short}, and {:.0} % are longer ({}){long}",
            self.short_percent,
            peak(&self.short),
            self.long_percent,
            peak(&self.long),
        )
    }
}

/// `8ms` is 8,192 us, `1s` 1,024 of those milliseconds, `1m` 64 of those seconds, `1h` 64 of those minutes.
fn printed_us(border_us: f64) -> f64 {
    const K: f64 = 1024.0;
    let units = [(64.0 * 64.0 * K * K, 3600e6), (64.0 * K * K, 60e6), (K * K, 1e6), (K, 1e3)];
    let unit = units.into_iter().find(|(unit, _)| border_us >= *unit);
    unit.map_or(border_us, |(unit, us)| border_us / unit * us)
}

pub fn duration(us: f64) -> String {
    // Reports count in powers of two: 1,024 us are 1 ms.
    let of = |value: f64, unit: &str| {
        let text = format!("{value:.2}");
        format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match us {
        us if us < 1000.0 => of(us, "us"),
        us if us < 1_000_000.0 && us % 1024.0 == 0.0 => of(us / 1024.0, "ms"),
        us if us < 1_000_000.0 => of(us / 1e3, "ms"),
        us if us < 60e6 => of((us / 1e6 * 10.0).round() / 10.0, "s"),
        us => of((us / 60e6 * 10.0).round() / 10.0, "min"),
    }
}

/// Reads of one block, and writes of the log.
pub const EVENTS: [&str; 4] = [
    "db file sequential read",
    "cell single block physical read",
    "log file sync",
    "log file parallel write",
];

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub file: String,
    pub begin: Option<DateTime>,
    pub end: Option<DateTime>,
    pub event: String,
    /// The mean is of all sessions if the report does not separate foreground.
    pub mean_us: Option<Figure>,
    pub histogram: EventHistogram,
    pub over: Over,
    pub two_peaks: Option<TwoPeaks>,
}

impl Point {
    pub fn of(named: &Named, event: &str, limit_us: f64) -> Option<Self> {
        let report = &named.report;
        let histogram = report.histogram(event)?.clone();
        let wait = report.foreground(event).or_else(|| report.background(event));
        Some(Self {
            file: named.label(),
            begin: report.interval.begin_time(),
            end: report.interval.end_time(),
            event: event.to_owned(),
            mean_us: wait.and_then(|wait| wait.mean_us()),
            over: histogram.over(limit_us),
            two_peaks: histogram.two_peaks(),
            histogram,
        })
    }

    pub fn words(&self) -> Option<String> {
        let peaks = self.two_peaks?;
        let mean = self.mean_us.and_then(Figure::known);
        let mean = mean.map_or_else(
            || "a mean that is printed too coarsely".to_owned(),
            |mean| format!("a mean of {}", duration(mean)),
        );
        Some(format!("two peaks behind {mean}: {}", peaks.words(&self.event)))
    }
}

pub fn sort(points: &mut [Point]) {
    points.sort_by_key(|point| (point.begin.is_none(), point.begin));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(shares: &[f64]) -> EventHistogram {
        let buckets = shares.iter().enumerate().map(|(at, share)| Bucket {
            from_us: if at == 0 { 0.0 } else { 2f64.powi(at as i32) },
            to_us: (at + 1 < shares.len()).then(|| 2f64.powi(at as i32 + 1)),
            percent: Figure { value: *share, resolution: 0.1 },
        });
        EventHistogram {
            event: "e".into(),
            waits: None,
            waits_were_cut: false,
            buckets: buckets.collect(),
            sections: Vec::new(),
        }
    }

    #[test]
    fn the_share_over_a_limit_is_exact_at_a_border() {
        let waits = histogram(&[50.0, 30.0, 15.0, 5.0]);
        assert_eq!(waits.over(4.0), Over { least_percent: 20.0, most_percent: 20.0 });
        assert_eq!(waits.over(5.0), Over { least_percent: 5.0, most_percent: 20.0 });
        assert_eq!(waits.over(100.0), Over { least_percent: 0.0, most_percent: 5.0 });
    }

    #[test]
    fn two_peaks_are_not_a_peak_with_a_tail() {
        let peaks = histogram(&[2.0, 40.0, 3.0, 1.0, 30.0, 24.0]).two_peaks().unwrap();
        assert_eq!((peaks.short.from_us, peaks.long.from_us), (2.0, 16.0));
        assert!(peaks.short_percent > 44.0 && peaks.long_percent > 54.0);
        assert_eq!(histogram(&[2.0, 60.0, 30.0, 7.0, 1.0]).two_peaks(), None);
        assert_eq!(histogram(&[96.0, 1.0, 3.0]).two_peaks(), None);
        assert_eq!(histogram(&[]).two_peaks(), None);
    }

    /// Before 12.2: below 1 ms and so on to 32 ms, then up to 1 s, and above.
    fn wide(shares: [f64; 8]) -> EventHistogram {
        let ms = |ms: f64| ms * 1024.0;
        let edges = [0.0, ms(1.0), ms(2.0), ms(4.0), ms(8.0), ms(16.0), ms(32.0), ms(1024.0)];
        let mut histogram = histogram(&shares);
        for (at, bucket) in histogram.buckets.iter_mut().enumerate() {
            (bucket.from_us, bucket.to_us) = (edges[at], edges.get(at + 1).copied());
        }
        histogram
    }

    #[test]
    fn a_wide_bucket_is_no_peak_because_of_its_width() {
        // 30 % within five doublings are less for each than the 12 % before them: a tail.
        assert_eq!(wide([0.0, 0.0, 3.0, 15.0, 40.0, 12.0, 30.0, 0.0]).two_peaks(), None);
        // And 20 % within five are a valley, which the same share of one doubling would not be.
        let peaks = wide([0.0, 0.0, 0.0, 2.0, 5.0, 35.0, 20.0, 38.0]).two_peaks().unwrap();
        assert_eq!((peaks.short.from_us, peaks.long.from_us), (16.0 * 1024.0, 1024.0 * 1024.0));
        assert!(!peaks.may_be_a_caches());
        assert!(wide([40.0, 1.0, 3.0, 16.0, 40.0, 0.0, 0.0, 0.0]).two_peaks().unwrap().may_be_a_caches());
    }
}
