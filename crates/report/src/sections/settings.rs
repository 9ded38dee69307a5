//! What the run was made with: the server's settings, the data's layout, the configuration, notes, sources.

use slob_record::{ConfigEntry, LoadRecord, Record, SchemaRecord};

use crate::counters::ratio;
use crate::format::{count, fixed, or_absent, plural};
use crate::page::{Column, Page, Table};
use crate::sums::total;

/// With more schemas their layouts are summed up in one row.
const MOST_SCHEMAS: usize = 8;

pub(super) fn server(page: &mut Page, record: &Record) {
    let server = &record.server;
    if !server.settings.is_empty() {
        page.section("Settings that change results");
        let mut table = Table::new([Column::left("Setting").at_most(36), Column::left("Value").at_most(60)]);
        server.settings.iter().for_each(|setting| table.row([setting.name.clone(), setting.value.clone()]));
        page.table(&table);
    }
    if !server.advice.is_empty() {
        page.section("Advice");
        server.advice.iter().for_each(|advice| page.hanging("  -", advice));
    }
}

pub(super) fn layout(page: &mut Page, record: &Record) {
    let Some(load) = &record.load else { return };
    page.section("Data");
    let fill = if load.obfuscated { "incompressible columns" } else { "compressible columns" };
    page.paragraph(&format!(
        "Loaded with {} in each main table and {} in each scan table; seed {}; {fill}.",
        plural(load.scale_blocks, "block"),
        plural(load.scan_blocks, "block"),
        load.seed
    ));
    let heads = ["Rows", "Blocks with rows", "All blocks", "Rows per block"].map(Column::right);
    let mut table = Table::new([vec![Column::left("Schema")], heads.into()].concat());
    match load.schemas.as_slice() {
        [] => return,
        few if few.len() <= MOST_SCHEMAS => {
            few.iter().for_each(|schema| table.row(layout_row(schema.schema.to_string(), schema)));
        }
        _ => {
            let sum = summed(load);
            table.row(layout_row(format!("all {}", load.schemas.len()), &sum));
        }
    }
    page.table(&table);
    if load.schemas.len() > MOST_SCHEMAS {
        uneven(page, load);
    }
}

fn layout_row(name: String, schema: &SchemaRecord) -> [String; 5] {
    let per_block = ratio(schema.rows as f64, schema.row_blocks as f64);
    let per_block = or_absent(per_block, |rows| fixed(rows, 3));
    [name, count(schema.rows), count(schema.row_blocks), count(schema.all_blocks), per_block]
}

fn summed(load: &LoadRecord) -> SchemaRecord {
    let sum = |of: fn(&SchemaRecord) -> u64| total(load.schemas.iter().map(of));
    SchemaRecord {
        schema: 0,
        rows: sum(|schema| schema.rows),
        row_blocks: sum(|schema| schema.row_blocks),
        all_blocks: sum(|schema| schema.all_blocks),
    }
}

/// The schemas whose layout is furthest from the others' must not hide in a sum.
fn uneven(page: &mut Page, load: &LoadRecord) {
    let per_block = |schema: &SchemaRecord| ratio(schema.rows as f64, schema.row_blocks as f64);
    let known: Vec<f64> = load.schemas.iter().filter_map(per_block).collect();
    let least = known.iter().copied().reduce(f64::min);
    let most = known.iter().copied().reduce(f64::max);
    let show = |rows: Option<f64>| or_absent(rows, |rows| fixed(rows, 3));
    page.paragraph(&format!("Rows per block range from {} to {}.", show(least), show(most)));
}

/// What was set, by whatever means; the defaults are in the record.
pub(super) fn configuration(page: &mut Page, record: &Record) {
    if record.configuration.is_empty() {
        return;
    }
    page.section("Configuration");
    let mut table = Table::new([
        Column::left("Parameter").at_most(30),
        Column::left("Value").at_most(36),
        Column::left("Set by").at_most(26),
    ]);
    let (set, default): (Vec<_>, Vec<_>) = record.configuration.iter().partition(|entry| is_set(entry));
    set.iter().for_each(|entry| table.row([entry.key.clone(), entry.value.clone(), entry.origin.clone()]));
    if !set.is_empty() {
        page.table(&table);
    }
    if !default.is_empty() {
        let (count, id) = (plural(default.len() as u64, "default"), &record.id);
        page.paragraph(&format!("{count} not shown: slob show {id} --field configuration"));
    }
}

/// Whether somebody set the value: the origin of a default says that it is one.
fn is_set(entry: &ConfigEntry) -> bool {
    !entry.origin.starts_with("default")
}

pub(super) fn notes(page: &mut Page, record: &Record) {
    if !record.notes.is_empty() {
        page.section("Notes");
        record.notes.iter().for_each(|note| page.hanging("  -", note));
    }
}

pub(super) fn sources(page: &mut Page, record: &Record) {
    page.line("");
    page.rule('-');
    page.fact("Sources", &source_words(record));
}

/// Where the figures come from.
pub(crate) fn source_words(record: &Record) -> String {
    let clock = if record.server.batches_in_server && !record.server.embedded {
        "the server's clock around each operation"
    } else {
        "this program's clock around each operation"
    };
    let coarse = if record.latencies.iter().all(|(_, latency)| latency.exact.is_none()) {
        ""
    } else {
        ", but those marked '<=' are upper bounds: the database counts these latencies in buckets, each twice as \
         wide as the one before; their mean is exact"
    };
    format!(
        "Operation latency: {clock}. Reads, writes, redo, commits, events: the database's own counters, between two \
         snapshots that bound the window. CPU: /proc. Device: the kernel's block statistics. Percentiles are within \
         0.8 % of the exact value{coarse}; '-' means not known. MB = 10^6 bytes, MiB = 2^20. {}.",
        crate::digest::words(record)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_measure::LatencyKind;

    #[test]
    fn many_schemas_are_summed_up_with_their_range() {
        let mut record = fixture::direct_read_run();
        let load = record.load.as_mut().unwrap();
        let one = load.schemas[0].clone();
        load.schemas = vec![one; 9];
        load.schemas[4].row_blocks /= 2;
        let text = Page::text_by(layout, &record);
        assert!(text.contains("all 9   9,437,184"), "{text}");
        assert!(text.contains("range from 1.000 to 2.000"), "{text}");
    }

    #[test]
    fn no_precision_is_claimed_for_percentiles_that_are_bounds() {
        let mut record = fixture::direct_read_run();
        assert!(!source_words(&record).contains("upper bounds"));
        let total = slob_measure::WaitTotal { waits: 1, time_us: 9 };
        fixture::with_exact(&mut record, LatencyKind::PhysicalRead, total);
        assert!(source_words(&record).contains("those marked '<=' are upper bounds"));
    }

    #[test]
    fn the_configuration_is_what_was_set() {
        let text = Page::text_by(configuration, &fixture::direct_read_run());
        assert!(text.contains("UPDATE_PCT") && text.contains("RUN_TIME"), "{text}");
        assert!(!text.contains("SCAN_PCT") && text.contains("slob show"), "{text}");
    }
}
