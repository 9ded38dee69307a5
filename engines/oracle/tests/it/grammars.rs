//! Every statement that servers received or scripts have, read by two foreign grammars.
//!
//! sqlfluff (in `target/test-readers`) reads Oracle's dialect of SQL. PMD (in `target/test-grammars`, with Java) reads PL/SQL;
//! outside of blocks it skips the unknown, so statements go into blocks. `.ci/install-test-servers` installs both. Without them
//! these tests pass with a note, unless CI=true.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use slob_engine::{Load, OpenSpec, PlannedLoad, Purpose, RunExtras, RunPlan, SessionPlan};
use slob_engine_oracle::KIND;
use slob_method::SchemaNo;
use slob_spec::{RedoStress, StatisticsType};
use slob_testing::work::{options, schema, session_plan};
use slob_testing::{available, is_full, skipped};

use crate::wire::statements::{files, longest_part, met};

const PLANNED: Load = Load { seed: 5, scale: 10_240, scan_blocks: 128, obfuscated: false, slice_rows: 8192 };

fn scripts() -> String {
    let scripts = KIND.scripts.unwrap();
    let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
    let planned = PlannedLoad { load: &PLANNED, schemas: &schemas, block_bytes: 8192 };
    let spec = |release, tablespace: &str| {
        let options = options(&KIND, &[("ORACLE_RELEASE", release), ("ORACLE_BUFFER_POOL", "keep")]);
        let target = "oracle://system:S3CRET@//db1:1521/pdb1".parse().unwrap();
        OpenSpec { tablespace: Some(tablespace.into()), ..OpenSpec::new(target, Purpose::Use, options) }
    };
    let mut all = (scripts.load)(&spec("19", "my data"), &planned).unwrap();
    for release in ["11.2", "12.2", "19", "23"] {
        let spec = spec(release, "iops");
        all += &(scripts.load)(&spec, &planned).unwrap();
        for (redo, report) in
            [(RedoStress::Lite, StatisticsType::Awr), (RedoStress::Heavy, StatisticsType::Statspack)]
        {
            let extras = RunExtras { pauses: true, server_report: Some(report) };
            let run = RunPlan { schemas: &schemas, sessions: 4, redo: Some(redo), scans: true, stop: None };
            let plan = SessionPlan { home: schema(2), hot_schema: true, ..session_plan(&PLANNED, 3, redo) };
            all += &(scripts.run)(&spec, &run, &plan, extras).unwrap();
        }
    }
    all + &(scripts.init)(&spec("19", "iops"), &planned, 8).unwrap()
}

/// Each once; `None` if no server can receive any.
fn everything() -> Option<Vec<String>> {
    let terminated = |sql: &String| match sql.starts_with("BEGIN") || sql.starts_with("DECLARE") {
        true => format!("{sql}\n/\n"),
        false => format!("{sql};\n"),
    };
    let all = [split(&scripts()), met()?.iter().map(terminated).collect()].concat();
    let words = |sql: &str| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let each: BTreeMap<String, String> = all.into_iter().map(|sql| (words(&sql), sql)).collect();
    Some(each.into_values().collect())
}

/// Comments are left out.
fn split(script: &str) -> Vec<String> {
    let (mut all, mut statement, mut in_block): (Vec<String>, _, _) = (Vec::new(), String::new(), false);
    for line in script.lines().filter(|line| !line.starts_with("--")) {
        in_block |= statement.is_empty() && (line.starts_with("BEGIN") || line.starts_with("DECLARE"));
        let ends = if in_block { line == "/" } else { line.ends_with(';') };
        statement.push_str(line);
        statement.push('\n');
        if ends {
            in_block = false;
            all.push(std::mem::take(&mut statement));
        }
    }
    assert_eq!(statement, "", "the last statement has no end");
    all
}

/// The longest part of each file, between its placeholders, must be there.
#[test]
fn every_text_is_among_those_that_are_checked() {
    let Some(all) = everything() else { return };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = words(&(all.concat() + &scripts()));
    assert!(!all.contains('{'), "a placeholder is left: {all}");
    let files = files();
    for (name, text) in &files {
        assert!(all.contains(&longest_part(text)), "{name}.sql is not among them: {}", longest_part(text));
    }
    assert!(files.len() > 40, "{}", files.len());
}

/// `None`, with a note, if it is not installed.
fn tool(path: &str, is_usable: impl Fn() -> bool) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(path);
    let missing = format!(".ci/install-test-servers did not install {}", path.display());
    available(if path.exists() && is_usable() { Ok(path) } else { Err(missing) })
}

fn folder_of(texts: &[(&str, String)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in texts {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// sqlfluff (4.5.0) does not know these words.
const UNKNOWN_TO_SQLFLUFF: &[(&str, &str)] = &[
    ("COMMIT WRITE IMMEDIATE WAIT;", "COMMIT;"),
    ("ROWID_ROW_NUMBER(ROWID)", "ROWID_ROW_NUMBER(place)"),
    ("EXPLAIN PLAN SET STATEMENT_ID = 'slob' FOR ", ""),
];
/// sqlfluff does not know these statements.
const LEFT_OUT_FOR_SQLFLUFF: &[&str] =
    &["ALTER SYSTEM ", "CREATE BIGFILE TABLESPACE", "CREATE BIGFILE UNDO", "ALTER DATABASE ADD LOGFILE"];

fn for_sqlfluff(sql: &str) -> String {
    let replace = |sql: String, (words, others): &(&str, &str)| sql.replace(words, others);
    let sql = UNKNOWN_TO_SQLFLUFF.iter().fold(sql.to_owned(), replace);
    let is_known = |line: &&str| !LEFT_OUT_FOR_SQLFLUFF.iter().any(|words| line.starts_with(words));
    sql.lines().map(|line| if is_known(&line) { line } else { "" }).collect::<Vec<_>>().join("\n")
}

#[test]
fn sqlfluff_reads_every_statement_and_finds_mistakes() {
    if !is_full() {
        return skipped("it takes half a minute, and PMD reads the same; DRILLS=full makes it");
    }
    let Some(sqlfluff) = tool("test-readers/bin/sqlfluff", || true) else { return };
    let Some(all) = everything() else { return };
    let blocks = all.iter().filter(|sql| sql.contains("END LOOP;"));
    let broken = blocks.min_by_key(|block| block.len()).unwrap().replacen("END LOOP;", "END LOP;", 1);
    let folder = folder_of(&[
        (".sqlfluff", "[sqlfluff]\nlarge_file_skip_byte_limit = 0\n".to_owned()),
        ("1-broken.sql", for_sqlfluff(&broken)),
        ("2-sound.sql", for_sqlfluff(&all.concat())),
    ]);
    // Its start takes a second: both files in one.
    let output = Command::new(sqlfluff)
        .args(["parse", "--dialect", "oracle", "--nocolor", "."])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let [trees, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let [broken, sound] = trees.split("|file:").skip(1).collect::<Vec<_>>()[..] else {
        panic!("it parsed other files: {trees}{errors}")
    };
    assert!(broken.contains("unparsable"), "a broken loop was read");
    assert!(sound.contains("statement"), "it parsed nothing: {trees}{errors}");
    let complaints = sound.lines().skip_while(|line| !line.contains("PRS |")).collect::<Vec<_>>();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// No text breaks the rule, since PMD is only to parse.
const RULES: &str = r#"<?xml version="1.0"?>
<ruleset name="none" xmlns="http://pmd.sourceforge.net/ruleset/2.0.0"><description>Parses.</description>
<rule name="None" language="plsql" message="none" class="net.sourceforge.pmd.lang.rule.xpath.XPathRule">
<description>None.</description><priority>5</priority>
<properties><property name="xpath"><value>//NoSuchNode</value></property></properties></rule></ruleset>
"#;

/// PMD does not know EXPLAIN PLAN, and reads the statement behind it.
const UNKNOWN_TO_PMD: &str = "EXPLAIN PLAN SET STATEMENT_ID = 'slob' FOR ";

/// DDL and ALTER stay as they are: PMD reads little of them.
fn in_block(statement: &str) -> String {
    if statement.ends_with("\n/\n") {
        return statement.to_owned();
    }
    let statement = statement.replace(UNKNOWN_TO_PMD, "");
    let statement = statement.trim_end().trim_end_matches(';');
    match statement.split_whitespace().next().unwrap_or_default() {
        "SELECT" => format!("BEGIN\nFOR r IN ({statement}) LOOP\nNULL;\nEND LOOP;\nEND;\n/\n"),
        "INSERT" | "UPDATE" | "COMMIT" | "ROLLBACK" => format!("BEGIN\n{statement};\nEND;\n/\n"),
        _ => format!("{statement};\n"),
    }
}

#[test]
fn pmd_reads_every_statement_and_block_and_finds_mistakes() {
    let has_java = || Command::new("java").arg("-version").output().is_ok_and(|said| said.status.success());
    let Some(pmd) = tool("test-grammars/pmd", has_java) else { return };
    let Some(all) = everything() else { return };
    let sound: String = all.iter().map(|statement| in_block(statement)).collect();
    assert!(sound.matches("FOR r IN (").count() > 30, "queries are among them");
    let broken = |(words, others)| {
        let damaged = sound.replacen(words, others, 1);
        assert_ne!(damaged, sound);
        damaged
    };
    let [first, second, third] =
        [("END LOOP;", "END LOP;"), ("TO_NUMBER(SUBSTRB(", "TO_NUMBER((SUBSTRB("), ("GROUP BY", "GROUP")]
            .map(broken);
    let folder =
        folder_of(&[("sound.sql", sound.clone()), ("1.sql", first), ("2.sql", second), ("3.sql", third)]);
    let rules = folder_of(&[("rules.xml", RULES.to_owned())]);
    // The start of Java takes a second. PMD names only unreadable files.
    let output = Command::new("java")
        .arg("-cp")
        .arg(pmd.join("*"))
        .args(["net.sourceforge.pmd.cli.PmdCli", "check", "--no-cache", "--no-progress", "-f", "json", "-R"])
        .arg(rules.path().join("rules.xml"))
        .arg("-d")
        .arg(folder.path())
        .output()
        .unwrap();
    let [report, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(report.contains("\"processingErrors\""), "it read nothing: {report}{errors}");
    for name in ["1.sql", "2.sql", "3.sql"] {
        assert!(report.contains(&format!("/{name}\"")), "the mistake in {name} was read: {report}");
    }
    assert!(!report.contains("/sound.sql\""), "{report}");
}
