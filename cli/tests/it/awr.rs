//! `slob awr`: reports as files, what is printed, and exit codes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/awr/tests/fixtures").join(name)
}

fn slob(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slob")).current_dir(folder).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder of reports of a test with 4, 8 and 16 sessions.
fn reports() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("my reports")).unwrap();
    for sessions in [4, 8, 16] {
        let to = folder.path().join("my reports").join(format!("awr.txt.{sessions}"));
        fs::copy(fixture("awr_12201.txt"), to).unwrap();
    }
    folder
}

#[test]
fn info_is_awr_infos_form_with_sessions_from_the_name() {
    let folder = reports();
    let output = slob(folder.path(), &["awr", "info", "my reports"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
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
    fs::write(folder.path().join("ash.txt"), "\nASH Report For X/y\n").unwrap();
    let whole = fs::read(fixture("awr_12201.txt")).unwrap();
    fs::write(folder.path().join("cut.txt"), &whole[..whole.len() / 2]).unwrap();
    let output =
        slob(folder.path(), &["awr", "info", "--csv", "ash.txt", "my reports", "missing.txt", "cut.txt"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("ash.txt: line 2: this is an ASH report"), "{said}");
    assert!(said.contains("missing.txt: No such file") && said.contains("cut.txt: line "), "{said}");
    assert!(said.contains("3 of 6 reports read to the end"), "{said}");
    // What could be read of the one that was cut is a row too.
    assert_eq!(stdout(&output).lines().count(), 5);
    let none = slob(folder.path(), &["awr", "info", "ash.txt"]);
    assert_eq!(none.status.code(), Some(2));
    let cut = slob(folder.path(), &["awr", "info", "cut.txt"]);
    assert_eq!(cut.status.code(), Some(1));
}

#[test]
fn json_holds_everything() {
    let output = slob(Path::new("."), &["awr", "info", "--json", fixture("compare.txt").to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(json[1]["report"]["period"], "second");
    assert_eq!(json[0]["report"]["load_profile"][1]["per_second"]["value"], 406_407.8);
}

#[test]
fn check_finds_iostat_that_lies() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(fixture("awr_12201.txt")).unwrap();
    fs::write(folder.path().join("sound"), &text).unwrap();
    fs::write(folder.path().join("lie"), text.replace("4.7G  1005.0  7.990M", "5.6G  1205.0  9.590M"))
        .unwrap();
    let output = slob(folder.path(), &["awr", "check", "--strict", "lie"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).starts_with("lie: doubtful:") && stdout(&output).contains("contradict each other")
    );
    let sound = slob(folder.path(), &["awr", "check", "--strict", "sound"]);
    assert_eq!(sound.status.code(), Some(0), "{}", stdout(&sound));
}

#[test]
fn histogram_tells_two_peaks_and_draws_them() {
    let folder = reports();
    let output =
        slob(folder.path(), &["awr", "histogram", "--over", "1ms", "--html", "h.html", "my reports"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("32.0 %") && text.contains("two peaks behind a mean of 1.5 ms"), "{text}");
    let page = fs::read_to_string(folder.path().join("h.html")).unwrap();
    assert!(page.contains("data-chart=\"heat-1\"") && page.contains("db file sequential read"));
    for endless in ["86401s", "1e300s", "0ms"] {
        let output = slob(folder.path(), &["awr", "histogram", "--over", endless, "my reports"]);
        assert_eq!(output.status.code(), Some(2), "{endless}");
        assert!(stderr(&output).contains("up to a day"), "{}", stderr(&output));
    }
    let unknown = slob(folder.path(), &["awr", "histogram", "--event", "no such event", "my reports"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("db file sequential read"), "{}", stderr(&unknown));
}

#[test]
fn diff_takes_two_reports_or_one_that_compares() {
    let folder = reports();
    let alone = slob(folder.path(), &["awr", "diff", fixture("compare.txt").to_str().unwrap()]);
    assert!(stdout(&alone).contains("Executes") && stdout(&alone).contains("+40.3"), "{}", stdout(&alone));
    let two = slob(
        folder.path(),
        &["awr", "diff", "my reports/awr.txt.4", fixture("statspack.txt").to_str().unwrap()],
    );
    assert_eq!(two.status.code(), Some(0), "{}", stderr(&two));
    assert!(stdout(&two).contains("db file sequential read"));
    let one = slob(folder.path(), &["awr", "diff", "my reports/awr.txt.4"]);
    assert_eq!(one.status.code(), Some(2));
}

#[test]
fn analyze_and_report_take_reports() {
    let folder = reports();
    let analysis = slob(folder.path(), &["analyze", "--csv", "my reports"]);
    assert_eq!(analysis.status.code(), Some(0), "{}", stderr(&analysis));
    assert!(
        stdout(&analysis).contains("awr.txt") && stdout(&analysis).contains("1023.3"),
        "{}",
        stdout(&analysis)
    );
    let page = slob(folder.path(), &["report", "--html", "my reports", "-o", "page.html"]);
    assert_eq!(page.status.code(), Some(0), "{}", stderr(&page));
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().contains("Throughput"));
    let text = slob(folder.path(), &["report", "my reports"]);
    assert!(text.status.code() == Some(2) && stderr(&text).contains("--html"), "{}", stderr(&text));
}

#[test]
fn the_folder_of_a_run_with_the_servers_own_report_is_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let record = "../crates/record/tests/fixtures/v1/20261121T014616Z-ten/run.json";
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(record), folder.path().join("run.json")).unwrap();
    fs::copy(fixture("awr_12201.txt"), folder.path().join("awr.txt")).unwrap();
    let name = folder.path().display().to_string();
    let output = slob(folder.path(), &["report", &name]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("20261121T014616Z-ten"), "{}", stdout(&output));
    let report = slob(folder.path(), &["awr", "info", &format!("{name}/awr.txt")]);
    assert!(stdout(&report).contains("db file sequential read"), "{}", stderr(&report));
}

/// What a command prints of what comes on stdin.
fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_slob"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_report_comes_from_stdin_packed_or_not() {
    let whole = fs::read(fixture("awr_12201.txt")).unwrap();
    let plain = piped(&["awr", "info", "-"], &whole);
    assert!(stdout(&plain).contains("\n-||600|"), "{}{}", stdout(&plain), stderr(&plain));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), &whole).unwrap();
    let packed = Command::new("gzip").args(["-c", "a"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(stdout(&piped(&["awr", "info", "-"], &packed.stdout)), stdout(&plain));
}

#[test]
fn two_reports_in_a_file_give_the_rows_and_the_differences_of_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["awr_12201.txt", "statspack.txt"];
    let both: Vec<u8> = names.iter().flat_map(|name| fs::read(fixture(name)).unwrap()).collect();
    fs::write(folder.path().join("both"), both).unwrap();
    for name in names {
        fs::copy(fixture(name), folder.path().join(name)).unwrap();
    }
    let rows = |files: &[&str]| -> Vec<String> {
        let output = slob(folder.path(), &[&["awr", "info"], files].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).lines().skip(1).map(|line| line.split_once('|').unwrap().1.to_owned()).collect()
    };
    assert_eq!(rows(&["both"]), rows(&names));
    let tables = |files: &[&str]| {
        let output = slob(folder.path(), &[&["awr", "diff", "--json"], files].concat());
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        json["tables"].clone()
    };
    assert_eq!(tables(&["both"]), tables(&names));
    let info = slob(folder.path(), &["awr", "info", "both"]);
    assert!(stdout(&info).contains("\nboth|") && stdout(&info).contains("\nboth#2|"), "{}", stdout(&info));
}

#[test]
fn an_empty_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let output = slob(folder.path(), &["awr", "info", "empty"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no files in this folder"), "{}", stderr(&output));
}

#[test]
fn a_sound_report_is_a_line_and_what_words_mean_is_said_once() {
    let folder = reports();
    let quiet = stdout(&slob(folder.path(), &["awr", "check", "my reports"]));
    assert_eq!(quiet.matches("are blocks, not requests").count(), 1, "{quiet}");
    assert!(!quiet.contains("Load Profile"), "{quiet}");
    let all = stdout(&slob(folder.path(), &["awr", "check", "-v", "my reports"]));
    assert!(all.contains("Load Profile"), "{all}");
}

#[test]
fn a_page_has_each_database_by_itself() {
    let folder = reports();
    let other = fs::read_to_string(fixture("awr_12201.txt")).unwrap().replace("TEST  ", "OTHER ");
    fs::write(folder.path().join("my reports/other.txt"), other).unwrap();
    let output = slob(folder.path(), &["awr", "page", "my reports", "-o", "p.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(
        page.contains("<h2>OTHER, test, box, 12.2.0.1.0") && page.contains("<h2>TEST, test, box"),
        "{page:.300}"
    );
    assert!(page.contains("Top events") && page.contains("4 reports of 2 databases"));
}

#[test]
fn a_count_is_shown_as_one_and_idle_waits_are_left_out_of_differences() {
    let folder = reports();
    let output =
        stdout(&slob(folder.path(), &["awr", "diff", "my reports/awr.txt.4", "my reports/awr.txt.8"]));
    let cpus = output.lines().find(|line| line.trim_start().starts_with("CPUs")).unwrap();
    assert_eq!(cpus.split_whitespace().collect::<Vec<_>>()[..3], ["CPUs", "8", "8"]);
    assert!(output.find("Wait Events and CPU").unwrap() < output.find("Workload Comparison").unwrap());
}
