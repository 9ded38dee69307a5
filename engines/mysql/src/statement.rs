//! The statements of the method. The loop in the server, the loop here and the check of the plans all take them from
//! here.

use slob_engine::{EngineError, ErrorKind, SessionPlan};
use slob_method::{Action, COLUMNS, Op, SchemaNo, Table};
use slob_spec::RedoStress;

use crate::names::{INDEX, table};

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
    /// Every kind, in the order of [`Kind::number`].
    pub(crate) const ALL: [Self; 4] = [Self::Select, Self::Lite, Self::Heavy, Self::Scan];

    /// Its number in a packed plan, for an operation in the home schema or, `hot`, in schema 1 instead.
    pub(crate) fn number(self, hot: bool) -> u8 {
        self as u8 + if hot { Self::ALL.len() as u8 } else { 0 }
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

/// The statement of a kind of operation, with these expressions for the first key, the key after the last one, and
/// the values of the columns that it sets.
pub(crate) fn statement(
    kind: Kind,
    schema: SchemaNo,
    [first, end]: [&str; 2],
    value: impl Fn(usize) -> String,
) -> String {
    let main = format!("{} FORCE INDEX (`{INDEX}`)", table(schema, Table::Main));
    let range = format!("WHERE custid >= {first} AND custid < {end}");
    match kind {
        Kind::Select => format!("SELECT COUNT(c2) FROM {main} {range}"),
        Kind::Scan => format!("SELECT COUNT(c2) FROM {}", table(schema, Table::Scan)),
        Kind::Lite | Kind::Heavy => {
            let columns = kind.updated_columns();
            let set: Vec<_> = columns.iter().map(|i| format!("c{} = {}", i + 2, value(*i))).collect();
            format!("UPDATE {main} SET {} {range}", set.join(", "))
        }
    }
}

/// What an operation is to the statements of a session: its kind, and whether it goes to schema 1 from another home.
///
/// # Errors
/// [`ErrorKind::Usage`] if the session was not opened for such an operation.
pub(crate) fn classify(op: &Op, plan: &SessionPlan) -> Result<(Kind, bool), EngineError> {
    let hot = op.schema != plan.home;
    let kind = match (op.action, plan.redo) {
        (Action::Select(_), _) => Some(Kind::Select),
        (Action::Update(..), Some(RedoStress::Lite)) => Some(Kind::Lite),
        (Action::Update(..), Some(RedoStress::Heavy)) => Some(Kind::Heavy),
        (Action::Update(..), None) => None,
        (Action::Scan, _) => plan.scans.then_some(Kind::Scan),
    };
    let known = !hot || (plan.hot_schema && op.schema == SchemaNo::FIRST);
    kind.filter(|_| known).map(|kind| (kind, hot)).ok_or_else(|| {
        let step = format!("session {}, {op}", plan.number);
        EngineError::new(ErrorKind::Usage, step, "the session was not opened for such an operation")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_name_their_schema_and_columns() {
        let lite = statement(Kind::Lite, SchemaNo::FIRST, ["?", "?"], |i| format!("v{}", i + 2));
        assert_eq!(
            lite,
            "UPDATE `slob1`.`cf1` FORCE INDEX (`i_cf1`) SET c2 = v2, c20 = v20 WHERE custid >= ? AND custid < ?"
        );
        let heavy = statement(Kind::Heavy, SchemaNo::FIRST, ["?", "?"], |_| "?".into());
        assert_eq!(heavy.matches(" = ?").count(), COLUMNS);
    }

    #[test]
    fn numbers_are_digits_and_differ() {
        let mut numbers: Vec<u8> =
            Kind::ALL.iter().flat_map(|kind| [kind.number(false), kind.number(true)]).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
