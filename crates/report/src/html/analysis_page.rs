//! The analysis of repeated runs as a page: for each table its verdicts, its charts, and its figures.

mod bars;
mod ratios;
mod sweep;

use super::document::{self, Document};
use super::plot::{Axis, Chart, Unit};
use super::{blocks, escape};
use crate::analysis::{Analysis, Table, text};
use crate::format::plural;
use crate::page::Page;

/// An analysis as one HTML file that needs no network.
#[must_use]
pub fn analysis_page(analysis: &Analysis) -> String {
    let sections: Vec<Section<'_>> = analysis
        .tables
        .iter()
        .enumerate()
        .map(|(place, table)| Section::of(analysis, table, place))
        .collect();
    let mut reading = Page::new();
    text::how_to_read(&mut reading, analysis);
    let main = [
        document::NO_CHARTS.to_owned(),
        sections.iter().map(|section| section.html(analysis)).collect(),
        format!(
            "<section id=\"reading\">\n<div class=\"part\">\n{}</div>\n</section>\n",
            blocks::html(&reading.into_blocks())
        ),
    ];
    Document {
        title: "OpenSLOB analysis".into(),
        header: header(analysis, &sections),
        main: main.concat(),
        said: "From the saved figures of the runs alone.".into(),
        slob_version: env!("CARGO_PKG_VERSION"),
        holds: String::new(),
        charts: sections.iter().flat_map(|section| &section.charts).collect(),
    }
    .html()
}

/// A table of the analysis with its charts.
struct Section<'a> {
    table: &'a Table,
    /// Its name within the page.
    id: String,
    charts: Vec<Chart>,
}

impl<'a> Section<'a> {
    fn of(analysis: &Analysis, table: &'a Table, place: usize) -> Self {
        let place = place + 1;
        let charts = if table.rows.is_empty() {
            Vec::new()
        } else {
            vec![
                bars::chart(analysis, table, place),
                ratios::chart(analysis, table, place),
                sweep::chart(table, place),
            ]
        };
        Self { table, id: format!("table-{place}"), charts }
    }

    fn html(&self, analysis: &Analysis) -> String {
        let mut verdicts = Page::new();
        text::verdicts(&mut verdicts, self.table);
        let mut figures = Page::new();
        text::tables(&mut figures, analysis, self.table);
        let mut differences = Page::new();
        text::differences(&mut differences, self.table);
        let charts = match self.charts.as_slice() {
            [] => String::new(),
            charts => {
                let containers: String = charts.iter().map(Chart::container).collect();
                format!("<div class=\"charts\">\n{containers}</div>\n")
            }
        };
        format!(
            "<section id=\"{}\">\n<h2>{}</h2>\n{}{charts}{}{}</section>\n",
            self.id,
            escape::text(&text::heading(self.table)),
            part("Verdicts", verdicts),
            part("Figures", figures),
            part("Differences", differences)
        )
    }
}

/// A titled part; nothing where there is nothing to show.
fn part(title: &str, page: Page) -> String {
    match page.into_blocks().as_slice() {
        [] => String::new(),
        blocks => format!("<div class=\"part\">\n<h3>{title}</h3>\n{}</div>\n", blocks::html(blocks)),
    }
}

fn header(analysis: &Analysis, sections: &[Section<'_>]) -> String {
    let names: Vec<&str> = analysis.variants.iter().map(|variant| variant.name.as_str()).collect();
    let runs: usize = analysis
        .tables
        .iter()
        .map(|table| table.rows.iter().map(|row| row.overall.runs).sum::<usize>())
        .max()
        .unwrap_or(0);
    let most =
        if runs == 0 { String::new() } else { format!("; up to {} a table", plural(runs as u64, "run")) };
    let links = document::links(
        sections
            .iter()
            .map(|section| (section.id.as_str(), section.table.title.as_str()))
            .map(|(id, title)| (id.to_owned(), escape::text(title)))
            .chain([("reading".to_owned(), "How to read this".to_owned())])
            .collect::<Vec<_>>()
            .iter()
            .map(|(id, title)| (id.as_str(), title.as_str())),
    );
    format!(
        "<h1>Analysis</h1>\n<p class=\"lead\">{}</p>\n{links}",
        escape::text(&format!("{}: {}{most}", plural(names.len() as u64, "variant"), names.join(", ")))
    )
}

/// The axis of the numbers of sessions, each of which has the same room.
fn sessions_axis(table: &Table) -> Axis {
    let names = table.sessions.iter().enumerate().map(|(at, sessions)| (at as f64, sessions.to_string()));
    let last = table.sessions.len() as f64 - 0.5;
    Axis { names: names.collect(), ..Axis::linear("sessions", Unit::Plain).ranging(-0.5, last) }
}

/// Place and width of the bar of a variant, of so many, above the place of a number of sessions.
fn bar_place(sessions_at: usize, variant_at: usize, variants: usize) -> (f64, f64) {
    const GROUP: f64 = 0.8;
    let room = GROUP / variants.max(1) as f64;
    (sessions_at as f64 - GROUP / 2.0 + room * (variant_at as f64 + 0.5), 0.92 * room)
}

#[cfg(test)]
mod tests;
