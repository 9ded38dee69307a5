//! Sessions: one connection each, with pinned plans. The loop in the server executes a batch by few CALLs, the loop in the client
//! statement by statement.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Statement, Value};
use slob_engine::{CancelToken, EngineError, ErrorKind, Outcome, Result, Session, SessionPlan, nanoseconds};
use slob_method::{Batch, KeyRange, Op, SchemaNo};
use slob_server::errors::{FOREIGN_PROCEDURE, NO_PROCEDURE};
use slob_server::{
    Cancellable, ClientLoop, Clients, ConnectionRole, Connector as _, Interrupt, Kind, LoopPlace, Statements,
    Task, Work, schema_name, time_left, whole_microseconds,
};

use crate::batch::{Form, decode, decode_stretch, first_piece, pack};
use crate::catalog;
use crate::connect::{Connector, SESSION, prepare};
use crate::counters::count_own;
use crate::databases::Databases;
use crate::procedure::{self, BATCH, SELECTS};
use crate::sql::{InStep, database, failed};
use crate::statement::{statement, stretch};

/// SELECTs need no BEGIN; COMMIT and the end of a batch end transactions. MySQL would cut off a stretch's answer at 1 KB.
const WORKING: &str = "SET SESSION autocommit = 0, group_concat_max_len = 1048576";
/// Bounds the plan and the answer, which every access copies.
const CALL_OPS: usize = 2048;

pub(crate) fn open(databases: &Databases, plan: &SessionPlan) -> Result<Box<dyn Session>> {
    let servers = &databases.servers;
    let (endpoint, name) = servers.place(plan);
    let step = format!("opening {name}");
    let look = |schema| Ok(vec![servers.with(Task::Read, |conn| catalog::schema(conn, schema, &step))?]);
    databases.loaded.require(plan, &step, schema_name, look)?;
    let connector = Arc::clone(&servers.connector);
    let mut conn = connector.connect(endpoint)?;
    // The sampler finds sessions by their default database.
    let home = format!("USE {}", database(plan.home));
    prepare(&mut conn, &[SESSION, &[WORKING, &home]].concat()).in_step(&step)?;
    let clients = Arc::clone(servers.clients(endpoint));
    clients.add(ConnectionRole::Session, conn.connection_id().into());
    let own = OwnCounts { clients, is_mariadb: databases.product.is_mariadb };
    let interrupt = KillQuery { connection: conn.connection_id(), endpoint, connector };
    if databases.loop_place == LoopPlace::Client {
        own.count(&mut conn)?;
        let statements = ClientStatements { conn, own, is_open: false };
        let work = ClientLoop::new(statements, plan, &step)?;
        return Ok(Box::new(Cancellable::new(work, endpoint, interrupt)));
    }
    databases.loaded.check_update_text(plan, &step)?;
    let mut prepare = |procedure| {
        let call = conn.prep(procedure::call(plan.home, procedure)).in_step(&name);
        call.map_err(|error| error.with_advice(NO_PROCEDURE))
    };
    let (batch, selects) = (prepare(BATCH)?, prepare(SELECTS)?);
    let step = format!("{name}, executing a batch");
    let (stretches, joined) = (BTreeMap::new(), databases.joined_keys());
    let mut work = ServerLoop { conn, own, batch, selects, stretches, joined, plan: plan.clone(), step };
    // The server compiles the procedures before the clock of the run starts.
    for form in [Form::Any, Form::Selects(1)] {
        work.call(&[], form, None, |_| 0)?;
    }
    // Excludes the reads of the preparation.
    work.own.count(&mut work.conn)?;
    Ok(Box::new(Cancellable::new(work, endpoint, interrupt)))
}

struct OwnCounts {
    clients: Arc<Clients>,
    is_mariadb: bool,
}

impl OwnCounts {
    fn count(&self, conn: &mut Conn) -> Result<()> {
        count_own(conn, self.is_mariadb, &self.clients)
    }
}

struct KillQuery {
    connection: u32,
    endpoint: usize,
    connector: Arc<Connector>,
}

impl Interrupt for KillQuery {
    fn asker(&self) -> Box<dyn FnMut() + '_> {
        let mut conn = None;
        Box::new(move || {
            if conn.is_none() {
                conn = self.connector.connect(self.endpoint).ok();
            }
            if let Some(conn) = &mut conn {
                let _ = conn.query_drop(format!("KILL QUERY {}", self.connection));
            }
        })
    }

    fn others(&self) -> &'static str {
        "KILL QUERY or a time limit of statements"
    }
}

struct ClientStatements {
    conn: Conn,
    own: OwnCounts,
    /// True within a transaction of several UPDATEs.
    is_open: bool,
}

impl Statements for ClientStatements {
    type Statement = Statement;
    type Error = mysql::Error;

    fn prepare(&mut self, kind: Kind, schema: SchemaNo) -> Result<Statement, mysql::Error> {
        self.conn.prep(statement(kind, schema, ["?", "?"], |_| "?".into()))
    }

    fn count(&mut self, statement: &Statement, keys: Option<KeyRange>) -> Result<u64, mysql::Error> {
        let parameters =
            keys.map_or(Params::Empty, |keys| Params::Positional(bounds(keys).into_iter().collect()));
        Ok(self.conn.exec_first::<u64, _, _>(statement, parameters)?.unwrap_or_default())
    }

    fn update(
        &mut self,
        statement: &Statement,
        keys: KeyRange,
        values: &[&str],
        commits: bool,
    ) -> Result<u64, mysql::Error> {
        let parameters = values.iter().map(|value| Value::from(*value)).chain(bounds(keys)).collect();
        self.conn.exec_drop(statement, Params::Positional(parameters))?;
        let changed = self.conn.affected_rows();
        self.is_open = !commits;
        if commits {
            self.conn.query_drop("COMMIT")?;
        }
        Ok(changed)
    }

    fn roll_back(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = self.conn.query_drop("ROLLBACK");
        }
    }

    /// MariaDB counts the pages of a transaction when it ends, and SELECTs alone end none.
    fn batch_done(&mut self) -> Result<()> {
        let end = if std::mem::take(&mut self.is_open) { "COMMIT" } else { "ROLLBACK" };
        self.conn.query_drop(end).in_step("ending a batch")
    }

    fn publish(&mut self) -> Result<()> {
        self.own.count(&mut self.conn)
    }

    /// After a lock wait the transaction is still open.
    fn failed(&mut self, _: SchemaNo, step: &str, error: mysql::Error) -> EngineError {
        self.is_open = true;
        self.roll_back();
        failed(step, &error)
    }
}

fn bounds(keys: KeyRange) -> [Value; 2] {
    [Value::from(keys.first), Value::from(keys.end())]
}

struct ServerLoop {
    conn: Conn,
    own: OwnCounts,
    batch: Statement,
    selects: Statement,
    stretches: BTreeMap<u16, Statement>,
    joined: u16,
    plan: SessionPlan,
    step: String,
}

impl ServerLoop {
    /// An error may follow the answer.
    fn call(
        &mut self,
        ops: &[Op],
        form: Form,
        run_us: Option<u64>,
        due_us: impl Fn(usize) -> u64,
    ) -> Result<(Vec<u8>, u64, Option<EngineError>)> {
        let text = Value::Bytes(pack(ops, form, &self.plan, due_us)?);
        let (statement, argument) = match form {
            Form::Selects(width) => (&self.selects, Value::from(width)),
            Form::Any | Form::Open => (&self.batch, Value::from(form == Form::Open)),
            Form::Stretch(width) => return Ok((self.stretch(width, text, run_us)?, 0, None)),
        };
        let values = vec![text, Value::from(ops.len()), argument, Value::from(run_us)];
        let fail = |error: mysql::Error| failed(&self.step, &error);
        let mut result = self.conn.exec_iter(statement, Params::Positional(values)).map_err(fail)?;
        let (mut answer, mut commit_us) = (Vec::new(), 0);
        if let Some(rows) = result.iter() {
            for row in rows {
                let mut row = row.map_err(fail)?;
                answer = row.take::<Vec<u8>, _>(0).unwrap_or_default();
                commit_us = row.take(1).unwrap_or_default();
            }
        }
        let mut error = None;
        while let Some(rows) = result.iter() {
            error = rows.filter_map(Result::err).last().map(fail).or(error);
        }
        Ok((answer, commit_us, error))
    }

    fn prepare_stretch(&mut self, form: Form) -> Result<()> {
        let Form::Stretch(width) = form else { return Ok(()) };
        if let Entry::Vacant(missing) = self.stretches.entry(width) {
            let sql = stretch(self.plan.home, width);
            missing.insert(self.conn.prep(sql).in_step(&self.step)?);
        }
        Ok(())
    }

    /// The statement must be prepared. A failed stretch has no answer.
    fn stretch(&mut self, width: u16, firsts: Value, run_us: Option<u64>) -> Result<Vec<u8>> {
        let limit = Value::from(run_us.unwrap_or(i64::MAX.cast_unsigned()));
        let parameters = Params::Positional(vec![firsts, limit]);
        let answer = self.conn.exec_first(&self.stretches[&width], parameters).in_step(&self.step)?;
        // MariaDB counts the pages of a transaction when it ends.
        self.conn.query_drop("ROLLBACK").in_step(&self.step)?;
        Ok(answer.flatten().unwrap_or_default())
    }
}

impl Work for ServerLoop {
    /// After an error `outcome` has the operations before it; after a lost connection or a kill, those of earlier calls.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        _: &CancelToken,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let begun = Instant::now();
        let is_open = batch.dues_ns().is_some();
        let mut done = 0;
        while done < batch.ops().len() {
            let rest = &batch.ops()[done..];
            let (form, count) = match is_open {
                true => (Form::Open, rest.len().min(CALL_OPS)),
                false => first_piece(rest, &self.plan, self.joined, CALL_OPS),
            };
            let ops = &rest[..count];
            self.prepare_stretch(form)?;
            let start = Instant::now();
            let Some(left) = time_left(deadline, start) else { return Ok(()) };
            let run_us = left.map(|left| u64::try_from(left.as_micros()).unwrap_or(i64::MAX.cast_unsigned()));
            let due_us = |index| due_us(batch, done + index, start - begun);
            let (answer, commit_us, error) = self.call(ops, form, run_us, due_us)?;
            let before = outcome.ops().len();
            let (begun_ns, took) = (nanoseconds(start - begun), start.elapsed());
            let fits = match form {
                Form::Stretch(_) => decode_stretch(ops, &answer, begun_ns, took, outcome),
                _ => decode(ops, &answer, is_open, begun_ns, took, outcome),
            };
            if !fits {
                let message =
                    format!("{} operations went there, and {} bytes came back", ops.len(), answer.len());
                return Err(EngineError::new(ErrorKind::Data, self.step.as_str(), message)
                    .with_advice(FOREIGN_PROCEDURE));
            }
            if let Some(error) = error {
                return Err(error);
            }
            let answered = outcome.ops().len() - before;
            self.own.clients.committed(&ops[..answered], commit_us);
            if answered < ops.len() {
                return Ok(());
            }
            done += count;
        }
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        self.own.count(&mut self.conn)
    }
}

/// Microseconds after the call, rounded up. The call begins `later` than the batch.
fn due_us(batch: &Batch, index: usize, later: Duration) -> u64 {
    whole_microseconds(batch.not_before(index).unwrap_or_default().saturating_sub(later))
}
