//! Archives, mails, Markdown, and months in other languages.

use std::io::{Cursor, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::common::{bytes, report, text};
use slob_awr::checks::Checks;
use slob_awr::info::Named;
use slob_awr::{Format, ReadError, Report, Reports, Scope, read};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const FILES: [&str; 3] = ["awr_12201.txt", "awr_11203.html", "statspack.txt"];

/// The load profiles of the fixtures are read from the bytes, in order.
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

fn tarred() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let long = format!("{}/report.txt", "long".repeat(50));
    for (name, fixture) in [("a.txt", FILES[0]), (&long, FILES[1]), ("c d.txt", FILES[2])] {
        let content = bytes(fixture);
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, &*content).unwrap();
    }
    tar.into_inner().unwrap()
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
    assert_holds_fixtures(&tarred());
    assert_holds_fixtures(&gzipped(&tarred()));
}

#[test]
fn damaged_archives_are_errors_without_binary_junk() {
    for whole in [zipped(CompressionMethod::Deflated), gzipped(&tarred()), tarred()] {
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
fn mails_in_quoted_printable_and_base64_are_read() {
    let quoted: String = text("awr_12201.txt")
        .lines()
        .map(|line| {
            let line = line.replace('=', "=3D");
            match line.len() > 60 && line.is_char_boundary(60) {
                true => format!("{}=\r\n{}\r\n", &line[..60], &line[60..]),
                false => format!("{line}\r\n"),
            }
        })
        .collect();
    let base64 = STANDARD.encode(bytes("awr_11203.html"));
    let base64: Vec<&str> =
        base64.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let mail = format!(
        "From: dba@example.com\r\nSubject: reports\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"b\"\r\n\r\n\
         --b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n{quoted}\r\n\
         --b\r\nContent-Type: text/html; name=awr.html\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\n{}\r\n--b--\r\n",
        base64.join("\r\n")
    );
    let [one, other] = &read(mail.as_bytes()).unwrap()[..] else { panic!("not two reports") };
    assert_eq!(one.load_profile, report("awr_12201.txt").load_profile);
    assert_eq!(other.activity, report("awr_11203.html").activity);
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
        assert_eq!(
            own.interval.begin_time().map(|time| time.to_string()).as_deref(),
            Some("2024-03-01T10:00:00"),
            "{begin}"
        );
        assert_eq!(
            own.interval.end_time().map(|time| time.to_string()).as_deref(),
            Some("2024-03-01T10:10:00"),
            "{end}"
        );
    }
}

#[test]
fn an_unknown_month_is_said_once_with_its_line() {
    let text = text("awr_12201.txt").replace("01-Mar-24 10", "01-Xyz-24 10");
    let own = read(text.as_bytes()).unwrap().remove(0);
    let checks = Checks::of(&Named::new("x", own));
    let notes: Vec<&str> = checks
        .warnings
        .iter()
        .map(|warning| warning.text.as_str())
        .filter(|text| text.contains("Xyz"))
        .collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("line 18: the time '01-Xyz-24 10:00:00'"), "{notes:?}");
}

#[test]
fn tables_of_markdown_are_read() {
    let page = bytes("awr_11203.html");
    let html = Reports::of(&*page)
        .unwrap()
        .within(Scope::Tables)
        .next()
        .unwrap()
        .unwrap_or_else(ReadError::read)
        .remove(0);
    for framed in [false, true] {
        let row = |cells: &[String]| match framed {
            true => format!("| {} |\n", cells.join(" | ")),
            false => format!("{}  \n", cells.join("| ")),
        };
        let table = |table: &slob_awr::Sheet| {
            let width = table.heads.len().max(table.rows.iter().map(Vec::len).max().unwrap_or(0));
            let mut heads = table.heads.clone();
            heads.resize(width, String::new());
            let rule = if framed {
                format!("|{}\n", "---|".repeat(width))
            } else {
                format!("{}\n", vec!["---"; width].join("|"))
            };
            format!(
                "### {}\n\n{}{rule}{}\n",
                table.title,
                row(&heads),
                table.rows.iter().map(|cells| row(cells)).collect::<String>()
            )
        };
        let is_body = |table: &&slob_awr::Sheet| !table.title.starts_with("WORKLOAD");
        let head = html
            .tables
            .iter()
            .filter(|table| !is_body(table))
            .map(|own| table(&slob_awr::Sheet { title: String::new(), ..own.clone() }));
        let body: String = head.chain(html.tables.iter().filter(is_body).map(table)).collect();
        let markdown = format!("#  WORKLOAD REPOSITORY report for \n\n{body}\nEnd of Report\n");
        let own = read(markdown.as_bytes()).unwrap().remove(0);
        assert_eq!((own.format, own.elapsed_s()), (Format::Markdown, html.elapsed_s()));
        assert_eq!(own.activity, html.activity);
        assert_eq!(own.load_profile, html.load_profile);
    }
}
