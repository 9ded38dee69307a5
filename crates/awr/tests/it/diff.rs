//! Two reports side by side.

use crate::common::{bytes, report_of, text};
use slob_awr::info::Value;
use slob_awr::{DiffRow, DiffTable, Format, Report, Reports, Scope, diff, read};

/// Both have the same statistics, whose names the text cuts.
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
        assert!(redo.first.is_none() || redo.second.is_none(), "{redo:?}");
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
            (Some(Value::Number(first)), Some(Value::Number(second))) => {
                (*first, *second, own.change_percent.unwrap())
            }
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

#[test]
fn printed_differences_are_not_replaced_by_those_of_rounded_rates() {
    let line = "              Logical reads:            406,407.8            649,091.1       59.7                  1,996.3              2,272.4       13.8\n";
    let hard = "                Hard parses:                  0.1                  0.3      107.1                      0.0                  0.0        0.0\n\
                \x20                    Logons:                  0.0                  0.0      200.0                      0.0                  0.0        0.0\n\
                \x20          Recursive works:                  0.0                  0.4    3,600.0                      0.0                  0.0        0.0\n";
    let text = text("compare.txt");
    assert!(text.contains(line));
    let periods = read(text.replace(line, &format!("{line}{hard}")).as_bytes()).unwrap();
    let tables = diff(&periods[0], &periods[1]);
    let load = table(&tables, "Workload Comparison");
    assert_eq!(load.rows.len(), 6, "{load:?}");
    let change = |name: &str| row(load, name).change_percent.unwrap();
    assert_eq!([change("Hard parses"), change("Logons"), change("Recursive works")], [107.1, 200.0, 3600.0]);
    assert_eq!(change("Executes"), 40.3);
}

#[test]
fn all_lines_of_two_load_profiles_are_compared() {
    let one = text("awr_12201.txt").replace("Read IO requests:", "Blocks of GC sent:");
    let tables = diff(&report_of(&one), &report_of(&text("awr_12201.txt")));
    let load = table(&tables, "Workload Comparison");
    assert_eq!(row(load, "Blocks of GC sent").second, None);
    let names: Vec<&str> = load.rows.iter().map(|row| row.name.as_str()).collect();
    let mut once = names.clone();
    once.dedup();
    assert_eq!(names, once);
    assert!(!names.contains(&"Executes (SQL)"), "{names:?}");
}

#[test]
fn an_excerpt_with_top_events_alone_has_a_table_of_them() {
    let text = text("awr_12201.txt");
    let cut = |text: &str| {
        let (before, rest) = text.split_once("Foreground Wait Events  ").unwrap();
        let (_, after) = rest.split_once("Wait Event Histogram  ").unwrap();
        report_of(&format!("{before}Wait Event Histogram  {after}"))
    };
    let own = cut(&text);
    assert!(own.foreground_events.is_empty() && own.top_events.len() == 4);
    let tables = diff(&own, &own);
    assert_eq!(table(&tables, "Wait Events and CPU: time").rows.len(), 4);
}

fn with_tables(bytes: &[u8]) -> Vec<Report> {
    let reports = Reports::of(bytes).unwrap().within(Scope::Tables);
    reports.flat_map(|read| read.unwrap_or_else(|error| error.read)).collect()
}

#[test]
fn sections_without_a_type_are_kept_as_tables() {
    let before = "init.ora Parameters                            DB/Inst";
    let services = include_str!("../fixtures/parts/services.txt");
    let text = text("awr_12201.txt").replace(before, &format!("{services}{before}"));
    let [own] = &with_tables(text.as_bytes())[..] else { panic!("not one report") };
    let find = |title: &str| own.tables.iter().find(|table| table.title.starts_with(title)).unwrap();
    let services = find("Service Statistics");
    assert_eq!(
        (services.is_typed, &services.rows[..]),
        (false, &[vec!["SYS$USERS".to_owned(), "48".into()]][..])
    );
    let cache = find("Global Cache and Enqueue Services");
    assert_eq!(cache.rows, [["Avg global cache cr block receive time (ms)", "0.4"]]);
    assert!(find("Foreground Wait Events").is_typed && find("Load Profile").is_typed);
    // The types are the same with and without the tables.
    let mut without = own.clone();
    without.tables.clear();
    assert_eq!(without, report_of(&text));
}

#[test]
fn types_do_not_depend_on_the_tables_beside_them() {
    for fixture in crate::common::FIXTURES {
        let typed = read(&bytes(fixture)).unwrap();
        let mut all = with_tables(&bytes(fixture));
        for (own, other) in all.iter_mut().zip(&typed) {
            assert!(!own.tables.is_empty() || own.period == Some(slob_awr::Period::Second), "{fixture}");
            own.tables.clone_from(&other.tables);
            assert_eq!(own, other, "{fixture}");
        }
    }
    for path in crate::common::real_files() {
        let bytes = std::fs::read(&path).unwrap();
        let mut all = with_tables(&bytes);
        for (own, other) in all.iter_mut().zip(&read(&bytes).unwrap()) {
            let untyped = own.tables.iter().filter(|table| !table.is_typed).count();
            println!("{}: {} tables, {untyped} without a type", path.display(), own.tables.len());
            own.tables.clone_from(&other.tables);
            assert_eq!(own, other, "{}", path.display());
        }
    }
}
