//! Which operations of a batch the server executes as one statement.

use slob_method::{Action, Batch, Op};

/// As many SELECTs as it takes for one statement of all to cost less than one for each: two cost the same.
const SHORTEST: usize = 3;

/// Fills `bounds` with the last operations, from 1, of the pieces that are executed one by one and as one statement in turns.
/// A stretch is made of SELECTs of one schema; each but the last of a batch is followed by something that is not part of it: an
/// UPDATE, a scan, an operation that pauses or goes to another schema. Nothing is a stretch if operations are due at moments of
/// their own, or if they are not `joined`.
pub(super) fn fill_bounds(batch: &Batch, joined: bool, bounds: &mut Vec<i32>) {
    bounds.clear();
    let ops = batch.ops();
    let mut done = 0;
    if joined && batch.dues_ns().is_none() {
        for run in ops.chunk_by(is_one) {
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

fn is_one(op: &Op, next: &Op) -> bool {
    can_join(op) && can_join(next) && op.schema == next.schema
}

fn can_join(op: &Op) -> bool {
    matches!(op.action, Action::Select(_)) && op.pause_us == 0
}

/// A batch has some thousand operations.
fn number(operations: usize) -> i32 {
    i32::try_from(operations).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_method::{KeyRange, SchemaNo, Stamp};

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
    fn what_is_due_at_moments_of_its_own_is_executed_one_by_one() {
        let mut bounds = Vec::new();
        fill_bounds(&Batch::due(ops("sss").into_iter().zip(1..)), true, &mut bounds);
        assert_eq!(bounds, [3]);
    }
}
