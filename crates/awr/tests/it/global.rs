//! Reports of a cluster: of one instance and of several, with I/O in rows and in columns.

use crate::common::{cell, event, report_of as report, row, text, value};
use slob_awr::info::{Head, Named, Value};
use slob_awr::{Report, ShareOf};

/// Bars separate rows of headings with the columns that they span, and rows of cells.
fn table(title: &str, heads: &[&str], rows: &[&str]) -> String {
    let head = |text: &str| {
        let (text, span) = text.split_once(" x").unwrap_or((text, "1"));
        format!("<th colspan=\"{span}\">{text}</th>")
    };
    let cell = |text: &str| format!("<td align=\"right\">{text}</td>");
    let row = |cells: String| format!("<tr>{cells}</tr>\n");
    let heads: String = heads.iter().map(|heads| row(heads.split('|').map(head).collect())).collect();
    let rows: String = rows.iter().map(|cells| row(cells.split('|').map(cell).collect())).collect();
    format!("<h3 class=\"awr\">{title}</h3>\n<table summary=\"{title}\">{heads}{rows}</table><p />\n")
}

fn page(tables: &str) -> String {
    format!(
        "<html><head><title>AWR RAC Report</title></head><body>\n<h1 class=\"awr\">\nWORKLOAD REPOSITORY REPORT (RAC)\n</h1>\n\
         {tables}<p />End of Report\n</body></html>\n"
    )
}

/// In 12.2 no row of a single instance's report is called `Sum`.
fn of_one_instance() -> String {
    let table = |text: &str| {
        let (title, lines) = text.split_once('\n').unwrap();
        let (heads, rows): (Vec<&str>, Vec<&str>) = lines.lines().partition(|line| line.starts_with("# "));
        let heads: Vec<&str> = heads.iter().map(|line| &line[2..]).collect();
        table(title, &heads, &rows)
    };
    let tables = include_str!("../fixtures/parts/one_instance.tables");
    page(&tables.split("= ").skip(1).map(table).collect::<String>())
}

#[test]
fn a_global_report_of_one_instance_has_no_sum() {
    let own = report(&of_one_instance());
    assert_eq!(value(own.load(&["Physical read (blocks)"]).unwrap().per_second), 50_000.5);
    assert_eq!(value(own.time_model_s("background cpu time")), 48.0);
    assert_eq!(value(event(&own.wait_classes, "User I/O").total_s), 24_000.25);
    assert_eq!(value(own.statistic("physical read IO requests").unwrap().total), 7.2e6);
    assert_eq!(own.interval.begin.as_ref().unwrap().time.unwrap().to_string(), "2024-03-01T10:00:00");
    assert_eq!((own.top_events.len(), own.io_by_function.len()), (2, 2));
    assert_eq!(value(own.io_by_function[0].average_us), 400.0);
    let row = row(own);
    let figures = [Head::Reads, Head::ReadMib, Head::DbTime].map(|head| row.figure(head).unwrap());
    assert_eq!((figures[0], figures[1], figures[2].round()), (6000.0, 500.0, 60.0));
}

#[test]
fn shares_of_background_events_are_of_background_time() {
    let own = report(&of_one_instance());
    assert_eq!(own.background_events[0].percent_of, Some(ShareOf::BackgroundTime));
    assert_eq!(own.top_events[0].percent_of, Some(ShareOf::DbTime));
}

#[test]
fn every_cell_of_a_global_report_is_in_its_json() {
    let html = of_one_instance();
    let json = serde_json::to_value(report(&html)).unwrap();
    let all = |json: &serde_json::Value| json.as_array().unwrap().clone();
    let rows = all(&json["tables"]).into_iter().flat_map(|sheet| all(&sheet["rows"]));
    let cells: Vec<String> =
        rows.flat_map(|row| all(&row)).map(|cell| cell.as_str().unwrap().into()).collect();
    let printed: Vec<&str> =
        html.split("<td align=\"right\">").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(cells, printed);
}

#[test]
fn instances_of_a_cluster_are_counted() {
    let instances = |text: &str| cell(&Named::new("x", report(text)), "Instances");
    assert_eq!(instances(&of_one_instance()), Some(Value::Number(1.0)));
    // A report of one instance has the number of instances in another section.
    let text = text("awr_12201.txt");
    let text = text.replace(
        "Time Model Statistics                          DB/Inst",
        "RAC Statistics                                 DB/Inst: TEST/test  Snaps: 10-11\n\n\
         \x20                                      Begin   End\n\
         \x20                                      ----- -----\n\
         \x20          Number of Instances:             4     4\n\n\
         Time Model Statistics                          DB/Inst",
    );
    assert_eq!(instances(&text), Some(Value::Number(4.0)));
}

/// 11.2 has a column for each function and type of file, and a row for each instance.
#[test]
fn io_in_columns_is_that_of_all_instances() {
    let heads = [
        "|Reads MB/sec x3|Writes MB/sec x3|Reads requests/sec x3|Writes requests/sec x3",
        "I#|Total|Buffer Cache|Direct Reads|Total|DBWR|Direct Writes|Total|Buffer Cache|Direct Reads|Total|DBWR|Direct Writes",
    ];
    let rows = [
        "1|1.00|0.50|0.50|2.00|1.50|0.50|10.00|5.00|5.00|20.00|15.00|5.00",
        "2|3.00|1.00|2.00|1.00|0.25|0.75|30.00|9.00|21.00|8.00|2.00|6.00",
        "Sum|4.00|1.50|2.50|3.00|1.75|1.25|40.00|14.00|26.00|28.00|17.00|11.00",
    ];
    let with = |rows: &[&str]| {
        let io = table("IOStat by Function (per Second)", &heads, rows);
        report(
            &of_one_instance().replace("<h3 class=\"awr\">IOStat by Function</h3>", &(io + "<h3>Else</h3>")),
        )
    };
    let own = with(&rows);
    let line =
        |own: &Report, name: &str| own.io_by_function.iter().find(|line| line.name == name).unwrap().clone();
    let total = line(&own, "TOTAL:");
    assert_eq!((value(total.reads_per_s), value(total.writes_per_s)), (40.0, 28.0));
    let expected = (4.0 * 1_048_576.0, 3.0 * 1_048_576.0);
    assert_eq!((value(total.read_bytes_per_s), value(total.written_bytes_per_s)), expected);
    let direct = line(&own, "Direct Reads");
    assert_eq!((value(direct.reads_per_s), direct.writes_per_s), (26.0, None));
    assert_eq!(value(line(&own, "DBWR").writes_per_s), 17.0);
    assert_eq!(value(line(&own, "Buffer Cache Reads").read_bytes_per_s), 1.5 * 1_048_576.0);
    // A single instance has no other row.
    assert_eq!(value(line(&with(&rows[..1]), "TOTAL:").reads_per_s), 10.0);
}

#[test]
fn each_host_of_a_cluster_counts_once() {
    let os = table(
        "OS Statistics By Instance",
        &[
            "|CPU x3|Load x2|% CPU x3|Time (s) x3|",
            "I#|Num CPUs|#Cores|#Sckts|Begin|End|% Usr|% Sys|% Idl|Busy|Idle|Total|Memory (M)",
        ],
        &[
            "1|8|4|1|1.00|2.00|20.00|5.00|75.00|2,400.00|7,200.00|9,600.00|16,384.00",
            "2|16|8|2|3.00|4.00|50.00|10.00|40.00|11,520.00|7,680.00|19,200.00|32,768.00",
        ],
    );
    let own = report(
        &of_one_instance()
            .replace("<h3 class=\"awr\">Time Model</h3>", &(os + "<h3 class=\"awr\">Time Model</h3>")),
    );
    assert_eq!((own.host.cpus, own.host.cores, own.host.memory_gb), (Some(24.0), Some(12.0), Some(48.0)));
    assert_eq!((own.os("BUSY_TIME"), own.os("IDLE_TIME")), (Some(1_392_000.0), Some(1_488_000.0)));
    let cpu = own.host_cpu.unwrap();
    assert_eq!((value(cpu.load_end), value(cpu.user_percent)), (6.0, 40.0));
}
