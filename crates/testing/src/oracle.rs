//! A server that speaks Oracle's wire protocol and knows our statements, but no SQL.
//!
//! `crates/testing/oracle` has the server, and a description for each release or service. It can't show what Oracle itself would
//! answer.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use rustix::process::Signal;

use crate::process::{Account, Process, Served, available, finish, free_port, on_a_port, until_it_serves};
use crate::target_folder;

/// A start with these words may succeed when it is repeated.
const PASSING: &[&str] = &["Address already in use"];
/// It accepts a connection when the server does.
const LOOPBACK: &str = "127.0.0.1";

/// Each port has an instance. The administrator is `system`.
#[derive(Debug)]
pub struct Oracle {
    served: Served,
    description: String,
    ports: Vec<u16>,
    /// Its listener redirects to all ports in turn.
    redirecting: Option<u16>,
}

impl Deref for Oracle {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

impl Oracle {
    /// A description is such as `19c` or `rds`. `None`, with a line on stderr, if the protocol's package is not installed and the
    /// test is to be skipped.
    pub fn start_or_skip(description: &str) -> Option<Self> {
        Self::start_instances_or_skip(description, 1)
    }

    pub fn start_instances_or_skip(description: &str, instances: usize) -> Option<Self> {
        Self::prepare_or_skip(description, instances).map(|mut server| {
            server.begin().expect("a server");
            server
        })
    }

    /// `clients` is the authority of the certificates that clients must have.
    pub fn start_with_tls_or_skip(description: &str, pem: &str, clients: Option<&str>) -> Option<Self> {
        Self::prepare_or_skip(description, 1).map(|mut server| {
            server.write("tls.pem", pem);
            clients.into_iter().for_each(|authority| server.write("clients.pem", authority));
            server.begin().expect("a server");
            server
        })
    }

    fn prepare_or_skip(description: &str, instances: usize) -> Option<Self> {
        // Python takes a tenth of a second for its answer, which stays the same.
        static ACCOUNT: LazyLock<Result<Account, String>> = LazyLock::new(account);
        let account = available(ACCOUNT.clone())?;
        let mut served = Served::new("nobody", "slob-or").expect("a folder");
        served.account = account;
        Some(Self {
            served,
            description: description.to_owned(),
            ports: vec![0; instances],
            redirecting: None,
        })
    }

    fn begin(&mut self) -> Result<(), String> {
        let mut ports = Vec::new();
        for _ in 1..self.ports.len() {
            ports.push(free_port()?);
        }
        self.redirecting = if ports.is_empty() { None } else { Some(free_port()?) };
        let log = self.folder.path().join("log");
        let (process, port) = on_a_port(self.served.fixed_port(), PASSING, |port| {
            let file = fs::File::create(&log).map_err(|error| error.to_string())?;
            let process = Process::spawn(&self.command(port, &ports), Some(file))?;
            let serves = || std::net::TcpStream::connect((LOOPBACK, port)).is_ok();
            until_it_serves(process, serves, Signal::KILL, &log)
        })?;
        self.served.process = Some(process);
        self.served.port = port;
        self.ports = [vec![port], ports].concat();
        Ok(())
    }

    fn command(&self, port: u16, others: &[u16]) -> Command {
        let mut command = self.account.command(&python(), "PYTHON");
        command.arg("-B").arg(home().join("serve.py")).arg(self.folder.path()).arg(&self.description);
        let all: Vec<String> = [&[port], others].concat().iter().map(u16::to_string).collect();
        command.args(&all);
        command.args(self.redirecting.map(|port| format!("{port}={}", all.join(","))));
        command
    }

    pub fn target(&self) -> String {
        self.target_of("system:manager")
    }

    pub fn target_of(&self, account: &str) -> String {
        let hosts: Vec<String> = self.ports.iter().map(|port| format!("{LOOPBACK}:{port}")).collect();
        format!("oracle://{account}@{}/pdb1?driver=thin", hosts.join(","))
    }

    /// A listener redirects to the instances in turn.
    pub fn redirecting_target(&self) -> String {
        let port = self.redirecting.expect("several instances");
        format!("oracle://system:manager@//{LOOPBACK}:{port}/pdb1?driver=thin")
    }

    /// Its sessions are lost; other instances have its blocks.
    pub fn lose(&self, instance: usize) {
        self.write("lost", &instance.to_string());
    }

    /// Lines are `WORDS => FAULT`, as `serve.py` describes them; `""` ends all faults.
    pub fn fail(&self, faults: &str) {
        self.write("faults.new", faults);
        fs::rename(self.folder.path().join("faults.new"), self.folder.path().join("faults")).expect("a file");
    }

    /// A line is account, instance, words, binds.
    pub fn statements(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("statements")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn kill(&mut self) {
        self.served.end(Signal::KILL);
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("a file");
        self.account.give(&path).expect("its own file");
    }
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle")
}

/// `.ci/install-test-servers` puts the protocol's package there.
fn python() -> PathBuf {
    target_folder().join("test-readers/bin/python")
}

/// The account that can run the server. It is the test's own where another one can't reach the interpreter or this project.
fn account() -> Result<Account, String> {
    let runs = |account: &Account| {
        finish(account.command(&python(), "PYTHON").args(["-c", "import seerdb.server"])).is_ok()
    };
    let mut accounts = [Account::choose("nobody")?, Account::own()].into_iter();
    accounts.find(runs).ok_or_else(|| {
        "there is no package seerdb in target/test-readers (.ci/install-test-servers)".to_owned()
    })
}
