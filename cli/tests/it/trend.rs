//! Trends of saved runs: the change, what else changed, and the exit code.

use std::fs;

use crate::common::{Folder, assert_contains, unwrapped};

/// One record 40 times, an hour apart; from the 26th on with a fifth less work, on another kernel.
fn with_history() -> Folder {
    let folder = Folder::new();
    folder.slob("run --target null:?latency_us=1000 --run-time 1 --warmup 0 --results-dir one").success();
    let record = folder.slob("show latest --results-dir one").json();
    for at in 0_u32..40 {
        let mut record = record.clone();
        let when = format!("2026-11-{:02}T{:02}:00:00Z", 20 + at / 24, at % 24);
        let id = format!("{}-run", when.replace(['-', ':'], ""));
        // An even noise of 1 %.
        let noise = 1.0 + 0.01 * (f64::from(at * 7 % 10) / 5.0 - 0.9);
        let seconds = noise * if at < 25 { 1.0 } else { 1.25 };
        record["window"]["seconds"] = seconds.into();
        record["started"] = when.clone().into();
        record["id"] = id.clone().into();
        record["host"]["info"]["kernel"] = if at < 25 { "6.1" } else { "6.6" }.into();
        fs::create_dir_all(folder.at("runs").join(&id)).unwrap();
        fs::write(folder.at("runs").join(&id).join("run.json"), record.to_string()).unwrap();
    }
    folder
}

#[test]
fn a_trend_says_since_when_and_what_else_changed() {
    let folder = with_history();
    let text = folder.slob("trend --metric operations_per_s").success().stdout;
    let since = "Since Sat 2026-11-21 01:00 UTC (20261121T010000Z-run) Operations/s is 20.0 % lower";
    assert_contains(&unwrapped(&text), &[since, "before and after differ also in: kernel."]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let json = folder.slob("trend runs --metric operations_per_s --json").json();
    let changes = json.pointer("/histories/0/figures/0/found/known/changes").unwrap();
    assert_eq!((changes.as_array().unwrap().len(), &changes[0]["at"]), (1, &25.into()), "{json:#}");
    assert_eq!(changes[0]["differs"][0]["second"], "6.6", "{json:#}");
    folder.slob("trend --metric operations_per_s --fail-on-change").exits(1);
    folder.slob("trend --metric operations_per_s --last 15 --fail-on-change").exits(4);
    folder.slob("trend --metric no_such").refused(&["there is no figure 'no_such'"]);
    folder.slob("trend nowhere").refused(&["nowhere"]);
    folder.slob("trend --metric operations_per_s --by target --html -o by.html").says(&["wrote by.html"]);
    let page = folder.read("by.html");
    assert!(page.contains("data-chart=\"trend-0-operations_per_s\"") && page.contains("Sat 01:00 -20.0 %"));
}
