//! `slob selftest --replay`: figures of what a server said, made again, beside those that were made then.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::Value as Json;
use slob_engine::{CapturedAnswer, EngineKind};

use super::capture::{DATA, FORMAT, figures_of};
use crate::failure::{Failure, JUDGED, Outcome};
use crate::{output, registry};

/// A capture has a few megabytes; one that unpacks to more than this is none.
const LARGEST: u64 = 1 << 28;

/// Replays a capture. Ends with 1 if figures are not what they were.
pub(crate) fn replay(file: &Path) -> Outcome {
    let failed = |message: String| Failure::usage(format!("reading {}: {message}", file.display()));
    let data = read(file).map_err(failed)?;
    let scheme = data["engine"].as_str().unwrap_or_default();
    let kind = registry::ENGINES
        .iter()
        .find(|kind| kind.scheme == scheme)
        .ok_or_else(|| failed(format!("this build has no engine '{scheme}'")))?;
    let text = |value: &Json| value.as_str().unwrap_or("not told").to_owned();
    let mut page = format!(
        "# Capture of {scheme}\n\n- made by slob {}, {}\n",
        text(&data["slob"]),
        text(&data["begun"])
    );
    page.push_str(&format!("- library: {}\n", text(&data["library"])));
    let empty = Vec::new();
    let moments = data["moments"].as_array().unwrap_or(&empty);
    let mut differing = 0;
    for moment in moments {
        differing += usize::from(!tell(&mut page, kind, moment));
    }
    if moments.is_empty() {
        page.push_str("\nIt holds no answers: the test ended before the server was asked.\n");
    }
    output::print(&page)?;
    Ok(ExitCode::from(if differing == 0 { 0 } else { JUDGED }))
}

fn read(file: &Path) -> Result<Json, String> {
    let file = File::open(file).map_err(|error| error.to_string())?;
    let mut archive = tar::Archive::new(GzDecoder::new(file).take(LARGEST));
    for entry in archive.entries().map_err(|error| error.to_string())? {
        let mut entry = entry.map_err(|error| format!("it is not a capture: {error}"))?;
        if entry.path().is_ok_and(|path| path == Path::new(DATA)) {
            let mut text = String::new();
            entry.read_to_string(&mut text).map_err(|error| format!("it is not a capture: {error}"))?;
            let data: Json = serde_json::from_str(&text).map_err(|error| format!("{DATA}: {error}"))?;
            return match data["format"].as_u64() {
                Some(FORMAT) => Ok(data),
                other => Err(format!("{DATA} has format {other:?}, and this release knows {FORMAT}")),
            };
        }
    }
    Err(format!("it is not a capture: there is no {DATA} in it"))
}

/// Writes down a moment; whether its figures are what they were.
fn tell(page: &mut String, kind: &EngineKind, moment: &Json) -> bool {
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
    let said = said_of(moment);
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

fn said_of(moment: &Json) -> Vec<CapturedAnswer> {
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
