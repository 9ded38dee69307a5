//! Statements of schemas and of the method, and the block that executes a batch.
//!
//! In the block:
//! - `SYSTIMESTAMP`, in UTC and as microseconds of the day, is the finest clock of every release.
//! - `COMMIT WRITE IMMEDIATE WAIT` makes each UPDATE wait for its log write (Oracle Database PL/SQL Language Reference, COMMIT
//!   Statement).
//! - Texts of fixed width carry operations, as not every driver binds arrays. Decoding and encoding lie outside the block's
//!   clock.
//! - An UPDATE writes a new value: since 12.2 an equal value makes less redo.

use slob_engine::{EngineError, ErrorKind, Load, Result, SessionPlan};
use slob_method::{COLUMN_BYTES, SchemaNo, Table, UpdateText};
use slob_server::{COMMENT, Kind, column_list, columns, homes};

use crate::client::Bind;
use crate::options::{Commit, Options};
use crate::session::WIDTH;

/// With a number it must fit the 30 characters of old releases.
const LONGEST_PREFIX: usize = 20;

/// Capitals need no quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(String);

impl Prefix {
    pub(crate) fn new(text: &str) -> Result<Self> {
        let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !text.ends_with(|last: char| last.is_ascii_digit())
            && text.len() <= LONGEST_PREFIX;
        if is_name {
            return Ok(Self(text.to_ascii_uppercase()));
        }
        let message = format!("'{text}' can't begin the names of accounts");
        Err(EngineError::new(ErrorKind::Usage, "reading ORACLE_PREFIX", message).with_advice(format!(
            "use a letter, then letters, digits or _, at most {LONGEST_PREFIX} in all, and no digit at the end"
        )))
    }

    pub(crate) fn bind(&self) -> Bind {
        Bind::Text(self.0.clone())
    }

    pub(crate) fn user(&self, schema: SchemaNo) -> String {
        format!("{}{schema}", self.0)
    }

    pub(crate) fn schema_of(&self, user: &str) -> Option<SchemaNo> {
        let schema = SchemaNo::new(user.strip_prefix(&self.0)?.parse().ok()?)?;
        (self.user(schema) == user).then_some(schema)
    }
}

pub(crate) fn identifier(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$#".contains(&byte));
    if is_plain { name.to_ascii_uppercase() } else { format!("\"{}\"", name.replace('"', "")) }
}

pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let replace = |sql: String, (name, value): &(&str, &str)| sql.replace(&format!("{{{name}}}"), value);
    values.iter().fold(template.trim_end().to_owned(), replace)
}

pub(crate) const GRANT_USER: &str = include_str!("../sql/grant_user.sql");
pub(crate) const BEGIN_LOAD: &str = include_str!("../sql/begin_load.sql");
pub(crate) const MARK_SLICE: &str = include_str!("../sql/mark_slice.sql");
pub(crate) const INDEX: &str = include_str!("../sql/index.sql");
pub(crate) const LAYOUT: &str = include_str!("../sql/layout.sql");
pub(crate) const COMPLETE_LOAD: &str = include_str!("../sql/complete_load.sql");
pub(crate) const DROP_USER: &str = "DROP USER {user}";

/// The marker comes last, so that a marked schema is whole.
const TABLES: [&str; 4] = ["cf1", "cf2", "slob_slice", "slob_load"];

#[derive(Clone, Debug)]
pub(crate) struct SchemaSql {
    pub(crate) user: String,
    schema: SchemaNo,
    /// `None` is the account's own.
    pub(crate) tablespace: Option<String>,
    pool: &'static str,
}

impl SchemaSql {
    pub(crate) fn new(options: &Options, schema: SchemaNo) -> Self {
        let tablespace = options.tablespace.as_deref().map(identifier);
        Self { user: options.prefix.user(schema), schema, tablespace, pool: options.buffer_pool }
    }

    pub(crate) fn fill(&self, template: &str) -> String {
        let clause = self.tablespace.as_ref().map_or_else(String::new, |name| format!(" TABLESPACE {name}"));
        fill(template, &[("user", &self.user), ("tablespace", &clause)])
    }

    /// The quota is on `default_tablespace` unless a tablespace is named.
    pub(crate) fn create_user(&self, password: &str, default_tablespace: &str) -> String {
        let (clause, quota) = match &self.tablespace {
            Some(name) => (format!(" DEFAULT TABLESPACE {name}"), name.clone()),
            None => (String::new(), identifier(default_tablespace)),
        };
        let values = [("password", password), ("default_tablespace", &clause), ("quota", &quota)];
        fill(&self.fill(include_str!("../sql/create_user.sql")), &values)
    }

    /// The comment on the last table marks the schema.
    pub(crate) fn create(&self) -> Vec<String> {
        let declared: Vec<String> =
            columns().map(|name| format!("{name} VARCHAR2({COLUMN_BYTES})")).collect();
        let declared = declared.join(", ");
        // NOCACHE keeps scans from evicting CF1, as in the original kit.
        let create_table = |(table, cache): (Table, &str)| {
            let storage = self.pool;
            let values =
                [("table", table.name()), ("columns", &*declared), ("cache", cache), ("storage", storage)];
            fill(&self.fill(include_str!("../sql/create_table.sql")), &values)
        };
        let comment = format!("{COMMENT} schema {}: made by slob setup, removed by slob drop", self.schema);
        let mut statements = [(Table::Main, "CACHE"), (Table::Scan, "NOCACHE")].map(create_table).to_vec();
        statements.push(self.fill(include_str!("../sql/create_slice.sql")));
        statements.push(self.fill(include_str!("../sql/create_load.sql")));
        statements.push(fill(&self.fill(include_str!("../sql/comment.sql")), &[("comment", &comment)]));
        statements
    }

    /// Direct path puts rows into blocks of their own.
    pub(crate) fn insert_rows(&self, table: Table) -> String {
        let values: Vec<String> = columns().map(|name| format!(":{name}")).collect();
        let values = [("table", table.name()), ("names", &column_list()), ("values", &values.join(", "))];
        fill(&self.fill(include_str!("../sql/insert_rows.sql")), &values)
    }

    pub(crate) fn statistics(&self, table: Table) -> String {
        let name = table.name().to_ascii_uppercase();
        fill(&self.fill(include_str!("../sql/statistics.sql")), &[("table", &name)])
    }

    /// The first reader in a run need not clean blocks out then.
    pub(crate) fn clean_out(&self, table: Table) -> String {
        fill(&self.fill(include_str!("../sql/clean_out.sql")), &[("table", table.name())])
    }

    pub(crate) fn share_with(&self, other: &str) -> [String; 2] {
        let grant =
            |table: Table| format!("GRANT SELECT, UPDATE ON {}.{} TO {other}", self.user, table.name());
        [grant(Table::Main), grant(Table::Scan)]
    }

    pub(crate) fn drop_tables(&self) -> Vec<String> {
        self.undo(TABLES.len())
    }

    /// `done` counts the statements of [`Self::create`].
    pub(crate) fn undo(&self, done: usize) -> Vec<String> {
        TABLES.iter().take(done).map(|name| format!("DROP TABLE {}.{name} PURGE", self.user)).collect()
    }
}

/// Some accounts may not.
pub(crate) fn scans_by_cache(by_cache: bool) -> &'static str {
    if by_cache {
        r#"ALTER SESSION SET "_serial_direct_read" = NEVER"#
    } else {
        r#"ALTER SESSION SET "_serial_direct_read" = AUTO"#
    }
}

/// [`BEGIN_LOAD`] gives the order.
pub(crate) fn load_binds(load: &Load, made_user: bool) -> [Bind; 6] {
    [
        // Clients bind signed numbers, which the seed may exceed.
        Bind::Text(load.seed.to_string()),
        Bind::count(load.scale),
        Bind::count(load.scan_blocks),
        Bind::Number(load.obfuscated.into()),
        Bind::count(load.slice_rows),
        Bind::Number(made_user.into()),
    ]
}

pub(crate) fn current_schema(user: &str) -> String {
    format!("ALTER SESSION SET CURRENT_SCHEMA = {user}")
}

/// Forbids reads of several blocks. Releases before 12.1 ignore the second hint.
const HINT: &str = "/*+ INDEX(t i_cf1) NO_BATCH_TABLE_ACCESS_BY_ROWID(t) */";

/// `owner` is `"SLOB1."`, or empty for the current schema. Keys are the first one and the one after the last. `into` receives the
/// count of a SELECT.
fn operation(
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
            format!("UPDATE {HINT} {main} SET {} {range}", kind.assignments("t.", value))
        }
    }
}

pub(crate) const PLAN_ID: &str = "slob";

/// Numbers replace variables, which not every client may leave unbound; the hints decide on both plans.
pub(crate) fn explain(user: &str) -> String {
    let select = operation(Kind::Select, &format!("{user}."), ["1", "65"], "", |_| String::new());
    fill(include_str!("../sql/explain.sql"), &[("id", PLAN_ID), ("statement", &select)])
}

/// Without `sleep`, the block takes no pauses.
pub(crate) fn block(plan: &SessionPlan, prefix: &Prefix, commit: Commit, sleep: Option<&str>) -> String {
    let commits = format!("{};\n                is_open := FALSE", commit.statement);
    let commits = &commits;
    let of_home = |(schema, hot): (SchemaNo, bool)| {
        let owner = if hot { format!("{}.", prefix.user(schema)) } else { String::new() };
        Kind::of_session(plan)
            .map(move |kind| branch(kind.number(hot), kind, &owner, &plan.update_text, commits))
    };
    let mut branches: String = homes(plan.home, plan.hot_schema).flat_map(of_home).collect();
    if let Some(kind) = plan.redo.map(Kind::of_redo) {
        branches += &branch(kind.number_of_open(), kind, "", &plan.update_text, "is_open := TRUE");
    }
    let branches = format!("{}END IF;", branches.replacen("ELSIF", "IF", 1));
    let end = format!("IF is_open THEN\n            {};\n        END IF;", commit.statement);
    let with_stamps = |text: &'static str| if plan.redo.is_some() { text } else { "" };
    let with_pauses = |text: &'static str| if sleep.is_some() { text } else { "" };
    let pause = fill(with_pauses(include_str!("../sql/pause.sql")), &[("sleep", sleep.unwrap_or_default())]);
    let values = [
        ("stamps_type", with_stamps("TYPE texts IS TABLE OF VARCHAR2(16) INDEX BY PLS_INTEGER;")),
        ("stamps_in", with_stamps("stamps texts;\n    stamped VARCHAR2(32767) := :stamps;")),
        ("stamps_read", with_stamps("stamps(op) := SUBSTRB(stamped, (op - 1) * 16 + 1, 16);")),
        ("stamp", with_stamps("stamp := stamps(op);")),
        ("commit", if plan.redo.is_some() { &end } else { "" }),
        ("pauses_in", with_pauses("pauses numbers;")),
        ("pauses_read", with_pauses("pauses(op) := TO_NUMBER(SUBSTRB(work, place + 21, 10));")),
        ("width", &WIDTH.to_string()),
        ("branches", &branches),
        ("pause", &pause),
    ];
    let block = fill(include_str!("../sql/batch.sql"), &values);
    block.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

fn branch(number: u8, kind: Kind, owner: &str, text: &UpdateText, then: &str) -> String {
    let value = |column: usize| format!("stamp || '{}'", text.tail(column));
    let sql = operation(kind, owner, ["first_key", "end_key"], " INTO counted", value);
    let after = match kind {
        Kind::Lite | Kind::Heavy => {
            format!("\n                counted := SQL%ROWCOUNT;\n                {then};")
        }
        Kind::Select | Kind::Scan => String::new(),
    };
    format!("ELSIF kind = {number} THEN\n                {sql};{after}\n            ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::options::{COMMIT_OF_KIT, COMMIT_WAITS};
    use slob_spec::RedoStress;
    use slob_testing::work::plan_beside_hot;

    #[test]
    fn names_lead_to_schemas_and_back() {
        let prefix = Prefix::new("slob").unwrap();
        let seven = SchemaNo::new(7).unwrap();
        assert_eq!(prefix.user(seven), "SLOB7");
        assert_eq!(prefix.schema_of("SLOB7"), Some(seven));
        for other in ["SLOB", "SLOB0", "SLOB07", "SLOB7X", "USER7", "SLOB99999"] {
            assert_eq!(prefix.schema_of(other), None, "{other}");
        }
    }

    #[test]
    fn what_could_end_a_name_is_refused() {
        for bad in ["", "1a", "a b", "a\"", "a;", "slob1", "abcdefghijklmnopqrstu"] {
            assert_eq!(Prefix::new(bad).err().map(|error| error.kind()), Some(ErrorKind::Usage), "{bad}");
        }
        assert_eq!(
            (identifier("data1").as_str(), identifier("my \"data").as_str()),
            ("DATA1", "\"my data\"")
        );
    }

    /// It does everything, from a schema that is not the hot one.
    pub(crate) fn plan(redo: Option<RedoStress>) -> SessionPlan {
        SessionPlan { scans: true, ..plan_beside_hot(3, redo) }
    }

    #[test]
    fn a_block_holds_what_the_session_needs_and_no_more() {
        let prefix = Prefix::new("slob").unwrap();
        let full = block(&plan(Some(RedoStress::Lite)), &prefix, COMMIT_WAITS, Some("DBMS_SESSION.SLEEP"));
        // Of both schemas, and of a transaction that the end of a batch cuts.
        assert_eq!(full.matches("COMMIT WRITE IMMEDIATE WAIT").count(), 3, "{full}");
        assert!(full.contains("IF is_open THEN") && full.contains("kind = 8 THEN"), "{full}");
        assert!(full.contains("SLOB1.cf1") && full.contains("DBMS_SESSION.SLEEP(CEIL("), "{full}");
        assert!(full.contains("t.c2 = stamp || '") && !full.contains("t.c3 ="), "{full}");
        let heavy = block(&plan(Some(RedoStress::Heavy)), &prefix, COMMIT_WAITS, None);
        assert_eq!(heavy.matches(" = stamp || ").count(), 3 * 19);
        let mut reader = plan(None);
        (reader.hot_schema, reader.scans) = (false, false);
        let bare = block(&reader, &prefix, COMMIT_WAITS, None);
        for word in ["stamps", "pauses", "UPDATE", "SLOB1", "cf2", "{", "ELSIF"] {
            assert!(!bare.contains(word), "{word} in {bare}");
        }
        assert_eq!(bare.matches("IF kind = ").count(), 1);
    }

    #[test]
    fn commits_are_those_of_the_kit_where_that_is_asked_for() {
        let prefix = Prefix::new("slob").unwrap();
        let kit = block(&plan(Some(RedoStress::Lite)), &prefix, COMMIT_OF_KIT, None);
        assert_eq!(kit.matches("\n                COMMIT;").count(), 2, "{kit}");
        assert!(!kit.contains("COMMIT WRITE"), "{kit}");
    }

    /// The block has no object type, and decodes nothing while the clock runs.
    #[test]
    fn text_is_decoded_before_the_clock_starts_and_encoded_after_it_has_stopped() {
        let prefix = Prefix::new("slob").unwrap();
        let text = block(&plan(Some(RedoStress::Lite)), &prefix, COMMIT_WAITS, Some("DBMS_LOCK.SLEEP"));
        assert!(!text.contains("ODCI"), "{text}");
        let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
        let last = |words: &str| text.rfind(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
        assert!(last("SUBSTRB(") < place("begun := clock();"), "{text}");
        assert!(place("took_us := elapsed();") < place("'FM0X"), "{text}");
    }
}
