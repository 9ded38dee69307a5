//! `slob serve`: the runs of a folder as a site, with those under way.

use std::fs::{self, File};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use clap::{ArgMatches, Args};
use serde_json::json;
use slob_live::{Asked, Pages, Reply, Server};
use slob_record::{RUN_FILE, SIGNATURE_FILE, list_runs, read_record};
use slob_report::html::run_page;
use slob_report::{HTML_REPORT, with_digest};
use slob_spec::decode;
use tokio::sync::watch;

use crate::failure::{Failure, Outcome};
use crate::{index, interrupt, settings};

const HTML: &str = "text/html; charset=utf-8";
const EVERY: Duration = Duration::from_secs(1);

/// Serve the runs of a folder as pages, with those under way as they go
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob serve                         the results folder, at http://127.0.0.1:9188/
  slob serve /mnt/team/runs --listen 0.0.0.0:9188
It reads only, and ends with Ctrl-C. Beyond this host, readers need the token that it prints: the connection is not
encrypted, so put a proxy with TLS before it. Runs that write into the same folder appear while they run.")]
pub(super) struct ServeArgs {
    /// The folder of the runs [default: RESULTS_DIR]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The address and port; a bare port is of 127.0.0.1, port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "9188")]
    listen: String,
}

pub(super) fn serve(args: &ServeArgs, matches: &ArgMatches) -> Outcome {
    let folder = args
        .folder
        .clone()
        .map_or_else(|| settings::results_dir_of(matches).map(|results| results.to_path_buf()), Ok)?;
    let folder = folder.canonicalize().map_err(|error| {
        usage!("{}: {error}; name a folder of runs, or make a run first", folder.display())
    })?;
    let access = Access::new()?;
    let (events, receiver) = watch::channel(String::new());
    let stop = interrupt::flag()?;
    let server = Server::start("--listen", &args.listen, |address| {
        let access = if address.ip().is_loopback() { Access::Loopback } else { access };
        say!("serving {} at {}; Ctrl-C ends it", folder.display(), access.link(address));
        Site { folder: folder.clone(), rows: Mutex::default(), events: receiver, access }
    })?;
    follow(&folder, &events, &stop);
    drop((events, server));
    slob_live::end_watch(&folder);
    Ok(ExitCode::SUCCESS)
}

/// Runs write what they do only while a page is open.
fn follow(folder: &Path, events: &watch::Sender<String>, stop: &AtomicBool) {
    // One receiver is the site's own.
    while !stop.load(Ordering::Relaxed) {
        if events.receiver_count() > 1 {
            slob_live::watch(folder);
            let ids: Vec<String> =
                list_runs(folder).unwrap_or_default().iter().map(|run| index::name_of(run)).collect();
            let now = json!({ "runs": ids, "under_way": slob_live::runs_under_way(folder) }).to_string();
            events.send_if_modified(|last| {
                let is_new = *last != now;
                *last = now;
                is_new
            });
        }
        thread::sleep(EVERY);
    }
}

/// The address decides who may read.
enum Access {
    /// Only what asks for this host: a page of elsewhere, whose name leads here, does not.
    Loopback,
    /// Those who have the token.
    Token(String),
}

const COOKIE: &str = "slob_token";

impl Access {
    fn new() -> Result<Self, Failure> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut bytes))
            .map_err(|error| failed!("making a token: {error}"))?;
        Ok(Self::Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    fn link(&self, address: SocketAddr) -> String {
        match self {
            Self::Loopback => format!("http://{address}/"),
            Self::Token(token) => format!("http://{address}/?token={token}"),
        }
    }

    /// `None` lets the reader in.
    fn reply(&self, asked: &Asked<'_>) -> Option<Reply> {
        match self {
            Self::Loopback => {
                let host = asked.host.unwrap_or_default();
                let name = host
                    .rsplit_once(':')
                    .map_or(host, |(name, port)| if port.ends_with(']') { host } else { name });
                let is_here = name.eq_ignore_ascii_case("localhost")
                    || name.trim_matches(['[', ']']).parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
                (!is_here).then_some(Reply::Denied("Ask for this host by 127.0.0.1 or localhost."))
            }
            Self::Token(token) => {
                let given = asked.query.and_then(|query| query.strip_prefix("token="));
                if given.is_some_and(|given| is_same(given, token)) {
                    let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
                    return Some(Reply::See { path: "/", cookie });
                }
                let mut cookies = asked.cookies.unwrap_or_default().split("; ");
                let known = cookies.any(|cookie| {
                    cookie
                        .strip_prefix(COOKIE)
                        .and_then(|rest| rest.strip_prefix('='))
                        .is_some_and(|given| is_same(given, token))
                });
                (!known).then_some(Reply::Denied("Use the link with the token that `slob serve` printed."))
            }
        }
    }
}

/// Takes the same time wherever the first difference is.
fn is_same(given: &str, token: &str) -> bool {
    given.len() == token.len()
        && given.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

struct Site {
    folder: PathBuf,
    rows: Mutex<index::Rows>,
    events: watch::Receiver<String>,
    access: Access,
}

impl Pages for Site {
    fn reply(&self, asked: &Asked<'_>) -> Reply {
        if let Some(refused) = self.access.reply(asked) {
            return refused;
        }
        let reply = match asked.path.trim_start_matches('/') {
            "" | index::INDEX => self.list(),
            "events" => return Reply::Events(self.events.clone()),
            path => self.file(path),
        };
        reply.unwrap_or(Reply::NotFound("There is no such page here."))
    }
}

impl Site {
    fn list(&self) -> Option<Reply> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Reply::text(HTML, rows.live_page(&self.folder).ok()?))
    }

    /// A page beside the runs, or a file of a run. Other names are not looked up.
    fn file(&self, path: &str) -> Option<Reply> {
        match path.split('/').collect::<Vec<_>>()[..] {
            [page] if page.ends_with(".html") => {
                let path = entry(&self.folder, &decode(page).ok()?)?;
                Some(Reply::Found { kind: HTML, body: fs::read(path).ok()? })
            }
            [run, file] => {
                let run =
                    entry(&self.folder, &decode(run).ok()?).filter(|run| run.join(RUN_FILE).is_file())?;
                let read = |kind| Some(Reply::Found { kind, body: fs::read(entry(&run, file)?).ok()? });
                match file {
                    RUN_FILE => read("application/json"),
                    SIGNATURE_FILE => read("text/plain; charset=utf-8"),
                    HTML_REPORT => read(HTML).or_else(|| {
                        Some(Reply::text(HTML, with_digest(&run_page(&read_record(&run).ok()?))))
                    }),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// An entry of a folder by its name, unless it is hidden or a link that leads out of it.
fn entry(folder: &Path, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
        return None;
    }
    let path = folder.join(name).canonicalize().ok()?;
    path.starts_with(folder).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(folder: &Path, access: Access) -> Site {
        let (_, events) = watch::channel(String::new());
        Site { folder: folder.canonicalize().unwrap(), rows: Mutex::default(), events, access }
    }

    fn asked(path: &str) -> Asked<'_> {
        Asked { path, query: None, host: Some("localhost:9188"), cookies: None }
    }

    #[test]
    fn only_pages_and_files_of_runs_are_read() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("runs");
        let run = folder.join("20261121T014620Z-a b");
        fs::create_dir_all(&run).unwrap();
        for (path, text) in [
            (outside.path().join("secret.html"), "no"),
            (folder.join("trend.html"), "yes"),
            (folder.join(".hidden.html"), "no"),
            (run.join(RUN_FILE), "yes"),
            (run.join("slob.conf"), "no"),
        ] {
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink(outside.path().join("secret.html"), folder.join("link.html")).unwrap();
        let site = site(&folder, Access::Loopback);
        let found =
            |path: &str| matches!(site.reply(&asked(path)), Reply::Found { body, .. } if body == b"yes");
        for path in ["/trend.html", "/20261121T014620Z-a%20b/run.json"] {
            assert!(found(path), "{path}");
        }
        for path in [
            "/../secret.html",
            "/%2e%2e/secret.html",
            "/..%2fsecret.html",
            "/20261121T014620Z-a%20b/../../secret.html",
            "/20261121T014620Z-a%20b/slob.conf",
            "/20261121T014620Z-a%20b/..%2f..%2fsecret.html",
            "/link.html",
            "/.hidden.html",
            "//etc/passwd",
            "/%00.html",
            "/%zz.html",
            "/%",
        ] {
            assert!(matches!(site.reply(&asked(path)), Reply::NotFound(_)), "{path}");
        }
    }

    #[test]
    fn names_of_other_hosts_and_wrong_tokens_are_denied() {
        let folder = tempfile::tempdir().unwrap();
        let is_denied = |site: &Site, asked: &Asked<'_>| matches!(site.reply(asked), Reply::Denied(_));
        let here = site(folder.path(), Access::Loopback);
        for (host, denied) in [
            ("localhost", false),
            ("127.0.0.1:9188", false),
            ("[::1]:9188", false),
            ("[::1]", false),
            ("evil.example:9188", true),
            ("127.0.0.1.evil.example", true),
            ("", true),
        ] {
            assert_eq!(is_denied(&here, &Asked { host: Some(host), ..asked("/") }), denied, "{host}");
        }
        let open = site(folder.path(), Access::Token("c0ffee".into()));
        assert!(is_denied(&open, &asked("/")));
        for query in ["token=", "token=c0ffe", "token=c0ffef", "other=c0ffee"] {
            assert!(is_denied(&open, &Asked { query: Some(query), ..asked("/") }), "{query}");
        }
        let let_in = open.reply(&Asked { query: Some("token=c0ffee"), ..asked("/") });
        assert!(
            matches!(let_in, Reply::See { path: "/", cookie } if cookie.starts_with("slob_token=c0ffee; HttpOnly"))
        );
        let with = |cookies| Asked { cookies: Some(cookies), ..asked("/") };
        assert!(!is_denied(&open, &with("a=b; slob_token=c0ffee")));
        assert!(is_denied(&open, &with("slob_token=c0ffef")));
    }
}
