//! Frame, sections, blocks and tables of pages as HTML.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::{self, Chart};
use crate::escape::{self, markup, text};
use crate::page::{Block, Page};
use slob_facts::table::Table;

pub const STYLE: &str = include_str!("assets/style.css");
/// `build.rs` hashes it.
const SCRIPT: &str = include_str!("assets/page.js");
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/page.sha256"));
const INDEX_SCRIPT: &str = include_str!("assets/index.js");
const INDEX_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/index.sha256"));
const LIBRARY: &str = include_str!(concat!(env!("OUT_DIR"), "/library.b64"));
const LIBRARY_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/library.sha256"));

/// Messages of a page whose charts can't be drawn, with scripts or without.
pub const NO_CHARTS: &str = "<p id=\"no-charts\" class=\"banner doubt\" hidden></p>\n<noscript><p \
    class=\"banner doubt\">The charts need JavaScript; figures and tables are all here without it.</p></noscript>\n";

pub struct Document<'a> {
    pub title: String,
    pub header: String,
    pub main: String,
    pub said: String,
    pub slob_version: &'a str,
    pub holds: String,
    pub charts: Vec<&'a Chart>,
}

impl Document<'_> {
    pub fn html(&self) -> String {
        // Styles are free, because the chart library sets them on its drawings; images are those that it makes itself.
        let policy = format!(
            "default-src 'none'; script-src {SCRIPT_HASH} {LIBRARY_HASH}; style-src 'unsafe-inline'; img-src data: blob:; \
             base-uri 'none'; form-action 'none'"
        );
        let main = html! { main { (PreEscaped(&self.main)) } };
        let footer = html! {
            p { (PreEscaped(escape::text(&self.said))) }
            p {
                "OpenSLOB " (self.slob_version)
                "; charts: plotly.js, MIT licence. This page needs no network and sends nothing."
            }
        };
        let data = html! {
            script type="application/json" id="chart-data" { (PreEscaped(chart::data(&self.charts))) }
            (PreEscaped(&self.holds))
            script type="text/plain" id="chart-library" { (PreEscaped(LIBRARY)) }
        };
        frame(&self.title, &policy, &self.header, &main, &footer, &data, SCRIPT)
    }
}

/// Its curves need no chart library.
pub fn index(header: &Markup, main: &Markup, footer: &Markup, data: &Markup, is_live: bool) -> String {
    let connects = if is_live { " connect-src 'self';" } else { "" };
    let policy = format!(
        "default-src 'none'; script-src {INDEX_HASH};{connects} style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    );
    let main = html! { main class="wide" { (main) } };
    frame("OpenSLOB runs", &policy, &header.0, &main, footer, data, INDEX_SCRIPT)
}

fn frame(
    title: &str,
    policy: &str,
    header: &str,
    main: &Markup,
    footer: &Markup,
    data: &Markup,
    script: &str,
) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (PreEscaped(escape::text(title))) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    div class="bar" {
                        span class="brand" { "OpenSLOB" }
                        button type="button" id="theme" title="Light or dark" { "Dark" }
                    }
                    (PreEscaped(header))
                }
                (main)
                footer { (footer) }
                (data)
                script { (PreEscaped(script)) }
            }
        }
    };
    page.into_string() + "\n"
}

pub fn links<'a>(sections: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    html! { nav { @for (id, title) in sections { a href={ "#" (id) } { (PreEscaped(text(title))) } } } }
        .into_string()
}

pub struct View {
    pub title: String,
    pub heading: String,
    pub lead: String,
    pub sections: Vec<Section>,
    pub source: String,
}

impl View {
    pub fn html(&self) -> String {
        let linked = self.sections.iter().filter(|section| !section.link.is_empty());
        let linked: Vec<_> = linked.map(|section| (section.id.as_str(), section.link.as_str())).collect();
        let links = if linked.len() > 1 { links(linked.into_iter()) } else { String::new() };
        let first_charts = self.sections.iter().position(|section| !section.charts.is_empty());
        let section = |(at, section): (usize, &Section)| {
            let notice = if first_charts == Some(at) { NO_CHARTS } else { "" };
            notice.to_owned() + &section.html()
        };
        Document {
            title: self.title.clone(),
            header: format!("<h1>{}</h1>\n{}{links}", escape::text(&self.heading), self.lead),
            main: self.sections.iter().enumerate().map(section).collect(),
            said: self.source.clone(),
            slob_version: env!("CARGO_PKG_VERSION"),
            holds: String::new(),
            charts: self.sections.iter().flat_map(|section| &section.charts).collect(),
        }
        .html()
    }
}

pub fn lead(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"lead\">{}</p>\n", escape::prose(text)) }
}

#[derive(Clone, Debug)]
pub struct Section {
    pub id: String,
    pub title: String,
    link: String,
    html: String,
    pub charts: Vec<Chart>,
}

impl Section {
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        let title = title.into();
        Self { id: id.into(), link: title.clone(), title, html: String::new(), charts: Vec::new() }
    }

    pub fn linked_as(self, link: &str) -> Self {
        Self { link: link.to_owned(), ..self }
    }

    /// `title` may be empty. Adds nothing if `write` writes nothing.
    pub fn part(mut self, title: &str, write: impl FnOnce(&mut Page)) -> Self {
        let mut page = Page::default();
        write(&mut page);
        let blocks = page.blocks;
        if !blocks.is_empty() {
            // No level of headings is left out: readers of screens go by them.
            let level = if self.title.is_empty() { 2 } else { 3 };
            let (heading, content) = (heading(level, title), blocks_html(&blocks));
            self.html += &format!("<div class=\"part\">\n{heading}{content}</div>\n");
        }
        self
    }

    /// The browser lays it out only once a reader opens it.
    pub fn folded(self, summary: &str, write: impl FnOnce(&mut Page)) -> Self {
        let inner = Self::new("", "").part("", write).html;
        self.raw(&format!("<details>\n<summary>{}</summary>\n{inner}</details>\n", escape::text(summary)))
    }

    pub fn charts(mut self, charts: Vec<Chart>) -> Self {
        if !charts.is_empty() {
            let containers: String = charts.iter().map(Chart::container).collect();
            self.html += &format!("<div class=\"charts\">\n{containers}</div>\n");
        }
        self.charts.extend(charts);
        self
    }

    pub fn raw(mut self, html: &str) -> Self {
        self.html += html;
        self
    }

    pub fn html(&self) -> String {
        let heading = heading(2, &self.title);
        format!("<section id=\"{}\">\n{heading}{}</section>\n", self.id, self.html)
    }
}

fn heading(level: u8, title: &str) -> String {
    if title.is_empty() {
        return String::new();
    }
    format!("<h{level}>{}</h{level}>\n", escape::text(title))
}

/// Rules and bare lines are for text only.
pub fn blocks_html(blocks: &[Block]) -> String {
    // Consecutive facts are one list, and so are hanging paragraphs.
    let list = |block: &Block| match block {
        Block::Fact(..) => 1,
        Block::Hanging(..) => 2,
        _ => 0,
    };
    let groups = blocks.chunk_by(|a, b| list(a) == list(b));
    html! {
        @for group in groups {
            @match list(&group[0]) {
                1 => dl class="facts" { @for fact in group { (one(fact)) } }
                2 => ul { @for item in group { (one(item)) } }
                _ => { @for block in group { (one(block)) } }
            }
        }
    }
    .into_string()
}

fn one(block: &Block) -> Markup {
    match block {
        Block::Section(title) => html! { h3 { (markup(title)) } },
        Block::Fact(name, value) => {
            html! { dt { (PreEscaped(text(name))) } dd { (PreEscaped(text(value))) } }
        }
        Block::Hanging(_, item) => html! { li { (markup(item)) } },
        Block::Paragraph(paragraph) => html! { p class="note" { (markup(paragraph)) } },
        Block::Table(table) => table_html(table),
        Block::Line(_) | Block::Ends(..) | Block::Rule(_) => html! {},
    }
}

/// Scrolls sideways on a narrow screen, and has a button that copies it.
pub fn table_html(table: &Table) -> Markup {
    let class = |of_numbers: bool| of_numbers.then_some("n");
    html! {
        div class="table" {
            button type="button" class="copy" title="Copy the table, for a spreadsheet" { "Copy" }
            div class="scroll" {
                table {
                    thead {
                        tr {
                            @for column in &table.columns {
                                th class=[class(column.is_of_numbers)] { (markup(&column.head)) }
                            }
                        }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (at, column) in table.columns.iter().enumerate() {
                                    td class=[class(column.is_of_numbers)] {
                                        @if let Some(cell) = row.get(at) { (markup(&cell.show())) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Column, Page};

    #[test]
    fn tables_keep_their_numbers_to_the_right() {
        let mut page = Page::default();
        page.section("Operation latency (us)");
        page.table(
            &Table::new([Column::left("Kind"), Column::right("Count")]).with_rows([["SELECT", "18,000"]]),
        );
        let html = blocks_html(&page.blocks);
        assert!(html.contains("<h3>Operation latency (µs)</h3>"), "{html}");
        assert!(html.contains("<td>SELECT</td><td class=\"n\">18,000</td>"), "{html}");
    }

    #[test]
    fn facts_are_one_list() {
        let mut page = Page::default();
        page.fact("Run", "a");
        page.fact("Seed", "1");
        let html = blocks_html(&page.blocks);
        assert_eq!((html.matches("<dl").count(), html.matches("</dl>").count()), (1, 1));
        assert!(html.contains("<dt>Seed</dt>"), "{html}");
    }
}
