use jiff::SignedDuration;
use slob_measure::OpKind;
use slob_page::Answer;
use slob_record::Record;

use super::*;
use slob_facts::figure;
use slob_testing::records;

/// Sound runs an hour apart with so many operations, within 1 %.
fn runs(operations: &[u64]) -> Vec<Record> {
    let run = |(at, operations): (usize, &u64)| {
        let mut record = records::direct_read_run();
        record.started += SignedDuration::from_hours(at as i64);
        record.id = format!("run-{at:03}");
        let select = record.operations.get_mut(&OpKind::Select).unwrap();
        select.operations = operations + at as u64 * 7 % 10 * operations / 1000;
        record
    };
    operations.iter().enumerate().map(run).collect()
}

fn trend_of(records: &[Record]) -> Trend {
    let runs = records.iter().map(|record| JudgedRun::of(&Run::of(record))).collect();
    let begin: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
    let missed = vec![MissedSlot { begin, end: begin + SignedDuration::from_hours(1), why: "away".into() }];
    let history = History { name: "a".into(), runs, missed };
    Trend::of(vec![history], &[&figure::OPERATIONS_PER_S, &figure::REDO_MB_PER_S], false).unwrap()
}

fn course(trend: &Trend) -> &Course {
    match &trend.histories[0].figures[0].found {
        Found::Known(course) => course,
        Found::NotKnown(why) => panic!("{why}"),
    }
}

#[test]
fn a_change_has_its_run_its_size_and_what_differs() {
    let mut records = runs(&[vec![20_000; 20], vec![22_000; 20]].concat());
    for record in &mut records[20..] {
        record.host.as_mut().unwrap().info.kernel = "9.9".into();
    }
    records.reverse();
    let trend = trend_of(&records);
    let [change] = course(&trend).changes.as_slice() else { panic!("{:?}", course(&trend).changes) };
    assert_eq!((change.run.as_str(), change.is_worse), ("run-020", Some(false)));
    assert!((change.comparison.percent - 10.0).abs() < 0.3, "{change:?}");
    assert_eq!(change.differs.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["kernel"]);
    assert_eq!(trend.worsened(), Outcome::Passed);
    let text = trend.text(None);
    assert!(text.contains("Missed         1 slot: Sat 2026-11-21 09:00 (away)"), "{text}");
    assert!(text.contains("Since Sat 2026-11-21 06:45 UTC (run-020)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= slob_page::WIDTH), "{text}");
    // A figure that is 0 in all runs is no figure of these.
    assert_eq!(trend.histories[0].figures.len(), 1);
    let page = trend.html();
    assert!(page.contains("data-chart=\"trend-0-operations_per_s\"") && page.contains("missed: away"));
}

#[test]
fn a_throttle_is_found_with_its_name_and_size() {
    let mut records = runs(&[vec![20_000; 20], vec![1_000; 20]].concat());
    for (at, record) in records.iter_mut().enumerate() {
        // Its CPUs are limited in all runs: that is a BAD verdict, which forbids no comparison.
        let mut server = records::half_a_cpu();
        let limits = server.limits.as_mut().unwrap();
        limits.io = ["259:0 riops=1000".to_owned()].into_iter().filter(|_| at >= 20).collect();
        record.observed = vec![server];
    }
    let trend = trend_of(&records);
    let text = trend.text(None).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("differ also in: I/O limit (none, then 259:0 riops=1000)"), "{text}");
    assert_eq!(trend.worsened(), Outcome::Failed);
    assert!(!text.contains("do not count"), "{text}");
    // Another run that does not count is named by its own verdict.
    records[3].status = slob_record::Status::Failed { error: "the disk went away".into() };
    let text = trend_of(&records).text(None).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("1 of 40 runs does not count, as Complete? is BAD"), "{text}");
}

/// One run is no change of the figure.
#[test]
fn a_limited_run_among_free_ones_is_named() {
    let mut records = runs(&[20_000; 3]);
    let text = |records: &[Record]| {
        let trend = trend_of(records);
        assert_eq!(trend.html().contains(">Limits<"), trend.text(None).contains("Limits"));
        trend.text(None).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!text(&records).contains("Limits"));
    let mut server = records::half_a_cpu();
    server.limits.as_mut().unwrap().cpus = None;
    records[0].observed = vec![server.clone()];
    server.limits.as_mut().unwrap().io = vec!["259:0 riops=1000".to_owned()];
    records[1].observed = vec![server];
    let words = format!("none in 2 runs; I/O limit 259:0 riops=1000 in 1 run, first {}", records[1].id);
    assert!(text(&records).contains(&words), "{}", text(&records));
}

/// `--fail-on-change` passed where nothing was known of the figure, or of a whole history.
#[test]
fn what_no_run_knows_is_not_known() {
    let history = |name: &str, records: &[Record]| {
        let runs = records.iter().map(|record| JudgedRun::of(&Run::of(record))).collect();
        History { name: name.into(), runs, missed: Vec::new() }
    };
    let sound = runs(&[20_000; 20]);
    let worsened = |histories, figures: &[&'static Figure], are_asked| {
        Trend::of(histories, figures, are_asked).unwrap().worsened()
    };
    let both = [&figure::OPERATIONS_PER_S, &figure::REDO_SYNC_P99_US];
    assert_eq!(worsened(vec![history("a", &sound)], &both, true), Outcome::NotKnown);
    assert_eq!(worsened(vec![history("a", &sound)], &both, false), Outcome::Passed);
    let with_an_empty_one = vec![history("a", &sound), history("b", &[])];
    assert_eq!(worsened(with_an_empty_one, &both[..1], false), Outcome::NotKnown);
}

/// Operations are faster from a page cache: that is no change of the platform.
#[test]
fn runs_with_a_bad_verdict_are_marked_and_do_not_count() {
    let mut records = runs(&[20_000; 40]);
    for record in &mut records[20..30] {
        let (id, started) = (record.id.clone(), record.started);
        *record = Record { id, started, ..records::page_cache_run() };
    }
    let trend = trend_of(&records);
    let figure = &trend.histories[0].figures[0];
    assert_eq!(figure.invalid, (20..30).collect::<Vec<_>>());
    assert_eq!(course(&trend).changes, []);
    let text = trend.text(None);
    assert!(text.contains("10 of 40 runs do not count, as Physical? is BAD"), "{text}");
    assert!(text.contains("No change found") && !trend.are_good(), "{text}");
    assert!(trend.html().contains("BAD "));
}

#[test]
fn too_few_runs_are_not_known_and_no_runs_are_refused() {
    let trend = trend_of(&runs(&[20_000; 15]));
    assert!(trend.text(None).contains("not known: 15 runs count; a trend needs 16"), "{}", trend.text(None));
    assert_eq!(trend.worsened(), Outcome::NotKnown);
    assert_eq!(Trend::of(Vec::new(), &[], false).unwrap_err(), NoTrend::NoRuns);
}
