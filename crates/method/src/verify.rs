//! Checks of rows that were read back.

use crate::content::{COLUMN_BYTES, COLUMNS, RowContent, Table, UpdateText};
use crate::operations::SchemaNo;
use crate::scatter::Scatter;
use crate::stamp::Stamp;

/// A row as an engine read it back.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    /// Positions begin with 1.
    pub position: u64,
    /// Key.
    pub custid: u64,
    /// c2 to c20.
    pub columns: [&'a [u8]; COLUMNS],
    /// May be empty.
    pub filler: &'a [u8],
}

/// State of a sound row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// The row is as loaded.
    Loaded,
    /// The update with this stamp came last.
    Updated(Stamp),
}

/// Fault of a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowFault {
    /// The key belongs elsewhere.
    #[error("holds key {found}, but key {expected} belongs there")]
    Key {
        /// Key of that position.
        expected: u64,
        /// Key that was read.
        found: u64,
    },
    /// No load or update writes such a column.
    #[error("column c{column} is neither as loaded nor as an update writes it")]
    Column {
        /// 2 to 20.
        column: usize,
    },
    /// Columns of one update have different versions.
    #[error("column c{column} has another version than the columns that are always updated with it")]
    Version {
        /// 2 to 20.
        column: usize,
    },
    /// The filler is not as loaded.
    #[error("the filler is not as loaded")]
    Filler,
}

/// Verifies the rows of one table.
#[derive(Clone, Debug)]
pub struct Verifier {
    content: RowContent,
    updates: UpdateText,
    schema: SchemaNo,
    scatter: Option<Scatter>,
    filler_bytes: usize,
}

impl Verifier {
    /// Without `scatter` it is the scan table, whose keys are positions.
    pub fn new(content: RowContent, schema: SchemaNo, scatter: Option<Scatter>, filler_bytes: usize) -> Self {
        let updates = content.update_text();
        Self { content, updates, schema, scatter, filler_bytes }
    }

    fn table(&self) -> Table {
        if self.scatter.is_some() { Table::Main } else { Table::Scan }
    }

    /// Checks every byte.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, row: &RowView<'_>) -> Result<RowState, RowFault> {
        let expected = self.key_at(row.position);
        if expected != Some(row.custid) {
            return Err(RowFault::Key { expected: expected.unwrap_or(0), found: row.custid });
        }
        let mut versions = [None; COLUMNS];
        for (column, version) in versions.iter_mut().enumerate() {
            *version = self.version(row, column)?;
        }
        self.check_filler(row)?;
        check_versions(&versions)?;
        Ok(versions[0].map_or(RowState::Loaded, RowState::Updated))
    }

    fn key_at(&self, position: u64) -> Option<u64> {
        match &self.scatter {
            Some(scatter) => (1..=scatter.n).contains(&position).then(|| scatter.key_at(position)),
            None => Some(position),
        }
    }

    /// `None` for a column as loaded.
    fn version(&self, row: &RowView<'_>, column: usize) -> Result<Option<Stamp>, RowFault> {
        let text = row.columns[column];
        if text.first() == Some(&b'1')
            && self.scatter.is_some()
            && let Some(stamp) = self.updates.stamp_of(column, text)
        {
            // UPDATEs change only the main table.
            return Ok(Some(stamp));
        }
        let mut loaded = [0; COLUMN_BYTES];
        self.content.fill_column(self.table(), self.schema, row.custid, column, &mut loaded);
        if text == loaded { Ok(None) } else { Err(RowFault::Column { column: column + 2 }) }
    }

    fn check_filler(&self, row: &RowView<'_>) -> Result<(), RowFault> {
        let mut expected = vec![0; self.filler_bytes];
        self.content.fill_filler(self.table(), self.schema, row.custid, &mut expected);
        if row.filler == expected { Ok(()) } else { Err(RowFault::Filler) }
    }
}

/// LITE sets c2 and c20, HEAVY all columns: c2 and c20 agree, and so do all between.
fn check_versions(versions: &[Option<Stamp>; COLUMNS]) -> Result<(), RowFault> {
    let (first, rest) = (versions[0], &versions[1..]);
    if rest[COLUMNS - 2] != first {
        return Err(RowFault::Version { column: COLUMNS + 1 });
    }
    let odd = rest[..COLUMNS - 2].iter().position(|version| *version != rest[0]);
    match odd {
        Some(i) => Err(RowFault::Version { column: i + 3 }),
        // HEAVY sets c2 too.
        None if first.is_none() && rest[0].is_some() => Err(RowFault::Version { column: 2 }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ROW_BYTES;
    use proptest::prelude::*;

    const FILLER: usize = 300;

    struct Stored {
        position: u64,
        custid: u64,
        text: Box<[u8; ROW_BYTES]>,
        filler: Vec<u8>,
    }

    impl Stored {
        fn loaded(content: RowContent, scatter: &Scatter, position: u64) -> Self {
            let custid = scatter.key_at(position);
            let mut text = Box::new([0; ROW_BYTES]);
            content.fill_row(Table::Main, schema(), custid, &mut text);
            let mut filler = vec![0; FILLER];
            content.fill_filler(Table::Main, schema(), custid, &mut filler);
            Self { position, custid, text, filler }
        }

        fn update(&mut self, updates: &UpdateText, stamp: Stamp, columns: impl Iterator<Item = usize>) {
            let (parts, _) = self.text.as_chunks_mut::<COLUMN_BYTES>();
            columns.for_each(|column| updates.fill_column(column, stamp, &mut parts[column]));
        }

        fn check(&self, verifier: &Verifier) -> Result<RowState, RowFault> {
            let (parts, _) = self.text.as_chunks::<COLUMN_BYTES>();
            verifier.check(&RowView {
                position: self.position,
                custid: self.custid,
                columns: std::array::from_fn(|column| &parts[column][..]),
                filler: &self.filler,
            })
        }
    }

    fn schema() -> SchemaNo {
        SchemaNo::new(2).unwrap()
    }

    fn setup(obfuscated: bool) -> (RowContent, Scatter, Verifier) {
        let content = RowContent::new(5, obfuscated);
        let scatter = Scatter::new(5, 2, 1000);
        (content, scatter.clone(), Verifier::new(content, schema(), Some(scatter), FILLER))
    }

    #[test]
    fn sound_rows_pass_in_every_state() {
        let (content, scatter, verifier) = setup(false);
        let updates = content.update_text();
        let mut row = Stored::loaded(content, &scatter, 10);
        assert_eq!(row.check(&verifier), Ok(RowState::Loaded));
        let (heavy, lite) = (Stamp::new(1, 1, 1), Stamp::new(1, 1, 2));
        row.update(&updates, heavy, 0..COLUMNS);
        assert_eq!(row.check(&verifier), Ok(RowState::Updated(heavy)));
        row.update(&updates, lite, [0, COLUMNS - 1].into_iter());
        assert_eq!(row.check(&verifier), Ok(RowState::Updated(lite)));
    }

    #[test]
    fn a_torn_update_is_found() {
        let (content, scatter, verifier) = setup(true);
        let updates = content.update_text();
        let stamp = Stamp::new(1, 1, 1);
        for columns in [0..1, 0..9, 18..19, 1..18, 3..5] {
            let mut row = Stored::loaded(content, &scatter, 10);
            row.update(&updates, stamp, columns.clone());
            assert!(matches!(row.check(&verifier), Err(RowFault::Version { .. })), "{columns:?}");
        }
    }

    #[test]
    fn a_row_at_the_wrong_position_is_found() {
        let (content, scatter, verifier) = setup(false);
        let mut row = Stored::loaded(content, &scatter, 10);
        row.position = 11;
        assert!(matches!(row.check(&verifier), Err(RowFault::Key { .. })));
        row.position = 5000;
        assert!(matches!(row.check(&verifier), Err(RowFault::Key { .. })));
    }

    proptest! {
        #[test]
        fn any_flipped_byte_is_found(
            obfuscated: bool, updated in 0..3, place in 0..ROW_BYTES + FILLER, flip in 1..=255u8, position in 1..=1000u64,
        ) {
            let (content, scatter, verifier) = setup(obfuscated);
            let mut row = Stored::loaded(content, &scatter, position);
            let updates = content.update_text();
            match updated {
                1 => row.update(&updates, Stamp::new(3, 1, position), [0, COLUMNS - 1].into_iter()),
                2 => row.update(&updates, Stamp::new(3, 1, position), 0..COLUMNS),
                _ => {}
            }
            prop_assert!(row.check(&verifier).is_ok());
            match place.checked_sub(ROW_BYTES) {
                None => row.text[place] ^= flip,
                Some(i) => row.filler[i] ^= flip,
            }
            prop_assert!(row.check(&verifier).is_err());
        }
    }
}
