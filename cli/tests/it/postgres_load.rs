//! Loads without room for their data, on real PostgreSQL servers: loaded schemas are kept, and the next `slob setup` resumes.

use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use rstest::rstest;
use slob_engine::{OpenSpec, Purpose};
use slob_run::{LoadEvent, LoadObserver, RunErrorKind, load, plan_load};
use slob_spec::{LoadSpec, Settings, Table};
use slob_testing::jobs::TestServer as _;
use slob_testing::postgres::{Cluster, Version};

use crate::common::{assert_contains, postgres};
use crate::drills::space::Disk;

struct Silent;

impl LoadObserver for Silent {
    fn on_load(&self, _: &LoadEvent) {}
}

fn small_tablespace(cluster: &Cluster, small: &Disk) {
    let place = small.path().join("tables");
    fs::create_dir(&place).unwrap();
    let reference = format!("--reference={}", cluster.data_folder().display());
    assert!(Command::new("chown").arg(reference).arg(&place).status().unwrap().success());
    cluster.sql(&format!("CREATE TABLESPACE small OWNER plain LOCATION '{}'", place.display()));
}

/// The original kit loads them without a question.
#[test]
fn a_tablespace_alone_is_128_schemas_and_a_question() {
    let Some(bench) = postgres(Version::V15, &[]) else { return };
    let load = |rest| bench.folder.slob(bench.load_line(rest));
    let place = "--scale 16M pg_default";
    load(place).refused(&["2.2 GB, 128 schemas", "TABLESPACE pg_default", "use --yes"]);
}

#[test]
fn a_load_without_room_is_refused_before_anything_is_touched() {
    let Some(small) = Disk::mount_or_skip(64) else { return };
    let Some(bench) = postgres(Version::V15, &[]) else { return };
    small_tablespace(&bench.server, &small);
    let place = small.path().display().to_string();
    bench.folder.slob(bench.load_line("--scale 64M small 1")).refused(&[
        "the load needs 71 MB",
        &place,
        "MB are free there",
    ]);
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'slob%'";
    assert_eq!(bench.server.number(schemas), 0);
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn a_load_that_runs_out_of_room_keeps_what_is_done_and_goes_on(#[case] version: Version) {
    let Some(small) = Disk::mount_or_skip(192) else { return };
    let Some(bench) = postgres(version, &[]) else { return };
    small_tablespace(&bench.server, &small);
    let pairs = [
        ("TARGET", bench.target.as_str()),
        ("SCALE", "64M"),
        ("SCAN_TABLE_SZ", "64"),
        ("SCHEMAS", "2"),
        ("LOAD_PARALLEL_DEGREE", "1"),
        ("TABLESPACE", "small"),
    ];
    let flags: Vec<_> = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let table = Table::new("", &[slob_engine_postgres::KIND.params]);
    let settings = Settings::resolve(&table, None, &[], &flags).unwrap().settings;
    let spec = LoadSpec::from_settings(&settings).unwrap().spec;
    let open = OpenSpec::new(spec.target.clone(), Purpose::Load, spec.options.clone());
    let open = OpenSpec { tablespace: spec.tablespace.clone(), ..open };
    let engine = (slob_engine_postgres::KIND.open)(&open).unwrap();
    let plan = plan_load(engine.as_ref(), &spec).unwrap();
    // Others take the room after the check: one schema and a half still fit.
    let filler = small.path().join("filler");
    fs::write(&filler, vec![1; 80 << 20]).unwrap();
    let error = load(engine.as_ref(), &plan, &AtomicBool::new(false), &Silent).unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Failed);
    let place = small.path().display().to_string();
    assert_contains(
        &error.to_string(),
        &["SQLSTATE 53100", &place, "MB free now", "still missing needs 71 MB", "resumes from there"],
    );
    fs::remove_file(&filler).unwrap();
    bench.load("--scale 64M small 2").says(&["1 of 2 schemas were there already"]);
    bench.verify().success();
}
