//! The bytes of a file as text: zip archives, gzip and UTF-16. Memory holds one file of an archive.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use crate::input::Pieces;

const SNIFFED: usize = 4096;
/// An archive of packed files may be packed itself; more layers are an attack.
const MOST_LAYERS: usize = 3;
const MIB: u64 = 1024 * 1024;
const MOST_BYTES: u64 = 64 * MIB;
/// So much may be unpacked from the smallest input.
const ALWAYS_UNPACKED: u64 = 128 * MIB;
/// Reports shrink to a tenth or a thirtieth.
const MOST_TIMES: u64 = 100;
/// Includes files of archives within an archive.
const MOST_FILES: u64 = 100_000;

/// Other bytes stay as they are. The files of an archive follow each other.
pub(crate) fn plain<'a>(input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let budget = Rc::new(Budget { always: ALWAYS_UNPACKED, ..Budget::default() });
    let input = Metered {
        input,
        count: {
            let budget = Rc::clone(&budget);
            move |bytes| budget.read(bytes)
        },
    };
    unpacked(Box::new(input), MOST_LAYERS, &budget)
}

#[derive(Default)]
struct Budget {
    always: u64,
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    files: Cell<u64>,
}

impl Budget {
    fn read(&self, bytes: u64) -> io::Result<()> {
        self.packed.update(|packed| packed + bytes);
        Ok(())
    }

    fn unpack(&self, bytes: u64) -> io::Result<()> {
        self.unpacked.update(|unpacked| unpacked + bytes);
        if self.unpacked.get() <= self.always.max(self.packed.get().saturating_mul(MOST_TIMES)) {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "it unpacks to more than {} MiB and to more than {MOST_TIMES} times its size, which no reports do: unpack it \
             to read what is in it",
            self.always / MIB
        )))
    }

    fn file(&self) -> io::Result<()> {
        self.files.update(|files| files + 1);
        match self.files.get() > MOST_FILES {
            true => Err(io::Error::other(format!(
                "it holds more than {MOST_FILES} files: unpack it to read them"
            ))),
            false => Ok(()),
        }
    }
}

struct Metered<R, F> {
    input: R,
    count: F,
}

impl<R: Read, F: FnMut(u64) -> io::Result<()>> Read for Metered<R, F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        (self.count)(read as u64)?;
        Ok(read)
    }
}

fn decoded<'a>(input: impl Read + 'a, budget: &Rc<Budget>) -> Box<dyn Read + 'a> {
    let budget = Rc::clone(budget);
    Box::new(Metered { input, count: move |bytes| budget.unpack(bytes) })
}

fn unpacked<'a>(
    mut input: Box<dyn Read + 'a>,
    layers: usize,
    budget: &Rc<Budget>,
) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::with_capacity(SNIFFED);
    input.by_ref().take(SNIFFED as u64).read_to_end(&mut head)?;
    let order = utf16_order(&head);
    let packed = Packed::of(&head).filter(|_| layers > 0);
    let whole = Cursor::new(head).chain(input);
    Ok(match packed {
        Some(Packed::Gzip) => {
            return unpacked(decoded(MultiGzDecoder::new(whole), budget), layers - 1, budget);
        }
        Some(Packed::Zip) => Box::new(BufReader::new(reports_of(
            zip_entries(whole, Rc::clone(budget)),
            layers,
            Rc::clone(budget),
        ))),
        None => match order {
            Some(order) => Box::new(BufReader::new(utf8_of(whole, order))),
            None => Box::new(BufReader::with_capacity(64 * 1024, whole)),
        },
    })
}

enum Packed {
    Gzip,
    Zip,
}

impl Packed {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            _ => None,
        }
    }
}

fn reports_of<'a>(
    mut entries: impl FnMut() -> io::Result<Option<Vec<u8>>> + 'a,
    layers: usize,
    budget: Rc<Budget>,
) -> Blocks<impl FnMut() -> io::Result<Option<Vec<u8>>> + 'a> {
    let mut is_over = false;
    Blocks::new(move || {
        while let Some(bytes) = if is_over { None } else { entries()? } {
            budget.file()?;
            let mut text = content(unpacked(Box::new(&*bytes), layers - 1, &budget)?, "a file")?;
            let is_report = Pieces::new(Box::new(&*text)).head().is_some();
            if is_report {
                text.push(b'\n');
                return Ok(Some(text));
            }
        }
        is_over = true;
        Ok(None)
    })
}

fn content(entry: impl Read, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(io::Error::other(format!(
            "'{}' has more than {} MiB, which no report has",
            name.escape_default(),
            MOST_BYTES / MIB
        ))),
        false => Ok(bytes),
    }
}

fn zip_entries<'a>(
    mut input: impl Read + 'a,
    budget: Rc<Budget>,
) -> impl FnMut() -> io::Result<Option<Vec<u8>>> + 'a {
    move || {
        let entry = zip::read::read_zipfile_from_stream(&mut input).map_err(io::Error::other)?;
        let Some(mut entry) = entry else { return Ok(None) };
        let name = entry.name().map(std::borrow::Cow::into_owned).unwrap_or_default();
        content(Metered { input: &mut entry, count: |bytes| budget.unpack(bytes) }, &name).map(Some)
    }
}

type ByteOrder = fn([u8; 2]) -> u16;

/// A mark or the zeros between western letters tell it; `None` for other encodings.
fn utf16_order(head: &[u8]) -> Option<ByteOrder> {
    match head {
        [0xff, 0xfe, ..] => return Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return Some(u16::from_be_bytes),
        _ => {}
    }
    let pairs = head.chunks_exact(2);
    let count = pairs.len();
    let mostly_zero = |at: usize| {
        let zeros = pairs.clone().filter(|pair| pair[at] == 0 && pair[1 - at] != 0).count();
        count >= 8 && zeros * 10 >= count * 9
    };
    match (mostly_zero(1), mostly_zero(0)) {
        (true, _) => Some(u16::from_le_bytes),
        (_, true) => Some(u16::from_be_bytes),
        _ => None,
    }
}

fn utf8_of(mut input: impl Read, order: ByteOrder) -> impl Read {
    // The first half of a surrogate pair at the end of a block.
    let mut odd: Option<u16> = None;
    Blocks::new(move || {
        let mut bytes = Vec::with_capacity(16 * 1024);
        if input.by_ref().take(16 * 1024).read_to_end(&mut bytes)? == 0 && odd.is_none() {
            return Ok(None);
        }
        let is_end = bytes.is_empty();
        let units = bytes.chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
        let mut units: Vec<u16> = odd.take().into_iter().chain(units).collect();
        if !is_end {
            odd = units.pop_if(|last| (0xd800..0xdc00).contains(last));
        }
        let symbols = char::decode_utf16(units).map(|symbol| symbol.unwrap_or('?'));
        let text: String = symbols.filter(|symbol| *symbol != '\u{feff}').collect();
        Ok(Some(text.into_bytes()))
    })
}

pub(crate) struct Blocks<F> {
    next: F,
    ready: Cursor<Vec<u8>>,
}

impl<F: FnMut() -> io::Result<Option<Vec<u8>>>> Blocks<F> {
    pub(crate) fn new(next: F) -> Self {
        Self { next, ready: Cursor::default() }
    }
}

impl<F: FnMut() -> io::Result<Option<Vec<u8>>>> Read for Blocks<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ready.position() == self.ready.get_ref().len() as u64 {
            let Some(block) = (self.next)()? else { return Ok(0) };
            self.ready = Cursor::new(block);
        }
        self.ready.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        plain(bytes).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn packed_files_are_unpacked() {
        let text = "WORKLOAD REPOSITORY report for\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(read(&gzip), text);
        assert_eq!(read(&[gzip.clone(), gzip].concat()), text.repeat(2));
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    fn zip(files: &[Vec<u8>]) -> Vec<u8> {
        let mut packer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (number, file) in files.iter().enumerate() {
            packer.start_file(number.to_string(), zip::write::SimpleFileOptions::default()).unwrap();
            packer.write_all(file).unwrap();
        }
        packer.finish().unwrap().into_inner()
    }

    /// The error of a file of which 1 MiB may be unpacked, if not less than 100 times its size.
    fn refusal(packed: &[u8]) -> Option<String> {
        let budget =
            Rc::new(Budget { always: MIB, packed: Cell::new(packed.len() as u64), ..Budget::default() });
        let read = unpacked(Box::new(packed), MOST_LAYERS, &budget);
        read.and_then(|mut read| io::copy(&mut read, &mut io::sink())).err().map(|error| error.to_string())
    }

    #[test]
    fn all_layers_of_an_input_share_one_budget() {
        let report = format!("WORKLOAD REPOSITORY report for\n{}", "x".repeat(MIB as usize * 2 / 5));
        let one = report.as_bytes().to_vec();
        assert_eq!(refusal(&gzip(&one)), None);
        let bombs = [
            gzip(&one.repeat(3)),
            zip(&[one.clone(), one.clone(), one.clone()]),
            zip(&[zip(&[one.clone(), one.clone()]), zip(std::slice::from_ref(&one))]),
            zip(&[gzip(&one), gzip(&one), gzip(&one)]),
        ];
        for bomb in bombs {
            let refusal = refusal(&bomb).unwrap();
            assert!(refusal.contains("more than 1 MiB and to more than 100 times its size"), "{refusal}");
        }
        // A large archive is not small and crafted.
        let letters =
            (0..MIB as u32 * 3).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>();
        assert_eq!(refusal(&gzip(&letters)), None);
    }

    #[test]
    fn utf16_needs_no_mark() {
        let text = "WORKLOAD REPOSITORY report für \u{1f600} all\n".repeat(2000);
        for order in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            assert_eq!(read(&utf16(&text, order)), text);
            assert_eq!(read(&utf16(&format!("\u{feff}{text}"), order)), text);
        }
        assert!(utf16_order(b"an ordinary text of bytes").is_none());
    }
}
