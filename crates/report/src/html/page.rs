//! The whole page.

use slob_record::{Record, Status, record_in_page};

use super::document::{self, Document};
use super::{blocks, cards, escape, raw, run_charts};
use crate::figure::Figures;
use crate::format::{plural, seconds};
use crate::sections::{Group, SECTIONS, beside_probe, source_words};
use crate::verdicts::verdicts_by;

/// Groups of sections that are shown as tables, in their order: heading, name within the page.
const TABLES: [(Group, &str, &str); 3] = [
    (Group::Probe, "Compared with the device", "probe"),
    (Group::Figures, "Figures", "figures"),
    (Group::Configuration, "Configuration", "configuration"),
];

/// A run as one HTML file that needs no network: verdicts, figures, charts, tables.
///
/// It depends on the record alone, holds all of it, so that it can be given away and read back, and shows failed and interrupted runs too. What the record lacks is absent, with
/// the reason. Of 2 MB that it takes, 1.9 are the chart library.
#[must_use]
pub fn run_page(record: &Record) -> String {
    let figures = Figures::of(record);
    let groups = run_charts::groups(record, &figures);
    let tables: String = TABLES.iter().map(|tables| section(tables, &figures)).collect();
    let main = [
        cards::banner(record),
        format!(
            "<section id=\"verdicts\">\n<h2>Verdicts</h2>\n{}</section>\n",
            cards::verdicts(&verdicts_by(&figures))
        ),
        format!(
            "<section id=\"key\">\n<h2>Key figures</h2>\n{}</section>\n",
            cards::figures(record, &figures)
        ),
        document::NO_CHARTS.into(),
        groups.iter().map(run_charts::Group::html).collect(),
        tables,
        format!(
            "<section id=\"raw\">\n<h2>All figures</h2>\n<p class=\"note\">Plain numbers for the measured window. \
             This page holds the whole record: <code>slob report FILE.html</code> reads it back.</p>\n{}</section>\n",
            raw::table(&figures)
        ),
    ];
    Document {
        title: format!("{}: OpenSLOB run report", record.name),
        header: header(record, &groups),
        main: main.concat(),
        said: source_words(record),
        slob_version: &record.slob_version,
        holds: record_in_page(record),
        charts: groups.iter().flat_map(|group| &group.charts).collect(),
    }
    .html()
}

fn header(record: &Record, groups: &[run_charts::Group]) -> String {
    let (class, state) = match record.status {
        Status::Completed => ("good", "completed"),
        Status::Interrupted => ("doubt", "interrupted"),
        Status::Failed { .. } => ("bad", "failed"),
    };
    let server = format!("{} {}", record.server.product, record.server.version);
    let workload = &record.workload;
    let sessions = plural(u64::from(workload.sessions()), "session");
    let work = format!("{} % updates, work unit {}", workload.update_pct, workload.work_unit);
    let measured = match record.window {
        Some(window) => format!("{} measured", seconds(window.seconds)),
        None => "nothing measured".into(),
    };
    let host = record.host.as_ref().map(|host| format!(" on {}", host.info.hostname)).unwrap_or_default();
    let links = document::links(
        groups
            .iter()
            .map(|group| (group.id, group.title))
            .chain(TABLES.iter().map(|(_, title, id)| (*id, *title)))
            .chain([("raw", "All figures")]),
    );
    format!(
        "<h1>{} <span class=\"badge {class}\">{state}</span></h1>\n\
         <p class=\"lead\">{}</p>\n<p class=\"id\">{}</p>\n{links}",
        escape::text(&record.name),
        escape::text(&format!("{server}{host}: {sessions}, {work}, {measured}")),
        escape::text(&format!(
            "{}, started {}, target {}",
            record.id,
            record.started.strftime("%Y-%m-%d %H:%M UTC"),
            record.target
        )),
    )
}

fn section((group, title, id): &(Group, &str, &str), figures: &Figures<'_>) -> String {
    let beside_probe = (*group == Group::Probe).then(|| beside_probe(figures));
    let sections = SECTIONS.iter().filter(|section| section.group == *group);
    let parts: String = beside_probe
        .into_iter()
        .chain(sections.map(|section| section.blocks(figures)))
        .filter(|blocks| !blocks.is_empty())
        .map(|blocks| format!("<div class=\"part\">\n{}</div>\n", blocks::html(&blocks)))
        .collect();
    let parts =
        if parts.is_empty() { "<p class=\"absent\">Nothing was measured.</p>\n".into() } else { parts };
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{parts}</section>\n")
}

#[cfg(test)]
mod tests;
