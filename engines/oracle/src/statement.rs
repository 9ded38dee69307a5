//! The statements of the method. The block of a batch and the check of the plans take them from here.

use slob_engine::{EngineError, ErrorKind, SessionPlan};
use slob_method::{Action, COLUMNS, Op, SchemaNo, Table};
use slob_spec::RedoStress;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
    const COUNT: i64 = 4;

    /// Its number in a plan, for an operation in the home schema or, `hot`, in schema 1 instead.
    pub(crate) fn number(self, hot: bool) -> i64 {
        self as i64 + if hot { Self::COUNT } else { 0 }
    }

    /// That of an UPDATE.
    pub(crate) fn of_redo(redo: RedoStress) -> Self {
        match redo {
            RedoStress::Lite => Self::Lite,
            RedoStress::Heavy => Self::Heavy,
        }
    }

    /// Columns that it sets, from 0 for c2.
    pub(crate) fn updated_columns(self) -> Vec<usize> {
        match self {
            Self::Lite => vec![0, COLUMNS - 1],
            Self::Heavy => (0..COLUMNS).collect(),
            Self::Select | Self::Scan => Vec::new(),
        }
    }
}

/// Reads one block after the other: the index leads there, and blocks are not gathered first (12.1 and later; earlier
/// releases don't know the second hint and ignore it).
const HINT: &str = "/*+ INDEX(t i_cf1) NO_BATCH_TABLE_ACCESS_BY_ROWID(t) */";

/// The statement of a kind of operation on the tables of `owner` (`"SLOB1."`, or nothing for the current schema), with
/// these expressions for the first key, the key after the last one, and the values of the columns that it sets. `into`
/// is where a block puts what a SELECT counts.
pub(crate) fn statement(
    kind: Kind,
    owner: &str,
    [first, end]: [&str; 2],
    into: &str,
    value: impl Fn(usize) -> String,
) -> String {
    let main = format!("{owner}{} t", Table::Main.name());
    let range = format!("WHERE t.custid >= {first} AND t.custid < {end}");
    match kind {
        Kind::Select => format!("SELECT {HINT} COUNT(t.c2){into} FROM {main} {range}"),
        Kind::Scan => format!("SELECT COUNT(t.c2){into} FROM {owner}{} t", Table::Scan.name()),
        Kind::Lite | Kind::Heavy => {
            let columns = kind.updated_columns();
            let set: Vec<_> = columns.iter().map(|i| format!("t.c{} = {}", i + 2, value(*i))).collect();
            format!("UPDATE {HINT} {main} SET {} {range}", set.join(", "))
        }
    }
}

/// What an operation is to the block of a session: its kind, and whether it goes to schema 1 from another home.
///
/// # Errors
/// [`ErrorKind::Usage`] if the session was not opened for such an operation.
pub(crate) fn classify(op: &Op, plan: &SessionPlan) -> Result<(Kind, bool), EngineError> {
    let hot = op.schema != plan.home;
    let kind = match (op.action, plan.redo) {
        (Action::Select(_), _) => Some(Kind::Select),
        (Action::Update(..), redo) => redo.map(Kind::of_redo),
        (Action::Scan, _) => plan.scans.then_some(Kind::Scan),
    };
    let known = !hot || (plan.hot_schema && op.schema == SchemaNo::FIRST);
    kind.filter(|_| known).map(|kind| (kind, hot)).ok_or_else(|| {
        let step = format!("session {}, {op}", plan.number);
        EngineError::new(ErrorKind::Usage, step, "the session was not opened for such an operation")
    })
}
