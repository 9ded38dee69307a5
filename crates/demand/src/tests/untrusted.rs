//! Untrusted profiles are refused, or everything derived from them is sound.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    At, By, Choice, Costs, Figure, Interval, Limits, Measured, Profile, Summary, compare, diff, not_modelled,
    solve,
};

const MOMENTS: [&str; 7] = [
    "2026-11-20T10:00:00",
    "2026-11-20T10:00:30",
    "2026-11-20T11:00:00",
    "2026-11-20",
    "9999-12-31T23:59:59",
    "-9999-01-01T00:00:00",
    "yesterday",
];

/// A number, sometimes an odd one.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        600 => (0.0..1e6_f64).prop_map(|value| json!(value)),
        8 => prop::sample::select(vec![-1.0, -0.0, 0.0, 1e-300, 1e13, 1e14, 1e308, -1e308]).prop_map(|value| json!(value)),
        1 => prop::sample::select(vec![json!(u64::MAX), json!(i64::MIN), json!(null), json!("7"), json!("NaN"), json!([7]), json!({})]),
    ]
}

fn figures() -> impl Strategy<Value = Value> {
    let name =
        prop::sample::select(Figure::all().map(Figure::name).chain(["undo_per_s"]).collect::<Vec<_>>());
    prop::collection::btree_map(name, number(), 0..8).prop_map(|figures| json!(figures))
}

fn interval() -> impl Strategy<Value = Value> {
    let moment = prop::sample::select(MOMENTS[..4].to_vec());
    let moment = prop_oneof![400 => moment, 1 => prop::sample::select(MOMENTS.to_vec())];
    let seconds =
        prop_oneof![200 => prop::sample::select(vec![json!(30.0), json!(1800), json!(3600)]), 1 => number()];
    let instance = prop::sample::select(vec![None, Some("1"), Some("2")]);
    let bucket = (number(), number(), number())
        .prop_map(|(from, to, waits)| json!({"from_us": from, "to_us": to, "waits": waits}));
    let buckets = prop_oneof![9 => Just(json!([])), 1 => bucket.prop_map(|bucket| json!([bucket]))];
    (moment, seconds, instance, figures(), buckets).prop_map(
        |(begin, seconds, instance, figures, buckets)| {
            json!({
                "source": "a\u{1b}[2J", "instance": instance, "begin": begin, "seconds": seconds,
                "figures": figures, "histograms": {"read": buckets},
            })
        },
    )
}

fn profile() -> impl Strategy<Value = Value> {
    prop::collection::vec(interval(), 0..12).prop_map(|intervals| {
        json!({"profile_version": 1, "source": "reports", "subject": {"name": "PROD", "block_bytes": 8192},
               "intervals": intervals})
    })
}

fn assert_sound(profile: &Profile) {
    for (nth, interval) in profile.intervals.iter().enumerate() {
        assert!(interval.figures.iter().all(|(_, value)| value.is_finite() && value >= 0.0), "{interval:?}");
        let same = |other: &&Interval| other.instance == interval.instance;
        if let Some(next) = profile.intervals[nth + 1..].iter().find(same) {
            let common = interval.end().duration_since(next.begin).as_secs_f64();
            assert!(next.begin >= interval.begin && common <= 0.02 * interval.seconds.max(50.0), "{next:?}");
        }
    }
    if let Some(summary) = Summary::of(profile) {
        for own in &summary.figures {
            let [median, p95, peak] = [&own.median, &own.p95, &own.peak].map(|place| place.value);
            assert!(median <= p95 && p95 <= peak && own.mean <= peak * (1.0 + 1e-9), "{own:?}");
        }
        assert!(diff(&summary, &summary).iter().all(|change| change.peak[0] == change.peak[1]));
    }
}

fn assert_plans_are_sound(profile: &Profile) {
    for by in By::ALL.iter().copied() {
        for at in [At::Peak, At::P95, At::Median, At::Moment("2026-11-20T10:00".parse().unwrap())] {
            let choice = Choice { at, by, grow: 1000.0, peak_factor: Some(2.0) };
            let Ok(demand) = profile.demand(&choice) else { continue };
            assert!(demand.figures.iter().all(|(_, value)| value.is_finite()), "{demand:?}");
            let listed = not_modelled(&demand.figures, profile.subject.block_bytes);
            assert!(
                listed.iter().all(|line| line.percent.is_none_or(|share| (0.0..=100.0).contains(&share)))
            );
            let limits = Limits {
                schemas: 4,
                scan_blocks: 128,
                scale_blocks: 64,
                most_sessions: 64,
                ..Limits::default()
            };
            let mut costs = Costs::default();
            let planned = solve(&demand, &costs, &limits);
            let measured =
                Measured { seconds: 1.0, figures: demand.figures.times(0.5), ..Measured::default() };
            costs.learn(&planned.parameters, &measured, demand.reads_are, 128);
            for planned in [planned, solve(&demand, &costs, &limits)] {
                let of = planned.parameters;
                assert!(of.rate > 0 && of.update_pct <= 100.0 && of.scan_pct <= 100.0, "{of:?}");
                assert!(
                    (1..=64).contains(&of.work_unit) && (1..=64).contains(&of.update_work_unit),
                    "{of:?}"
                );
                let fit = compare(&demand, &planned, Some(&measured), &costs);
                assert!(fit.badness().is_finite(), "{fit:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_a_file_says_is_refused_or_all_that_follows_is_sound(value in profile()) {
        match Profile::read(value.to_string().as_bytes()) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(profile) => {
                assert_sound(&profile);
                assert_plans_are_sound(&profile);
                let again = serde_json::to_vec(&profile).unwrap();
                prop_assert_eq!(Profile::read(&again).unwrap(), profile);
            }
        }
    }
}

#[test]
fn of_a_thousand_intervals_at_the_same_time_one_counts() {
    let interval = |nth: usize| {
        json!({"source": format!("copy {nth}"), "begin": "2026-11-20T10:00:00", "seconds": 3600.0 + nth as f64,
               "figures": {"commits_per_s": nth}})
    };
    let value = json!({"profile_version": 1, "source": "reports", "subject": {"name": "PROD"},
                       "intervals": (0..1000).map(interval).collect::<Vec<_>>()});
    let profile = Profile::read(value.to_string().as_bytes()).unwrap();
    assert_eq!((profile.intervals.len(), profile.left_out.len()), (1, 999));
    assert_eq!(Summary::of(&profile).unwrap().figures[0].peak.value, 0.0);
    assert!(profile.left_out[500].why.contains("overlaps with copy 0"), "{:?}", profile.left_out[500]);
}

#[test]
fn a_cluster_of_thousands_of_intervals_is_added_up_in_no_time() {
    let intervals = (0..20_000).map(|nth: i64| {
        let begin = "2026-01-01T00:00".parse::<jiff::civil::DateTime>().unwrap();
        Interval {
            source: "live".into(),
            instance: Some((1 + nth % 2).to_string()),
            begin: begin.saturating_add(jiff::SignedDuration::from_secs(60 * (nth / 2))),
            seconds: 60.0,
            figures: [(Figure::Commits, 1.0)].into(),
            histograms: Default::default(),
            bad: Vec::new(),
        }
    });
    let profile = Profile {
        profile_version: 1,
        source: crate::Source::Live,
        subject: crate::Subject::default(),
        intervals: intervals.collect(),
        left_out: Vec::new(),
    };
    let whole = profile.together();
    assert_eq!(whole.intervals.len(), 10_000);
    assert!(whole.intervals.iter().all(|one| one.figures.get(Figure::Commits) == Some(2.0)));
}
