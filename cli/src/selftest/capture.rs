//! A capture: what a server said, word for word, for those who have none of its kind.
//!
//! A compressed archive with `report.md`, `README.txt` and `capture.json`: moments, each with what the server said then and
//! the figures that were made of it, and the calls of the test with their times and errors.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use slob_engine::{CapturedAnswer, Engine, EngineError, EngineKind, Figures};
use slob_host::HostInfo;
use slob_record::durable_write;
use slob_spec::Settings;

use super::observed::Observed;
use super::veil::Veil;
use crate::failure::Failure;
use crate::{output, settings};

/// The form of `capture.json`.
pub(super) const FORMAT: u64 = 1;
/// The archive's files.
pub(super) const DATA: &str = "capture.json";
/// More calls than this are counted, and not listed.
const MOST_CALLS: usize = 20_000;
const README: &str = "\
What a database server said to `slob selftest`, so that those who have none of its kind can see what became of it.
capture.json holds its version, settings, counters and plans word for word, the time of each call, and errors.
report.md is the report. No password and no row of a table is in here. Look into it before you send it.
";

/// A capture that is being made. What is there when something dies is there.
pub(crate) struct Capture {
    file: PathBuf,
    kind: &'static EngineKind,
    about: Json,
    veil: Veil,
    begun: Instant,
    moments: Mutex<Vec<Json>>,
    calls: Arc<Mutex<Calls>>,
}

/// The calls so far.
#[derive(Default)]
pub(super) struct Calls {
    listed: Vec<Json>,
    others: u64,
}

impl Capture {
    /// An empty one.
    ///
    /// # Errors
    /// If the file is of another kind, or can't be written: said before anything is touched.
    pub(crate) fn new(
        file: &Path,
        kind: &'static EngineKind,
        settings: &Settings,
        with_names: bool,
    ) -> Result<Self, Failure> {
        let name = file.to_string_lossy();
        if ![".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending)) {
            return Err(Failure::usage(format!("--capture {name}: name a file that ends in .tar.gz")));
        }
        let host = HostInfo::read();
        let configuration: Vec<Json> = settings::for_record(settings)
            .into_iter()
            .map(|entry| json!([entry.key, entry.value, entry.origin]))
            .collect();
        let about = json!({
            "format": FORMAT,
            "slob": env!("CARGO_PKG_VERSION"),
            "begun": jiff::Timestamp::now().to_string(),
            "engine": kind.scheme,
            "library": (kind.library)(),
            "with_names": with_names,
            "configuration": configuration,
            "client": { "kernel": host.kernel, "architecture": host.architecture, "os": host.os },
        });
        let capture = Self {
            file: file.to_owned(),
            kind,
            about,
            veil: Veil::new(settings, &host.hostname, with_names),
            begun: Instant::now(),
            moments: Mutex::default(),
            calls: Arc::default(),
        };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(|error| {
            Failure::usage(format!("writing {name}: {error}; name another file with --capture"))
        })?;
        Ok(capture)
    }

    /// Opens a target; what is said instead of that is worth as much as anything that a server says.
    pub(crate) fn open(
        &self,
        open: impl FnOnce() -> Result<Box<dyn Engine>, EngineError>,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let begun = Instant::now();
        let opened = open();
        let error = opened.as_ref().err().map(ToString::to_string);
        lock(&self.calls).add(self.begun.elapsed(), "open", begun.elapsed(), error.as_deref());
        let engine = opened.inspect_err(|_| {
            let at_s = self.begun.elapsed().as_secs_f64();
            lock(&self.moments)
                .push(json!({ "moment": "opening the target", "at_s": at_s, "server_error": error }));
            self.keep("");
        })?;
        Ok(Box::new(Observed::new(engine, self.begun, Arc::clone(&self.calls))))
    }

    /// What the server says now.
    pub(crate) fn moment(&self, name: &str, engine: &dyn Engine) {
        let at_s = self.begun.elapsed().as_secs_f64();
        let mut moment = json!({ "moment": name, "at_s": at_s });
        match engine.server() {
            Ok(server) => {
                let settings: Vec<Json> =
                    server.settings.iter().map(|setting| json!([setting.name, setting.value])).collect();
                moment["server"] = json!({
                    "product": server.product, "version": server.version, "block_bytes": server.block_bytes,
                    "settings": settings, "advice": server.advice,
                });
            }
            Err(error) => moment["server_error"] = json!(error.to_string()),
        }
        match engine.capture() {
            Ok(said) => {
                moment["said"] = said.iter().map(written).collect();
                let figures = match self.kind.replay {
                    Some(replay) => replay(&said),
                    None => engine.snapshot().map(|snapshot| snapshot.total()),
                };
                match figures {
                    Ok(figures) => moment["figures"] = figures_of(&figures),
                    Err(error) => moment["figures_error"] = json!(error.to_string()),
                }
            }
            Err(error) => moment["said_error"] = json!(error.to_string()),
        }
        lock(&self.moments).push(moment);
    }

    /// Writes what there is. The test goes on if that fails.
    pub(crate) fn keep(&self, report: &str) {
        if let Err(error) = self.save(report) {
            output::say(&format!("warning: writing {}: {error}", self.file.display()));
        }
    }

    fn save(&self, report: &str) -> std::io::Result<()> {
        let mut data = self.about.clone();
        data["moments"] = Json::Array(lock(&self.moments).clone());
        let calls = lock(&self.calls);
        data["calls"] = Json::Array(calls.listed.clone());
        data["calls_not_listed"] = json!(calls.others);
        drop(calls);
        self.veil.over_all(&mut data);
        let data = serde_json::to_string_pretty(&data)?;
        let report = self.veil.over(report);
        durable_write(&self.file, 0o600, |file| {
            let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
            for (name, text) in [("README.txt", README), ("report.md", &report), (DATA, &data)] {
                let mut header = tar::Header::new_gnu();
                header.set_size(text.len() as u64);
                header.set_mode(0o644);
                archive.append_data(&mut header, name, text.as_bytes())?;
            }
            archive.into_inner()?.finish().map(drop)
        })
    }
}

impl Calls {
    /// Adds one that began then.
    pub(super) fn add(&mut self, at: Duration, call: &str, took: Duration, error: Option<&str>) {
        if self.listed.len() >= MOST_CALLS {
            self.others += 1;
            return;
        }
        self.listed.push(json!([at.as_secs_f64(), call, micros(took), error]));
    }
}

fn written(said: &CapturedAnswer) -> Json {
    json!({
        "name": said.name, "question": said.question, "columns": said.columns, "rows": said.rows,
        "took_us": micros(said.took), "fault": said.fault,
    })
}

/// In the words of a record.
pub(super) fn figures_of(figures: &Figures) -> Json {
    let Figures { counters, latencies, events } = figures;
    json!({ "counters": counters, "latencies": latencies, "events": events })
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
