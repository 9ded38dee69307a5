//! Pages of sections: text, tables and charts under headings.

use super::chart::Chart;
use super::document::{self, Document};
use super::{blocks, escape};
use crate::page::Page;

/// A page made from saved figures. Its footer names the version of this program.
pub(crate) struct View {
    /// Title of the browser's window.
    pub(crate) title: String,
    pub(crate) heading: String,
    /// HTML below the heading.
    pub(crate) lead: String,
    /// True if links to the sections follow.
    pub(crate) has_links: bool,
    pub(crate) sections: Vec<Section>,
    /// Origin of the figures, for the footer.
    pub(crate) source: String,
}

impl View {
    /// The page as one HTML file that needs no network.
    pub(crate) fn html(&self) -> String {
        let links = self.sections.iter().map(|section| (section.id.as_str(), escape::text(&section.link)));
        let links: Vec<(&str, String)> = links.collect();
        let links = document::links(links.iter().map(|(id, title)| (*id, title.as_str())));
        let links = if self.has_links { links } else { String::new() };
        let first_charts = self.sections.iter().position(|section| !section.charts.is_empty());
        let section = |(at, section): (usize, &Section)| {
            let notice = if first_charts == Some(at) { document::NO_CHARTS } else { "" };
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

/// A paragraph below the heading of a page.
pub(crate) fn lead(text: &str) -> String {
    format!("<p class=\"lead\">{}</p>\n", escape::prose(text))
}

pub(crate) struct Section {
    /// Unique within the page.
    id: String,
    /// Empty for a section without a heading.
    title: String,
    /// Text of the link to it.
    link: String,
    html: String,
    charts: Vec<Chart>,
}

impl Section {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        let title = title.into();
        Self { id: id.into(), link: title.clone(), title, html: String::new(), charts: Vec::new() }
    }

    pub(crate) fn linked_as(self, link: &str) -> Self {
        Self { link: link.to_owned(), ..self }
    }

    /// Adds text and tables under a heading, which may be empty; nothing if `write` writes nothing.
    pub(crate) fn part(mut self, title: &str, write: impl FnOnce(&mut Page)) -> Self {
        let mut page = Page::new();
        write(&mut page);
        let blocks = page.into_blocks();
        if !blocks.is_empty() {
            let (heading, content) = (heading(3, title), blocks::html(&blocks));
            self.html += &format!("<div class=\"part\">\n{heading}{content}</div>\n");
        }
        self
    }

    pub(crate) fn charts(mut self, charts: Vec<Chart>) -> Self {
        if !charts.is_empty() {
            let containers: String = charts.iter().map(Chart::container).collect();
            self.html += &format!("<div class=\"charts\">\n{containers}</div>\n");
        }
        self.charts.extend(charts);
        self
    }

    pub(crate) fn raw(mut self, html: &str) -> Self {
        self.html += html;
        self
    }

    pub(crate) fn html(&self) -> String {
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
