//! Endpoints that lead to one server, on real ones.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use mysql::prelude::Queryable;
use slob_engine::ServerSnapshot;
use slob_testing::jobs::TestServer as _;
use slob_testing::mariadb::{Galera, MariaDb};

use crate::loaded::open;

fn shared(endpoints: &str) -> Vec<Option<usize>> {
    let target = format!("mysql://plain@{endpoints}/?defaults-file=/dev/null");
    let engine = open(&target, &[]).expect("it opens");
    let servers = engine.snapshot().expect("readable").servers;
    let earlier = |seen: &ServerSnapshot| match seen {
        ServerSnapshot::Figures(_) => None,
        ServerSnapshot::SameAs(earlier) => Some(*earlier),
        ServerSnapshot::Unreachable => panic!("{seen:?}"),
    };
    servers.iter().map(earlier).collect()
}

/// Cloned machines see their folders under one name.
#[test]
fn clones_with_equal_identities_are_two_servers() {
    let Some(mut first) = MariaDb::start_or_skip(&[]) else { return };
    let mut second = MariaDb::start_or_skip(&[]).expect("another one");
    let place = tempfile::tempdir().expect("a folder");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let link = place.path().join("mysql");
    let port = first.port();
    for (server, address) in [(&mut first, "127.0.0.1"), (&mut second, "127.0.0.2")] {
        server.plain_target();
        let _ = fs::remove_file(&link);
        symlink(server.data_folder().parent().expect("a folder"), &link).expect("a link");
        let data = format!("datadir={}/data", link.display());
        let socket = format!("socket={}/s", link.display());
        let settings = [data, socket, format!("bind-address={address}"), format!("port={port}")];
        server.restart_with(&settings);
    }
    let said = |server: &MariaDb| -> Option<String> {
        let sql = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@socket, @@pid_file)";
        server.admin().query_first(sql).expect("an answer")
    };
    assert_eq!(said(&first), said(&second), "they can't be told apart by this");
    let endpoints = format!("127.0.0.1:{port},127.0.0.2:{port},127.0.0.1:{port},127.0.0.2:{port}");
    assert_eq!(shared(&endpoints), [None, None, Some(0), Some(1)]);
}

#[test]
fn endpoints_of_one_node_of_a_cluster_are_one_server() {
    let Some(cluster) = Galera::start_or_skip(2, &[]) else { return };
    cluster.nodes[0].plain_target();
    // A lock is that of a node alone.
    let mut holder = cluster.nodes[0].admin();
    assert_eq!(holder.query_first("SELECT GET_LOCK('here', 0)").expect("an answer"), Some(1));
    let seen = |node: &MariaDb| node.ask("SELECT IS_USED_LOCK('here') IS NOT NULL");
    assert_eq!((seen(&cluster.nodes[0]), seen(&cluster.nodes[1])), (1, 0));
    let endpoints = format!("{0},{0}", cluster.endpoints());
    assert_eq!(shared(&endpoints), [None, None, Some(0), Some(1)]);
}

#[test]
fn an_unknown_host_name_is_to_be_checked_and_not_the_servers_log() {
    let error = open("mysql://plain@no-such-host.invalid/", &[]).err().expect("no such host");
    let words = error.to_string();
    assert!(words.contains("no-such-host.invalid") && words.contains("check the host's name"), "{words}");
}
