//! Digests of records.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::RecordError;
use crate::read::{json_of, read_file};
use crate::record::Record;

/// The digest as JSON without spaces. It seals nothing: editors can write the digest of an edited record.
pub fn digest_of(record: &Record) -> Result<String, serde_json::Error> {
    // Numbers take the form in which they will be read.
    let mut json = serde_json::from_slice(&serde_json::to_vec(record)?)?;
    Ok(take_digest(&mut json).0)
}

fn take_digest(json: &mut Value) -> (String, Option<String>) {
    let saved = json.as_object_mut().and_then(|record| record.remove("digest"));
    let saved = saved.map(|digest| digest.as_str().unwrap_or_default().to_owned());
    (digest_of_text(&json.to_string()), saved)
}

/// The first 16 bytes of the SHA-256 in hexadecimal, short enough to quote.
pub fn digest_of_text(text: &str) -> String {
    hex(&Sha256::digest(text)[..16])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of a saved record, and the one that it holds, if any.
pub fn read_digests(path: &Path) -> Result<(String, Option<String>), RecordError> {
    let (path, text) = read_file(path)?;
    let json = json_of(&text).and_then(|json| serde_json::from_slice(&json));
    let mut json = json.map_err(|source| RecordError::Json { path, source })?;
    Ok(take_digest(&mut json))
}
