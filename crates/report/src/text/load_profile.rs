//! The load profile: what was done per second, per operation and per transaction.

use slob_measure::Counter;
use slob_record::Record;

use super::Page;
use super::table::{Column, Table};
use crate::counters::{counter, ratio};
use crate::figures::Figures;
use crate::format::{or_absent, percent, significant};
use crate::sums::total;

pub(super) fn write(page: &mut Page, record: &Record, figures: &Figures) {
    page.section("Load profile");
    let window_s = figures.window_s;
    let (operations, commits) = (figures.load.operations, figures.load.commits);
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
        let count = |n: Option<u64>| n.map(|n| n as f64);
        table.row([name.to_owned(), per(window_s), per(count(operations)), per(count(commits))]);
    }
    page.table(&table);
    let hits = or_absent(figures.load.hit_percent, percent);
    page.paragraph(&format!("Buffer cache hit ratio: {hits} %. A transaction is a commit."));
}

/// What there was in the window, by name.
fn amounts(record: &Record, figures: &Figures) -> Vec<(&'static str, Option<f64>)> {
    let counted = |name| counter(record, name).map(|amount| amount as f64);
    let load = &figures.load;
    let rows = total(record.operations.values().map(|kind| kind.rows));
    let mut amounts = vec![
        ("DB time (s)", load.db_time_s),
        ("DB CPU (s)", figures.cpu.db_cpu_s),
        ("Operations", load.operations.map(|n| n as f64)),
        ("Rows (one in each block)", load.operations.map(|_| rows as f64)),
        ("Logical reads (blocks)", counted(Counter::LogicalReads)),
        ("Physical reads (blocks)", counted(Counter::PhysicalReads)),
        ("Physical writes (blocks)", counted(Counter::PhysicalWrites)),
        ("Redo size (bytes)", counted(Counter::RedoBytes)),
        ("Redo syncs", counted(Counter::RedoSyncs)),
        ("Transactions", load.commits.map(|n| n as f64)),
    ];
    // Of interest only where they are counted.
    let requests = counted(Counter::PhysicalReadRequests).map(|n| ("Physical read requests", Some(n)));
    let checkpoints = counted(Counter::Checkpoints).map(|n| ("Checkpoints", Some(n)));
    amounts.splice(6..6, requests);
    amounts.extend(checkpoints);
    amounts
}
