//! The one HTTP server, which only reads: figures of a run for Prometheus, and the site of `slob serve`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::channel::Channel;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{self, sleep};

/// Nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "{flag} {text}: not an address and a port; use 127.0.0.1:9187, 9187 for the same, or 0 for a free port"
    )]
    Address { flag: String, text: String },
    #[error("{flag} {address}: {source}; take another port, or 0 for a free one")]
    Refused { flag: String, address: SocketAddr, source: io::Error },
}

const MOST_HEAD_BYTES: usize = 8192;
/// With more of them the oldest connection is closed. Processes may usually open 1,024 files.
const MOST_CONNECTIONS: usize = 400;
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 2000 });
/// Proxies end connections that are silent for a minute.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

type Body = Either<Full<Bytes>, Channel<Bytes>>;

/// A page may depend on these parts of a request.
pub struct Asked<'a> {
    pub path: &'a str,
    pub query: Option<&'a str>,
    pub host: Option<&'a str>,
    pub cookies: Option<&'a str>,
}

pub enum Reply {
    Found {
        kind: &'static str,
        body: Vec<u8>,
    },
    /// Texts as they come, as server-sent events.
    Events(watch::Receiver<String>),
    /// Another page, with a cookie to keep.
    See {
        path: &'static str,
        cookie: String,
    },
    NotFound(&'static str),
    Denied(&'static str),
}

impl Reply {
    pub fn text(kind: &'static str, text: String) -> Self {
        Self::Found { kind, body: text.into_bytes() }
    }
}

pub trait Pages: Send + Sync + 'static {
    /// May read files.
    fn reply(&self, asked: &Asked<'_>) -> Reply;
}

/// A port alone is one of the loopback address. `flag` names the option in errors.
fn parse(flag: &str, text: &str) -> Result<SocketAddr, ServeError> {
    if let Ok(port) = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text).parse() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| ServeError::Address { flag: flag.to_owned(), text: text.to_owned() })
}

pub struct Server {
    over: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves from a thread of its own until it is dropped. The pages may depend on the address that it got.
    pub fn start<P: Pages>(
        flag: &str,
        address: &str,
        pages: impl FnOnce(SocketAddr) -> P,
    ) -> Result<Self, ServeError> {
        let address = parse(flag, address)?;
        let refused = |source| ServeError::Refused { flag: flag.to_owned(), address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (over, is_over) = oneshot::channel();
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(refused)?;
        let pages = Arc::new(pages(address));
        let work = move || runtime.block_on(serve(listener, pages, is_over));
        let thread = thread::Builder::new().name("http".into()).spawn(work).map_err(refused)?;
        Ok(Self { over: Some(over), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.over.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Ends with `over`; what is under way then ends with the runtime.
async fn serve(listener: TcpListener, pages: Arc<dyn Pages>, over: oneshot::Receiver<()>) {
    tokio::spawn(accept(listener, pages));
    let _ = over.await;
}

async fn accept(listener: TcpListener, pages: Arc<dyn Pages>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut connections: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of descriptors, which passes.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        connections.retain(|connection| !connection.is_finished());
        if connections.len() == MOST_CONNECTIONS
            && let Some(oldest) = connections.pop_front()
        {
            oldest.abort();
        }
        let pages = Arc::clone(&pages);
        let service = service_fn(move |request| response(request, Arc::clone(&pages)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .keep_alive(false)
            .max_buf_size(MOST_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        // A client's errors are its own; it will be back.
        connections.push_back(tokio::spawn(async { drop(connection.await) }).abort_handle());
    }
}

async fn response(request: Request<Incoming>, pages: Arc<dyn Pages>) -> Result<Response<Body>, Infallible> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut reply = said(StatusCode::METHOD_NOT_ALLOWED, "Only GET is understood.");
        reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(reply);
    }
    let reply = tokio::task::spawn_blocking(move || {
        let of = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        pages.reply(&Asked {
            path: request.uri().path(),
            query: request.uri().query(),
            host: of(header::HOST),
            cookies: of(header::COOKIE),
        })
    });
    let mut response = match reply.await {
        Ok(Reply::Found { kind, body }) => whole(StatusCode::OK, kind, body),
        Ok(Reply::Events(texts)) => events(texts),
        Ok(Reply::See { path, cookie }) => {
            let mut response = said(StatusCode::SEE_OTHER, "");
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(path));
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Ok(Reply::NotFound(why)) => said(StatusCode::NOT_FOUND, why),
        Ok(Reply::Denied(why)) => said(StatusCode::FORBIDDEN, why),
        Err(_) => said(StatusCode::INTERNAL_SERVER_ERROR, "This page could not be made."),
    };
    const SAFE: [(HeaderName, &str); 4] = [
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in SAFE {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn whole(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn said(status: StatusCode, words: &str) -> Response<Body> {
    whole(status, "text/plain; charset=utf-8", format!("{words}\n").into_bytes())
}

/// A slow client gets the newest text and misses those between.
fn events(mut texts: watch::Receiver<String>) -> Response<Body> {
    let (mut to, body) = Channel::new(1);
    tokio::spawn(async move {
        loop {
            let text = texts.borrow_and_update().clone();
            let event = if text.is_empty() { ":\n\n".to_owned() } else { format!("data: {text}\n\n") };
            if to.send_data(Bytes::from(event)).await.is_err() {
                return;
            }
            if let Ok(Err(_)) = time::timeout(SIGN_OF_LIFE, texts.changed()).await {
                return;
            }
        }
    });
    let mut response = Response::new(Either::Right(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use super::*;

    struct Hello;

    impl Pages for Hello {
        fn reply(&self, asked: &Asked<'_>) -> Reply {
            match asked.path {
                "/hello" => Reply::text("text/plain", "hello".to_owned()),
                _ => Reply::NotFound("It is at /hello."),
            }
        }
    }

    fn started() -> (Server, SocketAddr) {
        let mut place = None;
        let server = Server::start("--listen", "0", |address| {
            place = Some(address);
            Hello
        });
        (server.unwrap(), place.unwrap())
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
    fn a_thousand_silent_clients_do_not_delay_a_scrape() {
        let (_server, address) = started();
        let begun = Instant::now();
        // Some find the queue full, where the kernel would try them again in a second.
        let silent = |_| TcpStream::connect_timeout(&address, PATIENCE / 10).ok();
        let silent: Vec<_> = (0..1000).filter_map(silent).collect();
        let answer = ask(address, b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        // One after the other, they would take five minutes.
        assert!(begun.elapsed() < 1000 * PATIENCE / 3, "{:?}", begun.elapsed());
        drop(silent);
    }

    #[test]
    fn it_understands_get_and_nothing_else() {
        let (_server, address) = started();
        let status = |request: &str| {
            let answer = ask(address, request.as_bytes());
            answer.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(status("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(status("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(status("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(status("POST /hello HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        assert_eq!(status("hello\r\n\r\n"), "HTTP/1.1 400 Bad Request");
        // Half a request ends without an answer.
        assert_eq!(status("GET /hello"), "");
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(2 * MOST_HEAD_BYTES));
        assert!(!status(&long).contains("200"));
    }

    #[test]
    fn a_port_alone_is_one_of_the_loopback_address() {
        let address = |text| parse("--metrics", text).unwrap().to_string();
        assert_eq!(["9187", ":9187", "localhost:9187"].map(address), ["127.0.0.1:9187"; 3]);
        assert_eq!(address("0.0.0.0:1"), "0.0.0.0:1");
        assert_eq!(address("[::1]:0"), "[::1]:0");
        for wrong in ["", "db1", "127.0.0.1", "70000", "127.0.0.1:port", "::1:99999"] {
            assert!(parse("--metrics", wrong).is_err(), "{wrong}");
        }
    }
}
