//! Segments, advisories, and the events of ASH.

use super::profile::cell;
use crate::report::{AshEvent, BufferPoolAdvice, PgaAdvice, Report, Segment};
use crate::table::Table;

/// `Segments by Physical Reads`, and `Segment Statistics (Global)`, where the statistic is a column.
pub(super) fn segments(report: &mut Report, table: &Table) {
    let at = |names: &[&str]| table.column(|head| names.contains(&head));
    let (owner, tablespace) = (at(&["owner"]), at(&["tablespacename", "tablespace"]));
    let (object, subobject) = (at(&["objectname"]), at(&["subobjectname", "subobject"]));
    let kind = at(&["obj.type", "objecttype", "type"]);
    let statistic = at(&["statistic"]);
    let share = table.column(|head| head.starts_with("%total"));
    // The figure stands before its share.
    let value = at(&["value"]).or_else(|| table.column(|head| head.starts_with('%'))?.checked_sub(1));
    let titled = table.title.split_once(" by ").map_or("", |(_, statistic)| statistic.trim());
    let mut of = titled.to_owned();
    // Text of 12.2 has the owner and the tablespace in a line of their own, above the object and the part of it.
    let mut above = [None, None];
    for row in &table.rows {
        if let Some(name) = row.text(statistic) {
            of = name.to_owned();
        }
        let words = |column| row.text(column).map(str::to_owned);
        let (Some(object), subobject) = (words(object), words(subobject)) else { continue };
        let value = cell(row, value);
        if value.is_none() {
            above = [Some(object), subobject];
            continue;
        }
        let [owner_above, tablespace_above] = std::mem::take(&mut above);
        report.segments.push(Segment {
            statistic: of.clone(),
            owner: words(owner).or(owner_above),
            tablespace: words(tablespace).or(tablespace_above),
            object,
            subobject,
            kind: words(kind),
            value,
            percent: cell(row, share),
        });
    }
}

/// `Buffer Pool Advisory`.
pub(super) fn buffer_pool(report: &mut Report, table: &Table) {
    let at = |start: &'static str| table.column(move |head| head.starts_with(start));
    let (size, factor) = (at("sizefor"), at("sizefactor"));
    let read_factor = table.column(|head| head.contains("read") && head.contains("factor"));
    let reads = table.column(|head| head.starts_with("estimatedphys"));
    for row in &table.rows {
        if let Some(size_mb) = cell(row, size) {
            report.buffer_pool_advice.push(BufferPoolAdvice {
                pool: row.name().to_owned(),
                size_mb,
                size_factor: cell(row, factor),
                read_factor: cell(row, read_factor),
                // In thousands; some releases leave the unit out.
                thousand_reads: cell(row, reads),
            });
        }
    }
}

/// `PGA Memory Advisory`.
pub(super) fn pga(report: &mut Report, table: &Table) {
    let holds = |word: &'static str| table.column(move |head| head.contains(word));
    let target = table.column(|head| head.starts_with("pgatarget"));
    let (factor, extra) = (holds("factr"), holds("extra"));
    let (hit, over) = (holds("hit%"), holds("allo"));
    for row in &table.rows {
        if let Some(target_mb) = cell(row, target) {
            report.pga_advice.push(PgaAdvice {
                target_mb,
                size_factor: cell(row, factor),
                extra_mb: cell(row, extra),
                cache_hit_percent: cell(row, hit),
                overallocations: cell(row, over),
            });
        }
    }
}

/// `Top Events`, `Top User Events`, `Top Background Events` of ASH.
pub(super) fn events(report: &mut Report, table: &Table) {
    let at = |names: &[&str]| table.column(|head| names.contains(&head));
    let share = at(&["%activity", "%event", "activity%"]);
    if share.is_none() || at(&["event"]) != Some(0) {
        return;
    }
    let class = table.column(|head| head.ends_with("class"));
    let (session, active) =
        (at(&["sessiontype"]), at(&["avgactivesessions", "avgactivesess", "avgactive", "sessions"]));
    for row in table.rows.iter().filter(|row| !row.name().is_empty()) {
        let words = |column| row.text(column).map(str::to_owned);
        report.ash_events.push(AshEvent {
            event: row.name().to_owned(),
            class: words(class),
            session_type: words(session),
            percent: cell(row, share),
            average_active_sessions: cell(row, active),
        });
    }
}
