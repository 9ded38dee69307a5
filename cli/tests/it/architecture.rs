//! The architecture of docs/design.md, held by tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{all_below, workspace};

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let is_source = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rs");
    all_below(folder).into_iter().filter(is_source).collect()
}

fn code(path: &Path) -> String {
    without_tests(&fs::read_to_string(path).unwrap())
}

/// Removes items that are compiled for tests alone, as rustfmt lays them out: an item ends with its first line if that one closes
/// it, otherwise with the first line as far left as it began that does.
fn without_tests(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let closes = |line: &str| line.ends_with(';') || line.ends_with('}') || line.ends_with(',');
    let (mut kept, mut lines) = (String::new(), text.lines());
    while let Some(line) = lines.next() {
        if line.trim_start() == "#[cfg(test)]" {
            let is_last =
                |next: &&str| indent(next) == indent(line) && !next.trim().is_empty() && closes(next);
            lines.find(is_last).unwrap_or_else(|| panic!("an item without an end:\n{text}"));
        } else {
            kept.extend([line, "\n"]);
        }
    }
    kept
}

/// Code after the first test item must be read, too.
#[test]
fn what_follows_a_test_item_is_read() {
    let text = "\
use a;
#[cfg(test)]
mod damage;
use b;
#[cfg(test)]
#[path = \"of_it.rs\"]
mod tests {
    fn one() {
        let text = \"}\";
    }
}
fn c() {
    #[cfg(test)]
    seen();
    done();
}
#[cfg(test)]
use x::{
    y, z,
};
fn d() {}
";
    assert_eq!(without_tests(text), "use a;\nuse b;\nfn c() {\n    done();\n}\nfn d() {}\n");
}

pub(crate) fn sources(folder: &str) -> Vec<PathBuf> {
    let rooms = fs::read_dir(workspace(folder)).unwrap();
    rooms.map(|room| room.unwrap().path().join("src")).filter(|path| path.is_dir()).collect()
}

/// Rooms and the rooms each may use: the first and the last column of the design's table.
fn arrows(design: &str) -> BTreeMap<String, BTreeSet<String>> {
    let rows = design.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let arrows = cells.filter(|cells| cells[0].starts_with("`crates/") || cells[0].starts_with("`engines/"));
    let knows = |cell: &str| {
        let names = cell.replace(" (types)", "").replace("nothing here", "");
        names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    arrows.map(|cells| (cells[0].trim_matches('`').to_owned(), knows(cells[cells.len() - 1]))).collect()
}

#[test]
fn arrows_between_rooms_are_those_of_the_design() {
    let design = fs::read_to_string(workspace("docs/design.md")).unwrap();
    let allowed = arrows(&design);
    assert!(allowed.len() > 10, "{allowed:?}");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace(""))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut seen = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let may = match name {
            "openslob" => continue,
            _ if name.starts_with("slob-engine-") => allowed.get("engines/*"),
            _ => allowed.get(&name.replacen("slob-", "crates/", 1)),
        };
        let may = may.unwrap_or_else(|| panic!("{name} is not in docs/design.md"));
        let ours = package["dependencies"].as_array().unwrap().iter().filter(|of| of["kind"].is_null());
        let ours: BTreeSet<&str> = ours.filter_map(|of| of["name"].as_str()?.strip_prefix("slob-")).collect();
        let forbidden: Vec<_> = ours.iter().filter(|room| !may.contains(**room)).collect();
        assert!(forbidden.is_empty(), "{name} must not know {forbidden:?}");
        seen += 1;
    }
    assert!(seen > allowed.len(), "only {seen} rooms were looked at");
}

fn is_about_awr(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    path.starts_with(workspace("crates/awr")) || name == "awr.rs" || name.starts_with("awr_")
}

#[test]
fn engines_are_named_only_in_their_folders_and_in_the_registry() {
    let engines: Vec<String> = sources("engines")
        .iter()
        .map(|path| path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let mut files: Vec<PathBuf> = sources("crates").iter().flat_map(|folder| rust_files(folder)).collect();
    files.extend(rust_files(&workspace("cli/src")));
    // Wherever this project itself lies.
    let is_test = |path: &Path| {
        let path = path.strip_prefix(workspace("")).unwrap();
        path.starts_with("crates/testing") || path.to_string_lossy().contains("tests")
    };
    files.retain(|path| !path.ends_with("registry.rs") && !is_test(path));
    assert!(files.len() > 50);
    let mut named = Vec::new();
    for path in files {
        let text = code(&path);
        // The reports of that vendor are what this room and its command are about; no engine is known there.
        let subject = if is_about_awr(&path) { "oracle" } else { "" };
        // A file format there, and no engine.
        let format = if path.ends_with("awr_export.rs") { "sqlite" } else { "" };
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in lines.map(str::to_lowercase) {
            if engines
                .iter()
                .any(|engine| engine != subject && engine != format && line.contains(engine.as_str()))
            {
                named.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(named.is_empty(), "{named:#?}");
}

#[test]
fn the_parameters_document_is_that_of_the_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_slob")).args(["conf", "--markdown"]).output().unwrap();
    let document = fs::read_to_string(workspace("docs/reference/parameters.md")).unwrap();
    assert!(
        document == String::from_utf8(output.stdout).unwrap(),
        "docs/reference/parameters.md is stale: write it anew with `slob conf --markdown > docs/reference/parameters.md`"
    );
}

#[test]
fn limits_and_claims_of_verdicts_in_the_document_are_those_of_the_tables() {
    let document = fs::read_to_string(workspace("docs/reference/verdicts.md")).unwrap();
    for (flag, least_lines) in [("--limits", 40), ("--claims", 8)] {
        let output = Command::new(env!("CARGO_BIN_EXE_slob")).args(["report", flag]).output().unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(table.lines().count() >= least_lines, "{table}");
        let stale = "docs/reference/verdicts.md is stale: put into it the output of";
        assert!(document.contains(&table), "{stale} `slob report {flag}`");
    }
}

/// A user of the original kit finds each key of its `slob.conf`, and what became of it.
#[test]
fn the_keys_of_the_original_are_all_in_the_table_for_those_who_come_from_it() {
    let document = fs::read_to_string(workspace("docs/how-to/slob-kit.md")).unwrap();
    let table: String = document.lines().filter(|line| line.starts_with("| ")).collect();
    let keys = "UPDATE_PCT SCAN_PCT RUN_TIME WORK_LOOP SCALE SCAN_TABLE_SZ WORK_UNIT REDO_STRESS LOAD_PARALLEL_DEGREE \
                THREADS_PER_SCHEMA DATABASE_STATISTICS_TYPE DO_HOTSPOT HOTSPOT_MB HOTSPOT_OFFSET_MB HOTSPOT_FREQUENCY \
                HOT_SCHEMA_FREQUENCY THINK_TM_FREQUENCY THINK_TM_MIN THINK_TM_MAX EXTERNAL_SCRIPT ADMIN_SQLNET_SERVICE \
                SQLNET_SERVICE_BASE SQLNET_SERVICE_MAX DBA_PRIV_USER SYSDBA_PASSWD OBFUSCATE_COLUMNS BLOCK_SZ \
                NO_OS_PERF_DATA SHARED_DATA_MODULUS";
    let missing: Vec<_> = keys.split(' ').filter(|key| !key.is_empty() && !table.contains(key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Rooms that talk to the kernel or to C: the probe, the trace, and the engine whose library is C.
const UNSAFE_ROOMS: [&str; 3] = ["crates/host", "crates/trace", "engines/sqlite"];

#[test]
fn unsafe_code_is_in_three_rooms_alone() {
    let folders = ["crates", "engines"].iter().flat_map(|folder| sources(folder));
    let mut seen = 0;
    for source in folders.chain([workspace("cli/src")]) {
        if UNSAFE_ROOMS.iter().any(|room| source == workspace(room).join("src")) {
            continue;
        }
        let file =
            ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().find(|path| path.is_file());
        let text = fs::read_to_string(file.unwrap()).unwrap();
        assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{} does not forbid it", source.display());
        seen += 1;
    }
    assert!(seen > 10, "only {seen} rooms were looked at");
}

/// Clippy holds this for blocks; here tests are checked too, and that every room obeys the workspace's lints.
#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    let mut files = Vec::new();
    ["crates", "engines", "cli"].iter().for_each(|folder| files.extend(rust_files(&workspace(folder))));
    let mut blocks = 0;
    for path in files.iter().filter(|path| !path.ends_with("architecture.rs")) {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for (at, line) in lines.iter().enumerate() {
            if line.starts_with("//") || !["unsafe {", "unsafe impl"].iter().any(|word| line.contains(word)) {
                continue;
            }
            blocks += 1;
            let said = lines[at.saturating_sub(8)..at].iter().any(|line| line.starts_with("// SAFETY:"));
            assert!(said, "{}:{} has no SAFETY comment", path.display(), at + 1);
        }
    }
    assert!(blocks > 50, "only {blocks} blocks were found");
    for folder in ["crates", "engines"].map(workspace) {
        for room in fs::read_dir(folder).unwrap() {
            let manifest = fs::read_to_string(room.unwrap().path().join("Cargo.toml")).unwrap();
            assert!(manifest.contains("[lints]\nworkspace = true"), "{manifest}");
        }
    }
}
