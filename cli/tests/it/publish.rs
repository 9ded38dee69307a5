//! Runs as a site: what is published, what is refused, and what a reader of the site can do without a server.

use std::fs;

use crate::browser::Browser;
use crate::common::{Folder, read_json};
use serde_json::{Value, json};

/// Three repeats of one test and one run of another.
fn with_runs() -> Folder {
    let folder = Folder::loaded(1, "8M");
    for name in ["base-r1", "base-r2", "base-r3", "wide"] {
        let threads = if name == "wide" { 2 } else { 1 };
        folder.slob(format!("run 1 -t {threads} --run-time 1 --name {name}")).success();
    }
    folder
}

#[test]
fn a_site_holds_the_runs_that_verify_and_keeps_them() {
    let folder = with_runs();
    let runs = slob_record::list_runs(&folder.at("runs")).unwrap();
    let edited = runs[1].join("run.json");
    let genuine = fs::read_to_string(&edited).unwrap();
    let rows = read_json(&edited)["operations"]["select"]["rows"].as_u64().unwrap();
    fs::write(&edited, genuine.replace(&format!("\"rows\":{rows}"), &format!("\"rows\":{}", rows + 64)))
        .unwrap();
    assert!(fs::read_to_string(&edited).unwrap() != genuine);
    let first =
        folder.slob("publish --site public").fails(1, &["base-r2", "not published", "slob verify --run"]);
    assert!(first.stdout.contains("public/index.html: 3 runs published"), "{}", first.stdout);
    // The next time adds what is missing and changes nothing else.
    fs::write(&edited, genuine).unwrap();
    let again = folder.slob("publish --site public").success().stdout;
    assert!(again.contains("1 run published, 3 were there already"), "{again}");
    for run in &runs {
        let id = run.file_name().unwrap().to_str().unwrap();
        let published = folder.at("public").join(id);
        assert!(fs::read(published.join("run.json")).unwrap() == fs::read(run.join("run.json")).unwrap());
        folder.slob(format!("verify --run public/{id}")).success();
    }
    let listed = |results: &str| folder.slob(format!("list --json --results-dir {results}")).success().stdout;
    assert_eq!(listed("public"), listed("runs"));
    // Nothing of this machine's places is in the list, and no unfinished folder is left.
    let index = fs::read_to_string(folder.at("public/index.html")).unwrap();
    assert!(!index.contains("--results-dir"));
    let names = fs::read_dir(folder.at("public")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut others: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    others.retain(|name| !runs.iter().any(|run| run.ends_with(name)));
    others.sort_unstable();
    assert_eq!(others, ["index.html", "ledger.html", "trend.html"]);
}

#[test]
fn what_can_not_be_published_is_refused_and_nothing_is_half_written() {
    let folder = Folder::loaded(1, "8M");
    folder.slob("run 1 --run-time 1 --name only").success();
    folder.slob("publish").refused(&["--site <DIR>"]);
    folder.slob("publish nothing --site public").refused(&["no run"]);
    assert!(!folder.at("public").exists());
    // Another page of that name is not overwritten.
    fs::create_dir(folder.at("other")).unwrap();
    fs::write(folder.at("other/index.html"), "<h1>Home</h1>").unwrap();
    folder.slob("publish --site other").refused(&["other/index.html is not a page of runs"]);
    assert_eq!(fs::read_to_string(folder.at("other/index.html")).unwrap(), "<h1>Home</h1>");
    // Records without a signature, where one is asked for.
    fs::write(folder.at("signers"), "").unwrap();
    folder.slob("publish --site public --signed-by signers").refused(&["signers"]);
    folder.slob("publish --site public").success();
    let run = folder.last_run();
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    // The same id and another content.
    let there = folder.at("public").join(&id).join("run.json");
    let published = fs::read_to_string(&there).unwrap();
    fs::write(&there, published.replacen("\"name\":\"only\"", "\"name\":\"else\"", 1)).unwrap();
    folder.slob("publish --site public").refused(&[&id, "another run of this id"]);
    // An id that leads elsewhere.
    let record = fs::read_to_string(run.join("run.json")).unwrap();
    fs::write(run.join("run.json"), record.replace(&id, "../../outside")).unwrap();
    folder.slob("publish --site public").refused(&["'../../outside' is no id of a run"]);
    assert!(!folder.at("outside").exists() && !folder.at("../outside").exists());
}

#[test]
fn a_reader_of_the_site_compares_runs_without_a_server() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = with_runs();
    folder.slob("publish --site public").success();
    browser.view(1280, 900, false);
    browser.open(&folder.at("public/index.html"));
    let count = |browser: &mut Browser, css: &str| {
        browser.value(&format!("document.querySelectorAll('{css}').length"))
    };
    assert_eq!(count(&mut browser, "#runs tbody tr"), 4);
    // Each number has its record beside it.
    assert_eq!(count(&mut browser, "#runs tbody a[href$=\"/run.json\"][title^=\"SHA-256 \"]"), 4);
    // The repeats of one test show their lowest and their highest.
    assert_eq!(count(&mut browser, "#repeats tbody tr"), 1);
    let repeats = browser.value(
        "[...document.querySelectorAll('#repeats tbody tr td')].map((cell) => cell.textContent.trim())",
    );
    assert_eq!((&repeats[0], &repeats[2]), (&json!("base"), &json!("3")));
    let ends: Value =
        browser.value("[...document.querySelectorAll('#repeats tbody a')].map((link) => link.textContent)");
    assert_eq!(ends.as_array().unwrap().len(), 2);
    // Two ticked runs are beside each other: their figures, their change, and the settings in which they differ.
    browser.value("(() => { const boxes = document.querySelectorAll('#runs tbody input'); boxes[0].click(); boxes[1].click(); })()");
    let beside = "[...document.querySelectorAll('#side-by-side tr')].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))";
    let table: Vec<Vec<String>> = serde_json::from_value(browser.value(beside)).unwrap();
    let row = |name: &str| {
        table.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no {name} in {table:?}"))
    };
    assert!(row("Run")[1].starts_with("base-r3") && row("Run")[2].starts_with("wide"), "{table:?}");
    assert!(row("Op./s")[2].ends_with(" %") && !row("Op./s")[1].contains('%'), "{table:?}");
    assert_eq!(row("THREADS_PER_SCHEMA")[1..], ["1", "2"].map(String::from));
    assert!(!table.iter().any(|row| row[0] == "Target"), "{table:?}");
    // No more than eight are beside each other; a run that is not ticked any more leaves.
    browser.value("document.querySelectorAll('#runs tbody input')[1].click()");
    assert_eq!(browser.value("document.getElementById('compare').hidden"), true);
    for width in [1280, 400] {
        browser.view(width, 800, true);
        browser.value("[...document.querySelectorAll('#runs tbody input')].forEach((box) => box.checked || box.click())");
        assert_eq!(browser.value("document.documentElement.scrollWidth"), width);
    }
}
