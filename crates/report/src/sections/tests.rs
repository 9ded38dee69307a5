use super::*;
use crate::fixture;
use crate::page::WIDTH;
use slob_measure::{Counter, LatencyKind};

#[test]
fn a_good_run_with_direct_io() {
    insta::assert_snapshot!(text_report(&fixture::direct_read_run()));
}

#[test]
fn a_run_that_the_page_cache_served() {
    insta::assert_snapshot!(text_report(&fixture::page_cache_run()));
}

#[test]
fn a_run_with_updates() {
    insta::assert_snapshot!(text_report(&fixture::update_run()));
}

#[test]
fn a_run_that_failed_before_its_window() {
    insta::assert_snapshot!(text_report(&fixture::failed_run()));
}

#[test]
fn no_line_is_wider_than_the_page() {
    let mut records =
        [fixture::direct_read_run(), fixture::page_cache_run(), fixture::update_run(), fixture::failed_run()];
    for record in &mut records {
        record.target = "x".repeat(300);
        record
            .server
            .settings
            .push(slob_record::SettingRecord { name: "n".repeat(80), value: "v".repeat(200) });
        record.configuration.push(slob_record::ConfigEntry {
            key: "K".repeat(50),
            value: "v ".repeat(100),
            origin: "command line".into(),
        });
        record.notes.push("word ".repeat(60));
        // Ten million a second of everything.
        record.counters = record.counters.iter().map(|(counter, _)| (counter, 600_000_000)).collect();
        let text = text_report(record);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        assert!(text.lines().all(|line| line.trim_end() == line));
    }
}

#[test]
fn an_eventful_run_has_something_for_every_section() {
    let record = fixture::eventful_run();
    let figures = Figures::of(&record);
    let text = text_report(&record);
    for section in SECTIONS {
        let mut page = Page::new();
        section.write(&mut page, &figures);
        let alone = page.into_text();
        assert!(!alone.trim().is_empty() && text.contains(&alone), "{alone}");
    }
}

/// The report with single blanks between its words.
fn unwrapped(record: &Record) -> String {
    text_report(record).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_interrupted_run_stands_out() {
    let mut record = fixture::direct_read_run();
    record.status = slob_record::Status::Interrupted;
    assert!(text_report(&record).contains("*** INTERRUPTED ***"));
}

#[test]
fn nothing_is_claimed_of_a_run_that_was_interrupted_before_its_window() {
    let mut record = fixture::direct_read_run();
    record.status = slob_record::Status::Interrupted;
    record.window = None;
    let text = unwrapped(&record);
    assert!(text.contains("before the measured window: nothing was measured"), "{text}");
    assert!(!text.contains("is valid") && !text.contains("This run had"), "{text}");
    assert!(text.contains("random read, in flight"), "the probe itself is still shown: {text}");
}

#[test]
fn a_run_above_its_probe_is_told_to_probe_again() {
    let mut record = fixture::direct_read_run();
    let steps = &mut record.probe.as_mut().unwrap().result.steps;
    steps.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = 1_775.0);
    let text = unwrapped(&record);
    let said = "more than the probe: probe again with more sessions or depth";
    // Below the key figures and below the probe.
    assert_eq!(text.matches(said).count(), 2, "{text}");
    assert!(!text.contains("1,09"), "{text}");
    let summary = crate::compact_summary(&record);
    let words: Vec<&str> = summary.split_whitespace().collect();
    assert!(words.join(" ").contains("from the device: more than the probe"), "{summary}");
}

#[test]
fn a_probe_that_does_not_fit_is_shown_and_not_compared() {
    let mut record = fixture::direct_read_run();
    record.probe.as_mut().unwrap().result.plan.direct = false;
    let text = unwrapped(&record);
    assert!(text.contains("This probe is not a ceiling for this run"), "{text}");
}

#[test]
fn both_the_counted_device_and_the_disk_below_are_named() {
    let mut record = fixture::direct_read_run();
    let device = |record: &slob_record::Record| {
        let text = text_report(record);
        text.lines().find(|line| line.starts_with("Device  ")).unwrap().to_owned()
    };
    assert!(device(&record).contains(" nvme0n1p1, on nvme0n1 (Example"), "{}", device(&record));
    let found = record.host.as_mut().unwrap().device.as_mut().unwrap();
    found.device.top = Some(found.device.disks[0].id.clone());
    assert!(device(&record).contains("  nvme0n1 (Example"), "{}", device(&record));
}

#[test]
fn the_hot_schema_is_named_in_english() {
    let mut record = fixture::direct_read_run();
    record.workload.hot_schema_every = Some(1);
    assert!(unwrapped(&record).contains("every operation to schema 1"));
    record.workload.hot_schema_every = Some(3);
    assert!(unwrapped(&record).contains("every 3rd operation to schema 1"));
}

#[test]
fn syncs_are_not_shown_as_writes_of_the_log() {
    let mut record = fixture::update_run();
    let redo = |record: &slob_record::Record| {
        let text = text_report(record);
        let line = text.lines().find(|line| line.starts_with("  Redo  ")).unwrap();
        let cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        (cells, text)
    };
    let (cells, text) = redo(&record);
    assert_eq!(cells, ["Redo", "7,733", "63.4"]);
    assert!(text.contains("flushed to stable storage 125.7 times/s"), "{text}");
    fixture::uncounted(&mut record, Counter::RedoWrites);
    assert_eq!(redo(&record).0, ["Redo", "-", "63.4"]);
}

#[test]
fn what_the_disks_below_read_is_shown_beside_the_device_on_top() {
    let mut record = fixture::direct_read_run();
    assert!(!unwrapped(&record).contains("The disks below it"));
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    device.counters.as_mut().unwrap().disk_read_bytes = Some(600_000_000);
    assert!(unwrapped(&record).contains("The disks below it (nvme0n1) read 10.0 MB/s"));
}

#[test]
fn bounds_of_a_databases_own_buckets_are_marked_wherever_they_stand() {
    let mut record = fixture::direct_read_run();
    let mut reads = slob_stats::Histogram::new();
    reads.record_n(256_000, 900);
    reads.record_n(512_000, 100);
    record.latencies.set(LatencyKind::PhysicalRead, reads);
    let total = slob_measure::WaitTotal { waits: 1000, time_us: 156_000 };
    fixture::with_exact(&mut record, LatencyKind::PhysicalRead, total);
    let text = unwrapped(&record);
    for words in
        ["mean 156, p50 <= 256, p90 <= 256, p99 <= 512", "<= 512 us", "those marked '<=' are upper bounds"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let wide = text_report(&record).lines().map(|line| line.chars().count()).max();
    assert!(wide <= Some(WIDTH), "{wide:?}");
}
