use super::page::WIDTH;
use super::*;
use crate::fixture;

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
        record.counters.values_mut().for_each(|value| *value = 600_000_000);
        let text = text_report(record);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        assert!(text.lines().all(|line| line.trim_end() == line));
    }
}

#[test]
fn an_interrupted_run_stands_out() {
    let mut record = fixture::direct_read_run();
    record.status = slob_record::Status::Interrupted;
    assert!(text_report(&record).contains("*** INTERRUPTED ***"));
}
