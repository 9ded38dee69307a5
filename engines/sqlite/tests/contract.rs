//! The SQLite engine passes the contract suite.

use std::path::Path;

use slob_engine::{Engine, EngineError, OpenSpec, Purpose, suite};
use slob_engine_sqlite::KIND;
use slob_spec::EngineOptions;

fn open(folder: &Path) -> Result<Box<dyn Engine>, EngineError> {
    let target = format!("sqlite:{}", folder.display()).parse().expect("a target");
    (KIND.open)(&OpenSpec::new(target, Purpose::Load, EngineOptions::default()))
}

#[test]
fn passes_the_contract_suite() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = dir.path().join("data");
    let verdicts = suite::run(&|| open(&folder), &mut |_, _| true).unwrap();
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "everything it made is gone");
}
