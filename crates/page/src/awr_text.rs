//! The texts of `slob awr check` and `slob awr diff`.

use slob_awr::checks::{AGREE_PERCENT, CONTRADICT_PERCENT, Checks, Pair, Rows, Verdict};
use slob_awr::info::Value;
use slob_awr::{DiffRow, DiffTable, Sheet};
use slob_facts::format::{ABSENT, Format, fixed, signed_percent, significant};
use slob_facts::table::Cell;

use crate::page::{Column, Table};

const MOST_ROWS: usize = 30;

/// For a terminal of `width` columns, as the others.
pub fn check_text(check: &Checks, all: bool, width: Option<usize>) -> String {
    let mut text = format!("{}: {}\n", check.file, check_summary(check));
    let indented = |table: String| table.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let shown: Vec<&Pair> = check.pairs.iter().filter(|pair| all || pair.verdict != Verdict::Agree).collect();
    let warnings: Vec<_> = check.warnings.iter().filter(|warning| !warning.is_general).collect();
    if !shown.is_empty() {
        text += &indented(pairs_table(&shown, width));
    }
    if all {
        text += &indented(rows_table(&check.rows, width));
    }
    for Pair { what, first_source, second_source, note, .. } in &shown {
        if let Some(note) = note {
            text += &format!("  {what}, {first_source} and {second_source}: {note}.\n");
        }
    }
    for warning in &warnings {
        text += &format!("  {}: {}.\n", warning.weight.word(), warning.text);
    }
    if !shown.is_empty() || !warnings.is_empty() {
        text.push('\n');
    }
    text
}

fn check_summary(check: &Checks) -> String {
    let all = check.compared();
    let count = |verdict| check.pairs.iter().filter(|pair| pair.verdict == verdict).count();
    match (check.verdict(), check.is_contradictory()) {
        (None, false) => "it states no figure twice, so there is nothing to compare".to_owned(),
        (_, true) => format!(
            "doubtful: {} of {all} pairs contradict each other by more than {CONTRADICT_PERCENT:.0} %, or something can't be true",
            count(Verdict::Contradict)
        ),
        (Some(Verdict::Differ), _) => format!(
            "{} of {all} pairs differ by {AGREE_PERCENT:.0} to {CONTRADICT_PERCENT:.0} %, the others agree",
            count(Verdict::Differ)
        ),
        (Some(Verdict::Explained), _) => {
            let agree = all - count(Verdict::Explained);
            format!("sound: {agree} of {all} pairs agree; why the others do not is known")
        }
        _ => {
            format!("sound: all {all} pairs agree within {AGREE_PERCENT:.0} %, or as far as they are printed")
        }
    }
}

fn pairs_table(pairs: &[&Pair], width: Option<usize>) -> String {
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
            pair.what.clone().into(),
            pair.first_source.into(),
            Format::Significant.cell(pair.first),
            pair.second_source.into(),
            Format::Significant.cell(pair.second),
            Format::SignedPercent.cell(pair.difference_percent),
            pair.verdict.word().into(),
        ]
    };
    Table::new(columns).with_rows::<Cell>(pairs.iter().map(row)).terminal(width)
}

fn rows_table(rows: &[Rows], width: Option<usize>) -> String {
    let columns = [
        Column::left("Rows by arithmetic"),
        Column::left("First"),
        Column::left("Second"),
        Column::right("Pairs"),
        Column::right("Agree"),
    ];
    let row = |rows: &Rows| {
        let [pairs, agree] = [rows.pairs, rows.agree].map(|count| count.to_string());
        [rows.what.to_owned(), rows.first_source.to_owned(), rows.second_source.to_owned(), pairs, agree]
    };
    Table::new(columns).with_rows(rows.iter().map(row)).terminal(width)
}

pub fn diff_table(table: &DiffTable, all: bool, width: Option<usize>) -> String {
    let unit = if table.unit.is_empty() { String::new() } else { format!(" ({})", table.unit) };
    let mut shown: Vec<&DiffRow> = table.rows.iter().collect();
    // A long table shows the largest figures of either report first.
    if !all && shown.len() > MOST_ROWS {
        if !table.is_by_change {
            shown.sort_by(|one, other| size(other).total_cmp(&size(one)));
        }
        shown.truncate(MOST_ROWS);
    }
    let columns =
        [Column::left(""), Column::right("First"), Column::right("Second"), Column::right("Change %")];
    let row = |row: &&DiffRow| {
        let change = row.change_percent.map_or_else(String::new, signed_percent);
        [row.name.clone(), side(&row.first), side(&row.second), change]
    };
    let rows = Table::new(columns).with_rows(shown.iter().map(row)).terminal(width);
    let more = match table.rows.len() - shown.len() {
        0 => String::new(),
        left => format!("  {left} smaller ones are left out: --all shows them\n"),
    };
    format!("\n{}{unit}\n{rows}{more}", table.title)
}

pub fn printed_table(sheet: &Sheet, width: Option<usize>) -> String {
    let first = sheet.heads.iter().take(1).map(Column::left);
    let columns = first.chain(sheet.heads.iter().skip(1).map(Column::right));
    let cells = |row: &Vec<String>| {
        let blanks = sheet.heads.len().saturating_sub(row.len());
        row.iter().take(sheet.heads.len()).cloned().chain(vec![String::new(); blanks]).collect::<Vec<_>>()
    };
    format!(
        "\n{}\n{}",
        sheet.title,
        Table::new(columns).with_rows(sheet.rows.iter().map(cells)).terminal(width)
    )
}

fn size(row: &DiffRow) -> f64 {
    let number = |side: &Option<Value>| side.as_ref().and_then(Value::as_number).map_or(0.0, f64::abs);
    number(&row.first).max(number(&row.second))
}

fn side(side: &Option<Value>) -> String {
    match side {
        None => ABSENT.to_owned(),
        Some(Value::Number(count)) if count.fract() == 0.0 && count.abs() < 1e15 => fixed(*count, 0),
        Some(Value::Number(number)) => significant(*number),
        Some(Value::Text(text)) => text.clone(),
    }
}
