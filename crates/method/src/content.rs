//! What a row contains: computed, never remembered, so that any row can be checked at any time.

use crate::rng::{self, Rng};
use crate::schema_no::SchemaNo;
use crate::stamp::{Stamp, hex16};

/// Columns of text in a row: c2 to c20.
pub const COLUMNS: usize = 19;
/// Bytes (and characters: it is all ASCII) of one column.
pub const COLUMN_BYTES: usize = 128;
/// Bytes of all text columns of a row.
pub const ROW_BYTES: usize = COLUMNS * COLUMN_BYTES;
const STAMP_BYTES: usize = 16;
const TAIL_BYTES: usize = COLUMN_BYTES - STAMP_BYTES;

/// The two tables of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// `cf1`: the main table, scattered and indexed.
    Main,
    /// `cf2`: the table of the short scans.
    Scan,
}

impl Table {
    /// The table's name in every engine.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "cf1",
            Self::Scan => "cf2",
        }
    }
}

/// Generates the rows of one load.
///
/// A loaded column is 128 characters made from (seed, table, schema, key, column): one group of 16 hexadecimal
/// digits, of which the first is 0, repeated eight times; or, obfuscated, the group followed by 112 characters
/// that no storage can compress below six bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowContent {
    seed: u64,
    obfuscated: bool,
}

impl RowContent {
    /// The content that belongs to a load's seed and to its OBFUSCATE_COLUMNS.
    #[must_use]
    pub fn new(seed: u64, obfuscated: bool) -> Self {
        Self { seed, obfuscated }
    }

    fn row_key(self, table: Table, schema: SchemaNo, custid: u64) -> u64 {
        rng::key(&[self.seed, table as u64, u64::from(schema.get()), custid])
    }

    /// Writes all text columns of a row as loaded, c2 first.
    pub fn fill_row(self, table: Table, schema: SchemaNo, custid: u64, out: &mut [u8; ROW_BYTES]) {
        let key = self.row_key(table, schema, custid);
        for (column, out) in out.as_chunks_mut::<COLUMN_BYTES>().0.iter_mut().enumerate() {
            self.fill_block(key, column as u64, out);
        }
    }

    /// Writes one text column of a row as loaded; `column` 0 is c2.
    pub fn fill_column(
        self,
        table: Table,
        schema: SchemaNo,
        custid: u64,
        column: usize,
        out: &mut [u8; COLUMN_BYTES],
    ) {
        self.fill_block(self.row_key(table, schema, custid), column as u64, out);
    }

    /// Writes the filler that some layouts need to make a row as large as a block; of any length, never updated.
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

    /// The texts that the UPDATEs of a run write.
    #[must_use]
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

/// Fills with characters of a 64-letter alphabet, ten from each random number.
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

/// What an UPDATE writes into a column: the operation's [`Stamp`] in 16 hexadecimal digits, then a tail of 112
/// characters that belongs to the column and stays the same, so that a server-side loop has to build nothing but
/// the stamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateText {
    tails: [[u8; TAIL_BYTES]; COLUMNS],
}

impl UpdateText {
    /// The constant part of a column; `column` 0 is c2.
    ///
    /// # Panics
    /// If `column` is not below [`COLUMNS`].
    #[must_use]
    pub fn tail(&self, column: usize) -> &str {
        std::str::from_utf8(&self.tails[column]).unwrap_or_default()
    }

    /// Writes the whole column as updated by the operation of that stamp.
    pub fn fill_column(&self, column: usize, stamp: Stamp, out: &mut [u8; COLUMN_BYTES]) {
        out[..STAMP_BYTES].copy_from_slice(&stamp.hex());
        out[STAMP_BYTES..].copy_from_slice(&self.tails[column]);
    }

    /// The stamp of an updated column; `None` unless every one of its bytes is right.
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
