//! A target of Oracle's without its client library: the message, its driver, and the time until it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Called, Folder};

fn has_library(folder: &Folder) -> bool {
    !folder.slob("--version").stdout.contains("no client library found")
}

/// With `--workspace` this build has the driver that needs no library.
fn has_thin(folder: &Folder) -> bool {
    folder.slob("--version").stdout.contains("thin driver oracledb ")
}

fn run(folder: &Folder, target: &str) -> Called {
    folder.slob_with_env(format!("run --target {target}"), &[("SLOB_SYSDBA_PASSWD", "S3CRET-word")])
}

fn assert_refused(called: &Called, words: &[&str]) {
    assert!(called.code == 2 || called.code == 3, "{}: {}", called.code, called.stderr);
    assert_eq!(called.stdout, "", "{}", called.stderr);
    for words in words {
        assert!(called.stderr.contains(words), "{words} is not in {}", called.stderr);
    }
    assert!(!called.stderr.contains("S3CRET") && !called.stderr.contains("panicked"), "{}", called.stderr);
}

#[test]
fn the_thin_driver_takes_over_and_says_that_nobody_listens() {
    let folder = Folder::new();
    if has_library(&folder) || !has_thin(&folder) {
        return;
    }
    let called = run(&folder, "oracle://u@//127.0.0.1:1/s");
    assert_refused(&called, &["connection refused", "127.0.0.1:1/s"]);
    let asked = run(&folder, "oracle://u@//127.0.0.1:1/s?driver=oci");
    assert_refused(&asked, &["DPI-1047", "oracle.com", "LD_LIBRARY_PATH"]);
    let unknown = run(&folder, "oracle://u@//127.0.0.1:1/s?driver=jdbc");
    assert_refused(&unknown, &["driver=oci or driver=thin"]);
    folder.slob("--version").prints(&["thin driver oracledb ", "OCI by ODPI-C"]);
}

#[test]
fn listeners_that_are_none_end_with_a_sentence_and_in_time() {
    let folder = Folder::new();
    if !has_thin(&folder) {
        return;
    }
    let answers = [(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "127.0.0.1"), (b"", "no answer within")];
    let is_refused = |(said, words): (&'static [u8], &str)| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(said);
                // Held open: a client that waits for more waits for ever.
                std::mem::forget(stream);
            }
        });
        let begun = Instant::now();
        let called = run(&folder, &format!("oracle://u@//127.0.0.1:{port}/s?driver=thin"));
        assert_refused(&called, &[words]);
        // The driver is given 20 seconds; a busy machine takes its own.
        assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
    };
    // Both at once: they wait.
    thread::scope(|scope| {
        for answer in answers {
            scope.spawn(move || is_refused(answer));
        }
    });
}
