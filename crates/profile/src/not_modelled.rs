//! What a database did that the method does not do.

use serde::Serialize;

use crate::figure::{Figure, Figures};

/// Something that is not in the test, with its size in production.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotModelled {
    /// What.
    pub what: &'static str,
    /// How much of it there was.
    pub amount: f64,
    /// In which unit.
    pub unit: &'static str,
    /// Its share of what it is a part of, in percent, where that is known.
    pub percent: Option<f64>,
    /// What it is a share of.
    pub of: &'static str,
}

/// Everything of an interval that is known to be there and not modelled, the largest shares first.
#[must_use]
pub fn not_modelled(figures: &Figures, block_bytes: Option<u32>) -> Vec<NotModelled> {
    let get = |figure| figures.get(figure);
    let share = |part: f64, whole: Option<f64>| {
        whole.filter(|whole| *whole > 0.0).map(|whole| (100.0 * part / whole).min(100.0))
    };
    let line = |what, amount: Option<f64>, unit, whole: Option<f64>, of| {
        let amount = amount.filter(|amount| *amount > 0.0)?;
        Some(NotModelled { what, amount, unit, percent: share(amount, whole), of })
    };
    let block = block_bytes.map(f64::from);
    let reads = get(Figure::ReadBlocks);
    let read_bytes = get(Figure::ReadBytes).or_else(|| Some(reads? * block?));
    let all_read = get(Figure::AllReadBytes);
    let all_written = get(Figure::AllWriteBytes);
    let own_writes =
        [get(Figure::WriteBlocks).zip(block).map(|(blocks, block)| blocks * block), get(Figure::RedoBytes)];
    let own_written: Option<f64> = own_writes.into_iter().sum();
    let beyond = |all: Option<f64>, own: Option<f64>| Some((all? - own?).max(0.0));
    let direct = get(Figure::DirectReadBlocks);
    let mut list: Vec<NotModelled> = [
        line("blocks read several at a time", multi_block(figures), "blocks/s", reads, "physical reads"),
        line("blocks read around the buffer cache", direct, "blocks/s", reads, "physical reads"),
        line(
            "temporary data read",
            get(Figure::TempReadBytes),
            "bytes/s",
            all_read.or(read_bytes),
            "bytes read",
        ),
        line("temporary data written", get(Figure::TempWriteBytes), "bytes/s", all_written, "bytes written"),
        line("reads of the server itself", beyond(all_read, read_bytes), "bytes/s", all_read, "bytes read"),
        line(
            "writes besides blocks and redo (archives, copies of the log, backups)",
            beyond(all_written, own_written),
            "bytes/s",
            all_written,
            "bytes written",
        ),
        line(
            "transactions rolled back",
            get(Figure::Rollbacks),
            "1/s",
            transactions(figures),
            "transactions",
        ),
        line("parses", get(Figure::Parses), "1/s", get(Figure::Executions), "executions"),
        line("hard parses", get(Figure::HardParses), "1/s", get(Figure::Executions), "executions"),
        line("network", get(Figure::NetworkBytes), "bytes/s", None, ""),
    ]
    .into_iter()
    .flatten()
    .collect();
    list.sort_by(|one, other| other.percent.unwrap_or(0.0).total_cmp(&one.percent.unwrap_or(0.0)));
    list
}

/// Blocks that came with others in one request: all, less the requests for one. Where single ones are counted it is
/// what these leave; else a request that brought several is told by the mean.
fn multi_block(figures: &Figures) -> Option<f64> {
    let blocks = figures.get(Figure::ReadBlocks)?;
    let single = figures.get(Figure::SingleBlockReads);
    match (single, figures.get(Figure::ReadRequests)) {
        (Some(single), _) => Some((blocks - single).max(0.0)),
        // Of r requests for b blocks at most r - 1 were for one block.
        (None, Some(requests)) => (blocks > 1.02 * requests).then_some(blocks - requests),
        (None, None) => None,
    }
}

fn transactions(figures: &Figures) -> Option<f64> {
    Some(figures.get(Figure::Commits)? + figures.get(Figure::Rollbacks)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_listed_and_the_largest_comes_first() {
        let figures = Figures::from([
            (Figure::ReadBlocks, 1000.0),
            (Figure::SingleBlockReads, 900.0),
            (Figure::Commits, 30.0),
            (Figure::Rollbacks, 10.0),
            (Figure::TempReadBytes, 0.0),
        ]);
        let list = not_modelled(&figures, Some(8192));
        let lines: Vec<_> = list.iter().map(|line| (line.what, line.amount, line.percent)).collect();
        assert_eq!(
            lines,
            [
                ("transactions rolled back", 10.0, Some(25.0)),
                ("blocks read several at a time", 100.0, Some(10.0)),
            ]
        );
        assert!(not_modelled(&Figures::default(), None).is_empty());
    }

    #[test]
    fn bytes_beyond_blocks_and_redo_are_others() {
        let figures = Figures::from([
            (Figure::WriteBlocks, 100.0),
            (Figure::RedoBytes, 1e6),
            (Figure::AllWriteBytes, 4e6),
        ]);
        let list = not_modelled(&figures, Some(8192));
        assert_eq!(list[0].amount, 4e6 - 1e6 - 819_200.0);
        assert!(not_modelled(&figures, None).is_empty(), "nothing is known without the size of a block");
    }
}
