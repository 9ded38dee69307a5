//! Figures of every kind of report.

use crate::common::{bytes, changed, checks, event, named, report, report_of, text, value};
use slob_awr::checks::Checks;
use slob_awr::histogram::Point;
use slob_awr::info::{Head, Named, Row, Value, columns};
use slob_awr::{Period, diff, read};

#[test]
fn figures_of_statspack() {
    let own = report("statspack.txt");
    assert_eq!((own.database.name.as_deref(), own.host.name.as_deref()), (Some("TEST"), Some("box")));
    assert_eq!((own.elapsed_s(), own.cpus()), (Some(900.0), Some(8.0)));
    assert_eq!(value(own.interval.db_time_s), 6393.0);
    assert_eq!(own.tablespaces[0].tablespace, "SOE");
    assert_eq!((value(own.tablespaces[0].reads), value(own.tablespaces[0].read_us)), (518_528.0, 8800.0));
    assert_eq!(value(event(&own.top_events, "CPU time").total_s), 1620.0);
}

#[test]
fn a_comparison_gives_both_periods() {
    let periods = read(&bytes("compare.txt")).unwrap();
    let [first, second] = &periods[..] else { panic!("{} periods", periods.len()) };
    assert_eq!((first.period, second.period), (Some(Period::First), Some(Period::Second)));
    assert_eq!(value(second.load(&["Executes"]).unwrap().per_second), 1914.2);
    assert_eq!(second.interval.end.as_ref().unwrap().id, Some(1827));
    assert_eq!(value(event(&second.all_events, "db file sequential read").average_us), 12_100.0);
    assert_eq!(value(event(&first.all_events, "log file switch (private stran").total_s), 2.4);
    let tables = diff(first, second);
    let load = tables.iter().find(|table| table.title == "Workload Comparison").unwrap();
    let executes = load.rows.iter().find(|row| row.name == "Executes").unwrap();
    assert!(executes.change_percent == Some(40.3));
}

#[test]
fn figures_of_a_cluster() {
    let own = report("global.txt");
    assert_eq!((own.instances.len(), own.elapsed_s()), (2, Some(600.0)));
    assert_eq!(own.host.name.as_deref(), Some("box1 box2"));
    assert_eq!(value(own.load(&["Logical read (blocks)"]).unwrap().per_second), 1630.0);
    assert_eq!(value(own.instances[1].per_second[1].per_second), 20.0);
    assert_eq!(own.top_events.len(), 2);
    assert_eq!(value(own.top_events[0].average_us), 5000.0);
    assert_eq!(own.top_events[0].class.as_deref(), Some("User I/O"));
}

#[test]
fn html_and_text_give_the_same_figures() {
    let html = report("awr_11203.html");
    assert_eq!(html.elapsed_s(), Some(600.0));
    assert_eq!(html.efficiency[2].name, "Buffer Hit %");
    assert_eq!(html.histograms[0].buckets[4].percent.value, 18.0);
    assert_eq!(value(html.histograms[0].waits), 600_100.0);
    assert!(html.sections.iter().any(|section| section.title == "SQL ordered by Reads"));
}

fn lines(cells: impl Iterator<Item = (String, Option<Value>)>) -> String {
    let plain = |cell: Option<Value>| cell.as_ref().map(Value::plain).unwrap_or_default();
    cells.map(|(name, cell)| format!("{name}={}", plain(cell))).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_row_of_awr_info() {
    let row = Row::of(&named("awr_12201.txt"));
    insta::assert_snapshot!(lines(Head::ALL.iter().map(|head| (head.text().to_owned(), row.cell(*head)))));
}

#[test]
fn the_columns_of_awr_parser_and_what_it_lacks() {
    let own = named("awr_12201.txt");
    let cells = columns().into_iter().map(|column| (column.name.clone(), column.value(&own)));
    insta::assert_snapshot!(lines(cells));
}

#[test]
fn checks_of_a_sound_report() {
    let check = Checks::of(&named("awr_12201.txt"));
    insta::assert_snapshot!(serde_json::to_string_pretty(&check).unwrap());
}

#[test]
fn a_restart_within_the_interval_is_found() {
    let check = checks(changed("awr_12201.txt", &[("1 01-Mar-24 07:15", "1 01-Mar-24 10:05")]));
    let was_started = check.warnings.iter().any(|warning| warning.text.contains("was started"));
    assert!(check.is_contradictory() && was_started, "{check:?}");
}

#[test]
fn idle_sessions_follow_from_the_files_name() {
    let mut named = named("awr_12201.txt");
    named.file = "awr.txt.4".into();
    let check = Checks::of(&named);
    let idle = check.warnings.iter().find(|warning| warning.text.contains("idle")).unwrap();
    assert!(idle.text.contains("of 4 sessions") && idle.text.contains("50 %"), "{}", idle.text);
}

#[test]
fn two_peaks_behind_a_mean_are_found() {
    let point = Point::of(&named("awr_12201.txt"), "db file sequential read", 1024.0).unwrap();
    let words = point.words().unwrap();
    let parts = ["two peaks behind a mean of 1.5 ms", "64 us to 128 us"];
    assert!(parts.iter().all(|part| words.contains(part)), "{words}");
    assert_eq!((point.over.least_percent, point.over.most_percent), (32.0, 32.0));
}

#[test]
fn a_cache_is_named_only_if_waits_are_short_enough() {
    let text = text("awr_12201.txt");
    let words = |text: &str| {
        let named = Named::new("x", report_of(text));
        let point = Point::of(&named, "db file sequential read", 1024.0).unwrap();
        let check = Checks::of(&named);
        let doubt = check.warnings.iter().find(|warning| warning.text.contains("two kinds")).unwrap();
        [point.words().unwrap(), doubt.text.clone()]
    };
    for words in words(&text) {
        assert!(words.contains("as a cache would serve them"), "{words}");
    }
    // The same shares at 1 to 2 ms and 8 to 16 ms.
    let slower = text
        .replace("600.0K                     2.0  60.6   5.4          32.0", {
            "600.0K                                             100.0"
        })
        .replace("192.0K  68.0              28.0   4.0    .0", {
            "600.0K               68.0              28.0   4.0"
        });
    for words in words(&slower) {
        assert!(words.contains("1 ms to 2 ms") && !words.contains("cache"), "{words}");
    }
}
