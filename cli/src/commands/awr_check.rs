//! `slob awr check`: what a report says in two places.

use std::process::ExitCode;

use clap::ArgMatches;
use slob_awr::Scope;
use slob_awr::checks::{AGREE_PERCENT, CONTRADICT_PERCENT, Checks, Pair, Verdict};
use slob_report::format::Format;
use slob_report::table::{Cell, Column, Table};

use super::awr_files::Files;
use crate::failure::{JUDGED, Outcome};
use crate::output;

pub(crate) fn check(matches: &ArgMatches) -> Outcome {
    let read =
        Files::read(matches.get_many("files").unwrap_or_default(), Scope::All, |named| Checks::of(&named))?;
    if matches.get_flag("json") {
        output::print(&output::json("the pairs", &read.kept)?)?;
    } else {
        let all = matches.get_flag("verbose");
        output::print(&read.kept.iter().map(|checks| text(checks, all)).collect::<String>())?;
        // What a word means is the same for all of them.
        if let Some(general) = read.kept.iter().flat_map(|checks| &checks.warnings).find(|one| one.is_general)
        {
            output::print(&format!("{}: {}.\n", general.weight.word(), general.text))?;
        }
    }
    let code = read.exit_code()?;
    if matches.get_flag("strict") && read.kept.iter().any(Checks::is_contradictory) {
        return Ok(ExitCode::from(JUDGED));
    }
    Ok(code)
}

/// A line where there is nothing to doubt; else what differs, or all of it.
fn text(check: &Checks, all: bool) -> String {
    let mut text = format!("{}: {}\n", check.file, summary(check));
    let shown: Vec<&Pair> = check.pairs.iter().filter(|pair| all || pair.verdict != Verdict::Agree).collect();
    let warnings: Vec<_> = check.warnings.iter().filter(|warning| !warning.is_general).collect();
    if !shown.is_empty() {
        text.push_str(&indented(&table(&shown)));
    }
    for pair in &shown {
        if let Some(note) = pair.note {
            text.push_str(&format!(
                "  {}, {} and {}: {note}.\n",
                pair.what, pair.first_source, pair.second_source
            ));
        }
    }
    for warning in &warnings {
        text.push_str(&format!("  {}: {}.\n", warning.weight.word(), warning.text));
    }
    if !shown.is_empty() || !warnings.is_empty() {
        text.push('\n');
    }
    text
}

fn indented(table: &str) -> String {
    table.lines().map(|line| format!("  {line}\n")).collect()
}

fn summary(check: &Checks) -> String {
    let count = |verdict| check.pairs.iter().filter(|pair| pair.verdict == verdict).count();
    match (check.verdict(), check.is_contradictory()) {
        (None, false) => "it states no figure twice, so there is nothing to compare".to_owned(),
        (_, true) => format!(
            "doubtful: {} of {} pairs contradict each other by more than {CONTRADICT_PERCENT:.0} %, or something can't be true",
            count(Verdict::Contradict),
            check.pairs.len()
        ),
        (Some(Verdict::Differ), _) => format!(
            "{} of {} pairs differ by {AGREE_PERCENT:.0} to {CONTRADICT_PERCENT:.0} %, the others agree",
            count(Verdict::Differ),
            check.pairs.len()
        ),
        (Some(Verdict::Explained), _) => format!(
            "sound: {} of {} pairs agree; why the others do not is known",
            count(Verdict::Agree),
            check.pairs.len()
        ),
        _ => format!(
            "sound: all {} pairs agree within {AGREE_PERCENT:.0} %, or as far as they are printed",
            check.pairs.len()
        ),
    }
}

fn table(pairs: &[&Pair]) -> String {
    let columns = [
        Column::left("What"),
        Column::left("First"),
        Column::right(""),
        Column::left("Second"),
        Column::right(""),
        Column::right("Difference"),
        Column::left("Verdict"),
    ];
    let row = |pair: &&Pair| {
        [
            pair.what.into(),
            pair.first_source.into(),
            Format::Significant.cell(pair.first),
            pair.second_source.into(),
            Format::Significant.cell(pair.second),
            Format::SignedPercent.cell(pair.difference_percent),
            pair.verdict.word().into(),
        ]
    };
    Table::new(columns).with_rows::<Cell>(pairs.iter().map(row)).terminal(None)
}
