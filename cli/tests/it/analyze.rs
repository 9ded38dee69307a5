//! `slob analyze` on files of awr_info and on folders of records.

use crate::common::{Folder, assert_contains};
use serde_json::Value;

const OLDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/report/src/analysis/fixtures/awr_info_older.txt");
const SAVED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/record/tests/fixtures/v1");

#[test]
fn a_file_of_awr_info_needs_nothing_else() {
    let folder = Folder::new();
    let text = folder.slob(format!("analyze {OLDER} --variants RAW,XFS --relative-to RAW")).success().stdout;
    assert_contains(
        &text,
        &["READS: physical reads", "REDO: bytes", "READWRITE: ", "Relative to RAW:", "XFS is "],
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    folder.slob(format!("analyze {OLDER} --csv -o out.csv")).success();
    let csv = folder.read("out.csv");
    // The text does not say whether PREADS are blocks of `slob info` or requests of AWR.
    let words = "physical reads per second (as PREADS and PWRITES count them)";
    assert!(csv.contains(&format!("READS,READS,{words},AWR-EXT3,8,9,")), "{csv}");
}

/// One flag must not mean two things: `--scale` is the size of the data.
#[test]
fn scale_is_refused_where_it_would_be_a_variant() {
    let called = Folder::new().slob(format!("analyze {OLDER} --variants RAW,XFS --scale RAW"));
    called.refused(&["use --relative-to RAW"]);
}

/// Records and the newer form of `slob info` must give the same.
#[test]
fn records_and_what_info_prints_of_them_give_the_same_tables() {
    let folder = Folder::loaded(1, "16M");
    for name in ["xfs-1", "xfs-2", "raw-1"] {
        folder.slob(format!("run --name {name} --run-time 1 --update-pct 0")).success();
    }
    let table = folder.slob("info").success().stdout;
    folder.write("awr_info.txt", &table);
    let rows = |input: &str| {
        let text = folder.slob(format!("analyze {input} --json --variants xfs,raw")).success().stdout;
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["tables"].as_array().unwrap().len(), 1, "{json}");
        assert_eq!(json["tables"][0]["title"], "READS");
        let rows = json["tables"][0]["rows"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| (row["cells"][0]["runs"].clone(), row["cells"][0]["mean"].as_f64().unwrap()))
            .collect()
    };
    let of_records: Vec<(Value, f64)> = rows("runs");
    let of_text: Vec<(Value, f64)> = rows("awr_info.txt");
    assert_eq!((&of_records[0].0, &of_records[1].0), (&2.into(), &1.into()));
    for (record, text) in of_records.iter().zip(&of_text) {
        assert_eq!(record.0, text.0);
        // `info` rounds to six digits or more.
        assert!((record.1 / text.1 - 1.0).abs() < 1e-5, "{of_records:?} {of_text:?}");
    }
}

#[test]
fn variants_can_be_a_column() {
    let folder = Folder::new();
    let json = folder.slob(format!("analyze {SAVED} --by target --json")).success().stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["variants"][0]["name"].as_str().unwrap().contains(':'), "{json}");
    let called = folder.slob(format!("analyze {SAVED} --by targett"));
    called.refused(&["there is no column 'targett' (did you mean target"]);
    let strange = folder.slob(format!("analyze {SAVED} --by zzzzzzzz"));
    assert!(strange.stderr.contains("there is no column 'zzzzzzzz': "), "{}", strange.stderr);
}

#[test]
fn what_can_not_be_analysed_is_said() {
    let folder = Folder::new();
    folder.write("bad", "FILE|SESSIONS|PREADS|\na|1|many|\n");
    folder.slob("analyze bad").refused(&["bad: line 2: PREADS is 'many'"]);
    let called = folder.slob(format!("analyze {OLDER} --variants ZFS"));
    called.refused(&["no run belongs to any of the variants ZFS"]);
}

#[test]
fn reports_whose_names_tell_no_sessions_are_not_an_empty_table() {
    let folder = Folder::new();
    let head = "FILE|SESSIONS|ELAPSED|PREADS|PWRITES|REDO_MBS|TOP WAIT|\n";
    folder.write("none.txt", &format!("{head}awr_2024.11.05||60|100|0|0||\n"));
    folder.slob("analyze none.txt").refused(&["such as awr.txt.16"]);
    folder.write("some.txt", &format!("{head}awr.txt.4|4|60|100|0|0||\nawr_2024.11.05||60|100|0|0||\n"));
    folder.slob("analyze some.txt").prints(&["1 of 2 runs are left out"]);
}

#[test]
fn one_run_a_cell_says_so_instead_of_an_empty_table() {
    let folder = Folder::new();
    let head = "FILE|SESSIONS|ELAPSED|PREADS|PWRITES|REDO_MBS|TOP WAIT|\n";
    folder.write("some.txt", &format!("{head}xfs.txt.4|4|60|100|0|0||\nraw.txt.4|4|60|110|0|0||\n"));
    let text = folder.slob("analyze some.txt").success().stdout;
    assert!(text.contains("There is a single run a cell"), "{text}");
    assert!(!text.contains("SLOB.R's mean: of the runs"), "{text}");
    assert!(text.contains("110"), "{text}");
}
