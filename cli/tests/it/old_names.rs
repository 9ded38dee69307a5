//! A script that was written for the names of commands and questions before they changed.

use crate::common::Folder;

#[test]
fn a_script_with_old_names_passes_unchanged() {
    let folder = Folder::loaded(1, "8M");
    for name in ["a", "b"] {
        folder.run_json(format!("--run-time 1 --warmup 0 --name {name}"));
    }
    let script = "set -e; slob() { \"$0\" \"$@\"; }
        slob info runs --columns name,iops --csv
        slob show latest --field figures.operations_per_s
        slob export latest --series -o series.csv
        slob diff latest~1 latest --json || [ $? = 1 ]
        slob analyze runs --variants a,b --json
        slob ledger runs --csv
        slob gate latest --require complete --require cpu-bound || [ $? = 1 ] || [ $? = 4 ]
        slob saturate --run-time 1 --warmup 0 -s 1 --help
        slob headroom --help
        slob ladder --help
        slob plan --help
        slob observe --help";
    folder.shell(script).success();
    assert!(folder.read("series.csv").lines().count() > 1);
}
