//! The wire between the program and its server is made slow, is cut, and goes silent.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::times;
use super::wire::{Network, Weather, Wire};
use crate::common::random::is_full;
use crate::common::{Folder, SLOB};
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::tries::{ensure, shown_within};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// A peer that is gone is noticed after half a minute: see the connectors of both engines.
const NOTICED: Duration = Duration::from_secs(30);
/// How the kernel says that nobody answers, of what was under way and of a new connection; and what we say of one that was
/// just being let in.
const VANISHED: &[&str] = &["timed out", "No route to host", "no answer within 30 s"];
/// What a busy machine may take for anything else.
const SLACK: Duration = Duration::from_secs(25);

/// A server that goes on for as long as the drill needs it.
enum Server {
    Postgres(Cluster),
    MariaDb(MariaDb),
}

impl Server {
    /// One of each that is installed.
    fn all() -> Vec<Self> {
        let postgres = Cluster::start_or_skip(Version::V15, &[]).map(Self::Postgres);
        postgres.into_iter().chain(MariaDb::start_or_skip(&[]).map(Self::MariaDb)).collect()
    }

    /// Where it is, with an account that may come from everywhere.
    fn open(&self) -> Listener {
        match self {
            Self::Postgres(cluster) => Listener { product: Product::Postgres, port: cluster.port() },
            Self::MariaDb(mariadb) => {
                mariadb.sql("CREATE USER drill@'%'");
                mariadb.sql("GRANT ALL ON *.* TO drill@'%'");
                Listener { product: Product::MariaDb, port: mariadb.port() }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Product {
    Postgres,
    MariaDb,
}

/// A port of loopback.
#[derive(Clone, Copy)]
struct Listener {
    product: Product,
    port: u16,
}

impl Listener {
    /// The server itself.
    fn target(self) -> String {
        self.target_at(LOOPBACK, self.port)
    }

    /// The same at the other end of a wire.
    fn target_at(self, host: IpAddr, port: u16) -> String {
        match self.product {
            Product::Postgres => format!("postgres://postgres@{host}:{port}/postgres?sslmode=disable"),
            Product::MariaDb => {
                format!("mysql://drill@{host}:{port}/?defaults-file=/dev/null&ssl-mode=disabled")
            }
        }
    }
}

fn load(folder: &Folder, target: &str) {
    folder.slob(["setup", "--target", target, "--scale", "512", "--scan-table-sz", "64", "1"]).success();
}

fn start(command: &mut Command, folder: &Folder, words: &[&str]) -> Child {
    command.args(words).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

fn select_mean_us(record: &Value) -> f64 {
    let latency = &record["operations"]["select"]["latency"];
    latency["sum"].as_f64().unwrap() / latency["count"].as_f64().unwrap() / 1000.0
}

fn operations(record: &Value) -> f64 {
    record["operations"]["select"]["operations"].as_f64().unwrap_or(0.0)
}

/// Other work on the machine can slow down one of the runs more than the wire does: hence three tries.
#[test]
fn a_slow_wire_shows_in_the_figures() {
    for server in Server::all().into_iter().take(times(1, 2)) {
        let listener = server.open();
        let wire = Wire::lay(LOOPBACK, listener.port);
        let (folder, target) = (Folder::new(), listener.target_at(LOOPBACK, wire.port()));
        load(&folder, &target);
        // Statement by statement: each has to cross the wire.
        let run =
            ["--target", &target, "--scale", "512", "--warmup", "0", "--run-time", "1", "--loop", "client"];
        shown_within(3, || {
            wire.set(Weather::Delay(Duration::ZERO));
            let fast_us = select_mean_us(&folder.run_json(&run));
            wire.set(Weather::Delay(Duration::from_millis(5)));
            let slow_us = select_mean_us(&folder.run_json(&run));
            assert!(slow_us >= 10_000.0, "5 ms each way: {slow_us} us");
            // In the server nobody waits for the wire: that is what the loop is there for.
            let inside_us = select_mean_us(&folder.run_json(&run[..run.len() - 2]));
            ensure(slow_us > fast_us && slow_us > inside_us, || {
                format!(
                    "{fast_us} us on a fast wire, {slow_us} us on a slow one, {inside_us} us in the server"
                )
            })
        });
    }
}

#[test]
fn a_cut_wire_ends_a_load_a_run_and_a_verification_with_a_word() {
    let servers = Server::all();
    // Both at once: most of it is waiting.
    thread::scope(|scope| {
        for server in &servers {
            let listener = server.open();
            scope.spawn(move || a_wire_is_cut(listener));
        }
    });
}

fn a_wire_is_cut(listener: Listener) {
    let wire = Wire::lay(LOOPBACK, listener.port);
    let (folder, target) = (Folder::new(), listener.target_at(LOOPBACK, wire.port()));
    let setup = ["setup", "--target", &target, "--scale", "256M", "--scan-table-sz", "64", "1"];
    // On a fast machine the load would be done before the cut.
    wire.set(Weather::Delay(Duration::from_millis(10)));
    let child = start(&mut Command::new(SLOB), &folder, &setup);
    thread::sleep(Duration::from_secs(2));
    ended_by_a_cut(child, &wire, 3);
    drop_when_unlocked(&folder, &target);
    load(&folder, &target);
    let run = ["run", "1", "--target", &target, "--scale", "512", "--warmup", "0", "--run-time", "60"];
    let child = folder.start_run(Command::new(SLOB).args(run));
    ended_by_a_cut(child, &wire, 3);
    let record = folder.last_record();
    assert_kept_as_failed(&record);
    folder.slob(["verify", "--target", &target]).success();
}

/// The server may not have noticed yet that its client is gone, and hold that one's locks.
fn drop_when_unlocked(folder: &Folder, target: &str) {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let called = folder.slob(["drop", "--target", target, "--yes"]);
        if called.code == 0 {
            return;
        }
        assert!(Instant::now() < limit, "{}", called.stderr);
        thread::sleep(Duration::from_millis(250));
    }
}

/// A failed run that keeps what was measured.
fn assert_kept_as_failed(record: &Value) {
    assert_eq!(record["status"]["state"], "failed", "{}", record["status"]);
    assert!(operations(record) > 0.0, "what was measured is kept");
}

/// Cuts the wire and mends it once the program has ended with that code, soon and with a word.
fn ended_by_a_cut(child: Child, wire: &Wire, code: i32) {
    wire.set(Weather::Cut);
    let cut = Instant::now();
    let output = child.wait_with_output().unwrap();
    wire.set(Weather::Delay(Duration::ZERO));
    let said = said(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(cut.elapsed() < Duration::from_secs(10) + SLACK, "{:?} after the cut: {said}", cut.elapsed());
    assert!(said.contains("server") && !said.contains("panicked"), "{said}");
}

/// One server and one way not to hear from it any more, with a folder of its own.
struct Case {
    server: Listener,
    folder: Folder,
}

impl Case {
    /// Waits for the end, which must come within that time with code 3 and these words.
    fn ends(&self, child: Child, within: Duration, words: &[&str]) {
        let since = Instant::now();
        let output = child.wait_with_output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(since.elapsed() < within + SLACK, "{:?}: {said}", since.elapsed());
        assert!(words.iter().any(|word| said.contains(word)) && !said.contains("panicked"), "{said}");
    }

    /// Packets vanish under a run.
    fn run_without_a_cable(&self, network: &Network) {
        let wire = Wire::lay(network.near(), self.server.port);
        let target = self.server.target_at(network.near(), wire.port());
        let run = ["run", "1", "--target", &target, "--scale", "512", "--warmup", "0", "--run-time", "60"];
        let child = self.folder.start_run(network.slob().args(run));
        network.pull();
        // Some rows are read back yet, for half a minute at most.
        self.ends(child, NOTICED + Duration::from_secs(30), VANISHED);
        assert_kept_as_failed(&self.folder.last_record());
    }

    /// Packets vanish under a load, which then goes on from where it was.
    fn load_without_a_cable(&self, network: &Network) {
        let wire = Wire::lay(network.near(), self.server.port);
        wire.set(Weather::Delay(Duration::from_millis(200)));
        // The runs beside it do not look for schemas any more.
        thread::sleep(Duration::from_secs(5));
        let target = self.server.target_at(network.near(), wire.port());
        let words = |target| ["setup", "--target", target, "--scale", "512", "--scan-table-sz", "64", "2"];
        let child = start(&mut network.slob(), &self.folder, &words(&target));
        thread::sleep(Duration::from_secs(5));
        network.pull();
        self.ends(child, NOTICED, VANISHED);
        let sound = self.server.target();
        // The server may not have noticed yet that its client is gone, and hold that one's locks.
        wire.set(Weather::Cut);
        self.folder.slob(words(&sound)).success();
        self.folder.slob(["verify", "--target", &sound]).success();
    }

    /// Packets vanish under a verification, which waits half a minute more for a server that may recover.
    fn verify_without_a_cable(&self, network: &Network) {
        let wire = Wire::lay(network.near(), self.server.port);
        wire.set(Weather::Delay(Duration::from_millis(100)));
        let target = self.server.target_at(network.near(), wire.port());
        let child = start(&mut network.slob(), &self.folder, &["verify", "--target", &target]);
        thread::sleep(Duration::from_millis(2500));
        network.pull();
        self.ends(child, NOTICED + Duration::from_secs(40), VANISHED);
    }

    /// The wire lives, and says nothing.
    fn run_on_a_silent_wire(&self) {
        let wire = Wire::lay(LOOPBACK, self.server.port);
        let target = self.server.target_at(LOOPBACK, wire.port());
        let run = ["run", "1", "--target", &target, "--scale", "512", "--warmup", "0", "--run-time", "10"];
        let child = self.folder.start_run(Command::new(SLOB).args(run));
        wire.set(Weather::Silent);
        // 10 s for a sample, 32 s for the sessions, 5 s for the rows.
        self.ends(child, Duration::from_secs(10 + 10 + 32 + 5), &["have not answered for 32 s"]);
        assert_kept_as_failed(&self.folder.last_record());
    }

    /// Something takes the connection, and says nothing.
    fn connect_to_a_silent_wire(&self) {
        let wire = Wire::lay(LOOPBACK, self.server.port);
        wire.set(Weather::Silent);
        let target = self.server.target_at(LOOPBACK, wire.port());
        let run = ["run", "1", "--target", &target, "--scale", "512"];
        let child = start(&mut Command::new(SLOB), &self.folder, &run);
        self.ends(child, Duration::from_secs(30), &["no answer within 30 s"]);
    }
}

#[test]
fn a_server_that_is_not_heard_of_holds_nothing_up() {
    let (servers, folder) = (Server::all(), Folder::new());
    // Those that take a minute and longer only where all is asked for.
    let is_full = is_full();
    let deeds: [fn(&Case, &Network); 3] =
        [Case::run_without_a_cable, Case::load_without_a_cable, Case::verify_without_a_cable];
    let deeds: &[fn(&Case, &Network)] = &deeds[..if is_full { 3 } else { 2 }];
    thread::scope(|scope| {
        for (number, server) in (0_u8..).zip(&servers) {
            let server = server.open();
            load(&folder, &server.target());
            let case = move || Case { server, folder: Folder::new() };
            // All at once: most of it is waiting.
            if is_full {
                scope.spawn(move || case().run_on_a_silent_wire());
            }
            scope.spawn(move || case().connect_to_a_silent_wire());
            for (deed, number) in deeds.iter().zip(number * 10..) {
                scope.spawn(move || {
                    let network = Network::make_or_skip(number);
                    network.iter().for_each(|network| deed(&case(), network));
                });
            }
        }
    });
}
