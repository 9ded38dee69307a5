//! `slob ledger`: runs, reports and claims in one table.

use serde_json::Value;

use crate::common::{Folder, awr_fixture, read_json};

const SHEET: &str = r#"[[platform]]
name = "Two sockets of 6 cores"
iops = 625_000
iops_per_core = 52_093
source = "a weblog"

[[platform]]
from = "awr.txt"
name = "db1"
cost_per_hour = "9.60 EUR"
licensed_cores = 4
"#;

fn with_three_kinds() -> Folder {
    let folder = Folder::loaded(1, "8M");
    let price = [("SLOB_COST_PER_HOUR", "4.20 EUR"), ("SLOB_LICENSED_CORES", "2 cores")];
    folder.slob_with_env("run 1 --work-loop 50 --name own --update-pct 20", &price).success();
    std::fs::copy(awr_fixture("awr_12201.txt"), folder.at("awr.txt")).unwrap();
    folder.write("sheets.toml", SHEET);
    folder
}

#[test]
fn three_kinds_of_rows_are_never_mixed_silently() {
    let folder = with_three_kinds();
    let rows = folder.slob("ledger runs sheets.toml --json").success().json();
    let basis: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["basis"]).collect();
    assert_eq!(basis, ["measured", "reported", "claimed"]);
    // The run keeps its price.
    let record = folder.last_record();
    let entry = |key: &str| {
        let entries = record["configuration"].as_array().unwrap();
        entries.iter().find(|entry| entry["key"] == key).unwrap()["value"].clone()
    };
    assert_eq!((entry("COST_PER_HOUR"), entry("LICENSED_CORES")), ("4.20 EUR".into(), "2 cores".into()));
    assert_eq!((&rows[0]["platform"], &rows[0]["cost_per_hour"]), (&"own".into(), &"4.20 EUR".into()));
    // Requests of the application: 983.3 + 40.
    let [iops, per_licence] = ["iops", "iops_per_licensed_core"].map(|name| rows[1][name].as_f64().unwrap());
    assert!((iops - 1_023.3).abs() < 0.1 && (per_licence - iops / 4.0).abs() < 1e-6, "{rows}");
    assert_eq!(rows[2]["iops_per_core"].as_f64(), Some(52_093.0));
    assert!(rows.as_array().unwrap().iter().all(|row| row["price_rank"].is_null()), "{rows}");
    folder.slob("ledger runs sheets.toml").prints(&["Measured by a run", "52,093", "a weblog (sheets.toml)"]);
    folder.slob("ledger sheets.toml --markdown").prints(&["| db1 | reported |"]);
    folder.slob("ledger sheets.toml --csv").prints(&["platform,basis,iops,", "db1,reported,1023.3,"]);
    folder.slob("ledger sheets.toml --html").says(&["wrote compare.html"]);
    assert!(folder.read("compare.html").contains("2 platforms"));
}

#[test]
fn an_invalid_run_is_left_out_and_fails_strictly() {
    let folder = with_three_kinds();
    let run = folder.last_run().join("run.json");
    let mut record = read_json(&run);
    record["status"] = serde_json::json!({ "state": "failed", "error": "the disk is full" });
    std::fs::write(&run, record.to_string()).unwrap();
    folder.slob("ledger own sheets.toml").prints(&["Left out: Complete? of own is BAD"]);
    folder.slob("ledger own sheets.toml --strict").exits(1);
    folder.slob("ledger sheets.toml --strict").success();
    let rows = folder.slob("ledger own --json").success().json();
    assert_eq!((&rows[0]["iops"], &rows[0]["cost_per_million_iops_hours"]), (&Value::Null, &Value::Null));
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let folder = Folder::new();
    folder.write("bad.toml", "[[platform]]\nname = \"a\"\niops = -1\n");
    folder.slob("ledger bad.toml").refused(&["bad.toml:3: ", "a number above 0"]);
    folder.write("bad.toml", "[[platform]]\nname = \"a\"\niops = 1\n");
    folder.slob("ledger bad.toml").refused(&["bad.toml:1: ", "`source`"]);
    folder.slob("ledger nothing").refused(&["there is no run 'nothing'"]);
    folder.slob("ledger nothing.toml").refused(&["reading nothing.toml"]);
    folder.slob("ledger").refused(&["slob ledger"]);
    folder.slob("run --cost-per-hour cheap").refused(&["COST_PER_HOUR is 'cheap'", "4.20 EUR"]);
}
