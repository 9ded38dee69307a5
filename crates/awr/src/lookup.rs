//! Figures by their names, which differ by release and format. Text cuts names where a column ends.

use std::collections::{BTreeMap, BTreeSet};

use crate::figure::Figure;
use crate::histogram::EventHistogram;
use crate::info::{EXECUTES, LOGICAL_READS, PHYSICAL_READS, db_time_per_s};
use crate::kind::Format;
use crate::report::{Activity, IoLine, IoProfileLine, LoadLine, Report, WaitEvent};
use crate::table::like;

/// Histograms from 12.2 on and before, Statspack, top events and comparisons, Statspack's top events.
pub(crate) const EVENTS: [usize; 5] = [25, 26, 28, 30, 41];
/// Comparisons, AWR, Statspack.
pub(crate) const STATISTICS: [usize; 3] = [30, 32, 33];
/// Statspack, AWR, comparisons.
pub(crate) const TIME_MODEL: [usize; 3] = [35, 42, 45];
/// Single reports, comparisons.
pub(crate) const OS_STATISTICS: [usize; 2] = [25, 35];
/// AWR, Statspack.
pub(crate) const FUNCTIONS: [usize; 2] = [15, 18];

impl Report {
    pub fn has_figures(&self) -> bool {
        let has_load =
            self.load_profile.iter().any(|line| line.per_second.is_some() || line.per_transaction.is_some());
        self.interval.elapsed_s.is_some()
            && (has_load || !self.time_model.is_empty() || !self.activity.is_empty())
    }

    pub fn elapsed_s(&self) -> Option<f64> {
        self.elapsed().map(|elapsed| elapsed.value)
    }

    /// The tables were not recognised if the main rates or all events are missing.
    pub fn is_hollow(&self) -> bool {
        let rates = [EXECUTES, LOGICAL_READS, PHYSICAL_READS].map(|rate| rate.per_s(self));
        let known = rates.into_iter().chain([db_time_per_s(self)]).flatten().count();
        let events = [&self.top_events, &self.foreground_events, &self.all_events];
        known < 2 || events.iter().all(|events| events.is_empty())
    }

    /// Seconds. Precision differs: 11.2 prints hundredths of a minute, clocks tick in seconds.
    pub fn elapsed(&self) -> Option<Figure> {
        self.interval.elapsed_s.filter(|elapsed| elapsed.known().is_some_and(|seconds| seconds > 0.0))
    }

    pub(crate) fn per_second(&self, total: Option<Figure>) -> Option<Figure> {
        total?.per_figure(self.elapsed()?)
    }

    pub fn load(&self, names: &[&str]) -> Option<&LoadLine> {
        self.load_profile.iter().find(|line| names.iter().any(|name| line.name.eq_ignore_ascii_case(name)))
    }

    pub fn statistic(&self, name: &str) -> Option<&Activity> {
        find(&self.activity, |line| &line.name, name, (self.format, &STATISTICS)).ok()?
    }

    /// The more precise of the printed rate and total by interval counts.
    pub fn statistic_per_s(&self, name: &str) -> Option<Figure> {
        self.per_s(self.statistic(name)?)
    }

    pub(crate) fn per_s(&self, line: &Activity) -> Option<Figure> {
        Figure::finer(line.per_second, self.per_second(line.total))
    }

    /// The printed total, or rate times interval.
    pub fn statistic_total(&self, name: &str) -> Option<Figure> {
        let line = self.statistic(name)?;
        line.total.or_else(|| Some(line.per_second?.times(self.elapsed_s()?)))
    }

    pub fn time_model_s(&self, name: &str) -> Option<Figure> {
        self.time_model.iter().find(|line| line.name.eq_ignore_ascii_case(name))?.seconds
    }

    pub fn os(&self, name: &str) -> Option<f64> {
        self.os_statistics.iter().find(|line| line.name == name)?.value.map(|figure| figure.value)
    }

    pub fn cpus(&self) -> Option<f64> {
        self.host.cpus.or_else(|| self.os("NUM_CPUS")).filter(|cpus| *cpus > 0.0)
    }

    /// Falls back to events of all sessions. Top events add decimals.
    pub fn foreground(&self, name: &str) -> Option<WaitEvent> {
        let events =
            if self.foreground_events.is_empty() { &self.all_events } else { &self.foreground_events };
        // Statspack's top events are those of foreground and background together.
        let is_foreground = self.all_events.is_empty() || self.foreground_events.is_empty();
        let top = if is_foreground { self.event(&self.top_events, name) } else { Ok(None) };
        match (self.event(events, name).ok()?, top.ok()?) {
            (Some(own), Some(top)) => Some(WaitEvent {
                waits: Figure::finer(own.waits, top.waits),
                total_s: Figure::finer(own.total_s, top.total_s),
                average_us: Figure::finer(own.average_us, top.average_us),
                percent: Figure::finer(own.percent, top.percent),
                ..own.clone()
            }),
            (own, top) => own.or(top).cloned(),
        }
    }

    /// Statspack lists idle events too.
    pub fn top_wait(&self) -> Option<&WaitEvent> {
        let events = self.top_events.iter().chain(&self.foreground_events);
        events.into_iter().find(|event| !is_idle(event))
    }

    pub(crate) fn classes_of_sessions(&self) -> &[WaitEvent] {
        if self.wait_classes.is_empty() { &self.all_wait_classes } else { &self.wait_classes }
    }

    /// Events of foreground sessions, or else of all, or the top events.
    pub(crate) fn waits_of_sessions(&self) -> &[WaitEvent] {
        [&self.foreground_events, &self.all_events, &self.top_events]
            .into_iter()
            .find(|events| !events.is_empty())
            .map_or(&[], Vec::as_slice)
    }

    /// Falls back to events of all processes.
    pub fn background(&self, name: &str) -> Option<WaitEvent> {
        let all = if self.background_events.is_empty() { &self.all_events } else { &self.background_events };
        self.event(all, name).ok()?.cloned()
    }

    pub(crate) fn event<'a>(
        &self,
        events: &'a [WaitEvent],
        name: &str,
    ) -> Result<Option<&'a WaitEvent>, Ambiguous> {
        find(events, |event| &event.name, name, (self.format, &EVENTS))
    }

    pub fn histogram(&self, event: &str) -> Option<&EventHistogram> {
        find(&self.histograms, |own| &own.event, event, (self.format, &EVENTS)).ok()?
    }

    pub fn db_time_s(&self) -> Option<Figure> {
        Figure::finer(self.time_model_s("DB time"), self.interval.db_time_s)
    }

    pub fn db_cpu_s(&self) -> Option<Figure> {
        let top =
            || self.top_events.iter().find(|event| matches!(event.name.as_str(), "DB CPU" | "CPU time"));
        self.time_model_s("DB CPU").or_else(|| top()?.total_s)
    }

    pub fn io_total(&self) -> Option<IoLine> {
        total_of(&self.io_by_function)
    }

    pub fn io_profile_line(&self, name: &str) -> Option<&IoProfileLine> {
        self.io_profile.iter().find(|line| line.name.eq_ignore_ascii_case(name))
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        Some(&self.parameters.iter().find(|parameter| parameter.name == name)?.begin)
    }

    pub fn block_bytes(&self) -> Option<f64> {
        self.database.block_bytes.or_else(|| self.parameter("db_block_size")?.parse().ok())
    }
}

pub(crate) fn total_of(lines: &[IoLine]) -> Option<IoLine> {
    if let Some(total) = lines.iter().find(|line| line.name.to_uppercase().starts_with("TOTAL")) {
        return Some(total.clone());
    }
    let sum = |of: fn(&IoLine) -> Option<Figure>| Figure::sum(lines.iter().map(of));
    (!lines.is_empty()).then(|| IoLine {
        name: "sum of the lines".into(),
        read_bytes: sum(|line| line.read_bytes),
        reads_per_s: sum(|line| line.reads_per_s),
        read_bytes_per_s: sum(|line| line.read_bytes_per_s),
        written_bytes: sum(|line| line.written_bytes),
        writes_per_s: sum(|line| line.writes_per_s),
        written_bytes_per_s: sum(|line| line.written_bytes_per_s),
        waits: sum(|line| line.waits),
        ..IoLine::default()
    })
}

/// A column cut several names to the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ambiguous;

pub(crate) fn is_cut(name: &str, whole: &str, widths: &[usize]) -> bool {
    // A cut at a blank shortens the name by one more.
    let is_left = |width: &usize| whole.get(..*width).is_some_and(|left| left.trim_end() == name);
    whole.len() > name.len()
        && whole.starts_with(name)
        && widths.iter().any(|width| *width < whole.len() && is_left(width))
}

/// The whole name, or else the only line that text cut to it or from it.
pub(crate) fn find<'a, T>(
    lines: &'a [T],
    name: impl Fn(&T) -> &str,
    wanted: &str,
    (format, widths): (Format, &[usize]),
) -> Result<Option<&'a T>, Ambiguous> {
    if let Some(line) = lines.iter().find(|line| name(line) == wanted) {
        return Ok(Some(line));
    }
    let fits = |line: &&T| {
        let is_of_text = format == Format::Text && is_cut(name(line), wanted, widths);
        is_of_text || is_cut(wanted, name(line), widths)
    };
    let mut fitting = lines.iter().filter(fits);
    let first = fitting.next();
    if fitting.next().is_some() { Err(Ambiguous) } else { Ok(first) }
}

pub(crate) type Paired<'a, T> = (&'a str, [Option<&'a T>; 2]);

/// A cut name is paired with the only name that it can be; the longer name is kept. Of several lines with the same name the first
/// counts.
pub(crate) fn pairs<'a, T>(
    [first, second]: [(&'a [T], Format); 2],
    name: impl Fn(&'a T) -> &'a str,
    widths: &[usize],
) -> Vec<Paired<'a, T>> {
    let index = |lines: &'a [T]| -> BTreeMap<&'a str, &'a T> {
        lines.iter().rev().map(|line| (name(line), line)).collect()
    };
    let indices = [index(first.0), index(second.0)];
    let alone = |lines: &'a [T], others: &BTreeMap<&'a str, &'a T>| -> Vec<&'a str> {
        lines.iter().map(&name).filter(|name| !others.contains_key(name)).collect()
    };
    let (of_first, of_second) = (alone(first.0, &indices[1]), alone(second.0, &indices[0]));
    let is_same = |one: &str, other: &str| {
        (first.1 == Format::Text && is_cut(one, other, widths))
            || (second.1 == Format::Text && is_cut(other, one, widths))
    };
    let mut partners: BTreeMap<&str, &str> = BTreeMap::new();
    for one in &of_first {
        if let Some(other) = only(of_second.iter().filter(|other| is_same(one, other)))
            && only(of_first.iter().filter(|one| is_same(one, other))).is_some()
        {
            partners.insert(one, other);
            partners.insert(other, one);
        }
    }
    let mut seen = BTreeSet::new();
    let all = first.0.iter().chain(second.0).map(&name).filter(|name| seen.insert(*name));
    let of_side = |own: &'a str, side: usize| {
        indices[side].get(own).or_else(|| indices[side].get(partners.get(own)?)).copied()
    };
    all.filter(|own| indices[0].contains_key(own) || !partners.contains_key(own))
        .map(|own| {
            let longer = partners.get(own).copied().filter(|other| other.len() > own.len()).unwrap_or(own);
            (longer, [of_side(own, 0), of_side(own, 1)])
        })
        .collect()
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let item = items.next()?;
    items.next().is_none().then_some(item)
}

/// Idle events in reports without classes, between bars (Oracle Database Reference, appendix "Oracle Wait Events"; V$EVENT_NAME
/// has the class). A star is any text.
const IDLE: &str = "SQL*Net message from client|SQL*Net vector message from client|rdbms ipc message|rdbms ipc reply idle|\
    pmon timer|smon timer|pman timer|Streams AQ: qmn coordinator idle wait|Streams AQ: qmn slave idle wait|\
    jobq slave wait|job scheduler coordinator slave wait|DIAG idle wait|Space Manager: slave idle wait|\
    VKTM Logical Idle Wait|VKTM Init Wait for GSGA|VKRM Idle|dispatcher timer|shared server idle wait|\
    virtual circuit next request|virtual circuit status|wait for unread message on broadcast channel|\
    wait for unread message on multiple broadcast channels|class slave wait|pipe get|single-task message|\
    null event|i/o slave wait|io slave wait|wakeup time manager|watchdog main loop|lreg timer|fbar timer|\
    heartbeat redo informer|heartbeat monitor sleep|gcs remote message|ges remote message|\
    ASM background timer|ASM cluster membership changes|ASM client timer|OFS idle|GCR sleep|PING|\
    MRP redo arrival|LNS ASYNC *|LGWR worker group idle|Data Guard: *|Streams AQ: * idle wait|\
    Streams AQ: waiting for *|Streams AQ: deallocate messages from Streams Pool|\
    Streams AQ: delete acknowledged messages|Streams capture: waiting for *|LogMiner *: idle|LogMiner: *|\
    PX Idle Wait|PX Deq: Execution Msg|PX Deq: Execute Reply|PX Deq Credit: need buffer idle|\
    PL/SQL lock timer|EMON slave idle wait|JOX Jit Process Sleep|AQPC idle|AQ Master idle|\
    parallel recovery *|KSV master wait idle|recovery area: computing *";

/// Waits of sessions for their user, and of processes for work.
pub(crate) fn is_idle(event: &WaitEvent) -> bool {
    match &event.class {
        Some(class) => class.eq_ignore_ascii_case("idle"),
        None => IDLE.split('|').any(|idle| like(&event.name, idle) || is_cut(&event.name, idle, &EVENTS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(
        lines: &'a [&'a str],
        wanted: &str,
        format: Format,
    ) -> Result<Option<&'a &'a str>, Ambiguous> {
        super::find(lines, |line| line, wanted, (format, &EVENTS))
    }

    #[test]
    fn a_name_is_cut_only_where_a_column_ends_and_only_in_text() {
        let whole = "control file sequential read";
        for cut in ["control file sequential r", "control file sequential re"] {
            assert_eq!(find(&[cut], whole, Format::Text), Ok(Some(&cut)));
            assert_eq!(find(&[cut], whole, Format::Html), Ok(None));
        }
        assert_eq!(find(&["control file sequential rea"], whole, Format::Text), Ok(None));
        // The 28th character is a blank.
        let (whole, cut) = ("log file switch (checkpoint incomplete)", "log file switch (checkpoint");
        assert_eq!(find(&[cut], whole, Format::Text), Ok(Some(&cut)));
    }

    #[test]
    fn an_equal_name_wins_and_an_ambiguous_one_is_none() {
        let [long, whole] = ["cell single block physical read: RDMA", "cell single block physical read"];
        assert_eq!(find(&[long, whole], whole, Format::Html), Ok(Some(&whole)));
        assert_eq!(find(&[long], whole, Format::Html), Ok(None));
        let cut = "cell single block physical";
        assert_eq!(find(&[cut], whole, Format::Text), Ok(Some(&cut)));
        assert_eq!(find(&[cut, cut], whole, Format::Text), Err(Ambiguous));
    }

    #[test]
    fn lines_of_text_and_html_are_paired_if_only_one_fits() {
        let text = ["DB CPU", "bytes received via SQL*Net from", "redo synch time overhead count ("];
        let html = [
            "redo synch time overhead count (<2 msec)",
            "redo synch time overhead count (<8 msec)",
            "bytes received via SQL*Net from client",
            "DB CPU",
        ];
        let names = |sides| {
            let pairs: Vec<Paired<'_, &str>> = pairs(sides, |line| line, &STATISTICS);
            pairs.into_iter().map(|(name, [one, other])| (name, one.is_some(), other.is_some())).collect()
        };
        let both: Vec<(&str, bool, bool)> = names([(&text, Format::Text), (&html, Format::Html)]);
        let alone = [(text[2], true, false), (html[0], false, true), (html[1], false, true)];
        assert_eq!(both[..2], [("DB CPU", true, true), (html[2], true, true)]);
        assert_eq!(both[2..], alone);
        let turned: Vec<(&str, bool, bool)> = names([(&html, Format::Html), (&text, Format::Text)]);
        assert_eq!(turned.iter().filter(|(_, one, other)| *one && *other).count(), 2, "{turned:?}");
        // Names of HTML are whole: what begins alike is something else.
        let cut = ["bytes received via SQL*Net from"];
        let whole: Vec<(&str, bool, bool)> = names([(&cut, Format::Html), (&html, Format::Html)]);
        assert_eq!(whole.len(), 5);
    }
}
