//! Sessions: one connection each, as the account of their schema.
//!
//! The block of a batch takes operations as a text, and returns another one of the same width:
//!
//! | characters of an operation | decimal number |
//! | --- | --- |
//! | 1 | its kind |
//! | 15 | its first key |
//! | 4 | how many keys |
//! | 10 | the pause after it, in microseconds |
//!
//! | characters of its result | hexadecimal number |
//! | --- | --- |
//! | 10 | its start, in microseconds after the block began to work |
//! | 10 | its end |
//! | 10 | its rows |
//!
//! Stamps are a text of their own: 16 hexadecimal digits for each operation, blanks if it is no UPDATE.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use slob_engine::{
    CancelToken, EngineError, ErrorKind, OpOutcome, Outcome, Result, SchemaState, Session, SessionPlan,
    nanoseconds,
};
use slob_method::{Action, Batch, Op, SchemaNo};
use slob_server::{Cancellable, Interrupt, ServerClock, Work, number, time_left};

use crate::client::{BlockInput, BlockOutput, Cancellation, Client, During, Fault, Row, failed};
use crate::database::{Database, Role};
use crate::options::service_name;
use crate::schemas;
use crate::statements::{block, current_schema};

pub(crate) const WIDTH: usize = 30;
const RESULT_DIGITS: usize = WIDTH / 3;
const STAMP_WIDTH: usize = 16;
const KEYS_END: u64 = 1_000_000_000_000_000;
const COUNT_END: u64 = 10_000;
pub(crate) fn call_ops(longest_text: usize) -> usize {
    longest_text / WIDTH
}
/// The connection that must cancel the call may fail.
const GRACE: Duration = Duration::from_secs(60);
/// The call has no deadline.
const LONGEST_CALL: Duration = Duration::from_secs(3600);
/// The message begins with PLS-.
const NOT_COMPILED: i32 = 6550;

pub(crate) fn open(database: &Arc<Database>, plan: &SessionPlan) -> Result<Box<dyn Session>> {
    let connections = &database.connections;
    let services = &connections.access.services;
    let endpoint = plan.endpoint(services.len());
    let place = service_name(services.get(endpoint).map_or("", String::as_str));
    let step = format!("opening session {} on {place}", plan.number);
    let user = |schema| connections.user(schema);
    database.complete.require(plan, &step, user, |schema| schemas_of(database, schema, &step))?;
    let mut client = connections.connect_to_endpoint(Role::Schema(plan.home), endpoint)?;
    client.execute(&current_schema(&user(plan.home)), &[]).during(&step)?;
    let cancellation = client.cancellation();
    let block = |sleep| block(plan, &connections.options.prefix, connections.options.commit, sleep);
    let mut work = Blocks {
        call_ops: call_ops(client.longest_text()),
        call_overhead: Arc::clone(&database.call_overhead),
        plain: block(None),
        pausing: block(Some(database.version.sleep())),
        step: format!("session {} on {place}, executing a batch", plan.number),
        plan: plan.clone(),
        is_limited: matches!(cancellation, Cancellation::Statement(_)),
        client,
    };
    // Compiles the block before the clock of the run starts.
    work.call(Instant::now(), &Batch::default(), 0..0, None, false, &mut Outcome::new())?;
    let canceller = CallCanceller { cancellation, database: Arc::clone(database) };
    Ok(Box::new(Cancellable::new(work, endpoint, canceller)))
}

/// One query for all schemas; an incomplete one is read alone, for its error.
fn schemas_of(database: &Database, schema: SchemaNo, step: &str) -> Result<Vec<SchemaState>> {
    let mut states = database.as_admin(|client| schemas::all(client, &database.connections))?;
    if !states.iter().any(|state| state.schema == schema && state.state.layout().is_some()) {
        states.retain(|state| state.schema != schema);
        states.push(database.as_admin(|client| schemas::one(client, &database.connections, schema, step))?);
    }
    Ok(states)
}

struct Blocks {
    client: Box<dyn Client>,
    plan: SessionPlan,
    /// Before release 18, pauses need a right.
    plain: String,
    pausing: String,
    step: String,
    /// Their own connection can't cancel these calls.
    is_limited: bool,
    call_ops: usize,
    call_overhead: Arc<CallOverhead>,
}

/// Decoding, encoding and round trips of all sessions, with pauses.
#[derive(Debug, Default)]
pub(crate) struct CallOverhead {
    calls: AtomicU64,
    ops: AtomicU64,
    time_ns: AtomicU64,
}

impl CallOverhead {
    fn add(&self, took: Duration, ops: &[OpOutcome]) {
        let inside: u64 = ops.iter().map(|op| op.duration_ns).sum();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.ops.fetch_add(ops.len() as u64, Ordering::Relaxed);
        self.time_ns.fetch_add(nanoseconds(took).saturating_sub(inside), Ordering::Relaxed);
    }

    /// Calls, operations and nanoseconds.
    pub(crate) fn row(&self) -> Row {
        [&self.calls, &self.ops, &self.time_ns]
            .map(|count| Some(count.load(Ordering::Relaxed).to_string()))
            .to_vec()
    }
}

impl Blocks {
    /// Returns how many operations were executed since `begun`.
    fn call(
        &mut self,
        begun: Instant,
        batch: &Batch,
        ops: Range<usize>,
        left: Option<Duration>,
        pauses: bool,
        outcome: &mut Outcome,
    ) -> Result<usize> {
        let ops = &batch.ops()[ops];
        let input = encode(ops, &self.plan, left)?;
        let block = if pauses { &self.pausing } else { &self.plain };
        if self.is_limited {
            self.client.limit(Some(left.unwrap_or(LONGEST_CALL) + GRACE));
        }
        let (start, earlier) = (Instant::now(), outcome.ops().len());
        let output = match self.client.batch(block, &input) {
            Ok(output) => output,
            Err(fault) => {
                // The block could not roll back.
                let _ = self.client.rollback();
                return Err(self.failed(&fault));
            }
        };
        let took = start.elapsed();
        let done = decode(&output, ops.len(), start - begun, took, outcome).ok_or_else(|| {
            let message = format!(
                "{} operations went there, and what came back of them makes no sense: '{:.60}'",
                ops.len(),
                output.ops
            );
            EngineError::new(ErrorKind::Data, self.step.as_str(), message)
        })?;
        self.call_overhead.add(took, &outcome.ops()[earlier..]);
        match &output.fault {
            None => Ok(done),
            Some(fault) => {
                let op = ops.get(done).map_or_else(String::new, |op| format!(", {op}"));
                Err(failed(&format!("{}{op}", self.step), fault))
            }
        }
    }

    fn failed(&self, fault: &Fault) -> EngineError {
        let error = failed(&self.step, fault);
        if fault.code == Some(NOT_COMPILED) && fault.message.contains("DBMS_LOCK") {
            return error.with_advice(
                "as SYS: GRANT EXECUTE ON DBMS_LOCK TO the accounts, or set THINK_TM_FREQUENCY=0",
            );
        }
        error
    }
}

impl Work for Blocks {
    /// In an open loop this program waits, since the server pauses in whole hundredths of a second. Late operations go in one
    /// call.
    ///
    /// After an error, `outcome` has the operations before it; after a cancel or a lost connection, those of earlier calls.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        alarm: &CancelToken,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let begun = Instant::now();
        let count = batch.ops().len();
        let due = |index: usize| batch.not_before(index).unwrap_or_default();
        let pauses = batch.dues_ns().is_none() && batch.ops().iter().any(|op| op.pause_us > 0);
        let mut first = 0;
        while first < count {
            alarm.sleep(due(first).saturating_sub(begun.elapsed()), deadline)?;
            let Some(left) = time_left(deadline, Instant::now()) else { return Ok(()) };
            let now = begun.elapsed();
            let fitting = first + 1..count.min(first + self.call_ops);
            let end = fitting.clone().find(|index| due(*index) > now).unwrap_or(fitting.end);
            if self.call(begun, batch, first..end, left, pauses, outcome)? < end - first {
                return Ok(());
            }
            first = end;
        }
        Ok(())
    }
}

/// Operations may begin within `left`. Fails on a key with too many digits.
fn encode(ops: &[Op], plan: &SessionPlan, left: Option<Duration>) -> Result<BlockInput> {
    let mut text = String::with_capacity(ops.len() * WIDTH);
    for op in ops {
        let kind = number(op, plan)?;
        let (first, keys) = match op.action {
            Action::Select(range) | Action::Update(range, _) => (range.first, range.end() - range.first),
            Action::Scan => (0, 0),
        };
        if first >= KEYS_END || keys >= COUNT_END {
            let message = format!("{op} has more digits than a batch has room for");
            return Err(EngineError::new(ErrorKind::Usage, "writing down a batch", message));
        }
        text.push_str(&format!("{kind}{first:015}{keys:04}{:010}", op.pause_us));
    }
    let stamps = plan.redo.map(|_| ops.iter().map(stamp).collect());
    let run_us = left.map(|left| i64::try_from(left.as_micros()).unwrap_or(i64::MAX));
    Ok(BlockInput { ops: text, stamps, run_us })
}

fn stamp(op: &Op) -> String {
    match op.action {
        Action::Update(_, stamp) => String::from_utf8_lossy(&stamp.hex()).into_owned(),
        Action::Select(_) | Action::Scan => " ".repeat(STAMP_WIDTH),
    }
}

/// `later` is the time from the batch's begin to the call's, `took` the duration of the call. Time outside of the block counts as
/// before it, so that no operation ends too early. `None` if the text is malformed: the server writes too many digits as #.
fn decode(
    output: &BlockOutput,
    ops: usize,
    later: Duration,
    took: Duration,
    outcome: &mut Outcome,
) -> Option<usize> {
    let (results, rest) = output.ops.as_bytes().as_chunks::<WIDTH>();
    if !rest.is_empty() || results.len() > ops {
        return None;
    }
    let took_ns = u64::try_from(output.took_us).unwrap_or(0).saturating_mul(1000);
    let offset = nanoseconds(later).saturating_add(nanoseconds(took).saturating_sub(took_ns));
    let mut clock = ServerClock::new(0, took);
    for result in results {
        let mut numbers = result.chunks(RESULT_DIGITS).map(hexadecimal);
        let mut next = || numbers.next().flatten();
        let (start, end, rows) = (next()?, next()?, next()?);
        clock.advance(start);
        let start_ns = offset.saturating_add(clock.elapsed_ns());
        let rows = u64::try_from(rows).ok()?;
        outcome.push(OpOutcome { start_ns, duration_ns: clock.advance(end), rows });
    }
    Some(results.len())
}

fn hexadecimal(digits: &[u8]) -> Option<i64> {
    let is_plain = digits.iter().all(u8::is_ascii_hexdigit);
    is_plain.then(|| i64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()).flatten()
}

struct CallCanceller {
    cancellation: Cancellation,
    database: Arc<Database>,
}

impl Interrupt for CallCanceller {
    fn asker(&self) -> Box<dyn FnMut() + '_> {
        Box::new(|| self.database.connections.cancel(&self.cancellation))
    }

    fn others(&self) -> &'static str {
        "ALTER SYSTEM CANCEL SQL or a resource plan"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::tests::plan;
    use crate::tests::{read_ops, write_results};
    use proptest::prelude::*;
    use slob_method::{KeyRange, Stamp};
    use slob_spec::RedoStress;

    fn any_op() -> impl Strategy<Value = Op> {
        let action = (0..3_u8, 0..KEYS_END, 1..1025_u16, any::<(u64, u32, u64)>()).prop_map(
            |(kind, first, blocks, stamp)| {
                let range = KeyRange { first, blocks };
                match kind {
                    0 => Action::Select(range),
                    1 => Action::Update(range, Stamp::new(stamp.0, stamp.1, stamp.2)),
                    _ => Action::Scan,
                }
            },
        );
        (action, 1..3_u16, any::<u32>()).prop_map(|(action, schema, pause_us)| Op {
            action,
            schema: SchemaNo::new(schema).unwrap(),
            pause_us,
            commits: true,
        })
    }

    proptest! {
        /// The block reads what was planned, at the places of `batch.sql`.
        #[test]
        fn every_operation_is_read_as_it_was_planned(ops in prop::collection::vec(any_op(), 0..200)) {
            let plan = plan(Some(RedoStress::Lite));
            let input = encode(&ops, &plan, None).unwrap();
            prop_assert_eq!(input.ops.len(), ops.len() * WIDTH);
            prop_assert!(input.ops.is_ascii());
            let read = read_ops(&input);
            prop_assert_eq!(read.len(), ops.len());
            for (op, read) in ops.iter().zip(read) {
                let kind = number(op, &plan).unwrap();
                let (first, end, stamp) = match op.action {
                    Action::Select(range) => (range.first, range.end(), " ".repeat(16)),
                    Action::Update(range, stamp) => {
                        (range.first, range.end(), String::from_utf8(stamp.hex().to_vec()).unwrap())
                    }
                    Action::Scan => (0, 0, " ".repeat(16)),
                };
                let number = i64::from(kind);
                let numbers = [number, first as i64, end as i64, i64::from(op.pause_us)];
                prop_assert_eq!([read.kind, read.first, read.end, read.pause_us], numbers);
                prop_assert_eq!(read.stamp, Some(stamp));
            }
        }
    }

    #[test]
    fn a_key_that_does_not_fit_is_refused_and_not_cut_off() {
        let range = KeyRange { first: KEYS_END, blocks: 1 };
        let op = Op { action: Action::Select(range), schema: SchemaNo::FIRST, pause_us: 0, commits: true };
        let error = encode(&[op], &plan(None), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }

    fn decoded_text(text: &str, ops: usize) -> Option<Vec<(u64, u64, u64)>> {
        let mut outcome = Outcome::new();
        let output = BlockOutput { ops: text.to_owned(), took_us: 100, fault: None };
        let took = Duration::from_micros(140);
        decode(&output, ops, Duration::from_micros(7), took, &mut outcome)?;
        Some(outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns, op.rows)).collect())
    }

    fn decoded(moments: &[[u64; 3]], ops: usize) -> Option<Vec<(u64, u64, u64)>> {
        decoded_text(&write_results(moments), ops)
    }

    #[test]
    fn time_that_the_block_did_not_see_precedes_its_work() {
        let ops = decoded(&[[0, 30, 64], [50, 90, 3]], 4).unwrap();
        assert_eq!(ops, [(47_000, 30_000, 64), (97_000, 40_000, 3)]);
    }

    #[test]
    fn a_clock_set_back_yields_no_negative_time() {
        assert_eq!(decoded(&[[5, 10, 1], [4, 8, 1]], 2).unwrap()[1], (57_000, 4_000, 1));
    }

    #[test]
    fn a_clock_set_forward_adds_at_most_the_call() {
        let ops = decoded(&[[0, 10, 1], [10, 3_600_000_020, 1]], 2).unwrap();
        assert_eq!(ops, [(47_000, 10_000, 1), (57_000, 130_000, 1)]);
    }

    #[test]
    fn damaged_results_are_refused() {
        let sound = write_results(&[[0, 1, 1]]);
        assert!(decoded_text(&sound, 1).is_some());
        assert_eq!(decoded_text(&sound, 0), None, "more than were asked for");
        for damaged in
            [&sound[1..], &format!("{sound}0"), &sound.replacen('0', "#", 1), &sound.replacen("00", "+0", 1)]
        {
            assert_eq!(decoded_text(damaged, 1), None, "{damaged}");
        }
    }

    proptest! {
        /// Each number has ten digits.
        #[test]
        fn every_result_is_read_as_it_was_written(steps in prop::collection::vec((0..50_u64, 0..1_u64 << 40), 0..300)) {
            let mut moment = 0;
            let moments: Vec<[u64; 3]> = steps.iter().map(|(step, rows)| {
                let start = moment;
                moment += step;
                [start, moment, *rows]
            }).collect();
            let mut outcome = Outcome::new();
            let output = BlockOutput { ops: write_results(&moments), took_us: moment as i64, fault: None };
            let done = decode(&output, moments.len(), Duration::ZERO, Duration::from_micros(moment), &mut outcome);
            prop_assert_eq!(done, Some(moments.len()));
            for (op, [start, end, rows]) in outcome.ops().iter().zip(moments) {
                prop_assert_eq!((op.start_ns, op.duration_ns, op.rows), (start * 1000, (end - start) * 1000, rows));
            }
        }
    }
}
