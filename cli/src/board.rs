//! A board: a database to which teams publish runs, and from which commands read them as from a folder.

mod rows;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use slob_campaign::{CAMPAIGN_FILE, STATE_FILE, State};
use slob_engine::{Board, Value};
use slob_record::{
    RUN_FILE, Record, SIGNATURE_FILE, list_runs, read_digests, record_file, run_folder, signature_file,
};
use slob_spec::Target;

use self::rows::{Published, Rows};
use crate::failure::Failure;
use crate::saved::Results;
use crate::{output, registry, verdict_cache};

/// The statements that lead from each version of the tables to the next.
const VERSIONS: [&str; 2] = [include_str!("board/v1.sql"), include_str!("board/v2.sql")];
/// The first version that knows in which folder a run lay.
const HAS_FOLDERS: usize = 2;
/// A statement has no more.
const MOST_VALUES: usize = 4000;

pub(crate) struct Publisher {
    board: Box<dyn Board>,
    place: String,
}

impl Publisher {
    pub(crate) fn open(target: &str) -> Result<Self, Failure> {
        let (mut board, place) = open(target)?;
        board.begin()?;
        renew(board.as_mut(), &place).inspect_err(|_| board.roll_back())?;
        board.commit()?;
        Ok(Self { board, place })
    }

    /// False if the board has it already. A run may lie in several folders.
    pub(crate) fn publish(
        &mut self,
        run: &Path,
        record: &Record,
        campaign: Option<&str>,
    ) -> Result<bool, Failure> {
        let read = |path: &Path| {
            fs::read_to_string(path).map_err(|error| usage!("reading {}: {error}", path.display()))
        };
        let text = read(&record_file(run))?;
        let signature = Some(signature_file(run)).filter(|path| path.is_file());
        let signature = signature.map(|path| read(&path)).transpose()?;
        let (digest, _) = read_digests(run)?;
        let published =
            Published { record, digest: &digest, campaign, text: &text, signature: signature.as_deref() };
        self.board.begin()?;
        let written = self.write(&published).and_then(|is_new| self.put_in(run, record).map(|()| is_new));
        self.ended(written)
    }

    fn ended<T>(&mut self, written: Result<T, Failure>) -> Result<T, Failure> {
        match written {
            Ok(done) => self.board.commit().map(|()| done).map_err(Failure::from),
            Err(failure) => {
                self.board.roll_back();
                Err(failure)
            }
        }
    }

    /// Notes the folder in which a run lies.
    fn put_in(&mut self, run: &Path, record: &Record) -> Result<(), Failure> {
        let whole = fs::canonicalize(run_folder(run)).unwrap_or_default();
        let folder = whole.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let Some(folder) = folder.filter(|name| is_name(name)) else { return Ok(()) };
        let values = [folder.as_str().into(), record.id.as_str().into()];
        let known = "SELECT run FROM slob_folders WHERE folder = ? AND run = ?";
        if self.board.query("looking for the run's folder", known, &values)?.is_empty() {
            insert(self.board.as_mut(), "slob_folders", "folder, run", &[values.to_vec()])?;
        }
        Ok(())
    }

    /// Keeps the further one of two states of a campaign. Another campaign of the folder's name is an error.
    pub(crate) fn publish_campaign(&mut self, folder: &Path) -> Result<(), Failure> {
        let name = name_of(folder);
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_else(|_| "{}".to_owned());
        let [plan, state] = [CAMPAIGN_FILE, STATE_FILE].map(read);
        self.board.begin()?;
        let written = self.write_campaign(&name, &plan, &state);
        self.ended(written)
    }

    fn write_campaign(&mut self, name: &str, plan: &str, state: &str) -> Result<(), Failure> {
        let board = self.board.as_mut();
        let known = board.query("looking for the campaign", OF_CAMPAIGN, &[name.into()])?;
        let row = vec![name.into(), plan.into(), state.into()];
        let Some([_, Value::Text(old)]) = known.first().map(Vec::as_slice) else {
            return insert(board, "slob_campaigns", "folder, plan, state", &[row]);
        };
        let parsed = |text: &str| serde_json::from_str::<State>(text).unwrap_or_default();
        let (own, there) = (parsed(state), parsed(old));
        if own.goes_on_from(&there) {
            let values = [plan.into(), state.into(), name.into()];
            board.execute(
                "writing the campaign",
                "UPDATE slob_campaigns SET plan = ?, state = ? WHERE folder = ?",
                &values,
            )?;
        } else if !there.goes_on_from(&own) {
            return Err(usage!(
                "{}: it holds another campaign of the name {name}: the runs are published, their plan is not; give the folder \
                 another name",
                self.place
            ));
        }
        Ok(())
    }

    /// The caller has the lock.
    fn write(&mut self, run: &Published<'_>) -> Result<bool, Failure> {
        let board = self.board.as_mut();
        // Another release may have changed the tables since.
        if version_of(board)? != VERSIONS.len() {
            return Err(usage!("{}: its tables have changed meanwhile; publish again", self.place));
        }
        let id = &run.record.id;
        let known = "SELECT digest FROM slob_runs WHERE id = ?";
        let known = board.query("looking for the run", known, &[id.as_str().into()])?;
        match known.first().map(|row| row[0].text()) {
            None => {}
            Some(digest) if digest == Some(run.digest) => return Ok(false),
            Some(_) => {
                return Err(usage!("{id}: {} holds another run of this id: not published", self.place));
            }
        }
        for Rows { table, columns, rows } in rows::of(run) {
            insert(board, table, columns, &rows)?;
        }
        Ok(true)
    }
}

const OF_CAMPAIGN: &str = "SELECT plan, state FROM slob_campaigns WHERE folder = ?";

fn open(target: &str) -> Result<(Box<dyn Board>, String), Failure> {
    let target: Target = target.parse().map_err(|error| usage!("the address of the board: {error}"))?;
    if target.password().is_some() {
        return Err(usage!(
            "{target}: anybody on this host can read a password on a command line; use a file or variable of the database's own client"
        ));
    }
    let board = registry::engine_of(&target)?
        .board
        .ok_or_else(|| usage!("{target}: it can't keep runs; use one of {}", registry::board_forms()))?;
    Ok(((board.open)(&target)?, target.to_string()))
}

/// It is 0 without tables.
fn version_of(board: &mut dyn Board) -> Result<usize, Failure> {
    let found = board.query("reading the version of its tables", "SELECT version FROM slob_board", &[])?;
    match found.first().map(|row| &row[0]) {
        Some(Value::Whole(version)) => Ok(usize::try_from(*version).unwrap_or(usize::MAX)),
        _ => Ok(0),
    }
}

fn checked(version: usize, place: &str) -> Result<usize, Failure> {
    match version > VERSIONS.len() {
        true => Err(usage!(
            "{place}: its tables have version {version}, of a later release, and this slob knows {}: use that release",
            VERSIONS.len()
        )),
        false => Ok(version),
    }
}

/// Makes the tables of the newest version. The caller holds the lock.
fn renew(board: &mut dyn Board, place: &str) -> Result<(), Failure> {
    const STEP: &str = "making the tables of runs";
    board.execute(STEP, "CREATE TABLE IF NOT EXISTS slob_board (version BIGINT NOT NULL)", &[])?;
    let from = checked(version_of(board)?, place)?;
    let [text, end] = board.words();
    for (version, statements) in VERSIONS.iter().enumerate().skip(from) {
        let statements = statements.replace("{text}", text).replace("{end}", end);
        for statement in statements.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            board.execute(STEP, statement, &[])?;
        }
        board.execute(STEP, "DELETE FROM slob_board", &[])?;
        insert(board, "slob_board", "version", &[vec![Value::from(version as u64 + 1)]])?;
    }
    Ok(())
}

fn insert(board: &mut dyn Board, table: &str, columns: &str, rows: &[Vec<Value>]) -> Result<(), Failure> {
    let width = columns.split(',').count();
    let one = format!("({})", vec!["?"; width].join(", "));
    for part in rows.chunks(MOST_VALUES / width) {
        let all = vec![one.as_str(); part.len()].join(", ");
        board.execute(
            &format!("writing {table}"),
            &format!("INSERT INTO {table} ({columns}) VALUES {all}"),
            &part.concat(),
        )?;
    }
    Ok(())
}

/// The runs of a board in a folder that commands read as a results folder, and its published folders. Records are kept in the
/// user's cache, so that each is fetched once.
pub(crate) fn fetched(target: &str) -> Result<Results, Failure> {
    let (mut board, place) = open(target)?;
    let version = version_of(board.as_mut()).map_err(|failure| {
        usage!("{place}: it has no runs that this slob can read ({}); `slob publish --to {place}` publishes some", failure.text())
    })?;
    let version = checked(version, &place)?;
    let folder = cache(&place)?;
    let runs = board.query("listing its runs", "SELECT id, digest FROM slob_runs ORDER BY id", &[])?;
    if runs.is_empty() {
        return Err(usage!("{place}: it has no runs; `slob publish --to {place}` publishes some"));
    }
    let mut ids = BTreeSet::new();
    for run in &runs {
        let [Value::Text(id), Value::Text(digest)] = run.as_slice() else { continue };
        if !is_name(id) {
            return Err(usage!("{place}: '{id}' is no id of a run"));
        }
        ids.insert(id.clone());
        let there = folder.join(id);
        if read_digests(&there).is_ok_and(|(own, _)| own == *digest) {
            continue;
        }
        let found = board.query(
            "reading a run",
            "SELECT record, signature FROM slob_runs WHERE id = ?",
            &[run[0].clone()],
        )?;
        let Some([Value::Text(record), signature]) = found.first().map(Vec::as_slice) else { continue };
        let write = |name: &str, text: &str| output::write_file(&there.join(name), text);
        make_folder(&there)?;
        if let Value::Text(signature) = signature {
            write(SIGNATURE_FILE, signature)?;
        }
        write(RUN_FILE, record)?;
        if read_digests(&there)?.0 != *digest {
            let _ = fs::remove_dir_all(&there);
            return Err(usage!(
                "{place}: the record of {id} was changed after it was published: ask who administers it"
            ));
        }
    }
    for gone in list_runs(&folder)?
        .iter()
        .filter(|run| !ids.contains(&*run.file_name().unwrap_or_default().to_string_lossy()))
    {
        let _ = fs::remove_dir_all(gone);
    }
    // Each program has its own, as the board may change meanwhile.
    let failed = |error: io::Error| failed!("{place}: writing its folders to {}: {error}", folder.display());
    let folders = tempfile::Builder::new().prefix(".folders-").tempdir_in(&folder).map_err(failed)?;
    if version >= HAS_FOLDERS {
        write_folders(board.as_mut(), &place, &folder, folders.path())?;
    }
    Ok(Results::of_board(folder, folders, place))
}

fn write_folders(board: &mut dyn Board, place: &str, runs: &Path, folders: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| failed!("{place}: writing its folders to {}: {error}", folders.display());
    for row in board.query("listing its folders", "SELECT folder, run FROM slob_folders", &[])? {
        let [Value::Text(name), Value::Text(run)] = row.as_slice() else { continue };
        let there = runs.join(run);
        if !is_name(name) || !is_name(run) {
            return Err(usage!("{place}: '{name}' is no name of a folder"));
        }
        // A run may have come after they were listed.
        if there.is_dir() {
            fs::create_dir_all(folders.join(name)).map_err(failed)?;
            symlink(there, folders.join(name).join(run)).map_err(failed)?;
        }
    }
    for entry in fs::read_dir(folders).map_err(failed)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let found = board.query("reading a campaign", OF_CAMPAIGN, &[name.as_str().into()])?;
        let Some([Value::Text(plan), Value::Text(state)]) = found.first().map(Vec::as_slice) else {
            continue;
        };
        for (file, text) in [(CAMPAIGN_FILE, plan), (STATE_FILE, state)] {
            fs::write(entry.path().join(file), text).map_err(failed)?;
        }
    }
    Ok(())
}

/// The last part of a folder's path, wherever it is seen from.
pub(crate) fn name_of(folder: &Path) -> String {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A forged id must not lead out of a folder.
pub(crate) fn is_name(id: &str) -> bool {
    !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\0'])
}

fn cache(place: &str) -> Result<PathBuf, Failure> {
    let cache = verdict_cache::user_cache()
        .ok_or_else(|| usage!("there is no place for records: set XDG_CACHE_HOME or HOME"))?;
    let mut hasher = DefaultHasher::new();
    // Files of one name may be in different folders.
    let file = place.split_once(':').and_then(|(_, file)| Path::new(file).canonicalize().ok());
    (place, file).hash(&mut hasher);
    let folder = cache.join(format!("boards/{:016x}", hasher.finish()));
    make_folder(&folder)?;
    Ok(folder)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        usage!("making {}: {error}; set XDG_CACHE_HOME to a folder of yours", folder.display())
    })
}
