//! Every run on one page: kept beside the records, sorted, filtered and compared in a real browser.

use std::fs;
use std::path::Path;

use crate::browser::Browser;
use crate::common::{Folder, SAVED, read_json};
use serde_json::{Value, json};

const LONG_TARGET: &str =
    "sqlite:/mnt/warehouse_reporting_standby_0042_eu_central_1b_internal_production/database_files_0001";

/// Each run has another number of sessions.
fn with_runs(count: u32) -> Folder {
    let folder = Folder::new();
    // A record of an earlier release.
    let mut record: Value = read_json(Path::new(SAVED).join("20261121T014620Z-thirty/run.json"));
    for field in ["/id", "/name", "/target", "/workload/threads_per_schema"] {
        *record.pointer_mut(field).unwrap() = "?".into();
    }
    let record = record.to_string();
    let [a, b, c, d, e] = record.split("\"?\"").collect::<Vec<_>>()[..] else { panic!("{record}") };
    for number in 0..count {
        let id = format!(
            "20261121T{:02}{:02}{:02}Z-{}",
            number / 3600,
            number / 60 % 60,
            number % 60,
            ["xfs", "ext4"][number as usize % 2]
        );
        let run = folder.at("runs").join(&id);
        fs::create_dir_all(&run).unwrap();
        let target = if number == 7 { LONG_TARGET } else { "sqlite:./d" };
        let (name, threads) = (&id[17..], 1 + number % 4);
        let text = format!("{a}\"{id}\"{b}\"{name}\"{c}\"{target}\"{d}{threads}{e}");
        fs::write(run.join("run.json"), text).unwrap();
    }
    folder
}

fn shown(browser: &mut Browser) -> Vec<String> {
    let rows = browser.value(
        "[...document.querySelectorAll('#runs tbody tr:not([hidden]) input')].map((box) => box.value)",
    );
    serde_json::from_value(rows).unwrap()
}

#[test]
fn each_run_renews_the_page_and_its_report_reads_back() {
    let folder = Folder::loaded(1, "8M");
    folder.slob("run 1 --run-time 1").success();
    let index = folder.at("runs/index.html");
    let first = fs::read_to_string(&index).unwrap();
    folder.slob_with_env("run 1 --run-time 1", &[("SLOB_RUN_NAME", "second")]).success();
    let second = fs::read_to_string(&index).unwrap();
    assert_eq!((first.matches("<tr data-").count(), second.matches("<tr data-").count()), (1, 2));
    // A run that is removed leaves the page; an unreadable record is named and left out.
    fs::remove_dir_all(folder.last_run()).unwrap();
    let broken = folder.at("runs/20300101T000000Z-broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("run.json"), "{}").unwrap();
    folder.slob("list --html").fails(1, &["broken"]);
    assert_eq!(fs::read_to_string(&index).unwrap().matches("<tr data-").count(), 1);
    fs::remove_dir_all(broken).unwrap();
    // The page of a run can be given away: it is the record.
    let page = folder.last_run().join("report.html");
    let text = folder.slob("report").success().stdout;
    fs::copy(page, folder.at("given.html")).unwrap();
    assert_eq!(folder.slob("report given.html").success().stdout, text);
    folder.slob("report runs/index.html").refused(&["holds no run's record"]);
}

#[test]
fn a_thousand_runs_are_sorted_filtered_and_compared() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = with_runs(1000);
    folder.slob("list --html").success();
    browser.view(1280, 900, false);
    browser.open(&folder.at("runs/index.html"));
    let newest_first = shown(&mut browser);
    assert!(newest_first.len() == 1000 && newest_first.is_sorted_by(|a, b| a > b));
    // By sessions, most first, then fewest first.
    let sessions =
        "[...document.querySelectorAll('#runs tbody tr')].map((row) => Number(row.dataset.sessions))";
    for (click, first) in [(1, 8), (2, 2)] {
        browser.click("#runs th:nth-child(7) button");
        let sorted = browser.value(sessions);
        assert_eq!((&sorted[0], sorted.as_array().unwrap().len()), (&json!(first), 1000), "click {click}");
    }
    let filter = "(() => { const search = document.getElementById('search'); search.value = 'EXT4 sqlite'; \
                  search.dispatchEvent(new Event('input')); const choice = document.querySelector('[data-of=sessions]'); \
                  choice.value = '4'; choice.dispatchEvent(new Event('change')); })()";
    browser.value(filter);
    let few = shown(&mut browser);
    assert!(few.len() == 250 && few.iter().all(|id| id.ends_with("-ext4")), "{}", few.len());
    assert_eq!(browser.value("document.getElementById('count').textContent"), "250 of 1,000 runs");
    // Ticked runs show the command, the oldest one first.
    assert_eq!(browser.value("document.getElementById('compare').hidden"), true);
    browser.value("(() => { const boxes = document.querySelectorAll('#runs tbody tr:not([hidden]) input'); boxes[1].click(); boxes[0].click(); })()");
    let command = browser.value("document.getElementById('command').textContent");
    let mut pair = [few[0].as_str(), few[1].as_str()];
    pair.sort_unstable();
    assert_eq!(command, format!("slob diff {} {}", pair[0], pair[1]));
    folder.slob(command.as_str().unwrap().strip_prefix("slob ").unwrap()).success();
    browser.value("document.querySelectorAll('#runs tbody tr:not([hidden]) input')[2].click()");
    let command = browser.value("document.getElementById('command').textContent");
    assert_eq!(command.as_str().unwrap().split_whitespace().count(), 5, "{command}");
    // Nothing lies beyond the edge of any screen, nor within the table: on a small one each run is a card.
    let scrolls = "(() => { const part = document.querySelector('.scroll'); return part.scrollWidth - part.clientWidth; })()";
    for width in [1280, 400] {
        browser.view(width, 800, true);
        assert_eq!(browser.value("document.documentElement.scrollWidth"), width);
        assert_eq!(browser.value(scrolls), 0, "{width} pixels");
    }
}
