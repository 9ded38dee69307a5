//! Loads: parameters, slices, state, and layout of rows.

use std::fmt::Display;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use slob_method::{MAX_SCALE, RowContent, Scatter, SchemaNo, Table, Verifier};

use crate::{EngineError, ErrorKind, Result};

/// Parameters of a load, kept with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The seed of scatter and content.
    pub seed: u64,
    /// Blocks, and rows, of each main table.
    pub scale: u64,
    /// Blocks, and rows, of each scan table; 0 for none.
    pub scan_blocks: u64,
    /// Fills columns incompressibly.
    pub obfuscated: bool,
    /// The last slice of a table may be smaller.
    pub slice_rows: u64,
}

impl Load {
    /// Rows in each schema.
    pub fn rows(&self, table: Table) -> u64 {
        match table {
            Table::Main => self.scale,
            Table::Scan => self.scan_blocks,
        }
    }

    /// The main table's slices come first.
    pub fn slices(&self, schema: SchemaNo) -> impl Iterator<Item = Slice> + use<> {
        let load = *self;
        [Table::Main, Table::Scan].into_iter().flat_map(move |table| {
            let end = load.rows(table) + 1;
            (1..end).step_by(load.slice_rows.max(1) as usize).map(move |first| Slice {
                schema,
                table,
                positions: first..end.min(first + load.slice_rows.max(1)),
            })
        })
    }

    /// True if the parameters are in range.
    pub fn is_sound(&self) -> bool {
        (1..=MAX_SCALE).contains(&self.scale) && self.scan_blocks <= MAX_SCALE && self.slice_rows > 0
    }

    /// Generates the rows.
    pub fn content(&self) -> RowContent {
        RowContent::new(self.seed, self.obfuscated)
    }

    /// Positions of keys in a main table.
    pub fn scatter(&self, schema: SchemaNo) -> Scatter {
        Scatter::new(self.seed, u64::from(schema.get()), self.scale)
    }

    /// Verifies rows with that filler.
    pub fn verifier(&self, table: Table, schema: SchemaNo, filler_bytes: usize) -> Verifier {
        let scatter = (table == Table::Main).then(|| self.scatter(schema));
        Verifier::new(self.content(), schema, scatter, filler_bytes)
    }
}

/// Rows of one table, loaded and marked together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// Its schema.
    pub schema: SchemaNo,
    /// Its table.
    pub table: Table,
    /// Positions begin with 1.
    pub positions: Range<u64>,
}

/// A schema with our marker.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaState {
    /// Its number.
    pub schema: SchemaNo,
    /// Its load.
    pub load: Load,
    /// Filler of each row.
    pub filler_bytes: usize,
    /// Progress of the load.
    pub state: LoadState,
}

impl SchemaState {
    /// Readable schemas give the load of damaged ones, as a target has one load. `None` if all are damaged.
    pub fn with_damaged(mut read: Vec<Self>, damaged: &[SchemaNo]) -> Option<Vec<Self>> {
        let Some(example) = read.first().cloned() else { return damaged.is_empty().then_some(read) };
        let damaged = damaged.iter().map(|schema| Self {
            schema: *schema,
            state: LoadState::Damaged,
            ..example.clone()
        });
        read.extend(damaged);
        read.sort_by_key(|state| state.schema);
        Some(read)
    }
}

/// `what` names the things to remove.
pub fn only_damaged(step: &str, what: &str) -> EngineError {
    let message =
        "every schema there carries slob's marker but is damaged: its load parameters can't be read";
    EngineError::new(ErrorKind::Data, step, message).with_advice(format!("to load again, remove {what}"))
}

/// Its marker is unreadable.
pub fn damaged_schema(step: &str, name: impl Display) -> EngineError {
    let message = format!("the load parameters of {name} are missing or damaged");
    EngineError::new(ErrorKind::Data, step, message)
        .with_advice("remove the schema with `slob drop` and load it again")
}

/// Progress of a schema's load.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadState {
    /// Existing slices; all else is missing.
    Begun(Vec<Slice>),
    /// Loaded, but maybe not on disk: the load starts again.
    Unsynced(Vec<Slice>),
    /// Unreadable, with our marker.
    Damaged,
    /// Everything exists.
    Complete(Layout),
}

/// The reason why a schema can't be used.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{message}; {advice}")]
pub struct Unusable {
    /// The reason.
    pub message: String,
    /// The remedy.
    pub advice: &'static str,
}

impl LoadState {
    /// `None` until it is complete.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Self::Complete(layout) => Some(*layout),
            Self::Begun(_) | Self::Unsynced(_) | Self::Damaged => None,
        }
    }

    /// `None` if the schema can be used.
    pub fn unusable(&self, name: impl Display) -> Option<Unusable> {
        let (message, advice) = match self {
            Self::Complete(_) => return None,
            Self::Begun(_) => (
                format!("the load of {name} was not finished"),
                "`slob setup` with the same parameters resumes it",
            ),
            Self::Unsynced(_) => (
                format!("the load of {name} was not finished before this machine was restarted"),
                "`slob setup` with the same parameters loads it again",
            ),
            Self::Damaged => (
                format!("{name} carries slob's marker but can't be read"),
                "remove it with `slob drop` and load it again",
            ),
        };
        Some(Unusable { message, advice })
    }

    /// `Some` if the schema is complete already. Fails if slices are missing.
    pub fn before_finish(&self, load: &Load, schema: SchemaNo, step: &str) -> Result<Option<Layout>> {
        let there = match self {
            Self::Complete(layout) => return Ok(Some(*layout)),
            Self::Begun(slices) => slices.len(),
            Self::Unsynced(_) | Self::Damaged => 0,
        };
        let all = load.slices(schema).count();
        if there < all {
            let message = format!("{there} of {all} slices are there");
            return Err(EngineError::new(ErrorKind::Data, step, message)
                .with_advice("`slob setup` with the same parameters resumes the load"));
        }
        Ok(None)
    }
}

impl Unusable {
    /// The kind is [`ErrorKind::Usage`].
    pub fn into_error(self, step: &str) -> EngineError {
        EngineError::new(ErrorKind::Usage, step, self.message).with_advice(self.advice)
    }
}

/// Measured layout of a main table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Rows.
    pub rows: u64,
    /// Blocks that hold these rows.
    pub row_blocks: u64,
    /// Blocks of the schema, with index and the engine's own.
    pub all_blocks: u64,
}

impl Layout {
    /// Tolerates 1 %.
    pub fn one_row_per_block(&self) -> bool {
        self.row_blocks.abs_diff(self.rows) * 100 <= self.rows
    }
}

/// Shared by the streams of a load and its display.
#[derive(Debug, Default)]
pub struct LoadProgress {
    rows: AtomicU64,
    stop: AtomicBool,
}

impl LoadProgress {
    /// Called every few megabytes.
    pub fn add(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Written so far.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Stops the streams.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Checked as often as [`LoadProgress::add`]; the slice then fails with [`crate::ErrorKind::Cancelled`].
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_both_tables_once() {
        let load = Load { seed: 1, scale: 100, scan_blocks: 7, obfuscated: false, slice_rows: 40 };
        let slices: Vec<_> =
            load.slices(SchemaNo::FIRST).map(|slice| (slice.table, slice.positions)).collect();
        let (main, scan) = (Table::Main, Table::Scan);
        assert_eq!(slices, [(main, 1..41), (main, 41..81), (main, 81..101), (scan, 1..8)]);
    }

    #[test]
    fn damaged_schemas_are_listed_beside_sound_ones_in_order() {
        let load = Load { seed: 1, scale: 100, scan_blocks: 7, obfuscated: false, slice_rows: 40 };
        let [first, second, third] = [1, 2, 3].map(|number| SchemaNo::new(number).unwrap());
        let sound =
            SchemaState { schema: second, load, filler_bytes: 9, state: LoadState::Begun(Vec::new()) };
        let all = SchemaState::with_damaged(vec![sound], &[third, first]).unwrap();
        let found: Vec<_> =
            all.iter().map(|state| (state.schema, state.state == LoadState::Damaged)).collect();
        assert_eq!(found, [(first, true), (second, false), (third, true)]);
        assert!(all.iter().all(|state| state.load == load));
        assert_eq!(SchemaState::with_damaged(Vec::new(), &[first]), None);
        assert_eq!(SchemaState::with_damaged(Vec::new(), &[]), Some(Vec::new()));
    }

    #[test]
    fn invalid_parameters_of_a_load_are_refused() {
        let load = Load { seed: 1, scale: 100, scan_blocks: 0, obfuscated: false, slice_rows: 40 };
        assert!(load.is_sound());
        let [none, huge, endless] = [
            Load { scale: 0, ..load },
            Load { scan_blocks: MAX_SCALE + 1, ..load },
            Load { slice_rows: 0, ..load },
        ];
        assert!(![none, huge, endless].iter().any(Load::is_sound));
    }

    #[test]
    fn one_percent_is_the_limit() {
        let layout = |row_blocks| Layout { rows: 1000, row_blocks, all_blocks: 0 };
        assert!(layout(1010).one_row_per_block() && layout(990).one_row_per_block());
        assert!(!layout(1011).one_row_per_block() && !layout(500).one_row_per_block());
    }
}
