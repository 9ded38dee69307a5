//! Every statement read by two grammars that are not ours.
//!
//! sqlfluff (a Python package in `target/test-readers`) reads Oracle's dialect of SQL. The grammar of PMD (in
//! `target/test-grammars`, with a Java runtime) knows PL/SQL as a language; outside of blocks it skips what it does not know,
//! so statements that may be in a block are put into one. `.ci/install-test-servers` installs both. Without them these tests
//! pass with a note, unless CI=true.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use slob_engine::{Load, OpenSpec, PlannedLoad, Purpose, RunExtras, RunPlan};
use slob_method::SchemaNo;
use slob_spec::{RedoStress, StatisticsType};

use super::options;
use crate::counters::{Views, queries};
use crate::options::Options;
use crate::release::Version;
use crate::script::{SCRIPTS, Script};
use crate::server_report::{instances_sql, report_sql};
use crate::statements::tests::plan;
use crate::statements::{DROP_USER, SchemaSql};
use crate::{capture, statements};

/// The releases that scripts are written for.
pub(crate) const RELEASES: [&str; 4] = ["11.2", "12.2", "19", "23"];

pub(crate) fn spec_of(release: &str) -> OpenSpec {
    let target = "oracle://system:S3CRET@//db1:1521/pdb1".parse().unwrap();
    let options = options(&[("ORACLE_RELEASE", release), ("ORACLE_BUFFER_POOL", "keep")]);
    OpenSpec { tablespace: Some("iops".into()), ..OpenSpec::new(target, Purpose::Use, options) }
}

pub(crate) const PLANNED: Load =
    Load { seed: 5, scale: 10_240, scan_blocks: 128, obfuscated: false, slice_rows: 8192 };

pub(crate) fn planned(schemas: &[SchemaNo], block_bytes: u32) -> PlannedLoad<'_> {
    PlannedLoad { load: &PLANNED, schemas, block_bytes }
}

/// The script that prepares a database for four schemas.
pub(crate) fn init_script(block_bytes: u32, sessions: u32) -> Result<String, slob_engine::EngineError> {
    let schemas: Vec<SchemaNo> = SchemaNo::up_to(4).collect();
    (SCRIPTS.init)(&spec_of("19"), &planned(&schemas, block_bytes), sessions)
}

/// Files of queries that neither a load nor a run executes.
const LOOKS: &str = "autotasks buffer_pool clock_step cancel cache container data_files database instance_number instances kit kit_keys marked \
                     parameters read_rows redo_logs slices state tablespace version version_full block_size db_block_size \
                     default_tablespace own_tablespace objects";

fn sql_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sql")
}

/// Every statement that this engine may send, each once.
pub(crate) fn everything() -> String {
    let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
    let mut all = String::new();
    for release in RELEASES {
        let spec = spec_of(release);
        all += &(SCRIPTS.load)(&spec, &planned(&schemas, 8192)).unwrap();
        for (redo, report) in
            [(RedoStress::Lite, StatisticsType::Awr), (RedoStress::Heavy, StatisticsType::Statspack)]
        {
            let extras = RunExtras { pauses: true, server_report: Some(report) };
            let run = RunPlan { schemas: &schemas, sessions: 4, redo: Some(redo), scans: true, stop: None };
            all += &(SCRIPTS.run)(&spec, &run, &plan(Some(redo)), extras).unwrap();
        }
    }
    let mut looks = Script::default();
    for release in RELEASES {
        let version = Version::parse(release);
        looks.add_all(queries(Views::Cluster, &version));
        looks.add(instances_sql(&version));
    }
    looks.add(report_sql(true, "HTML"));
    let sql = SchemaSql::new(
        &Options::new(&OpenSpec { tablespace: Some("my data".into()), ..spec_of("19") }).unwrap(),
        SchemaNo::FIRST,
    );
    looks.add_all(sql.create().iter().chain(&sql.drop_tables()));
    looks.add(sql.fill(DROP_USER));
    looks.add_all(capture::views(Views::Cluster, &Version::parse("19")).map(|(_, sql)| sql));
    let file = |name: &str| std::fs::read_to_string(sql_folder().join(format!("{name}.sql"))).unwrap();
    looks.add_all(LOOKS.split(' ').map(file));
    let values = [
        ("v", "gv$"),
        ("names", "'a', 'b'"),
        ("user", "SLOB1"),
        ("number", "1"),
        ("count", "COUNT(*)"),
        ("scan_table", "SLOB1.cf2"),
        ("session", "12, 345"),
        ("table", "cf1"),
        ("keys", "1, 2"),
    ];
    split(&(all + &statements::fill(&looks.0, &values) + "\n")).concat()
}

/// The statements and blocks of a script for SQL*Plus, each once, without comments.
fn split(script: &str) -> Vec<String> {
    let (mut all, mut statement, mut in_block): (Vec<String>, _, _) = (Vec::new(), String::new(), false);
    for line in script.lines().filter(|line| !line.starts_with("--")) {
        in_block |= statement.is_empty() && (line.starts_with("BEGIN") || line.starts_with("DECLARE"));
        let ends = if in_block { line == "/" } else { line.ends_with(';') };
        statement.push_str(line);
        statement.push('\n');
        if ends {
            let whole = std::mem::take(&mut statement);
            in_block = false;
            if !all.contains(&whole) {
                all.push(whole);
            }
        }
    }
    assert_eq!(statement, "", "the last statement has no end");
    all
}

/// So that no file is forgotten: the longest part of each, between its placeholders, must be there.
#[test]
fn every_text_is_among_those_that_are_checked() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = words(&(everything() + &init_script(8192, 8).unwrap()));
    let mut files = 0;
    for file in std::fs::read_dir(sql_folder()).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let longest = text.split(['{', '}']).map(words).max_by_key(String::len).unwrap();
        assert!(all.contains(&longest), "{} is not among them: {longest}", path.display());
        files += 1;
    }
    assert!(files > 40, "{files}");
}

/// A tool below `target`; `None`, with a note, if it is not installed.
fn tool(path: &str, is_usable: impl Fn() -> bool) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(path);
    if path.exists() && is_usable() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{} is not there", path.display());
    let _ =
        writeln!(std::io::stderr(), "skipped: .ci/install-test-servers did not install {}", path.display());
    None
}

fn sqlfluff() -> Option<PathBuf> {
    tool("test-readers/bin/sqlfluff", || true)
}

fn pmd() -> Option<PathBuf> {
    let has_java = || Command::new("java").arg("-version").output().is_ok_and(|said| said.status.success());
    tool("test-grammars/pmd", has_java)
}

/// Replacements for words that sqlfluff (4.5.0) does not know.
const UNKNOWN_TO_SQLFLUFF: &[(&str, &str)] = &[
    ("COMMIT WRITE IMMEDIATE WAIT;", "COMMIT;"),
    ("ROWID_ROW_NUMBER(ROWID)", "ROWID_ROW_NUMBER(place)"),
    ("EXPLAIN PLAN SET STATEMENT_ID = 'slob' FOR ", ""),
];
/// Beginnings of statements that it does not know at all.
const LEFT_OUT_FOR_SQLFLUFF: &[&str] =
    &["ALTER SYSTEM ", "CREATE BIGFILE TABLESPACE", "CREATE BIGFILE UNDO", "ALTER DATABASE ADD LOGFILE"];

fn for_sqlfluff(sql: &str) -> String {
    let replace = |sql: String, (words, others): &(&str, &str)| sql.replace(words, others);
    let sql = UNKNOWN_TO_SQLFLUFF.iter().fold(sql.to_owned(), replace);
    let is_known = |line: &&str| !LEFT_OUT_FOR_SQLFLUFF.iter().any(|words| line.starts_with(words));
    sql.lines().filter(is_known).collect::<Vec<_>>().join("\n")
}

/// Complaints of sqlfluff; none if it reads all of it.
fn sqlfluff_complaints(sqlfluff: &Path, sql: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".sqlfluff"), "[sqlfluff]\nlarge_file_skip_byte_limit = 0\n").unwrap();
    std::fs::write(folder.path().join("all.sql"), sql).unwrap();
    let output = Command::new(sqlfluff)
        .args(["parse", "--dialect", "oracle", "--nocolor", "all.sql"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let [tree, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(tree.contains("statement"), "it parsed nothing: {tree}{errors}");
    tree.lines().skip_while(|line| !line.contains("PRS |")).collect::<Vec<_>>().join("\n")
}

#[test]
fn sqlfluff_reads_every_statement() {
    let Some(sqlfluff) = sqlfluff() else { return };
    assert_eq!(sqlfluff_complaints(&sqlfluff, &for_sqlfluff(&everything())), "");
}

#[test]
fn sqlfluff_reads_what_prepares_a_database() {
    let Some(sqlfluff) = sqlfluff() else { return };
    assert_eq!(sqlfluff_complaints(&sqlfluff, &for_sqlfluff(&init_script(8192, 8).unwrap())), "");
}

#[test]
fn sqlfluff_finds_mistakes() {
    let Some(sqlfluff) = sqlfluff() else { return };
    // One block is enough; all of them take seconds.
    let all = for_sqlfluff(&everything());
    let loops = all.split("\n/\n").filter(|block| block.contains("END LOOP;"));
    let broken =
        loops.min_by_key(|block| block.len()).unwrap().replacen("END LOOP;", "END LOP;", 1) + "\n/\n";
    assert!(sqlfluff_complaints(&sqlfluff, &broken).contains("unparsable"), "a broken loop was read");
}

/// A rule that no text breaks, since PMD is only to parse.
const RULES: &str = r#"<?xml version="1.0"?>
<ruleset name="none" xmlns="http://pmd.sourceforge.net/ruleset/2.0.0"><description>Parses.</description>
<rule name="None" language="plsql" message="none" class="net.sourceforge.pmd.lang.rule.xpath.XPathRule">
<description>None.</description><priority>5</priority>
<properties><property name="xpath"><value>//NoSuchNode</value></property></properties></rule></ruleset>
"#;

/// PMD does not know EXPLAIN PLAN, and reads the statement behind it.
const UNKNOWN_TO_PMD: &str = "EXPLAIN PLAN SET STATEMENT_ID = 'slob' FOR ";

/// Statements as a block would hold them. DDL and ALTER stay as they are: PMD reads little of them.
fn for_pmd(script: &str) -> String {
    split(&script.replace(UNKNOWN_TO_PMD, "")).iter().map(|statement| in_block(statement)).collect()
}

fn in_block(statement: &str) -> String {
    if statement.ends_with("\n/\n") {
        return statement.to_owned();
    }
    let statement = statement.trim_end().trim_end_matches(';');
    match statement.split_whitespace().next().unwrap_or_default() {
        "SELECT" => format!("BEGIN\nFOR r IN ({statement}) LOOP\nNULL;\nEND LOOP;\nEND;\n/\n"),
        "INSERT" | "UPDATE" | "COMMIT" | "ROLLBACK" => format!("BEGIN\n{statement};\nEND;\n/\n"),
        _ => format!("{statement};\n"),
    }
}

/// Complaints of PMD; none if it reads all of it.
fn pmd_complaints(pmd: &Path, sql: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let [rules, all] = ["rules.xml", "all.sql"].map(|name| folder.path().join(name));
    std::fs::write(&rules, RULES).unwrap();
    std::fs::write(&all, sql).unwrap();
    let output = Command::new("java")
        .arg("-cp")
        .arg(pmd.join("*"))
        .args(["net.sourceforge.pmd.cli.PmdCli", "check", "--no-cache", "--no-progress", "-f", "json", "-R"])
        .arg(&rules)
        .arg("-d")
        .arg(&all)
        .output()
        .unwrap();
    let [report, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(report.contains("\"processingErrors\""), "it read nothing: {report}{errors}");
    report.lines().filter(|line| line.contains("\"message\"")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn pmd_reads_every_statement_and_block() {
    let Some(pmd) = pmd() else { return };
    let all = for_pmd(&everything());
    assert!(all.matches("FOR r IN (").count() > 30, "queries are among them");
    assert_eq!(pmd_complaints(&pmd, &all), Vec::<String>::new());
    assert_eq!(pmd_complaints(&pmd, &for_pmd(&init_script(8192, 8).unwrap())), Vec::<String>::new());
}

#[test]
fn pmd_finds_mistakes() {
    let Some(pmd) = pmd() else { return };
    let all = for_pmd(&everything());
    for (sound, broken) in
        [("END LOOP;", "END LOP;"), ("TO_NUMBER(SUBSTRB(", "TO_NUMBER((SUBSTRB("), ("GROUP BY", "GROUP")]
    {
        let damaged = all.replacen(sound, broken, 1);
        assert_ne!(damaged, all);
        assert!(!pmd_complaints(&pmd, &damaged).is_empty(), "{broken} was read");
    }
}
