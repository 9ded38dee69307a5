//! The anonymous block that carries out a batch.
//!
//! - `SYSTIMESTAMP`, in UTC and as microseconds of the day, is the finest clock that every release has.
//! - A COMMIT within PL/SQL does not wait for the log before the block ends, unless it says so: `COMMIT WRITE IMMEDIATE
//!   WAIT` makes each UPDATE wait for its own log write, as an application's would (Oracle Database PL/SQL Language
//!   Reference, COMMIT Statement).
//! - An UPDATE writes its operation's stamp, which differs from what is there: since 12.2 a column that is set to the value
//!   that it has makes less redo.

use slob_engine::SessionPlan;
use slob_method::{SchemaNo, UpdateText};
use slob_server::{Kind, homes};

use crate::names::Prefix;
use crate::statement::statement;

/// The text of the block for a session.
///
/// `sleep` is what pauses between operations; without it the block takes no pauses.
pub(crate) fn block(plan: &SessionPlan, prefix: &Prefix, sleep: Option<&str>) -> String {
    let of_home = |(schema, hot): (SchemaNo, bool)| {
        let owner = hot.then(|| format!("{}.", prefix.user(schema)));
        Kind::of_session(plan).map(move |kind| branch(kind, owner.as_deref(), &plan.update_text))
    };
    let branches: Vec<String> = homes(plan.home, plan.hot_schema).flat_map(of_home).collect();
    let stamped = plan.redo.is_some();
    include_str!("../sql/batch.sql")
        .trim_end()
        .replace("{stamps_in}", if stamped { "stamps SYS.ODCIVARCHAR2LIST := :stamps;" } else { "" })
        .replace("{stamp}", if stamped { "stamp := stamps(op);" } else { "" })
        .replace("{pauses_in}", if sleep.is_some() { "pauses SYS.ODCINUMBERLIST := :pauses;" } else { "" })
        .replace("{branches}", &format!("{}END IF;", branches.concat().replacen("ELSIF", "IF", 1)))
        .replace("{pause}", &sleep.map_or_else(String::new, pause))
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn pause(sleep: &str) -> String {
    include_str!("../sql/pause.sql").trim_end().replace("{sleep}", sleep)
}

fn branch(kind: Kind, owner: Option<&str>, text: &UpdateText) -> String {
    let value = |column: usize| format!("stamp || '{}'", text.tail(column));
    let sql = statement(kind, owner.unwrap_or_default(), ["first_key", "end_key"], " INTO counted", value);
    let number = kind.number(owner.is_some());
    let after = match kind {
        Kind::Lite | Kind::Heavy => {
            "\n                counted := SQL%ROWCOUNT;\n                COMMIT WRITE IMMEDIATE WAIT;"
        }
        Kind::Select | Kind::Scan => "",
    };
    format!("ELSIF kind = {number} THEN\n                {sql};{after}\n            ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use slob_method::RowContent;
    use slob_spec::RedoStress;
    use std::sync::Arc;

    /// A session that does everything, from a schema that is not the hot one.
    pub(crate) fn plan(redo: Option<RedoStress>) -> SessionPlan {
        SessionPlan {
            number: 3,
            attempt: 0,
            home: SchemaNo::new(2).unwrap(),
            hot_schema: true,
            scans: true,
            redo,
            update_text: Arc::new(RowContent::new(5, false).update_text()),
        }
    }

    #[test]
    fn a_block_holds_what_the_session_needs_and_no_more() {
        let prefix = Prefix::new("slob").unwrap();
        let full = block(&plan(Some(RedoStress::Lite)), &prefix, Some("DBMS_SESSION.SLEEP"));
        assert_eq!(full.matches("COMMIT WRITE IMMEDIATE WAIT").count(), 2, "{full}");
        assert!(full.contains("SLOB1.cf1") && full.contains("DBMS_SESSION.SLEEP(CEIL("), "{full}");
        assert!(full.contains("t.c2 = stamp || '") && !full.contains("t.c3 ="), "{full}");
        let heavy = block(&plan(Some(RedoStress::Heavy)), &prefix, None);
        assert_eq!(heavy.matches(" = stamp || ").count(), 2 * 19);
        let mut reader = plan(None);
        (reader.hot_schema, reader.scans) = (false, false);
        let bare = block(&reader, &prefix, None);
        for word in ["stamps", "pauses", "UPDATE", "SLOB1", "cf2", "{", "ELSIF"] {
            assert!(!bare.contains(word), "{word} in {bare}");
        }
        assert_eq!(bare.matches("IF kind = ").count(), 1);
    }
}
