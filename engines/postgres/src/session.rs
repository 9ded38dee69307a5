//! Sessions: one connection each, with pinned plans. The loop in the server executes a batch by one CALL, the loop in the client
//! statement by statement.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use postgres::types::ToSql;
use postgres::{CancelToken, Client, Row, Statement};
use slob_engine::{EngineError, ErrorKind, Outcome, Result, Session, SessionPlan};
use slob_method::{Batch, KeyRange, SchemaNo};
use slob_server::errors::{FOREIGN_PROCEDURE, NO_PROCEDURE};
use slob_server::{
    Cancellable, ClientLoop, ConnectionRole, Connector as _, Interrupt, Kind, LoopPlace, Statements, Task,
    Work, time_left,
};

use crate::array::{Received, Sent};
use crate::batch::{Arrays, decode};
use crate::catalog;
use crate::connect::{Connector, SESSION};
use crate::database::Database;
use crate::procedure::{CAN_FLUSH, call};
use crate::server::{with_figures, with_lock_holders};
use crate::sql::{Ask, InStep, failed, namespace, process};
use crate::statement::statement;

const PUBLISHING: &str = "publishing statistics";
/// Before version 15 a process sends counts at most once in half a second (`PGSTAT_STAT_INTERVAL`), and readers may get older
/// ones.
const OLD_INTERVAL: Duration = Duration::from_millis(510);

pub(crate) fn open(database: &Arc<Database>, plan: &SessionPlan) -> Result<Box<dyn Session>> {
    let servers = &database.servers;
    let (endpoint, name) = servers.place(plan);
    let step = format!("opening {name}");
    let look = |schema| Ok(vec![servers.with(Task::Read, |client| catalog::schema(client, schema, &step))?]);
    database.loaded.require(plan, &step, namespace, look)?;
    let connector = Arc::clone(&servers.connector);
    let mut client = connector.connect(endpoint).map_err(|error| with_figures(servers, error))?;
    client.run(&step, SESSION)?;
    servers.clients(endpoint).add(ConnectionRole::Session, process(&mut client, &step)?);
    let interrupt = CancelRequest { token: client.cancel_token(), endpoint, connector };
    let database = Arc::clone(database);
    if database.loop_place == LoopPlace::Client {
        let work = ClientLoop::new(ClientStatements { database, client, is_open: false }, plan, &step)?;
        return Ok(Box::new(Cancellable::new(work, endpoint, interrupt)));
    }
    database.loaded.check_update_text(plan, &step)?;
    let call = client.prepare(&call(plan.home)).in_step(&step);
    let call = call.map_err(|error| error.with_advice(NO_PROCEDURE))?;
    let (plan, arrays) = (plan.clone(), Arrays::default());
    let step = format!("{name}, executing a batch");
    let mut work = ServerLoop { database, endpoint, client, call, plan, step, arrays };
    // The server compiles the procedure before the clock of the run starts.
    work.call(None)?;
    Ok(Box::new(Cancellable::new(work, endpoint, interrupt)))
}

/// Returns when the counters include all work of the connection.
pub(crate) fn publish(client: &mut Client, version: u32) -> Result<()> {
    if version >= CAN_FLUSH {
        return flush(client);
    }
    thread::sleep(OLD_INTERVAL);
    client.run(PUBLISHING, "SELECT 1")?;
    thread::sleep(OLD_INTERVAL);
    Ok(())
}

fn flush(client: &mut Client) -> Result<()> {
    client.run(PUBLISHING, "SELECT pg_stat_force_next_flush()")
}

struct CancelRequest {
    token: CancelToken,
    endpoint: usize,
    connector: Arc<Connector>,
}

impl Interrupt for CancelRequest {
    fn asker(&self) -> Box<dyn FnMut() + '_> {
        Box::new(|| drop(self.connector.cancel(&self.token, self.endpoint)))
    }

    fn others(&self) -> &'static str {
        "pg_cancel_backend()"
    }
}

struct ClientStatements {
    database: Arc<Database>,
    client: Client,
    /// True within a transaction of several UPDATEs.
    is_open: bool,
}

impl ClientStatements {
    fn end(&mut self, sql: &str) -> Result<(), postgres::Error> {
        if std::mem::take(&mut self.is_open) { self.client.batch_execute(sql) } else { Ok(()) }
    }
}

impl Statements for ClientStatements {
    type Statement = Statement;
    type Error = postgres::Error;

    /// Parameters are the keys, then the columns that it sets.
    fn prepare(&mut self, kind: Kind, schema: SchemaNo) -> Result<Statement, postgres::Error> {
        let number = |column| {
            let place = kind.updated_columns().iter().position(|other| *other == column);
            format!("${}", place.unwrap_or_default() + 3)
        };
        self.client.prepare(&statement(kind, schema, ["$1", "$2"], number))
    }

    fn count(&mut self, statement: &Statement, keys: Option<KeyRange>) -> Result<u64, postgres::Error> {
        let keys = keys.map(bounds);
        let keys: Vec<&(dyn ToSql + Sync)> =
            keys.iter().flatten().map(|key| key as &(dyn ToSql + Sync)).collect();
        let count: i64 = self.client.query_one(statement, &keys)?.try_get(0)?;
        Ok(count.cast_unsigned())
    }

    fn update(
        &mut self,
        statement: &Statement,
        keys: KeyRange,
        values: &[&str],
        commits: bool,
    ) -> Result<u64, postgres::Error> {
        if !commits && !self.is_open {
            self.client.batch_execute("BEGIN")?;
            self.is_open = true;
        }
        let [first, end] = bounds(keys);
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&first, &end];
        parameters.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
        let changed = self.client.execute(statement, &parameters)?;
        if commits {
            self.end("COMMIT")?;
        }
        Ok(changed)
    }

    fn roll_back(&mut self) {
        let _ = self.end("ROLLBACK");
    }

    fn failed(&mut self, schema: SchemaNo, step: &str, error: postgres::Error) -> EngineError {
        self.roll_back();
        with_lock_holders(&self.database.servers, schema, failed(step, &error), None)
    }

    fn batch_done(&mut self) -> Result<()> {
        self.end("COMMIT").in_step("ending a batch")?;
        if self.database.version >= CAN_FLUSH { flush(&mut self.client) } else { Ok(()) }
    }

    fn publish(&mut self) -> Result<()> {
        publish(&mut self.client, self.database.version)
    }
}

fn bounds(keys: KeyRange) -> [i64; 2] {
    [keys.first, keys.end()].map(u64::cast_signed)
}

struct ServerLoop {
    database: Arc<Database>,
    endpoint: usize,
    client: Client,
    call: Statement,
    plan: SessionPlan,
    step: String,
    arrays: Arrays,
}

impl ServerLoop {
    fn call(&mut self, run_us: Option<i64>) -> Result<Row> {
        let Arrays { kinds, firsts, ends, stamps, pauses, dues, bounds } = &self.arrays;
        let kinds = Sent(kinds);
        let [firsts, ends, stamps, pauses, dues] = [firsts, ends, stamps, pauses, dues].map(|all| Sent(all));
        self.client
            .query_one(&self.call, &[&kinds, &firsts, &ends, &stamps, &pauses, &dues, bounds, &run_us])
            .in_step(&self.step)
            .map_err(|error| with_lock_holders(&self.database.servers, self.plan.home, error, None))
    }
}

impl Work for ServerLoop {
    /// After an error `outcome` is empty, as the server's commits are unknown. Repeated UPDATEs write the same values again.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        _: &slob_engine::CancelToken,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let joined = self.database.loop_place == LoopPlace::Server;
        self.arrays.fill(batch, &self.plan, joined)?;
        let begun = Instant::now();
        let Some(left) = time_left(deadline, begun) else { return Ok(()) };
        let run_us = left.map(|left| i64::try_from(left.as_micros()).unwrap_or(i64::MAX));
        let row = self.call(run_us)?;
        let array = |index| row.try_get::<_, Received<'_>>(index).in_step(&self.step).map(Received::values);
        let (times, seen) = (array(0)?, array(1)?);
        let commit_us: i64 = row.try_get(2).in_step(&self.step)?;
        let (moments, counts) = (times.len(), seen.len());
        if decode(batch, times, seen, begun.elapsed(), outcome) {
            let done = batch.ops().iter().take(counts);
            self.database.servers.clients(self.endpoint).committed(done, commit_us.cast_unsigned());
            return Ok(());
        }
        outcome.clear();
        let message = format!("{moments} times and {counts} counts came back");
        Err(EngineError::new(ErrorKind::Data, self.step.as_str(), message).with_advice(FOREIGN_PROCEDURE))
    }

    fn publish(&mut self) -> Result<()> {
        publish(&mut self.client, self.database.version)
    }
}
