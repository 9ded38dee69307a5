//! What is loaded, in which pieces.

use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use slob_method::{MAX_SCALE, RowContent, Scatter, SchemaNo, Table, Verifier};

use crate::{EngineError, ErrorKind};

/// The decisions of one load. Engines keep it with the data: a load can only be resumed, verified and run against
/// as what it was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Seed of scatter and content.
    pub seed: u64,
    /// Blocks, and rows, of each main table.
    pub scale: u64,
    /// Blocks, and rows, of each scan table; 0 for none.
    pub scan_blocks: u64,
    /// Whether columns are filled incompressibly.
    pub obfuscated: bool,
    /// Rows of a slice; the last slice of a table may be smaller.
    pub slice_rows: u64,
}

impl Load {
    /// Rows of a table of each schema.
    #[must_use]
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

    /// Whether it can be the load of anything: what a damaged marker says need not be.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        (1..=MAX_SCALE).contains(&self.scale) && self.scan_blocks <= MAX_SCALE && self.slice_rows > 0
    }

    /// The generator of the rows.
    #[must_use]
    pub fn content(&self) -> RowContent {
        RowContent::new(self.seed, self.obfuscated)
    }

    /// Which key lives at which position of a schema's main table.
    #[must_use]
    pub fn scatter(&self, schema: SchemaNo) -> Scatter {
        Scatter::new(self.seed, u64::from(schema.get()), self.scale)
    }

    /// The verifier of a table's rows, in a layout with that many bytes of filler.
    #[must_use]
    pub fn verifier(&self, table: Table, schema: SchemaNo, filler_bytes: usize) -> Verifier {
        let scatter = (table == Table::Main).then(|| self.scatter(schema));
        Verifier::new(self.content(), schema, scatter, filler_bytes)
    }
}

/// A piece of a load: it is loaded, and marked as loaded, as a whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The schema.
    pub schema: SchemaNo,
    /// The table.
    pub table: Table,
    /// The positions, counted from 1.
    pub positions: Range<u64>,
}

/// A schema that carries our marker, as found on the target.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaState {
    /// Its number.
    pub schema: SchemaNo,
    /// The load that it belongs to.
    pub load: Load,
    /// Bytes of filler in each row.
    pub filler_bytes: usize,
    /// How far the load got.
    pub state: LoadState,
}

impl SchemaState {
    /// The schemas of a target: those that could be read, and those that carry our marker but could not, so that these are
    /// neither taken for missing nor out of reach of `slob drop`. All schemas of a target belong to one load, so theirs is
    /// that of the others. `None` if only damaged ones are there, because then nothing says what they were loaded as.
    #[must_use]
    pub fn with_damaged(mut read: Vec<Self>, damaged: &[SchemaNo]) -> Option<Vec<Self>> {
        let example = match (read.first().cloned(), damaged) {
            (Some(example), _) => example,
            (None, []) => return Some(read),
            (None, _) => return None,
        };
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

/// The error of a target all of whose schemas carry our marker and can't be read. `what` is to be removed, in words or
/// statements.
#[must_use]
pub fn only_damaged(step: &str, what: &str) -> EngineError {
    let message =
        "every schema there carries slob's marker but is damaged: its load parameters can't be read";
    EngineError::new(ErrorKind::Data, step, message).with_advice(format!("to load again, remove {what}"))
}

/// The error of a schema of that name that carries our marker and can't be read.
#[must_use]
pub fn damaged_schema(step: &str, name: impl Display) -> EngineError {
    let message = format!("the load parameters of {name} are missing or damaged");
    EngineError::new(ErrorKind::Data, step, message)
        .with_advice("remove the schema with `slob drop` and load it again")
}

/// How far the load of a schema got.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadState {
    /// These slices are in place; the others, the index and the statistics are missing.
    Begun(Vec<Slice>),
    /// Begun, with these slices; but whether they ever reached the disk is not known: it is to be loaded from its start.
    Unsynced(Vec<Slice>),
    /// It carries our marker, and can't be read.
    Damaged,
    /// Everything is in place.
    Complete(Layout),
}

/// Why a schema can't be used, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What is the matter with it.
    pub message: String,
    /// What to do next.
    pub advice: &'static str,
}

impl LoadState {
    /// How a complete schema lies in its blocks.
    #[must_use]
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Self::Complete(layout) => Some(*layout),
            Self::Begun(_) | Self::Unsynced(_) | Self::Damaged => None,
        }
    }

    /// What keeps the schema of that name from being used, if anything does.
    #[must_use]
    pub fn lack(&self, name: impl Display) -> Option<Lack> {
        match self {
            Self::Complete(_) => None,
            Self::Begun(_) => Some(Lack {
                message: format!("the load of {name} was not finished"),
                advice: "`slob setup` with the same parameters resumes it",
            }),
            Self::Unsynced(_) => Some(Lack {
                message: format!("the load of {name} was not finished before this machine was restarted"),
                advice: "`slob setup` with the same parameters loads it again",
            }),
            Self::Damaged => Some(Lack {
                message: format!("{name} carries slob's marker but can't be read"),
                advice: "remove it with `slob drop` and load it again",
            }),
        }
    }

    /// What a schema of which all slices must be there is completed from: `Some` if it is complete already.
    ///
    /// # Errors
    /// If slices are missing.
    pub fn before_finish(
        &self,
        load: &Load,
        schema: SchemaNo,
        step: &str,
    ) -> Result<Option<Layout>, EngineError> {
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

impl Lack {
    /// As the error of a step.
    #[must_use]
    pub fn into_error(self, step: &str) -> EngineError {
        EngineError::new(ErrorKind::Usage, step, self.message).with_advice(self.advice)
    }
}

impl Display for Lack {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.message, self.advice)
    }
}

/// How the main table of a schema lies in its blocks, as the engine found by looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Rows.
    pub rows: u64,
    /// Blocks that hold these rows.
    pub row_blocks: u64,
    /// All blocks of the schema: both tables, index, and the engine's own.
    pub all_blocks: u64,
}

impl Layout {
    /// Whether each row has a block of its own: blocks / rows within 1 %.
    #[must_use]
    pub fn one_row_per_block(&self) -> bool {
        self.row_blocks.abs_diff(self.rows) * 100 <= self.rows
    }
}

/// Shared by the streams of a load and whoever watches them.
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
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Asks the streams to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the streams were asked to stop. Engines ask as often as they add, and then give up the slice with
    /// [`crate::ErrorKind::Cancelled`].
    #[must_use]
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
    fn a_load_that_can_be_none_is_told() {
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
