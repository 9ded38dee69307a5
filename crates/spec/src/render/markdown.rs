//! The document of parameters.

use std::fmt::Write as _;

use crate::param::Param;
use crate::table::Table;

const HEAD: &str = "\
# Parameters

Every parameter is a line of `slob.conf` (`KEY=value`), an environment variable (`SLOB_KEY`) and, where one
is named, a flag. Flags override the environment, the environment overrides the file, the file overrides the
defaults. *Default* applies where there is no file; *if deleted* where there is a file that lacks the key.
This page is generated from the program's own table.
";

const COLUMNS: &str = "\
| Parameter | Flag | Default | If deleted | Permitted | Meaning | The original |
| --- | --- | --- | --- | --- | --- | --- |
";

/// Renders the document of all parameters in Markdown, one table for each group.
#[must_use]
pub fn markdown(table: &Table) -> String {
    let mut text = String::from(HEAD);
    let mut group = None;
    for param in table.params() {
        if group.replace(param.group) != Some(param.group) {
            // Writing to a String can't fail, here and below.
            let _ = write!(text, "\n## {}\n\n{COLUMNS}", param.group);
        }
        write_row(&mut text, param);
    }
    text
}

fn write_row(text: &mut String, param: &Param) {
    let keys: Vec<_> = param.keys().map(|key| format!("`{key}`")).collect();
    let cells = [
        keys.join(" or "),
        param.flag.map(|flag| format!("`--{flag}`")).unwrap_or_default(),
        default_cell(param, param.shipped),
        default_cell(param, param.default_if_deleted()),
        if param.note.is_some() { String::new() } else { param.kind.permitted() },
        match param.note {
            Some(note) => format!("{}: {note}", param.meaning),
            None => param.meaning.to_owned(),
        },
        param.original.unwrap_or_default().to_owned(),
    ];
    for cell in cells {
        let _ = write!(text, "| {} ", cell.replace('|', "\\|"));
    }
    text.push_str("|\n");
}

fn default_cell(param: &Param, default: Option<&'static str>) -> String {
    match default {
        Some(_) => format!("`{}`", param.shown_default(default)),
        None => param.shown_default(None),
    }
}
