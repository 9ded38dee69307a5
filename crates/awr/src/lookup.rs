//! Figures by their names, whatever a release calls them.

use crate::figure::Figure;
use crate::histogram::EventHistogram;
use crate::names::{self, Found};
use crate::report::{Activity, IoLine, IoProfileLine, LoadLine, Report, WaitEvent};

impl Report {
    /// Whether there is anything to show of it.
    #[must_use]
    pub fn has_figures(&self) -> bool {
        let has_load =
            self.load_profile.iter().any(|line| line.per_second.is_some() || line.per_transaction.is_some());
        self.interval.elapsed_s.is_some()
            && (has_load || !self.time_model.is_empty() || !self.activity.is_empty())
    }

    /// Seconds of the interval.
    #[must_use]
    pub fn elapsed_s(&self) -> Option<f64> {
        self.elapsed().map(|elapsed| elapsed.value)
    }

    /// Whether nothing of what a report is read for is in it: its tables could not be told apart.
    #[must_use]
    pub fn is_hollow(&self) -> bool {
        use crate::info::{db_time_per_s, executes_per_s, logical_reads_per_s, physical_reads_per_s};
        let rates = [db_time_per_s, executes_per_s, logical_reads_per_s, physical_reads_per_s];
        let known = rates.iter().filter(|rate| rate(self).is_some()).count();
        let events = [&self.top_events, &self.foreground_events, &self.all_events];
        known < 2 || events.iter().all(|events| events.is_empty())
    }

    /// Seconds of the interval, with how far they are known: 11.2 prints hundredths of a minute, clocks tick in seconds.
    #[must_use]
    pub fn elapsed(&self) -> Option<Figure> {
        self.interval.elapsed_s.filter(|elapsed| elapsed.known().is_some_and(|seconds| seconds > 0.0))
    }

    /// A total by the interval.
    pub(crate) fn per_second(&self, total: Option<Figure>) -> Option<Figure> {
        total?.per_figure(self.elapsed()?)
    }

    /// A line of the load profile. Releases name them differently: `Logical reads`, `Logical read (blocks)`.
    #[must_use]
    pub fn load(&self, names: &[&str]) -> Option<&LoadLine> {
        self.load_profile.iter().find(|line| names.iter().any(|name| line.name.eq_ignore_ascii_case(name)))
    }

    /// An instance activity statistic.
    #[must_use]
    pub fn statistic(&self, name: &str) -> Option<&Activity> {
        names::find(&self.activity, |line| &line.name, name, (self.format, &names::STATISTICS)).one()
    }

    /// Its rate per second: as printed, or its total by the interval, whichever is more precise.
    #[must_use]
    pub fn statistic_per_s(&self, name: &str) -> Option<Figure> {
        self.per_s(self.statistic(name)?)
    }

    /// The rate per second of a statistic.
    pub(crate) fn per_s(&self, line: &Activity) -> Option<Figure> {
        Figure::finer(line.per_second, self.per_second(line.total))
    }

    /// Its total: as printed, or its rate times the interval.
    #[must_use]
    pub fn statistic_total(&self, name: &str) -> Option<Figure> {
        let line = self.statistic(name)?;
        line.total.or_else(|| Some(line.per_second?.times(self.elapsed_s()?)))
    }

    /// A line of the time model, in seconds.
    #[must_use]
    pub fn time_model_s(&self, name: &str) -> Option<Figure> {
        let line = self.time_model.iter().find(|line| line.name.eq_ignore_ascii_case(name));
        line.and_then(|line| line.seconds)
    }

    /// A statistic of the operating system.
    #[must_use]
    pub fn os(&self, name: &str) -> Option<f64> {
        self.os_statistics.iter().find(|line| line.name == name)?.value.map(|figure| figure.value)
    }

    /// CPUs of the host.
    #[must_use]
    pub fn cpus(&self) -> Option<f64> {
        self.host.cpus.or_else(|| self.os("NUM_CPUS")).filter(|cpus| *cpus > 0.0)
    }

    /// A wait event of foreground sessions, or of all where they are not apart; with decimals of the top events where
    /// they say more.
    #[must_use]
    pub fn foreground(&self, name: &str) -> Option<WaitEvent> {
        let events =
            if self.foreground_events.is_empty() { &self.all_events } else { &self.foreground_events };
        // Statspack's top events are those of foreground and background together.
        let is_foreground = self.all_events.is_empty() || self.foreground_events.is_empty();
        let top = if is_foreground { self.event(&self.top_events, name) } else { Found::None };
        match (self.event(events, name), top) {
            // One of these is not the one that was asked for, and nobody can tell which.
            (Found::Several, _) | (_, Found::Several) => None,
            (Found::One(own), Found::One(top)) => Some(WaitEvent {
                waits: Figure::finer(own.waits, top.waits),
                total_s: Figure::finer(own.total_s, top.total_s),
                average_us: Figure::finer(own.average_us, top.average_us),
                percent: Figure::finer(own.percent, top.percent),
                ..own.clone()
            }),
            (Found::One(event), Found::None) | (Found::None, Found::One(event)) => Some(event.clone()),
            (Found::None, Found::None) => None,
        }
    }

    /// What took most time: the first of the top events that is not idle, which Statspack lists too.
    #[must_use]
    pub fn top_wait(&self) -> Option<&WaitEvent> {
        let events = self.top_events.iter().chain(&self.foreground_events);
        events.into_iter().find(|event| !crate::idle::is_idle(event))
    }

    /// Wait events of foreground sessions, or of all where they are not apart, or else the top events.
    pub(crate) fn waits_of_sessions(&self) -> &[WaitEvent] {
        [&self.foreground_events, &self.all_events, &self.top_events]
            .into_iter()
            .find(|events| !events.is_empty())
            .map_or(&[], Vec::as_slice)
    }

    /// A wait event of background processes, or of all where they are not apart.
    #[must_use]
    pub fn background(&self, name: &str) -> Option<WaitEvent> {
        let all = if self.background_events.is_empty() { &self.all_events } else { &self.background_events };
        self.event(all, name).one().cloned()
    }

    /// An event among some of this report.
    pub(crate) fn event<'a>(&self, events: &'a [WaitEvent], name: &str) -> Found<'a, WaitEvent> {
        names::find(events, |event| &event.name, name, (self.format, &names::EVENTS))
    }

    /// The histogram of an event.
    #[must_use]
    pub fn histogram(&self, event: &str) -> Option<&EventHistogram> {
        names::find(&self.histograms, |own| &own.event, event, (self.format, &names::EVENTS)).one()
    }

    /// DB time in seconds: the time model's, or the header's.
    #[must_use]
    pub fn db_time_s(&self) -> Option<Figure> {
        Figure::finer(self.time_model_s("DB time"), self.interval.db_time_s)
    }

    /// DB CPU in seconds: the time model's, or the top events'.
    #[must_use]
    pub fn db_cpu_s(&self) -> Option<Figure> {
        let top =
            || self.top_events.iter().find(|event| matches!(event.name.as_str(), "DB CPU" | "CPU time"));
        self.time_model_s("DB CPU").or_else(|| top()?.total_s)
    }

    /// CPU of background processes in seconds.
    #[must_use]
    pub fn background_cpu_s(&self) -> Option<Figure> {
        self.time_model_s("background cpu time")
    }

    /// The total of I/O by function: as printed, or the sum of the functions.
    #[must_use]
    pub fn io_total(&self) -> Option<IoLine> {
        total_of(&self.io_by_function)
    }

    /// The total of I/O by type of file.
    #[must_use]
    pub fn file_type_total(&self) -> Option<IoLine> {
        total_of(&self.io_by_file_type)
    }

    /// A line of the I/O profile.
    #[must_use]
    pub fn io_profile_line(&self, name: &str) -> Option<&IoProfileLine> {
        self.io_profile.iter().find(|line| line.name.eq_ignore_ascii_case(name))
    }

    /// A parameter's value.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
            .map(|parameter| parameter.begin.as_str())
    }

    /// The standard block size in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> Option<f64> {
        self.database.block_bytes.or_else(|| self.parameter("db_block_size")?.parse().ok())
    }
}

fn total_of(lines: &[IoLine]) -> Option<IoLine> {
    if let Some(total) = lines.iter().find(|line| line.name.to_uppercase().starts_with("TOTAL")) {
        return Some(total.clone());
    }
    let sum = |of: fn(&IoLine) -> Option<Figure>| {
        let all: Vec<Figure> = lines.iter().filter_map(of).collect();
        let value = all.iter().map(|figure| figure.value).sum();
        let resolution = all.iter().map(|figure| figure.resolution).sum();
        (!all.is_empty()).then_some(Figure { value, resolution })
    };
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
