//! `slob awr check`: what a report says in two places.

use std::process::ExitCode;

use clap::ArgMatches;
use slob_awr::doubts::{AGREE_PERCENT, CONTRADICT_PERCENT, Doubts, Pair, Verdict};
use slob_report::format::{ABSENT, signed_percent, significant};

use super::awr_files::Files;
use crate::failure::{Failure, JUDGED, Outcome};
use crate::output;
use crate::terminal_table::{self, Column};

pub(crate) fn check(matches: &ArgMatches) -> Outcome {
    let read = Files::read(matches.get_many("files").unwrap_or_default(), |named| Doubts::of(&named))?;
    if matches.get_flag("json") {
        let json = serde_json::to_string_pretty(&read.kept);
        output::print(&(json.map_err(|error| Failure::failed(format!("writing JSON: {error}")))? + "\n"))?;
    } else {
        output::print(&read.kept.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    }
    let code = read.exit_code()?;
    if matches.get_flag("strict") && read.kept.iter().any(Doubts::is_contradictory) {
        return Ok(ExitCode::from(JUDGED));
    }
    Ok(code)
}

fn text(check: &Doubts) -> String {
    let mut text = format!("{}: {}\n", check.file, summary(check));
    if !check.pairs.is_empty() {
        text.push('\n');
        text.push_str(&table(&check.pairs));
    }
    for pair in check.pairs.iter().filter(|pair| pair.verdict != Verdict::Agree) {
        if let Some(note) = pair.note {
            text.push_str(&format!(
                "  {}, {} and {}: {note}.\n",
                pair.what, pair.first_source, pair.second_source
            ));
        }
    }
    if !check.warnings.is_empty() {
        text.push('\n');
    }
    for warning in &check.warnings {
        text.push_str(&format!("  {}: {}.\n", warning.weight.word(), warning.text));
    }
    text
}

fn summary(check: &Doubts) -> String {
    let count = |verdict| check.pairs.iter().filter(|pair| pair.verdict == verdict).count();
    match (check.verdict(), check.is_contradictory()) {
        (None, false) => "nothing in it is said twice, so nothing could be compared".to_owned(),
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
        _ => format!(
            "sound: all {} pairs agree within {AGREE_PERCENT:.0} %, or as far as they are printed",
            check.pairs.len()
        ),
    }
}

fn table(pairs: &[Pair]) -> String {
    let columns = [
        Column::left("What"),
        Column::left("First"),
        Column::right(""),
        Column::left("Second"),
        Column::right(""),
        Column::right("Difference"),
        Column::left("Verdict"),
    ];
    let row = |pair: &Pair| {
        vec![
            pair.what.to_owned(),
            pair.first_source.to_owned(),
            significant(pair.first),
            pair.second_source.to_owned(),
            significant(pair.second),
            pair.difference_percent.map_or_else(|| ABSENT.to_owned(), signed_percent),
            pair.verdict.word().to_owned(),
        ]
    };
    terminal_table::table(columns, pairs.iter().map(row))
}
