//! Names that text cuts, and names that begin like others.

use crate::common::{cell, changed, report_of, row, text, value};
use slob_awr::Report;
use slob_awr::info::{Head, Named, Value};

fn dfsr_lat(report: Report) -> Option<f64> {
    row(report).figure(Head::SingleBlockRead)
}

/// From 19c on Exadata's reads from memory have names of their own.
#[test]
fn all_kinds_of_single_block_reads_are_weighed() {
    const ROW: &str = "<tr><td align=\"right\" class='awrc'>cell single block physical read</td>";
    let variant = |name: &str, waits: &str, mean: &str| {
        let cell = |text: &str| format!("<td align=\"right\" class='awrc'>{text}</td>");
        let cells: String = [name, waits, "60", mean, "5.00", "User I/O"].map(cell).concat();
        format!("<tr>{cells}</tr>\n")
    };
    let html = text("awr_11203.html");
    let top = html.find(ROW).unwrap();
    let variants = ["RDMA", "flash cache", "pmem cache"]
        .map(|kind| variant(&format!("cell single block physical read: {kind}"), "3,000,000", "0"));
    let with = html[..top].to_owned() + &variants.concat() + &html[top..];
    let report = report_of(&with);
    assert_eq!(value(report.foreground("cell single block physical read: RDMA").unwrap().waits), 3e6);
    let flag = cell(&Named::new("x", report.clone()), "Exadata Flag");
    assert_eq!(flag, Some(Value::Text("Y".into())));
    // 600,000 waits of 1.5 ms, and three times 3,000,000 of 20 us.
    assert_eq!(dfsr_lat(report).map(f64::round), Some(f64::round((900.0 + 3.0 * 60.0) * 1e6 / 9.6e6)));
    // An event with a similar name is no single-block read.
    let without = html.replace(ROW, &ROW.replace("physical read", "physical write"));
    assert_eq!(dfsr_lat(report_of(&without)), None);
}

#[test]
fn a_cut_name_is_found_unless_it_is_ambiguous() {
    const TOP: &str = "db file sequential read            600,000      900.0    1.50ms";
    const ROW: &str = "db file sequential read        600,000            900    1.50ms    500.0   75.0";
    let top = TOP.replace("db file sequential read       ", "cell single block physical rea");
    let row = ROW.replace("db file sequential read   ", "cell single block physical");
    let one = changed("awr_12201.txt", &[(TOP, &top), (ROW, &row)]);
    assert_eq!(dfsr_lat(one), Some(1500.0));
    let fast = row.replace("900    1.50ms", " 12   19.97us");
    let both = format!("{fast}\n{row}");
    let two = changed("awr_12201.txt", &[(TOP, &top), (ROW, &both)]);
    assert_eq!(two.foreground_events.len(), 5);
    // The cut names of both are the same, but both are reads of one block.
    assert_eq!(dfsr_lat(two).map(f64::round), Some((912.0_f64 / 1.2).round()));
}
