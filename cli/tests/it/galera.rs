//! Many endpoints on a real Galera cluster, started here: a dead node ends, loses or moves its sessions, and all nodes hold the
//! same data afterwards.

use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use serde_json::Value;
use slob_testing::jobs::TestServer as _;
use slob_testing::mariadb::Galera;
use slob_testing::tries::{ensure, until};

use crate::common::{Called, Folder, assert_failed_and_kept, ended};

const NODES: usize = 3;
/// Each node has a third of them.
const SESSIONS: u64 = 12;
/// Seconds. A silent node is suspected to be dead after five seconds (`evs.suspect_timeout`, Galera's default), and is then shut
/// out.
const RUN_S: u64 = 16;
const BEFORE: Duration = Duration::from_secs(2);

struct Bench {
    cluster: Galera,
    folder: Folder,
}

impl Bench {
    /// One schema, which all sessions share.
    fn new() -> Option<Self> {
        let cluster = Galera::start_or_skip(NODES, &["innodb-buffer-pool-size=64M"])?;
        let folder = Folder::new();
        let target = cluster.nodes[0].plain_target();
        folder.slob(format!("setup --target {target} --scale 1M --scan-table-sz 64 1")).success();
        let lines = [
            format!("TARGET={target}"),
            format!("ENDPOINTS={}", cluster.endpoints()),
            format!("SCALE=1M\nTHREADS_PER_SCHEMA={SESSIONS}\nWORK_UNIT=8\nUPDATE_PCT=50\nWARMUP=0"),
            // Others need the CPUs too. In so small a schema sessions collide all the same.
            "THINK_TM_FREQUENCY=1\nTHINK_TM_MIN=0.02\nTHINK_TM_MAX=0.02\n".to_owned(),
        ];
        folder.write("slob.conf", &lines.join("\n"));
        Some(Self { cluster, folder })
    }

    fn run_and_kill(&mut self, node: usize, policy: &str) -> (Called, Value) {
        let before = self.commits(node);
        let mut run = self.folder.start(format!("run --tolerate-session-loss {policy} --run-time {RUN_S}"));
        until(|| {
            if run.try_wait().unwrap().is_some() {
                panic!("it ended too early");
            }
            ensure(self.commits(node) >= before + 100, || "no session went to work".to_owned())
        });
        thread::sleep(BEFORE);
        self.cluster.nodes[node].kill();
        (ended(run), self.folder.last_record())
    }

    /// Transactions that the node itself committed.
    fn commits(&self, node: usize) -> u64 {
        let sql = "SHOW GLOBAL STATUS LIKE 'wsrep_local_commits'";
        let row: Option<(String, u64)> = self.cluster.nodes[node].admin().query_first(sql).unwrap();
        row.map_or(0, |(_, commits)| commits)
    }

    /// All nodes must then hold the same, right data.
    fn heal_and_compare(&mut self, dead: usize) {
        self.verify((0..NODES).filter(|node| *node != dead));
        self.cluster.restart(dead).unwrap();
        until(|| {
            let size = self.cluster.size_seen_by(0);
            ensure(size == NODES as u64, || format!("{size} nodes"))
        });
        self.verify(0..NODES);
        let sums = self.cluster.nodes.iter().map(|node| {
            let mut admin = node.admin();
            // A SELECT waits until the node has applied everything; the other does not.
            admin.query_drop("SET SESSION wsrep_sync_wait = 1").unwrap();
            admin.query_drop("SELECT COUNT(*) FROM slob1.cf1").unwrap();
            admin.query("CHECKSUM TABLE slob1.cf1, slob1.cf2").unwrap()
        });
        let sums: Vec<Vec<(String, u64)>> = sums.collect();
        assert!(sums.iter().all(|sum| *sum == sums[0] && sum.len() == 2), "{sums:?}");
    }

    fn verify(&self, nodes: impl Iterator<Item = usize>) {
        for node in nodes.map(|node| &self.cluster.nodes[node]) {
            let (target, port) = (node.target("plain"), node.port());
            self.folder.slob(format!("verify --target {target} --endpoints 127.0.0.1:{port}")).success();
        }
    }
}

fn by_second(record: &Value) -> Vec<u64> {
    let points = record["series"]["points"].as_array().unwrap();
    let operations = |point: &Value| {
        ["selects", "updates", "scans"].iter().filter_map(|kind| point["value"]["ops"][kind].as_u64()).sum()
    };
    points.iter().map(operations).collect()
}

fn updates(operations: &Value) -> u64 {
    operations["update"]["operations"].as_u64().unwrap_or(0)
}

/// All policies use one cluster, because it takes longer to make one than to run.
#[test]
fn a_node_that_dies_fails_the_run_or_loses_its_sessions_or_moves_them() {
    let Some(mut bench) = Bench::new() else { return };
    it_fails_the_run(&mut bench);
    its_sessions_are_dropped(&mut bench);
    its_sessions_move(&mut bench);
}

fn it_fails_the_run(bench: &mut Bench) {
    let (called, record) = bench.run_and_kill(2, "fail");
    called.exits(3);
    assert_failed_and_kept(&record);
    let error = record["status"]["error"].as_str().unwrap();
    let dead = format!("127.0.0.1:{}", bench.cluster.nodes[2].port());
    assert!(error.contains("session") && error.contains(&dead), "{error}");
    assert!(updates(&record["operations"]) > 0, "what was measured is kept");
    assert_conflicts(&record);
    bench.heal_and_compare(2);
}

fn its_sessions_are_dropped(bench: &mut Bench) {
    let (called, record) = bench.run_and_kill(1, "drop");
    called.success();
    let losses = losses(&record);
    assert!(losses.iter().all(|loss| loss["back_s"].is_null()), "{losses:#?}");
    assert_sessions_at_the_end(&record, [4, 4, 4]);
    assert_the_others_worked_on(&record);
    bench.heal_and_compare(1);
}

/// The first node answers all other questions.
fn its_sessions_move(bench: &mut Bench) {
    let (called, record) = bench.run_and_kill(0, "reconnect");
    called.success();
    for loss in losses(&record) {
        assert!(loss["back_s"].as_f64().unwrap() >= loss["at_s"].as_f64().unwrap(), "{loss}");
        assert_ne!(loss["endpoint"], loss["back_endpoint"], "{loss}");
    }
    assert_sessions_at_the_end(&record, [0, 8, 4]);
    assert_the_others_worked_on(&record);
    assert_eq!(record["verification"]["faults"], Value::Array(Vec::new()), "read back from a living node");
    bench.heal_and_compare(0);
}

/// All lost sessions of a completed run are of one node.
fn losses(record: &Value) -> &[Value] {
    assert_eq!(record["status"]["state"], "completed");
    let losses = record["losses"].as_array().unwrap();
    assert_eq!(losses.len() as u64, SESSIONS / 3, "{losses:#?}");
    losses
}

fn assert_sessions_at_the_end(record: &Value, expected: [u64; NODES]) {
    let endpoints = record["endpoints"].as_array().unwrap();
    let sessions: Vec<u64> = endpoints.iter().filter_map(|end| end["sessions"].as_u64()).collect();
    assert_eq!(sessions, expected);
    let counts: Vec<u64> = endpoints.iter().map(|end| updates(&end["operations"])).collect();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), updates(&record["operations"]));
    assert_conflicts(record);
}

fn assert_conflicts(record: &Value) {
    let conflicts = record["conflicts"]["error 1213"].as_u64().unwrap_or(0);
    assert!(conflicts > 0, "twelve sessions on three nodes change the same rows");
}

/// No node commits until the cluster has shut the dead one out, which takes seconds; then the rest works on.
fn assert_the_others_worked_on(record: &Value) {
    let seconds = by_second(record);
    assert!(seconds.len() as u64 >= RUN_S, "{seconds:?}");
    let with_the_death = &seconds[BEFORE.as_secs() as usize..seconds.len() - 1];
    let least = with_the_death.iter().min().unwrap();
    let since = with_the_death.iter().skip_while(|operations| *operations != least);
    assert!(since.max().unwrap() > &(2 * least), "an outage and its end: {seconds:?}");
}
