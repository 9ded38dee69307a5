//! `slob awr`: reports as files, what is printed, and exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
