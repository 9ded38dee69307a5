//! `slob awr`: reports as files, what is printed, and exit codes.

use std::fs;
use std::io::Write;

use crate::common::{Folder, awr_fixture, workspace};

/// Reports of a test with 4, 8 and 16 sessions.
fn reports() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.at("my reports")).unwrap();
    for sessions in [4, 8, 16] {
        fs::copy(awr_fixture("awr_12201.txt"), folder.at(&format!("my reports/awr.txt.{sessions}"))).unwrap();
    }
    folder
}

#[test]
fn info_is_awr_infos_form_with_sessions_from_the_name() {
    let folder = reports();
    let output = folder.slob("awr info 'my reports'").success();
    let text = &output.stdout;
    assert!(text.starts_with(
        "FILE|SESSIONS|ELAPSED|DB CPU|DB Tm|EXECUTES|LIO|PREADS|READ_MBS|PWRITES|WRITE_MBS|REDO_MBS|DFSR_LAT|DPR_LAT|\
         DFPR_LAT|DFPW_LAT|LFPW_LAT|TOP WAIT|\n"
    ));
    let sessions: Vec<&str> = text.lines().skip(1).map(|line| line.split('|').nth(1).unwrap()).collect();
    assert_eq!(sessions, ["16", "4", "8"]);
    assert!(text.contains("|1500|980||367.17|386.73|db file sequential read|\n"), "{text}");
}

#[test]
fn a_bad_file_does_not_stop_the_others_and_is_named_with_its_line() {
    let folder = reports();
    fs::write(folder.at("ash.txt"), "\nASH Report For X/y\n").unwrap();
    let whole = fs::read(awr_fixture("awr_12201.txt")).unwrap();
    fs::write(folder.at("cut.txt"), &whole[..whole.len() / 2]).unwrap();
    let output = folder.slob("awr info --csv ash.txt 'my reports' missing.txt cut.txt").exits(1);
    let said = &output.stderr;
    assert!(said.contains("ash.txt: line 2: this is an ASH report"), "{said}");
    assert!(said.contains("missing.txt: No such file") && said.contains("cut.txt: line "), "{said}");
    assert!(said.contains("3 of 6 reports read to the end"), "{said}");
    // The readable part of the one that was cut is a row too.
    assert_eq!(output.stdout.lines().count(), 5);
    folder.slob("awr info ash.txt").exits(2);
    folder.slob("awr info cut.txt").exits(1);
    fs::create_dir(folder.at("empty")).unwrap();
    folder.slob("awr info empty").fails(2, &["no files in this folder"]);
}

#[test]
fn json_holds_everything() {
    let json = Folder::new().slob(format!("awr info --json {}", awr_fixture("compare.txt"))).json();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(json[1]["report"]["period"], "second");
    assert_eq!(json[0]["report"]["load_profile"][1]["per_second"]["value"], 406_407.8);
}

#[test]
fn check_finds_iostat_that_lies() {
    let folder = Folder::new();
    let text = fs::read_to_string(awr_fixture("awr_12201.txt")).unwrap();
    fs::write(folder.at("sound"), &text).unwrap();
    fs::write(folder.at("lie"), text.replace("4.7G  1005.0  7.990M", "5.6G  1205.0  9.590M")).unwrap();
    let output = folder.slob("awr check --strict lie").exits(1);
    assert!(output.stdout.starts_with("lie: doubtful:") && output.stdout.contains("contradict each other"));
    folder.slob("awr check --strict sound").success();
}

#[test]
fn histogram_tells_two_peaks_and_draws_them() {
    let folder = reports();
    let output = folder.slob("awr histogram --over 1ms --html h.html 'my reports'").success();
    let text = &output.stdout;
    assert!(text.contains("32.0 %") && text.contains("two peaks behind a mean of 1.5 ms"), "{text}");
    let page = folder.read("h.html");
    let first = page.split("data-chart=\"").nth(1).unwrap();
    assert!(first.starts_with("heat-1\""), "the heat map is first");
    let lines = ["db file sequential read", "mean of the short, as from a cache", "mean of all"];
    assert!(lines.iter().all(|line| page.contains(line)));
    for endless in ["86401s", "1e300s", "0ms"] {
        folder.slob(format!("awr histogram --over {endless} 'my reports'")).fails(2, &["up to a day"]);
    }
    folder.slob("awr histogram --event 'no such event' 'my reports'").fails(2, &["db file sequential read"]);
}

#[test]
fn diff_takes_two_reports_or_one_that_compares() {
    let folder = reports();
    let alone = folder.slob(format!("awr diff {}", awr_fixture("compare.txt")));
    assert!(alone.stdout.contains("Executes") && alone.stdout.contains("+40.3"), "{}", alone.stdout);
    let called = folder.slob(format!("awr diff 'my reports/awr.txt.4' {}", awr_fixture("statspack.txt")));
    called.prints(&["db file sequential read"]);
    folder.slob("awr diff 'my reports/awr.txt.4'").exits(2);
    // A count is shown as one, and idle waits are left out.
    let output = folder.slob("awr diff 'my reports/awr.txt.4' 'my reports/awr.txt.8'").stdout;
    let cpus = output.lines().find(|line| line.trim_start().starts_with("CPUs")).unwrap();
    assert_eq!(cpus.split_whitespace().collect::<Vec<_>>()[..3], ["CPUs", "8", "8"]);
    assert!(output.find("Wait Events and CPU").unwrap() < output.find("Workload Comparison").unwrap());
}

#[test]
fn analyze_and_report_take_reports() {
    let folder = reports();
    folder.slob("analyze --csv 'my reports'").prints(&["awr.txt", "1023.3"]);
    folder.slob("report --html 'my reports' -o page.html").success();
    assert!(folder.read("page.html").contains("Throughput"));
    folder.slob("report 'my reports'").fails(2, &["--html"]);
}

#[test]
fn the_folder_of_a_run_with_the_servers_own_report_is_a_run() {
    let folder = Folder::new();
    let record = workspace("crates/record/tests/fixtures/v1/20261121T014616Z-ten/run.json");
    fs::copy(record, folder.at("run.json")).unwrap();
    fs::copy(awr_fixture("awr_12201.txt"), folder.at("awr.txt")).unwrap();
    let name = folder.path().display().to_string();
    folder.slob(format!("report {name}")).prints(&["20261121T014616Z-ten"]);
    let report = folder.slob(format!("awr info {name}/awr.txt"));
    assert!(report.stdout.contains("db file sequential read"), "{}", report.stderr);
}

#[test]
fn a_report_comes_from_stdin_packed_or_not() {
    let folder = Folder::new();
    fs::copy(awr_fixture("awr_12201.txt"), folder.at("a")).unwrap();
    let plain = folder.shell("$0 awr info - < a");
    assert!(plain.stdout.contains("\nstdin||600|"), "{}{}", plain.stdout, plain.stderr);
    assert_eq!(folder.shell("gzip -c a | $0 awr info -").stdout, plain.stdout);
}

#[test]
fn two_reports_in_a_file_give_the_rows_and_the_differences_of_two_files() {
    let folder = Folder::new();
    let names = ["awr_12201.txt", "statspack.txt"];
    let both: Vec<u8> = names.iter().flat_map(|name| fs::read(awr_fixture(name)).unwrap()).collect();
    fs::write(folder.at("both"), both).unwrap();
    for name in names {
        fs::copy(awr_fixture(name), folder.at(name)).unwrap();
    }
    let rows = |files: &str| -> Vec<String> {
        let table = folder.slob(format!("awr info {files}")).success().stdout;
        table.lines().skip(1).map(|line| line.split_once('|').unwrap().1.to_owned()).collect()
    };
    assert_eq!(rows("both"), rows(&names.join(" ")));
    let tables = |files: &str| folder.slob(format!("awr diff --json {files}")).json()["tables"].clone();
    assert_eq!(tables("both"), tables(&names.join(" ")));
    let info = folder.slob("awr info both");
    assert!(info.stdout.contains("\nboth|") && info.stdout.contains("\nboth#2|"), "{}", info.stdout);
}

#[test]
fn a_sound_report_is_a_line_and_what_words_mean_is_said_once() {
    let folder = reports();
    let quiet = folder.slob("awr check 'my reports'").stdout;
    assert_eq!(quiet.matches("are blocks, not requests").count(), 1, "{quiet}");
    assert!(!quiet.contains("Load Profile"), "{quiet}");
    let all = folder.slob("awr check -v 'my reports'").stdout;
    assert!(all.contains("Load Profile"), "{all}");
}

#[test]
fn a_page_has_each_database_by_itself() {
    let folder = reports();
    let other = fs::read_to_string(awr_fixture("awr_12201.txt")).unwrap().replace("TEST  ", "OTHER ");
    fs::write(folder.at("my reports/other.txt"), other).unwrap();
    folder.slob("awr page 'my reports' -o p.html").success();
    let page = folder.read("p.html");
    let parts =
        ["<h2>OTHER, test, box, 12.2.0.1.0", "<h2>TEST, test, box", "Top events", "4 reports of 2 databases"];
    assert!(parts.iter().all(|part| page.contains(part)), "{page:.300}");
}

#[test]
fn export_makes_tables_that_answer_questions() {
    let folder = reports();
    fs::copy(awr_fixture("statspack.txt"), folder.at("my reports/sp.txt")).unwrap();
    folder.slob("awr export 'my reports' -o x.db").success();
    let database = rusqlite::Connection::open(folder.at("x.db")).unwrap();
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(DISTINCT file) FROM reports"), 4);
    let mean = "SELECT mean_us FROM events JOIN reports USING (report_id)
                WHERE scope = 'foreground' AND name = 'db file sequential read' AND file LIKE '%awr.txt.4'";
    let mean: f64 = database.query_row(mean, [], |row| row.get(0)).unwrap();
    assert_eq!(mean, 1500.0);
    // Every row belongs to a report.
    for table in ["load_profile", "statistics", "events", "histograms", "time_model"] {
        assert!(count(&format!("SELECT count(*) FROM {table}")) > 0, "{table}");
        let lost = "WHERE report_id NOT IN (SELECT report_id FROM reports)";
        assert_eq!(count(&format!("SELECT count(*) FROM {table} {lost}")), 0, "{table}");
    }
    assert_eq!(count("SELECT count(*) FROM statistics WHERE total = 0 AND per_second IS NULL"), 0);
    // The same rows as text, and nothing is left beside the database.
    folder.slob("awr export 'my reports' --csv -o tables").success();
    let csv = fs::read_to_string(folder.at("tables/events.csv")).unwrap();
    let heads = "report_id,scope,name,class,waits,total_s,mean_us,percent,percent_of\n";
    assert!(csv.starts_with(heads), "{csv}");
    assert_eq!(csv.lines().count() as i64, count("SELECT count(*) FROM events") + 1);
    assert!(!folder.at("x.db.part").exists());
    // The document has the tables.
    let document = fs::read_to_string(workspace("docs/reference/awr-columns.md")).unwrap();
    for entry in fs::read_dir(folder.at("tables")).unwrap() {
        let path = entry.unwrap().path();
        let table = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let columns = text.lines().next().unwrap().replace(',', ", ");
        let columns = columns.strip_prefix("report_id, ").unwrap();
        let row = format!("| `{table}` | {columns} |");
        assert!(document.contains(&row), "docs/reference/awr-columns.md lacks this row:\n{row}");
    }
}

/// Small files whose content is large, or makes large tables.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let page = b"<html><body><h1>WORKLOAD REPOSITORY report for</h1><h3>Load Profile</h3>\n".as_slice();
    let text = b"WORKLOAD REPOSITORY report for\nLoad Profile  DB/Inst: a/b Snaps: 1-2\n".as_slice();
    let ruler = [b"- ".repeat(100), b"\n".to_vec()].concat();
    let rows = [page, b"<table>", &b"<tr><td>1".repeat(3_000_000)].concat();
    let archive = |files: &[Vec<u8>]| {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (number, file) in files.iter().enumerate() {
            archive.start_file(number.to_string(), zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(file).unwrap();
        }
        archive.finish().unwrap().into_inner()
    };
    let inner = archive(&[rows.clone(), rows.clone(), rows.clone()]);
    vec![
        ("tables", gzip(&[page, &b"<table><tr><td>".repeat(2_000_000)].concat())),
        ("wide", gzip(&[text, &ruler, &b"x\n".repeat(4_000_000)].concat())),
        ("blank", gzip(&[text, &b"\n".repeat(120_000_000)].concat())),
        ("comment", gzip(&[page, b"<!--", &b"x".repeat(120_000_000)].concat())),
        ("much", gzip(&[text, &b"x".repeat(150_000_000)].concat())),
        ("archives", archive(&[inner.clone(), inner.clone(), inner])),
        ("rows", rows),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn a_small_crafted_file_is_refused_within_600_mb() {
    let folder = Folder::new();
    for (name, bytes) in bombs() {
        fs::write(folder.at(name), bytes).unwrap();
        // Kilobytes of data that the kernel lets the program have.
        let called = folder.shell(&format!("ulimit -d 600000; exec \"$0\" awr info {name}"));
        let is_said = ["MiB", "more than 100 times"].iter().any(|limit| called.stderr.contains(limit));
        assert!(called.code == 2 && is_said, "{name}: {}", called.stderr);
        fs::remove_file(folder.at(name)).unwrap();
    }
}
