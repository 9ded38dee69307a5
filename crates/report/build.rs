//! Packs the chart library for the HTML report: once, when the program is built.
//!
//! The library comes from the crate `plotly`, which carries plotly.js for pages that work offline. A page holds it
//! compressed, and it is inflated where it is read, so that a report is 2 MB instead of 5. The hashes are for the
//! page's Content-Security-Policy: a browser runs these two scripts and no other.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};

/// The page's own script, as it is included in `src/html/assets.rs`.
const OWN_SCRIPT: &str = "src/html/assets/page.js";
/// That of the page of all runs.
const INDEX_SCRIPT: &str = "src/html/assets/index.js";

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={OWN_SCRIPT}");
    println!("cargo::rerun-if-changed={INDEX_SCRIPT}");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let sources = plotly::Plot::offline_js_sources();
    let library =
        first_script(&sources).ok_or("the crate plotly does not hand out its library as it used to")?;
    fs::write(out.join("library.b64"), STANDARD.encode(compressed(library)?))?;
    fs::write(out.join("library.sha256"), hash(library))?;
    fs::write(out.join("page.sha256"), hash(&fs::read_to_string(Path::new(OWN_SCRIPT))?))?;
    fs::write(out.join("index.sha256"), hash(&fs::read_to_string(Path::new(INDEX_SCRIPT))?))?;
    Ok(())
}

/// The content of the first script element: the library; what follows is for formulas, which we have none of.
fn first_script(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("<script type=\"text/javascript\">")?;
    let (script, _) = rest.split_once("</script>")?;
    script.contains("plotly.js").then_some(script)
}

fn compressed(text: &str) -> Result<Vec<u8>, Failure> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    Ok(encoder.finish()?)
}

/// As a Content-Security-Policy names a script.
fn hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script.as_bytes())))
}
