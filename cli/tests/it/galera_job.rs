//! Many endpoints on a real Galera cluster, started here: a node that dies ends, loses or moves its sessions as the run says,
//! and all nodes hold the same data afterwards.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Called, Folder, SLOB};
use crate::counting::ended;
use mysql::prelude::Queryable;
use serde_json::Value;
use slob_testing::mariadb::Galera;

const NODES: usize = 3;
/// Of the cluster; each node has a third of them.
const SESSIONS: u64 = 12;
/// Seconds of a run, and of work before a node dies: one that says nothing is suspected to be dead after five seconds
/// (`evs.suspect_timeout`, Galera's default), and is then shut out.
const RUN_S: u64 = 20;
const BEFORE: Duration = Duration::from_secs(2);
/// What a query of the administrator that finds sessions at work looks for.
const AT_WORK: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST
    WHERE USER = 'plain' AND DB LIKE 'slob%' AND COMMAND = 'Execute'";

struct Bench {
    cluster: Galera,
    folder: Folder,
}

impl Bench {
    /// A cluster with one schema, which all sessions share.
    fn new() -> Option<Self> {
        let cluster = Galera::start_or_skip(NODES, &["innodb-buffer-pool-size=64M"])?;
        let folder = Folder::new();
        let target = cluster.nodes[0].plain_target();
        folder.slob(["setup", "--target", &target, "--scale", "8M", "--scan-table-sz", "64", "1"]).success();
        let lines = [
            format!("TARGET={target}"),
            format!("ENDPOINTS={}", cluster.endpoints()),
            format!("SCALE=8M\nTHREADS_PER_SCHEMA={SESSIONS}\nWORK_UNIT=8\nUPDATE_PCT=50\nWARMUP=0\n"),
        ];
        folder.write("slob.conf", &lines.join("\n"));
        Some(Self { cluster, folder })
    }

    /// Kills a node in the middle of a run under a policy, and returns what the run came to.
    fn run_and_kill(&mut self, node: usize, policy: &str) -> (Called, Value) {
        let mut child = Command::new(SLOB)
            .args(["run", "--tolerate-session-loss", policy, "--run-time", &RUN_S.to_string()])
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while self.cluster.nodes[node].ask(AT_WORK) == 0 {
            if child.try_wait().unwrap().is_some() {
                panic!("it ended too early: {}", ended(child).stderr);
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no session went to work");
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(BEFORE);
        self.cluster.nodes[node].kill9();
        (ended(child), self.folder.last_record())
    }

    /// Brings a dead node back and asks all of them for the same data, and the data for what they must be.
    fn heal_and_compare(&mut self, dead: usize) {
        self.verify((0..NODES).filter(|node| *node != dead));
        self.cluster.restart(dead).unwrap();
        assert_eq!(self.cluster.size_seen_by(0), NODES as u64);
        self.verify(0..NODES);
        let table = "slob1.cf1, slob1.cf2";
        let sums: Vec<Vec<(String, u64)>> = self
            .cluster
            .nodes
            .iter()
            .map(|node| {
                let mut admin = node.admin();
                // A SELECT waits until the node has applied everything; the other does not.
                admin.query_drop("SET SESSION wsrep_sync_wait = 1").unwrap();
                admin.query_drop("SELECT COUNT(*) FROM slob1.cf1").unwrap();
                admin.query(format!("CHECKSUM TABLE {table}")).unwrap()
            })
            .collect();
        assert!(sums.iter().all(|sum| *sum == sums[0] && sum.len() == 2), "{sums:?}");
    }

    fn verify(&self, nodes: impl Iterator<Item = usize>) {
        for node in nodes {
            let target = self.cluster.nodes[node].target("plain");
            let endpoint = format!("127.0.0.1:{}", self.cluster.nodes[node].port());
            self.folder.slob(["verify", "--target", &target, "--endpoints", &endpoint]).success();
        }
    }
}

/// Operations of each second of a run.
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

/// All policies on one cluster, because it takes longer to make one than to run.
#[test]
fn a_node_that_dies_under_each_policy() {
    let Some(mut bench) = Bench::new() else { return };
    it_fails_the_run(&mut bench);
    its_sessions_are_dropped(&mut bench);
    its_sessions_move(&mut bench);
}

fn it_fails_the_run(bench: &mut Bench) {
    let (called, record) = bench.run_and_kill(2, "fail");
    assert_eq!(called.code, 3, "{}\n{}", called.stdout, called.stderr);
    assert_eq!(record["status"]["state"], "failed");
    let error = record["status"]["error"].as_str().unwrap();
    let dead = format!("127.0.0.1:{}", bench.cluster.nodes[2].port());
    assert!(error.contains("session") && error.contains(&dead), "{error}");
    assert!(updates(&record["operations"]) > 0, "what was measured is kept");
    assert!(conflicts(&record) > 0, "twelve sessions on three nodes change the same rows");
    bench.heal_and_compare(2);
}

fn its_sessions_are_dropped(bench: &mut Bench) {
    let (called, record) = bench.run_and_kill(1, "drop");
    assert_eq!(called.code, 0, "{}\n{}", called.stdout, called.stderr);
    assert_eq!(record["status"]["state"], "completed");
    let losses = record["losses"].as_array().unwrap();
    assert_eq!(losses.len() as u64, SESSIONS / 3, "{losses:#?}");
    assert!(losses.iter().all(|loss| loss["back_s"].is_null()), "{losses:#?}");
    each_node_has_its_figures(&record, [4, 4, 4]);
    the_others_worked_on(&record);
    bench.heal_and_compare(1);
}

/// The first node, which is the one that is asked about everything else.
fn its_sessions_move(bench: &mut Bench) {
    let (called, record) = bench.run_and_kill(0, "reconnect");
    assert_eq!(called.code, 0, "{}\n{}", called.stdout, called.stderr);
    assert_eq!(record["status"]["state"], "completed");
    let losses = record["losses"].as_array().unwrap();
    assert_eq!(losses.len() as u64, SESSIONS / 3, "{losses:#?}");
    for loss in losses {
        assert!(loss["back_s"].as_f64().unwrap() >= loss["at_s"].as_f64().unwrap(), "{loss}");
        assert_ne!(loss["endpoint"], loss["back_endpoint"], "{loss}");
    }
    each_node_has_its_figures(&record, [0, 8, 4]);
    the_others_worked_on(&record);
    assert_eq!(record["verification"]["faults"], Value::Array(Vec::new()), "read back from a living node");
    bench.heal_and_compare(0);
}

fn each_node_has_its_figures(record: &Value, sessions_at_the_end: [u64; NODES]) {
    let endpoints = record["endpoints"].as_array().unwrap();
    let sessions: Vec<u64> = endpoints.iter().filter_map(|end| end["sessions"].as_u64()).collect();
    assert_eq!(sessions, sessions_at_the_end);
    let counts: Vec<u64> = endpoints.iter().map(|end| updates(&end["operations"])).collect();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), updates(&record["operations"]));
    assert!(conflicts(record) > 0, "twelve sessions on three nodes change the same rows");
}

fn conflicts(record: &Value) -> u64 {
    record["conflicts"]["error 1213"].as_u64().unwrap_or(0)
}

/// No node commits until the cluster has shut the dead one out, which takes seconds; then the rest works on.
fn the_others_worked_on(record: &Value) {
    let seconds = by_second(record);
    assert!(seconds.len() as u64 >= RUN_S, "{seconds:?}");
    let with_the_death = &seconds[BEFORE.as_secs() as usize..RUN_S as usize];
    let least = with_the_death.iter().min().unwrap();
    let since = with_the_death.iter().skip_while(|operations| *operations != least);
    assert!(since.max().unwrap() > &(2 * least), "an outage and its end: {seconds:?}");
}
