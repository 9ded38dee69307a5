//! All runs of a folder on one page.

mod row;

use super::{assets, escape};
use crate::format::plural;

pub use self::row::IndexRow;

/// Where the rows are kept within the page, so that the next page need not read their records again.
const ROWS: (&str, &str) = ("<script type=\"application/json\" id=\"rows\">", "</script>");

/// A page that is listed beside the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherPage {
    /// What it is, such as `campaign`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Where it is, from the page of all runs.
    pub href: String,
}

/// All runs as one HTML file that needs no network: sortable, filterable, with links to the reports.
///
/// `rows` are shown in the order of their ids, the newest first. `where_else` is what a command needs to find these runs, such as
/// ` --results-dir DIR`; empty for the usual folder.
#[must_use]
pub fn index_page(rows: &[IndexRow], others: &[OtherPage], where_else: &str) -> String {
    let mut newest_first: Vec<&IndexRow> = rows.iter().collect();
    newest_first.sort_by(|a, b| b.id.cmp(&a.id));
    let listed: String = newest_first.iter().map(|row| row.html()).collect();
    let heads: String = row::HEADS
        .iter()
        .map(|(name, class)| {
            format!("<th class=\"{class}\" scope=\"col\"><button type=\"button\">{name}</button></th>")
        })
        .collect();
    let choices: String = [
        ("target", "Target"),
        ("host", "Host"),
        ("device", "Device"),
        ("sessions", "Sessions"),
        ("verdicts", "Verdict"),
    ]
    .iter()
    .map(|(of, name)| {
        format!(
            "<select data-of=\"{of}\" aria-label=\"{name}\"><option value=\"\">{name}: any</option></select>"
        )
    })
    .collect();
    let kept = serde_json::to_value(rows).map(|rows| escape::json(&rows)).unwrap_or_default();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>OpenSLOB runs</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <header>\n<div class=\"bar\"><span class=\"brand\">OpenSLOB</span><button type=\"button\" id=\"theme\" title=\"Light or \
         dark\">Dark</button></div>\n<h1>Runs</h1>\n<p class=\"lead\" id=\"count\">{}</p>\n</header>\n<main class=\"wide\">\n\
         <div class=\"filters\"><input type=\"search\" id=\"search\" placeholder=\"Filter by words\" aria-label=\"Filter by \
         words\">{choices}</div>\n\
         <p class=\"compare\" id=\"compare\" data-where=\"{}\" hidden>To compare the two: <code id=\"command\"></code> <button \
         type=\"button\" id=\"copy\">Copy</button></p>\n\
         <div class=\"part scroll\"><table id=\"runs\">\n<thead><tr><th scope=\"col\"><span class=\"hint\">Compare</span></th>{heads}\
         <th scope=\"col\">Operations/s over time</th></tr></thead>\n<tbody>\n{listed}</tbody>\n</table></div>\n{}</main>\n\
         <footer><p>Made by OpenSLOB {} from the records beside this page, anew after each run. This page needs no network and sends \
         nothing.</p></footer>\n{}{kept}{}\n<script>{}</script>\n</body>\n</html>\n",
        assets::index_policy(),
        assets::STYLE,
        plural(rows.len() as u64, "run"),
        escape::text(where_else),
        others_html(others),
        env!("CARGO_PKG_VERSION"),
        ROWS.0,
        ROWS.1,
        assets::INDEX_SCRIPT,
    )
}

/// The rows of a page that was made by this release; none of any other text.
#[must_use]
pub fn rows_of_page(page: &str) -> Vec<IndexRow> {
    let made_here = format!("<p>Made by OpenSLOB {} from", env!("CARGO_PKG_VERSION"));
    let rows = || {
        let (_, rest) = page.split_once(ROWS.0).filter(|_| page.contains(&made_here))?;
        serde_json::from_str(rest.split_once(ROWS.1)?.0).ok()
    };
    rows().unwrap_or_default()
}

fn others_html(others: &[OtherPage]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let item = |page: &OtherPage| {
        format!(
            "<li><a href=\"{}\">{}</a> <span class=\"hint\">{}</span></li>\n",
            escape::text(&page.href),
            escape::text(&page.name),
            escape::text(&page.kind)
        )
    };
    let items: String = others.iter().map(item).collect();
    format!(
        "<section id=\"others\">\n<h2>Other pages</h2>\n<div class=\"part\"><ul>\n{items}</ul></div>\n</section>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_page_gives_its_rows_back_and_shows_the_newest_first() {
        let rows = [fixture::direct_read_run(), fixture::update_run(), fixture::failed_run()]
            .map(|run| IndexRow::of(&run));
        let page = index_page(&rows, &[], "");
        assert_eq!(rows_of_page(&page), rows);
        let at = |row: &IndexRow| page.find(&format!("value=\"{}\"", row.id)).unwrap();
        assert!(at(&rows[2]) < at(&rows[1]) && at(&rows[1]) < at(&rows[0]));
        assert_eq!(rows_of_page(&page.replace("Made by OpenSLOB", "Made by")), []);
        assert_eq!(rows_of_page("no page"), []);
    }

    #[test]
    fn names_can_not_become_elements() {
        let mut record = fixture::direct_read_run();
        record.target = "</script><script>alert(1)</script>\"".into();
        let other = OtherPage { kind: "campaign".into(), name: "<b>".into(), href: "a\"b/index.html".into() };
        let page = index_page(&[IndexRow::of(&record)], &[other], "");
        assert!(!page.contains("<script>alert") && !page.contains("<b>") && !page.contains("a\"b"));
        assert_eq!(rows_of_page(&page)[0].target, record.target);
    }

    #[test]
    fn what_was_not_measured_is_no_zero() {
        let row = IndexRow::of(&fixture::failed_run());
        assert_eq!((row.iops, row.operations_per_s, row.curve.len()), (None, None, 0));
        assert_eq!(row.html().matches("data-value=\"\">-<").count(), 2, "{}", row.html());
    }
}
