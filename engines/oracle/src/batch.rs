//! The anonymous block that carries out a batch.
//!
//! - `SYSTIMESTAMP`, in UTC and as microseconds of the day, is the finest clock that every release has.
//! - A COMMIT within PL/SQL does not wait for the log before the block ends, unless it says so: `COMMIT WRITE IMMEDIATE
//!   WAIT` makes each UPDATE wait for its own log write, as an application's would (Oracle Database PL/SQL Language
//!   Reference, COMMIT Statement).
//!   With ORACLE_COMMIT=kit it is a plain COMMIT, as in the original kit.
//! - Operations, stamps and answers travel as text of fixed width, since not every driver binds arrays. They are decoded before
//!   the clock of the block starts, and encoded after it has stopped.
//! - An UPDATE writes its operation's stamp, which differs from what is there: since 12.2 a column that is set to the value
//!   that it has makes less redo.

use slob_engine::SessionPlan;
use slob_method::{SchemaNo, UpdateText};
use slob_server::{Kind, homes};

use crate::names::Prefix;
use crate::options::Commit;
use crate::session::WIDTH;
use crate::statement::statement;

/// The text of the block for a session.
///
/// `sleep` is what pauses between operations; without it the block takes no pauses.
pub(crate) fn block(plan: &SessionPlan, prefix: &Prefix, commit: Commit, sleep: Option<&str>) -> String {
    let of_home = |(schema, hot): (SchemaNo, bool)| {
        let owner = hot.then(|| format!("{}.", prefix.user(schema)));
        Kind::of_session(plan).map(move |kind| branch(kind, owner.as_deref(), &plan.update_text, commit))
    };
    let branches: Vec<String> = homes(plan.home, plan.hot_schema).flat_map(of_home).collect();
    let with_stamps = |text: &'static str| if plan.redo.is_some() { text } else { "" };
    let with_pauses = |text: &'static str| if sleep.is_some() { text } else { "" };
    include_str!("../sql/batch.sql")
        .trim_end()
        .replace("{stamps_type}", with_stamps("TYPE texts IS TABLE OF VARCHAR2(16) INDEX BY PLS_INTEGER;"))
        .replace("{stamps_in}", with_stamps("stamps texts;\n    stamped VARCHAR2(32767) := :stamps;"))
        .replace("{stamps_read}", with_stamps("stamps(op) := SUBSTRB(stamped, (op - 1) * 16 + 1, 16);"))
        .replace("{stamp}", with_stamps("stamp := stamps(op);"))
        .replace("{pauses_in}", with_pauses("pauses numbers;"))
        .replace("{pauses_read}", with_pauses("pauses(op) := TO_NUMBER(SUBSTRB(work, place + 21, 10));"))
        .replace("{width}", &WIDTH.to_string())
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

fn branch(kind: Kind, owner: Option<&str>, text: &UpdateText, commit: Commit) -> String {
    let value = |column: usize| format!("stamp || '{}'", text.tail(column));
    let sql = statement(kind, owner.unwrap_or_default(), ["first_key", "end_key"], " INTO counted", value);
    let number = kind.number(owner.is_some());
    let after = match kind {
        Kind::Lite | Kind::Heavy => {
            format!("\n                counted := SQL%ROWCOUNT;\n                {};", commit.statement())
        }
        Kind::Select | Kind::Scan => String::new(),
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
        let full = block(&plan(Some(RedoStress::Lite)), &prefix, Commit::Wait, Some("DBMS_SESSION.SLEEP"));
        assert_eq!(full.matches("COMMIT WRITE IMMEDIATE WAIT").count(), 2, "{full}");
        assert!(full.contains("SLOB1.cf1") && full.contains("DBMS_SESSION.SLEEP(CEIL("), "{full}");
        assert!(full.contains("t.c2 = stamp || '") && !full.contains("t.c3 ="), "{full}");
        let heavy = block(&plan(Some(RedoStress::Heavy)), &prefix, Commit::Wait, None);
        assert_eq!(heavy.matches(" = stamp || ").count(), 2 * 19);
        let mut reader = plan(None);
        (reader.hot_schema, reader.scans) = (false, false);
        let bare = block(&reader, &prefix, Commit::Wait, None);
        for word in ["stamps", "pauses", "UPDATE", "SLOB1", "cf2", "{", "ELSIF"] {
            assert!(!bare.contains(word), "{word} in {bare}");
        }
        assert_eq!(bare.matches("IF kind = ").count(), 1);
    }

    #[test]
    fn commits_are_those_of_the_kit_where_that_is_asked_for() {
        let prefix = Prefix::new("slob").unwrap();
        let kit = block(&plan(Some(RedoStress::Lite)), &prefix, Commit::Kit, None);
        assert_eq!(kit.matches("\n                COMMIT;").count(), 2, "{kit}");
        assert!(!kit.contains("COMMIT WRITE"), "{kit}");
    }

    /// No object type, and nothing decoded or encoded while the clock runs.
    #[test]
    fn text_is_decoded_before_the_clock_starts_and_encoded_after_it_has_stopped() {
        let prefix = Prefix::new("slob").unwrap();
        let text = block(&plan(Some(RedoStress::Lite)), &prefix, Commit::Wait, Some("DBMS_LOCK.SLEEP"));
        assert!(!text.contains("ODCI"), "{text}");
        let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
        let last = |words: &str| text.rfind(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
        assert!(last("SUBSTRB(") < place("begun := clock();"), "{text}");
        assert!(place("took_us := elapsed();") < place("'FM0X"), "{text}");
    }
}
