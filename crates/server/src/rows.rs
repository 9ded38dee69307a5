//! The rows of a table: asked for in pieces, and counted.

use std::ops::Range;

use slob_engine::{EngineError, ErrorKind, Load};

/// The positions that lie in a table of so many rows, which begin at 1, in pieces of at most `size`.
pub fn chunks(positions: &Range<u64>, rows: u64, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (first, end) = (positions.start.max(1), positions.end.min(rows + 1));
    (first..end)
        .step_by(usize::try_from(size).unwrap_or(usize::MAX))
        .map(move |at| at..end.min(at.saturating_add(size)))
}

/// Makes sure that every key of a main table is there, by its number of different keys, and the least and the greatest: with as
/// many keys as there are numbers between the ends, none is missing.
///
/// # Errors
/// [`ErrorKind::Data`] with the numbers.
pub fn all_there(load: &Load, [rows, least, greatest]: [u64; 3], step: &str) -> Result<(), EngineError> {
    if (rows, least, greatest) == (load.scale, 1, load.scale) {
        return Ok(());
    }
    let message = format!("{rows} of {} rows exist", load.scale);
    Err(EngineError::new(ErrorKind::Data, step, message)
        .with_advice("remove the schema with `slob drop` and load it again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_rows_that_are_there() {
        let pieces = |positions| chunks(&positions, 10, 4).collect::<Vec<_>>();
        assert_eq!(pieces(0..100), [1..5, 5..9, 9..11]);
        assert_eq!(pieces(3..5), vec![3..5]);
        assert_eq!(chunks(&(2..100), 10, u64::MAX).collect::<Vec<_>>(), vec![2..11]);
        assert!(pieces(11..20).is_empty() && chunks(&(1..1), 0, 4).next().is_none());
    }

    #[test]
    fn a_missing_key_is_noticed_wherever_it_is() {
        let load = Load { seed: 1, scale: 10, scan_blocks: 0, obfuscated: false, slice_rows: 5 };
        assert!(all_there(&load, [10, 1, 10], "counting").is_ok());
        for counted in [[9, 1, 10], [9, 2, 10], [10, 1, 11], [0, 0, 0]] {
            assert_eq!(all_there(&load, counted, "counting").unwrap_err().kind(), ErrorKind::Data);
        }
    }
}
