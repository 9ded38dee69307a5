//! The load profile: what was done per second, per operation and per transaction.

use slob_measure::{Counter, OpKind};
use slob_record::Record;

use crate::counters::{counter, ratio};
use crate::figure::{self, Figures};
use crate::format::{or_absent, percent, significant};
use crate::page::{Column, Page, Table};
use crate::sums::total;

pub(super) fn write(page: &mut Page, figures: &Figures<'_>) {
    let record = figures.record;
    page.section("Load profile");
    let window_s = figure::WINDOW_S.of(figures);
    let (operations, commits) = (figure::OPERATIONS.of(figures), figure::COMMITS.of(figures));
    let mut table = Table::new([
        Column::left(""),
        Column::right("Per second"),
        Column::right("Per operation"),
        Column::right("Per transaction"),
    ]);
    for (name, amount) in amounts(record, figures) {
        let per = |of: Option<f64>| {
            or_absent(amount.zip(of).and_then(|(amount, of)| ratio(amount, of)), significant)
        };
        table.row([name.to_owned(), per(window_s), per(operations), per(commits)]);
    }
    page.table(&table);
    let hits = or_absent(figure::HIT_PERCENT.of(figures), percent);
    page.paragraph(&format!("Buffer cache hit ratio: {hits} %. A transaction is a commit."));
    if let Some(sentence) = blocks_per_request(record) {
        page.paragraph(&sentence);
    }
}

/// More blocks to a read request than this are not single-block I/O, as far as a test without scans goes.
const SINGLE_BLOCKS: f64 = 1.05;

/// How many blocks a read request brought, where requests are counted.
fn blocks_per_request(record: &Record) -> Option<String> {
    let blocks = counter(record, Counter::PhysicalReads)? as f64;
    let requests = counter(record, Counter::PhysicalReadRequests)? as f64;
    let each = ratio(blocks, requests)?;
    let scans = record.operations.get(&OpKind::Scan).is_some_and(|scans| scans.operations > 0);
    let advice = if each > SINGLE_BLOCKS && !scans {
        " That is not single-block I/O: the server read ahead, or combined blocks into larger reads. Check its \
         read-ahead settings, or compare blocks per second, not requests."
    } else {
        ""
    };
    Some(format!("Blocks per physical read request: {each:.2}.{advice}"))
}

/// What there was in the window, by name.
fn amounts(record: &Record, figures: &Figures<'_>) -> Vec<(&'static str, Option<f64>)> {
    let counted = |name| counter(record, name).map(|amount| amount as f64);
    let operations = figure::OPERATIONS.of(figures);
    let rows = total(record.operations.values().map(|kind| kind.rows));
    let mut amounts = vec![
        ("DB time (s)", figure::DB_TIME_S.of(figures)),
        ("DB CPU (s)", figure::DB_CPU_S.of(figures)),
        ("Operations", operations),
        ("Rows (one per block)", operations.map(|_| rows as f64)),
        ("Logical reads (blocks)", counted(Counter::LogicalReads)),
        ("Physical reads (blocks)", counted(Counter::PhysicalReads)),
        ("Physical writes (blocks)", counted(Counter::PhysicalWrites)),
        ("Redo size (bytes)", counted(Counter::RedoBytes)),
        ("Redo syncs", counted(Counter::RedoSyncs)),
        ("Transactions", figure::COMMITS.of(figures)),
    ];
    // Of interest only where they are counted.
    let requests = counted(Counter::PhysicalReadRequests).map(|n| ("Physical read requests", Some(n)));
    let checkpoints = counted(Counter::Checkpoints).map(|n| ("Checkpoints", Some(n)));
    amounts.splice(6..6, requests);
    amounts.extend(checkpoints);
    amounts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn more_than_a_block_to_a_request_is_told() {
        let mut record = fixture::direct_read_run();
        record.operations.remove(&OpKind::Scan);
        record.counters.set(Counter::PhysicalReads, 1000);
        let mut told = |requests| {
            record.counters.set(Counter::PhysicalReadRequests, requests);
            blocks_per_request(&record).unwrap()
        };
        assert_eq!(told(1000), "Blocks per physical read request: 1.00.");
        assert_eq!(told(960), "Blocks per physical read request: 1.04.");
        assert!(told(940).contains("1.06. That is not single-block I/O"));
    }
}
