//! `index.html` beside the records: every run on one page, and the other pages there are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use slob_record::{RUN_FILE, RecordError, SIGNATURE_FILE, SeriesWanted, list_runs, read_records};
use slob_report::html::{IndexRow, OtherPage, index_page, is_index_page, rows_of_page};

use crate::completing::entries;
use crate::failure::Failure;
use crate::output;

pub(crate) const INDEX: &str = "index.html";
const USUAL_FOLDER: &str = "runs";
const CAMPAIGNS: &str = "campaigns";

pub(crate) struct Written {
    pub(crate) unread: Vec<RecordError>,
    pub(crate) are_good: bool,
}

pub(crate) fn write(results: &Path) -> Result<Written, Failure> {
    write_page(results, &others(results), &where_else(results))
}

/// A site holds its pages in one folder, and readers have it elsewhere.
pub(crate) fn write_of_site(site: &Path) -> Result<Written, Failure> {
    write_page(site, &pages_in(site, ""), "")
}

/// Records that the page shows are not read again: a record is never edited.
fn write_page(results: &Path, others: &[OtherPage], where_else: &str) -> Result<Written, Failure> {
    let path = results.join(INDEX);
    let mut rows = Rows::of_page(&fs::read_to_string(&path).unwrap_or_default());
    let unread = rows.renew(results)?;
    let page = index_page(rows.all(), others, where_else, false);
    output::write_whole(&path, &page).map_err(|error| {
        usage!("writing {}: {error}; make room, or name another folder with --results-dir", path.display())
    })?;
    Ok(Written { unread, are_good: rows.all().iter().all(IndexRow::is_good) })
}

/// The rows of a folder's runs, each of which is read once.
#[derive(Default)]
pub(crate) struct Rows(Vec<IndexRow>);

impl Rows {
    fn of_page(page: &str) -> Self {
        Self(rows_of_page(page))
    }

    fn all(&self) -> &[IndexRow] {
        &self.0
    }

    /// Takes new runs in and drops those that are gone. The errors are of records that can't be read.
    fn renew(&mut self, results: &Path) -> Result<Vec<RecordError>, Failure> {
        let mut known: BTreeMap<String, IndexRow> =
            self.0.drain(..).map(|row| (row.id.clone(), row)).collect();
        let mut new = Vec::new();
        for run in list_runs(results)? {
            match known.remove(&name_of(&run)) {
                Some(row) => self.0.push(row),
                None => new.push(run),
            }
        }
        let mut unread = Vec::new();
        for (run, row) in read_records(&new, SeriesWanted::Counts, |record| IndexRow::of(&record)) {
            match row {
                // Links go by the folder, whatever it was called when the run was made.
                Ok(mut row) => {
                    row.id = name_of(&run);
                    row.is_signed = run.join(SIGNATURE_FILE).is_file();
                    self.0.push(row);
                }
                Err(error) => unread.push(error),
            }
        }
        Ok(unread)
    }

    /// The page for `slob serve`, which shows runs under way too and writes no file.
    pub(crate) fn live_page(&mut self, results: &Path) -> Result<String, Failure> {
        self.renew(results)?;
        let others = pages_in(results, "");
        Ok(index_page(self.all(), &others, &where_else(results), true))
    }
}

/// Whether a file is such a page, of this release or another.
pub(crate) fn is_own(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|page| is_index_page(&page))
}

/// A page that can't be written must not fail a run.
pub(crate) fn keep(results: &Path) {
    if let Err(failure) = write(results) {
        say!("warning: {}; `slob list --html` writes it again", failure.text());
    }
}

/// The last part of a path.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn where_else(results: &Path) -> String {
    if results == Path::new(USUAL_FOLDER) {
        return String::new();
    }
    format!(" --results-dir {}", output::quoted(&results.display().to_string()))
}

fn others(results: &Path) -> Vec<OtherPage> {
    let mut pages = pages_in(results, "");
    for folder in folders(results).iter().filter(|folder| !folder.join(RUN_FILE).is_file()) {
        pages.extend(pages_in(folder, &format!("{}/", name_of(folder))));
    }
    let campaigns = results.parent().unwrap_or(Path::new(".")).join(CAMPAIGNS);
    for folder in folders(&campaigns).iter().filter(|folder| folder.join("state.json").is_file()) {
        let name = name_of(folder);
        let page = if folder.join(INDEX).is_file() { INDEX } else { "" };
        let href = href(&format!("../{CAMPAIGNS}/{name}/{page}"));
        pages.push(OtherPage { kind: "campaign".into(), name, href });
    }
    pages
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = entries(folder);
    found.retain(|path| path.is_dir() && !name_of(path).starts_with('.'));
    found
}

/// A page's name says its kind up to the first dash.
fn pages_in(folder: &Path, prefix: &str) -> Vec<OtherPage> {
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "html") && path.is_file();
    let names = entries(folder).into_iter().filter(is_page).map(|path| name_of(&path));
    let page = |name: String| {
        let stem = name.trim_end_matches(".html");
        let kind = stem.split('-').next().unwrap_or(stem).to_owned();
        OtherPage { kind, href: href(&format!("{prefix}{name}")), name: format!("{prefix}{stem}") }
    };
    names.filter(|name| !(prefix.is_empty() && name == INDEX)).map(page).collect()
}

/// Percent-encodes what has a meaning in links.
fn href(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_pages_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("runs");
        let make = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for path in ["runs/index.html", "runs/headroom-db1 50%.html", "runs/a/run.json", "runs/a/report.html"]
        {
            make(path);
        }
        make("runs/profiles/profile-x.html");
        make("campaigns/fs/state.json");
        make("campaigns/none/notes.txt");
        let found: Vec<(String, String)> =
            others(&results).into_iter().map(|page| (page.kind, page.href)).collect();
        let expected = [
            ("headroom", "headroom-db1%2050%25.html"),
            ("profile", "profiles/profile-x.html"),
            ("campaign", "../campaigns/fs/"),
        ];
        assert_eq!(found, expected.map(|(kind, href)| (kind.to_owned(), href.to_owned())));
    }
}
