//! Content of rows: computed, never stored, so that any row can be checked at any time.

use crate::operations::SchemaNo;
use crate::rng::{self, Rng};
use crate::stamp::{STAMP_BYTES, Stamp, hex16};

/// Columns c2 to c20.
pub const COLUMNS: usize = 19;
/// ASCII characters of one column.
pub const COLUMN_BYTES: usize = 128;
/// Text of a row.
pub const ROW_BYTES: usize = COLUMNS * COLUMN_BYTES;
const TAIL_BYTES: usize = COLUMN_BYTES - STAMP_BYTES;

/// The two tables of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// `cf1`, scattered and indexed.
    Main,
    /// `cf2`, for short scans.
    Scan,
}

impl Table {
    /// Every engine has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "cf1",
            Self::Scan => "cf2",
        }
    }
}

/// Generates the rows of one load.
///
/// A column is a group of 16 hexadecimal digits, of which the first is 0, from (seed, table, schema, key, column), eight times;
/// or, obfuscated, once and 112 characters of six bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowContent {
    seed: u64,
    obfuscated: bool,
}

impl RowContent {
    /// `obfuscated` is OBFUSCATE_COLUMNS.
    pub fn new(seed: u64, obfuscated: bool) -> Self {
        Self { seed, obfuscated }
    }

    fn row_key(self, table: Table, schema: SchemaNo, custid: u64) -> u64 {
        rng::key(&[self.seed, table as u64, u64::from(schema.get()), custid])
    }

    /// Writes all columns as loaded, c2 first.
    pub fn fill_row(self, table: Table, schema: SchemaNo, custid: u64, out: &mut [u8; ROW_BYTES]) {
        let key = self.row_key(table, schema, custid);
        for (column, out) in out.as_chunks_mut::<COLUMN_BYTES>().0.iter_mut().enumerate() {
            self.fill_block(key, column as u64, out);
        }
    }

    /// `column` 0 is c2.
    pub(crate) fn fill_column(
        self,
        table: Table,
        schema: SchemaNo,
        custid: u64,
        column: usize,
        out: &mut [u8; COLUMN_BYTES],
    ) {
        self.fill_block(self.row_key(table, schema, custid), column as u64, out);
    }

    /// Writes a filler of any length, which UPDATEs never change.
    pub fn fill_filler(self, table: Table, schema: SchemaNo, custid: u64, out: &mut [u8]) {
        let key = self.row_key(table, schema, custid);
        for (i, part) in out.chunks_mut(COLUMN_BYTES).enumerate() {
            let mut block = [0; COLUMN_BYTES];
            self.fill_block(key, (COLUMNS + i) as u64, &mut block);
            part.copy_from_slice(&block[..part.len()]);
        }
    }

    fn fill_block(self, row_key: u64, number: u64, out: &mut [u8; COLUMN_BYTES]) {
        let word = rng::mix(row_key ^ rng::mix(number + 1)) >> 4;
        let (groups, _) = out.as_chunks_mut::<STAMP_BYTES>();
        groups[0] = hex16(word);
        if self.obfuscated {
            fill_noise(word, &mut out[STAMP_BYTES..]);
        } else {
            let first = groups[0];
            groups[1..].fill(first);
        }
    }

    /// Values of UPDATEs.
    pub fn update_text(self) -> UpdateText {
        let mut tails = [[0; TAIL_BYTES]; COLUMNS];
        for (column, tail) in tails.iter_mut().enumerate() {
            let word = rng::key(&[self.seed, 0x7570_6461_7465, column as u64]);
            if self.obfuscated {
                fill_noise(word, tail);
            } else {
                tail.as_chunks_mut::<STAMP_BYTES>().0.fill(hex16(word));
            }
        }
        UpdateText { tails }
    }
}

/// A random number gives ten of 64 letters.
fn fill_noise(seed: u64, out: &mut [u8]) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    let mut rng = Rng::new(seed);
    for part in out.chunks_mut(10) {
        let mut bits = rng.next_u64();
        for letter in part {
            *letter = LETTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// Text of an UPDATE: the [`Stamp`] in 16 hexadecimal digits, then a constant tail. A server's loop builds only the stamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateText {
    tails: [[u8; TAIL_BYTES]; COLUMNS],
}

impl UpdateText {
    /// Tail of a column; 0 is c2.
    ///
    /// # Panics
    /// If `column` is not below [`COLUMNS`].
    pub fn tail(&self, column: usize) -> &str {
        std::str::from_utf8(&self.tails[column]).unwrap_or_default()
    }

    /// Writes the whole column.
    pub fn fill_column(&self, column: usize, stamp: Stamp, out: &mut [u8; COLUMN_BYTES]) {
        out[..STAMP_BYTES].copy_from_slice(&stamp.hex());
        out[STAMP_BYTES..].copy_from_slice(&self.tails[column]);
    }

    /// `None` unless every byte is right.
    pub(crate) fn stamp_of(&self, column: usize, text: &[u8]) -> Option<Stamp> {
        let (stamp, tail) = text.split_at_checked(STAMP_BYTES)?;
        (tail == self.tails[column]).then(|| Stamp::parse(stamp)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(content: RowContent, schema: u16, custid: u64) -> [u8; ROW_BYTES] {
        let mut out = [0; ROW_BYTES];
        content.fill_row(Table::Main, SchemaNo::new(schema).unwrap(), custid, &mut out);
        out
    }

    #[test]
    fn rows_are_ascii_repeatable_and_all_different() {
        for obfuscated in [false, true] {
            let content = RowContent::new(11, obfuscated);
            let first = row(content, 1, 5);
            assert!(first.iter().all(|b| b.is_ascii_alphanumeric() || b"+-".contains(b)));
            assert_eq!(first, row(content, 1, 5));
            assert_ne!(first, row(content, 1, 6));
            assert_ne!(first, row(content, 2, 5));
            assert_ne!(first, row(RowContent::new(12, obfuscated), 1, 5));
            assert_ne!(first[..COLUMN_BYTES], first[COLUMN_BYTES..2 * COLUMN_BYTES]);
            assert!(first.chunks(COLUMN_BYTES).all(|column| column[0] == b'0'));
        }
    }

    #[test]
    fn one_column_is_what_the_row_holds() {
        let content = RowContent::new(3, true);
        let all = row(content, 4, 77);
        let mut one = [0; COLUMN_BYTES];
        content.fill_column(Table::Main, SchemaNo::new(4).unwrap(), 77, 18, &mut one);
        assert_eq!(one, all[18 * COLUMN_BYTES..]);
    }

    #[test]
    fn obfuscated_columns_use_all_letters_evenly() {
        let content = RowContent::new(1, true);
        let mut counts = [0u32; 256];
        for custid in 1..=200 {
            for column in row(content, 1, custid).chunks(COLUMN_BYTES) {
                column[STAMP_BYTES..].iter().for_each(|b| counts[usize::from(*b)] += 1);
            }
        }
        let used: Vec<u32> = counts.into_iter().filter(|c| *c > 0).collect();
        assert_eq!(used.len(), 64);
        let expected = (200 * COLUMNS * TAIL_BYTES / 64) as f64;
        assert!(used.iter().all(|c| (f64::from(*c) / expected - 1.0).abs() < 0.08), "{used:?}");
    }

    #[test]
    fn updates_carry_their_stamp() {
        let text = RowContent::new(3, false).update_text();
        let stamp = Stamp::new(9, 1, 2);
        let mut column = [0; COLUMN_BYTES];
        text.fill_column(7, stamp, &mut column);
        assert_eq!(text.stamp_of(7, &column), Some(stamp));
        assert_eq!(text.stamp_of(6, &column), None, "another column's tail");
        assert_eq!(&column[16..], text.tail(7).as_bytes());
    }
}
