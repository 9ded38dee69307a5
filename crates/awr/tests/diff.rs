//! Two reports side by side.
#![allow(clippy::unwrap_used)]

mod common;

use common::bytes;
use slob_awr::{DiffRow, DiffTable, Format, Report, Side, diff, read};

/// A text report and one of HTML with the same statistics, whose names the text cuts.
fn text_and_html() -> [Report; 2] {
    let text = String::from_utf8(bytes("awr_12201.txt")).unwrap();
    let text = text.replace("physical reads                              600,000", {
        "redo synch time overhead count (              5            0.0           0.0\n\
         redo synch time overhead count (              7            0.0           0.0\n\
         bytes received via SQL*Net from         600,000        1,000.0         500.0\n\
         physical reads                              600,000"
    });
    let html = String::from_utf8(bytes("awr_11203.html")).unwrap();
    let row = |name: &str, total: &str| format!("<tr><td>{name}</td><td>{total}</td><td>&#160;</td></tr>");
    let rows = row("bytes received via SQL*Net from client", "1,200,000")
        + &row("redo synch time overhead count (&lt;2 msec)", "5")
        + &row("redo synch time overhead count (&lt;8 msec)", "7");
    let table = format!(
        "<h3 class=\"awr\">Instance Activity Stats</h3>\n<table border=\"0\" summary=\"activity\"><tr><th>Statistic</th>\
         <th>Total</th><th>per Second</th></tr>{rows}</table><p />\n<h3 class=\"awr\">SQL ordered by Reads</h3>"
    );
    let html = html.replace("<h3 class=\"awr\">SQL ordered by Reads</h3>", &table);
    [text, html].map(|report| read(report.as_bytes()).unwrap().remove(0))
}

fn table<'a>(tables: &'a [DiffTable], title: &str) -> &'a DiffTable {
    tables.iter().find(|table| table.title == title).unwrap()
}

fn row<'a>(table: &'a DiffTable, name: &str) -> &'a DiffRow {
    table.rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name} in {table:?}"))
}

#[test]
fn a_statistic_whose_name_text_cuts_is_not_two_that_are_absent() {
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
        // Two that are cut to the same can't be told apart.
        let redo = row(activity, "redo synch time overhead count (<2 msec)");
        assert!(redo.first == Side::Absent || redo.second == Side::Absent, "{redo:?}");
    }
}
