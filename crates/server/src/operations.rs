//! The operations of the method as statements, and their durations by a server's clock.

use std::time::Duration;

use slob_engine::{EngineError, ErrorKind, Result, SessionPlan, nanoseconds};
use slob_method::{Action, COLUMNS, Op, SchemaNo};
use slob_spec::RedoStress;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Select,
    Lite,
    Heavy,
    Scan,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Select, Self::Lite, Self::Heavy, Self::Scan];
    pub const UPDATES: [Self; 2] = [Self::Lite, Self::Heavy];

    /// The server's plan has this number; `hot` is for schema 1.
    pub const fn number(self, hot: bool) -> u8 {
        self as u8 + if hot { Self::ALL.len() as u8 } else { 0 }
    }

    /// The transaction of this UPDATE, in the home schema, goes on.
    pub const fn number_of_open(self) -> u8 {
        2 * Self::ALL.len() as u8 + (self as u8 - Self::Lite as u8)
    }

    pub const fn of_redo(redo: RedoStress) -> Self {
        match redo {
            RedoStress::Lite => Self::Lite,
            RedoStress::Heavy => Self::Heavy,
        }
    }

    pub fn of_session(plan: &SessionPlan) -> impl Iterator<Item = Self> + use<> {
        let scan = plan.scans.then_some(Self::Scan);
        [Self::Select].into_iter().chain(plan.redo.map(Self::of_redo)).chain(scan)
    }

    /// 0 is c2.
    pub fn updated_columns(self) -> &'static [usize] {
        match self {
            Self::Lite => &[0, COLUMNS - 1],
            Self::Heavy => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18],
            Self::Select | Self::Scan => &[],
        }
    }

    pub fn assignments(self, alias: &str, value: impl Fn(usize) -> String) -> String {
        let columns = self.updated_columns().iter();
        columns.map(|i| format!("{alias}c{} = {}", i + 2, value(*i))).collect::<Vec<_>>().join(", ")
    }
}

/// True marks the hot schema: schema 1, from another home.
pub fn homes(home: SchemaNo, hot_schema: bool) -> impl Iterator<Item = (SchemaNo, bool)> {
    let hot = hot_schema && home != SchemaNo::FIRST;
    [(home, false)].into_iter().chain(hot.then_some((SchemaNo::FIRST, true)))
}

/// True marks the hot schema. A session that was not opened for the operation gives [`ErrorKind::Usage`].
pub fn classify(op: &Op, plan: &SessionPlan) -> Result<(Kind, bool)> {
    let hot = op.schema != plan.home;
    let kind = match op.action {
        Action::Select(_) => Some(Kind::Select),
        Action::Update(..) => plan.redo.map(Kind::of_redo),
        Action::Scan => plan.scans.then_some(Kind::Scan),
    };
    let known = !hot || (plan.hot_schema && op.schema == SchemaNo::FIRST);
    kind.filter(|_| known).map(|kind| (kind, hot)).ok_or_else(|| not_opened_for(op, plan))
}

/// Fails as [`classify`] does; no transaction goes on in the hot schema.
pub fn number(op: &Op, plan: &SessionPlan) -> Result<u8> {
    match classify(op, plan)? {
        (kind, hot) if op.commits => Ok(kind.number(hot)),
        (kind, false) if Kind::UPDATES.contains(&kind) => Ok(kind.number_of_open()),
        _ => Err(not_opened_for(op, plan)),
    }
}

pub(crate) fn not_opened_for(op: &Op, plan: &SessionPlan) -> EngineError {
    let step = format!("session {}, {op}", plan.number);
    EngineError::new(ErrorKind::Usage, step, "the session was not opened for such an operation")
}

/// Durations from a server's clock that may jump during a call. None is negative, and their sum is at most the call's time here.
/// Durations before and after the jump are exact.
#[derive(Clone, Copy, Debug)]
pub struct ServerClock {
    last_us: i64,
    elapsed_ns: u64,
    limit_ns: u64,
}

impl ServerClock {
    /// `begin_us` is in microseconds of any epoch; the call took `took`.
    pub fn new(begin_us: i64, took: Duration) -> Self {
        Self { last_us: begin_us, elapsed_ns: 0, limit_ns: nanoseconds(took) }
    }

    /// Returns the nanoseconds since the last moment.
    pub fn advance(&mut self, to_us: i64) -> u64 {
        let step_us = u64::try_from(to_us.saturating_sub(self.last_us)).unwrap_or(0);
        let step_ns = step_us.saturating_mul(1000).min(self.limit_ns - self.elapsed_ns);
        self.last_us = to_us;
        self.elapsed_ns += step_ns;
        step_ns
    }

    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Nanoseconds of the call outside the server. They are placed before the work, so that no operation seems to end too early.
    pub fn unseen_ns(&self) -> u64 {
        self.limit_ns - self.elapsed_ns
    }
}

/// Rounded up, so that nothing begins too early.
pub fn whole_microseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX).min(i64::MAX.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slob_method::{KeyRange, RowContent};
    use std::sync::Arc;

    #[test]
    fn numbers_are_digits_and_differ() {
        let mut numbers: Vec<u8> =
            Kind::ALL.iter().flat_map(|kind| [kind.number(false), kind.number(true)]).collect();
        numbers.sort_unstable();
        numbers.extend(Kind::UPDATES.map(Kind::number_of_open));
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn an_update_sets_its_columns() {
        assert_eq!(Kind::Lite.assignments("t.", |i| format!("v{i}")), "t.c2 = v0, t.c20 = v18");
        assert_eq!(Kind::Heavy.assignments("", |_| "?".into()).matches(" = ?").count(), COLUMNS);
    }

    #[test]
    fn a_session_executes_what_it_was_opened_for() {
        let second = SchemaNo::new(2).unwrap();
        let plan = SessionPlan {
            attempt: 0,
            number: 3,
            home: second,
            hot_schema: true,
            scans: false,
            redo: None,
            update_text: Arc::new(RowContent::new(1, false).update_text()),
        };
        let select = Action::Select(KeyRange { first: 1, blocks: 1 });
        let class = |action, schema| classify(&Op { action, schema, pause_us: 0, commits: true }, &plan);
        assert_eq!(class(select, second).unwrap(), (Kind::Select, false));
        assert_eq!(class(select, SchemaNo::FIRST).unwrap(), (Kind::Select, true));
        assert!(class(select, SchemaNo::new(3).unwrap()).is_err());
        let error = class(Action::Scan, second).unwrap_err();
        assert!(error.to_string().starts_with("session 3, "), "{error}");
        assert_eq!(homes(second, true).count(), 2);
        assert_eq!(homes(SchemaNo::FIRST, true).count(), 1);
    }

    #[test]
    fn a_jump_back_or_forth_costs_one_step() {
        let steps = |moments: [i64; 4]| {
            let mut clock = ServerClock::new(0, Duration::from_micros(50));
            moments.map(|moment| clock.advance(moment))
        };
        assert_eq!(steps([10, 20, 30, 40]), [10_000; 4]);
        assert_eq!(steps([10, -90, -80, -70]), [10_000, 0, 10_000, 10_000]);
        // An hour forth: whatever is left of the call is all that step may have taken.
        assert_eq!(steps([10, 3_600_000_020, 3_600_000_030, 3_600_000_040]), [10_000, 40_000, 0, 0]);
    }

    proptest! {
        #[test]
        fn steps_never_add_up_to_more_than_the_call_took(moments: Vec<i64>, begin: i64, took_us in 0..1_000_000_u64) {
            let took = Duration::from_micros(took_us);
            let mut clock = ServerClock::new(begin, took);
            let sum: u64 = moments.into_iter().map(|moment| clock.advance(moment)).sum();
            prop_assert_eq!(sum, clock.elapsed_ns());
            prop_assert_eq!(u128::from(sum + clock.unseen_ns()), took.as_nanos());
        }
    }
}
