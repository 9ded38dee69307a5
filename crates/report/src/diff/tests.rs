use super::*;
use rstest::rstest;
use slob_measure::{Counter, LatencyKind};
use slob_page::Answer;
use slob_page::WIDTH;
use slob_testing::records;

fn two(first: &[Record], second: &[Record]) -> Diff {
    Diff::of(&[("first", first), ("second", second)], Confidence::default()).unwrap()
}

fn assert_stated(statements: &[String], words: &str) {
    assert!(statements.iter().any(|statement| statement.contains(words)), "{statements:?}");
}

fn find<'a>(diff: &'a Diff, name: &str) -> &'a Metric {
    diff.metrics.iter().find(|metric| metric.name == name).unwrap()
}

impl Metric {
    fn pair(&self) -> &Difference {
        match &self.compared {
            Compared::Pair(difference) => difference,
            Compared::Ranked(ranking) => panic!("{ranking:?}"),
        }
    }

    fn ranking(&self) -> &Ranking {
        match &self.compared {
            Compared::Ranked(ranking) => ranking,
            Compared::Pair(difference) => panic!("{difference:?}"),
        }
    }
}

/// The direct run with its counts and times stretched: `rate` times the operations, `latency` times as long.
fn repeated(id: &str, rate: f64, latency_ns: u64) -> Record {
    let mut record = records::direct_read_run();
    record.id = id.into();
    let operations = (18_000.0 * rate) as u64;
    let select = record.operations.values_mut().next().unwrap();
    (select.operations, select.rows) = (operations, operations * 64);
    select.latency = records::spread(operations, latency_ns);
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
    let diff = two(&[records::direct_read_run()], &[records::page_cache_run()]);
    assert_stated(&diff.statements, "repeat both sides");
    insta::assert_snapshot!(diff.text(None));
}

#[test]
fn groups_that_differ() {
    let mut second = group("raw", &[1.050, 1.046, 1.054]);
    for record in &mut second {
        record.configuration[0].value = "10".into();
        record.host.as_mut().unwrap().device.as_mut().unwrap().device.file_system = "ext4".into();
    }
    let diff = two(&group("xfs", &[1.0, 1.004, 0.997]), &second);
    assert_stated(&diff.statements[..1], "faster than first (better)");
    insta::assert_snapshot!(diff.text(None));
}

#[test]
fn one_figure_in_a_thousand_is_said_with_its_thousands() {
    let [first, second] = ["a", "b"].map(|name| group(name, &[1.0, 1.01, 0.99]));
    let text =
        Diff::of(&[("first", &first), ("second", &second)], "99.9".parse().unwrap()).unwrap().text(None);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("with 99.9 % confidence") && words.contains("one figure in 1,000 is"), "{text}");
}

#[test]
fn other_statements_for_the_same_operations_are_a_warning() {
    let warned = |first: &[Record], second: &[Record]| {
        let diff = two(first, second);
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
    let diff = two(&group("a", &[1.0, 1.03, 0.97]), &group("b", &[1.01, 0.99, 1.02]));
    let words = "Operations/s: no difference between first and second found: the noise is";
    assert_stated(&diff.statements[..1], words);
    assert!(diff.changes.is_empty());
}

#[test]
fn equal_bounds_of_buckets_are_not_no_noise() {
    let coarse = |mut runs: Vec<Record>| {
        for record in &mut runs {
            let total = slob_measure::WaitTotal { waits: 1000, time_us: 140_000 };
            records::with_exact(record, LatencyKind::PhysicalRead, total);
        }
        runs
    };
    let (first, second) = (group("a", &[1.0, 1.01, 0.99]), group("b", &[1.0, 1.02, 0.98]));
    let p99 = |first: &[Record], second: &[Record]| find(&two(first, second), "physical_read_p99_us").clone();
    assert!(p99(&first, &second).pair().comparison.is_some());
    let bounds = p99(&coarse(first), &coarse(second));
    assert!(bounds.means[0].is_some() && bounds.pair().comparison.is_none(), "{bounds:?}");
}

#[test]
fn a_side_without_a_window_is_named_and_its_figures_are_absent() {
    let diff = two(&[records::failed_run()], &[records::update_run()]);
    let text = diff.text(None);
    assert!(text.contains("Caution: 20261120T120000Z-direct failed"), "{text}");
    let reads = find(&diff, "physical_reads_per_s");
    assert_eq!((reads.means[0], reads.pair().difference_percent), (None, None));
    assert!(reads.means[1].is_some() && reads.pair().comparison.is_none());
}

#[test]
fn a_run_that_does_not_know_a_figure_is_not_averaged_away() {
    let mut second = group("b", &[1.01, 0.99]);
    records::uncounted(&mut second[0], Counter::PhysicalReads);
    let diff = two(&group("a", &[1.0, 1.03]), &second);
    let reads = find(&diff, "physical_reads_per_s");
    assert!(reads.means[1].is_some() && reads.pair().comparison.is_none());
}

#[test]
fn a_run_against_itself_is_the_same() {
    let run = [records::update_run()];
    let diff = two(&run, &run);
    assert!(diff.changes.is_empty());
    let moved: Vec<_> = diff
        .metrics
        .iter()
        .filter(|metric| metric.pair().difference_percent.is_some_and(|d| d != 0.0))
        .collect();
    assert!(moved.is_empty(), "{moved:?}");
    assert_stated(&diff.statements[..1], "second is the same as first");
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
    for (first, second) in [(&group("a", &[1.0, 1.0]), &second), (&vec![records::failed_run()], &second)] {
        let text = two(first, second).text(None);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}

#[test]
fn what_can_not_be_compared() {
    let run = [records::update_run()];
    let of = |groups: &[NamedRuns<'_>]| Diff::of(groups, Confidence::default()).unwrap_err();
    assert_eq!(of(&[("a", &[]), ("b", &run)]), DiffError("a".into()));
    assert_eq!(of(&[("a", &run), ("b", &run), ("c", &[])]), DiffError("c".into()));
}

#[rstest]
#[case(&[100.0, 101.0, 99.5], &[104.4, 105.0, 104.0], Better::Higher, "second is 2.7 % to 5.9 % faster than first (better).")]
#[case(&[104.4, 105.0, 104.0], &[100.0, 101.0, 99.5], Better::Higher, "second is 2.6 % to 5.6 % slower than first (worse).")]
#[case(&[100.0, 104.0, 97.0], &[101.0, 98.0, 104.0], Better::Higher, "no difference between first and second found: the noise is ")]
#[case(&[100.0], &[110.0], Better::Higher, "second is 10.0 % faster than first (a side has a single run).")]
#[case(&[100.0], &[100.0], Better::Higher, "second is the same as first")]
fn statements_are_plain_words(
    #[case] first: &[f64],
    #[case] second: &[f64],
    #[case] better: Better,
    #[case] expected: &str,
) {
    let comparison = Comparison::of(first, second, 0.95).unwrap();
    let sentence =
        crate::change::Change { first: "first", second: "second", words: ["faster", "slower"], better }
            .sentence(&comparison);
    assert!(sentence.starts_with(expected), "{sentence}");
}

fn page(first: &[Record], second: &[Record]) -> String {
    two(first, second).with_charts(&[("first", first), ("second", second)]).html()
}

#[test]
fn both_runs_are_in_one_chart_and_all_tables_are_on_the_page() {
    let page = page(&[records::direct_read_run()], &[records::page_cache_run()]);
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
        let mut record = records::direct_read_run();
        record.id = name.into();
        record.operations.values_mut().for_each(|totals| totals.operations *= times);
        record
    };
    let group = [run("slow", 1), run("fast", 9), run("middle", 3)];
    assert_eq!(views::median(&group).unwrap().id, "middle");
    let page = page(&group, &[run("named-once", 2)]);
    let lead = "3 runs: slow, fast, middle; the charts show the median one, middle<br>";
    assert!(page.contains(lead), "{}", &page[..4000]);
    assert_eq!(page.matches("named-once").count(), 1);
}

#[test]
fn responses_lead_if_they_do_in_any_run() {
    let diff = two(&[records::crowded_run()], &[records::crowded_run()]);
    assert_eq!(diff.leads, slob_facts::Lead::Response);
    let latencies = diff.metrics.iter().filter(|metric| metric.section == "Latency (us)");
    let names: Vec<&str> = latencies.map(|metric| metric.name).collect();
    assert_eq!((names[0], names[7]), ("response_mean_us", "operation_mean_us"));
    assert_stated(&diff.statements, "p99 of a response: ");
    let sound = two(&[records::direct_read_run()], &[records::direct_read_run()]);
    assert!(sound.metrics.iter().all(|metric| !metric.name.starts_with("response")));
    assert_stated(&sound.statements, "p99 of an operation: ");
}

#[test]
fn a_failed_run_can_be_compared() {
    let page = page(&[records::direct_read_run()], &[records::failed_run()]);
    assert!(page.contains("Not shown: ") && page.contains("Caution:"));
}

#[test]
fn reads_of_a_page_cache_are_not_better_nor_are_operations_with_them() {
    let cached: Vec<Record> = (0..3).map(|_| records::page_cache_run()).collect();
    let diff = two(&group("direct", &[1.0, 1.01, 0.99]), &cached);
    for name in ["physical_reads_per_s", "operations_per_s", "operation_mean_us", "operation_p99_us"] {
        let metric = find(&diff, name);
        assert_eq!((metric.pair().comparison, metric.pair().difference_percent), (None, None), "{metric:?}");
        let why = metric.refused.as_ref().unwrap();
        assert!(why.contains("Physical? of second is BAD (3 of 3 runs)"), "{why}");
    }
    assert!(diff.statements.iter().all(|words| !words.starts_with("Operations/s: second is")));
    let spoken: Vec<_> = diff.statements.iter().filter(|words| words.contains("Physical reads/s")).collect();
    assert!(spoken.len() == 1 && spoken[0].contains("can't be compared"), "{spoken:?}");
    assert!(diff.statements.iter().all(|words| !words.contains("better")), "{:?}", diff.statements);
    assert!(!diff.are_good() && diff.html().contains("Physical? of second is BAD"));
}

fn of_many(groups: &[(&str, Vec<Record>)], confidence: &str) -> Diff {
    let groups: Vec<NamedRuns<'_>> = groups.iter().map(|(name, runs)| (*name, runs.as_slice())).collect();
    Diff::of(&groups, confidence.parse().unwrap()).unwrap()
}

/// Two that noise does not tell apart, one that is slower, and one that the page cache served.
fn platforms() -> Vec<(&'static str, Vec<Record>)> {
    let slower = group("kvm", &[0.80, 0.81, 0.79]);
    let cached = (0..3).map(|_| records::page_cache_run()).collect();
    vec![
        ("metal", group("metal", &[1.0, 1.01, 0.99])),
        ("xen", group("xen", &[1.002, 1.012, 0.985])),
        ("kvm", slower),
        ("cached", cached),
    ]
}

#[test]
fn several_groups() {
    insta::assert_snapshot!(of_many(&platforms(), "95").text(None));
}

#[test]
fn the_best_and_what_noise_does_not_tell_from_it_are_marked() {
    let sound = &platforms()[..3];
    let diff = of_many(sound, "95");
    let rate = find(&diff, "operations_per_s").ranking();
    assert_eq!(rate.best, ["metal", "xen"]);
    assert!(rate.invalid.is_empty() && rate.intervals.iter().all(Option::is_some));
    // Lower is better, and what has no better side has no best.
    assert_eq!(find(&diff, "operation_p99_us").ranking().best, ["metal", "xen"]);
    assert!(find(&diff, "db_cpus").ranking().best.is_empty());
    assert_stated(&diff.statements[..1], "Operations/s: metal and xen are best, without a difference");
    let apart = [
        ("a", group("a", &[1.0, 1.01, 0.99])),
        ("b", group("b", &[1.2, 1.21, 1.19])),
        ("c", group("c", &[0.5, 0.51, 0.49])),
    ];
    let diff = of_many(&apart, "95");
    assert_stated(&diff.statements[..1], "Operations/s: b is best, ");
    assert_stated(&diff.statements[..1], "faster than a, the next.");
    assert_eq!(find(&diff, "operation_p99_us").ranking().best, ["b"]);
}

#[test]
fn groups_that_noise_does_not_tell_apart_have_no_best() {
    let same = ["a", "b", "c"].map(|name| (name, group(name, &[1.0, 1.03, 0.97])));
    let diff = of_many(&same, "95");
    assert!(diff.metrics.iter().all(|metric| metric.ranking().best.is_empty()));
    assert_stated(&diff.statements[..1], "no difference found");
}

#[test]
fn a_group_with_a_bad_verdict_is_never_best() {
    let diff = of_many(&platforms(), "95");
    assert!(diff.metrics.iter().all(|metric| !metric.ranking().best.contains(&"cached".to_owned())));
    let reads = find(&diff, "physical_reads_per_s");
    assert_eq!(reads.ranking().invalid, ["cached"]);
    assert!(reads.refused.as_ref().unwrap().contains("Physical? of cached is BAD (3 of 3 runs)"));
    // The sound ones are ranked without it.
    assert_eq!(reads.ranking().best, ["metal", "xen"]);
    assert_stated(&diff.statements, "a verdict is BAD: cached.");
    assert!(!diff.are_good());
}

/// A page cache serves each of them another part.
#[test]
fn groups_with_the_same_bad_verdict_are_not_ranked_by_what_rests_on_it() {
    let cached = |id: &str, times: u64| {
        let mut record = records::page_cache_run();
        record.id = id.into();
        record.operations.values_mut().for_each(|kind| kind.operations *= times);
        vec![record]
    };
    let diff = of_many(&[("a", cached("a", 1)), ("b", cached("b", 3)), ("c", cached("c", 2))], "95");
    for name in ["operations_per_s", "physical_reads_per_s"] {
        let ranking = find(&diff, name).ranking();
        assert!(ranking.best.is_empty() && ranking.invalid == ["a", "b", "c"], "{ranking:?}");
    }
    // Only a verdict that others do not share excludes a group from the other figures.
    assert!(diff.statements.iter().all(|words| !words.contains("Not ranked")), "{:?}", diff.statements);
}

#[test]
fn single_runs_have_a_best_and_a_caution() {
    let runs = [("a", 1.0), ("b", 1.2), ("c", 0.5)].map(|(name, rate)| (name, group(name, &[rate])));
    let diff = of_many(&runs, "95");
    assert_eq!(find(&diff, "operations_per_s").ranking().best, ["b"]);
    assert_stated(&diff.statements, "can't show whether");
}

#[test]
fn json_has_a_list_of_groups_only_if_there_are_more_than_two() {
    let json = |groups: &[(&str, Vec<Record>)]| serde_json::to_value(of_many(groups, "95")).unwrap();
    let (pair, more) = (json(&platforms()[..2]), json(&platforms()));
    let rate = |json: &serde_json::Value| {
        let metrics = json["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["name"] == "operations_per_s").unwrap().clone()
    };
    assert!(pair["first"]["runs"].is_array() && pair["groups"].is_null());
    assert!(rate(&pair)["second"].is_number() && rate(&pair)["comparison"]["percent"].is_number());
    assert_eq!(more["groups"][3]["name"], "cached");
    assert_eq!(rate(&more)["groups"].as_array().unwrap().len(), 4);
    assert_eq!(rate(&more)["best"], serde_json::json!(["metal", "xen"]));
    assert!(more["distributions"][0]["rows"][0]["groups"].is_array());
}

#[test]
fn distributions_hold_every_duration_of_each_group() {
    let diff = of_many(&platforms(), "95");
    let names: Vec<&str> = diff.distributions.iter().map(|own| own.name).collect();
    assert_eq!(names, ["operations", "physical reads"]);
    for distribution in &diff.distributions {
        for (group, number) in distribution.counts.iter().enumerate() {
            let shares = distribution.rows.iter().map(|row| row.percents[group]);
            let sum: Option<f64> = shares.sum();
            assert_eq!(
                sum.map(|sum| (sum * 1e6).round()),
                number.map(|_| 1e8),
                "{} of {group}",
                distribution.name
            );
        }
    }
    // PostgreSQL does not time single reads.
    assert_eq!(diff.distributions[1].counts[3], None);
}

#[test]
fn ten_groups_have_their_lines_in_one_chart_and_no_line_of_text_is_too_wide() {
    let groups: Vec<(String, Vec<Record>)> =
        (0..10).map(|n| (format!("platform-{n}"), group("p", &[1.0, 1.01 + f64::from(n)]))).collect();
    let named: Vec<NamedRuns<'_>> =
        groups.iter().map(|(name, runs)| (name.as_str(), runs.as_slice())).collect();
    let diff = Diff::of(&named, Confidence::default()).unwrap();
    let text = diff.text(None);
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let page = diff.with_charts(&named).html();
    for chart in [
        "reads-over-time-line0",
        "latency-over-time-line2",
        "distribution-operations",
        "host-cpu-line0",
        "latency-heat-map-10",
    ] {
        assert_eq!(page.matches(&format!("data-chart=\"{chart}\"")).count(), 1, "{chart}");
    }
    assert_eq!(page.matches("data-chart=\"session-operations").count(), 0);
}
