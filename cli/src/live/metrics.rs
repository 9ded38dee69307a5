//! Live figures in Prometheus' text exposition format, over HTTP: GET /metrics, nothing else. Names are those of `slob export
//! --prometheus`. Counters include the warm-up; gauges are of the last second.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use slob_report::export::{Kind, Labels, Metrics};
use strum::VariantNames;

use super::state::{RunState, Second, Stage};
use crate::failure::Failure;
use crate::output;

#[derive(Clone, Debug, Default)]
pub(crate) struct Figures(Arc<Mutex<Option<RunState>>>);

impl Figures {
    pub(super) fn set(&self, state: &RunState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(state.clone());
    }

    pub(super) fn exposition(&self) -> String {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        state.as_ref().map(exposition).unwrap_or_default()
    }
}

fn exposition(state: &RunState) -> String {
    let mut metrics = Metrics::default();
    let run = state.run_id.as_deref().unwrap_or_default();
    let labels = [("run", run), ("name", &state.name), ("target", &state.target)];
    let more = [("slob_version", env!("CARGO_PKG_VERSION")), ("status", "running")];
    metrics.begin("slob_run_info", Kind::Gauge, "A run of OpenSLOB; the value is always 1.");
    metrics.sample("slob_run_info", &[&labels[..], &more].concat(), 1);
    metrics.begin("slob_run_phase", Kind::Gauge, "1 for what the run does now, 0 for the other phases.");
    for phase in Stage::VARIANTS {
        let is_now = u8::from(state.stage.word() == *phase);
        metrics.sample("slob_run_phase", &[&labels[..], &[("phase", phase)]].concat(), is_now);
    }
    let mut gauge = |name, help, value: Option<f64>| metrics.one(name, Kind::Gauge, help, &labels, value);
    gauge("slob_run_elapsed_seconds", "Since the sessions were started.", Some(state.elapsed.as_secs_f64()));
    let left = state.left.map(|left| left.as_secs_f64()).filter(|_| state.stage != Stage::Verifying);
    gauge("slob_run_left_seconds", "Until the measured window ends.", left);
    gauge("slob_sessions", "Of a run: schemas times threads.", Some(f64::from(state.sessions)));
    gauge("slob_sessions_at_work", "Sessions that have not ended.", state.alive.map(f64::from));
    counters(&mut metrics, state, &labels);
    if let Some(now) = state.now() {
        gauges(&mut metrics, now, &labels);
    }
    metrics.into_text()
}

fn counters(metrics: &mut Metrics, state: &RunState, labels: Labels<'_>) {
    let totals = &state.totals;
    if state.history.is_empty() {
        return;
    }
    metrics.begin("slob_operations_total", Kind::Counter, "Operations that ended, the warm-up's included.");
    let kinds = [("select", totals.ops.selects), ("update", totals.ops.updates), ("scan", totals.ops.scans)];
    for (kind, count) in kinds {
        metrics.sample("slob_operations_total", &[labels, &[("operation", kind)]].concat(), count);
    }
    let mut counter = |name, help, value: Option<u64>| metrics.one(name, Kind::Counter, help, labels, value);
    counter("slob_db_physical_reads_total", "The database's counter physical_reads.", totals.physical_reads);
    counter("slob_db_logical_reads_total", "The database's counter logical_reads.", totals.logical_reads);
    counter("slob_db_redo_bytes_total", "The database's counter redo_bytes.", totals.redo_bytes);
    let device = totals.device;
    counter("slob_device_reads_total", "Reads of the device.", device.map(|of| of.reads));
    counter("slob_device_read_bytes_total", "Bytes read from the device.", device.map(|of| of.read_bytes));
    counter("slob_device_writes_total", "Writes of the device.", device.map(|of| of.writes));
    counter("slob_device_write_bytes_total", "Bytes written to the device.", device.map(|of| of.write_bytes));
    let mut seconds = |name, help, value: Option<f64>| metrics.one(name, Kind::Counter, help, labels, value);
    let busy_s = device.map(|of| of.busy_ms as f64 / 1e3);
    seconds("slob_device_busy_seconds_total", "Time in which the device had requests.", busy_s);
    let db_s = totals.db_cpu.map(|cpu| cpu.total_s());
    seconds("slob_db_cpu_seconds_total", "CPU time of the database's processes.", db_s);
    let response = "From the intended start of operations to their end.";
    let latencies = [
        ("slob_operation_duration_seconds", "Durations of operations.", &totals.latency),
        ("slob_response_duration_seconds", response, &totals.response),
    ];
    for (name, help, values) in latencies.into_iter().filter(|(_, _, values)| !values.is_empty()) {
        metrics.begin(name, Kind::Histogram, help);
        metrics.histogram(name, labels, values);
    }
}

fn gauges(metrics: &mut Metrics, now: &Second, labels: Labels<'_>) {
    let mut gauge = |name, help, value: Option<f64>| metrics.one(name, Kind::Gauge, help, labels, value);
    let last = "Of the last second.";
    gauge("slob_operations_per_second", last, Some(now.operations_per_s));
    gauge("slob_operation_p50_seconds", last, now.p50_us.map(|us| us / 1e6));
    gauge("slob_operation_p99_seconds", last, now.p99_us.map(|us| us / 1e6));
    gauge("slob_response_p99_seconds", last, now.response_p99_us.map(|us| us / 1e6));
    gauge("slob_physical_reads_per_second", last, now.physical_reads_per_s);
    gauge("slob_redo_bytes_per_second", last, now.redo_bytes_per_s);
    gauge("slob_host_busy_ratio", last, now.host_busy_percent.map(|percent| percent / 100.0));
    gauge("slob_db_cpus", last, now.db_cpus);
    gauge("slob_device_reads_per_second", last, now.device_reads_per_s);
    gauge("slob_device_busy_ratio", last, now.device_busy_percent.map(|percent| percent / 100.0));
}

const MOST_BYTES: usize = 8192;
/// With more waiting connections the oldest is closed.
const MOST_CONNECTIONS: usize = 16;
const STACK_BYTES: usize = 256 << 10;
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 2000 });
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Debug)]
pub(crate) struct MetricsServer {
    figures: Figures,
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    pub(crate) fn start(address: &str) -> Result<Self, Failure> {
        let address = parse(address)?;
        let refused =
            |error: io::Error| usage!("--metrics {address}: {error}; take another port, or 0 for a free one");
        let listener = TcpListener::bind(address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        say!("serving metrics at http://{address}/metrics during the run");
        if !address.ip().is_loopback() {
            output::say(
                "warning: anybody who can reach that address can read the run's name, target and figures",
            );
        }
        let (figures, over) = (Figures::default(), Arc::new(AtomicBool::new(false)));
        let (of_thread, is_over) = (figures.clone(), Arc::clone(&over));
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || serve(&listener, &of_thread, &is_over))
            .map_err(refused)?;
        Ok(Self { figures, address, over, thread: Some(thread) })
    }

    pub(crate) fn figures(&self) -> Figures {
        self.figures.clone()
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // A connection wakes the thread. If none gets through, the thread ends with the program.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        if TcpStream::connect_timeout(&address, PATIENCE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn parse(text: &str) -> Result<SocketAddr, Failure> {
    if let Ok(port) = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text).parse() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    text.parse().map_err(|_| {
        usage!(
            "--metrics {text}: not an address and a port; use 127.0.0.1:9187, 9187 for the same, or 0 for a free port"
        )
    })
}

/// A thread for each connection: a client that sends nothing delays no other.
fn serve(listener: &TcpListener, figures: &Figures, is_over: &AtomicBool) {
    // A connection closes when its thread has answered.
    let mut waiting: VecDeque<Weak<TcpStream>> = VecDeque::new();
    for connection in listener.incoming() {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        waiting.retain(|connection| connection.strong_count() > 0);
        if waiting.len() == MOST_CONNECTIONS
            && let Some(oldest) = waiting.pop_front().and_then(|oldest| oldest.upgrade())
        {
            // Its thread then reads the end, and ends.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        match connection.and_then(|connection| answer_beside(connection, figures.clone())) {
            Ok(begun) => waiting.push_back(begun),
            // Most likely out of descriptors, which passes.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn answer_beside(connection: TcpStream, figures: Figures) -> io::Result<Weak<TcpStream>> {
    let connection = Arc::new(connection);
    let begun = Arc::downgrade(&connection);
    // A scraper's errors are its own; it will be back.
    let work = move || drop(answer(&connection, &figures));
    thread::Builder::new().name("scrape".into()).stack_size(STACK_BYTES).spawn(work)?;
    Ok(begun)
}

fn answer(mut connection: &TcpStream, figures: &Figures) -> io::Result<()> {
    connection.set_write_timeout(Some(PATIENCE))?;
    let (status, more, body) = match read_head(connection)? {
        Head::Complete(head) => respond(&head, figures),
        Head::TooLong => ("431 Request Header Fields Too Large", "", "The request is too long.\n".to_owned()),
        Head::TooLate => ("408 Request Timeout", "", "The request took too long.\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n"
    );
    connection.write_all((head + &body).as_bytes())?;
    connection.flush()
}

fn respond(head: &str, figures: &Figures) -> (&'static str, &'static str, String) {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let path = |target: &str| target.split('?').next().unwrap_or_default() == "/metrics";
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some("GET"), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) if path(target) => {
            ("200 OK", "", figures.exposition())
        }
        (Some("GET"), Some(_), Some("HTTP/1.1" | "HTTP/1.0"), None) => {
            ("404 Not Found", "", "The figures are at /metrics.\n".to_owned())
        }
        (Some(_), Some(_), Some("HTTP/1.1" | "HTTP/1.0"), None) => {
            ("405 Method Not Allowed", "Allow: GET\r\n", "Only GET is understood.\n".to_owned())
        }
        _ => ("400 Bad Request", "", "This is not an HTTP/1.1 request.\n".to_owned()),
    }
}

enum Head {
    Complete(String),
    TooLong,
    TooLate,
}

fn read_head(mut connection: &TcpStream) -> io::Result<Head> {
    let deadline = Instant::now() + PATIENCE;
    let (mut head, mut chunk) = (Vec::new(), [0; 1024]);
    loop {
        // A zero timeout would mean none.
        let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        else {
            return Ok(Head::TooLate);
        };
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => head.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(Head::TooLate);
            }
            Err(error) => return Err(error),
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(Head::Complete(String::from_utf8_lossy(&head).into_owned()));
        }
        if head.len() > MOST_BYTES {
            return Ok(Head::TooLong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::state::fixture;

    #[test]
    fn base_units_and_labels() {
        let text = exposition(&fixture::state(30, |_, second| second));
        let labels = r#"{run="20261120T231840Z-evening",name="evening",target="sqlite:/data/slob"}"#;
        for line in [
            format!("slob_operations_per_second{labels} 466"),
            format!("slob_operation_p99_seconds{labels} 0.066"),
            format!("slob_redo_bytes_per_second{labels} 27000000"),
            format!("slob_sessions_at_work{labels} 8"),
            format!("slob_run_left_seconds{labels} 30"),
        ] {
            assert!(text.lines().any(|said| said == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let text =
            exposition(&fixture::state(1, |_, second| Second { physical_reads_per_s: None, ..second }));
        assert!(!text.contains("slob_physical_reads_per_second"), "{text}");
        assert_eq!(Figures::default().exposition(), "");
    }

    #[test]
    fn a_port_alone_is_one_of_the_loopback_address() {
        let address = |text| parse(text).unwrap().to_string();
        assert_eq!(["9187", ":9187", "localhost:9187"].map(address), ["127.0.0.1:9187"; 3]);
        assert_eq!(address("0.0.0.0:1"), "0.0.0.0:1");
        assert_eq!(address("[::1]:0"), "[::1]:0");
        for wrong in ["", "db1", "127.0.0.1", "70000", "127.0.0.1:port", "::1:99999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut connection = TcpStream::connect(address).unwrap();
        // The server may answer and close before all of a long request is sent.
        let _ = connection.write_all(request);
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn fifty_silent_clients_do_not_delay_a_scrape() {
        let server = MetricsServer::start("0").unwrap();
        let silent: Vec<_> = (0..50).map(|_| TcpStream::connect(server.address).unwrap()).collect();
        let begun = Instant::now();
        let answer = ask(server.address, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        // One after the other, they would take fifteen seconds.
        assert!(begun.elapsed() < 50 * PATIENCE / 3, "{:?}", begun.elapsed());
        drop(silent);
    }

    #[test]
    fn it_understands_get_and_nothing_else() {
        let server = MetricsServer::start("0").unwrap();
        let status =
            |request: &str| ask(server.address, request.as_bytes()).lines().next().map(str::to_owned);
        let status = |request: &str| status(request).unwrap_or_default();
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        assert_eq!(status("hello\r\n\r\n"), "HTTP/1.1 400 Bad Request");
        assert_eq!(status("GET /metrics"), "HTTP/1.1 408 Request Timeout");
        // Exactly one byte too many, so that nothing is left unread, which would reset the connection.
        assert_eq!(status(&"x".repeat(MOST_BYTES + 1)), "HTTP/1.1 431 Request Header Fields Too Large");
    }
}
