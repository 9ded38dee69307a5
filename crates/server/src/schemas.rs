//! Schemas on a server: names, markers and rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Range;
use std::sync::Mutex;

use slob_engine::{
    EngineError, ErrorKind, Layout, Load, LoadProgress, LoadState, Result, SchemaState, SessionPlan, Slice,
    lock, only_damaged,
};
use slob_method::{ROW_BYTES, RowContent, Scatter, SchemaNo, Table};

use crate::{Row, homes};

pub const COMMENT: &str = "OpenSLOB";
pub const MARKER: &str = "slob_load";
pub const SLICES: &str = "slob_slice";
pub const INDEX: &str = "i_cf1";
/// No page is larger.
const MOST_FILLER_BYTES: usize = 65_536;

pub fn schema_name(schema: SchemaNo) -> String {
    format!("slob{schema}")
}

/// slob01 and slob+1 are not ours.
pub fn schema_of_name(name: &str) -> Option<SchemaNo> {
    let schema = name.strip_prefix("slob")?.parse().ok().and_then(SchemaNo::new)?;
    (schema_name(schema) == name).then_some(schema)
}

pub fn columns() -> impl Iterator<Item = String> {
    (2..2 + slob_method::COLUMNS).map(|number| format!("c{number}"))
}

pub fn column_list() -> String {
    columns().collect::<Vec<_>>().join(", ")
}

pub fn marker_comment(schema: SchemaNo) -> String {
    format!("{COMMENT} schema {schema}: made by slob setup, removed by slob drop")
}

pub struct Marker {
    load: Load,
    filler_bytes: usize,
    layout: Option<Layout>,
}

impl Marker {
    /// Columns: seed, scale, scan_blocks, obfuscated, slice_rows, filler_bytes, row_count, row_blocks, all_blocks. The last three
    /// are NULL until the schema is complete. `None` if they make no sense.
    pub fn read(row: &Row) -> Option<Self> {
        let load = Load {
            // Databases without unsigned numbers keep it as a signed one.
            seed: row.get::<i128>(0)? as u64,
            scale: row.get(1)?,
            scan_blocks: row.get(2)?,
            obfuscated: match row.0.get(3)?.as_deref()? {
                "1" | "t" => true,
                "0" | "f" => false,
                _ => return None,
            },
            slice_rows: row.get(4)?,
        };
        let filler_bytes = row.get(5).filter(|bytes| *bytes <= MOST_FILLER_BYTES)?;
        let layout = match row.0.get(6)? {
            Some(_) => Some(Layout { rows: row.get(6)?, row_blocks: row.get(7)?, all_blocks: row.get(8)? }),
            None => None,
        };
        load.is_sound().then_some(Self { load, filler_bytes, layout })
    }

    pub fn is_complete(&self) -> bool {
        self.layout.is_some()
    }

    /// `marks` are those of existing slices.
    pub fn state(self, schema: SchemaNo, marks: &BTreeSet<&str>) -> SchemaState {
        let Self { load, filler_bytes, layout } = self;
        let in_place = || load.slices(schema).filter(|slice| marks.contains(mark(slice).as_str())).collect();
        let state = layout.map_or_else(|| LoadState::Begun(in_place()), LoadState::Complete);
        SchemaState { schema, load, filler_bytes, state }
    }
}

/// Values of is_scan, the first position, and the one after the last.
fn mark(slice: &Slice) -> String {
    format!("{}, {}, {}", slice.table == Table::Scan, slice.positions.start, slice.positions.end)
}

/// Fails if another stream has loaded the slice.
pub fn mark_slice(schema: &str, slice: &Slice) -> String {
    format!("INSERT INTO {schema}.{SLICES} VALUES ({})", mark(slice))
}

pub fn mark_complete(schema: &str, Layout { rows, row_blocks, all_blocks }: Layout) -> String {
    format!(
        "UPDATE {schema}.{MARKER} SET row_count = {rows}, row_blocks = {row_blocks}, all_blocks = {all_blocks}"
    )
}

/// `drop` is the statement that removes one. Damage of all is an error of [`ErrorKind::Data`].
pub fn with_damaged(
    sound: Vec<SchemaState>,
    damaged: &[SchemaNo],
    step: &str,
    drop: impl Fn(SchemaNo) -> String,
) -> Result<Vec<SchemaState>> {
    SchemaState::with_damaged(sound, damaged).ok_or_else(|| {
        let drops: Vec<String> = damaged.iter().map(|schema| drop(*schema)).collect();
        only_damaged(step, &format!("what is there: {}", drops.join(" ")))
    })
}

#[derive(Debug, Default)]
pub struct LoadedSchemas(Mutex<BTreeMap<SchemaNo, Load>>);

impl LoadedSchemas {
    /// `look` reads an unknown schema's state, and may return others too. An incomplete schema is an error of
    /// [`ErrorKind::Usage`].
    pub fn require<N: Display>(
        &self,
        plan: &SessionPlan,
        step: &str,
        name: impl Fn(SchemaNo) -> N,
        look: impl Fn(SchemaNo) -> Result<Vec<SchemaState>>,
    ) -> Result<()> {
        // Held while a server is asked: sessions that are opened at the same time need the same answer.
        let mut complete = lock(&self.0);
        for (schema, _) in homes(plan.home, plan.hot_schema) {
            if complete.contains_key(&schema) {
                continue;
            }
            for found in look(schema)? {
                if found.state.layout().is_some() {
                    complete.insert(found.schema, found.load);
                } else if found.schema == schema
                    && let Some(lack) = found.state.unusable(name(schema))
                {
                    return Err(lack.into_error(step));
                }
            }
            if !complete.contains_key(&schema) {
                let message = format!("{} is not loaded", name(schema));
                return Err(EngineError::new(ErrorKind::Usage, step, message)
                    .with_advice("load it with `slob setup`"));
            }
        }
        Ok(())
    }

    /// The schema's procedure has the texts of its load. Other texts are an error of [`ErrorKind::Usage`].
    pub fn check_update_text(&self, plan: &SessionPlan, step: &str) -> Result<()> {
        let load = lock(&self.0).get(&plan.home).copied();
        if load.is_none_or(|load| load.content().update_text() == *plan.update_text) {
            return Ok(());
        }
        let message = "its procedure writes other texts than the run is to write";
        Err(EngineError::new(ErrorKind::Usage, step, message))
    }

    pub fn forget(&self, schema: SchemaNo) {
        lock(&self.0).remove(&schema);
    }
}

pub struct SliceRows {
    content: RowContent,
    scatter: Option<Scatter>,
    schema: SchemaNo,
    table: Table,
    pub text: Box<[u8; ROW_BYTES]>,
    pub filler: Vec<u8>,
}

impl SliceRows {
    pub fn new(load: &Load, slice: &Slice, filler_bytes: usize) -> Self {
        let Slice { schema, table, .. } = *slice;
        let scatter = (table == Table::Main).then(|| load.scatter(schema));
        let (text, filler) = (Box::new([0; ROW_BYTES]), vec![0; filler_bytes]);
        Self { content: load.content(), scatter, schema, table, text, filler }
    }

    /// Returns the key: in the scan table, the position.
    pub fn fill(&mut self, position: u64) -> u64 {
        let custid = self.scatter.as_ref().map_or(position, |scatter| scatter.key_at(position));
        self.content.fill_row(self.table, self.schema, custid, &mut self.text);
        self.content.fill_filler(self.table, self.schema, custid, &mut self.filler);
        custid
    }
}

/// A stop is an error of [`ErrorKind::Cancelled`].
pub fn in_strides(
    slice: &Slice,
    stride: u64,
    progress: &LoadProgress,
    step: &str,
    mut write: impl FnMut(Range<u64>) -> Result<()>,
) -> Result<()> {
    for positions in chunks(&slice.positions, slice.positions.end - 1, stride) {
        if progress.stopped() {
            return Err(EngineError::new(ErrorKind::Cancelled, step, "the load was stopped"));
        }
        let rows = positions.end - positions.start;
        write(positions)?;
        progress.add(rows);
    }
    Ok(())
}

/// Positions begin with 1.
pub fn chunks(positions: &Range<u64>, rows: u64, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let (first, end) = (positions.start.max(1), positions.end.min(rows + 1));
    (first..end)
        .step_by(usize::try_from(size).unwrap_or(usize::MAX))
        .map(move |at| at..end.min(at.saturating_add(size)))
}

/// Takes the count of different keys, the least and the greatest. A gap is an error of [`ErrorKind::Data`].
pub fn check_all_keys(load: &Load, [rows, least, greatest]: [u64; 3], step: &str) -> Result<()> {
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
    use std::cell::Cell;
    use std::sync::Arc;

    const LOAD: Load = Load { seed: 1, scale: 10, scan_blocks: 0, obfuscated: false, slice_rows: 5 };

    #[test]
    fn only_canonical_names_are_schemas() {
        let number = |name: &str| schema_of_name(name).map(SchemaNo::get);
        assert_eq!((number("slob7"), number("slob4096")), (Some(7), Some(4096)));
        for name in ["slob07", "slob0", "slob", "slob+1", "xslob1", "slob1 ", "Slob1", "slob99999"] {
            assert_eq!(number(name), None, "{name}");
        }
    }

    #[test]
    fn there_are_nineteen_columns() {
        assert!(column_list().starts_with("c2, c3, ") && column_list().ends_with(", c20"));
        assert_eq!(columns().count(), 19);
    }

    fn marker(values: [&str; 9]) -> Option<Marker> {
        let text = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        Marker::read(&Row(values.map(text).into()))
    }

    #[test]
    fn a_marker_says_how_far_its_load_got() {
        let begun = marker(["-1", "10", "0", "0", "5", "0", "", "", ""]).unwrap();
        let state = begun.state(SchemaNo::FIRST, &["false, 6, 11", "true, 1, 6"].into());
        assert_eq!(state.load, Load { seed: u64::MAX, ..LOAD });
        let LoadState::Begun(slices) = state.state else { panic!("{state:?}") };
        assert_eq!(slices.iter().map(mark).collect::<Vec<_>>(), ["false, 6, 11"]);
        let complete = marker(["1", "10", "0", "1", "5", "300", "10", "10", "12"]).unwrap();
        let state = complete.state(SchemaNo::FIRST, &BTreeSet::new());
        assert_eq!((state.load.obfuscated, state.filler_bytes), (true, 300));
        assert_eq!(state.state, LoadState::Complete(Layout { rows: 10, row_blocks: 10, all_blocks: 12 }));
    }

    #[test]
    fn a_marker_that_makes_no_sense_is_none() {
        let sound = ["1", "10", "0", "0", "5", "0", "10", "10", "12"];
        assert!(marker(sound).is_some());
        for (column, value) in
            [(0, "x"), (1, "0"), (1, "-5"), (1, "many"), (3, ""), (4, "0"), (5, "65537"), (6, "x"), (7, "")]
        {
            let mut values = sound;
            values[column] = value;
            assert!(marker(values).is_none(), "{values:?}");
        }
    }

    fn plan(hot_schema: bool) -> SessionPlan {
        let update_text = Arc::new(LOAD.content().update_text());
        let home = SchemaNo::new(2).unwrap();
        SessionPlan { attempt: 0, number: 0, home, hot_schema, scans: false, redo: None, update_text }
    }

    fn found(schema: SchemaNo, state: LoadState) -> SchemaState {
        SchemaState { schema, load: LOAD, filler_bytes: 0, state }
    }

    #[test]
    fn each_schema_is_read_once_and_again_after_a_drop() {
        let (complete, looks) = (LoadedSchemas::default(), Cell::new(0));
        let layout = Layout { rows: 10, row_blocks: 10, all_blocks: 12 };
        let look = |schema| {
            looks.set(looks.get() + 1);
            Ok(vec![found(schema, LoadState::Complete(layout))])
        };
        let require =
            |hot| complete.require(&plan(hot), "opening", |schema| schema, look).map(|()| looks.get());
        assert_eq!([require(false), require(true), require(true)].map(Result::unwrap), [1, 2, 2]);
        complete.forget(SchemaNo::FIRST);
        assert_eq!(require(true).unwrap(), 3);
        assert!(complete.check_update_text(&plan(false), "opening").is_ok());
        let other = Load { seed: 2, ..LOAD }.content().update_text();
        let other = SessionPlan { update_text: Arc::new(other), ..plan(false) };
        assert!(complete.check_update_text(&other, "opening").is_err());
    }

    #[test]
    fn incomplete_schemas_are_refused_and_read_again() {
        let complete = LoadedSchemas::default();
        for states in [vec![LoadState::Begun(Vec::new())], vec![LoadState::Damaged], Vec::new()] {
            let look = |schema| Ok(states.iter().map(|state| found(schema, state.clone())).collect());
            let error = complete.require(&plan(false), "opening", |schema| schema, look).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        }
    }

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
        assert!(check_all_keys(&LOAD, [10, 1, 10], "counting").is_ok());
        for counted in [[9, 1, 10], [9, 2, 10], [10, 1, 11], [0, 0, 0]] {
            assert_eq!(check_all_keys(&LOAD, counted, "counting").unwrap_err().kind(), ErrorKind::Data);
        }
    }
}
