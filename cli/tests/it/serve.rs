//! The runs of a folder as a live site, in a real browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;
use slob_testing::tries::{self, ensure};

use crate::browser::Browser;
use crate::common::{Folder, Signal, ended, kill, signal, spawned};

struct Served {
    serving: Child,
    link: String,
}

impl Served {
    fn start(folder: &Folder, line: &str) -> Self {
        let mut serving = spawned(folder.command(line).stderr(Stdio::piped()).stdout(Stdio::null()));
        let mut said = String::new();
        BufReader::new(serving.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
        let link = said.split_whitespace().find(|word| word.starts_with("http://"));
        let link = link.unwrap_or_else(|| panic!("no address in {said}")).trim_end_matches(';').to_owned();
        Self { serving, link }
    }

    fn place(&self) -> &str {
        self.link.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    fn ask(&self, path: &str, head: &str) -> String {
        let mut connection = TcpStream::connect(self.place()).unwrap();
        let host = self.place();
        write!(connection, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{head}\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// The page may load itself again meanwhile.
fn until(browser: &mut Browser, expression: &str, value: impl Into<Value>) {
    let value = value.into();
    tries::until(|| {
        let found = browser.try_value(expression)?;
        ensure(found == value, || format!("{expression} is {found}, not {value}"))
    });
}

#[test]
fn a_run_appears_while_it_runs_and_in_the_list_when_it_ends() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::loaded(1, "8M");
    folder.slob("run 1 --run-time 1 --name first").success();
    let served = Served::start(&folder, "serve --listen 0");
    browser.open_link(&served.link);
    assert_eq!(browser.value("document.querySelectorAll('#runs tbody tr').length"), 1);
    let run = folder.start_run("1 --run-time 60 --name second");
    let heading = "document.querySelector('#live h3')?.textContent.split(',')[0] ?? ''";
    until(&mut browser, heading, "second: window");
    until(&mut browser, "document.querySelector('#live dd') !== null", true);
    signal(&run, Signal::INT);
    ended(run);
    until(&mut browser, "document.querySelectorAll('#runs tbody tr').length", 2);
    until(&mut browser, "document.querySelectorAll('#live h3').length", 0);
    // Its report is at the link of its row.
    let link = browser.value("document.querySelector('#runs tbody a').href");
    browser.open_link(link.as_str().unwrap());
    assert!(browser.value("document.title").as_str().unwrap().contains("second"));
    // Nothing is left beside the runs.
    signal(&served.serving, Signal::INT);
    ended(served.serving);
    let hidden = || {
        let names = std::fs::read_dir(folder.at("runs")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with('.')).collect::<Vec<_>>()
    };
    assert_eq!(hidden(), Vec::<std::ffi::OsString>::new());
}

#[test]
fn readers_beyond_this_host_need_the_token_and_ten_thousand_silent_ones_do_no_harm() {
    let folder = Folder::loaded(1, "8M");
    folder.slob("run 1 --run-time 1").success();
    let served = Served::start(&folder, "serve --listen 0.0.0.0:0");
    let status = |answer: &str| answer.lines().next().unwrap_or_default().to_owned();
    assert_eq!(status(&served.ask("/", "")), "HTTP/1.1 403 Forbidden");
    let token = served.link.split_once("token=").unwrap().1;
    let let_in = served.ask(&format!("/?token={token}"), "");
    assert_eq!(status(&let_in), "HTTP/1.1 303 See Other");
    let cookie = let_in.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let page = || served.ask("/", &cookie);
    assert_eq!(status(&page()), "HTTP/1.1 200 OK");
    assert!(page().contains("<table id=\"runs\">"));
    assert_eq!(status(&served.ask("/../slob.conf", &cookie)), "HTTP/1.1 404 Not Found");
    // So many at a time as this process may open; each of them is the newest once.
    let mut silent = std::collections::VecDeque::new();
    for _ in 0..10_000 {
        silent.extend(TcpStream::connect(served.place()).ok());
        if silent.len() > 500 {
            silent.pop_front();
        }
    }
    assert_eq!(status(&page()), "HTTP/1.1 200 OK");
    drop(silent);
    kill(served.serving);
    // A page of elsewhere, whose name leads here, reads nothing.
    let here = Served::start(&folder, "serve --listen 0");
    let mut connection = TcpStream::connect(here.place()).unwrap();
    connection.write_all(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), "HTTP/1.1 403 Forbidden");
    kill(here.serving);
    folder.slob("serve nowhere").refused(&["nowhere", "make a run first"]);
}
