//! The mark of an UPDATE, with a checksum.

use crate::rng;

pub(crate) const STAMP_BYTES: usize = 16;

/// Version that an UPDATE writes.
///
/// Bits 60..64 hold the tag 1 (a loaded column begins with 0), bits 16..60 identify the update, bits 0..16 are a CRC of the rest.
/// As a signed number it is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(u64);

const TAG: u64 = 1 << 60;
const ID_BITS: u64 = (1 << 44) - 1;

impl Stamp {
    /// A `nonce` for each run makes repeated runs write new values: stamps are equal with a probability of 2^-44.
    #[inline]
    pub fn new(nonce: u64, session: u32, operation: u64) -> Self {
        let id = rng::key(&[nonce, u64::from(session), operation]) & ID_BITS;
        let body = TAG | id << 16;
        Self(body | u64::from(crc16(body >> 16)))
    }

    /// The stamp as a number, for text that SQL builds.
    pub fn number(self) -> u64 {
        self.0
    }

    /// First 16 characters of each updated column.
    pub fn hex(self) -> [u8; 16] {
        hex16(self.0)
    }

    /// `None` if the text is no stamp, or is damaged.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() != 16 {
            return None;
        }
        let number = text.iter().try_fold(0u64, |n, digit| {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            Some(n << 4 | u64::from(value))
        })?;
        (number >> 60 == 1 && number & 0xffff == u64::from(crc16(number >> 16))).then_some(Self(number))
    }
}

pub(crate) fn hex16(number: u64) -> [u8; 16] {
    let mut text = [0; 16];
    for (i, digit) in text.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - 4 * i) & 15) as usize];
    }
    text
}

/// CRC-16/XMODEM (polynomial 0x1021) over the low 48 bits finds every error within 16 neighbouring bits.
fn crc16(body: u64) -> u16 {
    let mut crc = 0u16;
    for byte in body.to_be_bytes().into_iter().skip(2) {
        crc ^= u16::from(byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
        }
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn crc_is_the_published_one() {
        // Python: binascii.crc_hqx(b"123456", 0).
        assert_eq!(crc16(0), 0);
        assert_eq!(crc16(u64::from_be_bytes([0, 0, b'1', b'2', b'3', b'4', b'5', b'6'])), 0x20e4);
    }

    proptest! {
        #[test]
        fn parses_what_it_prints(nonce: u64, session: u32, operation: u64) {
            let stamp = Stamp::new(nonce, session, operation);
            prop_assert_eq!(Stamp::parse(&stamp.hex()), Some(stamp));
            prop_assert!(stamp.number() < i64::MAX as u64);
        }

        #[test]
        fn any_damaged_byte_shows(nonce: u64, place in 0usize..16, byte: u8) {
            let mut text = Stamp::new(nonce, 1, 1).hex();
            prop_assume!(text[place] != byte);
            text[place] = byte;
            prop_assert_eq!(Stamp::parse(&text), None);
        }
    }
}
