//! Statements by their SQL Id, and segments by their names, of two reports.

use std::collections::BTreeMap;

use super::{Both, DiffRow, DiffTable, SECONDS_PER_SECOND, Side, numbers, per_second};
use crate::figure::Figure;
use crate::report::{Report, SqlStatement};

/// So much of a statement's text stands beside its id.
const TEXT_CHARS: usize = 48;

/// The statements of both reports by their ids, in the order in which they are met.
fn pairs<'a>(both: &'a Both<'_>) -> Vec<(&'a str, [Option<&'a SqlStatement>; 2])> {
    let by_id = |report: &'a Report| -> BTreeMap<&'a str, &'a SqlStatement> {
        report.top_sql.iter().map(|sql| (sql.id.as_str(), sql)).collect()
    };
    let sides = [by_id(both.first), by_id(both.second)];
    let mut seen = std::collections::BTreeSet::new();
    let ids = both.first.top_sql.iter().chain(&both.second.top_sql).map(|sql| sql.id.as_str());
    ids.filter(|id| seen.insert(*id))
        .map(|id| (id, [0, 1].map(|side| sides[side].get(id).copied())))
        .collect()
}

/// The id, and how the text begins.
fn name(id: &str, sides: [Option<&SqlStatement>; 2]) -> String {
    let text = sides.into_iter().flatten().map(|sql| sql.text.as_str()).find(|text| !text.is_empty());
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    let start: String = words.join(" ").chars().take(TEXT_CHARS).collect();
    format!("{id} {start}").trim_end().to_owned()
}

fn table(
    both: &Both<'_>,
    title: &'static str,
    unit: &'static str,
    of: impl Fn(&SqlStatement, &Report) -> Option<f64>,
) -> DiffTable {
    let row = |(id, [first, second]): (&str, [Option<&SqlStatement>; 2])| {
        let values = [first.and_then(|sql| of(sql, both.first)), second.and_then(|sql| of(sql, both.second))];
        numbers(name(id, [first, second]), values)
    };
    DiffTable::new(title, unit, pairs(both).into_iter().filter_map(row).collect())
}

/// Time of statements, by the interval.
pub(super) fn time(both: &Both<'_>) -> DiffTable {
    table(both, "SQL: elapsed time", SECONDS_PER_SECOND, |sql, report| per_second(sql.elapsed_s, report))
}

/// Time of an execution.
pub(super) fn per_execution(both: &Both<'_>) -> DiffTable {
    table(both, "SQL: elapsed time per execution", "s", |sql, _| {
        let executions = sql.executions.map(|executions| executions.value)?;
        sql.elapsed_s.and_then(Figure::known)?;
        Some(sql.elapsed_s?.per(executions)?.value)
    })
}

/// Statements that were seen with other plans.
pub(super) fn plans(both: &Both<'_>) -> DiffTable {
    let row = |(id, sides): (&str, [Option<&SqlStatement>; 2])| {
        let [Some(first), Some(second)] = sides else { return None };
        let differ = !first.plans.is_empty() && !second.plans.is_empty() && first.plans != second.plans;
        differ.then(|| DiffRow {
            name: name(id, sides),
            first: Side::Text(first.plans.join(" ")),
            second: Side::Text(second.plans.join(" ")),
            change_percent: None,
        })
    };
    DiffTable::new("SQL whose plan changed", "", pairs(both).into_iter().filter_map(row).collect())
}

/// What was done to segments, by the interval.
pub(super) fn segments(both: &Both<'_>, title: &'static str, statistic: &str) -> DiffTable {
    let by_name = |report: &Report| -> BTreeMap<String, f64> {
        let own = report.segments.iter().filter(|segment| segment.statistic.eq_ignore_ascii_case(statistic));
        let named = own.filter_map(|segment| {
            let parts =
                [segment.owner.as_deref(), Some(segment.object.as_str()), segment.subobject.as_deref()];
            let name: Vec<&str> = parts.into_iter().flatten().collect();
            Some((name.join("."), per_second(segment.value, report)?))
        });
        named.collect()
    };
    let sides = [by_name(both.first), by_name(both.second)];
    let names: std::collections::BTreeSet<&String> = sides.iter().flat_map(BTreeMap::keys).collect();
    let rows = names
        .into_iter()
        .filter_map(|name| numbers(name.clone(), [0, 1].map(|side| sides[side].get(name).copied())));
    DiffTable::new(title, "per second", rows.collect())
}
