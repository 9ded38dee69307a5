//! Platforms compared, as text.

use super::super::headroom::times;
use super::{Headrooms, Row};
use crate::format::or_absent;
use crate::page::{Column, Page, Table};

/// How the figures come about.
const READING: &str = "Median of the searches; intervals hold how much repeats differ and how far the steps of a search are apart.";

/// A table with a row for each platform, then a sentence for each pair, then each search.
#[must_use]
pub fn headrooms_text(headrooms: &Headrooms) -> String {
    let mut page = Page::new();
    page.section("Headroom compared");
    page.paragraph(&carried(headrooms));
    page.line("");
    page.table(&table(headrooms));
    page.line("");
    said(&mut page, headrooms);
    page.section("Searches");
    page.table(&searches(headrooms));
    page.into_text()
}

/// What is carried so many times.
pub(super) fn carried(headrooms: &Headrooms) -> String {
    format!("How many times this demand is carried: {}.", headrooms.demand)
}

/// What is no number and why, a sentence for each pair, how to read them, and what is still to be made.
pub(super) fn said(page: &mut Page, headrooms: &Headrooms) {
    for row in &headrooms.variants {
        for (search, number) in row.searches.iter().zip(1..) {
            if let Some(why) = &search.unknown {
                page.paragraph(&format!("{}, search {number}: {why}.", row.name));
            }
        }
    }
    headrooms.pairs.iter().for_each(|pair| page.paragraph(&pair.sentence));
    page.paragraph(READING);
    if let Some(left) = headrooms.of.checked_sub(headrooms.done).filter(|left| *left > 0) {
        let verb = if left == 1 { "is" } else { "are" };
        page.paragraph(&format!("{left} of {} searches {verb} not done yet.", headrooms.of));
    }
}

/// A row for each platform.
pub(super) fn table(headrooms: &Headrooms) -> Table {
    let interval = format!("{} interval", headrooms.confidence);
    let mut table = Table::new([
        Column::left("Variant"),
        Column::right("Searches"),
        Column::right("Median"),
        Column::right(&interval),
        Column::right("Smallest"),
        Column::right("Largest"),
    ]);
    for row in &headrooms.variants {
        table.row([
            row.name.clone(),
            row.searches.len().to_string(),
            or_absent(row.median, times),
            or_absent(row.interval(), |[low, high]| format!("{} to {}", times(low), times(high))),
            or_absent(row.smallest, times),
            or_absent(row.largest, times),
        ]);
    }
    table
}

impl Row {
    /// Both ends, where they are known.
    pub(super) fn interval(&self) -> Option<[f64; 2]> {
        Some([self.low?, self.high?])
    }
}

/// A row for each search, with what broke beyond.
pub(super) fn searches(headrooms: &Headrooms) -> Table {
    let heads = ["Carries", "At least", "Less than"].map(Column::right);
    let last = [Column::left("Beyond that").at_most(48)];
    let mut table = Table::new([&[Column::left("Folder")][..], &heads, &last].concat());
    for search in headrooms.variants.iter().flat_map(|row| &row.searches) {
        let found = &search.found;
        table.row([
            found.folder.clone(),
            or_absent(found.carries, times),
            or_absent(found.at_least, times),
            or_absent(found.less_than, times),
            or_absent(search.limit.clone(), |limit| limit),
        ]);
    }
    table
}
