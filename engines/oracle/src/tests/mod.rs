//! The engine on a server that plays transcripts.
//!
//! A transcript is a part of a file in `transcripts`, below its title:
//!
//! ```text
//! == title
//! system: SELECT owner FROM all_tab_comments ... ['SLOB']
//!   SLOB1
//! slob1: CREATE UNIQUE INDEX SLOB1.i_cf1 ...
//!   ! 955
//! * system: SELECT client_name FROM dba_autotask_client ...
//! @ another title: $1
//! ```
//!
//! A call is an account and its statement, with its binds at the end; `...` matches any text. Its answer follows: rows, with
//! | between values, or the number of an error. The engine must make each call once and in this order; a call with a star may
//! come at any time, as often as it likes. A line with @ includes another transcript; `$1` is the text behind the colon.
//!
//! A batch shows its operations as binds. All of them succeed, unless the answer is `! ERROR after NUMBER`, or `hangs`: then
//! the batch ends when it is cancelled.
//!
//! The player knows no SQL. Transcripts check the order of calls, binds, errors, cancellation and clean-up, but not whether
//! a server accepts the statements.

mod counting;
mod loading;
mod reports;
mod sessions;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use slob_engine::{Load, OpenSpec, Purpose, Result};
use slob_spec::EngineOptions;

use crate::OracleEngine;
use crate::client::{Bind, BlockInput, BlockOutput, Cancellation, Client, Driver, Fault, Login, Row};
use crate::database::Database;
use crate::load::SliceRows;

const TRANSCRIPTS: &str = concat!(
    include_str!("transcripts/server.txt"),
    include_str!("transcripts/counting.txt"),
    include_str!("transcripts/loading.txt"),
    include_str!("transcripts/reports.txt"),
    include_str!("transcripts/sessions.txt"),
);
/// 'user requested cancel of current operation'.
const CANCELLED: i32 = 1013;
/// No exception handler receives these: the call was cancelled, or its session killed or lost.
const UNCAUGHT: [i32; 4] = [CANCELLED, 28, 3113, 3114];

const LOAD: Load = Load { seed: 77, scale: 10, scan_blocks: 0, obfuscated: false, slice_rows: 4 };

#[derive(Clone, Debug)]
struct Call {
    pattern: String,
    answer: Answer,
}

#[derive(Clone, Debug, Default)]
struct Answer {
    rows: Vec<Row>,
    error: Option<i32>,
    /// The error follows so many operations.
    done: usize,
    hangs: bool,
}

impl Answer {
    fn add(&mut self, line: &str) {
        if line == "hangs" {
            self.hangs = true;
        } else if let Some(error) = line.strip_prefix("! ") {
            let (error, done) = error.split_once(" after ").unwrap_or((error, "0"));
            (self.error, self.done) = (Some(error.parse().unwrap()), done.parse().unwrap());
        } else {
            self.rows.extend(rows(line));
        }
    }

    fn rows(self) -> Result<Vec<Row>, Fault> {
        self.error.map_or(Ok(self.rows), |error| Err(Fault::new(error, "by the transcript")))
    }
}

/// A | separates values, which may be quoted.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let value = |value: &str| Some(value.trim().trim_matches('"').to_owned()).filter(|value| value != "NULL");
    text.lines().map(|line| line.split('|').map(value).collect()).collect()
}

fn lines_of(title: &str, argument: &str) -> Vec<String> {
    let begin = format!("== {title}\n");
    let (_, text) =
        TRANSCRIPTS.split_once(&begin).unwrap_or_else(|| panic!("there is no transcript '{title}'"));
    let lines = text.lines().take_while(|line| !line.starts_with("== "));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let included = |line: &str| match line.replace("$1", argument).strip_prefix("@ ") {
        Some(other) => {
            let (title, argument) = other.split_once(": ").unwrap_or((other, ""));
            lines_of(title, argument)
        }
        None => vec![line.replace("$1", argument)],
    };
    lines.flat_map(included).collect()
}

fn matches(pattern: &str, call: &str) -> bool {
    let Some((first, others)) = pattern.split_once("...") else { return pattern == call };
    let Some(mut rest) = call.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = others.split("...").collect();
    let last = parts.pop().unwrap();
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[derive(Default)]
struct State {
    expected: VecDeque<Call>,
    /// They may come at any time; the latest goes first.
    starred: Vec<Call>,
    calls: Vec<String>,
    open: Vec<String>,
    limits: Vec<Option<Duration>>,
    input: BlockInput,
    /// Without it, the batch's connection cancels.
    cancelled_by: Option<String>,
    is_hanging: bool,
    is_cancelled: bool,
}

impl State {
    fn answer(&mut self, call: String) -> Answer {
        let is_expected = self.expected.front().is_some_and(|next| matches(&next.pattern, &call));
        let next = if is_expected { self.expected.pop_front() } else { None };
        let starred = || self.starred.iter().find(|starred| matches(&starred.pattern, &call)).cloned();
        let Some(Call { answer, .. }) = next.or_else(starred) else {
            panic!("called: {call}\nby the transcript: {:?}", self.expected.front());
        };
        self.calls.push(call);
        answer
    }
}

#[derive(Clone, Default)]
struct Player(Arc<(Mutex<State>, Condvar)>);

impl Player {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) {
        self.state().is_cancelled = true;
        self.0.1.notify_all();
    }
}

impl Driver for Player {
    fn connect(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault> {
        let user = login.name().to_lowercase();
        let mut state = self.state();
        state.answer(format!("{user}: CONNECT {service}")).rows()?;
        state.open.push(user.clone());
        Ok(Box::new(Connection { player: self.clone(), user }))
    }

    fn name(&self) -> String {
        "a transcript".into()
    }
}

struct Connection {
    player: Player,
    user: String,
}

impl Connection {
    fn play(&self, sql: &str, binds: &[Bind]) -> Answer {
        let flat = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = |bind: &Bind| match bind {
            Bind::Number(number) => number.to_string(),
            Bind::Text(text) => format!("'{text}'"),
        };
        let values: Vec<String> = binds.iter().map(value).collect();
        let bound = if binds.is_empty() { String::new() } else { format!(" [{}]", values.join(", ")) };
        let answer = self.player.state().answer(format!("{}: {flat}{bound}", self.user));
        if self.player.state().cancelled_by.as_ref() == Some(&flat) {
            self.player.cancel();
        }
        answer
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.player.state();
        let place = state.open.iter().position(|open| *open == self.user).unwrap();
        state.open.remove(place);
    }
}

impl Client for Connection {
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<(), Fault> {
        self.play(sql, binds).rows().map(drop)
    }

    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault> {
        self.play(sql, binds).rows()
    }

    fn answer(&mut self, sql: &str) -> Result<u64, Fault> {
        Ok(self.value(sql)?.unwrap().parse().unwrap())
    }

    fn insert(&mut self, sql: &str, rows: &mut SliceRows<'_>) -> Result<(), Fault> {
        let mut keys = Vec::new();
        while let Some((key, _)) = rows.next_row()? {
            keys.push(Bind::Number(key));
        }
        self.execute(sql, &keys)
    }

    fn batch(&mut self, block: &str, input: &BlockInput) -> Result<BlockOutput, Fault> {
        self.player.state().input = input.clone();
        let answer = self.play(block, &[Bind::Text(input.ops.clone())]);
        let ops = read_ops(input);
        if answer.hangs {
            let mut state = self.player.state();
            state.is_hanging = true;
            let patience = Duration::from_secs(30);
            let waited = self.player.0.1.wait_timeout_while(state, patience, |state| !state.is_cancelled);
            assert!(!waited.unwrap().1.timed_out(), "nobody cancelled the batch");
            return Err(Fault::new(CANCELLED, "user requested cancel"));
        }
        let fault = answer.error.map(|error| Fault::new(error, "by the transcript"));
        if let Some(fault) = fault.clone().filter(|fault| fault.is_one_of(&UNCAUGHT)) {
            return Err(fault);
        }
        let done = if fault.is_some() { answer.done } else { ops.len() };
        let result =
            |(op, number): (&ReadOp, u64)| [number * 10, number * 10 + 8, (op.end - op.first) as u64];
        let results: Vec<[u64; 3]> = ops.iter().take(done).zip(0..).map(result).collect();
        Ok(BlockOutput { ops: write_results(&results), took_us: 10, fault })
    }

    fn limit(&mut self, most: Option<Duration>) {
        self.player.state().limits.push(most);
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.execute("COMMIT", &[])
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.execute("ROLLBACK", &[])
    }

    fn cancellation(&mut self) -> Cancellation {
        let player = self.player.clone();
        match &self.player.state().cancelled_by {
            Some(sql) => Cancellation::Statement(sql.clone()),
            None => Cancellation::Break(Arc::new(move || player.cancel())),
        }
    }
}

/// All calls of its transcripts must come.
struct Server {
    player: Player,
    folder: tempfile::TempDir,
}

impl Server {
    fn plays(titles: &[&str]) -> Self {
        let server = Self { player: Player::default(), folder: tempfile::tempdir().unwrap() };
        titles.iter().for_each(|title| server.then(title));
        server
    }

    fn loaded(titles: &[&str]) -> Self {
        Self::plays(&[&["open", "two schemas are loaded"], titles].concat()).with_passwords()
    }

    /// `title` may have an argument behind a colon.
    fn then(&self, title: &str) {
        let (title, argument) = title.split_once(": ").unwrap_or((title, ""));
        let mut state = self.player.state();
        let mut calls: Vec<Call> = Vec::new();
        for line in lines_of(title, argument) {
            match line.strip_prefix("  ") {
                Some(answer) => calls.last_mut().unwrap().answer.add(answer),
                None => calls.push(Call { pattern: line, answer: Answer::default() }),
            }
        }
        let (starred, expected): (Vec<Call>, Vec<Call>) =
            calls.into_iter().partition(|call| call.pattern.starts_with("* "));
        let starred = starred.into_iter().map(|call| Call { pattern: call.pattern[2..].into(), ..call });
        state.starred.splice(..0, starred);
        state.expected.extend(expected);
    }

    fn with_passwords(self) -> Self {
        self.write_passwords("db1:1521/pdb1\tSLOB1\tSL01ob__1\ndb1:1521/pdb1\tSLOB2\tSL01ob__2\n");
        self
    }

    fn write_passwords(&self, lines: &str) {
        let file = self.folder.path().join("passwords");
        std::fs::write(&file, lines).unwrap();
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }

    fn open(&self) -> OracleEngine {
        self.open_as("oracle://system:manager@//db1/pdb1", EngineOptions::default()).unwrap()
    }

    fn open_as(&self, target: &str, options: EngineOptions) -> Result<OracleEngine> {
        self.open_spec(&OpenSpec::new(target.parse().unwrap(), Purpose::Load, options))
    }

    fn open_spec(&self, spec: &OpenSpec) -> Result<OracleEngine> {
        let passwords = self.folder.path().join("passwords");
        let database = Database::open(spec, Box::new(self.player.clone()), Some(passwords))?;
        Ok(OracleEngine(Arc::new(database)))
    }

    fn calls(&self) -> Vec<String> {
        self.player.state().calls.clone()
    }

    fn connections(&self, user: &str) -> usize {
        self.player.state().open.iter().filter(|open| *open == user).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let left = &self.player.state().expected;
        assert!(std::thread::panicking() || left.is_empty(), "calls that did not come: {left:#?}");
    }
}

/// A parameters file gives them.
pub(crate) fn options(pairs: &[(&str, &str)]) -> EngineOptions {
    let table = slob_spec::Table::new("oracle:", &[crate::options::PARAMS]);
    let flags: Vec<(String, String)> =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let settings = slob_spec::Settings::resolve(&table, None, &[], &flags).unwrap().settings;
    slob_spec::LoadSpec::from_settings(&settings).unwrap().spec.options.of("oracle")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadOp {
    pub(crate) kind: i64,
    pub(crate) first: i64,
    pub(crate) end: i64,
    pub(crate) pause_us: i64,
    pub(crate) stamp: Option<String>,
}

/// Numbers repeat those of `batch.sql` and its placeholders.
pub(crate) fn read_ops(input: &BlockInput) -> Vec<ReadOp> {
    // SUBSTRB counts from 1.
    let substrb = |text: &str, place: usize, length: usize| text[place - 1..place - 1 + length].to_owned();
    let read = |op: usize| {
        let number = |from, length| substrb(&input.ops, op * 30 + from, length).parse::<i64>().unwrap();
        let first = number(2, 15);
        let stamp = input.stamps.as_ref().map(|stamps| substrb(stamps, op * 16 + 1, 16));
        ReadOp { kind: number(1, 1), first, end: first + number(17, 4), pause_us: number(21, 10), stamp }
    };
    (0..input.ops.len() / 30).map(read).collect()
}

/// `TO_CHAR(..., 'FM0XXXXXXXXX')` writes the numbers.
pub(crate) fn write_results(results: &[[u64; 3]]) -> String {
    results.iter().flatten().map(|number| format!("{number:010X}")).collect()
}

#[test]
fn the_player_refuses_calls_that_the_transcript_lacks() {
    assert!(matches("a: SELECT ... FROM x", "a: SELECT 1, 2 FROM x") && !matches("a: SELECT", "a: SELECT 1"));
    assert!(!matches("a: SELECT ... FROM x", "a: SELECT 1 FROM x, y") && matches("a...b...", "a-b-"));
    let server = Server::plays(&["open"]);
    let engine = server.open();
    let unexpected = std::panic::AssertUnwindSafe(|| engine.0.as_admin(|client| Ok(client.commit())));
    assert!(std::panic::catch_unwind(unexpected).is_err());
}
