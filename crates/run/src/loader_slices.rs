//! How large the slices of a load are: what a kill costs, against what a piece costs.

/// Data of a piece of a table: bounds what a kill costs, and the memory of engines that buffer a slice.
const PIECE_BYTES: u64 = 64 << 20;
/// Data of the largest table that is loaded as a single slice: what a kill costs then is the tables under way, minutes
/// of work and not hours.
const WHOLE_TABLE_BYTES: u64 = 64 << 30;

/// What decides the size of slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slicing {
    /// The engine profits from whole tables ([`slob_engine::Capabilities::whole_tables`]).
    pub(crate) whole_tables: bool,
    /// Rows of the larger table of a schema.
    pub(crate) rows: u64,
    /// Bytes of a block, which holds one row.
    pub(crate) block_bytes: u32,
}

impl Slicing {
    /// Rows of a slice. A whole table takes one stream at a time; measured on PostgreSQL 15 and 18, that one is still
    /// done sooner than two streams with pieces of the same table, each block of which is then read and written again.
    pub(crate) fn rows_of_slice(self) -> u64 {
        let block_bytes = u64::from(self.block_bytes);
        let fits = self.rows.saturating_mul(block_bytes) <= WHOLE_TABLE_BYTES;
        if self.whole_tables && fits {
            return self.rows.max(1);
        }
        (PIECE_BYTES / block_bytes).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Slicing = Slicing { whole_tables: true, rows: 131_072, block_bytes: 8192 };
    const PIECE: u64 = 8192;

    #[test]
    fn whole_tables_only_where_they_pay() {
        assert_eq!(WHOLE.rows_of_slice(), 131_072);
        assert_eq!(Slicing { whole_tables: false, ..WHOLE }.rows_of_slice(), PIECE);
    }

    #[test]
    fn a_table_that_takes_hours_is_loaded_in_pieces() {
        let rows = WHOLE_TABLE_BYTES / 8192;
        assert_eq!(Slicing { rows, ..WHOLE }.rows_of_slice(), rows);
        assert_eq!(Slicing { rows: rows + 1, ..WHOLE }.rows_of_slice(), PIECE);
        assert_eq!(Slicing { rows: u64::MAX, ..WHOLE }.rows_of_slice(), PIECE);
    }
}
