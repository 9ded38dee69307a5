//! The frame of every page: head, policy, choice of a theme, footer, data and scripts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::{self, Chart};
use super::escape;

const STYLE: &str = include_str!("assets/style.css");
/// The script of pages with charts. `build.rs` hashes it.
const SCRIPT: &str = include_str!("assets/page.js");
const SCRIPT_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/page.sha256"));
/// The script of the page of all runs.
const INDEX_SCRIPT: &str = include_str!("assets/index.js");
const INDEX_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/index.sha256"));
/// The chart library (plotly.js, MIT licence), as zlib data in base64.
const LIBRARY: &str = include_str!(concat!(env!("OUT_DIR"), "/library.b64"));
const LIBRARY_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/library.sha256"));

/// The messages of a page whose charts can't be drawn, from its script or without scripts.
pub(crate) const NO_CHARTS: &str = "<p id=\"no-charts\" class=\"banner doubt\" hidden></p>\n<noscript><p \
    class=\"banner doubt\">The charts need JavaScript; figures and tables are all here without it.</p></noscript>\n";

/// The parts of a page around its charts.
pub(crate) struct Document<'a> {
    /// Title of the browser's window.
    pub(crate) title: String,
    /// HTML below the name of the program: heading, description, links.
    pub(crate) header: String,
    /// HTML between header and footer.
    pub(crate) main: String,
    /// The sources of the figures, for the footer.
    pub(crate) said: String,
    /// The version of the program that measured.
    pub(crate) slob_version: &'a str,
    /// An element with the data of the page, or nothing.
    pub(crate) holds: String,
    /// The charts whose containers are within `main`.
    pub(crate) charts: Vec<&'a Chart>,
}

impl Document<'_> {
    /// The whole file.
    pub(crate) fn html(&self) -> String {
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
            script type="application/json" id="chart-data" { (PreEscaped(escape::json(&chart::data(&self.charts)))) }
            (PreEscaped(&self.holds))
            script type="text/plain" id="chart-library" { (PreEscaped(LIBRARY)) }
        };
        frame(&self.title, &policy, &self.header, &main, &footer, &data, SCRIPT)
    }
}

/// The page of all runs, which draws its curves without the chart library.
pub(super) fn index(header: &Markup, main: &Markup, footer: &Markup, data: &Markup) -> String {
    let policy = format!(
        "default-src 'none'; script-src {INDEX_HASH}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
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

/// Links to the sections of the page: name within the page, heading.
pub(crate) fn links<'a>(sections: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    html! { nav { @for (id, title) in sections { a href={ "#" (id) } { (PreEscaped(title)) } } } }
        .into_string()
}
