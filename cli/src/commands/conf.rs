//! `slob conf`: the effective configuration.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::json;
use slob_report::table::{Column, Table};
use slob_spec::{Entry, Settings, init_text, markdown};

use crate::failure::{Failure, Outcome};
use crate::{output, registry, settings};

const FILE: &str = "slob.conf";

pub(crate) fn conf(matches: &ArgMatches) -> Outcome {
    if matches.get_flag("markdown") {
        output::print(&markdown(&registry::table()))?;
    } else if matches.get_flag("init") {
        init(matches.get_one::<String>("conf-file").map_or(FILE, String::as_str))?;
    } else {
        let settings = settings::resolve(matches, &[])?;
        let text = if matches.get_flag("json") { as_json(&settings) } else { as_table(&settings) };
        output::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a starter file, never over one that is there.
fn init(name: &str) -> Result<(), Failure> {
    let fail = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{name} already exists; move it away first, it will not be overwritten"))
        }
        _ => Failure::usage(format!("writing {name}: {error}")),
    };
    // People put passwords into it.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(name).map_err(fail)?;
    file.write_all(init_text(&registry::table()).as_bytes()).map_err(fail)?;
    output::say(&format!("wrote {name}; `slob conf` shows the resulting configuration"));
    Ok(())
}

fn shown(entry: &Entry) -> String {
    entry.displayed().unwrap_or_default()
}

fn as_table(settings: &Settings) -> String {
    let row = |entry: &Entry| {
        let param = entry.param();
        [param.key.to_owned(), shown(entry), entry.origin().to_string(), param.meaning.to_owned()]
    };
    let columns = ["KEY", "VALUE", "FROM", "MEANING"].map(Column::left);
    Table::new(columns).with_rows(settings.entries().map(row)).terminal(output::width())
}

fn as_json(settings: &Settings) -> String {
    let entry = |entry: &Entry| {
        json!({
            "key": entry.param().key,
            "value": entry.displayed(),
            "origin": entry.origin().to_string(),
            "changed_from_default": entry.changed_from_default(),
            "meaning": entry.param().meaning,
        })
    };
    format!("{:#}\n", serde_json::Value::Array(settings.entries().map(entry).collect()))
}
