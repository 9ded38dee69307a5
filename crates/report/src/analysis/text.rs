//! The analysis for eyes.

use slob_stats::Comparison;

use super::digits::column;
use super::{Analysis, Cell, Pair, Table};
use crate::Confidence;
use crate::diff::shown_percent;
use crate::format::{ABSENT, duration_us, fixed, or_absent, signed_percent, significant};
use crate::page::{Column, Page, Table as Grid};

pub(super) fn page(analysis: &Analysis) -> String {
    let mut page = Page::new();
    for table in &analysis.tables {
        page.section(&heading(table));
        tables(&mut page, analysis, table);
        if !table.pairs.is_empty() {
            page.line("");
            verdicts(&mut page, table);
            differences(&mut page, table);
        }
    }
    how_to_read(&mut page, analysis);
    page.into_text()
}

/// What a table is of.
pub(crate) fn heading(table: &Table) -> String {
    format!("{}: {}", table.title, table.metric)
}

/// Its figures.
pub(crate) fn tables(page: &mut Page, analysis: &Analysis, table: &Table) {
    if table.rows.is_empty() {
        return page.paragraph("None of these runs has this figure: their databases do not count it.");
    }
    let has_mean = |cell: &Cell| cell.slob_r_mean.is_some();
    let cells = || table.rows.iter().flat_map(|row| row.cells.iter().chain([&row.overall]));
    if cells().any(has_mean) {
        page.table(&means(table, |cell| cell.slob_r_mean));
        page.paragraph(
            "SLOB.R's mean: of the runs of a cell, every value equal to the smallest or largest is dropped.",
        );
        if let Some(scale) = &analysis.scale {
            page.line("");
            page.paragraph(&format!("Relative to {scale}:"));
            page.table(&scaled(table));
        }
    } else {
        page.paragraph(&without_mean(table));
    }
    page.line("");
    page.table(&details(table, analysis.confidence));
}

/// Why there is no mean of SLOB.R's: it drops the extremes, and nothing is left of so few runs.
fn without_mean(table: &Table) -> String {
    let most = table.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.runs).max().unwrap_or(0);
    let runs = match most {
        1 => "there is a single run".to_owned(),
        most => format!("there are at most {most} runs"),
    };
    format!(
        "{runs} a cell: SLOB.R's mean, which drops the smallest and the largest, has nothing left. These are the runs \
         themselves; repeat them three times or more to tell differences from noise."
    )
    .replacen("there", "There", 1)
}

/// What the figures mean.
pub(crate) fn how_to_read(page: &mut Page, analysis: &Analysis) {
    page.section("How to read this");
    for note in notes(analysis) {
        page.paragraph(&note);
    }
}

/// SLOB.R's table.
fn means(table: &Table, of: impl Fn(&Cell) -> Option<f64>) -> Grid {
    let shown = (0..=table.sessions.len()).map(|at| {
        let cell = |row: &super::Row| of(row.cells.get(at).unwrap_or(&row.overall));
        column(&table.rows.iter().map(cell).collect::<Vec<_>>())
    });
    grid(table, &shown.collect::<Vec<_>>())
}

fn scaled(table: &Table) -> Grid {
    let shown = (0..=table.sessions.len()).map(|at| {
        let cell = |row: &super::Row| row.cells.get(at).unwrap_or(&row.overall).scaled;
        table.rows.iter().map(|row| or_absent(cell(row), |ratio| fixed(ratio, 3))).collect()
    });
    grid(table, &shown.collect::<Vec<_>>())
}

/// A row for each variant from columns of cells.
fn grid(table: &Table, columns: &[Vec<String>]) -> Grid {
    let heads = table.sessions.iter().map(u32::to_string).chain(["Overall".to_owned()]);
    let heads = heads.map(|head| Column::right(&head));
    let mut grid = Grid::new([Column::left("Sessions")].into_iter().chain(heads).collect::<Vec<_>>());
    for (at, row) in table.rows.iter().enumerate() {
        let cells = columns.iter().map(|column| column[at].clone());
        grid.row([row.variant.clone()].into_iter().chain(cells).collect::<Vec<_>>());
    }
    grid
}

/// A line for each cell.
fn details(table: &Table, confidence: Confidence) -> Grid {
    let interval = format!("{confidence} interval");
    let mut grid = Grid::new([
        Column::left("Variant"),
        Column::right("Sessions"),
        Column::right("Runs"),
        Column::right("Mean"),
        Column::right(&interval),
        Column::right("Median"),
        Column::right("CV %"),
        Column::right("Latency"),
    ]);
    for row in &table.rows {
        for (sessions, cell) in table.sessions.iter().zip(&row.cells).filter(|(_, cell)| cell.runs > 0) {
            let interval = cell.low.zip(cell.high);
            grid.row([
                row.variant.clone(),
                sessions.to_string(),
                cell.runs.to_string(),
                or_absent(cell.mean, significant),
                or_absent(interval, |(low, high)| format!("{} to {}", significant(low), significant(high))),
                or_absent(cell.median, significant),
                or_absent(cell.cv_percent, |cv| fixed(cv, 1)),
                or_absent(cell.latency_us, duration_us),
            ]);
        }
    }
    grid
}

/// A sentence for each pair of variants.
pub(crate) fn verdicts(page: &mut Page, table: &Table) {
    for pair in &table.pairs {
        page.hanging("  *", &pair.verdict);
    }
}

/// The differences of each pair, if there are several numbers of sessions.
pub(crate) fn differences(page: &mut Page, table: &Table) {
    if table.sessions.len() < 2 || table.pairs.is_empty() {
        return;
    }
    page.line("");
    let heads = table.sessions.iter().map(|sessions| Column::right(&sessions.to_string()));
    let first = Column::left("Difference in % at");
    let mut grid =
        Grid::new([first].into_iter().chain(heads).chain([Column::right("Overall")]).collect::<Vec<_>>());
    for pair in &table.pairs {
        let cells = pair.by_sessions.iter().chain([&pair.overall]).map(|one| difference(one.as_ref()));
        grid.row([name(pair)].into_iter().chain(cells).collect::<Vec<_>>());
    }
    page.table(&grid);
}

fn name(pair: &Pair) -> String {
    format!("{} / {}", pair.second, pair.first)
}

/// The difference, what must be added for noise, and a mark if it is more than that.
fn difference(comparison: Option<&Comparison>) -> String {
    let Some(comparison) = comparison else { return ABSENT.to_owned() };
    let percent = signed_percent(comparison.percent);
    match comparison.interval {
        None => percent,
        Some(interval) => {
            let mark = if interval.excludes_zero() { "*" } else { " " };
            format!("{percent} +-{}{mark}", shown_percent(interval.noise_percent()))
        }
    }
}

fn notes(analysis: &Analysis) -> Vec<String> {
    let mut notes = vec![format!(
        "Differences: Welch's interval on logarithms. All verdicts of a table hold together with {} confidence \
         (Bonferroni), and so do all its marks. * marks a difference that is more than noise. 'Overall' gives each \
         number of sessions the same weight.",
        analysis.confidence
    )];
    let cells = || analysis.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    let fewest = cells().filter(|cell| cell.runs > 0).map(|cell| cell.runs).min().unwrap_or(0);
    match fewest {
        0 | 1 => notes.push("Cells with a single run say nothing about noise: repeat three times or more.".to_owned()),
        2 => notes.push(
            "Cells with two runs have wide intervals, and SLOB.R's mean has nothing left of them: repeat more often.".to_owned(),
        ),
        _ => {}
    }
    if cells().any(|cell| cell.runs_without > 0) {
        notes.push("Some runs lack the figure of a table and are left out of it.".to_owned());
    }
    notes.extend(analysis.notes.iter().cloned());
    notes
}
