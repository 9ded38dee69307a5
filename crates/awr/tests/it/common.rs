//! Fixtures, and the folder of real reports.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};

use slob_awr::checks::Checks;
use slob_awr::info::{Named, Row, Value, columns};
use slob_awr::{Report, WaitEvent, read};

/// They are not part of the project.
pub const REPORTS: &str = "TEST_AWR_REPORTS";

pub const FIXTURES: [&str; 7] = [
    "awr_12201.txt",
    "awr_crlf_pages.txt",
    "awr_pdb.txt",
    "statspack.txt",
    "compare.txt",
    "global.txt",
    "awr_11203.html",
];

/// The short form of a test takes a part of its cases, the same each time.
pub fn is_full() -> bool {
    std::env::var("DRILLS").is_ok_and(|drills| drills == "full")
}

pub fn bytes(fixture: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture)).unwrap()
}

/// The only report of a fixture, or the first of its periods.
pub fn report(fixture: &str) -> Report {
    read(&bytes(fixture)).unwrap().remove(0)
}

pub fn text(fixture: &str) -> String {
    String::from_utf8(bytes(fixture)).unwrap()
}

pub fn report_of(text: &str) -> Report {
    read(text.as_bytes()).unwrap().remove(0)
}

/// The report of a text fixture with other sections before its parameters.
pub fn with_sections(sections: &str) -> Report {
    let parameters = "init.ora Parameters                            DB/Inst";
    changed("awr_12201.txt", &[(parameters, &format!("{sections}{parameters}"))])
}

pub fn changed(fixture: &str, changes: &[(&str, &str)]) -> Report {
    let text = changes.iter().fold(text(fixture), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    report_of(&text)
}

pub fn named(fixture: &str) -> Named {
    Named::new(fixture, report(fixture))
}

pub fn checks(report: Report) -> Checks {
    Checks::of(&Named::new("x", report))
}

pub fn row(report: Report) -> Row {
    Row::of(&Named::new("x", report))
}

pub fn cell(own: &Named, name: &str) -> Option<Value> {
    columns().into_iter().find(|column| column.name == name).unwrap().value(own)
}

/// None, with a message, if there is no folder of them.
pub fn real_files() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os(REPORTS) else {
        eprintln!("skipped: {REPORTS} names no folder of real reports");
        return Vec::new();
    };
    let is_report =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "txt" || ending == "html");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(is_report).collect();
    files.sort();
    assert!(!files.is_empty(), "{REPORTS} names a folder without reports");
    files
}

pub fn real(part: &str) -> Option<Report> {
    let path = real_files().into_iter().find(|path| path.to_string_lossy().contains(part))?;
    Some(read(&fs::read(path).unwrap()).unwrap().remove(0))
}

pub fn event<'a>(events: &'a [WaitEvent], name: &str) -> &'a WaitEvent {
    events.iter().find(|event| event.name == name).unwrap()
}

pub fn value(figure: Option<slob_awr::Figure>) -> f64 {
    figure.unwrap().value
}
