//! Histograms of waits on one scale.

use serde::Serialize;

use crate::figure::Figure;

/// How long the waits for an event took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventHistogram {
    /// The event; text cuts its name.
    pub event: String,
    /// All waits, foreground and background.
    pub waits: Option<Figure>,
    /// Whether text cut the K, M or G of `waits`, and it was found again by its decimals.
    pub waits_were_cut: bool,
    /// Buckets from short to long, without gaps.
    pub buckets: Vec<Bucket>,
}

/// Waits from one duration up to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// The shortest, in microseconds.
    pub from_us: f64,
    /// What they stay below, in microseconds; `None` for the last one, which is open.
    pub to_us: Option<f64>,
    /// Their share of the event's waits in percent. A blank is truly 0; `.0` is less than 0.05.
    pub percent: Figure,
}

impl Bucket {
    /// Waits in it, of so many.
    #[must_use]
    pub fn waits_of(&self, waits: f64) -> f64 {
        waits * self.percent.value / 100.0
    }

    /// Its width in powers of two. Where it begins at 0 or has no end that is not known, and it counts as one.
    fn octaves(&self) -> f64 {
        match self.to_us {
            Some(to_us) if self.from_us > 0.0 => (to_us / self.from_us).log2(),
            _ => 1.0,
        }
    }
}

/// What share of waits took longer than a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Over {
    /// At least so many percent.
    pub least_percent: f64,
    /// At most so many: the bucket that the limit lies in may hold shorter ones.
    pub most_percent: f64,
}

impl EventHistogram {
    /// The share of waits that took longer than a limit. It is exact where the limit is the border of a bucket; borders
    /// are powers of two, so that one within 3 % is meant: 8 ms is 8,192 us.
    #[must_use]
    pub fn over(&self, limit_us: f64) -> Over {
        let borders = self.buckets.iter().map(|bucket| bucket.from_us);
        let limit_us = borders
            .into_iter()
            .find(|border| (border - limit_us).abs() <= 0.03 * limit_us)
            .unwrap_or(limit_us);
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

    /// Two groups of waits behind one mean, if there are: such as reads that a cache served and reads of a disk.
    ///
    /// A peak is a bucket that no neighbour exceeds, by its share per doubling of the duration: releases before 12.2 have
    /// one bucket from 32 ms to 1 s. Two are told apart if each holds at least 5 % of the waits with the buckets on its
    /// side of the valley, and the lowest bucket between them has less than half of the lower one's share per doubling.
    #[must_use]
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
        let side = |range: &[f64]| range.iter().sum::<f64>();
        let short_percent = side(&shares[..valley]) + shares[valley] / 2.0;
        let long_percent = side(&shares[valley + 1..]) + shares[valley] / 2.0;
        let waits = |percent: f64| self.waits.map_or(f64::INFINITY, |waits| waits.value * percent / 100.0);
        let are_many = waits(short_percent).min(waits(long_percent)) >= FEWEST_OF_A_PEAK;
        (short_percent >= 5.0 && long_percent >= 5.0 && are_many).then(|| TwoPeaks {
            short: self.buckets[left],
            long: self.buckets[right],
            short_percent,
            long_percent,
        })
    }
}

/// Fewer waits are chance and no peak.
const FEWEST_OF_A_PEAK: f64 = 20.0;

fn highest(heights: &[f64]) -> Option<usize> {
    (0..heights.len()).max_by(|one, other| heights[*one].total_cmp(&heights[*other]))
}

/// Two groups of waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwoPeaks {
    /// The highest bucket of the short ones.
    pub short: Bucket,
    /// The highest bucket of the long ones.
    pub long: Bucket,
    /// Share of waits on the short side, in percent.
    pub short_percent: f64,
    /// Share of waits on the long side, in percent.
    pub long_percent: f64,
}

impl TwoPeaks {
    /// Whether the short ones are as short as waits that a cache serves: below 1 ms, of 1,024 us.
    #[must_use]
    pub fn may_be_a_caches(&self) -> bool {
        self.short.to_us.is_some_and(|to_us| to_us <= 1024.0)
    }
}

/// A duration for people.
#[must_use]
pub fn duration(us: f64) -> String {
    // Reports count in powers of two: 512 us, then 1 ms, which is 1,024 us.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(shares: &[f64]) -> EventHistogram {
        let buckets = shares.iter().enumerate().map(|(at, share)| Bucket {
            from_us: if at == 0 { 0.0 } else { 2f64.powi(at as i32) },
            to_us: (at + 1 < shares.len()).then(|| 2f64.powi(at as i32 + 1)),
            percent: Figure { value: *share, resolution: 0.1 },
        });
        EventHistogram { event: "e".into(), waits: None, waits_were_cut: false, buckets: buckets.collect() }
    }

    #[test]
    fn the_share_over_a_limit_is_exact_at_the_border_of_a_bucket() {
        let waits = histogram(&[50.0, 30.0, 15.0, 5.0]);
        assert_eq!(waits.over(4.0), Over { least_percent: 20.0, most_percent: 20.0 });
        assert_eq!(waits.over(5.0), Over { least_percent: 5.0, most_percent: 20.0 });
        assert_eq!(waits.over(100.0), Over { least_percent: 0.0, most_percent: 5.0 });
    }

    #[test]
    fn two_peaks_are_told_from_one_with_a_tail() {
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
    fn a_wide_bucket_is_no_peak_for_its_width() {
        // 30 % within five doublings are less for each than the 12 % before them: a tail.
        assert_eq!(wide([0.0, 0.0, 3.0, 15.0, 40.0, 12.0, 30.0, 0.0]).two_peaks(), None);
        // And 20 % within five are a valley, which the same share of one doubling would not be.
        let peaks = wide([0.0, 0.0, 0.0, 2.0, 5.0, 35.0, 20.0, 38.0]).two_peaks().unwrap();
        assert_eq!((peaks.short.from_us, peaks.long.from_us), (16.0 * 1024.0, 1024.0 * 1024.0));
        assert!(!peaks.may_be_a_caches());
        assert!(wide([40.0, 1.0, 3.0, 16.0, 40.0, 0.0, 0.0, 0.0]).two_peaks().unwrap().may_be_a_caches());
    }
}
