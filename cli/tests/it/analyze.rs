//! `slob analyze` on files of awr_info and on folders of records.

use crate::common::{AWR_INFO, Folder, SAVED};
use serde_json::Value;

#[test]
fn a_file_of_awr_info_needs_nothing_else() {
    let folder = Folder::new();
    let analyze = format!("analyze {AWR_INFO} --variants RAW,XFS");
    let words = ["READS: physical reads", "REDO: bytes", "READWRITE: ", "Relative to RAW:", "XFS is "];
    let text = folder.slob(format!("{analyze} --relative-to RAW")).prints(&words).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // One flag must not mean two things: `--scale` is the size of the data.
    folder.slob(format!("{analyze} --scale RAW")).refused(&["use --relative-to RAW"]);
    folder.slob(format!("analyze {AWR_INFO} --csv -o out.csv")).success();
    let csv = folder.read("out.csv");
    // The text does not say whether PREADS are blocks of `slob info` or requests of AWR.
    let words = "physical reads per second (as PREADS and PWRITES count them)";
    assert!(csv.contains(&format!("READS,READS,{words},AWR-EXT3,8,9,")), "{csv}");
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
        let json = folder.slob(format!("analyze {input} --json --variants xfs,raw")).json();
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
    let json = folder.slob(format!("analyze {SAVED} --by target --json")).json();
    assert!(json["variants"][0]["name"].as_str().unwrap().contains(':'), "{json}");
    let called = folder.slob(format!("analyze {SAVED} --by targett"));
    called.refused(&["there is no column 'targett' (did you mean target"]);
    let strange = folder.slob(format!("analyze {SAVED} --by zzzzzzzz"));
    strange.refused(&["there is no column 'zzzzzzzz': "]);
}

#[test]
fn what_can_not_be_analysed_or_is_left_out_is_said() {
    let folder = Folder::new();
    let analyze = |rows: &str| {
        folder.write("some", &format!("FILE|SESSIONS|ELAPSED|PREADS|PWRITES|REDO_MBS|TOP WAIT|\n{rows}"));
        folder.slob("analyze some")
    };
    analyze("a|1|60|many|0|0||\n").refused(&["some: line 2: PREADS is 'many'"]);
    let called = folder.slob(format!("analyze {AWR_INFO} --variants ZFS"));
    called.refused(&["no run belongs to any of the variants ZFS"]);
    // Names that tell no sessions do not make an empty table, and neither does one run a cell.
    analyze("awr_2024.11.05||60|100|0|0||\n").refused(&["such as awr.txt.16"]);
    let some = analyze("awr.txt.4|4|60|100|0|0||\nawr_2024.11.05||60|100|0|0||\n");
    some.prints(&["1 of 2 runs are left out"]);
    let single = analyze("xfs.txt.4|4|60|100|0|0||\nraw.txt.4|4|60|110|0|0||\n");
    let text = single.prints(&["There is a single run a cell", "110"]).stdout;
    assert!(!text.contains("SLOB.R's mean: of the runs"), "{text}");
}
