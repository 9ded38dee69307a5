//! Every statement read by a parser of Oracle's dialect that is not ours.
//!
//! The parser is sqlfluff, a Python package in `target/test-readers`, where `.ci/install-test-servers` puts it; without it these
//! tests say so and pass, unless CI=true. It does not
//! know all that Oracle does: [`UNKNOWN`] lists what is replaced before it reads, and [`LEFT_OUT`] what it is not given.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::script::tests::everything;

/// Words of Oracle's that the parser (4.5.0) does not know, and what it is given in their place.
const UNKNOWN: &[(&str, &str)] = &[
    ("COMMIT WRITE IMMEDIATE WAIT;", "COMMIT;"),
    ("ROWID_ROW_NUMBER(ROWID)", "ROWID_ROW_NUMBER(place)"),
    ("EXPLAIN PLAN SET STATEMENT_ID = 'slob' FOR ", ""),
];
/// Statements that it does not know at all.
const LEFT_OUT: &[&str] =
    &["ALTER SYSTEM ", "CREATE BIGFILE TABLESPACE", "CREATE BIGFILE UNDO", "ALTER DATABASE ADD LOGFILE"];

/// The parser; `None`, said once, where it is not installed.
fn parser() -> Option<PathBuf> {
    let parser = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-readers/bin/sqlfluff");
    if parser.exists() {
        return Some(parser);
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{} is not there", parser.display());
    let _ = writeln!(std::io::stderr(), "skipped: .ci/install-test-servers was not run, there is no parser");
    None
}

/// What the parser complains about; nothing if it reads all of it.
fn complaints(parser: &Path, sql: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".sqlfluff"), "[sqlfluff]\nlarge_file_skip_byte_limit = 0\n").unwrap();
    std::fs::write(folder.path().join("all.sql"), sql).unwrap();
    let output = Command::new(parser)
        .args(["parse", "--dialect", "oracle", "--nocolor", "all.sql"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        told.contains("statement"),
        "it parsed nothing: {told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    told.lines().skip_while(|line| !line.contains("PRS |")).collect::<Vec<_>>().join("\n")
}

fn prepared(sql: &str) -> String {
    let sql = UNKNOWN.iter().fold(sql.to_owned(), |sql, (words, stand_in)| sql.replace(words, stand_in));
    sql.lines()
        .filter(|line| !LEFT_OUT.iter().any(|words| line.starts_with(words)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn every_statement_is_read_by_a_parser_of_the_dialect() {
    let Some(parser) = parser() else { return };
    let told = complaints(&parser, &prepared(&everything()));
    assert_eq!(told, "");
}

#[test]
fn what_prepares_a_database_is_read_too() {
    let Some(parser) = parser() else { return };
    let told = complaints(&parser, &prepared(&crate::init::tests::whole()));
    assert_eq!(told, "");
}

#[test]
fn the_parser_does_find_mistakes() {
    let Some(parser) = parser() else { return };
    // One block shows it, and all of them take seconds.
    let all = prepared(&everything());
    let loops = all.split("\n/\n").filter(|block| block.contains("END LOOP;"));
    let broken =
        loops.min_by_key(|block| block.len()).unwrap().replacen("END LOOP;", "END LOP;", 1) + "\n/\n";
    assert!(complaints(&parser, &broken).contains("unparsable"), "a broken loop was read");
}
