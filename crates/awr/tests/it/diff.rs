//! Two reports side by side.

use crate::common::{report_of, text};
use slob_awr::{DiffRow, DiffTable, Format, Report, Side, diff};

/// A text report and an HTML report with the same statistics, whose names the text cuts.
fn text_and_html() -> [Report; 2] {
    let cut = text("awr_12201.txt").replace("physical reads                              600,000", {
        "redo synch time overhead count (              5            0.0           0.0\n\
         redo synch time overhead count (              7            0.0           0.0\n\
         bytes received via SQL*Net from         600,000        1,000.0         500.0\n\
         physical reads                              600,000"
    });
    let html = text("awr_11203.html");
    let row = |name: &str, total: &str| format!("<tr><td>{name}</td><td>{total}</td><td>&#160;</td></tr>");
    let rows = row("bytes received via SQL*Net from client", "1,200,000")
        + &row("redo synch time overhead count (&lt;2 msec)", "5")
        + &row("redo synch time overhead count (&lt;8 msec)", "7");
    let table = format!(
        "<h3 class=\"awr\">Instance Activity Stats</h3>\n<table border=\"0\" summary=\"activity\"><tr><th>Statistic</th>\
         <th>Total</th><th>per Second</th></tr>{rows}</table><p />\n<h3 class=\"awr\">SQL ordered by Reads</h3>"
    );
    let html = html.replace("<h3 class=\"awr\">SQL ordered by Reads</h3>", &table);
    [cut, html].map(|report: String| report_of(&report))
}

fn table<'a>(tables: &'a [DiffTable], title: &str) -> &'a DiffTable {
    tables.iter().find(|table| table.title == title).unwrap()
}

fn row<'a>(table: &'a DiffTable, name: &str) -> &'a DiffRow {
    table.rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name} in {table:?}"))
}

#[test]
fn a_cut_name_and_its_whole_name_are_one_row() {
    let [text, html] = text_and_html();
    assert_eq!((text.format, html.format), (Format::Text, Format::Html));
    for (first, second, change) in [(&text, &html, 100.0), (&html, &text, -50.0)] {
        let tables = diff(first, second);
        let activity = table(&tables, "Instance Activity Stats");
        let received: Vec<&DiffRow> =
            activity.rows.iter().filter(|row| row.name.starts_with("bytes received")).collect();
        assert_eq!(received.len(), 1, "{received:?}");
        assert_eq!(received[0].name, "bytes received via SQL*Net from client");
        assert!((received[0].change_percent.unwrap() - change).abs() < 1e-9, "{received:?}");
        // Two names that are cut to the same text stay unpaired.
        let redo = row(activity, "redo synch time overhead count (<2 msec)");
        assert!(redo.first == Side::Absent || redo.second == Side::Absent, "{redo:?}");
    }
}

#[test]
fn the_same_load_over_another_time_is_no_change() {
    let of = |minutes: u32, factor: u32| {
        let text = text("awr_12201.txt");
        let total = |value: u32, width: usize| format!("{:>width$}", value * factor);
        let end = format!("01-Mar-24 {:02}:{:02}:00", 10 + minutes / 60, minutes % 60);
        let text = text
            .replace("01-Mar-24 10:10:00", &end)
            .replace("10.00 (mins)", &format!("{minutes}.00 (mins)"))
            .replace("DB CPU                                                  300.0", &{
                format!("DB CPU                                               {}.0", total(300, 6))
            })
            .replace("BUSY_TIME                                 48,000", &{
                format!("BUSY_TIME                              {}", total(48_000, 9))
            })
            .replace("NUM_CPUS ", &{
                format!("VM_IN_BYTES                        {}\nNUM_CPUS ", total(40_960, 13))
            })
            .replace("db file sequential read        600,000            900", &{
                format!("db file sequential read      {}      {}", total(600_000, 9), total(900, 9))
            });
        report_of(&text)
    };
    let tables = diff(&of(10, 1), &of(40, 4));
    let numbers = |title: &str, name: &str| {
        let own = row(table(&tables, title), name);
        match (&own.first, &own.second) {
            (Side::Number(first), Side::Number(second)) => (*first, *second, own.change_percent.unwrap()),
            _ => panic!("{own:?}"),
        }
    };
    for (title, name, value) in [
        ("Time Model Statistics", "DB CPU", 0.5),
        ("Wait Events and CPU: time", "db file sequential read", 1.5),
        ("Wait Events: waits per second", "db file sequential read", 1000.0),
        ("Operating System Statistics: time", "BUSY_TIME", 0.8),
        ("Operating System Statistics: paging", "VM_IN_BYTES", 40_960.0 / 600.0),
        ("Operating System Statistics", "NUM_CPUS", 8.0),
    ] {
        let (first, second, change) = numbers(title, name);
        assert!((first - value).abs() < 1e-9 && (second - value).abs() < 1e-9, "{name}: {first}, {second}");
        assert!(change.abs() < 1e-9, "{name}: {change}");
    }
    let (.., change) = numbers("Host Configuration Comparison", "Elapsed (s)");
    assert!((change - 300.0).abs() < 1e-9, "{change}");
    assert_eq!(table(&tables, "Time Model Statistics").unit, "s per second");
}
