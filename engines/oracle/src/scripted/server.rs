//! What the block of a batch does with its texts, by the places that it reads at and the formats that it writes with.

use crate::client::Work;

/// An operation as the block reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadOp {
    pub(crate) kind: i64,
    pub(crate) first: i64,
    pub(crate) end: i64,
    pub(crate) pause_us: i64,
    pub(crate) stamp: Option<String>,
}

/// `SUBSTRB(text, place, length)`: from 1.
fn substrb(text: &str, place: usize, length: usize) -> &str {
    &text[place - 1..place - 1 + length]
}

/// The operations of a text. The numbers are those of `batch.sql` and `batch.rs`, written down a second time.
pub(crate) fn read_ops(work: &Work) -> Vec<ReadOp> {
    let read = |op: usize| {
        let place = op * 30;
        let number = |from, length| substrb(&work.text, place + from, length).parse::<i64>().unwrap();
        let first = number(2, 15);
        ReadOp {
            kind: number(1, 1),
            first,
            end: first + number(17, 4),
            pause_us: number(21, 10),
            stamp: work.stamps.as_ref().map(|stamps| substrb(stamps, op * 16 + 1, 16).to_owned()),
        }
    };
    (0..work.text.len() / 30).map(read).collect()
}

/// What the block leaves for operations with these starts, ends and rows: `TO_CHAR(..., 'FM0XXXXXXXXX')`.
pub(crate) fn write_answer(moments: &[[u64; 3]]) -> String {
    moments.iter().flatten().map(|number| format!("{number:010X}")).collect()
}
