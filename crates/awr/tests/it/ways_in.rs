//! Archives, and months in other languages.

use std::io::{Cursor, Write};

use crate::common::{bytes, checks, report, text};
use slob_awr::{Report, Reports, read};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const FILES: [&str; 3] = ["awr_12201.txt", "awr_11203.html", "statspack.txt"];

fn assert_holds_fixtures(packed: &[u8]) {
    let read = read(packed).unwrap();
    let profiles: Vec<_> = read.iter().map(|own| (&own.load_profile, &own.activity)).collect();
    let fixtures: Vec<Report> = FILES.iter().map(|fixture| report(fixture)).collect();
    assert_eq!(profiles, fixtures.iter().map(|own| (&own.load_profile, &own.activity)).collect::<Vec<_>>());
}

fn zipped(method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in [("logo.png", &[0x89, b'P', 0xff, 0][..]), ("folder/notes.txt", b"no report")] {
        zip.start_file(name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    for fixture in FILES {
        zip.start_file(fixture, options).unwrap();
        zip.write_all(&bytes(fixture)).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn archives_are_read_file_by_file() {
    assert_holds_fixtures(&zipped(CompressionMethod::Stored));
    assert_holds_fixtures(&zipped(CompressionMethod::Deflated));
    assert_holds_fixtures(&gzipped(&zipped(CompressionMethod::Stored)));
}

#[test]
fn damaged_archives_are_errors_without_binary_junk() {
    for whole in [CompressionMethod::Deflated, CompressionMethod::Stored].map(zipped) {
        for at in (30..whole.len()).step_by(whole.len() / 40) {
            let mut broken = whole[..at].to_vec();
            let middle = broken.len() / 2;
            broken[middle] ^= 0x55;
            let last = Reports::of(&*broken).and_then(|reports| reports.last().unwrap_or(Ok(Vec::new())));
            if let Err(error) = last {
                let text = error.to_string();
                assert!(!text.chars().any(|symbol| symbol.is_control() || symbol == '\u{fffd}'), "{text:?}");
            }
        }
    }
    let error = read(&zipped(CompressionMethod::Deflated)[..60]).unwrap_err().to_string();
    assert!(!error.contains("PK"), "{error}");
    let odd: Vec<u8> = (0..2000u32).map(|at| (at * 97 % 251) as u8 | 0x80).collect();
    assert!(read(&odd).unwrap_err().to_string().contains("begins with 'binary data'"));
}

#[test]
fn months_of_other_languages_are_read() {
    for (begin, end) in [
        ("01-3월 -24", "01-3월 -24"),
        ("01-МАР-24", "01-МАР-24"),
        ("01-3月 -24", "01-3月 -24"),
        ("01-mrt-24", "01-MRT-24"),
    ] {
        let text = text("awr_12201.txt").replacen("10 01-Mar-24", &format!("10 {begin}"), 1);
        let text = text.replacen("11 01-Mar-24", &format!("11 {end}"), 1);
        let own = read(text.as_bytes()).unwrap().remove(0);
        let times = [own.interval.begin_time(), own.interval.end_time()];
        let times = times.map(|time| time.unwrap().to_string());
        assert_eq!(times, ["2024-03-01T10:00:00", "2024-03-01T10:10:00"], "{begin} {end}");
    }
}

#[test]
fn an_unknown_month_is_said_once_with_its_line() {
    let text = text("awr_12201.txt").replace("01-Mar-24 10", "01-Xyz-24 10");
    let own = read(text.as_bytes()).unwrap().remove(0);
    let warnings = checks(own).warnings.into_iter().map(|warning| warning.text);
    let notes: Vec<String> = warnings.filter(|text| text.contains("Xyz")).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("line 18: the time '01-Xyz-24 10:00:00'"), "{notes:?}");
}
