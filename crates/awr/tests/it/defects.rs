//! Figures that were wrong or missing, each with the report that showed it.

use crate::common::{
    bytes, cell, changed, checks, event, named, report, report_of, row, text, value, with_sections,
};
use slob_awr::checks::Verdict;
use slob_awr::histogram::Point;
use slob_awr::info::{Head, Named, Row, Value};
use slob_awr::trend::Trend;
use slob_awr::{Fault, ReadError, Report, Reports, diff, duration_us, read};

#[test]
fn data_per_second_that_lost_its_unit_is_restored_by_data_and_time() {
    let own = changed(
        "awr_12201.txt",
        &[
            ("4.6G   990.0  7.900M      0M     0.0      0M", "4.6G   990.0 7.90012      0M     0.0      0M"),
            ("4.7G  1005.0  7.990M    233M    49.7   .389M", "4.7G  1005.0 7.99012    233M    49.7 .388901"),
        ],
    );
    let total = own.io_total().unwrap();
    assert_eq!(value(total.read_bytes_per_s), 7.990_12 * 1_048_576.0);
    assert_eq!(value(total.written_bytes_per_s), 0.388_901 * 1_048_576.0);
    assert!(own.units_were_restored && !report("awr_12201.txt").units_were_restored);
    let doubts = checks(own.clone());
    assert!(!doubts.is_contradictory(), "{doubts:?}");
    // `diff` uses the same values.
    let tables = diff(&report("awr_12201.txt"), &own);
    let io = tables.iter().find(|table| table.title == "IOStat by Function: bytes per second").unwrap();
    let row = io.rows.iter().find(|row| row.name == "TOTAL:").unwrap();
    assert!(row.change_percent.unwrap().abs() < 0.1, "{row:?}");
}

#[test]
fn shifted_headings_of_tablespaces_are_no_contradiction() {
    let own = with_sections(include_str!("../fixtures/parts/shifted_headings.txt"));
    assert_eq!(value(own.tablespaces[0].writes), 348.0);
    let doubts = checks(own);
    assert!(!doubts.is_contradictory(), "{doubts:?}");
    assert!(doubts.warnings.iter().any(|warning| warning.text.contains("shifted")), "{doubts:?}");
}

#[test]
fn cpus_that_count_too_few_ticks_are_explained_and_too_many_are_not() {
    let own = text("awr_12201.txt");
    let line = own.lines().find(|line| line.starts_with("IDLE_TIME")).unwrap();
    let number = line.split_whitespace().nth(1).unwrap();
    for (idle, verdict) in
        [(number, Verdict::Agree), ("300,000", Verdict::Explained), ("900,000", Verdict::Contradict)]
    {
        let doubts = checks(report_of(&own.replace(line, &line.replace(number, idle))));
        let cpu = doubts.pairs.iter().find(|pair| pair.what.starts_with("CPU seconds")).unwrap();
        assert_eq!(cpu.verdict, verdict, "{idle}");
    }
}

fn rows(bytes: &[u8]) -> Vec<Row> {
    let reports = Reports::of(bytes).unwrap().enumerate();
    let named = |(at, report): (usize, Result<Vec<Report>, ReadError>)| {
        report.unwrap().into_iter().map(move |report| Named::new("file", report).nth(at + 1))
    };
    reports.flat_map(named).map(|named| Row::of(&named)).collect()
}

#[test]
fn several_reports_in_one_file_are_read_separately() {
    let fixtures = ["awr_12201.txt", "statspack.txt", "awr_11203.html", "compare.txt", "awr_crlf_pages.txt"];
    let mails: Vec<u8> = fixtures
        .iter()
        .flat_map(|fixture| [b"From: a@b\r\nSubject: report\r\n\r\n".to_vec(), bytes(fixture)].concat())
        .collect();
    let all = rows(&mails);
    let names: Vec<&str> = all.iter().map(|row| row.file.as_str()).collect();
    assert_eq!(names, ["file", "file#2", "file#3", "file#4 (1st)", "file#4 (2nd)", "file#5"]);
    let alone: Vec<Row> = fixtures.iter().flat_map(|fixture| rows(&bytes(fixture))).collect();
    for (one, other) in all.iter().zip(&alone) {
        assert_eq!(one.cells().skip(1).collect::<Vec<_>>(), other.cells().skip(1).collect::<Vec<_>>());
    }
}

#[test]
fn pages_without_line_ends_are_split() {
    let page = text("awr_11203.html").trim_end().to_owned();
    let names: Vec<String> =
        rows(format!("{page}{page}").as_bytes()).into_iter().map(|row| row.file).collect();
    assert_eq!(names, ["file", "file#2"]);
    let flat = page.replace('\n', " ");
    assert_eq!(rows(format!("{flat}{flat}").as_bytes()).len(), 2);
}

#[test]
fn a_cut_report_names_the_line_of_the_next_one() {
    let first = text("awr_12201.txt");
    let cut: String = first.lines().take(100).map(|line| format!("{line}\n")).collect();
    let both = cut + &first;
    let mut reports = Reports::of(both.as_bytes()).unwrap();
    let error = reports.next().unwrap().unwrap_err();
    assert!(error.to_string().contains("another report begins in line 102"), "{error}");
    let [second] = &reports.next().unwrap().unwrap()[..] else { panic!("not one report") };
    let alone = &read(first.as_bytes()).unwrap()[0];
    assert_eq!((&second.load_profile, &second.activity), (&alone.load_profile, &alone.activity));
    assert!(reports.next().is_none());
}

#[test]
fn waits_per_second_of_a_comparison_are_as_printed() {
    let periods = read(&bytes("compare.txt")).unwrap();
    assert_eq!(periods.iter().map(|own| own.elapsed_s().unwrap()).collect::<Vec<_>>(), [901.55, 902.852]);
    let tables = diff(&periods[0], &periods[1]);
    let waits = tables.iter().find(|table| table.title == "Wait Events: waits per second").unwrap();
    let row = waits.rows.iter().find(|row| row.name == "db file sequential read").unwrap();
    assert_eq!((&row.first, &row.second), (&Some(Value::Number(578.3)), &Some(Value::Number(855.7))));
}

#[test]
fn the_first_pluggable_database_of_a_list_is_not_the_container() {
    let with = |names: &[&str]| {
        let rows: String =
            names.iter().map(|name| format!("     2080817258 {name:<15} 10-Feb-24 11:37\n")).collect();
        let list = format!(
            "Container DB Id  Container Name       Open Time\n--------------- --------------- ---------------\n{rows}\n\
             Host Name        Platform"
        );
        changed(
            "awr_12201.txt",
            &[("12.2.0.1.0 NO  NO", "12.2.0.1.0 NO"), ("Host Name        Platform", &list)],
        )
        .database
    };
    let several = with(&["PDB1", "PDB2"]);
    assert_eq!((several.container.as_deref(), several.is_cdb), (Some("CDB$ROOT"), Some(true)));
    assert_eq!(several.containers, ["PDB1", "PDB2"]);
    assert_eq!(with(&["SALES"]).container.as_deref(), Some("SALES"));
}

#[test]
fn percentages_may_be_negative_and_names_may_have_footnotes() {
    let own = changed(
        "awr_12201.txt",
        &[
            ("Buffer Nowait %:  100.00", "Execute to Parse %: -12.50"),
            ("log file sync                        1,000", "log file sync [1]                    1,000"),
        ],
    );
    let line = own.efficiency.iter().find(|line| line.name == "Execute to Parse %").unwrap();
    assert_eq!(value(line.percent), -12.5);
    assert_eq!(value(event(&own.top_events, "log file sync").waits), 1000.0);
}

#[test]
fn an_idle_event_is_not_the_top_wait() {
    let top = "db file sequential read                        520,240       4,567      9   71.6\n";
    let idle = "SQL*Net message from client                    900,000      40,000     44   90.0\n";
    let own = changed("statspack.txt", &[(top, &format!("{idle}{top}"))]);
    assert_eq!(row(own).top_wait.as_deref(), Some("db file sequential read"));
}

/// 11.2 prints the elapsed time in hundredths of a minute: quotients by it are no more precise.
#[test]
fn a_printed_rate_is_preferred_to_a_quotient_by_minutes() {
    let line = "Logical read (blocks):           5,000.0";
    let own = changed(
        "awr_12201.txt",
        &[
            (line, "Logical read (blocks):         406,407.8"),
            ("01-Mar-24 10:00:00", "01-Mar-24 10:00"),
            ("10.00 (mins)", "10.01 (mins)"),
        ],
    );
    assert_eq!(row(own).figure(Head::LogicalReads), Some(406_407.8));
    // The quotient is taken if the print is less precise.
    let own = report("awr_12201.txt");
    let few = own.statistic("physical write IO requests").and_then(|line| line.total);
    let expected = few.map(|few| few.value / 600.0);
    assert_eq!(own.statistic_per_s("physical write IO requests").map(|rate| rate.value), expected);
}

#[test]
fn three_waits_have_no_two_peaks() {
    let own = changed("awr_12201.txt", &[("600.0K  ", "     3  "), ("192.0K  ", "     1  ")]);
    let point = Point::of(&Named::new("x", own), "db file sequential read", 1024.0).unwrap();
    assert_eq!(point.two_peaks, None);
}

#[test]
fn decimal_commas_are_decimals() {
    let swap = |text: String| -> String {
        let exchange = |symbol: char| match symbol {
            '.' => ',',
            ',' => '.',
            other => other,
        };
        let is_number = |word: &str| {
            word.bytes().any(|byte| byte.is_ascii_digit())
                && word.bytes().all(|byte| byte.is_ascii_digit() || b".,KMGu%s".contains(&byte))
                && word.matches('.').count() < 2
        };
        let line = |line: &str| -> String {
            let words = line.split(' ');
            let words = words.map(|word| {
                if is_number(word) { word.chars().map(exchange).collect() } else { word.to_owned() }
            });
            words.collect::<Vec<_>>().join(" ") + "\n"
        };
        text.lines().map(line).collect()
    };
    let own = read(swap(text("awr_12201.txt")).as_bytes()).unwrap().remove(0);
    let expected = report("awr_12201.txt");
    assert_eq!((own.elapsed_s(), &own.load_profile[3..6]), (Some(600.0), &expected.load_profile[3..6]));
    assert_eq!(own.foreground_events[0], expected.foreground_events[0]);
}

#[test]
fn an_indented_text_is_read_and_a_wrapped_one_is_refused() {
    for indent in ["> ", "        ", "| "] {
        let mail: String = text("awr_12201.txt").lines().map(|line| format!("{indent}{line}\n")).collect();
        assert_eq!(
            read(mail.as_bytes()).unwrap()[0].load_profile,
            report("awr_12201.txt").load_profile,
            "{indent}"
        );
    }
    let wrapped = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.chunks(4).map(|words| words.join(" ") + "\n").collect::<String>()
    };
    let wrapped: String = text("awr_12201.txt").lines().map(wrapped).collect();
    let error = read(wrapped.as_bytes()).unwrap_err();
    assert!(matches!(error.fault, Fault::NoFigures { .. }), "{error}");
}

#[test]
fn messages_carry_no_control_characters_of_the_file() {
    let error = read(b"\x1b]52;c;cm0gLXJm\x07 a shopping list\n").unwrap_err().to_string();
    assert!(error.contains("a shopping list") && !error.chars().any(char::is_control), "{error:?}");
}

#[test]
fn statements_are_read_once_with_all_that_their_sections_say() {
    let own = with_sections(include_str!("../fixtures/parts/statements.txt"));
    assert_eq!(own.top_sql.len(), 1, "{:?}", own.top_sql);
    let sql = &own.top_sql[0];
    assert_eq!((sql.id.as_str(), sql.module.as_deref()), ("82ud5h0qcg0bf", Some("a module")));
    let expected = (1863.0, 123_456.0, 124_882.0);
    assert_eq!((value(sql.elapsed_s), value(sql.reads), value(sql.executions)), expected);
    assert_eq!(sql.text, "select * from  t where a = 1 and b = 2");
    let tables = diff(&report("awr_12201.txt"), &own);
    let table = tables.iter().find(|table| table.title == "SQL: elapsed time").unwrap();
    assert!(table.rows[0].name.starts_with("82ud5h0qcg0bf select"), "{table:?}");
    assert_eq!(table.rows[0].second, Some(Value::Number(1863.0 / 600.0)));
}

#[test]
fn a_comparison_begins_with_costs_and_omits_idle_waits() {
    let idle = "db file sequential read        600,000            900    1.50ms    500.0   75.0";
    let row = "SQL*Net message from clien     600,000         90,000  150.00ms    500.0       ";
    let cut = "Streams AQ: qmn coordinato     600,000         90,000  150.00ms    500.0       ";
    let own = changed("awr_12201.txt", &[(idle, &format!("{idle}\n{row}\n{cut}"))]);
    let tables = diff(&own, &own);
    let titles: Vec<&str> = tables.iter().map(|table| table.title).collect();
    assert_eq!(titles[2], "Wait Events and CPU: time");
    let idle = ["SQL*Net message from", "Streams AQ"];
    let mut rows = tables.iter().flat_map(|table| &table.rows);
    assert!(rows.all(|row| !idle.iter().any(|idle| row.name.starts_with(idle))));
    assert!(tables[2].rows.iter().any(|row| row.name == "DB CPU"));
}

#[test]
fn a_report_without_containers_has_an_empty_container_column() {
    assert_eq!(cell(&named("awr_12201.txt"), "Container"), None);
}

fn sql_of_containers(rows: &[(&str, &str, &str)]) -> String {
    let heads = "        Elapsed                  Elapsed Time\n        Time (s)    Executions  per Exec (s)  %Total   %CPU    %IO    SQL Id\n\
                 ---------------- -------------- ------------- ------ ------ ------ -------------";
    let row = |(id, container, figures): &(&str, &str, &str)| {
        format!(
            "{figures}   29.1    1.7   98.6 {id}\nModule: JDBC Thin Client\n   PDB: {container}\nselect :1 from dual\n\n"
        )
    };
    format!(
        "SQL ordered by Elapsed Time  DB/Inst: TEST/test  Snaps: 10-11\n\n{heads}\n{}          \
         -------------------------------------------------------------\n\n",
        rows.iter().map(row).collect::<String>()
    )
}

#[test]
fn one_statement_in_two_pluggable_databases_is_two_records() {
    let with = |rows: &[(&str, &str, &str)]| with_sections(&sql_of_containers(rows));
    let id = "9zg9qd9bm4spu";
    let of_sales = (id, "SALES", "         1,863.0        124,882          0.01");
    let of_hr = (id, "HR", "            60.0             12          5.00");
    let own = with(&[of_sales, of_hr, (id, "SALES", "         1,863.0        124,882          0.01")]);
    let statements: Vec<_> = own
        .top_sql
        .iter()
        .map(|sql| (sql.container.as_deref(), value(sql.elapsed_s), value(sql.executions), sql.text.as_str()))
        .collect();
    assert_eq!(
        statements,
        [
            (Some("SALES"), 1863.0, 124_882.0, "select :1 from dual"),
            (Some("HR"), 60.0, 12.0, "select :1 from dual")
        ]
    );
    assert_eq!(own.top_sql[1].module.as_deref(), Some("JDBC Thin Client"));
    // `diff` and series keep them apart, in whatever order they are printed.
    let tables = diff(&own, &with(&[of_hr, of_sales]));
    let table = tables.iter().find(|table| table.title == "SQL: elapsed time").unwrap();
    let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, [format!("{id} SALES select :1 from dual"), format!("{id} HR select :1 from dual")]);
    assert!(table.rows.iter().all(|row| row.first == row.second), "{table:?}");
    let trend = Trend::of(&Named::new("x", own));
    assert_eq!(trend.statements.len(), 2, "{:?}", trend.statements);
}

/// 11.2 prints four sections; most waits are short, and some take minutes.
const LONG_WAITS: &str = include_str!("../fixtures/parts/long_waits.txt");

#[test]
fn the_section_of_4_minutes_to_1_hour_is_read() {
    let own = with_sections(LONG_WAITS);
    let event = "enq: TX - row lock contention";
    let over = |limit: &str| {
        let us = duration_us(limit, None).unwrap().value;
        let over = Point::of(&Named::new("x", own.clone()), event, us).unwrap().over;
        [over.least_percent, over.most_percent].map(|percent| format!("{percent:.1}"))
    };
    assert_eq!(over("4m"), ["7.2", "7.2"]);
    assert_eq!([over("2m"), over("1s"), over("1h")], [["9.3"; 2], ["44.0"; 2], ["0.2"; 2]]);
}

#[test]
fn the_words_of_two_peaks_say_how_much_the_last_bucket_holds() {
    // Without the last section, all waits above 8 ms seem to take minutes.
    let without_last = LONG_WAITS.split("Wait Event Histogram Detail (4 min").next().unwrap();
    let own = with_sections(without_last);
    let point = Point::of(&Named::new("x", own), "enq: TX - row lock contention", 1.0).unwrap();
    let words = point.words().unwrap();
    assert!(words.contains("are longer (9 % took 2.2 min and more)"), "{words}");
    let peaks = point.two_peaks.unwrap();
    assert!((peaks.short_percent + peaks.long_percent - 100.0).abs() < 1.0, "{peaks:?}");
}

#[test]
fn a_statement_of_a_thousand_lines_in_a_cell_is_read() {
    let page = text("awr_11203.html");
    let statement = "SELECT 1 FROM dual UNION ALL\n".repeat(1000);
    let cell = format!("<table summary='x'><tr><td>{statement}</td></tr></table>");
    let end = page.to_ascii_lowercase().rfind("</body>").unwrap();
    let longer = format!("{}{cell}{}", &page[..end], &page[end..]);
    assert_eq!(read(longer.as_bytes()).unwrap()[0].activity, report("awr_11203.html").activity);
}
