//! `slob awr export`: reports as tables of a database or as CSV files.

use std::fs::{self, File, Permissions};
use std::io::{BufWriter, IntoInnerError, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql};
use slob_awr::Scope;
use slob_awr::info::Value;
use slob_awr::relations::{RELATIONS, RelationColumn};
use slob_facts::format::plural;
use slob_facts::table::csv_cell;
use slob_record::temporary_beside;
use tempfile::TempPath;

use super::awr_files::{EXIT_CODES, Files, ReadReports};
use crate::failure::{Failure, Outcome};

/// Write reports as tables of one database, or as CSV files
#[derive(Args)]
#[command(long_about = "\
Writes reports as tables of one database, or as a CSV file for each table: reports, load_profile, time_model, statistics, \
os_statistics, events, histograms, sql, segments, io, files, parameters. docs/reference/awr-columns.md has their columns.")]
#[command(after_help = format!("\
Examples:
  slob awr export reports/ -o awr.db
  slob awr export reports/ --csv -o tables/
{EXIT_CODES}"))]
pub(super) struct AwrExportArgs {
    #[command(flatten)]
    reports: Files,
    /// The file to write, or with --csv the folder [default: awr.sqlite]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A CSV file for each table, in a folder
    #[arg(long)]
    csv: bool,
}

pub(super) fn export(args: &AwrExportArgs) -> Outcome {
    let path = args.output.as_deref().unwrap_or(Path::new("awr.sqlite"));
    let failed = |error: Fault| usage!("writing {}: {error}; name another one with -o", path.display());
    let target = if args.csv { Target::folder(path) } else { Target::database(path) };
    let writer = Mutex::new(Writer { target: target.map_err(failed)?, reports: 0, error: None });
    let read = ReadReports::read(&args.reports.files, Scope::All, |named| {
        let rows: Vec<Vec<Cells>> = RELATIONS.iter().map(|table| table.rows(&named)).collect();
        if let Ok(mut writer) = writer.lock() {
            writer.add(&rows);
        }
    })?;
    let Ok(writer) = writer.into_inner() else {
        return Err(Failure::failed("a thread of the export ended early"));
    };
    let count = writer.reports;
    writer.finish(path).map_err(failed)?;
    say!("wrote {} to {}", plural(count, "report"), path.display());
    read.exit_code()
}

type Cells = Vec<Option<Value>>;

/// The first column is the report's number.
fn tables() -> impl Iterator<Item = (&'static str, Vec<RelationColumn>)> {
    RELATIONS.iter().map(|table| (table.name, table.columns().collect()))
}

struct Writer {
    target: Target,
    reports: u64,
    error: Option<Fault>,
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Temporary files beside the final ones: a failure leaves none.
enum Target {
    Database(Connection, File, TempPath),
    Folder(Vec<(BufWriter<File>, TempPath)>),
}

fn beside(path: &Path) -> std::io::Result<(File, TempPath)> {
    temporary_beside(path, Permissions::from_mode(0o666))
}

fn keep(file: &File, temporary: TempPath, path: &Path) -> std::io::Result<()> {
    file.sync_all()?;
    temporary.persist(path)?;
    Ok(())
}

fn csv_file(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.csv"))
}

impl Target {
    fn database(path: &Path) -> Result<Self, Fault> {
        let (file, part) = beside(path)?;
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
        Ok(Self::Database(database, file, part))
    }

    fn folder(path: &Path) -> Result<Self, Fault> {
        fs::create_dir_all(path)?;
        let file = |(table, columns): (&str, Vec<RelationColumn>)| {
            let (file, temporary) = beside(&csv_file(path, table))?;
            let mut file = BufWriter::new(file);
            let heads = ["report_id"].into_iter().chain(columns.iter().map(|column| column.name));
            writeln!(file, "{}", heads.collect::<Vec<_>>().join(","))?;
            Ok((file, temporary))
        };
        Ok(Self::Folder(tables().map(file).collect::<std::io::Result<_>>()?))
    }
}

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
    /// Adds the rows of a report in all tables; its own row comes first.
    fn add(&mut self, rows: &[Vec<Cells>]) {
        if self.error.is_some() {
            return;
        }
        self.reports += 1;
        let written = match &mut self.target {
            Target::Database(database, ..) => insert(database, self.reports, rows).map_err(Fault::from),
            Target::Folder(files) => append(files, self.reports, rows).map_err(Fault::from),
        };
        self.error = written.err();
    }

    fn finish(self, path: &Path) -> Result<(), Fault> {
        match (self.error, self.target) {
            (Some(error), _) => Err(error),
            (None, Target::Database(database, file, part)) => {
                let indices = RELATIONS[1..]
                    .iter()
                    .map(|table| format!("CREATE INDEX {0}_of_report ON {0} (report_id)", table.name));
                let end = indices.chain(["COMMIT".to_owned()]).collect::<Vec<_>>().join("; ");
                database.execute_batch(&end)?;
                database.close().map_err(|(_, error)| error)?;
                Ok(keep(&file, part, path)?)
            }
            (None, Target::Folder(files)) => {
                let mut whole = Vec::new();
                for (file, temporary) in files {
                    whole.push((file.into_inner().map_err(IntoInnerError::into_error)?, temporary));
                }
                for ((table, _), (file, temporary)) in tables().zip(whole) {
                    keep(&file, temporary, &csv_file(path, table))?;
                }
                Ok(())
            }
        }
    }
}

fn insert(database: &Connection, report: u64, rows: &[Vec<Cells>]) -> rusqlite::Result<()> {
    let report = Some(Value::Number(report as f64));
    for ((table, columns), rows) in tables().zip(rows) {
        let marks = vec!["?"; columns.len() + 1].join(", ");
        let mut statement = database.prepare_cached(&format!("INSERT INTO {table} VALUES ({marks})"))?;
        for row in rows {
            let cells = [&report].into_iter().chain(row).map(Stored);
            statement.execute(rusqlite::params_from_iter(cells))?;
        }
    }
    Ok(())
}

fn append(
    files: &mut [(BufWriter<File>, TempPath)],
    report: u64,
    rows: &[Vec<Cells>],
) -> std::io::Result<()> {
    for ((file, _), rows) in files.iter_mut().zip(rows) {
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
