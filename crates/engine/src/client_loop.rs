//! The loop of engines that carry a batch out operation by operation.

use std::time::{Duration, Instant};

use slob_method::{Batch, Op};

use crate::{Alarm, EngineError, OpOutcome, Outcome};

/// A session that can carry out one operation.
pub trait Perform {
    /// Carries an operation out, its commit included, and returns the rows counted or changed.
    ///
    /// # Errors
    /// If the operation fails.
    fn perform(&mut self, op: &Op) -> Result<u64, EngineError>;

    /// Called after each operation, outside its duration, with the moment at which it ended.
    fn performed(&mut self, _ended: Instant) {}
}

/// Carries a batch out as [`crate::Session::execute`] must: operations in order, each timed, none begun
/// before it is due, each followed by its pause, none begun at or after `deadline` or once the alarm has rung. Two readings of the clock for each.
///
/// # Errors
/// Of the first operation that fails, or [`crate::ErrorKind::Cancelled`]; `outcome` holds those before it.
pub fn execute_each(
    session: &mut impl Perform,
    batch: &Batch,
    deadline: Option<Instant>,
    alarm: &Alarm,
    outcome: &mut Outcome,
) -> Result<(), EngineError> {
    let begun = Instant::now();
    for (index, op) in batch.ops().iter().enumerate() {
        if let Some(wait) = batch.not_before(index) {
            alarm.sleep(wait.saturating_sub(begun.elapsed()), deadline)?;
        }
        let start = Instant::now();
        if deadline.is_some_and(|deadline| start >= deadline) {
            break;
        }
        alarm.sleep(Duration::ZERO, None)?;
        let rows = session.perform(op)?;
        let end = Instant::now();
        outcome.push(OpOutcome {
            start_ns: nanoseconds(start - begun),
            duration_ns: nanoseconds(end - start),
            rows,
        });
        session.performed(end);
        alarm.sleep(Duration::from_micros(op.pause_us.into()), deadline)?;
    }
    Ok(())
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
