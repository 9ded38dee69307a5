//! Tables of wait events and wait classes.

use crate::figure::{TimeUnit, duration_us};
use crate::report::{ShareOf, WaitEvent};
use crate::table::{Row, Table};

use super::profile::cell;

/// Where a table of waits has what. The headings differ by release, and lines break them differently.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    pub(super) waits: Option<usize>,
    pub(super) timeouts: Option<usize>,
    pub(super) total: Option<usize>,
    pub(super) average: Option<usize>,
    pub(super) unit: Option<TimeUnit>,
    pub(super) percent: Option<usize>,
    pub(super) percent_of: Option<ShareOf>,
    pub(super) class: Option<usize>,
}

impl Columns {
    pub(super) fn of(table: &Table) -> Self {
        let later = |fits: &dyn Fn(&str) -> bool| {
            table.heads.iter().enumerate().skip(1).find(|(_, head)| fits(&head.name)).map(|(at, _)| at)
        };
        let average = later(&|head| head.contains("avg") && !head.contains("active"));
        let is_total = |head: &str| {
            let is_time = head.contains("time(s") || head.starts_with("tota") || head.contains("waittime");
            is_time && !head.contains("avg") && !head.contains('%')
        };
        let is_share = |head: &str| head.contains('%') && !head.contains("out") && share_of(head).is_some();
        let percent = later(&is_share);
        Self {
            waits: later(&|head| head == "waits" || head == "#waits"),
            timeouts: later(&|head| head.contains('%') && head.contains("out") && !head.contains("time)")),
            total: later(&is_total),
            average,
            unit: average.and_then(|at| table.heads.get(at)).and_then(|head| unit_of(&head.name)),
            percent,
            percent_of: percent.and_then(|at| table.heads.get(at)).and_then(|head| share_of(&head.name)),
            class: later(&|head| head.contains("class") || head == "wclass"),
        }
    }

    pub(super) fn event(&self, row: &Row, name: &str) -> WaitEvent {
        WaitEvent {
            name: name.to_owned(),
            class: row.text(self.class).map(str::to_owned),
            waits: cell(row, self.waits),
            waits_per_s: None,
            timeouts_percent: cell(row, self.timeouts),
            total_s: cell(row, self.total),
            average_us: row.text(self.average).and_then(|text| duration_us(text, self.unit)),
            percent: cell(row, self.percent),
            percent_of: self.percent_of,
        }
    }
}

/// The unit that a heading names.
pub(super) fn unit_of(head: &str) -> Option<TimeUnit> {
    let named =
        [("(ms)", TimeUnit::Ms), ("(us)", TimeUnit::Us), ("(cs)", TimeUnit::Cs), ("(s)", TimeUnit::S)];
    named.into_iter().find(|(name, _)| head.contains(name)).map(|(_, unit)| unit)
}

fn share_of(head: &str) -> Option<ShareOf> {
    if head.contains("bgtime") {
        Some(ShareOf::BackgroundTime)
    } else if head.contains("dbtime") {
        Some(ShareOf::DbTime)
    } else if head.contains("total") && (head.contains("call") || head.contains("time")) {
        Some(ShareOf::CallTime)
    } else {
        None
    }
}

/// The events of a table, if it is one of waits.
pub(super) fn events(table: &Table) -> Vec<WaitEvent> {
    let columns = Columns::of(table);
    if columns.waits.is_none() || (columns.total.is_none() && columns.average.is_none()) {
        return Vec::new();
    }
    let is_event = |event: &WaitEvent| {
        !event.name.is_empty()
            && (event.waits.is_some() || event.total_s.is_some() || event.percent.is_some())
    };
    table.rows.iter().map(|row| columns.event(row, row.name())).filter(is_event).collect()
}

/// The same where the class stands in the first column and the event in the second.
pub(super) fn named(table: &Table) -> Vec<WaitEvent> {
    let columns = Columns::of(table);
    let name = table.column(|head| head == "event");
    let class = table.column(|head| head.contains("class"));
    let event = |row: &Row| {
        let event = columns.event(row, row.text(name)?);
        let class = row.text(class).map(str::to_owned);
        (event.waits.is_some() || event.total_s.is_some()).then_some(WaitEvent { class, ..event })
    };
    table.rows.iter().filter_map(event).collect()
}

/// In one release the headings of wait classes stand over each other's columns. Total, average and waits must fit each
/// other; where they do not and would the other way round, they are exchanged, and the report says so.
pub(super) fn repair_classes(classes: &mut Vec<WaitEvent>) -> Option<String> {
    let fits = |event: &WaitEvent| -> Option<bool> {
        let (waits, total, average) = (event.waits?.value, event.total_s?, event.average_us?);
        let expected = total.times(1e6).per(waits)?;
        let slack = expected.resolution + average.resolution;
        Some((expected.value - average.value).abs() <= slack.max(0.02 * expected.value))
    };
    let score = |events: &[WaitEvent]| events.iter().filter_map(fits).filter(|fit| *fit).count();
    let count = classes.iter().filter_map(fits).count();
    if count < 3 || score(classes) * 2 > count {
        return None;
    }
    let mut exchanged = classes.clone();
    for event in &mut exchanged {
        let (total, average) = (event.total_s, event.average_us);
        event.total_s = average.map(|average| average.times(1e-3));
        event.average_us = total.map(|total| total.times(1e3));
    }
    if score(&exchanged) * 2 > count {
        *classes = exchanged;
        return Some(
            "the headings of the wait classes are shifted: total and average were told apart by arithmetic"
                .into(),
        );
    }
    Some("in the wait classes, total time, waits and average wait do not fit each other".into())
}
