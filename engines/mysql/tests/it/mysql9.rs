//! Differences of MySQL from MariaDB, on the real server.

use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use slob_engine::Counter;
use slob_spec::RedoStress;
use slob_testing::mariadb::{MariaDb, Product};
use slob_testing::tries::{ensure, shown_within, until};
use slob_testing::work::{FIRST, LOAD, batch, executed, load_schema};

use crate::loaded::{Loaded, loaded_on, open};

const SEES_ALL: &str = "GRANT SELECT ON performance_schema.* TO plain@'%'";

fn mysql(settings: &[&str]) -> Option<Loaded> {
    loaded_on(Product::MySql9, settings)
}

fn position(loaded: &Loaded) -> f64 {
    let row: Option<(String, String, String)> =
        loaded.server.admin().query_first("SHOW ENGINE INNODB STATUS").expect("an answer");
    let text = row.expect("a row").2;
    let line = text.lines().find_map(|line| line.strip_prefix("Log sequence number"));
    line.expect("the monitor shows it").trim().parse().expect("a number")
}

#[test]
fn redo_is_the_distance_of_log_positions() {
    let Some(loaded) = mysql(&[]) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    let mut nonce = 5;
    // The server refreshes its variable some times a second, and purges earlier work whenever it likes.
    shown_within(5, || {
        nonce += 1;
        let from = resting_position(&loaded);
        let delta = loaded.counted(|| {
            executed(session.as_mut(), &batch(100, 1, nonce, 400), None);
            resting_position(&loaded);
        });
        let way = position(&loaded) - from;
        let redo = delta.get(Counter::RedoBytes).expect("known to every role") as f64;
        // Whole blocks written for each commit would be more by a half.
        let is_close = (redo - way).abs() <= way * 0.02 && way > 400.0 * 256.0;
        ensure(is_close, || format!("{redo} bytes, and the position moved by {way}"))
    });
}

/// Nothing was written for a fifth of a second.
fn resting_position(loaded: &Loaded) -> f64 {
    let mut before = position(loaded);
    until(|| {
        thread::sleep(Duration::from_millis(200));
        let moved = position(loaded) - before;
        before += moved;
        ensure(moved == 0.0, || format!("the log of an idle server grows by {moved} bytes"))
    });
    before
}

#[test]
fn physical_reads_have_the_servers_own_time_where_the_role_may_see_it() {
    let Some(loaded) = mysql(&["innodb-buffer-pool-size=5M"]) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    let mut work = |nonce| {
        let before = loaded.snapshot();
        executed(session.as_mut(), &batch(0, 64, nonce, 200), None);
        loaded.snapshot().since(&before)
    };
    let blind = work(1);
    assert_eq!(blind.counters.get(Counter::PhysicalReadTimeNs), None);
    loaded.server.sql(SEES_ALL);
    // The first snapshot after the grant has none before it.
    drop(work(2));
    let seen = work(3);
    let value = |counter| seen.counters.get(counter).expect("counted");
    let (reads, requests) = (value(Counter::PhysicalReads), value(Counter::PhysicalReadRequests));
    assert!(reads > 1000, "{reads}");
    assert!(requests.abs_diff(reads) * 50 <= reads, "{requests} requests for {reads} pages");
    let time_ns = value(Counter::PhysicalReadTimeNs);
    assert!(time_ns / requests > 500, "{time_ns} ns for {requests} reads");
    let waits = seen
        .events
        .iter()
        .find(|event| event.name == "innodb/innodb_data_file")
        .expect("sessions wait for it");
    assert!(waits.waits.is_some_and(|waits| waits.abs_diff(reads) * 50 <= reads), "{waits:?}");
    assert!(seen.events.iter().all(|event| event.time_us > 0 || event.waits == Some(0)), "{:?}", seen.events);
}

/// The server sends its public key, since the password may not go as it is.
#[test]
fn a_password_for_caching_sha2_goes_without_tls() {
    let Some(loaded) = mysql(&[]) else { return };
    loaded.server.sql("CREATE USER sha@'%' IDENTIFIED WITH caching_sha2_password BY 'S3CRET-word'");
    let target = |password: &str| loaded.server.target(&format!("sha:{password}")) + "&ssl-mode=disabled";
    // The key goes first, then what the server remembers.
    for _ in 0..2 {
        open(&target("S3CRET-word"), &[]).expect("it is let in");
    }
    let refused = open(&target("S3CRET-other"), &[]).err().expect("another password");
    assert!(!refused.to_string().contains("S3CRET"), "{refused}");
}

/// Members of a group and replicas end at an UPDATE of a row that the binary log did not bring.
#[test]
fn a_load_is_in_the_binary_log_of_a_groups_member() {
    let logged = |settings: &[&str]| -> Option<u64> {
        let server = MariaDb::start_product_or_skip(Product::MySql9, settings)?;
        let engine = open(&server.socket_target("root"), &[]).expect("it opens");
        let bytes = || -> u64 {
            let logs: Vec<(String, u64, String)> =
                server.admin().query("SHOW BINARY LOGS").expect("an answer");
            logs.iter().map(|(_, bytes, _)| bytes).sum()
        };
        let before = bytes();
        load_schema(engine.as_ref(), &LOAD, FIRST);
        Some(bytes() - before)
    };
    let Some(alone) = logged(&[]) else { return };
    let member = [
        "plugin-load-add=group_replication.so",
        "group-replication-group-name=8a94f357-aab4-11df-86ab-c80aa9429562",
        "group-replication-start-on-boot=OFF",
    ];
    let member = logged(&member).expect("it was there just now");
    assert!(member > alone + LOAD.scale * 4096, "{member} bytes of a member, {alone} of a server alone");
}

fn autocommitted(loaded: &Loaded) -> [u64; 2] {
    // Rights of an account are those of its connection's begin.
    let engine = open(&loaded.target, &[]).expect("it opens");
    let commits = || {
        let work = engine.server_totals().expect("an answer").expect("it counts");
        assert_eq!(work.not_counted, [""; 0]);
        work.counters.get(Counter::Commits).expect("it counts them")
    };
    let during = |statement: &str| {
        let before = commits();
        (0..20).for_each(|_| loaded.server.sql(statement));
        commits() - before
    };
    loaded.server.sql("CREATE TABLE slob1.t (i INT) ENGINE=InnoDB");
    [during("INSERT INTO slob1.t VALUES (1)"), during("SELECT * FROM slob1.t")]
}

/// 43 UPDATEs a second that committed by themselves were profiled as no commits.
#[test]
fn commits_of_a_live_profile_include_autocommit_or_are_unknown() {
    // The server's own threads write now and then.
    let near = |[inserts, selects]: [u64; 2]| (20..=30).contains(&inserts) && selects <= 5;
    if let Some(mariadb) = loaded_on(Product::MariaDb, &[]) {
        let seen = autocommitted(&mariadb);
        assert!(near(seen), "{seen:?}");
    }
    let Some(loaded) = mysql(&[]) else { return };
    let blind = loaded.engine.server_totals().expect("an answer").expect("it counts");
    assert_eq!(blind.counters.get(Counter::Commits), None);
    assert!(blind.not_counted[0].ends_with("grant it PROCESS"), "{:?}", blind.not_counted);
    loaded.server.sql("GRANT PROCESS ON *.* TO plain@'%'");
    let seen = autocommitted(&loaded);
    assert!(near(seen), "{seen:?}");
}
