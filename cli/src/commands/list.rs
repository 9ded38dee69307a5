//! `slob list`: the runs that there are.

use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use slob_record::{Record, SeriesWanted, list_runs};
use slob_report::figure;
use slob_report::info::{self, Column, cells, status_word, table};
use slob_report::table::Cell;

use crate::failure::{Failure, Outcome, PARTLY};
use crate::tables::{Form, Records};
use crate::{index, output, settings};

/// What is shown of each run: the head for people, the column.
const COLUMNS: [(&str, Column); 8] = [
    ("ID", info::ID),
    ("NAME", info::NAME),
    ("STATUS", info::STATUS),
    ("TARGET", info::TARGET),
    ("SESSIONS", Column::figure(&figure::SESSIONS)),
    (figure::PHYSICAL_READS_PER_S.short, Column::figure(&figure::PHYSICAL_READS_PER_S)),
    ("P99 US", Column::figure(&figure::OPERATION_P99_US)),
    ("STARTED", info::STARTED),
];

pub(crate) fn list(matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    if matches.get_flag("html") {
        return page(&results);
    }
    let wanted = Filter::of(matches)?;
    let columns = COLUMNS.map(|(_, column)| column);
    let listed = |record: Record| wanted.fits(&record).then(|| (record.started, cells(&record, &columns)));
    let read = Records::read_paths(&list_runs(&results)?, SeriesWanted::Empty, listed);
    let code = read.exit_code()?;
    let none_at_all = read.kept.is_empty();
    let mut rows: Vec<(Timestamp, Vec<Cell>)> = read.kept.into_iter().flatten().collect();
    rows.sort_by_key(|(started, _)| *started);
    let rows = rows.into_iter().map(|(_, cells)| cells);
    let table = table(COLUMNS.map(|(head, _)| head), &columns, rows);
    output::print(&Form::of(matches, Form::Table).text(&table))?;
    if table.is_empty() {
        let what = if none_at_all { "no runs" } else { "no runs like that" };
        output::say(&format!("{} holds {what}", results.display()));
    }
    Ok(code)
}

/// All runs on one page, beside their records.
fn page(results: &Path) -> Outcome {
    let unread = index::write(results)?;
    unread.iter().for_each(|error| output::say(&format!("slob: {error}")));
    output::say(&format!("wrote {}", results.join(index::INDEX).display()));
    Ok(ExitCode::from(if unread.is_empty() { 0 } else { PARTLY }))
}

/// Which runs are listed.
struct Filter<'a> {
    name: Option<&'a str>,
    target: Option<&'a str>,
    status: Option<&'a str>,
    since: Option<Timestamp>,
}

impl<'a> Filter<'a> {
    fn of(matches: &'a ArgMatches) -> Result<Self, Failure> {
        let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
        let since = text("since").map(moment).transpose()?;
        Ok(Self { name: text("name"), target: text("target"), status: text("status"), since })
    }

    fn fits(&self, record: &Record) -> bool {
        self.name.is_none_or(|name| record.name.contains(name))
            && self.target.is_none_or(|target| record.target.contains(target))
            && self.status.is_none_or(|wanted| status_word(&record.status) == wanted)
            && self.since.is_none_or(|since| record.started >= since)
    }
}

/// A moment as people write it: `2026-11-20`, `2026-11-20T10:45`, `2026-11-20T10:45:00Z`. UTC unless it says otherwise.
fn moment(text: &str) -> Result<Timestamp, Failure> {
    let civil = || text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from)).ok();
    let parsed = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| civil()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp()));
    parsed.ok_or_else(|| {
        Failure::usage(format!(
            "--since is '{text}'; use a date or a time such as 2026-11-20 or 2026-11-20T10:45:00Z"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc_unless_they_say_otherwise() {
        let said = |text: &str| moment(text).unwrap().to_string();
        assert_eq!(said("2026-11-20"), "2026-11-20T00:00:00Z");
        assert_eq!(said("2026-11-20T10:45"), "2026-11-20T10:45:00Z");
        assert_eq!(said("2026-11-20 10:45:01"), "2026-11-20T10:45:01Z");
        assert_eq!(said("2026-11-20T10:45:00+02:00"), "2026-11-20T08:45:00Z");
        assert!(moment("yesterday").is_err());
    }
}
