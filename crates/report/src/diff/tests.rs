use super::*;
use crate::fixture;
use crate::page::WIDTH;
use rstest::rstest;
use slob_measure::{Counter, LatencyKind};

/// The direct run again, with all its counts and times stretched: `rate` times the operations, `latency` times as long.
fn repeated(id: &str, rate: f64, latency_ns: u64) -> Record {
    let mut record = fixture::direct_read_run();
    record.id = id.into();
    let operations = (18_000.0 * rate) as u64;
    let select = record.operations.values_mut().next().unwrap();
    (select.operations, select.rows) = (operations, operations * 64);
    select.latency = fixture::spread(operations, latency_ns);
    let counters = record.counters.iter().map(|(counter, value)| (counter, (value as f64 * rate) as u64));
    record.counters = counters.collect();
    record
}

fn group(name: &str, rates: &[f64]) -> Vec<Record> {
    let run = |(number, rate): (usize, &f64)| {
        repeated(&format!("20261120T1045{number:02}Z-{name}"), *rate, (12_250_000.0 / rate) as u64)
    };
    rates.iter().enumerate().map(run).collect()
}

#[test]
fn two_runs() {
    let diff =
        Diff::of(&[fixture::direct_read_run()], &[fixture::page_cache_run()], Confidence::default()).unwrap();
    assert!(diff.statements.last().unwrap().contains("repeat both sides"), "{:?}", diff.statements);
    insta::assert_snapshot!(diff.text());
}

#[test]
fn groups_that_differ() {
    let mut second = group("raw", &[1.050, 1.046, 1.054]);
    for record in &mut second {
        record.configuration[0].value = "10".into();
        record.host.as_mut().unwrap().device.as_mut().unwrap().device.file_system = "ext4".into();
    }
    let diff = Diff::of(&group("xfs", &[1.0, 1.004, 0.997]), &second, Confidence::default()).unwrap();
    let words = &diff.statements[0];
    assert!(words.contains("faster (better)"), "{words}");
    insta::assert_snapshot!(diff.text());
}

#[test]
fn one_figure_in_a_thousand_is_said_with_its_thousands() {
    let [first, second] = ["a", "b"].map(|name| group(name, &[1.0, 1.01, 0.99]));
    let text = Diff::of(&first, &second, "99.9".parse().unwrap()).unwrap().text();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("with 99.9 % confidence") && words.contains("one figure in 1,000 is"), "{text}");
}

#[test]
fn other_statements_for_the_same_operations_are_a_warning() {
    let warned = |first: &[Record], second: &[Record]| {
        let diff = Diff::of(first, second, Confidence::default()).unwrap();
        (
            diff.statements.iter().any(|words| words.contains("executed their SELECTs differently")),
            diff.changes.len(),
        )
    };
    let joined = |mut records: Vec<Record>| {
        records.iter_mut().for_each(|record| record.server.joined_selects = true);
        records
    };
    let runs = || group("a", &[1.0, 1.01, 0.99]);
    assert_eq!(warned(&runs(), &runs()), (false, 0));
    assert_eq!(warned(&joined(runs()), &joined(runs())), (false, 0));
    assert_eq!(warned(&runs(), &joined(runs())), (true, 1));
    let mut mixed = runs();
    mixed[1].server.joined_selects = true;
    assert_eq!(warned(&runs(), &mixed), (true, 1));
}

#[test]
fn groups_within_noise() {
    let diff =
        Diff::of(&group("a", &[1.0, 1.03, 0.97]), &group("b", &[1.01, 0.99, 1.02]), Confidence::default())
            .unwrap();
    assert!(
        diff.statements[0].starts_with("Operations/s: no difference found: the noise is"),
        "{:?}",
        diff.statements
    );
    assert!(diff.changes.is_empty());
}

#[test]
fn equal_bounds_of_buckets_are_not_no_noise() {
    let coarse = |mut runs: Vec<Record>| {
        for record in &mut runs {
            let total = slob_measure::WaitTotal { waits: 1000, time_us: 140_000 };
            fixture::with_exact(record, LatencyKind::PhysicalRead, total);
        }
        runs
    };
    let (first, second) = (group("a", &[1.0, 1.01, 0.99]), group("b", &[1.0, 1.02, 0.98]));
    let p99 = |first: &[Record], second: &[Record]| {
        let diff = Diff::of(first, second, Confidence::default()).unwrap();
        diff.metrics.into_iter().find(|metric| metric.name == "physical_read_p99_us").unwrap()
    };
    assert!(p99(&first, &second).comparison.is_some());
    let bounds = p99(&coarse(first), &coarse(second));
    assert!(bounds.first.is_some() && bounds.comparison.is_none(), "{bounds:?}");
}

#[test]
fn a_side_without_a_window_is_named_and_its_figures_are_absent() {
    let diff = Diff::of(&[fixture::failed_run()], &[fixture::update_run()], Confidence::default()).unwrap();
    let text = diff.text();
    assert!(text.contains("Caution: 20261120T120000Z-direct failed"), "{text}");
    let reads = diff.metrics.iter().find(|metric| metric.name == "physical_reads_per_s").unwrap();
    assert_eq!((reads.first, reads.difference_percent), (None, None));
    assert!(reads.second.is_some() && reads.comparison.is_none());
}

#[test]
fn a_run_that_does_not_know_a_figure_is_not_averaged_away() {
    let mut second = group("b", &[1.01, 0.99]);
    fixture::uncounted(&mut second[0], Counter::PhysicalReads);
    let diff = Diff::of(&group("a", &[1.0, 1.03]), &second, Confidence::default()).unwrap();
    let reads = diff.metrics.iter().find(|metric| metric.name == "physical_reads_per_s").unwrap();
    assert!(reads.second.is_some() && reads.comparison.is_none());
}

#[test]
fn a_run_against_itself_is_the_same() {
    let run = [fixture::update_run()];
    let diff = Diff::of(&run, &run, Confidence::default()).unwrap();
    assert!(diff.changes.is_empty());
    let moved: Vec<_> =
        diff.metrics.iter().filter(|metric| metric.difference_percent.is_some_and(|d| d != 0.0)).collect();
    assert!(moved.is_empty(), "{moved:?}");
    assert!(diff.statements[0].contains("the same on both sides"), "{:?}", diff.statements);
    let json = serde_json::to_value(&diff).unwrap();
    assert_eq!(json["metrics"][0]["name"], "average_active_sessions");
}

#[test]
fn no_line_is_wider_than_the_page() {
    let mut second = group("b", &[1.01, 0.99, 1.5, 0.5, 2.0]);
    for record in &mut second {
        record.server.settings[0].value = "x".repeat(200);
        let counters = record.counters.iter().map(|(counter, value)| (counter, value.saturating_mul(1_000)));
        record.counters = counters.collect();
    }
    for (first, second) in [(&group("a", &[1.0, 1.0]), &second), (&vec![fixture::failed_run()], &second)] {
        let text = Diff::of(first, second, Confidence::default()).unwrap().text();
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}

#[test]
fn what_can_not_be_compared() {
    let run = [fixture::update_run()];
    assert_eq!(Diff::of(&[], &run, Confidence::default()), Err(DiffError::Empty("first")));
    assert_eq!(Diff::of(&run, &[], Confidence::default()), Err(DiffError::Empty("second")));
}

#[rstest]
#[case(&[100.0, 101.0, 99.5], &[104.4, 105.0, 104.0], Better::Higher, "second is 2.7 % to 5.9 % faster (better).")]
#[case(&[104.4, 105.0, 104.0], &[100.0, 101.0, 99.5], Better::Higher, "second is 2.6 % to 5.6 % slower (worse).")]
#[case(&[100.0, 104.0, 97.0], &[101.0, 98.0, 104.0], Better::Higher, "no difference found: the noise is ")]
#[case(&[100.0], &[110.0], Better::Higher, "second is 10.0 % faster.")]
#[case(&[100.0], &[100.0], Better::Higher, "the same on both sides.")]
fn statements_are_plain_words(
    #[case] first: &[f64],
    #[case] second: &[f64],
    #[case] better: Better,
    #[case] expected: &str,
) {
    let comparison = Comparison::of(first, second, 0.95).unwrap();
    let sentence = statement(&comparison, ["faster", "slower"], better);
    assert!(sentence.starts_with(expected), "{sentence}");
}

fn page(first: &[Record], second: &[Record]) -> String {
    diff_page(&Diff::of(first, second, Confidence::default()).unwrap(), first, second)
}

#[test]
fn both_runs_are_in_one_chart_and_all_tables_are_on_the_page() {
    let page = page(&[fixture::direct_read_run()], &[fixture::page_cache_run()]);
    for text in [
        "first: physical reads",
        "second: p99",
        "In short",
        "What differs between the tests",
        "Top timed events",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches("data-chart=\"reads-over-time\"").count(), 1);
    assert_eq!(page.matches("data-chart=\"latency-heat-map-first\"").count(), 1);
}

#[test]
fn the_charts_of_a_group_are_those_of_its_median_run() {
    let run = |name: &str, times: u64| {
        let mut record = fixture::direct_read_run();
        record.id = name.into();
        record.operations.values_mut().for_each(|totals| totals.operations *= times);
        record
    };
    let group = [run("slow", 1), run("fast", 9), run("middle", 3)];
    assert_eq!(median(&group).unwrap().id, "middle");
    let page = page(&group, &[run("named-once", 2)]);
    let lead = "3 runs: slow, fast, middle; the charts show the median one, middle<br>";
    assert!(page.contains(lead), "{}", &page[..4000]);
    assert_eq!(page.matches("named-once").count(), 1);
}

/// It said 'Operations/s: second is 40 % higher (better)' of reads that the page cache served.
#[test]
fn operations_whose_reads_a_page_cache_served_are_not_faster() {
    let cached: Vec<Record> = (0..3).map(|_| fixture::page_cache_run()).collect();
    let diff = Diff::of(&group("direct", &[1.0, 1.01, 0.99]), &cached, Confidence::default()).unwrap();
    for name in ["operations_per_s", "operation_mean_us", "operation_p99_us"] {
        let metric = diff.metrics.iter().find(|metric| metric.name == name).unwrap();
        assert_eq!((metric.comparison, metric.difference_percent), (None, None), "{metric:?}");
        assert!(metric.refused.as_ref().unwrap().contains("Physical? of second is BAD"), "{metric:?}");
    }
    assert!(diff.statements.iter().all(|words| !words.starts_with("Operations/s: second is")));
}

#[test]
fn a_failed_run_can_be_compared() {
    let page = page(&[fixture::direct_read_run()], &[fixture::failed_run()]);
    assert!(page.contains("Not shown: ") && page.contains("Caution:"));
}

/// It said '215.6 % to 255.3 % higher (better)' of reads that the page cache served.
#[test]
fn reads_of_a_page_cache_are_not_better() {
    let cached: Vec<Record> = (0..3).map(|_| fixture::page_cache_run()).collect();
    let diff = Diff::of(&group("direct", &[1.0, 1.01, 0.99]), &cached, Confidence::default()).unwrap();
    let reads = diff.metrics.iter().find(|metric| metric.name == "physical_reads_per_s").unwrap();
    assert_eq!((reads.comparison, reads.difference_percent), (None, None));
    assert!(
        reads.refused.as_ref().unwrap().contains("Physical? of second is BAD (3 of 3 runs)"),
        "{reads:?}"
    );
    let spoken: Vec<_> = diff.statements.iter().filter(|words| words.contains("Physical reads/s")).collect();
    assert!(spoken.len() == 1 && spoken[0].contains("can't be compared"), "{spoken:?}");
    assert!(diff.statements.iter().all(|words| !words.contains("better")), "{:?}", diff.statements);
    assert!(!diff.are_good() && diff_page(&diff, &[], &[]).contains("Physical? of second is BAD"));
}
