//! Edits of single cells: `check` notices each that a second cell of the report contradicts.

use std::fs;
use std::ops::Range;

use crate::common::{FIXTURES, bytes, changed, checks, is_full, real_files, text, with_sections};
use slob_awr::checks::{Verdict, Weight};
use slob_awr::{Report, Reports};

fn reports(bytes: &[u8]) -> Vec<Report> {
    Reports::of(bytes).unwrap().flat_map(|read| read.unwrap_or_else(|error| error.read)).collect()
}

fn doubts(reports: &[Report]) -> Vec<(String, String)> {
    let of_one = |report: &Report| {
        let checks = checks(report.clone());
        let pairs = checks.pairs.into_iter().filter(|pair| pair.verdict > Verdict::Explained);
        let pairs = pairs.map(|pair| {
            let sources = format!("{} ({}, {})", pair.what, pair.first_source, pair.second_source);
            (sources, format!("{} and {}", pair.first, pair.second))
        });
        let impossible = checks.warnings.into_iter().filter(|warning| warning.weight == Weight::Impossible);
        pairs.chain(impossible.map(|warning| (warning.text, String::new()))).collect::<Vec<_>>()
    };
    reports.iter().flat_map(of_one).collect()
}

/// Row arithmetic holds in every report that Oracle wrote.
#[test]
fn rows_of_real_reports_are_not_doubted() {
    let of_rows = |bytes: &[u8]| -> Vec<(String, String)> {
        let known = "writes of the log";
        doubts(&reports(bytes)).into_iter().filter(|(what, _)| !what.starts_with(known)).collect()
    };
    for path in real_files() {
        assert_eq!(of_rows(&fs::read(&path).unwrap()), [], "{}", path.display());
    }
    for fixture in FIXTURES {
        assert_eq!(of_rows(&bytes(fixture)), [], "{fixture}");
    }
}

/// Sections whose cells are stated a second time, in another table or by arithmetic.
const SECTIONS: &str = "Load Profile|Instance Efficiency|Top 5|Top 10 Foreground|Time Model|Operating System Statistics|\
    Host CPU|Foreground Wait|Background Wait|Wait Event Histogram|Wait Events (fg and bg)|Key Instance Activity|\
    Instance Activity|IOStat by Function|IOStat by Filetype|Tablespace IO|Segments by|SQL ordered by";

/// Nothing determines parts of those sections that are printed once.
fn is_stated_once(section: &str, line: &str, cell: &str) -> bool {
    let is_section = |parts: &[&str]| parts.iter().any(|part| section.contains(part));
    let is_line = |parts: &[&str]| parts.iter().any(|part| line.contains(part));
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_zero = |word: &&str| word.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if is_section(&["Absolute", "- Detail", "/Filetype"])
        || is_line(&["multiples of", "session cursor cache count", "AVG_", "background cpu", "####"])
    {
        return true;
    }
    if section.starts_with("Instance Efficiency") {
        return !is_line(&["Execute to Parse", "Soft Parse"]) || line.find(cell) != line.rfind(cell);
    }
    if section.starts_with("Operating System") {
        return !is_line(&["BUSY", "IDLE", "USER_TIME", "SYS_TIME", "IOWAIT", "NUM_", "PHYSICAL", "LOAD"]);
    }
    if section.starts_with("SQL ordered by") {
        // Texts of statements; sizes and versions; the hash values of Statspack.
        return is_section(&["Sharable", "Version"]) || words.last().is_none_or(|last| last.len() != 13);
    }
    if section.starts_with("Segments") {
        // Numbers of objects, and tables of too few segments.
        return !cell.contains([',', '.']) && cell.len() > 4;
    }
    if section.contains("Wait") && !section.contains("Histogram") {
        // Few waits that took no time, and idle ones without a share.
        return words.iter().filter(|word| is_zero(word)).count() >= 3;
    }
    false
}

fn numbers(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    for word in line.split(' ') {
        let range = from..from + word.len();
        from = range.end + 1;
        let is_number = word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b'.');
        // Names begin the line.
        if is_number && range.start > 20 {
            found.push(range);
        }
    }
    found
}

fn edited(line: &str, cell: &Range<usize>) -> Option<String> {
    let word = &line[cell.clone()];
    let first = word.find(|symbol: char| matches!(symbol, '1'..='9'))?;
    let digit = word.as_bytes()[first];
    let other = if digit >= b'5' { b'1' } else { b'9' };
    let mut bytes = line.as_bytes().to_vec();
    bytes[cell.start + first] = other;
    String::from_utf8(bytes).ok()
}

fn digits(word: &str) -> usize {
    word.bytes().skip_while(|byte| !matches!(byte, b'1'..=b'9')).filter(u8::is_ascii_digit).count()
}

fn noticed(text: &str, stride: usize) -> (usize, usize, Vec<String>) {
    let lines: Vec<&str> = text.split('\n').collect();
    let before = doubts(&reports(text.as_bytes()));
    let (mut edits, mut found, mut missed) = (0, 0, Vec::new());
    let mut section = "";
    for (at, line) in lines.iter().enumerate() {
        if let Some((title, _)) = line.split_once("DB/Inst:") {
            section = title.trim();
        } else if lines.get(at + 1).is_some_and(|below| below.trim_start().starts_with("~~~")) {
            section = line.trim();
        }
        let is_checked = SECTIONS.split('|').any(|own| section.starts_with(own));
        if !is_checked || line.starts_with("->") || line.trim_start().starts_with("--") {
            continue;
        }
        for (nth, cell) in numbers(line).into_iter().enumerate() {
            if (at + nth) % stride != 0 {
                continue;
            }
            let is_determined =
                digits(&line[cell.clone()]) >= 3 && !is_stated_once(section, line, &line[cell.clone()]);
            let Some(own) = edited(line, &cell).filter(|_| is_determined) else { continue };
            let mut all = lines.clone();
            all[at] = &own;
            edits += 1;
            let after = doubts(&reports(all.join("\n").as_bytes()));
            match after.iter().any(|doubt| !before.contains(doubt)) {
                true => found += 1,
                false => missed.push(format!("{section} | {} -> {}", line.trim(), own[cell].trim())),
            }
        }
    }
    (edits, found, missed)
}

/// docs/evidence.md has this share. `TEST_AWR_EDITS=all` edits every cell in place of every fifth.
#[test]
fn nineteen_of_twenty_edits_are_noticed() {
    let is_single = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|ending| ending == "txt") && !path.to_string_lossy().contains("awrd")
    };
    let stride = if is_full() { 1 } else { 10 };
    let (mut all, mut found, mut missed) = (0, 0, Vec::new());
    let real = real_files().into_iter().filter(is_single).map(|path| {
        (path.display().to_string(), String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(), stride)
    });
    for (name, text, stride) in real {
        let (edits, noticed, not) = noticed(&text, stride);
        println!("{name}: {noticed} of {edits} edits were noticed");
        (all, found) = (all + edits, found + noticed);
        missed.extend(not);
    }
    println!("{found} of {all}\n{}", missed.join("\n"));
    assert!(found * 20 >= all * 19, "{found} of {all}; not these: {missed:#?}");
}

#[test]
fn edits_of_a_fixture_are_noticed() {
    let (edits, found, missed) = noticed(&text("awr_12201.txt"), 1);
    assert!(edits > 50 && found * 10 >= edits * 7, "{found} of {edits}; not these: {missed:#?}");
}

#[test]
fn planted_edits_are_noticed() {
    let statistics = "user commits                                  1,200            2.0           1.0\n\
                      user rollbacks                                    0            0.0           0.0\n";
    let reads = "session logical reads                     3,000,000        5,000.0       2,500.0\n";
    let with_commits = format!("{reads}{statistics}");
    let whole = [(reads, with_commits.as_str())];
    let sound = changed("awr_12201.txt", &whole);
    assert_eq!(doubts(&[sound]), []);
    for (what, from, to) in [
        ("user commits                                  1,", "200", "800"),
        ("Transactions:               ", "2.0", "6.0"),
        ("log file sync                        1,000         .2  ", "198.31us", "  1.98ms"),
        // A share of DB time.
        ("1       52.9   52.86 s   ", " 4.4 ", "44.4 "),
        ("log file sync                        ", "1,000", "9,000"),
    ] {
        let (from, to) = (format!("{what}{from}"), format!("{what}{to}"));
        let edited = [&whole[..], &[(&from, &to)]].concat();
        assert_ne!(doubts(&[changed("awr_12201.txt", &edited)]), [], "{to}");
    }
}

#[test]
fn an_edited_statement_is_noticed() {
    let sound = include_str!("../fixtures/parts/cpu_statements.txt");
    let section = |text: &str| doubts(&[with_sections(text)]);
    assert_eq!(section(sound), []);
    for (from, to) in [("1,000", "9,000"), ("40.0      150", "90.0      150"), ("80.0   10", "10.0   10")] {
        assert_ne!(section(&sound.replace(from, to)), [], "{from} -> {to}");
    }
}

#[test]
fn a_wait_class_of_ten_times_its_time_is_noticed() {
    let classes = include_str!("../fixtures/parts/wait_classes.txt");
    let wrong = classes.replace("  900    1.50ms", "9,000    1.50ms");
    assert_eq!(doubts(&[with_sections(classes)]), []);
    assert_ne!(doubts(&[with_sections(&wrong)]), []);
}

#[test]
fn sound_reports_were_doubted() {
    // Without LGWR and a total, the lines are not all writes.
    let total = "TOTAL:             4.7G  1005.0  7.990M    233M    49.7   .389M  590.5K   1.49ms\n";
    let log = "LGWR                 1M     0.0      0M     58M     1.7   .097M       0\n";
    let others = "Others              60M    15.0   .100M    175M    48.0   .292M     500 135.47us\n";
    let writer = "DBWR                 0M     0.0      0M    117M    25.0   .195M       0         \n";
    let own = changed("awr_12201.txt", &[(total, ""), (log, ""), (others, writer)]);
    let writes: Vec<_> = doubts(&[own]).into_iter().filter(|(what, _)| what.contains("rit")).collect();
    assert_eq!(writes, []);
    // More parses than executions.
    let own = changed("awr_12201.txt", &[("Buffer Nowait %:  100.00", "Execute to Parse %: -12.50")]);
    let checks = checks(own);
    assert!(checks.warnings.iter().all(|warning| !warning.text.contains("Execute to Parse")), "{checks:?}");
}
