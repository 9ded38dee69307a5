//! The load profile: what was done per second, per operation and per transaction.

use slob_measure::Counter;
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
        ("Rows (one in each block)", operations.map(|_| rows as f64)),
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
