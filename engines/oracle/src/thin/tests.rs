//! The driver on real listeners that are no database of Oracle's: each ends with a sentence, and in time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Instant;

use slob_engine::ErrorKind;
use slob_spec::Secret;

use super::*;
use crate::error::failed;

/// Kinds of packets.
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

/// A listener that gives each connection the same answer to what it says first; the port.
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

/// Says it, and stays.
fn says_and_hangs(bytes: Vec<u8>) -> u16 {
    listener(move |stream| {
        let _ = stream.write_all(&bytes);
        let _ = stream.read(&mut [0; 1]);
    })
}

/// What a user is told of it.
fn told(port: u16, patience: Duration) -> (ErrorKind, String) {
    let login = Login::Password { user: "u".into(), password: Secret::new("S3CRET-word"), sysdba: false };
    let begun = Instant::now();
    let dial = Thin { chosen: true, patience };
    let fault = dial.dial(&login, &format!("//127.0.0.1:{port}/s")).err().unwrap();
    // Patience, and what a busy machine takes on top.
    assert!(begun.elapsed() < patience + Duration::from_secs(30), "{:?}", begun.elapsed());
    let error = failed("connecting", &fault);
    assert!(!error.to_string().contains("S3CRET"), "{error}");
    (error.kind(), error.to_string())
}

const AMPLE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (kind, told) = told(port, AMPLE);
    assert_eq!(kind, ErrorKind::Connection, "{told}");
    assert!(told.contains("connection refused") && told.contains("lsnrctl"), "{told}");
}

#[test]
fn a_listener_refuses() {
    for (code, word) in [(12514, "service"), (12505, "SID"), (12516, "12516")] {
        let text = format!("(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR={code})(ERROR_STACK=))");
        let (kind, told) = told(says(packet(REFUSE, &[&[34, 0][..], &counted(&text)].concat())), AMPLE);
        assert_eq!(kind, ErrorKind::Connection, "{told}");
        assert!(told.contains(word) && told.contains("lsnrctl"), "{told}");
    }
    let (_, told) = told(says(packet(REFUSE, &[34, 0, 0, 0])), AMPLE);
    assert!(told.contains("refused"), "{told}");
}

#[test]
fn a_listener_redirects_to_where_nobody_is() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text =
        format!("(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT={nobody}))\0(DESCRIPTION=(CONNECT_DATA=))");
    let length = u16::try_from(text.len()).unwrap().to_be_bytes();
    let data = packet(DATA, &[&[0, 0], text.as_bytes()].concat());
    let (kind, words) = told(says_and_hangs([packet(REDIRECT, &length), data].concat()), AMPLE);
    assert_eq!(kind, ErrorKind::Connection, "{words}");
    assert!(words.contains("connection refused"), "{words}");
    let nonsense = packet(DATA, b"\0\0nonsense");
    let (_, words) = told(says_and_hangs([packet(REDIRECT, &[0, 8]), nonsense].concat()), AMPLE);
    assert!(words.contains("redirect"), "{words}");
}

#[test]
fn a_listener_is_silent() {
    let (kind, told) = told(says_and_hangs(Vec::new()), SHORT);
    assert_eq!(kind, ErrorKind::Connection, "{told}");
    assert!(told.contains("no answer within 0.3 s") && told.contains("firewall"), "{told}");
}

#[test]
fn a_listener_closes_at_once() {
    let (kind, told) = told(says(Vec::new()), AMPLE);
    assert_eq!(kind, ErrorKind::Connection, "{told}");
}

/// Whatever it is: a sentence, never a panic of ours, and nothing for ever.
#[test]
fn a_listener_speaks_garbage() {
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    let ssh = b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec();
    let postgres = b"E\0\0\0\x20SFATAL\0C0A000\0Munsupported\0\0".to_vec();
    for said in [http, ssh, postgres, vec![0; 64], vec![255; 64], packet(99, b"what"), packet(ACCEPT, &[])] {
        for port in [says(said.clone()), says_and_hangs(said.clone())] {
            let (_, told) = told(port, Duration::from_secs(2));
            assert!(told.starts_with("connecting: ") && told.len() > 30, "{told}");
        }
    }
}

#[test]
fn a_server_that_demands_what_the_driver_lacks_says_what_to_change() {
    // The version of the protocol, twelve bytes, and the flag: native network encryption is required.
    let body = [&[1, 62][..], &[0; 12], &[0x10], &[0; 32]].concat();
    let (kind, told) = told(says_and_hangs(packet(ACCEPT, &body)), AMPLE);
    assert_eq!(kind, ErrorKind::Usage, "{told}");
    assert!(told.contains("SQLNET.ENCRYPTION_SERVER"), "{told}");
}

#[test]
fn a_server_that_is_too_old_is_told() {
    let body = [&[1, 44][..], &[0; 40]].concat();
    let (kind, told) = told(says_and_hangs(packet(ACCEPT, &body)), AMPLE);
    assert_eq!(kind, ErrorKind::Usage, "{told}");
    assert!(told.contains("19c"), "{told}");
}

#[test]
fn what_it_cannot_do_is_said_before_anything_is_connected_to() {
    let system = Login::OperatingSystem { sysdba: true };
    let error = failed("connecting", &Thin::new(true).dial(&system, "").err().unwrap());
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("client library"), "{error}");
    let login = Login::Password { user: "u".into(), password: Secret::new("x"), sysdba: false };
    let error = failed("connecting", &Thin::new(true).dial(&login, "").err().unwrap());
    assert!(error.to_string().contains("//host:port/service"), "{error}");
}

#[test]
fn a_call_is_ended_by_a_statement() {
    assert_eq!(cancel_sql(12, 345, ", @2"), "ALTER SYSTEM CANCEL SQL '12, 345, @2'");
}

#[test]
fn the_release_that_is_told_is_the_one_that_is_built_in() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    assert!(manifest.contains(&format!("oracledb = \"={VERSION}\"")));
}
