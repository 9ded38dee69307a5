//! A Galera cluster: servers on loopback, each with a data folder.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;

use crate::mariadb::{ACCOUNT, MariaDb, Product, connect};
use crate::process::{Served, available, last_lines};

const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";
const PATIENCE: Duration = Duration::from_secs(180);
/// The system gives higher ports to clients, which could take one between two starts of a node.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// The ports are for clients, the group, and incremental and full transfers of state.
const PORTS_OF_A_NODE: usize = 4;

pub struct Galera {
    pub nodes: Vec<MariaDb>,
}

impl Galera {
    pub fn start_or_skip(nodes: usize, settings: &[&str]) -> Option<Self> {
        available(Product::MariaDb.installed())?;
        available(installed())?;
        Some(Self::start(nodes, settings).expect("a cluster"))
    }

    fn start(nodes: usize, settings: &[&str]) -> Result<Self, String> {
        let ports = free_ports(nodes * PORTS_OF_A_NODE)?;
        let ports: Vec<&[u16]> = ports.chunks(PORTS_OF_A_NODE).collect();
        let nodes: Result<Vec<MariaDb>, String> =
            (0..nodes).map(|number| node(number, &ports, settings)).collect();
        let mut cluster = Self { nodes: nodes? };
        cluster.nodes[0].init()?;
        // The first node makes the cluster; should it come back, it is to join the others.
        cluster.nodes[0].settings.push("wsrep-new-cluster".into());
        cluster.nodes[0].begin()?;
        cluster.nodes[0].settings.pop();
        wait_until_in(&cluster.nodes[0])?;
        for number in 1..cluster.nodes.len() {
            cluster.restart(number)?;
        }
        Ok(cluster)
    }

    pub fn restart(&mut self, number: usize) -> Result<(), String> {
        self.nodes[number].begin()?;
        wait_until_in(&self.nodes[number])
    }

    pub fn endpoints(&self) -> String {
        let ends: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        ends.join(",")
    }

    /// It counts itself.
    pub fn size_seen_by(&self, number: usize) -> u64 {
        status(&self.nodes[number], "wsrep_cluster_size").and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

fn node(number: usize, ports: &[&[u16]], settings: &[&str]) -> Result<MariaDb, String> {
    let mut served = Served::new(ACCOUNT, "slob-my")?;
    let data = served.data_folder();
    std::fs::create_dir(&data).map_err(|error| format!("{}: {error}", data.display()))?;
    served.account.give(&data)?;
    let [port, group, increment, transfer] = ports[number] else { return Err("four ports".into()) };
    let others = ports.iter().enumerate().filter(|(other, _)| *other != number);
    let others: Vec<String> = others.map(|(_, ports)| format!("127.0.0.1:{}", ports[1])).collect();
    let mut all: Vec<String> = [
        "innodb-log-file-size=64M",
        "innodb-autoinc-lock-mode=2",
        "innodb-flush-log-at-trx-commit=2",
        "binlog-format=ROW",
        "wsrep-on=ON",
        "wsrep-cluster-name=slob",
        "wsrep-node-address=127.0.0.1",
        "wsrep-sst-method=rsync",
        "wsrep-slave-threads=2",
    ]
    .map(str::to_owned)
    .into();
    let provider = format!(
        "gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{increment};gcache.size=64M;pc.recovery=false"
    );
    all.extend([
        format!("wsrep-provider={PROVIDER}"),
        format!("wsrep-provider-options={provider}"),
        format!("wsrep-cluster-address=gcomm://{}", others.join(",")),
        format!("wsrep-node-name=n{number}"),
        format!("wsrep-node-incoming-address=127.0.0.1:{port}"),
        format!("wsrep-sst-receive-address=127.0.0.1:{transfer}"),
    ]);
    all.extend(settings.iter().map(|setting| (*setting).to_owned()));
    served.port = *port;
    Ok(MariaDb { served, product: Product::MariaDb, settings: all })
}

fn wait_until_in(node: &MariaDb) -> Result<(), String> {
    let limit = Instant::now() + PATIENCE;
    loop {
        let state = status(node, "wsrep_local_state_comment");
        if state.as_deref() == Some("Synced") {
            return Ok(());
        }
        if Instant::now() > limit {
            let log = last_lines(&node.folder.path().join("log.err"));
            return Err(format!("the node is {state:?} after {} s:\n{log}", PATIENCE.as_secs()));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn status(node: &MariaDb, name: &str) -> Option<String> {
    let mut conn = connect(&node.socket()).ok()?;
    let row: Option<(String, String)> = conn.query_first(format!("SHOW STATUS LIKE '{name}'")).ok()?;
    row.map(|(_, value)| value)
}

fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    // Concurrent test programs begin at different places.
    let begin = usize::try_from(std::process::id()).unwrap_or(0) * 64 % PORTS.len();
    let order = PORTS.cycle().skip(begin).take(PORTS.len());
    let free = order.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    let found: Vec<u16> = free.take(count).collect();
    if found.len() == count { Ok(found) } else { Err(format!("there are no {count} free ports")) }
}

fn installed() -> Result<(), String> {
    if !Path::new(PROVIDER).is_file() {
        return Err(format!("{PROVIDER} is not there; .ci/install-test-servers installs it"));
    }
    Product::MariaDb.program("rsync").map(drop)
}
