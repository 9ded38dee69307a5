//! Trends as text and as a page with charts.

use itertools::Itertools;
use jiff::Timestamp;

use super::{ChangePoint, Course, FigureTrend, Found, HistoryTrend, MissedSlot, RunAt, Trend};
use crate::change::{range, said_once, shown_percent};
use crate::group::write_verdicts;
use slob_facts::Figure;
use slob_facts::figure::Better;
use slob_facts::format::{ABSENT, Format, or_absent, plural, signed_percent};
use slob_facts::settings::{DifferingSetting, NO_LIMIT};
use slob_facts::table::Cell;
use slob_page::chart::{Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit, time_unit};
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, Page, Table};
use slob_stats::Comparison;

use slob_page::Answer;

const MOST_MISSED: usize = 5;

fn day_and_time(at: Timestamp) -> String {
    at.strftime("%a %F %H:%M").to_string()
}

fn limits_or_none(limits: &[String]) -> String {
    if limits.is_empty() { NO_LIMIT.to_owned() } else { limits.join(", ") }
}

const ABOUT: &str = "E-divisive with a permutation test: in a series without a change, one figure in a thousand has one, more if runs resemble those before them. Percent: means of \
                     the runs since it against those before, with the 95 % interval. Drift: Theil-Sen's slope between the changes with its \
                     95 % interval, of a day or more. Times are UTC.";

impl HistoryTrend {
    pub(super) fn changes(&self) -> impl Iterator<Item = (&'static Figure, &ChangePoint)> {
        let known = self.figures.iter().filter_map(|trend| match &trend.found {
            Found::Known(course) => Some((trend.figure, course)),
            Found::NotKnown(_) => None,
        });
        known.flat_map(|(figure, course)| course.changes.iter().map(move |change| (figure, change)))
    }

    fn write(&self, page: &mut Page) {
        let mut runs = plural(self.runs.len() as u64, "run");
        if let [first, .., last] = self.runs.as_slice() {
            runs += &format!(", {} to {} UTC", day_and_time(first.started), day_and_time(last.started));
        }
        page.fact("Runs", &runs);
        if !self.missed.is_empty() {
            page.fact("Missed", &self.missed_words());
        }
        if let Some(words) = self.limits_words() {
            page.fact("Limits", &words);
        }
        write_verdicts(page, &[(&self.name, &self.verdicts)]);
        self.write_changes(page);
        page.table(&self.figures_table());
    }

    fn missed_words(&self) -> String {
        let slot = |missed: &MissedSlot| format!("{} ({})", day_and_time(missed.begin), missed.why);
        let more = self.missed.len().saturating_sub(MOST_MISSED);
        let more = (more > 0).then(|| format!("and {more} more"));
        let few = self.missed.iter().take(MOST_MISSED).map(slot).chain(more).join(", ");
        format!("{}: {few}", plural(self.missed.len() as u64, "slot"))
    }

    fn has_limits(&self) -> bool {
        self.runs.iter().any(|run| !run.limits.is_empty())
    }

    /// `none in 4 runs; I/O limit 8:0 riops=1000 in 1 run, first 20261129T101010Z-limited`
    fn limits_words(&self) -> Option<String> {
        let of_limits = |limits: &Vec<String>| {
            let mut own = self.runs.iter().filter(|run| run.limits == *limits).peekable();
            let first = own.peek().filter(|_| !limits.is_empty()).map(|run| format!(", first {}", run.id));
            let count = plural(own.count() as u64, "run");
            format!("{} in {count}{}", limits_or_none(limits), first.unwrap_or_default())
        };
        self.has_limits().then(|| self.runs.iter().map(|run| &run.limits).unique().map(of_limits).join("; "))
    }

    fn write_changes(&self, page: &mut Page) {
        let notes = self.figures.iter().flat_map(|figure| {
            let not_known = match &figure.found {
                Found::NotKnown(why) => Some(format!("not known: {why}")),
                Found::Known(_) => None,
            };
            let notes = figure.invalid_words().into_iter().chain(not_known);
            notes.map(|note| (figure.figure.short, format!("{note}.")))
        });
        page.list(said_once(notes));
        let changes = self.changes().sorted_by_key(|(_, change)| change.since).collect_vec();
        page.list(changes.iter().map(|(figure, change)| change.sentence(figure)));
        let is_known = |figure: &FigureTrend| matches!(figure.found, Found::Known(_));
        if changes.is_empty() && self.figures.iter().any(is_known) {
            page.hanging("  -", "No change found.");
        }
    }

    fn figures_table(&self) -> Table {
        let heads = ["Runs", "First", "Last", "Changes", "Drift %/day"].map(Column::right);
        let heads = [Column::left("Figure").at_most(24)].into_iter().chain(heads);
        let mut table = Table::new(heads);
        for figure in &self.figures {
            let Found::Known(course) = &figure.found else { continue };
            let counted = figure.values.iter().flatten().count() - figure.invalid.len();
            let level = |level: Option<&f64>| or_absent(level, |level| figure.figure.format.show(*level));
            let drift = or_absent(course.drift, |drift| {
                let [slope, low, high] = [drift.percent_per_day, drift.low, drift.high].map(signed_percent);
                format!("{slope} ({low} to {high})")
            });
            table.row([
                figure.figure.heading.to_owned(),
                counted.to_string(),
                level(course.levels.first()),
                level(course.levels.last()),
                course.changes.len().to_string(),
                drift,
            ]);
        }
        table
    }

    fn runs_table(&self) -> Table {
        let heads = self.figures.iter().map(|trend| Column::right(trend.figure.short));
        let heads = [Column::left("Started (UTC)"), Column::left("Run")].into_iter().chain(heads);
        let has_limits = self.has_limits();
        let shown = |trend: &FigureTrend, at: usize| {
            let value = or_absent(trend.values[at], |value| trend.figure.format.show(value));
            if trend.invalid.contains(&at) { format!("({value})") } else { value }
        };
        let run = |(at, run): (usize, &RunAt)| {
            let figures = self.figures.iter().map(|trend| shown(trend, at));
            let verdict = run.verdict.clone().unwrap_or_default();
            let limits = has_limits.then(|| limits_or_none(&run.limits));
            let cells =
                [run.id.clone()].into_iter().chain(figures).chain([verdict]).chain(limits).collect_vec();
            (run.started, cells)
        };
        let missed = |slot: &MissedSlot| (slot.begin, vec![format!("missed: {}", slot.why)]);
        let runs = self.runs.iter().enumerate().map(run);
        let rows = runs.chain(self.missed.iter().map(missed)).sorted_by_key(|(at, _)| *at);
        let heads = heads.chain([Column::left("Verdicts")]).chain(has_limits.then(|| Column::left("Limits")));
        let columns = self.figures.len() + 2 + usize::from(has_limits);
        let mut table = Table::new(heads).named_by(2);
        for (at, mut cells) in rows {
            cells.resize(columns, ABSENT.to_owned());
            table.row([day_and_time(at)].into_iter().chain(cells));
        }
        table
    }

    fn charts(&self, place: usize) -> Vec<Chart> {
        self.figures.iter().map(|figure| self.chart(place, figure)).collect()
    }

    fn chart(&self, place: usize, trend: &FigureTrend) -> Chart {
        let figure = trend.figure;
        let body = match &trend.found {
            Found::NotKnown(why) => Err(why.clone()),
            Found::Known(course) => Ok(self.drawing(trend, course)),
        };
        let marks = "Dashed: the median between changes, which are marked. Shaded: missed slots.";
        Chart {
            id: format!("trend-{place}-{}", figure.name),
            title: figure.heading.to_owned(),
            about: match trend.invalid_words() {
                Some(words) => format!("{marks} {words}: drawn in another colour."),
                None => marks.to_owned(),
            },
            source: format!("{}, of each run", figure.name),
            body,
        }
    }

    fn drawing(&self, trend: &FigureTrend, course: &Course) -> Drawing {
        let begin = self.runs[0].started;
        let since_s = |at: Timestamp| at.duration_since(begin).as_secs_f64();
        let last = self.runs.last().map_or(begin, |run| run.started);
        let (unit_s, time) = time_unit(since_s(last));
        let since = |at: Timestamp| since_s(at) / unit_s;
        let (unit, factor) = match trend.figure.unit {
            "us" => (Unit::Seconds, 1e-6),
            "%" => (Unit::Percent, 1.0),
            _ => (Unit::Count, 1.0),
        };
        let is_invalid = |at: usize| trend.invalid.contains(&at);
        let line = |name: &str, colour: Colour, wants_invalid: bool| {
            let own = |at: usize| {
                trend.values[at].filter(|_| is_invalid(at) == wants_invalid).map(|value| factor * value)
            };
            let runs = self.runs.iter().enumerate().map(|(at, run)| (since(run.started), own(at)));
            let gaps = self.missed.iter().map(|slot| (since(slot.begin), None));
            Line::through(name, colour, runs.chain(gaps).sorted_by(|a, b| a.0.total_cmp(&b.0)))
        };
        let ends =
            [0].into_iter().chain(course.changes.iter().map(|change| change.at)).chain([self.runs.len()]);
        let levels = ends.tuple_windows().zip(&course.levels).flat_map(|((begin, end), level)| {
            let [begin, end] = [begin, end - 1].map(|at| since(self.runs[at].started));
            [(begin, Some(factor * level)), (end, Some(factor * level)), (end, None)]
        });
        let (x, y) = levels.unzip();
        let levels = Line { stroke: Stroke::Dash, ..Line::new("median", Colour::Text, x, y) };
        let bad = line("does not count", Colour::Updates, true);
        let bad = bad.is_known().then_some(bad);
        let lines = [line(trend.figure.short, Colour::Reads, false), levels].into_iter().chain(bad);
        let title = format!("{time} since {} UTC", day_and_time(begin));
        let x = Axis::linear(title, Unit::Plain);
        let mark = |change: &ChangePoint| {
            let when = change.since.strftime("%a %H:%M");
            (since(change.since), format!("{when} {} %", signed_percent(change.comparison.percent)))
        };
        Drawing {
            marks: course.changes.iter().map(mark).collect(),
            shades: self.missed.iter().map(|slot| (since(slot.begin), since(slot.end))).collect(),
            ..Drawing::new(x, Axis::linear(trend.figure.heading, unit), lines.map(Trace::Line).collect())
        }
    }
}

impl ChangePoint {
    fn sentence(&self, figure: &Figure) -> String {
        let comparison = &self.comparison;
        let word = if comparison.percent > 0.0 { "higher" } else { "lower" };
        let interval = comparison.interval.filter(|interval| interval.excludes_zero());
        let judged = self.is_worse.filter(|_| figure.better != Better::Neither);
        let judged = judged.map(|is_worse| if is_worse { "worse" } else { "better" }.to_owned());
        let notes = interval.map(|interval| range(&interval)).into_iter().chain(judged).join("; ");
        let notes = if notes.is_empty() { notes } else { format!(" ({notes})") };
        let differs = match self.differs.iter().map(DifferingSetting::in_short).join(", ") {
            names if names.is_empty() => "the records of before and after differ in nothing else".to_owned(),
            names => format!("before and after differ also in: {names}"),
        };
        format!(
            "Since {} UTC ({}) {} is {} % {word}{notes}; {differs}.",
            day_and_time(self.since),
            self.run,
            figure.heading,
            shown_percent(comparison.percent.abs())
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["Differs", "Before", "Since"].map(|head| Column::left(head).at_most(40)));
        for change in &self.differs {
            let values = change.values.iter().map(|value| or_absent(value.clone(), |value| value));
            table.row([change.name.clone()].into_iter().chain(values));
        }
        table
    }
}

impl Answer for Trend {
    const NAME: &'static str = "trend";

    fn write(&self, page: &mut Page) {
        for history in &self.histories {
            page.section(&format!("Trend: {}", history.name));
            history.write(page);
        }
        page.line("");
        page.rule('-');
        page.fact("Changes", ABOUT);
    }

    fn view(&self) -> View {
        let section = |(place, history): (usize, &HistoryTrend)| {
            let differing = history.changes().filter(|(_, change)| !change.differs.is_empty());
            let section = Section::new(format!("history-{place}"), history.name.as_str())
                .part("", |page| history.write(page))
                .charts(history.charts(place));
            let section = differing.fold(section, |section, (figure, change)| {
                let title = format!("What differs since {} ({})", day_and_time(change.since), figure.heading);
                section.part(&title, |page| page.table(&change.table()))
            });
            section.folded("Every run", |page| page.table(&history.runs_table()))
        };
        let runs: usize = self.histories.iter().map(|history| history.runs.len()).sum();
        View {
            title: "OpenSLOB trend".into(),
            heading: "Trend".into(),
            lead: lead(&plural(runs as u64, "run")),
            sections: self.histories.iter().enumerate().map(section).collect(),
            source: format!("From the saved records of the runs alone. {ABOUT}"),
        }
    }

    fn table(&self) -> Table {
        let heads = ["history", "figure", "since", "run", "percent", "low", "high"].map(Column::left);
        let all =
            self.histories.iter().flat_map(|history| history.changes().map(move |change| (history, change)));
        Table::new(heads).with_rows(all.map(|(history, (figure, change))| {
            let Comparison { percent, interval, .. } = change.comparison;
            let (low, high) = interval.map(|interval| (interval.low, interval.high)).unzip();
            let numbers = [Some(percent), low, high].map(|number| Format::Significant.cell(number));
            let names =
                [history.name.as_str(), figure.name, &change.since.to_string(), &change.run].map(Cell::from);
            names.into_iter().chain(numbers).collect_vec()
        }))
    }

    fn are_good(&self) -> bool {
        self.histories.iter().all(|history| history.verdicts.are_good())
    }
}
