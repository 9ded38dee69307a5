//! Loads that are cut off or run out of room, on real PostgreSQL servers started here: what is kept, what is said, and
//! that the next `slob setup` goes on.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Called, Folder, SLOB};
use rstest::rstest;
use slob_engine::{OpenSpec, Purpose};
use slob_run::{LoadEvent, LoadObserver, RunErrorKind, load, plan_load};
use slob_spec::{LoadSpec, Settings, Table};
use slob_testing::postgres::{Cluster, Version};

fn start(version: Version) -> Option<(Cluster, String)> {
    let cluster = Cluster::start_or_skip(version, &[])?;
    cluster.sql("CREATE ROLE plain LOGIN");
    cluster.sql("CREATE DATABASE slob OWNER plain");
    let target = format!("postgres://plain@127.0.0.1:{}/slob", cluster.port());
    Some((cluster, target))
}

fn admin(cluster: &Cluster) -> postgres::Client {
    let parameters = format!("host=127.0.0.1 port={} user=postgres dbname=slob", cluster.port());
    postgres::Client::connect(&parameters, postgres::NoTls).unwrap()
}

fn setup(folder: &Folder, target: &str, words: &[&str]) -> Called {
    folder.slob([&["setup", "--target", target, "--scan-table-sz", "64"][..], words].concat())
}

/// Starts a load of two schemas, and returns when both tables are being filled.
fn loading(cluster: &Cluster, target: &str) -> Child {
    let words = ["setup", "--target", target, "--scale", "256M", "--scan-table-sz", "64", "2"];
    let child = Command::new(SLOB).args(words).stderr(Stdio::piped()).spawn().unwrap();
    let mut admin = admin(cluster);
    let sql = "SELECT count(*) FROM pg_stat_progress_copy WHERE tuples_processed > 100";
    let limit = Instant::now() + Duration::from_secs(60);
    while admin.query_one(sql, &[]).unwrap().get::<_, i64>(0) < 2 {
        assert!(Instant::now() < limit, "two streams load two tables");
        thread::sleep(Duration::from_millis(5));
    }
    child
}

/// The rest is loaded, no block twice, and every byte is right.
fn goes_on(folder: &Folder, target: &str) {
    let done = setup(folder, target, &["--scale", "256M", "2"]).success();
    assert!(done.stderr.contains("resuming an earlier load"), "{}", done.stderr);
    assert!(done.stderr.contains("32768 rows in 32768 blocks"), "{}", done.stderr);
    folder.slob(["verify", "--target", target]).success();
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn a_load_that_was_killed_goes_on(#[case] version: Version) {
    let Some((cluster, target)) = start(version) else { return };
    let folder = Folder::new();
    let mut child = loading(&cluster, &target);
    child.kill().unwrap();
    child.wait().unwrap();
    goes_on(&folder, &target);
}

#[test]
fn a_load_whose_server_was_killed_says_so_and_goes_on() {
    let Some((mut cluster, target)) = start(Version::V15) else { return };
    let folder = Folder::new();
    let child = loading(&cluster, &target);
    cluster.kill9();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("what is loaded is kept, and `slob setup` resumes from there"), "{said}");
    cluster.restart().unwrap();
    goes_on(&folder, &target);
}

/// A file system in memory, unmounted with the value.
struct Small(tempfile::TempDir);

impl Small {
    /// `None` where this account may not mount, which stderr says.
    #[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=0777");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "slob-test"])
            .arg(folder.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        eprintln!("skipped: this account may not mount a file system");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily: the server may still have files open there.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

struct Silent;

impl LoadObserver for Silent {
    fn on_load(&self, _: &LoadEvent) {}
}

/// A tablespace that the role may use, on a small file system.
fn small_tablespace(cluster: &Cluster, small: &Small) {
    let place = small.path().join("tables");
    fs::create_dir(&place).unwrap();
    let reference = format!("--reference={}", cluster.data_folder().display());
    assert!(Command::new("chown").arg(reference).arg(&place).status().unwrap().success());
    cluster.sql(&format!("CREATE TABLESPACE small OWNER plain LOCATION '{}'", place.display()));
}

#[test]
fn a_load_without_room_is_refused_before_anything_is_touched() {
    let Some(small) = Small::mount("64M") else { return };
    let Some((cluster, target)) = start(Version::V15) else { return };
    small_tablespace(&cluster, &small);
    let refused = setup(&Folder::new(), &target, &["--scale", "64M", "small", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for words in ["the load needs 71 MB", &small.path().display().to_string(), "MB are free there"] {
        assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    }
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'slob%'";
    assert_eq!(admin(&cluster).query_one(schemas, &[]).unwrap().get::<_, i64>(0), 0);
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn a_load_that_runs_out_of_room_keeps_what_is_done_and_goes_on(#[case] version: Version) {
    let Some(small) = Small::mount("192M") else { return };
    let Some((cluster, target)) = start(version) else { return };
    small_tablespace(&cluster, &small);
    let pairs = [
        ("TARGET", target.as_str()),
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
    // Somebody else takes the room after it was looked at: what is left is enough for one schema and a half.
    let filler = small.path().join("filler");
    fs::write(&filler, vec![1; 80 << 20]).unwrap();
    let error = load(engine.as_ref(), &plan, &AtomicBool::new(false), &Silent).unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Failed);
    let place = small.path().display().to_string();
    for words in ["SQLSTATE 53100", &place, "MB free now", "still missing needs 71 MB", "resumes from there"]
    {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    fs::remove_file(&filler).unwrap();
    let folder = Folder::new();
    let done = setup(&folder, &target, &["--scale", "64M", "small", "2"]).success();
    assert!(done.stderr.contains("1 of 2 schemas were there already"), "{}", done.stderr);
    folder.slob(["verify", "--target", &target]).success();
}
