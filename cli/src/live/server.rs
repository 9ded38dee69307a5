//! The smallest HTTP server that a scraper is content with: GET /metrics, one request at a time, nothing else.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::metrics::Figures;
use crate::failure::Failure;
use crate::output;

/// A request head is read up to this size.
const MOST_BYTES: usize = 8192;
/// A request is there, and its answer taken, within this time, or the connection is closed.
const PATIENCE: Duration = Duration::from_secs(2);
/// Of the text exposition format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves figures until it is dropped.
#[derive(Debug)]
pub(crate) struct MetricsServer {
    figures: Figures,
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens at `ADDRESS:PORT`, or at a port of the loopback address, and says where.
    pub(crate) fn start(address: &str) -> Result<Self, Failure> {
        let address = parse(address)?;
        let refused = |error: io::Error| {
            Failure::usage(format!("--metrics {address}: {error}; take another port, or 0 for a free one"))
        };
        let listener = TcpListener::bind(address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        output::say(&format!("serving metrics at http://{address}/metrics during the run"));
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

    /// Where the run puts its figures.
    pub(crate) fn figures(&self) -> Figures {
        self.figures.clone()
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // It waits for a connection: here is one. Where none gets through the thread ends with the program.
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

/// `127.0.0.1:9187`, `[::1]:9187`; a port alone is one of the loopback address: others must be asked for.
fn parse(text: &str) -> Result<SocketAddr, Failure> {
    if let Ok(port) = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text).parse() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    text.parse().map_err(|_| {
        Failure::usage(format!(
            "--metrics {text}: not an address and a port; use 127.0.0.1:9187, 9187 for the same, or 0 for a free port"
        ))
    })
}

fn serve(listener: &TcpListener, figures: &Figures, is_over: &AtomicBool) {
    for connection in listener.incoming() {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        match connection {
            // What goes wrong with a scraper is the scraper's; it will be back.
            Ok(connection) => _ = answer(connection, figures),
            // Out of descriptors, most likely: it passes.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn answer(mut connection: TcpStream, figures: &Figures) -> io::Result<()> {
    connection.set_write_timeout(Some(PATIENCE))?;
    let (status, more, body) = match read_head(&mut connection)? {
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

/// Status, further header lines, body.
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

/// Reads up to the empty line that ends a request's head. What follows is not of interest.
fn read_head(connection: &mut TcpStream) -> io::Result<Head> {
    let deadline = Instant::now() + PATIENCE;
    let (mut head, mut chunk) = (Vec::new(), [0; 1024]);
    loop {
        // A zero time-out would mean none.
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
