//! What every page has around its contents: head, policy, the choice of a theme, footer, data and scripts.

use super::chart::{self, Chart};
use super::{assets, escape};

/// Where the page's script says that it can't draw, and what stands there without scripts. Charts come below it.
pub(crate) const NO_CHARTS: &str = "<p id=\"no-charts\" class=\"banner doubt\" hidden></p>\n<noscript><p \
    class=\"banner doubt\">The charts need JavaScript; figures and tables are all here without it.</p></noscript>\n";

/// A page in parts.
pub(crate) struct Document<'a> {
    /// For the browser's window.
    pub(crate) title: String,
    /// HTML below the name of the program: heading, description, links.
    pub(crate) header: String,
    /// HTML between header and footer.
    pub(crate) main: String,
    /// Where the figures come from, for the footer.
    pub(crate) said: String,
    /// The program's version that measured.
    pub(crate) slob_version: &'a str,
    /// An element that holds what the page was made of; may be empty.
    pub(crate) holds: String,
    /// The charts whose containers are within `main`.
    pub(crate) charts: Vec<&'a Chart>,
}

impl Document<'_> {
    /// The whole file.
    pub(crate) fn html(&self) -> String {
        [
            format!(
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                 <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
                 <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
                 <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n\
                 </head>\n<body>\n",
                assets::policy(),
                escape::text(&self.title),
                assets::STYLE
            ),
            format!(
                "<header>\n<div class=\"bar\"><span class=\"brand\">OpenSLOB</span><button type=\"button\" \
                 id=\"theme\" title=\"Light or dark\">Dark</button></div>\n{}</header>\n",
                self.header
            ),
            format!("<main>\n{}</main>\n", self.main),
            format!(
                "<footer><p>{}</p><p>OpenSLOB {}; charts: plotly.js, MIT licence. This page needs no network and sends \
                 nothing.</p></footer>\n",
                escape::text(&self.said),
                escape::text(self.slob_version)
            ),
            format!(
                "<script type=\"application/json\" id=\"chart-data\">{}</script>\n",
                escape::json(&chart::data(&self.charts))
            ),
            self.holds.clone(),
            format!("<script type=\"text/plain\" id=\"chart-library\">{}</script>\n", assets::LIBRARY),
            format!("<script>{}</script>\n</body>\n</html>\n", assets::SCRIPT),
        ]
        .concat()
    }
}

/// Links to the sections of the page: name within the page, heading.
pub(crate) fn links<'a>(sections: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let links: String = sections.map(|(id, title)| format!("<a href=\"#{id}\">{title}</a>")).collect();
    format!("<nav>{links}</nav>\n")
}
