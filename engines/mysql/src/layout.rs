//! One row in each page, where InnoDB would put two.
//!
//! InnoDB wants room for two of the largest rows in a page, and there is no setting that leaves a page emptier than
//! that. But a page that is full splits where the new row belongs: with a row of nearly half a page (a *sentinel*)
//! behind the place where rows arrive in ascending order, and rows so large that two of them do not fit beside it, each
//! split leaves one row behind and carries the sentinel on. So each slice lies between two sentinels, made before the
//! first row. Sentinels carry no key and no text, and no operation sees them.

use std::ops::Range;

use slob_engine::{EngineError, ErrorKind};
use slob_method::{COLUMNS, ROW_BYTES};

/// Bytes of a row beside its text and its filler: header, lengths, keys, and what InnoDB adds.
const ROW_OVERHEAD: usize = 5 + 1 + COLUMNS + 2 + 8 + 8 + 6 + 7;

/// What a page size makes of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLayout {
    page: usize,
}

impl RowLayout {
    /// For pages of that many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if one row in each page can't be had.
    pub(crate) fn of_page(bytes: u32, step: &str) -> Result<Self, EngineError> {
        match bytes {
            8192 | 16_384 | 32_768 => Ok(Self { page: bytes as usize }),
            4096 => Err(refused(
                step,
                bytes,
                "a row of 2,432 bytes of text, where InnoDB takes no more than half a page",
            )),
            _ => Err(refused(step, bytes, "one row in each page, since no row may be as long as half of it")),
        }
    }

    /// Bytes of the filler of each row. Twice a row and a sentinel are more than a page; one and a sentinel are less.
    pub(crate) fn filler_bytes(self) -> usize {
        (self.page / 4 + 128).saturating_sub(ROW_BYTES + ROW_OVERHEAD)
    }

    /// Bytes of the filler of each sentinel: the longest row that fits twice, with a margin.
    pub(crate) fn sentinel_bytes(self) -> usize {
        self.page / 2 - 240
    }
}

fn refused(step: &str, bytes: u32, what: &str) -> EngineError {
    EngineError::new(ErrorKind::Usage, step, format!("pages of {bytes} bytes can't hold {what}"))
        .with_advice("use a server with innodb_page_size=16k (the default), 8k or 32k")
}

/// Pages of a table that hold no row: the one of the first sentinel, from which the second one and the first row split
/// off. All other sentinels lie beside a row.
pub(crate) const PAGES_WITHOUT_ROWS: u64 = 1;

/// The primary key of the row at a position: between two of them lie two places for sentinels.
pub(crate) fn pos(position: u64) -> u64 {
    3 * position
}

/// The position of the row with a primary key.
pub(crate) fn position(pos: u64) -> u64 {
    pos / 3
}

/// The primary keys of the sentinels of a table with such slices, ascending.
pub(crate) fn sentinels(slices: impl Iterator<Item = Range<u64>>) -> impl Iterator<Item = u64> {
    // The first makes the page of the first slice's lower one full.
    [0].into_iter().chain(slices.flat_map(|slice| [pos(slice.start) - 1, pos(slice.end) - 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a page holds beside its rows: headers, trailer, the two boundary records, the directory.
    const PAGE_OVERHEAD: usize = 38 + 56 + 26 + 8 + 4;

    #[test]
    fn two_rows_and_a_sentinel_do_not_fit_and_one_does() {
        for page in [8192, 16_384, 32_768] {
            let layout = RowLayout::of_page(page, "test").unwrap();
            let room = page as usize - PAGE_OVERHEAD;
            let row = ROW_BYTES + ROW_OVERHEAD + layout.filler_bytes();
            let sentinel = layout.sentinel_bytes() + 40;
            assert!(2 * row + sentinel > room && row + sentinel < room, "{page}: {row} {sentinel}");
            assert!(2 * sentinel < room && 2 * sentinel + row > room, "{page}: two sentinels fill a page");
            // The limit of the server: half a page without its headers.
            assert!(sentinel < room / 2 && row < room / 2, "{page}: {row} {sentinel}");
        }
        assert!([4096, 65_536].into_iter().all(|page| RowLayout::of_page(page, "test").is_err()));
    }

    #[test]
    fn sentinels_lie_around_the_slices() {
        let keys: Vec<u64> = sentinels([1..5, 5..8].into_iter()).collect();
        assert_eq!(keys, [0, 2, 13, 14, 22]);
        assert_eq!((pos(1), pos(4), pos(5), pos(7)), (3, 12, 15, 21));
        assert_eq!(position(pos(7)), 7);
    }
}
