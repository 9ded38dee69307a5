//! The wire between the program and its server is made slow, is cut, and goes silent.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use slob_testing::Network;
use slob_testing::evidence::shows;
use slob_testing::tries::{ensure, shown_within, until};

use super::wire::{Weather, Wire};
use super::{times, when_unlocked};
use crate::common::{
    Bench, Called, Folder, Product, SLOB, assert_failed_and_kept, at_work, is_full, spawned,
};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// A peer that is gone is noticed after half a minute: see the connectors of both engines.
const NOTICED: Duration = Duration::from_secs(30);
/// The kernel's words for a connection that nobody answers, and ours for one that was just being let in.
const VANISHED: &[&str] = &["timed out", "No route to host", "no answer within 30 s"];
/// A busy machine may take so long for anything else.
const SLACK: Duration = Duration::from_secs(25);

#[derive(Clone)]
struct Listener {
    target: String,
    port: u16,
}

impl Listener {
    fn of(bench: &Bench) -> Self {
        Self { target: bench.server.plain_target_at(LOOPBACK, bench.port()), port: bench.port() }
    }

    /// The same server at the other end of a wire.
    fn target_at(&self, host: IpAddr, port: u16) -> String {
        self.target.replace(&format!("@{LOOPBACK}:{}", self.port), &format!("@{host}:{port}"))
    }
}

fn servers() -> Vec<Bench> {
    Product::ALL.into_iter().filter_map(|product| product.start(&[])).collect()
}

fn load_line(target: &str, flags: &str) -> String {
    format!("setup --target {target} --scan-table-sz 64 {flags}")
}

fn load(folder: &Folder, target: &str) {
    folder.slob(load_line(target, "--scale 512 1")).success();
}

fn command_in(network: &Network, folder: &Folder, line: &str) -> Command {
    let mut command = network.command(SLOB);
    command.args(line.split(' ')).current_dir(folder.path());
    command
}

fn select_mean_us(record: &Value) -> f64 {
    let latency = &record["operations"]["select"]["latency"];
    latency["sum"].as_f64().unwrap() / latency["count"].as_f64().unwrap() / 1000.0
}

/// Other work on the machine can slow down one of the runs more than the wire does: hence three tries.
#[test]
fn a_slow_wire_shows_in_the_figures() {
    for server in servers().iter().take(times(1, 2)) {
        let listener = Listener::of(server);
        let wire = Wire::lay(LOOPBACK, listener.port);
        let (folder, target) = (Folder::new(), listener.target_at(LOOPBACK, wire.port()));
        load(&folder, &target);
        // Statement by statement: each has to cross the wire.
        let in_server = format!("--target {target} --scale 512 --warmup 0 --run-time 1");
        let run = format!("{in_server} --loop client");
        shown_within(3, || {
            wire.set(Weather::Delay(Duration::ZERO));
            let fast_us = select_mean_us(&folder.run_json(&run));
            wire.set(Weather::Delay(Duration::from_millis(5)));
            let slow_us = select_mean_us(&folder.run_json(&run));
            assert!(slow_us >= 10_000.0, "5 ms each way: {slow_us} us");
            // The loop in the server does not wait for the wire.
            let inside_us = select_mean_us(&folder.run_json(&in_server));
            let seen = format!(
                "{fast_us:.0} us on a fast wire, {slow_us:.0} us on a slow one, {inside_us:.0} us in the server"
            );
            let holds = slow_us > fast_us && slow_us > inside_us;
            ensure(holds, || seen.clone()).map(|()| {
                shows(
                    "5 ms of delay each way are in each operation with LOOP=client, in none with LOOP=server",
                    seen,
                );
            })
        });
    }
}

#[test]
fn a_cut_wire_ends_a_load_a_run_and_a_verification_with_a_word() {
    let servers = servers();
    // Both at once: most of it is waiting.
    thread::scope(|scope| {
        for server in &servers {
            let listener = Listener::of(server);
            scope.spawn(move || a_wire_is_cut(&listener));
        }
    });
}

fn a_wire_is_cut(listener: &Listener) {
    let wire = Wire::lay(LOOPBACK, listener.port);
    let (folder, target) = (Folder::new(), listener.target_at(LOOPBACK, wire.port()));
    // On a fast machine the load would be done before the cut.
    wire.set(Weather::Delay(Duration::from_millis(10)));
    let child = folder.start(load_line(&target, "--scale 256M 1"));
    wire.has_carried(1 << 20);
    ended_by_a_cut(child, &wire, 3);
    when_unlocked(&folder, &format!("drop --target {target} --yes"));
    load(&folder, &target);
    let child = folder.start_run(format!("1 --target {target} --scale 512 --warmup 0 --run-time 60"));
    ended_by_a_cut(child, &wire, 3);
    assert_failed_and_kept(&folder.last_record());
    folder.slob(format!("verify --target {target}")).success();
}

/// Mends the wire once the program has ended with that code, soon and with a word.
fn ended_by_a_cut(child: Child, wire: &Wire, code: i32) {
    wire.set(Weather::Cut);
    let cut = Instant::now();
    let called = Called::from(child.wait_with_output().unwrap());
    wire.set(Weather::Delay(Duration::ZERO));
    let said = called.exits(code).all();
    assert!(cut.elapsed() < Duration::from_secs(10) + SLACK, "{:?} after the cut: {said}", cut.elapsed());
    assert!(said.contains("server") && !said.contains("panicked"), "{said}");
}

/// One server and one way to lose it, with a folder of its own.
struct Case {
    server: Listener,
    folder: Folder,
    /// True once the run on this server is at work: it looks for no schemas any more.
    runs: Arc<AtomicBool>,
}

impl Case {
    /// The end must come within that time with code 3 and these words.
    fn ends(&self, child: Child, within: Duration, words: &[&str]) {
        self.ends_with(3, child, within, words);
    }

    fn ends_with(&self, code: i32, child: Child, within: Duration, words: &[&str]) {
        let since = Instant::now();
        let said = Called::from(child.wait_with_output().unwrap()).exits(code).all();
        assert!(since.elapsed() < within + SLACK, "{:?}: {said}", since.elapsed());
        assert!(words.iter().any(|word| said.contains(word)) && !said.contains("panicked"), "{said}");
    }

    fn run_without_a_cable(&self, network: &Network) {
        let wire = Wire::lay(network.near(), self.server.port);
        let target = self.server.target_at(network.near(), wire.port());
        let run = format!("run 1 --target {target} --scale 512 --warmup 0 --run-time 60");
        let child = at_work(&mut command_in(network, &self.folder, &run));
        self.runs.store(true, Ordering::Relaxed);
        network.pull();
        // Reading some rows back takes half a minute at most.
        self.ends(child, NOTICED + Duration::from_secs(30), VANISHED);
        assert_failed_and_kept(&self.folder.last_record());
    }

    fn load_without_a_cable(&self, network: &Network) {
        let wire = Wire::lay(network.near(), self.server.port);
        wire.set(Weather::Delay(Duration::from_millis(200)));
        until(|| ensure(self.runs.load(Ordering::Relaxed), || "no run is at work".to_owned()));
        let target = self.server.target_at(network.near(), wire.port());
        let child = spawned(&mut command_in(network, &self.folder, &load_line(&target, "--scale 512 2")));
        wire.has_carried(1 << 20);
        network.pull();
        self.ends(child, NOTICED, VANISHED);
        let sound = &self.server.target;
        wire.set(Weather::Cut);
        when_unlocked(&self.folder, &load_line(sound, "--scale 512 2"));
        self.folder.slob(format!("verify --target {sound}")).success();
    }

    /// A verification waits half a minute more for a server that may recover.
    fn verify_without_a_cable(&self, network: &Network) {
        let wire = Wire::lay(network.near(), self.server.port);
        wire.set(Weather::Delay(Duration::from_millis(100)));
        let target = self.server.target_at(network.near(), wire.port());
        let verify = format!("verify --target {target}");
        let child = spawned(&mut command_in(network, &self.folder, &verify));
        wire.has_carried(256 << 10);
        network.pull();
        self.ends(child, NOTICED + Duration::from_secs(40), VANISHED);
    }

    fn run_on_a_silent_wire(&self) {
        let wire = Wire::lay(LOOPBACK, self.server.port);
        let target = self.server.target_at(LOOPBACK, wire.port());
        let child =
            self.folder.start_run(format!("1 --target {target} --scale 512 --warmup 0 --run-time 10"));
        wire.set(Weather::Silent);
        // 10 s for a sample, 32 s for the sessions, 5 s for the rows.
        self.ends(child, Duration::from_secs(10 + 10 + 32 + 5), &["have not answered for 32 s"]);
        assert_failed_and_kept(&self.folder.last_record());
    }

    fn connect_to_a_silent_wire(&self) {
        let wire = Wire::lay(LOOPBACK, self.server.port);
        wire.set(Weather::Silent);
        let target = self.server.target_at(LOOPBACK, wire.port());
        let child = self.folder.start(format!("run 1 --target {target} --scale 512"));
        self.ends_with(2, child, Duration::from_secs(30), &["no answer within 30 s"]);
    }
}

#[test]
fn a_server_that_is_not_heard_of_holds_nothing_up() {
    let (servers, folder) = (servers(), Folder::new());
    // Tests of a minute and longer run only in the full form.
    let is_full = is_full();
    let deeds: [fn(&Case, &Network); 3] =
        [Case::run_without_a_cable, Case::load_without_a_cable, Case::verify_without_a_cable];
    let deeds: &[fn(&Case, &Network)] = &deeds[..if is_full { 3 } else { 2 }];
    thread::scope(|scope| {
        for server in &servers {
            let server = Listener::of(server);
            load(&folder, &server.target);
            let runs = Arc::default();
            let case =
                move || Case { server: server.clone(), folder: Folder::new(), runs: Arc::clone(&runs) };
            // All at once: most of it is waiting.
            if is_full {
                let case = case();
                scope.spawn(move || case.run_on_a_silent_wire());
            }
            let silent = case();
            scope.spawn(move || silent.connect_to_a_silent_wire());
            for deed in deeds {
                let case = case();
                scope.spawn(move || {
                    let network = Network::make_or_skip();
                    network.iter().for_each(|network| deed(&case, network));
                });
            }
        }
    });
}
