//! Every statement and block read by a grammar that knows PL/SQL as a language: that of PMD.
//!
//! It is in `target/test-grammars`, where `.ci/install-test-servers` puts it, and needs a Java runtime; without it these tests say
//! so and pass, unless CI=true. Outside of blocks it passes over what it does not know, so statements that may stand in a block
//! are put into one. DDL and ALTER are left as they are: of them it reads little.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::script::tests::{everything, statements};

/// A rule that no text breaks: only parsing is asked for.
const RULES: &str = r#"<?xml version="1.0"?>
<ruleset name="none" xmlns="http://pmd.sourceforge.net/ruleset/2.0.0"><description>Parses.</description>
<rule name="None" language="plsql" message="none" class="net.sourceforge.pmd.lang.rule.xpath.XPathRule">
<description>None.</description><priority>5</priority>
<properties><property name="xpath"><value>//NoSuchNode</value></property></properties></rule></ruleset>
"#;

/// What it does not know, and what it is given in its place: the statement whose plan is asked for is read.
const UNKNOWN: (&str, &str) = ("EXPLAIN PLAN SET STATEMENT_ID = 'slob' FOR ", "");

/// Where its classes are; `None`, said once, where it is not installed.
fn grammar() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-grammars/pmd");
    let has_java = Command::new("java").arg("-version").output().is_ok_and(|said| said.status.success());
    if folder.exists() && has_java {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "PMD or Java is not there");
    let _ = writeln!(std::io::stderr(), "skipped: .ci/install-test-servers was not run, or there is no Java");
    None
}

/// What the grammar complains about; nothing if it reads all of it.
fn complaints(grammar: &Path, sql: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let [rules, all] = ["rules.xml", "all.sql"].map(|name| folder.path().join(name));
    std::fs::write(&rules, RULES).unwrap();
    std::fs::write(&all, sql).unwrap();
    let output = Command::new("java")
        .arg("-cp")
        .arg(grammar.join("*"))
        .args(["net.sourceforge.pmd.cli.PmdCli", "check", "--no-cache", "--no-progress", "-f", "json", "-R"])
        .arg(&rules)
        .arg("-d")
        .arg(&all)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("\"processingErrors\""), "it read nothing: {told}{wrong}");
    told.lines().filter(|line| line.contains("\"message\"")).map(|line| line.trim().to_owned()).collect()
}

/// Statements as a block would hold them; `sql` is a script for SQL*Plus.
fn prepared(sql: &str) -> String {
    let sql = sql.replace(UNKNOWN.0, UNKNOWN.1);
    statements(&sql).iter().map(|statement| in_a_block(statement)).collect()
}

fn in_a_block(statement: &str) -> String {
    if statement.ends_with("\n/\n") {
        return statement.to_owned();
    }
    let statement = statement.trim_end().trim_end_matches(';');
    let first = statement.split_whitespace().next().unwrap_or_default();
    match first {
        "SELECT" => format!("BEGIN\nFOR r IN ({statement}) LOOP\nNULL;\nEND LOOP;\nEND;\n/\n"),
        "INSERT" | "UPDATE" | "COMMIT" | "ROLLBACK" => format!("BEGIN\n{statement};\nEND;\n/\n"),
        _ => format!("{statement};\n"),
    }
}

#[test]
fn every_statement_and_block_is_read_by_a_grammar_of_plsql() {
    let Some(grammar) = grammar() else { return };
    let all = prepared(&everything());
    assert!(all.matches("FOR r IN (").count() > 30, "queries are among them");
    assert_eq!(complaints(&grammar, &all), Vec::<String>::new());
    let prepares = prepared(&crate::init::tests::whole());
    assert_eq!(complaints(&grammar, &prepares), Vec::<String>::new());
}

#[test]
fn the_grammar_does_find_mistakes() {
    let Some(grammar) = grammar() else { return };
    let all = prepared(&everything());
    for (sound, broken) in
        [("END LOOP;", "END LOP;"), ("TO_NUMBER(SUBSTRB(", "TO_NUMBER((SUBSTRB("), ("GROUP BY", "GROUP")]
    {
        let damaged = all.replacen(sound, broken, 1);
        assert_ne!(damaged, all);
        assert!(!complaints(&grammar, &damaged).is_empty(), "{broken} was read");
    }
}
