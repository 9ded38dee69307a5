//! The operations of the method as the statements of an engine know them.

use slob_engine::{EngineError, ErrorKind, SessionPlan};
use slob_method::{Action, COLUMNS, Op, SchemaNo};
use slob_spec::RedoStress;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A SELECT.
    Select,
    /// An UPDATE of c2 and c20.
    Lite,
    /// An UPDATE of all columns.
    Heavy,
    /// A short scan.
    Scan,
}

impl Kind {
    /// Every kind, in the order of [`Kind::number`].
    pub const ALL: [Self; 4] = [Self::Select, Self::Lite, Self::Heavy, Self::Scan];

    /// Its number in a plan that goes to a server, for an operation in the home schema or, `hot`, in schema 1 instead.
    #[must_use]
    pub const fn number(self, hot: bool) -> u8 {
        self as u8 + if hot { Self::ALL.len() as u8 } else { 0 }
    }

    /// That of an UPDATE.
    #[must_use]
    pub const fn of_redo(redo: RedoStress) -> Self {
        match redo {
            RedoStress::Lite => Self::Lite,
            RedoStress::Heavy => Self::Heavy,
        }
    }

    /// Those that a session executes.
    pub fn of_session(plan: &SessionPlan) -> impl Iterator<Item = Self> + use<> {
        let scan = plan.scans.then_some(Self::Scan);
        [Self::Select].into_iter().chain(plan.redo.map(Self::of_redo)).chain(scan)
    }

    /// Columns that it sets, from 0 for c2.
    #[must_use]
    pub fn updated_columns(self) -> &'static [usize] {
        const ALL: [usize; COLUMNS] = {
            let mut all = [0; COLUMNS];
            let mut i = 0;
            while i < COLUMNS {
                all[i] = i;
                i += 1;
            }
            all
        };
        match self {
            Self::Lite => &[0, COLUMNS - 1],
            Self::Heavy => &ALL,
            Self::Select | Self::Scan => &[],
        }
    }

    /// The list of an UPDATE that sets them, in a table that goes by the alias, with these expressions.
    #[must_use]
    pub fn assignments(self, alias: &str, value: impl Fn(usize) -> String) -> String {
        let columns = self.updated_columns().iter();
        columns.map(|i| format!("{alias}c{} = {}", i + 2, value(*i))).collect::<Vec<_>>().join(", ")
    }
}

/// The schemas of operations from a home, and whether each is the hot one: schema 1, from another home.
pub fn homes(home: SchemaNo, hot_schema: bool) -> impl Iterator<Item = (SchemaNo, bool)> {
    let hot = hot_schema && home != SchemaNo::FIRST;
    [(home, false)].into_iter().chain(hot.then_some((SchemaNo::FIRST, true)))
}

/// What an operation is to the statements of a session: its kind, and whether it goes to schema 1 from another home.
///
/// # Errors
/// [`ErrorKind::Usage`] if the session was not opened for such an operation.
pub fn classify(op: &Op, plan: &SessionPlan) -> Result<(Kind, bool), EngineError> {
    let hot = op.schema != plan.home;
    let kind = match op.action {
        Action::Select(_) => Some(Kind::Select),
        Action::Update(..) => plan.redo.map(Kind::of_redo),
        Action::Scan => plan.scans.then_some(Kind::Scan),
    };
    let known = !hot || (plan.hot_schema && op.schema == SchemaNo::FIRST);
    kind.filter(|_| known).map(|kind| (kind, hot)).ok_or_else(|| not_opened_for(op, plan))
}

pub(crate) fn not_opened_for(op: &Op, plan: &SessionPlan) -> EngineError {
    let step = format!("session {}, {op}", plan.number);
    EngineError::new(ErrorKind::Usage, step, "the session was not opened for such an operation")
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::{KeyRange, RowContent};
    use std::sync::Arc;

    #[test]
    fn numbers_are_digits_and_differ() {
        let mut numbers: Vec<u8> =
            Kind::ALL.iter().flat_map(|kind| [kind.number(false), kind.number(true)]).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_update_sets_its_columns() {
        assert_eq!(Kind::Lite.assignments("t.", |i| format!("v{i}")), "t.c2 = v0, t.c20 = v18");
        assert_eq!(Kind::Heavy.assignments("", |_| "?".into()).matches(" = ?").count(), COLUMNS);
    }

    #[test]
    fn a_session_executes_what_it_was_opened_for() {
        let second = SchemaNo::new(2).unwrap();
        let plan = SessionPlan {
            attempt: 0,
            number: 3,
            home: second,
            hot_schema: true,
            scans: false,
            redo: None,
            update_text: Arc::new(RowContent::new(1, false).update_text()),
        };
        let select = Action::Select(KeyRange { first: 1, blocks: 1 });
        let class = |action, schema| classify(&Op { action, schema, pause_us: 0 }, &plan);
        assert_eq!(class(select, second).unwrap(), (Kind::Select, false));
        assert_eq!(class(select, SchemaNo::FIRST).unwrap(), (Kind::Select, true));
        assert!(class(select, SchemaNo::new(3).unwrap()).is_err());
        let error = class(Action::Scan, second).unwrap_err();
        assert!(error.to_string().starts_with("session 3, "), "{error}");
        assert_eq!(homes(second, true).count(), 2);
        assert_eq!(homes(SchemaNo::FIRST, true).count(), 1);
    }
}
