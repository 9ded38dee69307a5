use std::num::NonZeroU32;

use super::*;
use slob_measure::{LatencyKind, WaitTotal};
use slob_page::Block;
use slob_page::escape;
use slob_record::SessionRecord;
use slob_stats::Series;
use slob_testing::records;

const EVIL: &str = "</script><script>alert(1)</script>";

fn long_run() -> Record {
    let mut record = records::direct_read_run();
    let session = record.sessions[0].clone();
    record.sessions = (0..4096)
        .map(|session_number| SessionRecord {
            session: session_number,
            selects: 90_000 + u64::from(session_number) * 7,
            ..session.clone()
        })
        .collect();
    record.workload.threads_per_schema = NonZeroU32::new(2048).unwrap();
    record.ended = record.started + std::time::Duration::from_secs(8 * 3600);
    record.window = Some(slob_record::Window { begin_s: 10.0, seconds: 8.0 * 3600.0 - 20.0 });
    record.series = Series::new(0, 1800);
    // Every interval has latencies of its own: from a microsecond to minutes.
    for second in (0..8 * 3600).step_by(4) {
        let mut interval = records::interval(2_000 + second % 997);
        interval.latency.record(1_000 + second);
        interval.latency.record(1 << (20 + second % 18));
        record.series.push(second, interval).unwrap();
    }
    record
}

#[test]
fn eight_hours_of_4096_sessions_stay_below_six_megabytes() {
    let record = long_run();
    let begun = std::time::Instant::now();
    let page = run_page(&record);
    println!("{} bytes in {:?}", page.len(), begun.elapsed());
    assert!(record.series.len() > 900);
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    assert!(page.contains("How many sessions had how much of it."));
}

#[test]
fn figures_that_rest_on_a_bad_verdict_are_struck_through() {
    let struck =
        |record: slob_record::Record| run_page(&record).matches("<s title=\"Physical? BAD\">").count();
    assert_eq!(struck(records::direct_read_run()), 0);
    assert!(struck(records::page_cache_run()) >= 3);
}

#[test]
fn a_record_can_not_end_an_element_of_the_page() {
    let plain = run_page(&records::page_cache_run());
    let mut record = records::page_cache_run();
    record.name = EVIL.into();
    record.id = EVIL.into();
    record.target = EVIL.into();
    record.server.version = EVIL.into();
    record.server.product = EVIL.into();
    record.server.settings[0].value = EVIL.into();
    record.server.advice = vec![EVIL.into()];
    record.events[0].name = EVIL.into();
    record.configuration[0].value = EVIL.into();
    record.notes = vec![EVIL.into()];
    record.host.as_mut().unwrap().info.hostname = EVIL.into();
    record.host.as_mut().unwrap().device.as_mut().unwrap().device.top.as_mut().unwrap().name = EVIL.into();
    let page = run_page(&record);
    for tag in ["<script", "</script"] {
        assert_eq!(page.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    assert!(!page.contains("<script>alert"));
}

#[test]
fn runs_that_failed_or_were_interrupted_have_a_page_that_says_so() {
    let page = run_page(&records::failed_run());
    assert!(page.contains("<strong>Failed</strong> connecting session 3"));
    assert!(page.matches("Not shown: ").count() >= 12, "every chart has its reason");
    let mut record = records::direct_read_run();
    record.status = Status::Interrupted;
    assert!(run_page(&record).contains("<strong>Interrupted</strong>"));
}

#[test]
fn the_page_asks_nothing_of_the_network() {
    let page = run_page(&records::direct_read_run());
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    for reach in [" src=", "<link", "@import", "url("] {
        assert!(!page.contains(reach), "{reach}");
    }
}

#[test]
fn the_comparison_is_there_with_a_probe_only() {
    assert!(run_page(&records::direct_read_run()).contains("Through the database, 4 sessions"));
    assert!(!run_page(&records::update_run()).contains("Through the database, 4 sessions"));
}

#[test]
fn every_section_of_the_text_is_in_the_page() {
    let record = records::eventful_run();
    let figures = Run::of(&record);
    let page = run_page(&record);
    for section in SECTIONS {
        let blocks = section.blocks(&figures);
        let heading = blocks.iter().find_map(|block| match block {
            Block::Section(title) => Some(title.as_str()),
            _ => None,
        });
        let shown = match section.group {
            Group::Figures | Group::Probe | Group::Configuration => blocks_html(&blocks),
            // At the top.
            Group::Title => escape::text(&record.id),
            // As cards.
            Group::Verdicts | Group::KeyFigures => format!("<h2>{}</h2>", heading.unwrap()),
            Group::Sources => escape::text(&source_words(&record)),
        };
        assert!(!shown.is_empty() && page.contains(&shown), "{heading:?} is not in the page: {shown}");
    }
}

fn cards_html(record: &Record) -> String {
    cards(&Run::of(record)).into_iter().map(Markup::into_string).collect()
}

#[test]
fn a_read_without_a_measured_time_is_a_share_of_a_select() {
    let html = cards_html(&records::page_cache_run());
    assert!(html.contains("p99 of a SELECT, per block") && html.contains("their 64 blocks"), "{html}");
    assert!(cards_html(&records::direct_read_run()).contains("p99 of a phys. read"));
}

#[test]
fn a_bound_is_not_shown_as_the_time_of_each_read() {
    let mut record = records::direct_read_run();
    records::with_exact(&mut record, LatencyKind::PhysicalRead, WaitTotal { waits: 1000, time_us: 140_000 });
    let html = cards_html(&record);
    assert!(
        html.contains("<p class=\"value\">\u{2264}") && html.contains("Upper bound of the bucket"),
        "{html}"
    );
    assert!(!html.contains("Each single read"), "{html}");
}

#[test]
fn an_unmeasured_figure_is_no_zero() {
    let html = cards_html(&records::failed_run());
    assert_eq!(html.matches("Nothing was measured.").count(), 5);
    assert!(!html.contains(">0<"), "{html}");
}

#[test]
fn a_failed_run_stands_out() {
    assert!(
        banner(&records::failed_run()).into_string().contains("<strong>Failed</strong> connecting session 3")
    );
    assert_eq!(banner(&records::direct_read_run()).into_string(), "");
}

#[test]
fn all_figures_are_plain_numbers_and_absent_ones_are_empty() {
    let html = table_html(&all_figures(&Run::of(&records::direct_read_run()))).into_string();
    for row in [
        "<code>counters.physical_reads</code></td><td></td><td class=\"n\">1170432</td>",
        "<code>redo_mb_per_s</code></td><td>Redo (MB)</td><td class=\"n\"></td>",
    ] {
        assert!(html.contains(row), "{html}");
    }
}
