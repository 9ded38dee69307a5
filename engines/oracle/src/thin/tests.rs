//! Listeners that are no database of Oracle's: each ends with a sentence, and in time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Instant;

use slob_engine::{EngineError, ErrorKind as Kind};
use slob_spec::Secret;
use slob_testing::work::assert_says;

use super::*;
use crate::client::failed;

const ACCEPT: u8 = 2;
const REFUSE: u8 = 4;
const REDIRECT: u8 = 5;
const DATA: u8 = 6;

fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 8).unwrap().to_be_bytes();
    [&[length[0], length[1], 0, 0, kind, 0, 0, 0][..], body].concat()
}

fn counted(text: &str) -> Vec<u8> {
    [&u16::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
}

/// Every connection gets the same answer; returns the port.
fn listener(answer: impl Fn(&mut TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            answer(&mut stream);
        }
    });
    port
}

fn says(bytes: Vec<u8>) -> u16 {
    listener(move |stream| drop(stream.write_all(&bytes)))
}

fn says_and_hangs(bytes: Vec<u8>) -> u16 {
    listener(move |stream| {
        let _ = stream.write_all(&bytes);
        let _ = stream.read(&mut [0; 1]);
    })
}

fn login(password: &str) -> Login {
    Login { user: Some(("u".into(), Secret::new(password))), sysdba: false }
}

fn refused(port: u16, login_timeout: Duration) -> EngineError {
    let begun = Instant::now();
    let driver = Thin { login_timeout, ..Thin::new(true, Wallet::default()) };
    // The driver rests a second after its last try by default.
    let service = format!(
        "(DESCRIPTION=(RETRY_DELAY=0)(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT={port}))(CONNECT_DATA=(SERVICE_NAME=s)))"
    );
    let fault = driver.connect(&login("S3CRET-word"), &service).err().unwrap();
    // A busy machine takes its own time on top.
    assert!(begun.elapsed() < login_timeout + Duration::from_secs(30), "{:?}", begun.elapsed());
    let error = failed("connecting", &fault);
    assert!(!error.to_string().contains("S3CRET"), "{error}");
    error
}

const AMPLE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert_says(&refused(port, AMPLE), Kind::Connection, &["connection refused", "lsnrctl"]);
}

#[test]
fn a_listener_refuses() {
    for (code, word) in [(12514, "service"), (12505, "SID"), (12516, "12516")] {
        let text = format!("(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR={code})(ERROR_STACK=))");
        let error = refused(says(packet(REFUSE, &[&[34, 0][..], &counted(&text)].concat())), AMPLE);
        assert_says(&error, Kind::Connection, &[word, "lsnrctl"]);
    }
    let error = refused(says(packet(REFUSE, &[34, 0, 0, 0])), AMPLE);
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn a_listener_redirects_to_where_nobody_is() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text =
        format!("(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT={nobody}))\0(DESCRIPTION=(CONNECT_DATA=))");
    let length = u16::try_from(text.len()).unwrap().to_be_bytes();
    let data = packet(DATA, &[&[0, 0], text.as_bytes()].concat());
    let error = refused(says_and_hangs([packet(REDIRECT, &length), data].concat()), AMPLE);
    assert_says(&error, Kind::Connection, &["connection refused"]);
    let nonsense = packet(DATA, b"\0\0nonsense");
    let error = refused(says_and_hangs([packet(REDIRECT, &[0, 8]), nonsense].concat()), AMPLE);
    assert!(error.to_string().contains("redirect"), "{error}");
}

#[test]
fn a_listener_is_silent_or_closes_at_once() {
    let silent = refused(says_and_hangs(Vec::new()), SHORT);
    assert_says(&silent, Kind::Connection, &["no answer within 0.3 s", "firewall"]);
    assert_says(&refused(says(Vec::new()), AMPLE), Kind::Connection, &[]);
}

/// Each is an error in time, and never a panic.
#[test]
fn a_listener_speaks_garbage() {
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    let ssh = b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec();
    let postgres = b"E\0\0\0\x20SFATAL\0C0A000\0Munsupported\0\0".to_vec();
    let garbage = [http, ssh, postgres, vec![0; 64], vec![255; 64], packet(99, b"what"), packet(ACCEPT, &[])];
    // The driver waits for what does not come: all at once.
    thread::scope(|scope| {
        let hanging = garbage.iter().map(|said| (says_and_hangs(said.clone()), SHORT));
        for (port, login_timeout) in garbage.iter().map(|said| (says(said.clone()), AMPLE)).chain(hanging) {
            scope.spawn(move || {
                let error = refused(port, login_timeout).to_string();
                assert!(error.starts_with("connecting: ") && error.len() > 30, "{error}");
            });
        }
    });
}

#[test]
fn a_server_that_is_too_old_or_demands_what_the_driver_lacks_says_what_to_change() {
    // The version of the protocol, twelve bytes, and the flag: native network encryption is required.
    let demanding = [&[1, 62][..], &[0; 12], &[0x10], &[0; 32]].concat();
    let old = [&[1, 44][..], &[0; 40]].concat();
    for (body, words) in [(demanding, "SQLNET.ENCRYPTION_SERVER"), (old, "19c")] {
        assert_says(&refused(says_and_hangs(packet(ACCEPT, &body)), AMPLE), Kind::Usage, &[words]);
    }
}

#[test]
fn unsupported_logins_are_refused_without_a_connection() {
    let error = |login: &Login| {
        failed("connecting", &Thin::new(true, Wallet::default()).connect(login, "").err().unwrap())
    };
    assert_says(&error(&Login { user: None, sysdba: true }), Kind::Usage, &["client library"]);
    assert!(error(&login("x")).to_string().contains("//host:port/service"));
}

#[test]
fn a_call_is_ended_by_a_statement() {
    assert_eq!(cancel_sql(12, 345, ", @2"), "ALTER SYSTEM CANCEL SQL '12, 345, @2'");
}

#[test]
fn the_reported_release_is_the_one_that_is_built_in() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    assert!(manifest.contains(&format!("oracledb = \"={VERSION}\"")));
}

#[test]
fn a_panic_is_an_error_with_its_place() {
    assert_eq!(catch_panic(|| 7), Ok(7));
    let panic = catch_panic(|| -> () { panic!("said so") }).unwrap_err();
    assert_eq!(panic.words, "said so");
    assert!(panic.place.starts_with("thin/tests.rs:"), "{panic:?}");
    assert!(!IS_CAUGHT.get());
}
