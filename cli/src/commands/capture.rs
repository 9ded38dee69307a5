//! Captures of `slob selftest`: a server's answers word for word, for those who have no such server.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use slob_engine::{Call, CapturedAnswer, Engine, EngineKind, Figures, Recording, Result};
use slob_host::HostInfo;
use slob_record::durable_write;
use slob_spec::{Redaction, Settings};

use crate::failure::{Failure, JUDGED, Outcome};
use crate::{output, registry, settings};

const FORMAT: u64 = 1;
const DATA_FILE: &str = "capture.json";
const README: &str = "\
What a database server said to `slob selftest`, so that those who have none of its kind can see what became of it.
capture.json holds its version, settings, counters and plans word for word, the time of each call, and errors.
report.md is the report. No password and no row of a table is in here. Look into it before you send it.
";

pub(super) struct Capture {
    file: PathBuf,
    kind: &'static EngineKind,
    about: Json,
    redaction: Redaction,
    moments: Mutex<Vec<Json>>,
    recording: Recording,
}

impl Capture {
    /// Refuses a file that can't be written, before the test begins.
    pub(super) fn new(
        file: &Path,
        kind: &'static EngineKind,
        settings: &Settings,
        with_names: bool,
    ) -> Result<Self, Failure> {
        let name = file.to_string_lossy();
        if ![".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending)) {
            return Err(usage!("--capture {name}: name a file that ends in .tar.gz"));
        }
        let host = HostInfo::read();
        let entries = settings::for_record(settings).into_iter();
        let configuration: Json =
            entries.map(|entry| json!([entry.key, entry.value, entry.origin])).collect();
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
            redaction: Redaction::new(settings, &host.hostname, with_names),
            moments: Mutex::default(),
            recording: Recording::default(),
        };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
            .map_err(|error| usage!("writing {name}: {error}; name another file with --capture"))?;
        Ok(capture)
    }

    pub(super) fn open(&self, open: impl FnOnce() -> Result<Box<dyn Engine>>) -> Result<Box<dyn Engine>> {
        let engine = self.recording.call("open", open).inspect_err(|error| {
            let mut moment = self.begin_moment("opening the target");
            moment["server_error"] = json!(error.to_string());
            lock(&self.moments).push(moment);
            self.keep("");
        })?;
        Ok(self.recording.of(engine))
    }

    fn begin_moment(&self, name: &str) -> Json {
        json!({ "moment": name, "at_s": self.recording.elapsed().as_secs_f64() })
    }

    pub(super) fn moment(&self, name: &str, engine: &dyn Engine) {
        let mut moment = self.begin_moment(name);
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
                let answer = |said: &CapturedAnswer| {
                    json!({
                        "name": said.name, "question": said.question, "columns": said.columns, "rows": said.rows,
                        "took_us": micros(said.took), "fault": said.fault,
                    })
                };
                moment["said"] = said.iter().map(answer).collect();
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

    /// The test goes on if writing fails.
    pub(super) fn keep(&self, report: &str) {
        if let Err(error) = self.save(report) {
            say!("warning: writing {}: {error}", self.file.display());
        }
    }

    fn save(&self, report: &str) -> io::Result<()> {
        let mut data = self.about.clone();
        data["moments"] = Json::Array(lock(&self.moments).clone());
        let (calls, others) = self.recording.calls();
        let call = |call: &Call| json!([call.at.as_secs_f64(), call.name, micros(call.took), call.error]);
        data["calls"] = calls.iter().map(call).collect();
        data["calls_not_listed"] = json!(others);
        redact_all(&self.redaction, &mut data);
        let data = serde_json::to_string_pretty(&data)?;
        let report = self.redaction.redact(report);
        durable_write(&self.file, 0o600, |file| {
            let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
            for (name, text) in [("README.txt", README), ("report.md", &report), (DATA_FILE, &data)] {
                let mut header = tar::Header::new_gnu();
                header.set_size(text.len() as u64);
                header.set_mode(0o644);
                archive.append_data(&mut header, name, text.as_bytes())?;
            }
            archive.into_inner()?.finish().map(drop)
        })
    }
}

fn figures_of(figures: &Figures) -> Json {
    let Figures { counters, latencies, events, .. } = figures;
    json!({ "counters": counters, "latencies": latencies, "events": events })
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture unpacks to a few megabytes.
const MOST_BYTES: u64 = 1 << 28;

pub(super) fn replay(file: &Path) -> Outcome {
    let failed = |message: String| usage!("reading {}: {message}", file.display());
    let data = read(file).map_err(failed)?;
    let scheme = data["engine"].as_str().unwrap_or_default();
    let kind = registry::ENGINES.iter().find(|kind| kind.scheme == scheme);
    let kind = kind.ok_or_else(|| failed(format!("this build has no engine '{scheme}'")))?;
    let [slob, begun, library] =
        ["slob", "begun", "library"].map(|key| data[key].as_str().unwrap_or("not told"));
    let mut page = format!("# Capture of {scheme}\n\n- made by slob {slob}, {begun}\n- library: {library}\n");
    let moments = data["moments"].as_array().map_or(&[][..], Vec::as_slice);
    let differing = moments.iter().filter(|moment| !replay_moment(&mut page, kind, moment)).count();
    if moments.is_empty() {
        page.push_str("\nIt holds no answers: the test ended before the server was asked.\n");
    }
    output::print(&page)?;
    Ok(ExitCode::from(if differing == 0 { 0 } else { JUDGED }))
}

fn read(file: &Path) -> Result<Json, String> {
    let file = File::open(file).map_err(|error| error.to_string())?;
    let mut archive = tar::Archive::new(GzDecoder::new(file).take(MOST_BYTES));
    for entry in archive.entries().map_err(|error| error.to_string())? {
        let mut entry = entry.map_err(|error| format!("it is not a capture: {error}"))?;
        if entry.path().is_ok_and(|path| path == Path::new(DATA_FILE)) {
            let mut text = String::new();
            entry.read_to_string(&mut text).map_err(|error| format!("it is not a capture: {error}"))?;
            let data: Json = serde_json::from_str(&text).map_err(|error| format!("{DATA_FILE}: {error}"))?;
            return match data["format"].as_u64() {
                Some(FORMAT) => Ok(data),
                other => Err(format!("{DATA_FILE} has format {other:?}, and this release knows {FORMAT}")),
            };
        }
    }
    Err(format!("it is not a capture: there is no {DATA_FILE} in it"))
}

fn replay_moment(page: &mut String, kind: &EngineKind, moment: &Json) -> bool {
    page.push_str(&format!("\n## {}\n\n", moment["moment"].as_str().unwrap_or("a moment")));
    for fault in ["server_error", "said_error", "figures_error"] {
        if let Some(words) = moment[fault].as_str() {
            page.push_str(&format!("- then: {words}\n"));
        }
    }
    let server = &moment["server"];
    if let (Some(product), Some(version)) = (server["product"].as_str(), server["version"].as_str()) {
        page.push_str(&format!("- {product} {version}\n"));
    }
    let said = answers_of(moment);
    for refused in said.iter().filter_map(|said| Some((&said.name, said.fault.as_ref()?))) {
        page.push_str(&format!("- refused: {}: {}\n", refused.0, refused.1));
    }
    if moment["said"].is_null() {
        return true;
    }
    let Some(replay) = kind.replay else {
        page.push_str("- the figures are counted in the program itself: there is nothing to make again\n");
        return true;
    };
    let now = match replay(&said) {
        Ok(figures) => figures_of(&figures),
        Err(error) => {
            page.push_str(&format!("- now: {error}\n"));
            return moment["figures"].is_null();
        }
    };
    let counters = now["counters"].as_object().into_iter().flatten();
    page.push_str("\n| counter | now | then |\n| --- | --- | --- |\n");
    let then = &moment["figures"]["counters"];
    for (name, value) in counters {
        page.push_str(&format!("| {name} | {value} | {} |\n", then[name]));
    }
    let lost = then.as_object().into_iter().flatten().filter(|(name, _)| now["counters"][*name].is_null());
    for (name, value) in lost {
        page.push_str(&format!("| {name} | absent | {value} |\n"));
    }
    let count = |figures: &Json| figures["events"].as_array().map_or(0, Vec::len);
    let kinds =
        |figures: &Json| figures["latencies"]["latencies"].as_object().map_or(0, serde_json::Map::len);
    page.push_str(&format!("\n{} waits, {} kinds of latencies. ", count(&now), kinds(&now)));
    let same = now == moment["figures"];
    page.push_str(if same {
        "All figures are as they were then.\n"
    } else {
        "**Figures are not what they were then.**\n"
    });
    same
}

fn answers_of(moment: &Json) -> Vec<CapturedAnswer> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let texts = |values: &Json| values.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let one = |said: &Json| CapturedAnswer {
        name: text(&said["name"]).unwrap_or_default(),
        question: text(&said["question"]).unwrap_or_default(),
        columns: texts(&said["columns"]).into_iter().flatten().collect(),
        rows: said["rows"].as_array().into_iter().flatten().map(texts).collect(),
        took: Duration::from_micros(said["took_us"].as_u64().unwrap_or(0)),
        fault: text(&said["fault"]),
    };
    moment["said"].as_array().into_iter().flatten().map(one).collect()
}

fn redact_all(redaction: &Redaction, value: &mut Json) {
    match value {
        Json::String(text) => *text = redaction.redact(text),
        Json::Array(values) => values.iter_mut().for_each(|value| redact_all(redaction, value)),
        Json::Object(fields) => fields.values_mut().for_each(|value| redact_all(redaction, value)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction(flags: &[(&str, &str)], with_names: bool) -> Redaction {
        let flags: Vec<(String, String)> =
            flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let settings = Settings::resolve(&registry::table(), None, &[], &flags).unwrap().settings;
        Redaction::new(&settings, "client7", with_names)
    }

    #[test]
    fn passwords_and_hosts_are_hidden_as_whole_words() {
        let flags = [("TARGET", "postgres://u:S3CRET-word@db,127.0.0.1/d"), ("SYSDBA_PASSWD", "Tig3r-word")];
        let text = "S3CRET-word Tig3r-word db db_block_size mydb db.x client7 127.0.0.1 dbdb";
        let hidden = redaction(&flags, false).redact(text);
        assert_eq!(hidden, "******** ******** host-1 db_block_size mydb host-1.x host-2 127.0.0.1 dbdb");
        let named = redaction(&flags, true).redact(text);
        assert!(named.starts_with("******** ******** db ") && named.contains("client7"), "{named}");
    }

    #[test]
    fn hosts_in_service_addresses_are_hidden() {
        let redaction = redaction(
            &[("TARGET", "oracle://u@//prod1:1521/s"), ("ADMIN_SQLNET_SERVICE", "//prod2/s")],
            false,
        );
        assert_eq!(redaction.redact("//prod1:1521/s //prod2/s s"), "//host-1:1521/s //host-2/s s");
    }
}
