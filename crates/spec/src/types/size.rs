//! An amount of data: blocks, or bytes with a unit.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::BadValue;

/// The most blocks that a schema can have: 2^40.
pub const MAX_SCALE_BLOCKS: u64 = 1 << 40;

/// Units from the largest to the smallest: powers of 1024.
const UNITS: [(char, u64); 5] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10), ('B', 1)];

/// An amount of data, as a person writes it: a plain number counts blocks, a number with a unit bytes.
///
/// `10000` is 10,000 blocks whatever their size; `80M` is 80 MiB. The units K, M, G and T are powers of
/// 1024; B stands for single bytes. [`fmt::Display`] writes what [`FromStr`] reads, in the largest unit
/// that leaves a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// A number of blocks.
    Blocks(u64),
    /// A number of bytes.
    Bytes(u64),
}

impl Size {
    /// The whole blocks of `block_bytes` bytes that this amounts to, rounded down.
    ///
    /// A block size of 0 gives 0 blocks.
    #[must_use]
    pub fn blocks(self, block_bytes: u32) -> u64 {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Bytes(bytes) => bytes.checked_div(u64::from(block_bytes)).unwrap_or(0),
        }
    }
}

impl FromStr for Size {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::expected("a number of blocks, or a size such as 80M (units K, M, G, T)");
        let unit = text.chars().last().map(|last| last.to_ascii_uppercase());
        let factor = UNITS.iter().find(|(name, _)| Some(*name) == unit).map(|(_, factor)| *factor);
        let digits = if factor.is_some() { &text[..text.len() - 1] } else { text };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(bad());
        }
        let number: u64 = digits.parse().map_err(|_| bad())?;
        match factor {
            None => Ok(Self::Blocks(number)),
            Some(factor) => number.checked_mul(factor).map(Self::Bytes).ok_or_else(bad),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Blocks(blocks) => write!(f, "{blocks}"),
            Self::Bytes(0) => f.write_str("0B"),
            Self::Bytes(bytes) => {
                let unit = UNITS.iter().find(|(_, factor)| bytes % factor == 0);
                let (name, factor) = unit.unwrap_or(&('B', 1));
                write!(f, "{}{name}", bytes / factor)
            }
        }
    }
}

impl Serialize for Size {
    /// As the text of `slob.conf`.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("10000", 10_000)]
    #[case("80M", 10_240)]
    #[case("80m", 10_240)]
    #[case("1T", 1 << 27)]
    #[case("8K", 1)]
    #[case("7K", 0)]
    #[case("16385B", 2)]
    fn counts_whole_blocks_of_8_kib(#[case] text: &str, #[case] blocks: u64) {
        assert_eq!(text.parse::<Size>().map(|size| size.blocks(8192)), Ok(blocks));
    }

    #[rstest]
    #[case("")]
    #[case("M")]
    #[case("80MB")]
    #[case("80 M")]
    #[case("+80M")]
    #[case("-1")]
    #[case("1.5G")]
    #[case("80Ḿ")]
    #[case("18446744073709551616")]
    #[case("16777216T")]
    fn refuses(#[case] text: &str) {
        assert!(text.parse::<Size>().is_err());
    }

    #[test]
    fn is_written_as_it_was_read() {
        for text in ["10000", "80M", "1T", "3G", "5K", "16385B"] {
            assert_eq!(text.parse::<Size>().map(|size| size.to_string()), Ok(text.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn display_reads_back(number: u64, bytes: bool) {
            let size = if bytes { Size::Bytes(number) } else { Size::Blocks(number) };
            prop_assert_eq!(size.to_string().parse::<Size>(), Ok(size));
        }

        #[test]
        fn any_text_is_an_answer(text in "\\PC*") {
            let _ = text.parse::<Size>();
        }
    }
}
