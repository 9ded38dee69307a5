//! What a file is packed and encoded in: gzip, bzip2, UTF-16.
//!
//! Everything streams: of a large file only a window is in memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

/// How much is looked at to tell what a file is.
const SNIFFED: usize = 4096;
/// A file may be packed twice by accident; more often is an attack.
const MOST_LAYERS: usize = 2;

/// The plain bytes of a file, which may be packed or UTF-16. What is neither stays as it is.
///
/// # Errors
/// If the first bytes can't be read.
pub(crate) fn plain<'a>(input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    unpacked(Box::new(input), MOST_LAYERS)
}

fn unpacked<'a>(mut input: Box<dyn Read + 'a>, layers: usize) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::with_capacity(SNIFFED);
    input.by_ref().take(SNIFFED as u64).read_to_end(&mut head)?;
    let order = wide(&head);
    let is_gzip = head.starts_with(&[0x1f, 0x8b]);
    let is_bzip2 = head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY");
    let whole = Cursor::new(head).chain(input);
    if layers > 0 && is_gzip {
        return unpacked(Box::new(MultiGzDecoder::new(whole)), layers - 1);
    }
    if layers > 0 && is_bzip2 {
        return unpacked(Box::new(MultiBzDecoder::new(whole)), layers - 1);
    }
    Ok(match order {
        Some(order) => {
            Box::new(BufReader::new(Wide { input: whole, order, ready: Vec::new(), at: 0, odd: None }))
        }
        None => Box::new(BufReader::with_capacity(64 * 1024, whole)),
    })
}

/// The order of the bytes of UTF-16.
type Order = fn([u8; 2]) -> u16;

/// By the mark that it begins with, or by the zeros between the letters of western text.
fn wide(head: &[u8]) -> Option<Order> {
    match head {
        [0xff, 0xfe, ..] => return Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return Some(u16::from_be_bytes),
        _ => {}
    }
    let pairs = head.chunks_exact(2);
    let count = pairs.len();
    let zeros = |at: usize| pairs.clone().filter(|pair| pair[at] == 0 && pair[1 - at] != 0).count();
    let most = |zeros: usize| count >= 8 && zeros * 10 >= count * 9;
    match (most(zeros(1)), most(zeros(0))) {
        (true, _) => Some(u16::from_le_bytes),
        (_, true) => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// UTF-16 as UTF-8.
struct Wide<R> {
    input: R,
    order: Order,
    ready: Vec<u8>,
    at: usize,
    /// The first half of a pair that the last piece of input ended in.
    odd: Option<u16>,
}

impl<R: Read> Read for Wide<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() {
            let mut bytes = Vec::with_capacity(16 * 1024);
            if self.input.by_ref().take(16 * 1024).read_to_end(&mut bytes)? == 0 && self.odd.is_none() {
                return Ok(0);
            }
            let is_end = bytes.is_empty();
            let units = bytes.chunks_exact(2).map(|pair| (self.order)([pair[0], pair[1]]));
            let mut units: Vec<u16> = self.odd.take().into_iter().chain(units).collect();
            if !is_end {
                self.odd = units.pop_if(|last| (0xd800..0xdc00).contains(last));
            }
            let text: String = char::decode_utf16(units)
                .map(|symbol| symbol.unwrap_or('?'))
                .filter(|symbol| *symbol != '\u{feff}')
                .collect();
            self.ready = text.into_bytes();
            self.at = 0;
        }
        let count = into.len().min(self.ready.len() - self.at);
        into[..count].copy_from_slice(&self.ready[self.at..self.at + count]);
        self.at += count;
        Ok(count)
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

    #[test]
    fn utf16_needs_no_mark() {
        let text = "WORKLOAD REPOSITORY report für \u{1f600} all\n".repeat(2000);
        for order in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            assert_eq!(read(&utf16(&text, order)), text);
            assert_eq!(read(&utf16(&format!("\u{feff}{text}"), order)), text);
        }
        assert!(wide(b"an ordinary text of bytes").is_none());
    }
}
