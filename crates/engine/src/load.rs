//! Loads: their parameters, their slices, their state, and the layout of their rows.

use std::fmt::Display;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use slob_method::{MAX_SCALE, RowContent, Scatter, SchemaNo, Table, Verifier};

use crate::{EngineError, ErrorKind, Result};

/// The parameters of one load. Engines keep them with the data: resuming, verifying and running need the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Seed of scatter and content.
    pub seed: u64,
    /// Blocks, and rows, of each main table.
    pub scale: u64,
    /// Blocks, and rows, of each scan table; 0 for none.
    pub scan_blocks: u64,
    /// True if columns are filled incompressibly.
    pub obfuscated: bool,
    /// Rows of a slice; the last slice of a table may be smaller.
    pub slice_rows: u64,
}

impl Load {
    /// Rows of a table of each schema.
    pub fn rows(&self, table: Table) -> u64 {
        match table {
            Table::Main => self.scale,
            Table::Scan => self.scan_blocks,
        }
    }

    /// The pieces of a schema, in order: the main table's first.
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

    /// True if the parameters are in range. Those of a damaged marker need not be.
    pub fn is_sound(&self) -> bool {
        (1..=MAX_SCALE).contains(&self.scale) && self.scan_blocks <= MAX_SCALE && self.slice_rows > 0
    }

    /// The generator of the rows.
    pub fn content(&self) -> RowContent {
        RowContent::new(self.seed, self.obfuscated)
    }

    /// Positions of the keys in a schema's main table.
    pub fn scatter(&self, schema: SchemaNo) -> Scatter {
        Scatter::new(self.seed, u64::from(schema.get()), self.scale)
    }

    /// The verifier of a table's rows with that many bytes of filler.
    pub fn verifier(&self, table: Table, schema: SchemaNo, filler_bytes: usize) -> Verifier {
        let scatter = (table == Table::Main).then(|| self.scatter(schema));
        Verifier::new(self.content(), schema, scatter, filler_bytes)
    }
}

/// Rows of one table. A load stores a slice and marks it as loaded, both or neither.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The schema.
    pub schema: SchemaNo,
    /// The table.
    pub table: Table,
    /// Positions, counted from 1.
    pub positions: Range<u64>,
}

/// A schema that carries our marker, as found on the target.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaState {
    /// Its number.
    pub schema: SchemaNo,
    /// Its load.
    pub load: Load,
    /// Bytes of filler in each row.
    pub filler_bytes: usize,
    /// Progress of its load.
    pub state: LoadState,
}

impl SchemaState {
    /// All schemas of a target: readable ones, and damaged ones with our marker, so that `slob drop` reaches these too.
    ///
    /// All schemas of a target belong to one load, so the readable ones give that of the damaged ones. `None` if only
    /// damaged ones exist: their load is unknown.
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

/// The error of a target with damaged schemas only. `what` names the things to remove, in words or statements.
pub fn only_damaged(step: &str, what: &str) -> EngineError {
    let message =
        "every schema there carries slob's marker but is damaged: its load parameters can't be read";
    EngineError::new(ErrorKind::Data, step, message).with_advice(format!("to load again, remove {what}"))
}

/// The error of a damaged schema.
pub fn damaged_schema(step: &str, name: impl Display) -> EngineError {
    let message = format!("the load parameters of {name} are missing or damaged");
    EngineError::new(ErrorKind::Data, step, message)
        .with_advice("remove the schema with `slob drop` and load it again")
}

/// Progress of a schema's load.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadState {
    /// These slices exist; the others, the index and the statistics are missing.
    Begun(Vec<Slice>),
    /// These slices were loaded, but may not have reached the disk: the load starts again.
    Unsynced(Vec<Slice>),
    /// It carries our marker, and is unreadable.
    Damaged,
    /// Everything exists.
    Complete(Layout),
}

/// The reason why a schema can't be used, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{message}; {advice}")]
pub struct Unusable {
    /// The reason.
    pub message: String,
    /// The remedy.
    pub advice: &'static str,
}

impl LoadState {
    /// Layout of a complete schema.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Self::Complete(layout) => Some(*layout),
            Self::Begun(_) | Self::Unsynced(_) | Self::Damaged => None,
        }
    }

    /// The reason why the schema of that name can't be used; `None` if it can.
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

    /// Checks that all slices exist before the schema is completed; `Some` if it is complete already.
    /// Fails if slices are missing.
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
    /// The error of a step.
    pub fn into_error(self, step: &str) -> EngineError {
        EngineError::new(ErrorKind::Usage, step, self.message).with_advice(self.advice)
    }
}

/// Measured layout of the main table of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Rows.
    pub rows: u64,
    /// Blocks that hold these rows.
    pub row_blocks: u64,
    /// All blocks of the schema, those of the index and the engine's own included.
    pub all_blocks: u64,
}

impl Layout {
    /// True if each row has a block of its own, within 1 %.
    pub fn one_row_per_block(&self) -> bool {
        self.row_blocks.abs_diff(self.rows) * 100 <= self.rows
    }
}

/// Progress of a load, shared by its streams and its display.
#[derive(Debug, Default)]
pub struct LoadProgress {
    rows: AtomicU64,
    stop: AtomicBool,
}

impl LoadProgress {
    /// Adds rows written; engines call this every few megabytes.
    pub fn add(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Stops the streams.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True after [`LoadProgress::stop`]. Engines ask as often as they add, and then give up the slice with
    /// [`crate::ErrorKind::Cancelled`].
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
