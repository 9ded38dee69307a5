//! The paths that docs/design.md names, held against the tree.

use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::sources;
use crate::common::workspace;

/// A place that the design names, with the words since the name before it.
struct Named<'a> {
    words: &'a str,
    name: &'a str,
}

impl<'a> Named<'a> {
    fn all(text: &'a str) -> Vec<Self> {
        let parts: Vec<&str> = text.split('`').collect();
        parts.chunks_exact(2).map(|pair| Self { words: pair[0], name: pair[1] }).collect()
    }

    /// Types, figures and fields are named too, and files of users.
    fn is_path(&self) -> bool {
        let is_source =
            ["rs", "js", "md", "json"].iter().any(|ending| self.name.ends_with(&format!(".{ending}")));
        let is_lower = self.name.starts_with(|first: char| first.is_ascii_lowercase());
        is_lower && !self.name.contains(' ') && (self.name.contains('/') || is_source)
    }
}

fn is_product(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs") || name == "snapshots" {
        return false;
    }
    match fs::read_dir(path) {
        Ok(mut entries) => entries.any(|entry| is_product(&entry.unwrap().path())),
        Err(_) => path.is_file(),
    }
}

fn below(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.is_dir()).flat_map(|path| below(&path, name));
    [folder.join(name)].into_iter().filter(|path| path.exists()).chain(folders).collect()
}

/// After the place `last`, a name is a path of the workspace, one of the same room, or a file of an engine.
fn found(named: &Named, last: Option<&Path>) -> Vec<PathBuf> {
    let engines = || sources("engines").into_iter();
    if let Some(within) = named.name.strip_prefix("engines/*") {
        return engines()
            .map(|source| source.parent().unwrap().join(within.trim_start_matches('/')))
            .filter(|path| path.exists())
            .collect();
    }
    let is_rooted = ["crates/", "cli/", "docs/"].iter().any(|room| named.name.starts_with(room));
    if is_rooted {
        return [workspace(named.name)].into_iter().filter(|path| path.exists()).collect();
    }
    // `room/file.rs` in the walks.
    let (room, file) = named.name.split_once('/').unwrap_or_default();
    let of_a_room = workspace("crates").join(room).join("src").join(file);
    if !file.is_empty() && of_a_room.exists() {
        return vec![of_a_room];
    }
    if named.words.contains("engine's") || last.is_some_and(|last| last.starts_with(workspace("engines"))) {
        return engines().flat_map(|source| below(&source, named.name)).collect();
    }
    let room =
        |folder: &&Path| folder.starts_with(workspace("crates")) || folder.starts_with(workspace("cli"));
    let folders = last.into_iter().flat_map(Path::ancestors).take_while(room);
    folders.map(|folder| folder.join(named.name)).find(|path| path.exists()).into_iter().collect()
}

fn missing(text: &str) -> Vec<String> {
    let (mut last, mut missing): (Option<PathBuf>, Vec<String>) = (None, Vec::new());
    for named in Named::all(text) {
        if named.is_path() {
            let mut found = found(&named, last.as_deref());
            let is_test = named.name.starts_with("cli/tests") && !found.is_empty();
            found.retain(|path| is_test || is_product(path));
            match found.into_iter().next() {
                Some(path) => last = Some(path),
                None => missing.push(named.name.to_owned()),
            }
        }
    }
    missing
}

#[test]
fn every_path_of_the_design_is_in_the_tree() {
    let design = fs::read_to_string(workspace("docs/design.md")).unwrap();
    // A row of a table is one text, and so is a paragraph.
    let texts = design.replace("\n|", "\n\n|");
    let texts: Vec<&str> = texts.split("\n\n").collect();
    let paths = texts.iter().flat_map(|text| Named::all(text)).filter(Named::is_path).count();
    assert!(paths > 100, "only {paths} paths were found");
    let missing: Vec<String> = texts.iter().flat_map(|text| missing(text)).collect();
    assert!(missing.is_empty(), "docs/design.md names what no file of the product is: {missing:#?}");
}

#[test]
fn a_wrong_path_of_the_design_is_found() {
    let wrong = |text| missing(text).join(" ");
    let right = "`crates/stats/src/changes.rs`; drift: `trend.rs` there; `Slot` in `series.rs`; the engine's `counters.rs`";
    assert_eq!(wrong(right), "");
    assert_eq!(wrong("`spec/parameters.rs` (`Param`) → `method/planner.rs` → the engine's `session.rs`"), "");
    let other_room = "`engines/*/sql`, `statement.rs`; `crates/awr/src/report.rs`: `statement.rs`";
    assert_eq!(wrong(other_room), "statement.rs");
    let nowhere = "`spec/planner.rs` → `crates/awr/tests` → the engine's `none.rs`";
    assert_eq!(wrong(nowhere), "spec/planner.rs crates/awr/tests none.rs");
}
