//! Packs plotly.js, from the crate `plotly`, compressed: a report is 2 MB instead of 5. The hashes are for its
//! Content-Security-Policy.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for name in ["page", "index"] {
        let script = format!("src/assets/{name}.js");
        println!("cargo::rerun-if-changed={script}");
        fs::write(out.join(format!("{name}.sha256")), policy_hash(&fs::read_to_string(script)?))?;
    }
    let sources = plotly::Plot::offline_js_sources();
    let library =
        first_script(&sources).ok_or("the crate plotly does not hand out its library as it used to")?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(library.as_bytes())?;
    fs::write(out.join("library.b64"), STANDARD.encode(packed.finish()?))?;
    fs::write(out.join("library.sha256"), policy_hash(library))?;
    Ok(())
}

/// The first script element is the library; the second one is for formulas, which reports lack.
fn first_script(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("<script type=\"text/javascript\">")?;
    let (script, _) = rest.split_once("</script>")?;
    script.contains("plotly.js").then_some(script)
}

fn policy_hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script.as_bytes())))
}
