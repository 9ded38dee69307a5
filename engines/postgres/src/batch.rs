//! The arrays that the procedure takes, and the times that it returns.

use std::time::Duration;

use slob_engine::{OpOutcome, Outcome, Result, SessionPlan};
use slob_method::{Action, Batch, Op};
use slob_server::{ServerClock, number as kind_number, whole_microseconds};

/// Two cost the same.
const SHORTEST: usize = 3;

/// The next batch uses the same memory.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    pub(crate) kinds: Vec<i16>,
    pub(crate) firsts: Vec<i64>,
    pub(crate) ends: Vec<i64>,
    /// Empty without UPDATEs.
    pub(crate) stamps: Vec<i64>,
    /// Microseconds. Empty without pauses.
    pub(crate) pauses: Vec<i64>,
    /// Microseconds after the first moment. Empty in a closed loop.
    pub(crate) dues: Vec<i64>,
    /// Last operations, from 1, of pieces that are executed one by one and as one statement in turns.
    pub(crate) bounds: Vec<i32>,
}

impl Arrays {
    /// With `joined`, consecutive SELECTs are one statement.
    pub(crate) fn fill(&mut self, batch: &Batch, plan: &SessionPlan, joined: bool) -> Result<()> {
        let ops = batch.ops();
        self.kinds.clear();
        [&mut self.firsts, &mut self.ends, &mut self.stamps, &mut self.pauses, &mut self.dues]
            .into_iter()
            .for_each(Vec::clear);
        for op in ops {
            self.kinds.push(kind_number(op, plan)?.into());
            let (first, end) = match op.action {
                Action::Select(range) | Action::Update(range, _) => (range.first, range.end()),
                Action::Scan => (0, 0),
            };
            self.firsts.push(first.cast_signed());
            self.ends.push(end.cast_signed());
        }
        if ops.iter().any(|op| matches!(op.action, Action::Update(..))) {
            self.stamps.extend(ops.iter().map(|op| match op.action {
                Action::Update(_, stamp) => stamp.number().cast_signed(),
                Action::Select(_) | Action::Scan => 0,
            }));
        }
        if ops.iter().any(|op| op.pause_us > 0) {
            self.pauses.extend(ops.iter().map(|op| i64::from(op.pause_us)));
        }
        let dues = (0..ops.len()).map_while(|index| batch.not_before(index));
        self.dues.extend(dues.map(|wait| whole_microseconds(wait).cast_signed()));
        fill_bounds(batch, joined, &mut self.bounds);
        Ok(())
    }
}

/// A stretch ends before an UPDATE, a scan, or an operation that pauses or goes to another schema. Open loops have none.
pub(crate) fn fill_bounds(batch: &Batch, joined: bool, bounds: &mut Vec<i32>) {
    bounds.clear();
    let ops = batch.ops();
    let mut done = 0;
    if joined && batch.dues_ns().is_none() {
        for run in ops.chunk_by(|op, next| can_join(op) && can_join(next) && op.schema == next.schema) {
            let begin = done;
            done += run.len();
            if run.len() >= SHORTEST && can_join(&run[0]) {
                bounds.extend([begin, done].map(number));
            }
        }
    }
    let rest = number(ops.len());
    if bounds.last() != Some(&rest) {
        bounds.push(rest);
    }
}

fn can_join(op: &Op) -> bool {
    matches!(op.action, Action::Select(_)) && op.pause_us == 0
}

/// A batch has some thousand operations.
fn number(operations: usize) -> i32 {
    i32::try_from(operations).unwrap_or(i32::MAX)
}

/// `times` holds the start, and each operation's end and end of pause; in an open loop its start and end. The clocks differ, so
/// work is placed at the end of the call's time ([`ServerClock::unseen_ns`]). False if the answer does not fit the batch.
pub(crate) fn decode(
    batch: &Batch,
    times: impl IntoIterator<Item = i64>,
    seen: impl ExactSizeIterator<Item = i64>,
    took: Duration,
    outcome: &mut Outcome,
) -> bool {
    let mut rest = times.into_iter();
    let Some(began) = rest.next() else { return false };
    let (first, answered) = (outcome.ops().len(), seen.len());
    let mut clock = ServerClock::new(began, took);
    for (op, rows) in batch.ops().iter().zip(seen) {
        if batch.dues_ns().is_some() {
            let Some(woken) = rest.next() else { return false };
            clock.advance(woken);
        }
        let (Some(end), Ok(rows)) = (rest.next(), u64::try_from(rows)) else { return false };
        let start_ns = clock.elapsed_ns();
        outcome.push(OpOutcome { start_ns, duration_ns: clock.advance(end), rows });
        if op.pause_us > 0 {
            let Some(woken) = rest.next() else { return false };
            clock.advance(woken);
        }
    }
    outcome.shift_from(first, clock.unseen_ns());
    answered <= batch.ops().len() && rest.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_method::{KeyRange, SchemaNo, Stamp};
    use slob_testing::work::plan_beside_hot;

    fn pausing(pause_us: u32) -> Op {
        let action = Action::Select(KeyRange { first: 7, blocks: 3 });
        Op { action, schema: SchemaNo::FIRST, pause_us, commits: true }
    }

    #[test]
    fn the_longest_pause_is_carried_whole() {
        let mut arrays = Arrays::default();
        arrays
            .fill(&Batch::from(vec![pausing(0), pausing(u32::MAX)]), &plan_beside_hot(0, None), true)
            .unwrap();
        assert_eq!((arrays.pauses.as_slice(), arrays.dues.as_slice()), (&[0, 4_294_967_295][..], &[][..]));
        arrays.fill(&Batch::from(vec![pausing(0); 2]), &plan_beside_hot(0, None), true).unwrap();
        assert!(arrays.pauses.is_empty() && arrays.stamps.is_empty());
    }

    #[test]
    fn operations_are_due_after_the_batch_was_handed_over() {
        let mut arrays = Arrays::default();
        let dues_ns = [900, 1_001, 7_200_000_001_000];
        let mut batch = Batch::due(dues_ns.map(|due_ns| (pausing(0), due_ns)));
        batch.hand_over(1_000);
        arrays.fill(&batch, &plan_beside_hot(0, None), true).unwrap();
        assert_eq!((arrays.pauses.as_slice(), arrays.dues.as_slice()), (&[][..], &[0, 1, 7_200_000_000][..]));
    }

    /// `s` a SELECT, `h` one of another schema, `p` one that pauses, `u` an UPDATE, `f` a scan.
    fn ops(letters: &str) -> Vec<Op> {
        let keys = KeyRange { first: 7, blocks: 3 };
        let op = |letter| Op {
            action: match letter {
                'u' => Action::Update(keys, Stamp::new(1, 1, 1)),
                'f' => Action::Scan,
                _ => Action::Select(keys),
            },
            schema: SchemaNo::new(if letter == 'h' { 1 } else { 2 }).unwrap(),
            pause_us: u32::from(letter == 'p'),
            commits: true,
        };
        letters.chars().map(op).collect()
    }

    #[rstest]
    #[case("", &[0])]
    #[case("s", &[1])]
    #[case("ss", &[2])]
    #[case("ssss", &[0, 4])]
    #[case("usss", &[1, 4])]
    #[case("sssu", &[0, 3, 4])]
    #[case("susususss", &[6, 9])]
    #[case("sssfsss", &[0, 3, 4, 7])]
    #[case("ssspsss", &[0, 3, 4, 7])]
    #[case("ssshhhs", &[0, 3, 3, 6, 7])]
    #[case("uuuu", &[4])]
    #[case("pppp", &[4])]
    fn stretches_end_at_what_is_no_select_of_theirs(#[case] letters: &str, #[case] expected: &[i32]) {
        let mut bounds = vec![9];
        fill_bounds(&Batch::from(ops(letters)), true, &mut bounds);
        assert_eq!(bounds, expected, "{letters}");
        fill_bounds(&Batch::from(ops(letters)), false, &mut bounds);
        assert_eq!(bounds, [number(letters.len())], "{letters}");
    }

    #[test]
    fn operations_of_an_open_loop_are_executed_one_by_one() {
        let mut bounds = Vec::new();
        fill_bounds(&Batch::due(ops("sss").into_iter().zip(1..)), true, &mut bounds);
        assert_eq!(bounds, [3]);
    }

    fn batch(pauses: &[u32]) -> Batch {
        pauses.iter().map(|pause_us| pausing(*pause_us)).collect::<Vec<_>>().into()
    }

    #[test]
    fn pauses_lie_between_operations() {
        let mut outcome = Outcome::new();
        let (times, seen) = ([1000, 1010, 1030, 1530, 1545], [3, 3, 2].into_iter());
        assert!(decode(&batch(&[0, 500, 0]), times, seen, Duration::from_micros(645), &mut outcome));
        let ops: Vec<_> = outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns, op.rows)).collect();
        assert_eq!(ops, [(100_000, 10_000, 3), (110_000, 20_000, 3), (630_000, 15_000, 2)]);
    }

    #[test]
    fn a_batch_that_was_cut_short_is_a_prefix() {
        let mut outcome = Outcome::new();
        let took = Duration::from_micros(10);
        assert!(decode(&batch(&[0, 0, 0]), [1000, 1010], [3].into_iter(), took, &mut outcome));
        assert_eq!(outcome.ops().len(), 1);
        outcome.clear();
        assert!(decode(&batch(&[0]), [1000], [].into_iter(), took, &mut outcome));
        assert!(outcome.ops().is_empty());
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_negative_time() {
        let mut outcome = Outcome::new();
        let (times, seen) = ([1000, 1010, 990], [3, 3].into_iter());
        assert!(decode(&batch(&[0, 0]), times, seen, Duration::from_micros(10), &mut outcome));
        assert_eq!(outcome.ops()[1].duration_ns, 0);
    }

    #[test]
    fn a_clock_that_jumps_forth_makes_no_hour_of_a_millisecond() {
        let mut outcome = Outcome::new();
        let (times, seen) = ([1000, 1010, 3_600_001_020], [3, 3].into_iter());
        assert!(decode(&batch(&[0, 0]), times, seen, Duration::from_micros(30), &mut outcome));
        let ops: Vec<_> = outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns)).collect();
        assert_eq!(ops, [(0, 10_000), (10_000, 20_000)]);
    }

    #[test]
    fn answers_that_do_not_fit_are_refused() {
        let mut outcome = Outcome::new();
        let took = Duration::from_micros(10);
        for (times, seen) in
            [(vec![], vec![]), (vec![1, 2], vec![3, 3]), (vec![1, 2, 3], vec![3]), (vec![1, 2], vec![-1])]
        {
            let is_valid = decode(&batch(&[0, 0]), times.clone(), seen.into_iter(), took, &mut outcome);
            assert!(!is_valid, "{times:?}");
        }
    }
}
