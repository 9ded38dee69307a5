//! Variants compared by headroom: a campaign of searches.

use std::fs;

use serde_json::Value;
use slob_testing::postgres::Version;
use slob_testing::tries::{ensure, shown_within};

use crate::common::{Folder, mariadb, postgres, read_json};

/// Commits alone: the wait of a commit decides how many times they are carried.
const COMMITS: &str = r#"{ "profile_version": 1, "source": "live", "subject": { "name": "PROD" }, "intervals": [
    { "source": "live", "begin": "2026-11-20T10:00:00", "seconds": 60.0, "figures": { "commits_per_s": 8.0 } } ] }"#;

/// The end of this search is found on any machine: two sessions that wait 100 ms for each commit do less than 20 a second.
const ENDED: &str = r#"
directory = "c"
repeats = 2
noise = true
demand = { profile = "commits.json", by = "commits", calibration = "2s", limits = ["mean=10s"], most = 4, repeats = 1, max_sessions = 2 }
settings = { RUN_TIME = 1, WARMUP = 0 }
variant = [{ name = "client", settings = { LOOP = "client" } }]
"#;

/// On a busy machine a verdict may forbid each search its number.
#[test]
fn what_a_campaign_of_searches_found_is_the_same_in_every_form_and_after_a_kill() {
    let Some(bench) = postgres(Version::V15, &[("commit_delay", "100000"), ("commit_siblings", "0")]) else {
        return;
    };
    bench.setup(2, "16M");
    shown_within(6, || {
        let folder = Folder::new();
        folder.write("slob.conf", &bench.folder.read("slob.conf"));
        let (found, compared) = found_in_every_form(&folder);
        ensure(found > 0, || format!("no search came to an end: {compared:#}"))
    });
}

fn found_in_every_form(folder: &Folder) -> (usize, Value) {
    folder.write("plan.toml", ENDED);
    folder.slob("campaign plan.toml").refused(&["plan.toml, demand: "]);
    assert!(!folder.at("c").exists());
    folder.write("commits.json", COMMITS);
    let called = folder.slob("campaign plan.toml").success();
    assert!(called.stderr.contains("all 4 searches are done"), "{}", called.stderr);
    let text = called.stdout;
    it_goes_on_from_its_records(folder, &text);
    let json = folder.slob("analyze c --json").json();
    assert_eq!((&json["done"], &json["of"], &json["confidence"]), (&4.into(), &4.into(), &0.95.into()));
    let csv = folder.slob("analyze c --csv").success().stdout;
    // Words follow the numbers, so that commas in them do no harm.
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 2 * 3, "{csv}");
    let (mut found, variants) = (0, json["variants"].as_array().unwrap());
    for (variant, rows) in variants.iter().zip(rows.chunks(3)) {
        assert!(text.contains(variant["name"].as_str().unwrap()) && rows[2][1] == "all", "{csv}");
        for (search, row) in variant["searches"].as_array().unwrap().iter().zip(rows) {
            // Its own record is where it says, and says the same.
            let own = folder.at("c").join(search["folder"].as_str().unwrap());
            assert!(own.join("headroom.html").is_file());
            let own = read_json(own.join("headroom.json"));
            for (name, cell) in [("carries", row[2]), ("at_least", row[3]), ("less_than", row[4])] {
                assert_eq!(search.get(name), own.get(name).filter(|value| !value.is_null()), "{name}");
                assert_eq!(search[name].as_f64(), cell.parse().ok(), "{name} in {csv}");
            }
            let is_number = search["unknown"].is_null();
            let limit = || search["limit"].as_str().unwrap().split(':').next().unwrap();
            assert!(!is_number || text.contains(limit()));
            found += usize::from(is_number);
        }
    }
    let pair = &json["pairs"][0];
    assert_eq!((&pair["first"], &pair["second"]), (&"client".into(), &"client.again".into()));
    let said = pair["sentence"].as_str().unwrap();
    let first_words = said.split(' ').take(3).collect::<Vec<_>>().join(" ");
    assert!(text.contains(&first_words), "{said} in {text}");
    assert_eq!(pair["more_than_noise"].is_null(), pair["low_percent"].is_null(), "{pair:#}");
    folder.slob("analyze c --html -o c.html").success();
    let page = folder.read("c.html");
    assert!(page.contains("Headroom compared") && page.contains("client-headroom-r1"), "{page}");
    assert!(page.contains(&first_words) && page.contains("Content-Security-Policy"));
    folder.slob("analyze c --relative-to client").refused(&["--relative-to"]);
    (found, json)
}

/// As after a kill: records that are not noted are found.
fn it_goes_on_from_its_records(folder: &Folder, first: &str) {
    let runs = || fs::read_dir(folder.at("c/client-headroom-r2")).unwrap().count();
    let made = runs();
    assert!(made > 4, "{made}");
    let mut state = read_json(folder.at("c/state.json"));
    state["attempts"].as_array_mut().unwrap().retain(|attempt| attempt["step"] != "client/headroom/2");
    folder.write("c/state.json", &state.to_string());
    assert_eq!(folder.slob("campaign plan.toml").success().stdout, first);
    assert_eq!(runs(), made);
    let other = ENDED.replace("RUN_TIME = 1", "RUN_TIME = 3").replace("noise", "seed = 3\nnoise");
    folder.write("plan.toml", &other);
    folder.slob("campaign plan.toml --amend").refused(&["Name another directory"]);
    folder.write("plan.toml", ENDED);
}

const SERVERS: &str = r#"
directory = "c"
repeats = 1
demand = { profile = "commits.json", by = "commits", calibration = "2s", limits = ["mean=10s"], most = 64, repeats = 1, max_sessions = 2 }
settings = { RUN_TIME = 1, WARMUP = 0, SCALE = "16M" }
variant = [{ name = "slow", target = "SLOW" }, { name = "quick", target = "QUICK" }]
"#;

/// Two sessions commit seven times a second with waits of 300 ms, and up to two hundred times with 10: noise does not make both
/// equal. A single search of each tells nothing of noise.
#[test]
fn of_two_servers_the_one_whose_commits_wait_thirty_times_as_long_carries_less() {
    let waits = ["log-bin", "binlog-commit-wait-count=1000", "binlog-commit-wait-usec=300000"];
    let Some(slow) = mariadb(&waits) else { return };
    let waits = [("commit_delay", "10000"), ("commit_siblings", "0")];
    let Some(quick) = postgres(Version::V15, &waits) else { return };
    slow.setup(2, "16M");
    quick.setup(2, "16M");
    shown_within(6, || {
        let folder = Folder::new();
        folder.write("commits.json", COMMITS);
        folder.write("plan.toml", &SERVERS.replace("SLOW", &slow.target).replace("QUICK", &quick.target));
        folder.slob("campaign plan.toml").success();
        let compared = folder.slob("analyze c --json").json();
        let pair = &compared["pairs"][0];
        assert_eq!((&pair["first"], &pair["second"]), (&"slow".into(), &"quick".into()));
        assert!(pair["more_than_noise"].is_null(), "{pair:#}");
        let percent = pair["percent"].as_f64();
        ensure(percent.is_some_and(|percent| percent > 100.0), || format!("{compared:#}"))
    });
}
