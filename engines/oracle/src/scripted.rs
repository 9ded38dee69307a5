//! A double of a server, for tests: it writes down what it is told and answers from a script. It knows no SQL, so what
//! these tests hold is the order of calls, what is bound, errors, cancellation and cleaning up; not that a server would
//! take the statements.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use slob_engine::{OpenSpec, Purpose};
use slob_method::COLUMNS;
use slob_spec::EngineOptions;

use crate::client::{Answer, Bind, Break, Client, Dial, Driver, Ending, Fault, Login, NewRows, Row, Work};
use crate::engine::{OracleEngine, open_with};

use self::server::{ReadOp, read_ops, write_answer};

/// What a statement that begins with some words is answered with.
enum Reply {
    Rows(Vec<Row>),
    Fault(i32),
    /// The first time only.
    FaultOnce(i32),
    RowsOnce(Vec<Row>),
}

#[derive(Default)]
struct State {
    log: Vec<String>,
    replies: Vec<(String, Reply)>,
    /// Batches block until they are broken.
    hangs: bool,
    /// One of them is under way.
    hanging: bool,
    broken: bool,
    last_batch: Option<Work>,
    /// The accounts of the connections that are open.
    open: Vec<String>,
    /// An account that is not let in, and the code that says so.
    refused: Option<(String, i32)>,
    /// Batches fail after so many operations, with that code.
    batch_fault: Option<(usize, i32)>,
    /// What ends a batch, in another connection; its own does if there is none.
    ended_by: Option<String>,
    /// The limits that calls were given.
    limits: Vec<Option<Duration>>,
}

/// 'user requested cancel of current operation'.
const CANCELLED: i32 = 1013;
/// Errors that no handler in a block is given, WHEN OTHERS neither: the call was cancelled, its session killed, or gone. What
/// was done is not told.
const UNCAUGHT: [i32; 4] = [CANCELLED, 28, 3113, 3114];

/// The double; its clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<(Mutex<State>, Condvar)>);

impl Script {
    /// A release that is open, with nothing in it.
    pub(crate) fn new() -> Self {
        let script = Self::default();
        script.rows("SELECT version", &[&["19.0.0.0.0"]]);
        script.rows("SELECT SYS_CONTEXT", &[&["PDB1"]]);
        script
    }

    /// From now on, statements that begin so are answered with these rows; the latest rule goes first.
    pub(crate) fn rows(&self, begin: &str, rows: &[&[&str]]) {
        self.state().replies.insert(0, (begin.into(), Reply::Rows(as_rows(rows))));
    }

    /// The next statement that begins so is answered with these rows.
    pub(crate) fn rows_once(&self, begin: &str, rows: &[&[&str]]) {
        self.state().replies.insert(0, (begin.into(), Reply::RowsOnce(as_rows(rows))));
    }

    /// From now on, statements that begin so fail.
    pub(crate) fn fails(&self, begin: &str, code: i32) {
        self.state().replies.insert(0, (begin.into(), Reply::Fault(code)));
    }

    /// The next statement that begins so fails.
    pub(crate) fn fails_once(&self, begin: &str, code: i32) {
        self.state().replies.insert(0, (begin.into(), Reply::FaultOnce(code)));
    }

    /// From now on an account is not let in.
    pub(crate) fn refuses(&self, user: &str, code: i32) {
        self.state().refused = Some((user.into(), code));
    }

    /// Two schemas of 10 rows, loaded.
    pub(crate) fn loaded(&self) {
        self.rows("SELECT owner FROM all_tab_comments", &[&["SLOB2"], &["SLOB1"], &["SLOBBER"]]);
        let state = |number| [number, "77", "10", "0", "0", "4", "10", "10", "14", "1"];
        self.state_rows(&[&state("1"), &state("2")]);
        self.rows("EXPLAIN PLAN", &[]);
        let plan: &[&[&str]] = &[
            &["SELECT STATEMENT", "NULL"],
            &["SORT", "AGGREGATE"],
            &["TABLE ACCESS", "BY INDEX ROWID"],
            &["INDEX", "RANGE SCAN"],
        ];
        self.rows("SELECT operation", plan);
    }

    /// What the tables of the loads hold.
    pub(crate) fn state_rows(&self, rows: &[&[&str]]) {
        for number in ["1", "2"] {
            self.rows(&format!("SELECT {number} AS schema_number, l.seed"), rows);
        }
    }

    /// Batches don't end by themselves.
    pub(crate) fn hangs(&self) {
        self.state().hangs = true;
    }

    /// Whether a batch that does not end by itself is under way.
    pub(crate) fn is_hanging(&self) -> bool {
        let state = self.state();
        state.hanging
    }

    /// Batches end with an error after some operations.
    pub(crate) fn batch_fails_after(&self, ops: usize, code: i32) {
        self.state().batch_fault = Some((ops, code));
    }

    /// Batches are ended by that statement, in another connection.
    pub(crate) fn ended_by(&self, sql: &str) {
        self.state().ended_by = Some(sql.into());
    }

    /// The limits that calls were given.
    pub(crate) fn limits(&self) -> Vec<Option<Duration>> {
        self.state().limits.clone()
    }

    /// What the last batch was given.
    pub(crate) fn last_batch(&self) -> Work {
        self.state().last_batch.clone().unwrap()
    }

    /// What was done since the last look, a line for each call, shortened to its first words.
    pub(crate) fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.state().log)
    }

    /// How many connections an account has.
    pub(crate) fn connections(&self, user: &str) -> usize {
        self.state().open.iter().filter(|open| *open == user).count()
    }

    /// Opens the engine on it, with passwords kept in that folder.
    pub(crate) fn open(&self, folder: &Path, options: EngineOptions) -> OracleEngine {
        let target = "oracle://system:manager@//db1/pdb1".parse().unwrap();
        let spec = OpenSpec::new(target, Purpose::Load, options);
        open_with(&spec, Box::new(self.clone()), Some(folder.join("passwords"))).unwrap()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, user: &str, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault> {
        let mut state = self.state();
        let flat = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let words: String = flat.chars().take(400).collect();
        let bound = if binds.is_empty() { String::new() } else { format!(" {binds:?}") };
        state.log.push(format!("{user}: {words}{bound}"));
        let fault = |code: i32| Err(Fault::new(code, "scripted"));
        if state.ended_by.as_ref() == Some(&flat) {
            state.broken = true;
            self.0.1.notify_all();
        }
        let Some(place) = state.replies.iter().position(|(begin, _)| flat.starts_with(begin.as_str())) else {
            return Ok(Vec::new());
        };
        match &state.replies[place].1 {
            Reply::Rows(rows) => Ok(rows.clone()),
            Reply::Fault(code) => fault(*code),
            Reply::RowsOnce(rows) => {
                let rows = rows.clone();
                state.replies.remove(place);
                Ok(rows)
            }
            Reply::FaultOnce(code) => {
                let code = *code;
                state.replies.remove(place);
                fault(code)
            }
        }
    }
}

impl Dial for Script {
    fn dial(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault> {
        let user = match login {
            Login::OperatingSystem { .. } => "/".to_owned(),
            Login::Password { user, .. } => user.to_lowercase(),
        };
        self.answer(&user, &format!("CONNECT {service}"), &[])?;
        if let Some((_, code)) = self.state().refused.as_ref().filter(|(refused, _)| *refused == user) {
            return Err(Fault::new(*code, "scripted"));
        }
        self.state().open.push(user.clone());
        Ok(Box::new(ScriptedClient { script: self.clone(), user }))
    }

    fn driver(&self) -> Driver {
        Driver { name: "a double".into(), note: None }
    }
}

struct ScriptedClient {
    script: Script,
    user: String,
}

impl Drop for ScriptedClient {
    fn drop(&mut self) {
        let mut state = self.script.state();
        let place = state.open.iter().position(|open| *open == self.user);
        place.map(|place| state.open.remove(place));
    }
}

impl Client for ScriptedClient {
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<u64, Fault> {
        self.script.answer(&self.user, sql, binds).map(|_| 0)
    }

    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault> {
        self.script.answer(&self.user, sql, binds)
    }

    fn number(&mut self, sql: &str) -> Result<u64, Fault> {
        let rows = self.script.answer(&self.user, sql, &[])?;
        let number = rows.first().and_then(|row| crate::catalog::number(row, 0));
        number.ok_or_else(|| Fault::new(None, "the script has no number"))
    }

    fn insert(&mut self, sql: &str, rows: &mut dyn NewRows) -> Result<(), Fault> {
        let mut keys = Vec::new();
        let mut take = |row: &crate::client::NewRow<'_>| {
            assert_eq!(row.columns.len(), COLUMNS);
            keys.push(Bind::Number(row.custid));
            Ok(())
        };
        while rows.next(&mut take)? {}
        self.script.answer(&self.user, sql, &keys).map(drop)
    }

    fn batch(&mut self, sql: &str, work: &Work) -> Result<Answer, Fault> {
        self.script.answer(&self.user, sql, &[])?;
        let (_, bell) = &*self.script.0;
        let mut state = self.script.state();
        let ops = read_ops(work);
        state.last_batch = Some(work.clone());
        if state.hangs && !ops.is_empty() {
            state.hanging = true;
            let patience = Duration::from_secs(30);
            let (guard, waited) = bell
                .wait_timeout_while(state, patience, |state| !state.broken)
                .unwrap_or_else(PoisonError::into_inner);
            assert!(!waited.timed_out(), "nobody broke the batch");
            drop(guard);
            return Err(Fault::new(CANCELLED, "user requested cancel"));
        }
        let (count, fault) = match state.batch_fault.filter(|(done, _)| *done < ops.len()) {
            Some((_, code)) if UNCAUGHT.contains(&code) => return Err(Fault::new(code, "scripted")),
            Some((done, code)) => (done, Some(Fault::new(code, "scripted"))),
            None => (ops.len(), None),
        };
        let moment =
            |(op, number): (&ReadOp, u64)| [number * 10, number * 10 + 8, (op.end - op.first) as u64];
        let moments: Vec<[u64; 3]> = ops.iter().take(count).zip(0..).map(moment).collect();
        Ok(Answer { text: write_answer(&moments), took_us: 10, fault })
    }

    fn limit(&mut self, most: Option<Duration>) {
        self.script.state().limits.push(most);
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.script.answer(&self.user, "COMMIT", &[]).map(drop)
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.script.answer(&self.user, "ROLLBACK", &[]).map(drop)
    }

    fn ending(&mut self) -> Ending {
        match &self.script.state().ended_by {
            Some(sql) => Ending::Statement(sql.clone()),
            None => Ending::Break(Arc::new(self.script.clone())),
        }
    }
}

impl Break for Script {
    fn break_call(&self) {
        self.state().broken = true;
        self.0.1.notify_all();
    }
}

fn as_rows(rows: &[&[&str]]) -> Vec<Row> {
    let value = |text: &&str| Some((*text).to_owned()).filter(|text| text != "NULL");
    rows.iter().map(|row| row.iter().map(value).collect()).collect()
}

/// Options as a parameters file would give them.
pub(crate) fn options(pairs: &[(&str, &str)]) -> EngineOptions {
    let table = slob_spec::Table::new("oracle:", &[crate::options::PARAMS]);
    let flags: Vec<(String, String)> =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let settings = slob_spec::Settings::resolve(&table, None, &[], &flags).unwrap().settings;
    slob_spec::LoadSpec::from_settings(&settings).unwrap().spec.options.of("oracle")
}

mod counting;
mod loading;
mod parsed;
mod parsed_as_plsql;
mod reporting;
pub(crate) mod server;
mod working;
