//! The bytes of a file as text: archives, mails, compression and UTF-16.
//!
//! Everything streams, except the files of an archive and a mail: memory holds one of them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use mail_parser::MessageParser;
use mail_parser::mailbox::mbox::MessageIterator;

use crate::input::Pieces;

/// Bytes that decide how a file is packed and encoded.
const SNIFFED: usize = 4096;
/// An archive of packed files may be packed itself; more layers are an attack.
const MOST_LAYERS: usize = 3;
const MIB: u64 = 1024 * 1024;
/// No file of an archive, and no mail, is larger.
const MOST_BYTES: u64 = 64 * MIB;
/// So much may be unpacked from the smallest input.
const ALWAYS_UNPACKED: u64 = 128 * MIB;
/// A larger input may be unpacked to so many times its size. Reports shrink to a tenth or a thirtieth.
const MOST_TIMES: u64 = 100;
/// Files of an archive, those in archives within it included.
const MOST_FILES: u64 = 100_000;
/// Lines of a mail that may begin a field, a part or another mail. Each takes memory.
const MOST_FIELDS: usize = 500_000;

/// Unpacks files and mails and decodes UTF-16; other bytes stay as they are. The files of an archive follow each other.
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

/// What was unpacked from one input, in all its layers.
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

/// A reader that counts its bytes.
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

/// What a decoder gives, within the budget.
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
        Some(Packed::Bzip2) => {
            return unpacked(decoded(MultiBzDecoder::new(whole), budget), layers - 1, budget);
        }
        Some(Packed::Zip) => Box::new(BufReader::new(reports_of(
            zip_entries(whole, Rc::clone(budget)),
            layers,
            Rc::clone(budget),
        ))),
        Some(Packed::Tar) => {
            Box::new(BufReader::new(reports_of(tar_entries(whole), layers, Rc::clone(budget))))
        }
        Some(Packed::Mail) => {
            Box::new(BufReader::new(reports_of(mail_parts(whole)?, layers, Rc::clone(budget))))
        }
        None => match order {
            Some(order) => Box::new(BufReader::new(utf8_of(whole, order))),
            None => Box::new(BufReader::with_capacity(64 * 1024, whole)),
        },
    })
}

/// The kinds of files that hold others.
enum Packed {
    Gzip,
    Bzip2,
    Zip,
    Tar,
    /// A mail whose parts are encoded; others are read as they are.
    Mail,
}

impl Packed {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            _ if head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY") => Some(Self::Bzip2),
            _ if head.get(257..262) == Some(b"ustar") => Some(Self::Tar),
            _ if is_encoded_mail(head) => Some(Self::Mail),
            _ => None,
        }
    }
}

/// True for the fields of a mail and an encoding of it or of its first parts.
fn is_encoded_mail(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let first = text.lines().next().unwrap_or_default();
    let is_field = first.starts_with("from ")
        || first.split_once(':').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        });
    let encodings = ["quoted-printable", "base64"];
    let is_encoded = |line: &str| {
        line.strip_prefix("content-transfer-encoding:")
            .is_some_and(|value| encodings.iter().any(|encoding| value.contains(encoding)))
    };
    is_field && (text.lines().any(is_encoded) || text.contains("content-type: multipart/"))
}

/// The contents of files that begin a report, each from a line of its own.
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

/// The content of a packed file; one that is larger than any report is an error.
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

/// The files of a zip archive, read from its beginning to its end.
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

/// The files of a tar archive, read from its beginning to its end.
fn tar_entries<'a>(mut input: impl Read + 'a) -> impl FnMut() -> io::Result<Option<Vec<u8>>> + 'a {
    const BLOCK: u64 = 512;
    move || {
        let mut archive = tar::Archive::new(&mut input);
        let Some(entry) = archive.entries()?.next() else { return Ok(None) };
        let mut entry = entry?;
        let name = entry.path().map(|path| path.display().to_string()).unwrap_or_default();
        let bytes = content(&mut entry, &name)?;
        let rest = (BLOCK - bytes.len() as u64 % BLOCK) % BLOCK;
        io::copy(&mut input.by_ref().take(rest), &mut io::sink())?;
        Ok(Some(bytes))
    }
}

fn mail_parts<'a>(input: impl Read) -> io::Result<impl FnMut() -> io::Result<Option<Vec<u8>>> + 'a> {
    let bytes = content(input, "the mail")?;
    let may_begin =
        |line: &&[u8]| line.contains(&b':') || line.starts_with(b"--") || line.starts_with(b"From ");
    if bytes.split(|byte| *byte == b'\n').filter(may_begin).count() > MOST_FIELDS {
        return Err(io::Error::other(format!(
            "the mail has more than {MOST_FIELDS} lines of fields and parts"
        )));
    }
    let mails: Vec<Vec<u8>> = match bytes.starts_with(b"From ") {
        true => {
            MessageIterator::new(&*bytes).filter_map(Result::ok).map(|mail| mail.unwrap_contents()).collect()
        }
        false => vec![bytes],
    };
    let mut parts: VecDeque<Vec<u8>> = VecDeque::new();
    for mail in &mails {
        let Some(mail) = MessageParser::default().parse(mail) else { continue };
        let leaves = mail.parts.iter().filter(|part| !part.is_multipart());
        parts.extend(leaves.map(|part| part.contents().to_vec()));
    }
    Ok(move || Ok(parts.pop_front()))
}

type ByteOrder = fn([u8; 2]) -> u16;

/// The byte order of UTF-16, from its mark or from the zeros between western letters; `None` for other encodings.
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

/// A reader of the blocks that a function gives, up to its first `None`.
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
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bzip2.write_all(text.as_bytes()).unwrap();
        assert_eq!(read(&bzip2.finish().unwrap()), text);
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
