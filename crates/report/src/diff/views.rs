//! A comparison as text and as a page with charts.

use itertools::Itertools;
use slob_facts::table::Cell;
use slob_record::Record;

use super::{
    Compared, Diff, Difference, Distribution, EventShare, Group, Metric, NamedRuns, Ranking, SECTIONS,
};
use crate::group::write_verdicts;
use crate::html::run_charts;
use slob_facts::format::{
    ABSENT, Format, count, duration_us, fixed, micros, or_absent, percent, plural, signed_percent,
    significant,
};
use slob_facts::{Grade, Run, figure};
use slob_page::Answer;
use slob_page::chart::{Axis, COLOURS, Chart, Colour, Drawing, Line, STROKES, Trace, Unit};
use slob_page::escape;
use slob_page::heat::below_step_words;
use slob_page::layout::{Section, View};
use slob_page::{Column, Page, Table};

impl Diff {
    fn is_pair(&self) -> bool {
        self.groups.len() == 2
    }

    fn heads(&self) -> Vec<String> {
        match self.is_pair() {
            true => vec!["First".into(), "Second".into()],
            false => self.groups.iter().map(|group| group.name.clone()).collect(),
        }
    }

    fn write_verdicts(&self, page: &mut Page) {
        let groups = self.groups.iter().map(|group| (group.name.as_str(), &group.verdicts));
        write_verdicts(page, &groups.collect_vec());
    }

    fn write_tables(&self, page: &mut Page) {
        page.section("What differs between the tests");
        match self.changes.is_empty() {
            true => page.paragraph("Nothing, as far as the records tell."),
            false => page.table(&self.changes_table()),
        }
        for (section, _) in SECTIONS {
            let metrics = self.metrics.iter().filter(|metric| metric.section == *section).collect_vec();
            page.table_under(
                section,
                &match self.is_pair() {
                    true => self.pair_table(&metrics),
                    false => self.ranked_table(&metrics),
                },
            );
        }
        for distribution in &self.distributions {
            let title = format!("How long {} took (% of them)", distribution.name);
            page.table_under(&title, &self.distribution_table(distribution));
        }
        page.table_under("Top timed events", &self.events_table());
        page.line("");
        page.rule('-');
        match self.is_pair() {
            true => page.fact("Difference", &self.about_pairs()),
            false => page.fact("Groups", &self.about_ranking()),
        }
    }

    fn about_pairs(&self) -> String {
        let base = "second relative to first, in percent; '-' means not known.";
        if !self.are_repeated() {
            return base.to_owned();
        }
        format!(
            "{base} First and Second are means of the runs. Interval: contains the true difference with {} confidence; \
             * means that 0 is outside it. Intervals of percentiles allow for their 0.8 % error. {}",
            self.confidence,
            self.confidence.by_chance("figure"),
        )
    }

    fn about_ranking(&self) -> String {
        let best = "means of the runs; '-' means not known. * marks the best";
        let not = "BAD: a verdict that forbids a comparison of the figure is; a group with a BAD verdict that others do not have is never marked.";
        match self.groups.iter().any(Group::is_repeated) {
            false => format!("{best}, which single runs can't tell from noise. {not}"),
            true => format!(
                "{best}, and the next ones that noise does not tell from it; nothing is marked where it tells none apart. The marks of a \
                 figure hold together with {0} confidence. {1} +-: {0} confidence interval of the mean. {not}",
                self.confidence,
                self.confidence.by_chance("figure"),
            ),
        }
    }

    fn are_repeated(&self) -> bool {
        self.groups.iter().all(Group::is_repeated)
    }

    fn changes_table(&self) -> Table {
        let names = [Column::left("").at_most(9), Column::left("Setting").at_most(26)];
        let most = if self.is_pair() { 28 } else { 20 };
        let values = self.heads().into_iter().map(|head| Column::left(head).at_most(most));
        let mut table = Table::new(names.into_iter().chain(values)).named_by(2);
        for change in &self.changes {
            let values = change.values.iter().map(|value| or_absent(value.clone(), |value| value));
            table.row([change.of.to_owned(), change.name.clone()].into_iter().chain(values));
        }
        table
    }

    fn pair_table(&self, metrics: &[&Metric]) -> Table {
        let is_marked = self.are_repeated() || metrics.iter().any(|metric| metric.refused.is_some());
        let interval = self.are_repeated().then(|| Column::right("Interval %"));
        let numbers = ["First", "Second", "Difference %"].map(Column::right).into_iter().chain(interval);
        let mark = is_marked.then(|| Column::left(""));
        let row = |metric: &&Metric| {
            let Compared::Pair(difference) = &metric.compared else { return Vec::new() };
            let means = metric.means.iter().map(|mean| or_absent(*mean, significant));
            let interval = difference.comparison.and_then(|comparison| comparison.interval);
            let shown = || {
                or_absent(interval.as_ref(), |all| {
                    format!("{} to {}", signed_percent(all.low), signed_percent(all.high))
                })
            };
            let mark = match (&metric.refused, interval.is_some_and(|interval| interval.excludes_zero())) {
                (Some(_), _) => Grade::Bad.word(),
                (None, true) => "*",
                (None, false) => "",
            };
            let row = [metric.title.to_owned()].into_iter().chain(means);
            let row = row.chain([or_absent(difference.difference_percent, signed_percent)]);
            row.chain(self.are_repeated().then(shown)).chain(is_marked.then(|| mark.to_owned())).collect_vec()
        };
        let columns = [Column::left("").at_most(30)].into_iter().chain(numbers).chain(mark);
        Table::new(columns).with_rows(metrics.iter().map(row))
    }

    fn ranked_table(&self, metrics: &[&Metric]) -> Table {
        let heads = self.heads().into_iter().map(|head| Column::right(head).at_most(20));
        let mut table = Table::new([Column::left("").at_most(30)].into_iter().chain(heads));
        for metric in metrics {
            let Compared::Ranked(ranking) = &metric.compared else { continue };
            let cells = self.groups.iter().zip(metric.means.iter()).zip(&ranking.intervals);
            let cells = cells.map(|((group, mean), interval)| {
                or_absent(*mean, |mean| ranked_cell(&group.name, mean, *interval, ranking))
            });
            table.row([metric.title.to_owned()].into_iter().chain(cells));
        }
        table
    }

    fn distribution_table(&self, distribution: &Distribution) -> Table {
        let heads = self.heads().into_iter().map(|head| Column::right(head).at_most(16));
        let mut table = Table::new([Column::left("From").at_most(36)].into_iter().chain(heads));
        let mut row = |name: String, percents: &[Option<f64>]| {
            let shares = percents.iter().map(|share| match share {
                Some(0.0) => String::new(),
                share => or_absent(*share, percent),
            });
            table.row([name].into_iter().chain(shares));
        };
        if let Some((words, below)) = distribution.below_words().zip(distribution.below_clock_step.as_ref()) {
            row(words, &below.percents);
        }
        distribution.rows.iter().for_each(|own| row(duration_us(own.from_us), &own.percents));
        let counts = distribution.counts.iter().map(|number| or_absent(*number, count));
        table.row(["Number".to_owned()].into_iter().chain(counts));
        table
    }

    fn events_table(&self) -> Table {
        let names = [Column::left("Event").at_most(30), Column::left("Class").at_most(10)];
        let heads = |head: String| match self.is_pair() {
            true => vec![
                Column::right(format!("{head} s/s")),
                Column::right("% DB time").at_most(7),
                Column::right("Mean us"),
            ],
            false => vec![Column::right(format!("{head} s/s (mean)")).at_most(18)],
        };
        let heads = self.heads().into_iter().flat_map(heads);
        let mut table = Table::new(names.into_iter().chain(heads)).named_by(2);
        let cells = |share: &Option<EventShare>| {
            let s_per_s = or_absent(*share, |share| significant(share.s_per_s));
            let mean = share.and_then(|share| share.mean_us);
            if self.is_pair() {
                let of_time = or_absent(share.and_then(|share| share.percent_of_db_time), percent);
                return vec![s_per_s, of_time, or_absent(mean, micros)];
            }
            let mean = mean.map(|mean_us| format!(" ({})", duration_us(mean_us))).unwrap_or_default();
            vec![s_per_s + &mean]
        };
        for event in &self.events {
            let names = [event.name.clone(), event.class.clone()];
            table.row(names.into_iter().chain(event.shares.iter().flat_map(cells)));
        }
        table
    }
}

fn ranked_cell(group: &String, mean: f64, interval: Option<(f64, f64)>, ranking: &Ranking) -> String {
    let mark = match (ranking.invalid.contains(group), ranking.best.contains(group)) {
        (true, _) => format!("{} ", Grade::Bad.word()),
        (false, true) => "*".to_owned(),
        (false, false) => String::new(),
    };
    let noise = interval.filter(|_| mean != 0.0).map(|(_, high)| {
        let percent = 100.0 * (high - mean) / mean.abs();
        format!(" +-{}%", fixed(percent, usize::from(percent < 9.95)))
    });
    format!("{mark}{}{}", significant(mean), noise.unwrap_or_default())
}

impl Group {
    fn words(&self) -> String {
        let count = plural(self.runs.len() as u64, "run");
        match self.runs.as_slice() {
            [] => ABSENT.into(),
            [only] => only.clone(),
            few if few.len() <= 4 => format!("{count}: {}", few.join(", ")),
            [first, .., last] => format!("{count}: {first} to {last}"),
        }
    }
}

impl Answer for Diff {
    const NAME: &'static str = "compare";

    fn write(&self, page: &mut Page) {
        page.section("Comparison");
        for (group, head) in self.groups.iter().zip(self.heads()) {
            page.fact(&head, &group.words());
            group.incomplete.iter().for_each(|wrong| page.fact("", &format!("Caution: {wrong}.")));
        }
        page.section("Verdicts");
        self.write_verdicts(page);
        page.section("In short");
        page.list(&self.statements);
        self.write_tables(page);
    }

    fn view(&self) -> View {
        let keys = self.groups.iter().zip(self.heads()).enumerate();
        let key = |(place, (group, head)): (usize, (_, String))| {
            key(place, &head, group, self.charts.drawn.get(place))
        };
        let keys = keys.map(key).join("<br>");
        let cautions = self.groups.iter().flat_map(|group| &group.incomplete);
        let cautions: String = cautions
            .map(|wrong| format!("<p class=\"banner doubt\">Caution: {}.</p>\n", escape::text(wrong)))
            .collect();
        let summary = Section::new("summary", "In short")
            .part("", |page| page.list(&self.statements))
            .part("Verdicts", |page| self.write_verdicts(page));
        let figures = Section::new("figures", "Figures").part("", |page| self.write_tables(page));
        View {
            title: "OpenSLOB comparison".into(),
            heading: "Comparison".into(),
            lead: format!("<p class=\"lead\">{keys}</p>\n{cautions}"),
            sections: [summary].into_iter().chain(self.charts.sections.clone()).chain([figures]).collect(),
            source: "From the saved records of the runs alone.".into(),
        }
    }

    fn table(&self) -> Table {
        let heads = ["figure", "unit", "group", "runs", "mean", "percent", "low", "high", "refused"];
        let mut table = Table::new(heads.map(Column::left));
        for metric in &self.metrics {
            for (place, (group, mean)) in self.groups.iter().zip(metric.means.iter()).enumerate() {
                let pair = match &metric.compared {
                    Compared::Pair(pair) if place == 1 => *pair,
                    _ => Difference::default(),
                };
                let interval = pair.comparison.and_then(|comparison| comparison.interval);
                let (low, high) = interval.map(|interval| (interval.low, interval.high)).unzip();
                let names = [metric.name, metric.unit, &group.name].map(Cell::from);
                let numbers =
                    [*mean, pair.difference_percent, low, high].map(|of| Format::Significant.cell(of));
                let names = names.into_iter().chain([Cell::Count(group.runs.len() as u64)]);
                table.row(names.chain(numbers).chain([metric.refused.clone().into()]));
            }
        }
        table
    }

    fn are_good(&self) -> bool {
        self.groups.iter().all(|group| group.verdicts.are_good())
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Charts {
    sections: Vec<Section>,
    drawn: Vec<String>,
}

impl Charts {
    pub(super) fn of(distributions: &[Distribution], groups: &[NamedRuns<'_>]) -> Self {
        let medians: Vec<Option<&Record>> = groups.iter().map(|(_, records)| median(records)).collect();
        let charts = |record: &Option<&Record>| {
            record.map(|record| run_charts::groups(record, &Run::of(record))).unwrap_or_default()
        };
        let of_groups: Vec<Vec<Section>> = medians.iter().map(charts).collect();
        let names = groups.iter().map(|(name, _)| *name).collect_vec();
        let section = |(place, first): (usize, &Section)| {
            let runs = names.iter().zip(&of_groups);
            let runs = runs.filter_map(|(name, sections)| Some((*name, sections.get(place)?.charts.clone())));
            let is_latency = first.id == "latency";
            let own = if is_latency { distribution_charts(&names, distributions) } else { Vec::new() };
            let charts = own.into_iter().chain(Chart::overlay_all(&runs.collect_vec())).collect();
            Section::new(first.id.as_str(), first.title.as_str()).charts(charts)
        };
        let sections = of_groups.first().into_iter().flatten().enumerate().map(section);
        let drawn = medians.iter().map(|run| run.map(|run| run.id.clone()).unwrap_or_default()).collect();
        Self { sections: sections.filter(|section| !section.charts.is_empty()).collect(), drawn }
    }
}

fn key(place: usize, head: &str, group: &Group, drawn: Option<&String>) -> String {
    let drawn = drawn.filter(|_| group.is_repeated());
    let drawn = drawn.map(|run| format!("; the charts show the median one, {run}")).unwrap_or_default();
    let words = escape::text(&format!("{head}: {}{drawn}", group.words()));
    let colour = place % COLOURS;
    format!("<span class=\"key\" style=\"background:var(--c-variant{colour})\"></span>{words}")
}

impl Distribution {
    fn below_words(&self) -> Option<String> {
        self.below_clock_step.as_ref().map(|below| below_step_words(below.step_us))
    }
}

fn distribution_charts(names: &[&str], distributions: &[Distribution]) -> Vec<Chart> {
    let chart = |distribution: &Distribution| {
        let groups = names.iter().zip(&distribution.histograms).enumerate();
        let line = |(place, (name, histogram)): (usize, (&&str, &Option<slob_stats::Histogram>))| {
            let (x, y) = slob_page::heat::shares(histogram.as_ref()?);
            let stroke = STROKES[place / COLOURS % STROKES.len()];
            Some(Trace::Line(Line { stroke, ..Line::new(*name, Colour::Variant(place), x, y) }))
        };
        let x = Axis::log(format!("duration of {}", distribution.name), Unit::Seconds);
        let y = Axis::linear("share", Unit::Percent);
        let traces = groups.filter_map(line).collect();
        let below = distribution
            .below_words()
            .map(|words| format!(" The leftmost point of a line may be of all {words}."));
        Chart {
            id: format!("distribution-{}", distribution.name.replace(' ', "-")),
            title: format!("How long {} took", distribution.name),
            about: format!(
                "Shares of the {} of all runs of each group, by duration in quarters of doublings. Several peaks are \
                 several paths, such as a cache and a device.{}",
                distribution.name,
                below.unwrap_or_default()
            ),
            source: "the histograms of the windows, added up".into(),
            body: Ok(Drawing::new(x, y, traces)),
        }
    };
    distributions.iter().map(chart).collect()
}

pub(super) fn median(records: &[Record]) -> Option<&Record> {
    let rate = |record| figure::OPERATIONS_PER_S.of(&Run::of(record)).unwrap_or_default();
    let rated = records.iter().map(|record| (rate(record), record)).sorted_by(|a, b| a.0.total_cmp(&b.0));
    rated.map(|(_, record)| record).nth(records.len().saturating_sub(1) / 2)
}
