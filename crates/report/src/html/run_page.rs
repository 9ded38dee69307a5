//! The page of a run.

use maud::{Markup, PreEscaped, html};
use slob_measure::OpKind;
use slob_record::{Record, Status, record_in_page};

use super::run_charts;
use crate::sections::{Group, SECTIONS, above_probe, beside_probe, source_words};
use slob_facts::format::{duration_us, plural, seconds};
use slob_facts::measured::{distribution, percentile_us};
use slob_facts::table::{Cell, Table};
use slob_facts::{Claim, Figure, Grade, Lead, Run, Standing, Verdict, figure};
use slob_page::Column;
use slob_page::escape::{markup, text};
use slob_page::layout::{Document, NO_CHARTS, Section, blocks_html, links, table_html};

const TABLES: [(Group, &str, &str); 3] = [
    (Group::Probe, "Compared with the device", "probe"),
    (Group::Figures, "Figures", "figures"),
    (Group::Configuration, "Configuration", "configuration"),
];

/// Depends on the record alone and holds all of it, so that it can be read back. Failed and interrupted runs have one too.
pub fn run_page(record: &Record) -> String {
    let figures = Run::of(record);
    let groups = run_charts::groups(record, &figures);
    let main = html! {
        (banner(record))
        section id="verdicts" {
            h2 { "Verdicts" }
            div class="verdicts" { @for verdict in figures.verdicts() { (verdict_row(verdict)) } }
        }
        section id="key" {
            h2 { "Key figures" }
            div class="cards" { @for card in cards(&figures) { (card) } }
        }
        (PreEscaped(NO_CHARTS))
        @for group in &groups { (PreEscaped(group.html())) }
        @for tables in &TABLES { (tables_of(tables, &figures)) }
        section id="raw" {
            h2 { "All figures" }
            p class="note" {
                "Plain numbers for the measured window. This page holds the whole record: "
                code { "slob report FILE.html" } " reads it back."
            }
            (table_html(&all_figures(&figures)))
        }
    };
    Document {
        title: format!("{}: OpenSLOB run report", record.name),
        header: header(record, &groups).into_string(),
        main: main.into_string(),
        said: source_words(record),
        slob_version: &record.slob_version,
        holds: record_in_page(record),
        charts: groups.iter().flat_map(|group| &group.charts).collect(),
    }
    .html()
}

fn header(record: &Record, groups: &[Section]) -> Markup {
    let (class, state) = match record.status {
        Status::Completed => ("good", "completed"),
        Status::Interrupted => ("doubt", "interrupted"),
        Status::Aborted { .. } => ("doubt", "aborted"),
        Status::Failed { .. } => ("bad", "failed"),
    };
    let workload = &record.workload;
    let host = record.host.as_ref().map(|host| format!(" on {}", host.info.hostname)).unwrap_or_default();
    let measured = match record.window {
        Some(window) => format!("{} measured", seconds(window.seconds)),
        None => "nothing measured".into(),
    };
    let updates = match workload.roles() {
        Some(roles) => format!("{} writing and {} reading", roles.writers, roles.readers),
        None => format!("{} % updates", workload.update_pct),
    };
    let lead = format!(
        "{} {}{host}: {}, {updates}, work unit {}, {measured}",
        record.server.product,
        record.server.version,
        plural(u64::from(workload.sessions()), "session"),
        workload.work_unit
    );
    let started = record.started.strftime("%Y-%m-%d %H:%M UTC");
    let id = format!("{}, started {started}, target {}", record.id, record.target);
    let links = groups
        .iter()
        .map(|group| (group.id.as_str(), group.title.as_str()))
        .chain(TABLES.iter().map(|(_, title, id)| (*id, *title)))
        .chain([("raw", "All figures")]);
    html! {
        h1 { (PreEscaped(text(&record.name))) " " span class={ "badge " (class) } { (state) } }
        p class="lead" { (PreEscaped(text(&lead))) }
        p class="id" { (PreEscaped(text(&id))) }
        (PreEscaped(self::links(links)))
    }
}

fn banner(record: &Record) -> Markup {
    let (class, head, message) = match &record.status {
        Status::Completed => return html! {},
        Status::Interrupted if record.window.is_none() => {
            ("doubt", "Interrupted", "By the user, before the measured window: nothing was measured.")
        }
        Status::Interrupted => ("doubt", "Interrupted", "By the user. The results up to then are valid."),
        Status::Aborted { reason } => ("doubt", "Aborted", reason.as_str()),
        Status::Failed { error } => ("bad", "Failed", error.as_str()),
    };
    html! {
        div class={ "banner " (class) } role="alert" { strong { (head) } " " (PreEscaped(text(message))) }
    }
}

fn verdict_row(verdict: &Verdict) -> Markup {
    let class = verdict.answer.word().to_lowercase();
    let details = verdict.details();
    html! {
        div class="verdict" {
            h3 { (verdict.question.title()) }
            span class={ "badge " (class) } { (verdict.answer.word()) }
            div {
                p { (markup(&verdict.sentence())) }
                @if !details.is_empty() {
                    details open[verdict.answer == Grade::Bad] {
                        summary { "Why" }
                        ul { @for detail in &details { li { (markup(detail)) } } }
                    }
                }
            }
        }
    }
}

fn figure_card(figure: &Figure, figures: &Run<'_>, missing: &str, about: &str, source: &str) -> Markup {
    let value = figure.of(figures).map(|_| figure.show(figures)).ok_or_else(|| reason(figures, missing));
    card(figure.heading, value, figures.standing(figure, Claim::Storage), about, source)
}

/// A worthless figure is struck through, as in the list of runs.
fn card(
    heading: &str,
    value: Result<String, String>,
    standing: Standing,
    about: &str,
    source: &str,
) -> Markup {
    html! {
        div class="card" {
            h3 { (markup(heading)) }
            @match value {
                Ok(value) => p class="value" {
                    @match standing {
                        Standing::Invalid(question) => s title={ (question.title()) " " (Grade::Bad.word()) } {
                            (value_with_unit(&value))
                        },
                        Standing::Sound => (value_with_unit(&value)),
                    }
                },
                Err(reason) => {
                    p class="value none" { (PreEscaped("&ndash;")) }
                    p class="absent" { (markup(&reason)) }
                }
            }
            p { (markup(about)) }
            p class="source" { "Source: " (source) }
        }
    }
}

fn value_with_unit(value: &str) -> Markup {
    let value = value.replace("<= ", "\u{2264}\u{a0}");
    match value.rsplit_once(' ') {
        Some((number, unit)) => html! { (number) span class="unit" { " " (markup(unit)) } },
        None => html! { (value) },
    }
}

fn reason(figures: &Run<'_>, missing: &str) -> String {
    if figures.is_measured() { missing.into() } else { "Nothing was measured.".into() }
}

fn cards(figures: &Run<'_>) -> Vec<Markup> {
    const COUNTERS: &str = "the database's counters";
    let record = figures.record;
    let beside = |figure: &Figure, words: fn(String) -> String| {
        figure.of(figures).map(|_| words(figure.show(figures))).unwrap_or_default()
    };
    let no_cpu = match &record.db_cpu {
        None => "The CPU of the database's processes can't be seen from here.",
        Some(_) => "No physical reads were counted.",
    };
    let no_redo = match record.workload.redo_of_updates() {
        None => "This run had no updates, and no redo was counted.",
        Some(_) => "The database does not count its redo.",
    };
    let no_ceiling = match &record.probe {
        _ if figures.is_above_probe() => &format!("Reads from the device: {}", above_probe(figures)),
        None => "The device was not probed: `slob probe` shows what it can do.",
        Some(_) => "The probe does not fit this run: see the section on it.",
    };
    let logical = beside(&figure::LOGICAL_READS_PER_S, |rate| format!("; {rate} logical"));
    let each = beside(&figure::DB_CPU_US_PER_PHYSICAL_READ, |us| format!(": {us} us for each read"));
    let syncs = beside(&figure::REDO_SYNCS_PER_S, |rate| format!("; flushed to storage {rate} times/s"));
    let durable = beside(&figure::REDO_PERCENT_OF_CEILING, |share| {
        format!(", {share} % of the device's durable writes")
    });
    let ceiling = beside(&figure::CEILING_IOPS, |iops| format!(" of {iops} IOPS"));
    let reads = format!("Blocks per second that the buffer cache asked for{logical}");
    let per_cpu = format!("Physical reads for each second of the database's CPU time{each}");
    let redo = format!("Log written; MB are 10\u{2076} bytes{syncs}{durable}");
    let percent = format!("The run's reads from the device, in percent{ceiling} without a database");
    let no_reads = "The database does not count its physical reads.";
    let card = |figure, missing, about: String, source| figure_card(figure, figures, missing, &about, source);
    let cards = [
        card(&figure::PHYSICAL_READS_PER_S, no_reads, reads, COUNTERS),
        read_latency(figures),
        card(&figure::PHYSICAL_READS_PER_DB_CPU_S, no_cpu, per_cpu, "the database's counters; /proc"),
        card(&figure::REDO_MB_PER_S, no_redo, redo, COUNTERS),
        card(&figure::PERCENT_OF_CEILING, no_ceiling, percent, "the kernel's counters; the saved probe"),
    ];
    responses(figures).into_iter().chain(cards).collect()
}

/// Absent unless responses lead.
fn responses(figures: &Run<'_>) -> Option<Markup> {
    let lead = Some(figures.lead()).filter(|lead| *lead == Lead::Response)?;
    let show = |figure: &Figure| figure.show(figures);
    let about = format!(
        "Mean {}. Sessions waited outside operations for {} % of their time; operations alone took {}, p99 {}. Of {} \
         sessions {} were in flight at a time",
        show(lead.mean()),
        show(&figure::WAITING_PERCENT),
        show(&figure::OPERATION_MEAN_US),
        show(&figure::OPERATION_P99_US),
        show(&figure::SESSIONS),
        show(&figure::AVERAGE_ACTIVE_SESSIONS),
    );
    Some(figure_card(lead.p99(), figures, "", &about, "the clock around each response"))
}

/// The fallback is the SELECT's time divided by its blocks.
fn read_latency(figures: &Run<'_>) -> Markup {
    let (figure, record) = (&figure::PHYSICAL_READ_P99_US, figures.record);
    if figure.of(figures).is_some() {
        let lead = figures.lead();
        let whole = lead.p99().of(figures);
        let whole = whole.map(|_| format!("; p99 of a whole {} {}", lead.word(), lead.p99().show(figures)));
        let bound = "Upper bound of the bucket in which the database counts such a read";
        let (about, source) = match (figure.is_bound(figures), figure.is_kernels(figures)) {
            (true, _) => (bound, "the database's own histogram of its waits"),
            (_, true) => ("Each read call of the server: it does not time its reads", "the kernel's trace"),
            _ => ("Each single read, from call to return", "the database's clock around each read"),
        };
        let about = format!("{about}{}", whole.unwrap_or_default());
        return figure_card(figure, figures, "", &about, source);
    }
    let blocks = record.workload.work_unit.get();
    let select = record.window.and_then(|_| record.operations.get(&OpKind::Select));
    let p99_us = select.and_then(|select| percentile_us(&select.latency, 99.0));
    let value = p99_us
        .map(|p99_us| duration_us(p99_us / f64::from(blocks)))
        .ok_or_else(|| reason(figures, "No SELECT ended within the window."));
    let about = format!(
        "p99 of whole SELECTs divided by their {}: this database does not time single reads",
        plural(u64::from(blocks), "block")
    );
    let standing = figures.standing(&figure::OPERATION_P99_US, Claim::Storage);
    card("p99 of a SELECT, per block", value, standing, &about, "the clock around each operation")
}

fn tables_of((group, title, id): &(Group, &str, &str), figures: &Run<'_>) -> Markup {
    let beside_probe = (*group == Group::Probe).then(|| beside_probe(figures));
    let sections = SECTIONS.iter().filter(|section| section.group == *group);
    let parts = beside_probe.into_iter().chain(sections.map(|section| section.blocks(figures)));
    let parts: Vec<_> = parts.filter(|blocks| !blocks.is_empty()).collect();
    html! {
        section id=(id) {
            h2 { (title) }
            @for blocks in &parts { div class="part" { (PreEscaped(blocks_html(blocks))) } }
            @if parts.is_empty() { p class="absent" { "Nothing was measured." } }
        }
    }
}

fn all_figures(figures: &Run<'_>) -> Table {
    let record = figures.record;
    let [figure, what, source] = ["Figure", "What it is", "Source"].map(Column::left);
    let mut table = Table::new([figure, what, Column::right("Value"), source]);
    let mut row = |name: &str, title: &str, value: &Cell, source: &str| {
        table.row([&format!("`{name}`"), title, &value.plain(), source]);
    };
    for figure in figure::ALL.iter().filter(|figure| figure.is_measured()) {
        row(figure.name, figure.title, &figure.cell(figures), figure.source);
    }
    for (counter, value) in record.counters.iter() {
        let name = format!("counters.{}", counter.name());
        row(&name, "", &value.into(), "counted by the database within the window");
    }
    for (kind, of_kind) in &record.operations {
        let name = format!("operations.{}", kind.name().to_lowercase());
        let counts = [("operations", of_kind.operations.into()), ("rows", of_kind.rows.into())];
        for (what, value) in counts.into_iter().chain(distribution(&of_kind.latency)) {
            row(&format!("{name}.{what}"), "", &value, "the clock around each operation");
        }
    }
    for (kind, latency) in record.latencies.iter() {
        for (what, value) in distribution(&latency.histogram) {
            row(&format!("latencies.{}.{what}", kind.name()), "", &value, "measured by the database");
        }
    }
    table
}

#[cfg(test)]
mod tests;
