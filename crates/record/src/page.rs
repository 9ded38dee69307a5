//! A record within the page that shows it, so that the page can be given away alone and read back.

use std::borrow::Cow;
use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::de::Error;

use crate::model::Record;

/// What every page begins with.
const PAGE: &[u8] = b"<!DOCTYPE html>";
/// The element that holds the record: zlib data in base64.
const BEGIN: &str = "<script type=\"text/plain\" id=\"record\">";
const END: &str = "</script>";
/// Far more than any record has, in bytes: what unpacks to more is something else.
const MOST: u64 = 1 << 30;

/// The element of a page that holds the whole record; empty if it can't be packed.
#[must_use]
pub fn record_in_page(record: &Record) -> String {
    let packed = || {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&serde_json::to_vec(record).ok()?).ok()?;
        encoder.finish().ok()
    };
    packed().map(|packed| format!("{BEGIN}{}{END}\n", STANDARD.encode(packed))).unwrap_or_default()
}

/// The record's JSON: of a page that holds it, or the text itself if it is no page.
pub(crate) fn json_of(text: &[u8]) -> Result<Cow<'_, [u8]>, serde_json::Error> {
    if !text.starts_with(PAGE) {
        return Ok(Cow::Borrowed(text));
    }
    let broken = |why: &dyn std::fmt::Display| {
        serde_json::Error::custom(format!("the record in this page can't be unpacked: {why}"))
    };
    let page = std::str::from_utf8(text).map_err(|error| broken(&error))?;
    let packed = page.split_once(BEGIN).and_then(|(_, rest)| Some(rest.split_once(END)?.0));
    let packed = packed.ok_or_else(|| {
        serde_json::Error::custom("this page holds no run's record; name the run's folder or its report.html")
    })?;
    let packed = STANDARD.decode(packed).map_err(|error| broken(&error))?;
    let mut json = Vec::new();
    let mut unpacked = ZlibDecoder::new(packed.as_slice()).take(MOST);
    unpacked.read_to_end(&mut json).map_err(|error| broken(&error))?;
    Ok(Cow::Owned(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(element: &str) -> String {
        format!("<!DOCTYPE html>\n<html>{element}</html>\n")
    }

    #[test]
    fn a_page_without_a_record_or_with_a_broken_one_is_told() {
        assert_eq!(json_of(b"{}").unwrap(), b"{}".as_slice());
        let told = |text: &str| json_of(text.as_bytes()).unwrap_err().to_string();
        assert!(told(&page("")).contains("holds no run's record"));
        assert!(told(&page(&format!("{BEGIN}*{END}"))).contains("can't be unpacked"));
        assert!(told(&page(&format!("{BEGIN}AAAA{END}"))).contains("can't be unpacked"));
    }
}
