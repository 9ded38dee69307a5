//! Damaged files neither stop nor slow down the reader.

use std::fs;
use std::io::Write;
use std::time::Duration;

use crate::common::{FIXTURES, bytes, is_full, real_files};
use slob_awr::checks::Checks;
use slob_awr::info::{Named, Row, columns};
use slob_awr::trend::log_file_sync_us;
use slob_awr::{Fault, Reports, Scope, diff, read};

/// A small generator (Marsaglia, "Xorshift RNGs", 2003): a seed makes a failing input again.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

fn use_all(bytes: &[u8]) {
    let reports = match read(bytes) {
        Ok(reports) => reports,
        Err(error) => {
            assert!(error.line >= 1 && !error.to_string().is_empty());
            error.read
        }
    };
    let all = columns();
    for report in &reports {
        let named = Named::new("a.b.7", report.clone());
        assert_eq!(Row::of(&named).cells().count(), 18);
        all.iter().for_each(|column| drop(column.value(&named)));
        drop(Checks::of(&named));
        drop(diff(report, &reports[0]));
        for histogram in &report.histograms {
            let _ = (histogram.over(1000.0), histogram.two_peaks());
        }
    }
}

/// Damage: cut lines, other digits, lost and doubled lines, long lines, odd bytes.
fn mutated(original: &[u8], random: &mut Seeded) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.next(6) {
        let at = random.next(bytes.len());
        let end = (at + random.next(200)).min(bytes.len());
        match random.next(9) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let to = random.next(bytes.len());
                bytes.splice(to..to, piece);
            }
            3 => bytes[at..end].fill(b'-'),
            4 => bytes[at..end].fill(b'9'),
            5 => bytes[at..end].iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b'\n'),
            6 => drop(bytes.splice(at..at, [0xc3, 0xa4, 0xff, b'<', b't', b'd', b'>', b'\t', 0x0c])),
            7 => bytes[at..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(13)),
            _ => drop(bytes.splice(at..at, b" 1.E+300 #### -- ~~~~ <1/0s >=0 N/A ".iter().copied())),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn several() -> Vec<u8> {
    ["statspack.txt", "awr_11203.html", "compare.txt"].iter().flat_map(|fixture| bytes(fixture)).collect()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn a_truncated_packed_file_is_an_error() {
    let whole = packed(&[bytes("awr_12201.txt"), bytes("awr_12201.txt")].concat());
    for end in [30, whole.len() / 4, whole.len() / 2, whole.len() - 20] {
        // A file that ends within its first bytes is an error at once.
        let last = slob_awr::Reports::of(&whole[..end]).and_then(|reports| reports.last().unwrap());
        assert!(last.is_err(), "{end} of {}", whole.len());
    }
    assert_eq!(read(&whole).unwrap().len(), 2);
}

/// `TEST_AWR_MUTATIONS` sets their number; the default takes seconds.
#[test]
fn mutations_do_no_harm() {
    let count = if is_full() { 100_000 } else { 1_500 };
    let mut originals: Vec<Vec<u8>> = FIXTURES.iter().map(|fixture| bytes(fixture)).collect();
    originals.extend([several(), packed(&bytes("awr_12201.txt")), packed(&several())]);
    let mut random = Seeded(20_261_121);
    for _ in 0..count {
        let original = &originals[random.next(originals.len())];
        use_all(&mutated(original, &mut random));
    }
}

#[test]
fn mutations_of_real_reports_do_no_harm() {
    let mut random = Seeded(7);
    for path in real_files() {
        let original = std::fs::read(path).unwrap();
        for _ in 0..10 {
            use_all(&mutated(&original, &mut random));
        }
    }
}

fn cuts_are_errors(name: &str, whole: &[u8], cuts: usize) {
    let mut with_figures = 0;
    for cut in 0..cuts {
        let at = whole.len() * cut / cuts;
        match read(&whole[..at]) {
            Ok(_) => panic!("{name} cut at byte {at} of {} was read as if it were whole", whole.len()),
            Err(error) => match error.fault {
                Fault::CutShort { .. } => with_figures += usize::from(!error.read.is_empty()),
                Fault::NoReport { .. } => assert!(at < 20_000, "{name} cut at {at}"),
                fault => panic!("{name} cut at {at}: {fault}"),
            },
        }
    }
    assert!(with_figures * 10 > cuts * 7, "{name}: only {with_figures} of {cuts} cuts gave figures");
}

#[test]
fn truncations_are_errors_with_the_part_before() {
    let (cuts, of_real) = if is_full() { (200, 50) } else { (100, 15) };
    for fixture in ["awr_12201.txt", "statspack.txt", "awr_pdb.txt"] {
        let whole = bytes(fixture);
        for cut in 0..cuts {
            // A cut within the last line, which names the file, loses nothing.
            let end = whole.len() - 40;
            let at = end * cut / cuts;
            assert!(read(&whole[..at]).is_err(), "{fixture} cut at {at}");
        }
    }
    for path in real_files() {
        cuts_are_errors(&path.display().to_string(), &std::fs::read(&path).unwrap(), of_real);
    }
}

/// Other programs do not lengthen it.
fn on_cpu() -> Duration {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().unwrap()
}

/// Eight times the input may take 32 times as long at most; quadratic growth takes 64 times.
#[test]
fn time_grows_with_the_size_and_not_with_its_square() {
    let time = |bytes: &[u8]| {
        let once = || {
            let start = on_cpu();
            drop(read(bytes));
            on_cpu() - start
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    for fixture in FIXTURES {
        let body = bytes(fixture);
        let (small, large) = (time(&body.repeat(20)), time(&body.repeat(160)));
        assert!(large < small * 32 + Duration::from_millis(50), "{fixture}: {small:?}, {large:?}");
    }
    for filler in ["- ", "word ", "9", "<td>", "x:  1  "] {
        let small = format!("WORKLOAD REPOSITORY report for\n{}\nEnd of Report\n", filler.repeat(40_000));
        let large = format!("WORKLOAD REPOSITORY report for\n{}\nEnd of Report\n", filler.repeat(320_000));
        let (small, large) = (time(small.as_bytes()), time(large.as_bytes()));
        assert!(large < small * 32 + Duration::from_millis(50), "'{filler}': {small:?}, {large:?}");
    }
}

/// `slob awr info` shows the same figures with and without the sections that it leaves out.
#[test]
fn a_row_needs_no_more_than_its_own_sections() {
    let of = |bytes: &[u8], scope: Scope| -> Vec<(Row, Option<f64>, Option<String>, bool)> {
        let reports = Reports::of(bytes).unwrap().within(scope);
        let all = reports.flat_map(|read| read.unwrap_or_else(|error| error.read));
        all.map(|report| {
            let (sync, name) = (log_file_sync_us(&report), report.database.name.clone());
            let has_details = !report.histograms.is_empty() || !report.top_sql.is_empty();
            (Row::of(&Named::new("a", report)), sync, name, has_details)
        })
        .collect()
    };
    let fixtures = FIXTURES.iter().map(|fixture| (fixture.to_string(), bytes(fixture)));
    let real = real_files().into_iter().map(|path| (path.display().to_string(), fs::read(path).unwrap()));
    for (file, bytes) in fixtures.chain(real) {
        let (all, row) = (of(&bytes, Scope::All), of(&bytes, Scope::Row));
        assert_eq!(all.len(), row.len(), "{file}");
        for (all, row) in all.into_iter().zip(row) {
            assert_eq!((all.0, all.1, all.2), (row.0, row.1, row.2), "{file}");
            assert!(!row.3, "{file}: sections were read that no row is made of");
        }
    }
}
