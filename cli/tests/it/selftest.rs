//! `slob selftest`: its report is what it did, it leaves nothing behind, and it touches no load of the user's.

use slob_testing::jobs::TestServer as _;
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::skipped;
use slob_testing::tries::{ensure, shown_within};

use crate::common::{Called, Folder, assert_contains, is_full};

/// On a busy machine its run may be BAD.
pub(crate) fn passes(mut selftest: impl FnMut() -> Called) -> Called {
    shown_within(3, || {
        let called = selftest();
        ensure(called.code == 0, || called.all())?;
        Ok(called)
    })
}

fn assert_passed(called: Called, target: &str) -> String {
    let called = called.prints(&[
        "# slob selftest",
        &format!("- Target: `{target}`"),
        "## Settings of the server",
        "- ok: every row reads back as loaded (",
        "- ok: a dropped schema is gone and its neighbour is not (",
        "- ok: run: 4 sessions, ",
        "## Report of the run",
        "steps passed.",
    ]);
    assert!(!called.stdout.contains("FAILED"), "{}", called.stdout);
    called.stdout
}

#[test]
fn a_sound_target_passes_and_is_left_as_it_was() {
    let folder = Folder::new();
    // Work and data of the user's own test do not affect this one.
    folder.write("slob.conf", "SCALE=1000000\nRUN_TIME=3600\nEXTERNAL_SCRIPT=/no/such/script\n");
    let called = passes(|| folder.slob("selftest --target sqlite:./d --output report.md"));
    let report = assert_passed(called, "sqlite:./d");
    assert_contains(
        &report,
        &[
            "- ok: setup: 2176 rows, one per block",
            "- ok: verify: 2176 rows read back, ",
            "acknowledged UPDATEs lost",
            "- ok: drop: 2 schemas removed",
        ],
    );
    assert_eq!(folder.read("report.md"), report);
    folder.slob("drop --yes --target sqlite:./d").says(&["no schemas loaded by slob"]);
    assert!(!folder.at("runs").exists(), "its run is not one of the user's");
}

#[test]
fn a_load_of_the_users_is_not_touched() {
    let folder = Folder::loaded(1, "1024");
    folder.slob("selftest --output report.md").silently().refused(&["already holds 1 schema"]);
    assert!(!folder.at("report.md").exists());
    folder.slob("verify").success();
}

#[test]
fn a_target_without_data_does_what_it_can() {
    let folder = Folder::new();
    let called = passes(|| folder.slob("selftest --target null:"));
    let report = assert_passed(called, "null:");
    assert!(!report.contains("verify"), "{report}");
}

#[test]
fn a_report_that_cannot_be_written_is_said_before_anything_is_touched() {
    let folder = Folder::new();
    folder
        .slob("selftest --target sqlite:./d --output no/such/folder/report.md")
        .silently()
        .refused(&["--output"]);
}

#[test]
fn a_plain_role_of_a_server_passes_and_no_password_is_shown() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[]) else { return };
    cluster.sql("CREATE ROLE plain LOGIN PASSWORD 'S3CRET-word'");
    cluster.sql("CREATE DATABASE slob OWNER plain");
    let address = format!("127.0.0.1:{}/slob", cluster.port());
    let with_password = format!("postgres://plain:S3CRET-word@{address}");
    let folder = Folder::new();
    let called = passes(|| folder.slob_with_env("selftest -o r.md", &[("SLOB_TARGET", &with_password)]));
    assert!(called.stdout.contains(&address), "{}\n{}", called.stdout, called.stderr);
    let file = folder.read("r.md");
    for text in [&called.stdout, &called.stderr, &file] {
        assert!(!text.contains("S3CRET"), "{text}");
    }
    assert!(called.stdout.contains("PostgreSQL "), "{}", called.stdout);
    called.prints(&["- ok: drop: 2 schemas removed"]);
}

#[test]
fn a_plain_account_of_a_server_passes() {
    if !is_full() {
        return skipped("a plain role of another server passes, too; DRILLS=full makes it");
    }
    let Some(server) = MariaDb::start_or_skip(&[]) else { return };
    let (folder, target) = (Folder::new(), server.plain_target());
    let called = passes(|| folder.slob(format!("selftest --target {target}")));
    called.prints(&["- ok: drop: 2 schemas removed"]);
}
