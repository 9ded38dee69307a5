//! The statements that make and complete a schema: what is executed is what `--print-sql` prints.

use slob_engine::Load;
use slob_method::{COLUMN_BYTES, COLUMNS, SchemaNo, Table};

use crate::names::{COMMENT, Prefix, identifier};

/// The texts for one schema.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    /// Its account.
    pub(crate) user: String,
    schema: SchemaNo,
    tablespace: Option<String>,
}

impl Tables {
    /// For a schema whose tables go into a tablespace, or into the account's own.
    pub(crate) fn new(prefix: &Prefix, schema: SchemaNo, tablespace: Option<&str>) -> Self {
        Self { user: prefix.user(schema), schema, tablespace: tablespace.map(identifier) }
    }

    /// Where its tables go, if that is said.
    pub(crate) fn tablespace(&self) -> Option<&str> {
        self.tablespace.as_deref()
    }

    /// Makes the account. `default_tablespace` is where the server puts what is not told where to go.
    pub(crate) fn create_user(&self, password: &str, default_tablespace: &str) -> String {
        let clause =
            self.tablespace.as_ref().map_or_else(String::new, |name| format!(" DEFAULT TABLESPACE {name}"));
        let quota = self.tablespace.clone().unwrap_or_else(|| identifier(default_tablespace));
        self.fill(include_str!("../sql/create_user.sql"))
            .replace("{password}", password)
            .replace("{quota}", &quota)
            .replace("{tablespace}", &clause)
    }

    /// What it may do.
    pub(crate) fn grant_user(&self) -> String {
        self.fill(include_str!("../sql/grant_user.sql"))
    }

    /// Makes its tables and their marker, in this order: the marker last, so that what is marked is whole.
    pub(crate) fn create(&self) -> Vec<String> {
        let comment = format!("{COMMENT} schema {}: made by slob setup, removed by slob drop", self.schema);
        let mut texts: Vec<String> = [Table::Main, Table::Scan]
            .into_iter()
            .map(|table| {
                self.fill(include_str!("../sql/create_table.sql"))
                    .replace("{table}", table.name())
                    .replace("{columns}", &declared_columns())
                    // As in the original kit: short scans don't push the blocks of CF1 out of the cache.
                    .replace("{cache}", if table == Table::Main { "CACHE" } else { "NOCACHE" })
            })
            .collect();
        texts.push(self.fill(include_str!("../sql/create_slice.sql")));
        texts.push(self.fill(include_str!("../sql/create_load.sql")));
        texts.push(self.fill(include_str!("../sql/comment.sql")).replace("{comment}", &comment));
        texts
    }

    /// Remembers the load.
    pub(crate) fn begin_load(&self) -> String {
        self.fill(include_str!("../sql/begin_load.sql"))
    }

    /// Inserts rows by direct path: behind all that is there, into blocks of their own.
    pub(crate) fn insert_rows(&self, table: Table) -> String {
        let values: Vec<String> = (0..COLUMNS).map(|column| format!(":c{}", column + 2)).collect();
        self.fill(include_str!("../sql/insert_rows.sql"))
            .replace("{table}", table.name())
            .replace("{names}", &column_names())
            .replace("{values}", &values.join(", "))
    }

    /// Marks a slice as loaded.
    pub(crate) fn mark_slice(&self) -> String {
        self.fill(include_str!("../sql/mark_slice.sql"))
    }

    /// Makes the index.
    pub(crate) fn index(&self) -> String {
        self.fill(include_str!("../sql/index.sql"))
    }

    /// Gathers the optimizer's statistics of a table, and of its index.
    pub(crate) fn statistics(&self, table: Table) -> String {
        let name = table.name().to_ascii_uppercase();
        self.fill(include_str!("../sql/statistics.sql")).replace("{table}", &name)
    }

    /// Counts rows and blocks, from the index alone.
    pub(crate) fn layout(&self) -> String {
        self.fill(include_str!("../sql/layout.sql"))
    }

    /// Marks the load as complete.
    pub(crate) fn complete_load(&self) -> String {
        self.fill(include_str!("../sql/complete_load.sql"))
    }

    /// Lets another account work in this schema.
    pub(crate) fn share_with(&self, other: &str) -> Vec<String> {
        let grant = |table: Table| {
            let name = table.name();
            format!("GRANT SELECT, UPDATE ON {}.{name} TO {other}", self.user)
        };
        vec![grant(Table::Main), grant(Table::Scan)]
    }

    /// Drops its tables, the marker last.
    pub(crate) fn drop(&self) -> Vec<String> {
        ["cf1", "cf2", "slob_slice", "slob_load"]
            .map(|name| format!("DROP TABLE {}.{name} PURGE", self.user))
            .to_vec()
    }

    /// Drops what the first so many texts of [`Tables::create`] made.
    pub(crate) fn undo(&self, done: usize) -> Vec<String> {
        let made = ["cf1", "cf2", "slob_slice", "slob_load"];
        made.iter().take(done).map(|name| format!("DROP TABLE {}.{name} PURGE", self.user)).collect()
    }

    /// Drops the account, unless somebody else put something into it.
    pub(crate) fn drop_user(&self) -> String {
        format!("DROP USER {}", self.user)
    }

    fn fill(&self, text: &str) -> String {
        let clause = self.tablespace.as_ref().map_or_else(String::new, |name| format!(" TABLESPACE {name}"));
        let text = text.trim_end().replace("{user}", &self.user);
        // The account's own clause has another form.
        if text.starts_with("CREATE USER") { text } else { text.replace("{tablespace}", &clause) }
    }
}

/// `c2, c3, ..., c20`.
pub(crate) fn column_names() -> String {
    let names: Vec<String> = (0..COLUMNS).map(|column| format!("c{}", column + 2)).collect();
    names.join(", ")
}

fn declared_columns() -> String {
    let columns: Vec<String> =
        (0..COLUMNS).map(|column| format!("c{} VARCHAR2({COLUMN_BYTES})", column + 2)).collect();
    columns.join(", ")
}

/// The values that remember a load, in the order of [`Tables::begin_load`].
pub(crate) fn load_binds(load: &Load, made_user: bool) -> Vec<crate::client::Bind> {
    use crate::client::Bind;
    vec![
        // A number of 64 bits may not fit the signed ones that clients bind.
        Bind::Text(load.seed.to_string()),
        Bind::count(load.scale),
        Bind::count(load.scan_blocks),
        Bind::Number(load.obfuscated.into()),
        Bind::count(load.slice_rows),
        Bind::Number(made_user.into()),
    ]
}
