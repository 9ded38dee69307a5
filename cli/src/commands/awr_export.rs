//! `slob awr export`: reports as tables of a database or as CSV files.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::ArgMatches;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql};
use slob_awr::Scope;
use slob_awr::info::{Named, Value};
use slob_awr::relations::{RELATIONS, RelationColumn};
use slob_report::csv_cell;

use super::awr::ReadReports;
use crate::args::Given;
use crate::failure::{Failure, Outcome};
use crate::output;

pub(super) fn export(matches: &ArgMatches) -> Outcome {
    let path = matches.path("output").unwrap_or(Path::new("awr.sqlite"));
    let failed = |error: String| {
        Failure::usage(format!("writing {}: {error}; name another one with -o", path.display()))
    };
    let target = match matches.get_flag("csv") {
        true => Target::folder(path).map_err(|error| failed(error.to_string()))?,
        false => Target::database(path).map_err(|error| failed(error.to_string()))?,
    };
    let writer = Mutex::new(Writer { target, reports: 0, error: None });
    let read = ReadReports::read(matches.paths("files"), Scope::All, |named| {
        let rows = Rows::of(&named);
        if let Ok(mut writer) = writer.lock() {
            writer.add(&rows);
        }
    })?;
    let Ok(writer) = writer.into_inner() else {
        return Err(Failure::failed("a thread of the export ended early"));
    };
    let count = writer.reports;
    writer.finish(path).map_err(failed)?;
    output::say(&format!("wrote {} to {}", output::plural(count, "report"), path.display()));
    read.exit_code()
}

type Cells = Vec<Option<Value>>;

/// The rows of a report in all tables; its own row comes first.
struct Rows(Vec<Vec<Cells>>);

impl Rows {
    fn of(named: &Named) -> Self {
        Self(RELATIONS.iter().map(|table| table.rows(named)).collect())
    }
}

/// The tables with their columns; each begins with the report's number.
fn tables() -> impl Iterator<Item = (&'static str, Vec<RelationColumn>)> {
    RELATIONS.iter().map(|table| (table.name, table.columns().collect()))
}

struct Writer {
    target: Target,
    reports: u64,
    error: Option<String>,
}

enum Target {
    /// One transaction, in a file beside the final one.
    Database(Connection, PathBuf),
    Folder(Vec<BufWriter<File>>),
}

impl Target {
    fn database(path: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let part = PathBuf::from(format!("{}.part", path.display()));
        if part.exists() {
            fs::remove_file(&part)?;
        }
        let database = Connection::open(&part)?;
        // Nothing is lost with a file that was not finished.
        database.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
        for (table, columns) in tables() {
            let column = |column: &RelationColumn| {
                format!("\"{}\" {}", column.name, if column.is_text { "TEXT" } else { "REAL" })
            };
            let columns: Vec<String> = columns.iter().map(column).collect();
            let key = match table {
                "reports" => "report_id INTEGER PRIMARY KEY",
                _ => "report_id INTEGER NOT NULL REFERENCES reports",
            };
            database.execute_batch(&format!("CREATE TABLE {table} ({key}, {})", columns.join(", ")))?;
        }
        Ok(Self::Database(database, part))
    }

    fn folder(path: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(path)?;
        let file = |(table, columns): (&str, Vec<RelationColumn>)| {
            let mut file = BufWriter::new(File::create(path.join(format!("{table}.csv")))?);
            let heads = ["report_id"].into_iter().chain(columns.iter().map(|column| column.name));
            writeln!(file, "{}", heads.collect::<Vec<_>>().join(","))?;
            Ok(file)
        };
        tables().map(file).collect::<std::io::Result<_>>().map(Self::Folder)
    }
}

/// A cell as the database stores it.
struct Stored<'a>(&'a Option<Value>);

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self.0 {
            None => Ok(ToSqlOutput::from(rusqlite::types::Null)),
            Some(Value::Text(text)) => text.to_sql(),
            Some(Value::Number(number)) => number.to_sql(),
        }
    }
}

impl Writer {
    fn add(&mut self, rows: &Rows) {
        if self.error.is_some() {
            return;
        }
        self.reports += 1;
        let written = match &mut self.target {
            Target::Database(database, _) => {
                insert(database, self.reports, rows).map_err(|error| error.to_string())
            }
            Target::Folder(files) => append(files, self.reports, rows).map_err(|error| error.to_string()),
        };
        self.error = written.err();
    }

    fn finish(self, path: &Path) -> Result<(), String> {
        match (self.error, self.target) {
            (Some(error), _) => Err(error),
            (None, Target::Database(database, part)) => {
                let indices = RELATIONS[1..]
                    .iter()
                    .map(|table| format!("CREATE INDEX {0}_of_report ON {0} (report_id)", table.name));
                let end = indices.chain(["COMMIT".to_owned()]).collect::<Vec<_>>().join("; ");
                database.execute_batch(&end).map_err(|error| error.to_string())?;
                database.close().map_err(|(_, error)| error.to_string())?;
                fs::rename(part, path).map_err(|error| error.to_string())
            }
            (None, Target::Folder(files)) => {
                let flushed: std::io::Result<()> = files.into_iter().try_for_each(|mut file| file.flush());
                flushed.map_err(|error| error.to_string())
            }
        }
    }
}

fn insert(database: &Connection, report: u64, rows: &Rows) -> rusqlite::Result<()> {
    let report = Some(Value::Number(report as f64));
    for ((table, columns), rows) in tables().zip(&rows.0) {
        let marks = vec!["?"; columns.len() + 1].join(", ");
        let mut statement = database.prepare_cached(&format!("INSERT INTO {table} VALUES ({marks})"))?;
        for row in rows {
            let cells = [&report].into_iter().chain(row).map(Stored);
            statement.execute(rusqlite::params_from_iter(cells))?;
        }
    }
    Ok(())
}

fn append(files: &mut [BufWriter<File>], report: u64, rows: &Rows) -> std::io::Result<()> {
    for (file, rows) in files.iter_mut().zip(&rows.0) {
        for row in rows {
            write!(file, "{report}")?;
            for cell in row {
                write!(file, ",{}", csv_cell(&cell.as_ref().map(Value::plain).unwrap_or_default()))?;
            }
            writeln!(file)?;
        }
    }
    Ok(())
}
