//! Properties of the histogram against the plain list of values.

use proptest::prelude::*;
use slob_stats::{Histogram, RANGE_NS, bucket_high, bucket_index, bucket_low};

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&ns| histogram.record(ns));
    histogram
}

/// From 1 us to 1 h, spread over all magnitudes.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    let latency = (0.0_f64..=1.0).prop_map(|share| (1e3 * 3.6e9_f64.powf(share)) as u64);
    prop::collection::vec(latency, 1..400)
}

/// Values around the end of the range are likely.
fn any_values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![
        8 => 0..RANGE_NS,
        4 => 0_u64..5000,
        1 => RANGE_NS - 2..RANGE_NS + 2,
        1 => any::<u64>(),
    ];
    prop::collection::vec(value, 0..200)
}

proptest! {
    #[test]
    fn percentiles_are_within_one_percent_of_the_sorted_list(
        mut values in latencies(), per_mille in prop::collection::vec(0_usize..=1000, 20),
    ) {
        let histogram = of(&values);
        values.sort_unstable();
        for k in per_mille {
            let rank = (k * values.len()).div_ceil(1000).max(1);
            let expected = values[rank - 1];
            let found = histogram.percentile(k as f64 / 10.0).unwrap();
            prop_assert!(found.abs_diff(expected) * 128 <= expected, "p{k}/10: {found}, true {expected}");
        }
    }

    #[test]
    fn percentiles_never_fall(values in any_values()) {
        let histogram = of(&values);
        let ladder: Vec<_> = (0..=1000).map(|k| histogram.percentile(f64::from(k) / 10.0)).collect();
        prop_assert!(ladder.is_sorted());
    }

    #[test]
    fn exact_figures_are_exact(values in any_values()) {
        let histogram = of(&values);
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.min(), values.iter().min().copied());
        prop_assert_eq!(histogram.max(), values.iter().max().copied());
        prop_assert_eq!(histogram.sum(), values.iter().fold(0_u64, |sum, &ns| sum.saturating_add(ns)));
        let beyond = values.iter().filter(|&&ns| ns >= RANGE_NS).count() as u64;
        prop_assert_eq!(histogram.beyond_range(), beyond);
        prop_assert_eq!(histogram.buckets().map(|(_, _, n)| n).sum::<u64>(), histogram.count());
    }

    #[test]
    fn merging_equals_recording_everything(first in any_values(), second in any_values()) {
        let mut merged = of(&first);
        merged.merge(&of(&second));
        prop_assert_eq!(merged, of(&[first, second].concat()));
    }

    #[test]
    fn since_undoes_merge(first in any_values(), second in any_values()) {
        let (earlier, interval) = (of(&first), of(&second));
        let mut later = earlier.clone();
        later.merge(&interval);
        let found = later.since(&earlier);
        prop_assert!(found.buckets().eq(interval.buckets()));
        prop_assert_eq!(found.count(), interval.count());
        prop_assert_eq!(found.beyond_range(), interval.beyond_range());
        if later.sum() < u64::MAX {
            prop_assert_eq!(found.sum(), interval.sum());
        }
        if let (Some(min), Some(max)) = (interval.min(), interval.max()) {
            let (found_min, found_max) = (found.min().unwrap(), found.max().unwrap());
            prop_assert!(found_min <= min && max <= found_max);
            prop_assert!(found_min >= bucket_low(bucket_index(min)));
            prop_assert!(found_max <= bucket_high(bucket_index(max)) || found.beyond_range() > 0);
        }
        prop_assert_eq!(&read(&save(&found)).unwrap(), &found, "a difference can be saved");
    }

    #[test]
    fn fixed_ranges_share_out_every_value(
        values in any_values(), mut edges in prop::collection::vec(1_u64..RANGE_NS, 5),
    ) {
        let histogram = of(&values);
        edges.sort_unstable();
        edges.insert(0, 0);
        edges.push(u64::MAX);
        let shared: u64 = edges.windows(2).map(|edge| histogram.count_in(edge[0], edge[1])).sum();
        prop_assert_eq!(shared, histogram.count());
    }

    #[test]
    fn saving_and_reading_gives_the_same(values in any_values()) {
        let histogram = of(&values);
        prop_assert_eq!(read(&save(&histogram)).unwrap(), histogram);
    }

    #[test]
    fn damaged_text_never_panics(
        values in any_values(), damage in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..6),
    ) {
        let mut text = save(&of(&values)).into_bytes();
        for (at, byte) in damage {
            let at = at.index(text.len());
            text[at] = byte;
        }
        // An accepted histogram is sound: it can be used and saved again.
        if let Ok(histogram) = read(&String::from_utf8(text).unwrap()) {
            prop_assert_eq!(histogram.percentile(50.0).is_some(), !histogram.is_empty());
            prop_assert!(histogram.min() <= histogram.max());
            prop_assert_eq!(read(&save(&histogram)).unwrap(), histogram);
        }
    }

    #[test]
    fn any_numbers_in_the_saved_form_never_panic(
        count in any::<u64>(), extremes in any::<(Option<u64>, Option<u64>)>(), sum in any::<u64>(),
        beyond_range in any::<u64>(), buckets in prop::collection::vec(any::<(u16, u64)>(), 0..8),
    ) {
        let mut buckets: Vec<_> = buckets.iter().map(|&(i, n)| (bucket_low(usize::from(i)), n)).collect();
        buckets.sort_unstable();
        let held = buckets.iter().fold(0_u64, |sum, b| sum.saturating_add(b.1));
        for count in [count, held] {
            let text = serde_json::json!({
                "unit": "ns", "count": count, "min": extremes.0, "max": extremes.1, "sum": sum,
                "beyond_range": beyond_range, "buckets": buckets,
            });
            if let Ok(histogram) = serde_json::from_value::<Histogram>(text) {
                prop_assert_eq!(read(&save(&histogram)).unwrap(), histogram);
            }
        }
    }
}

/// Such bytes mostly turn one number or structure into another.
fn damage() -> impl Strategy<Value = u8> {
    prop::sample::select(b"0123456789[],{}:\"-.en ".to_vec())
}

fn save(histogram: &Histogram) -> String {
    serde_json::to_string(histogram).expect("a histogram can always be saved")
}

fn read(text: &str) -> Result<Histogram, serde_json::Error> {
    serde_json::from_str(text)
}
