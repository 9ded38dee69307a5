//! Helpers for tests of loaded schemas.

use std::path::Path;
use std::process::Command;

use slob_engine::{Engine, Load, LoadProgress, OpenSpec, Purpose, SessionPlan};
use slob_engine_sqlite::KIND;
use slob_method::SchemaNo;
use slob_spec::{EngineOptions, RedoStress};
use slob_testing::work::session_plan;
use tempfile::TempDir;

pub(crate) const LOAD: Load =
    Load { seed: 5, scale: 600, scan_blocks: 50, obfuscated: false, slice_rows: 400 };
const FOLDER: &str = "SLOB_TEST_FOLDER";

pub(crate) fn schema(number: u16) -> SchemaNo {
    SchemaNo::new(number).expect("not 0")
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for tests")
}

pub(crate) fn engine(folder: &Path) -> Box<dyn Engine> {
    let target = format!("sqlite:{}", folder.display()).parse().expect("a target");
    let spec = OpenSpec::new(target, Purpose::Load, EngineOptions::default());
    (KIND.open)(&spec).expect("a folder can be opened")
}

pub(crate) fn load(engine: &dyn Engine, schemas: u16) {
    for schema in SchemaNo::up_to(schemas) {
        engine.create_schema(&LOAD, schema).expect("there is room");
        for slice in LOAD.slices(schema) {
            engine.load_slice(&LOAD, &slice, &LoadProgress::default()).expect("there is room");
        }
        engine.finish_schema(&LOAD, schema).expect("all slices are there");
    }
}

pub(crate) fn plan(number: u32) -> SessionPlan {
    SessionPlan { scans: false, ..session_plan(&LOAD, number, RedoStress::Lite) }
}

/// The test is ignored elsewhere.
pub(crate) fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("Linux knows"));
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(FOLDER, folder);
    command
}

/// A process of its own may change its limits.
pub(crate) fn in_a_child(test: &str, folder: &Path) {
    let output = child(test, folder).output().expect("this program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success() && said.contains(" 1 passed"), "{said}");
}

pub(crate) fn folder_of_the_parent() -> std::path::PathBuf {
    std::env::var_os(FOLDER).expect("set by the parent").into()
}
