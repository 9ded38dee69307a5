use std::num::{NonZeroU32, NonZeroU64};

use slob_measure::Debt;
use slob_record::AutoWarmUp;
use slob_record::{
    EndpointRecord, Interval, LossRecord, Mark, ObservedRecord, ReportedPair, ServerReportRecord,
    SessionRecord, UntilSteady,
};

use super::*;
use crate::Confidence;
use crate::diff::Diff;
use slob_facts::ceiling::limited_probe;
use slob_measure::{Counter, Latencies, LatencyKind, OpKind};
use slob_page::{Answer, WIDTH};
use slob_stats::{Histogram, Series};
use slob_testing::records;

#[test]
fn a_good_run_with_direct_io() {
    insta::assert_snapshot!(text_report(&records::direct_read_run(), None));
}

#[test]
fn a_run_that_the_page_cache_served() {
    insta::assert_snapshot!(text_report(&records::page_cache_run(), None));
}

#[test]
fn a_run_with_updates() {
    insta::assert_snapshot!(text_report(&records::update_run(), None));
}

#[test]
fn a_run_that_failed_before_its_window() {
    insta::assert_snapshot!(text_report(&records::failed_run(), None));
}

#[test]
fn no_line_is_wider_than_the_page() {
    let mut records =
        [records::direct_read_run(), records::page_cache_run(), records::update_run(), records::failed_run()];
    for record in &mut records {
        record.target = "x".repeat(300);
        record.server.settings.push(slob_measure::Setting { name: "n".repeat(80), value: "v".repeat(200) });
        record.configuration.push(slob_record::ConfigEntry {
            key: "K".repeat(50),
            value: "v ".repeat(100),
            origin: "command line".into(),
        });
        record.notes.push("word ".repeat(60));
        // Ten million a second of everything.
        record.counters = record.counters.iter().map(|(counter, _)| (counter, 600_000_000)).collect();
        let text = text_report(record, None);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        assert!(text.lines().all(|line| line.trim_end() == line));
    }
}

#[test]
fn an_eventful_run_has_something_for_every_section() {
    let record = records::eventful_run();
    let figures = Run::of(&record);
    let text = text_report(&record, None);
    for section in SECTIONS {
        let mut page = Page::default();
        section.write(&mut page, &figures);
        let alone = page.into_text(None);
        assert!(!alone.trim().is_empty() && text.contains(&alone), "{alone}");
    }
}

/// Single blanks separate words.
fn unwrapped(record: &Record) -> String {
    text_report(record, None).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_interrupted_run_stands_out() {
    let mut record = records::direct_read_run();
    record.status = slob_record::Status::Interrupted;
    assert!(text_report(&record, None).contains("*** INTERRUPTED ***"));
}

#[test]
fn nothing_is_claimed_of_a_run_that_was_interrupted_before_its_window() {
    let mut record = records::direct_read_run();
    record.status = slob_record::Status::Interrupted;
    record.window = None;
    let text = unwrapped(&record);
    assert!(text.contains("before the measured window: nothing was measured"), "{text}");
    assert!(!text.contains("is valid") && !text.contains("This run had"), "{text}");
    assert!(text.contains("random read, in flight"), "the probe itself is still shown: {text}");
}

#[test]
fn a_run_above_its_probe_is_advised_to_probe_again() {
    let mut record = records::direct_read_run();
    let steps = &mut record.probe.as_mut().unwrap().result.steps;
    steps.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = 1_775.0);
    let text = unwrapped(&record);
    let said = "more than the probe: probe again with more sessions or depth";
    // Below the key figures and below the probe.
    assert_eq!(text.matches(said).count(), 2, "{text}");
    assert!(!text.contains("1,09"), "{text}");
    let summary = crate::compact_summary(&record, None);
    let words: Vec<&str> = summary.split_whitespace().collect();
    assert!(words.join(" ").contains("from the device: more than the probe"), "{summary}");
    record.probe.as_mut().unwrap().result.limits = Some(slob_host::GroupLimits::default());
    assert_eq!(unwrapped(&record).matches("held back by limits: probe again without them").count(), 2);
}

#[test]
fn a_probe_that_does_not_fit_is_shown_and_not_compared() {
    let mut record = records::direct_read_run();
    record.probe.as_mut().unwrap().result.plan.direct = false;
    let text = unwrapped(&record);
    assert!(text.contains("This probe is not a ceiling for this run"), "{text}");
}

#[test]
fn both_the_counted_device_and_the_disk_below_are_named() {
    let mut record = records::direct_read_run();
    let device = |record: &Record| {
        let text = text_report(record, None);
        text.lines().find(|line| line.starts_with("Device  ")).unwrap().to_owned()
    };
    assert!(device(&record).contains(" nvme0n1p1, on nvme0n1 (Example"), "{}", device(&record));
    let found = record.host.as_mut().unwrap().device.as_mut().unwrap();
    found.device.top = Some(found.device.disks[0].id.clone());
    assert!(device(&record).contains("  nvme0n1 (Example"), "{}", device(&record));
}

#[test]
fn the_hot_schema_is_named_in_english() {
    let mut record = records::direct_read_run();
    record.workload.hot_schema_every = NonZeroU32::new(1);
    assert!(unwrapped(&record).contains("every operation to schema 1"));
    record.workload.hot_schema_every = NonZeroU32::new(3);
    assert!(unwrapped(&record).contains("every 3rd operation to schema 1"));
}

#[test]
fn syncs_are_not_shown_as_writes_of_the_log() {
    let mut record = records::update_run();
    let redo = |record: &Record| {
        let text = text_report(record, None);
        let line = text.lines().find(|line| line.starts_with("  Redo  ")).unwrap();
        let cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        (cells, text)
    };
    let (cells, text) = redo(&record);
    assert_eq!(cells, ["Redo", "7,733", "63.4"]);
    assert!(text.contains("flushed to stable storage 125.7 times/s"), "{text}");
    records::uncounted(&mut record, Counter::RedoWrites);
    assert_eq!(redo(&record).0, ["Redo", "-", "63.4"]);
}

#[test]
fn reads_of_the_disks_are_shown_beside_the_device_on_top() {
    let mut record = records::direct_read_run();
    assert!(!unwrapped(&record).contains("The disks below it"));
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    device.counters.as_mut().unwrap().disk_read_bytes = Some(600_000_000);
    assert!(unwrapped(&record).contains("The disks below it (nvme0n1) read 10.0 MB/s"));
}

#[test]
fn bounds_of_a_databases_own_buckets_are_marked_everywhere() {
    let mut record = records::direct_read_run();
    let mut reads = slob_stats::Histogram::new();
    reads.record_n(256_000, 900);
    reads.record_n(512_000, 100);
    record.latencies.set(LatencyKind::PhysicalRead, reads);
    let total = slob_measure::WaitTotal { waits: 1000, time_us: 156_000 };
    records::with_exact(&mut record, LatencyKind::PhysicalRead, total);
    let text = unwrapped(&record);
    for words in
        ["mean 156, p50 <= 256, p90 <= 256, p99 <= 512", "<= 512 us", "those marked '<=' are upper bounds"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let wide = text_report(&record, None).lines().map(|line| line.chars().count()).max();
    assert!(wide <= Some(WIDTH), "{wide:?}");
}

fn section(write: fn(&mut Page, &Run<'_>), record: &Record) -> String {
    let mut page = Page::default();
    write(&mut page, &Run::of(record));
    page.into_text(None)
}

#[test]
fn a_summary_of_a_good_run() {
    insta::assert_snapshot!(compact_summary(&records::direct_read_run(), None));
}

/// The summary led with 12.9 ms, and the sessions waited 48.3 ms.
#[test]
fn responses_lead_where_sessions_wait_outside_operations() {
    let record = records::crowded_run();
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let summary = words(compact_summary(&record, None));
    let led = "300 operations/s; responses (mean 48.3 ms, p99 134 ms); operations alone (mean 12.9 ms, p99 35.9 ms); 3.86 of 16 \
               sessions in flight";
    assert!(summary.contains(led), "{summary}");
    let report = text_report(&record, None);
    let key = report.find("p99 of a").unwrap();
    assert!(words(report[key..].to_owned()).contains("response"), "{report}");
    let page = crate::html::run_page(&record);
    let card = page.find("p99 of a response").unwrap();
    assert!(
        card < page.find("Physical reads/s (IOPS)").unwrap()
            && page.contains("operations alone took 12.9 ms")
    );
    let chart = |id: &str| page.find(&format!("data-chart=\"{id}\"")).unwrap();
    assert!(chart("response-over-time") < chart("latency-heat-map"));
    assert!(!compact_summary(&records::direct_read_run(), None).contains("response"));
}

/// It said 'mean -, p99 -' and '- % of the device's ceiling'.
#[test]
fn a_summary_has_reasons_in_place_of_dashes() {
    let mut record = records::direct_read_run();
    record.latencies = Latencies::default();
    record.probe = None;
    let text = compact_summary(&record, None);
    let head: Vec<&str> = text.lines().skip(1).take_while(|line| !line.contains("Physical?")).collect();
    let head = head.join(" ");
    assert!(!head.contains(" -") && !head.contains("-,"), "{head}");
    for words in [
        "reads/s (the database does not time them: `slob doctor`",
        "the device was not probed: `slob doctor`",
    ] {
        assert!(head.contains(words), "{head}");
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_summary_says_that_its_warm_up_ended_at_the_limit_and_not_steady() {
    let mut record = records::direct_read_run();
    let words = "The load was not steady yet when its warm-up ended at the limit of 20.0 s";
    for (reached, is_said) in [(false, true), (true, false)] {
        let steady = UntilSteady { reached, ..UntilSteady::default() };
        record.warm_up = Some(AutoWarmUp { seconds: 20.0, steady, ..AutoWarmUp::default() });
        for text in [compact_summary(&record, None), text_report(&record, None)] {
            assert_eq!(in_one_line(&text).contains(words), is_said, "{reached}");
        }
    }
    record.window = None;
    assert!(!in_one_line(&compact_summary(&record, None)).contains(words));
}

/// '97.4 % of the device's ceiling' was said of a ceiling that a control group held.
#[test]
fn a_share_of_the_ceiling_comes_with_the_limits_of_its_probe() {
    let mut record = records::direct_read_run();
    let words = "may be that of the probe's own limits: I/O 8:0 riops=3000, of the control group /held";
    assert!(!in_one_line(&compact_summary(&record, None)).contains("own limits"));
    let io = vec!["8:0 riops=3000".to_owned()];
    let limits = slob_host::GroupLimits { io, path: "/held".into(), ..Default::default() };
    assert_eq!(limited_probe(&record), None);
    record.probe.as_mut().unwrap().result.limits = Some(limits);
    assert!(
        limited_probe(&record).unwrap().ends_with(
            "was probed within limits: I/O 8:0 riops=3000, of the control group /held (version 0)"
        )
    );
    let json = serde_json::to_string(&Run::of(&record).verdicts()).unwrap();
    for text in [compact_summary(&record, None), text_report(&record, None), json] {
        assert!(in_one_line(&text).contains(words), "{text}");
    }
}

#[test]
fn a_summary_of_a_failed_run() {
    insta::assert_snapshot!(compact_summary(&records::failed_run(), None));
}

#[test]
fn each_server_has_its_row_and_the_busiest_comes_first() {
    insta::assert_snapshot!(section(course::hosts, &records::eventful_run()));
}

#[test]
fn a_server_that_was_not_observed_comes_last_and_one_server_needs_no_table() {
    let mut record = records::eventful_run();
    record.observed[0] = ObservedRecord {
        endpoint: Some("db0:5000".into()),
        by: "ssh:db0".into(),
        found: "ssh says: no route".into(),
        ..ObservedRecord::default()
    };
    let last = section(course::hosts, &record);
    let rows: Vec<&str> = last.lines().filter(|line| line.trim().starts_with("db")).collect();
    assert!(rows.len() == 4 && rows[1].trim().starts_with("db0:5000"), "{last}");
    assert_eq!(rows[1].split_whitespace().skip(1).collect::<Vec<_>>(), ["-"; 7], "{last}");
    record.observed.truncate(1);
    assert_eq!(section(course::hosts, &record), "");
}

#[test]
fn each_endpoint_has_its_row_and_a_shared_server_is_named() {
    let mut record = records::direct_read_run();
    assert_eq!(section(course::endpoints, &record), "", "one server needs no table");
    let endpoint = |name: &str, shares_with: Option<&str>| EndpointRecord {
        endpoint: name.into(),
        sessions: 2,
        operations: record.operations.clone(),
        counters: shares_with.is_none().then(|| record.counters.clone()),
        shares_with: shares_with.map(str::to_owned),
    };
    record.endpoints = vec![endpoint("a:1", None), endpoint("b:1", Some("a:1"))];
    let text = section(course::endpoints, &record);
    let line = |name: &str| {
        text.lines().map(str::trim).find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
    };
    assert_eq!(line("a:1").split_whitespace().count(), 8, "{text}");
    assert_eq!(line("b:1").split_whitespace().rev().take(3).collect::<Vec<_>>(), ["-"; 3], "{text}");
    assert!(text.contains("b:1 is the same server as a:1"), "{text}");
}

#[test]
fn waits_of_the_servers_own_processes_have_a_section_of_their_own() {
    let mut record = records::page_cache_run();
    record.events[0].background = true;
    let text = section(load::background_events, &record);
    assert!(text.contains("own processes") && text.contains(&record.events[0].name), "{text}");
}

#[test]
fn the_outcome_of_until_steady_is_a_fact() {
    let mut record = records::direct_read_run();
    let mut text = |until: UntilSteady| {
        record.until_steady = Some(until);
        section(setup::test, &record).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let until = UntilSteady {
        reached: true,
        tolerance_percent: 3.0,
        window_s: 10,
        since_s: Some(20),
        operations_per_s: vec![990.0, 1000.0, 1010.0],
    };
    let reached = text(until.clone());
    assert!(reached.contains("steady reached: the last 3 windows of 10 s, from second 20 on"), "{reached}");
    assert!(reached.contains("990, 1,000, 1,010 operations/s, 2.0 % apart; 3 % asked for"), "{reached}");
    assert!(text(UntilSteady { reached: false, ..until.clone() }).contains("steady NOT reached"));
    let short = UntilSteady { reached: false, since_s: None, operations_per_s: Vec::new(), ..until };
    assert!(text(short).contains("steady not known"));
}

#[test]
fn an_automatic_warm_up_says_how_it_ended() {
    let mut record = records::direct_read_run();
    let steady = UntilSteady {
        reached: true,
        tolerance_percent: 3.0,
        window_s: 5,
        since_s: Some(8),
        operations_per_s: vec![995.0, 1000.0, 1005.0],
    };
    let warm_up = AutoWarmUp {
        at_most_s: 300.0,
        seconds: 25.0,
        steady,
        responses_us: vec![990.0, 1000.0, 1010.0],
        debts_at_begin: Vec::new(),
        debts_at_end: Vec::new(),
    };
    let mut text = |warm_up: AutoWarmUp| {
        record.warm_up = Some(warm_up);
        section(setup::test, &record).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let windows = "the last 3 windows of 5 s, from second 8 on, did 995, 1,000, 1,005 operations/s, 1.0 % apart, their \
                   response times 2.0 %; 3 % is steady";
    let said = text(warm_up.clone());
    assert!(said.contains(&format!("Warm-up steady after 25 s of at most 300 s: {windows}")), "{said}");
    let limit = UntilSteady { reached: false, ..warm_up.steady.clone() };
    let said = text(AutoWarmUp { seconds: 300.0, steady: limit, ..warm_up.clone() });
    assert!(said.contains("Warm-up NOT steady after 300 s of at most 300 s: the last 3"), "{said}");
    let debts_at_begin =
        vec![Debt::new("history", 12_000, "undo logs"), Debt::under_way("checkpoint", 1, "")];
    let said = text(AutoWarmUp { debts_at_begin, ..warm_up.clone() });
    let left = "3 % is steady; earlier work had left history (12,000 undo logs), checkpoint at its begin, nothing at its end";
    assert!(said.contains(left), "{said}");
    let short = UntilSteady { reached: false, since_s: None, operations_per_s: Vec::new(), ..warm_up.steady };
    let said =
        text(AutoWarmUp { at_most_s: 3.0, seconds: 3.0, steady: short, responses_us: Vec::new(), ..warm_up });
    assert!(said.contains("Warm-up NOT steady after 3 s: 3 s at most are too few to compare"), "{said}");
}

#[test]
fn each_loss_has_a_row_up_to_twenty() {
    let mut record = records::direct_read_run();
    let loss = |session: u32| LossRecord {
        session,
        endpoint: 0,
        at_s: 3.0 + f64::from(session),
        error: "the server went away".into(),
        back_s: (session > 0).then(|| 3.5 + f64::from(session)),
        back_endpoint: (session > 0).then_some(1),
        refused: Some("schema 1 is not loaded".into()),
    };
    record.losses = (0..25).map(loss).collect();
    let text = section(course::losses, &record).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("went away").count(), 19, "{text}");
    assert_eq!(text.matches("not loaded").count(), 1, "{text}");
    assert!(text.contains("25 losses") && text.contains("24 reconnected, after 0.50 s"), "{text}");
    assert!(text.contains("never") && text.contains("5 more are in run.json"), "{text}");
}

#[test]
fn marks_have_their_place_in_the_window() {
    // The window is 10.25 to 70.25 s.
    let mut record = records::direct_read_run();
    assert_eq!(section(course::marks, &record), "");
    record.marks = [(-0.5, "early"), (30.25, "rebalance"), (71.0, "late")]
        .map(|(at_s, text)| Mark { at_s, text: text.into() })
        .into();
    let text = section(course::marks, &record);
    for (mark, place) in [("early", "before it"), ("rebalance", "second 20.0"), ("late", "after it")] {
        assert!(text.lines().any(|line| line.contains(mark) && line.contains(place)), "{text}");
    }
}

#[test]
fn figures_of_the_run_are_beside_those_of_the_servers_report() {
    let mut record = records::direct_read_run();
    assert_eq!(section(course::server_report, &record), "");
    let pair = |what: &str, ours, reported| ReportedPair { what: what.into(), ours, reported };
    record.server_report = Some(ServerReportRecord {
        kind: "awr".into(),
        snapshots: [41, 42],
        files: vec!["awr.txt".into(), "awr.html".into()],
        seconds: Some(61.5),
        pairs: vec![pair("Logical reads/s", 86_400.0, 86_000.0), pair("Redo bytes/s", 0.0, 52.0)],
    });
    let text = section(course::server_report, &record);
    for words in [
        "awr, snapshots 41 and 42",
        "awr.txt, awr.html, beside",
        "61.5; the window has 60.0",
        "1 of 2 differ by more than 5 %",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    let line = text.lines().find(|line| line.contains("Logical reads/s")).unwrap();
    assert!(line.contains("86,400") && line.contains("86,000") && line.contains("-0.5"), "{line}");
}

#[test]
fn the_slowest_session_is_named_if_the_spread_is_wide() {
    let text = |record: &Record| section(course::sessions, record);
    let mut record = records::direct_read_run();
    assert!(!text(&record).contains("Slowest"), "{}", text(&record));
    record.sessions[2].busy_us = record.sessions[2].busy_us * 13 / 10;
    assert!(text(&record).contains("Slowest: session 2 on schema 1"), "{}", text(&record));
    let failed = SessionRecord { error: Some("gone".into()), ..record.sessions[0].clone() };
    record.sessions = vec![failed; 7];
    assert_eq!(text(&record).matches("ended with an error: gone").count(), 5);
    assert!(text(&record).contains("2 more sessions"));
    record.sessions.truncate(1);
    (record.sessions[0].selects, record.sessions[0].busy_us) = (0, 0);
    let idle = text(&record);
    assert!(idle.contains("Mean latency (us)      -       -     -         -"), "{idle}");
}

/// A server on Windows times operations in steps of a millisecond.
#[test]
fn latencies_below_the_step_of_the_servers_clock_are_blank_in_every_view() {
    let sound = records::direct_read_run();
    let mut record = sound.clone();
    let mut durations = Histogram::new();
    durations.record_n(0, 17_000);
    durations.record_n(1_000_000, 700);
    durations.record_n(2_000_000, 300);
    durations.set_clock_step(NonZeroU64::new(1_000_000));
    record.operations.get_mut(&OpKind::Select).unwrap().latency = durations;
    record.sessions.iter_mut().for_each(|session| session.busy_us = session.operations() * 72);
    let report = text_report(&record, None);
    let row = report.lines().find(|line| line.contains("SELECT") && line.contains("18,000")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..4], ["SELECT", "18,000", "-", "-"], "mean and p50: {row}");
    assert_eq!((cells[4], cells[8]), ("-", "2,000"), "p90 and maximum: {row}");
    assert!(report.contains("in steps of 1.00 ms"), "{report}");
    assert!(!text_report(&sound, None).contains("in steps of"));
    let sessions = section(course::sessions, &record);
    assert!(sessions.contains("Mean latency (us)      -"), "{sessions}");
    let figures = Run::of(&record);
    let [mean, p50, max] = [figure::OPERATION_MEAN_US, figure::OPERATION_P50_US, figure::OPERATION_MAX_US]
        .map(|of| of.of(&figures));
    assert_eq!((mean, p50, max), (None, None, Some(2000.0)));
    for name in ["min_us", "mean_us", "p50_us"] {
        let value = crate::field::field(&record, &format!("operations.select.latency.{name}"));
        assert!(value.unwrap().is_null(), "{name}");
    }
}

/// The zeros of such a clock are no durations of a nanosecond.
#[test]
fn rows_of_histograms_below_the_step_of_the_servers_clock_are_one_that_says_so() {
    let words = "below the clock's step of 1.00 ms";
    let sound = records::direct_read_run();
    let mut record = sound.clone();
    let mut durations = Histogram::new();
    durations.record_n(0, 17_000);
    durations.record_n(1_000_000, 1_000);
    durations.set_clock_step(NonZeroU64::new(1_000_000));
    let series = std::mem::replace(&mut record.series, Series::new(0, 1800));
    record.series = series.map(|interval| Interval { latency: durations.clone(), ..interval });
    record.operations.get_mut(&OpKind::Select).unwrap().latency = durations;
    assert!(crate::html::run_page(&record).contains(words));
    assert!(!crate::html::run_page(&sound).contains(words));
    let runs = [vec![sound], vec![record]];
    let named: [(&str, &[Record]); 2] = [("linux", &runs[0]), ("windows", &runs[1])];
    let diff = Diff::of(&named, Confidence::default()).unwrap();
    let text = diff.text(None);
    let row = text.lines().find(|line| line.contains(words)).unwrap();
    assert!(row.split_whitespace().last() == Some("94.4"), "{row}");
    let json = serde_json::to_value(&diff).unwrap();
    let below = &json["distributions"][0]["below_clock_step"];
    assert_eq!((below["step_us"].as_f64(), below["first"].as_f64()), (Some(1000.0), Some(0.0)), "{below}");
    let second = |row: &serde_json::Value| row["second"].as_f64().unwrap();
    let rows = json["distributions"][0]["rows"].as_array().unwrap();
    let known: f64 = rows.iter().map(second).sum();
    assert!((known + second(below) - 100.0).abs() < 1e-6, "{known}");
    assert!(crate::hlog(&runs[1][0]).unwrap().contains("The clock steps by 1.00 ms"));
}

#[test]
fn many_schemas_are_summed_up_with_their_range() {
    let mut record = records::direct_read_run();
    let load = record.load.as_mut().unwrap();
    let one = load.schemas[0].clone();
    load.schemas = vec![one; 9];
    load.schemas[4].row_blocks /= 2;
    let text = section(setup::layout, &record);
    assert!(text.contains("all 9   9,437,184"), "{text}");
    assert!(text.contains("range from 1.000 to 2.000"), "{text}");
}

#[test]
fn no_precision_is_claimed_for_percentiles_that_are_bounds() {
    let mut record = records::direct_read_run();
    assert!(!source_words(&record).contains("upper bounds"));
    let total = slob_measure::WaitTotal { waits: 1, time_us: 9 };
    records::with_exact(&mut record, LatencyKind::PhysicalRead, total);
    assert!(source_words(&record).contains("those marked '<=' are upper bounds"));
}

#[test]
fn the_configuration_shows_what_was_set() {
    let text = section(setup::configuration, &records::direct_read_run());
    assert!(text.contains("UPDATE_PCT") && text.contains("RUN_TIME"), "{text}");
    assert!(!text.contains("SCAN_PCT") && text.contains("slob show"), "{text}");
}

#[test]
fn readers_beside_writers_have_figures_of_their_own() {
    let record = records::run_with_roles();
    let text = text_report(&record, None);
    let section = text.split("Readers beside writers").nth(1).expect("the section");
    let row =
        |name: &str| section.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(row("Readers").contains("5") && row("Writers").contains("3"), "{section}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("3 sessions only update, 5 only read") && !words.contains("UPDATE_PCT 37"),
        "{text}"
    );
    assert!(text.contains("Operations, readers") && text.contains("Mean latency (us), writers"), "{text}");
    let figures = Run::of(&record);
    let of = |figure: figure::Figure| figure.of(&figures).unwrap();
    let all = of(figure::READER_OPERATIONS_PER_S) + of(figure::WRITER_OPERATIONS_PER_S);
    assert!((all - of(figure::OPERATIONS_PER_S)).abs() < 1e-9);
    assert!(of(figure::WRITER_OPERATION_MEAN_US) > of(figure::READER_OPERATION_MEAN_US));
    assert!(compact_summary(&record, None).contains("5 readers: "), "{}", compact_summary(&record, None));
    assert_eq!(figure::UPDATE_PCT.of(&figures), None);
    assert_eq!(figure::READER_OPERATIONS_PER_S.of(&Run::of(&records::update_run())), None);
}

/// Writers do fewer operations than readers, which is no unevenness of the load.
#[test]
fn sessions_are_compared_with_those_of_their_role() {
    let uneven = |record: &Record| {
        let figures = Run::of(record);
        let verdict = &figures.verdicts()[Question::Steady as usize];
        verdict.sentence() + &verdict.details().join(" ")
    };
    let mut record = records::run_with_roles();
    let words = |record: &Record| uneven(record).contains("of what the median session did");
    assert!(!words(&record), "{}", uneven(&record));
    record.sessions[7].selects /= 3;
    assert!(words(&record), "{}", uneven(&record));
    record.sessions[7].selects *= 3;
    (record.workload.writers, record.workload.update_pct) = (None, Default::default());
    assert!(words(&record), "{}", uneven(&record));
}
