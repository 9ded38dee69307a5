//! An analysis as text and as a page with charts.

use itertools::Itertools;
use slob_stats::Comparison;

use super::{Analysis, LatencyOf, MetricTable, RETRY_BAD, Repeats, VariantPair, VariantRow, number_or_empty};
use crate::change::shown_percent;
use crate::group::write_verdicts;
use slob_facts::format::{capitalised, duration_us, fixed, or_absent, plural, signed_percent, significant};
use slob_facts::{Claim, Question};
use slob_page::Answer;
use slob_page::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Line, Stroke, Trace, Unit, known};
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, Page, Table};

impl Answer for Analysis {
    const NAME: &'static str = "compare";

    fn write(&self, page: &mut Page) {
        for table in &self.tables {
            page.section(&heading(table));
            figures(page, self, table);
            waits(page, table);
            page.line("");
            judged(page, self, table);
            if !table.pairs.is_empty() {
                page.line("");
                verdicts(page, table);
                differences(page, table);
            }
        }
        page.section("How to read this");
        notes(self).iter().for_each(|note| page.paragraph(note));
    }

    fn view(&self) -> View {
        let names = self.variants.iter().map(|variant| variant.name.as_str()).join(", ");
        let runs = |table: &MetricTable| table.rows.iter().map(|row| row.overall.runs).sum::<usize>();
        let most = match self.tables.iter().map(runs).max().unwrap_or(0) {
            0 => String::new(),
            runs => format!("; up to {} a table", plural(runs as u64, "run")),
        };
        let counted = format!("{}: {names}{most}", plural(self.variants.len() as u64, "variant"));
        let section = |(table, place): (&MetricTable, u32)| {
            Section::new(format!("table-{place}"), heading(table))
                .linked_as(&table.title)
                .part("Differences", |page| verdicts(page, table))
                .part("Verdicts of the runs", |page| judged(page, self, table))
                .charts(charts(self, table, place))
                .part("Figures", |page| figures(page, self, table))
                .part("Top wait events", |page| waits(page, table))
                .part("Differences by sessions", |page| differences(page, table))
        };
        let reading = Section::new("reading", "How to read this")
            .part("", |page| notes(self).iter().for_each(|note| page.paragraph(note)));
        View {
            title: "OpenSLOB analysis".into(),
            heading: "Analysis".into(),
            lead: lead(&counted),
            sections: self.tables.iter().zip(1..).map(section).chain([reading]).collect(),
            source: "From the saved figures of the runs alone.".into(),
        }
    }

    fn table(&self) -> Table {
        let heads = "table model metric variant sessions runs slob_r_mean scaled mean low high median cv_percent \
                     latency_us latency_p99_us latency_of verdicts";
        let mut lines = Table::new(heads.split(' ').map(Column::left));
        for (table, row) in
            self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)))
        {
            for (sessions, cell) in table.sessions_and_overall().zip(row.cells.iter().chain([&row.overall])) {
                let names = [&table.title, &table.model, &table.metric, &row.variant].map(String::clone);
                let of_rate = [cell.slob_r_mean, cell.scaled, cell.mean, cell.low, cell.high];
                let of_rest = [cell.median, cell.cv_percent, cell.latency_us, cell.latency_p99_us];
                let figures = of_rate.into_iter().chain(of_rest).map(number_or_empty);
                let latency = table.latency.map_or("", LatencyOf::noun).to_owned();
                let words = [latency, row.verdicts.in_short().unwrap_or_default()];
                lines.row(
                    names.into_iter().chain([sessions, cell.runs.to_string()]).chain(figures).chain(words),
                );
            }
        }
        lines
    }

    fn are_good(&self) -> bool {
        self.tables.iter().flat_map(|table| &table.rows).all(|row| row.verdicts.are_good())
    }
}

fn heading(table: &MetricTable) -> String {
    format!("{}: {}", table.title, table.metric)
}

fn figures(page: &mut Page, analysis: &Analysis, table: &MetricTable) {
    table.lacking.iter().for_each(|reason| page.paragraph(reason));
    if table.rows.is_empty() {
        return;
    }
    let mut cells = table.rows.iter().flat_map(|row| row.cells.iter().chain([&row.overall]));
    if cells.any(|cell| cell.slob_r_mean.is_some()) {
        page.table(&grid(table, |cell| cell.slob_r_mean, as_r_prints));
        page.paragraph(
            "SLOB.R's mean: of the runs of a cell, every value equal to the smallest or largest is dropped.",
        );
        if let Some(scale) = &analysis.scale {
            let show =
                |ratios: &[Option<f64>]| ratios.iter().map(|ratio| or_absent(*ratio, as_ratio)).collect();
            page.line("");
            page.paragraph(&format!("Relative to {scale}:"));
            page.table(&grid(table, |cell| cell.scaled, show));
        }
    } else {
        let most = table.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.runs).max().unwrap_or(0);
        let runs = match most {
            1 => "There is a single run".to_owned(),
            most => format!("There are at most {most} runs"),
        };
        page.paragraph(&format!(
            "{runs} a cell: SLOB.R's mean, which drops the smallest and the largest, has nothing left. These are the runs \
             themselves; repeat them three times or more to tell differences from noise."
        ));
    }
    page.line("");
    page.table(&details(analysis, table));
}

fn waits(page: &mut Page, table: &MetricTable) {
    let events = Column::left("Top wait events (runs)").at_most(60);
    let mut grid = Table::new([Column::left("Variant"), Column::right("Sessions"), events]).named_by(2);
    for row in &table.rows {
        for (sessions, cell) in table.sessions.iter().zip(&row.cells) {
            let events =
                cell.top_waits.iter().map(|wait| format!("{} ({})", wait.event, wait.runs)).join(", ");
            if !events.is_empty() {
                grid.row([row.variant.clone(), sessions.to_string(), events]);
            }
        }
    }
    if !grid.is_empty() {
        page.line("");
        page.table(&grid);
    }
}

fn grid(
    table: &MetricTable,
    of: fn(&Repeats) -> Option<f64>,
    show: fn(&[Option<f64>]) -> Vec<String>,
) -> Table {
    let column = |at: usize| show(&table.rows.iter().map(|row| of(row.cell(at))).collect_vec());
    let columns = (0..=table.sessions.len()).map(column).collect_vec();
    let mut grid = by_sessions("Sessions", table);
    for (at, row) in table.rows.iter().enumerate() {
        let cells = columns.iter().map(|column| column[at].clone());
        grid.row([row.label(&table.rests_on)].into_iter().chain(cells));
    }
    grid
}

fn by_sessions(first: &str, table: &MetricTable) -> Table {
    Table::of_numbers(Column::left(first), table.sessions_and_overall())
}

fn as_ratio(ratio: f64) -> String {
    fixed(ratio, 3)
}

/// R's `print` shows a matrix so: seven significant digits, and as many decimals as the number that needs most.
pub(super) fn as_r_prints(values: &[Option<f64>]) -> Vec<String> {
    let decimals = values.iter().flatten().map(|value| decimals_in_r(*value)).max().unwrap_or(0);
    values.iter().map(|value| or_absent(*value, |value| fixed(value, decimals))).collect()
}

fn decimals_in_r(value: f64) -> usize {
    if !value.is_finite() || value == 0.0 {
        return 0;
    }
    // The exponent after rounding: 9999999.7 has eight digits before the point.
    let rounded = format!("{:.6e}", value.abs());
    let Some((digits, exponent)) = rounded.split_once('e') else { return 0 };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let significant = digits.trim_end_matches('0').trim_end_matches('.').replace('.', "").len() as i32;
    (significant - 1 - exponent).max(0) as usize
}

fn details(analysis: &Analysis, table: &MetricTable) -> Table {
    let interval = format!("{} interval", analysis.confidence);
    let of_latency = |figure: &str| match table.latency {
        Some(of) => format!("{} {figure}", capitalised(of.noun())),
        None => figure.to_owned(),
    };
    let [mean, p99] = ["mean", "p99"].map(of_latency);
    let heads = ["Sessions", "Runs", "Mean", &interval, "Median", "CV %", &mean, &p99];
    let heads = &heads[..if table.latency.is_some() { heads.len() } else { heads.len() - 2 }];
    let mut grid = Table::of_numbers(Column::left("Variant"), heads).named_by(2);
    for row in &table.rows {
        for (sessions, cell) in table.sessions.iter().zip(&row.cells).filter(|(_, cell)| cell.runs > 0) {
            let to = |(low, high)| format!("{} to {}", significant(low), significant(high));
            let cells = [
                row.variant.clone(),
                sessions.to_string(),
                cell.runs.to_string(),
                or_absent(cell.mean, significant),
                or_absent(cell.low.zip(cell.high), to),
                or_absent(cell.median, significant),
                or_absent(cell.cv_percent, |cv| fixed(cv, 1)),
                or_absent(cell.latency_us, duration_us),
                or_absent(cell.latency_p99_us, duration_us),
            ];
            grid.row(cells.into_iter().take(heads.len() + 1));
        }
    }
    grid
}

fn judged(page: &mut Page, analysis: &Analysis, table: &MetricTable) {
    write_verdicts(page, &table.rows.iter().map(|row| (row.variant.as_str(), &row.verdicts)).collect_vec());
    let is_bad = |row: &VariantRow| row.verdicts.against(&Question::ALL, Claim::Compared).is_some();
    if analysis.is_of_campaign && table.rows.iter().any(is_bad) {
        page.paragraph(RETRY_BAD);
    }
}

fn verdicts(page: &mut Page, table: &MetricTable) {
    table.pairs.iter().for_each(|pair| page.hanging("  *", &pair.verdict));
}

fn differences(page: &mut Page, table: &MetricTable) {
    if table.sessions.len() < 2 || table.pairs.is_empty() {
        return;
    }
    page.line("");
    let mut grid = by_sessions("Difference in % at", table);
    for pair in &table.pairs {
        let name = format!("{} / {}", pair.second, pair.first);
        let cells = pair.by_sessions.iter().chain([&pair.overall]).map(|one| or_absent(*one, difference));
        grid.row([name].into_iter().chain(cells));
    }
    page.table(&grid);
}

fn difference(comparison: Comparison) -> String {
    let percent = signed_percent(comparison.percent);
    let Some(interval) = comparison.interval else { return percent };
    let mark = if interval.excludes_zero() { "*" } else { " " };
    format!("{percent} +-{}{mark}", shown_percent(interval.noise_percent()))
}

fn notes(analysis: &Analysis) -> Vec<String> {
    let mut notes = vec![format!(
        "Differences: Welch's interval on logarithms. All verdicts of a table hold together with {} confidence \
         (Bonferroni), and so do all its marks. * marks a difference that is more than noise. 'Overall' gives each \
         number of sessions the same weight.",
        analysis.confidence
    )];
    if analysis.tables.len() > 1 {
        notes.push(analysis.confidence.by_chance("table"));
    }
    let cells = || analysis.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    let fewest = cells().filter(|cell| cell.runs > 0).map(|cell| cell.runs).min().unwrap_or(0);
    match fewest {
        0 | 1 => notes.push("Cells with a single run say nothing about noise: repeat three times or more.".to_owned()),
        2 => notes.push(
            "Cells with two runs have wide intervals, and SLOB.R's mean has nothing left of them: repeat more often.".to_owned(),
        ),
        _ => {}
    }
    if cells().any(|cell| cell.runs_without > 0) {
        notes.push("Some runs lack the figure of a table and are left out of it.".to_owned());
    }
    notes.extend(analysis.notes.iter().cloned());
    notes
}

fn charts(analysis: &Analysis, table: &MetricTable, place: u32) -> Vec<Chart> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    let means_and_ratios = [means(analysis, table, place), ratios(analysis, table, place)];
    means_and_ratios.into_iter().chain([latency(table, place), sweep(table, place)]).collect()
}

/// A single variant is named here, as there is no legend.
fn titled(title: &str, table: &MetricTable, rests_on: &[Question]) -> String {
    match table.rows.as_slice() {
        [only] => format!("{title}: {}", only.label(rests_on)),
        _ => title.to_owned(),
    }
}

type Estimate = (f64, Option<(f64, f64)>);

/// `of` returns the estimate and the end of its text.
fn bars(
    table: &MetricTable,
    y: Axis,
    show: fn(f64) -> String,
    of: impl Fn(&VariantRow, usize) -> Option<(Estimate, String)>,
) -> Drawing {
    const ROOM: f64 = 0.8;
    let room = ROOM / table.rows.len().max(1) as f64;
    let several = usize::from(table.sessions.len() > 1);
    let groups: Vec<String> = table.sessions_and_overall().take(table.sessions.len() + several).collect();
    let trace = |(place, row): (usize, &VariantRow)| {
        let bar = |(at, sessions): (usize, &String)| {
            let ((length, interval), more) = of(row, at)?;
            let within = interval.map(|(low, high)| format!(", {} to {}", show(low), show(high)));
            let (name, within) = (&row.variant, within.unwrap_or_default());
            let hover = format!("{name}, {sessions}: {}{within}{more}", show(length));
            let at = at as f64 - ROOM / 2.0 + room * (place as f64 + 0.5);
            Some(Bar::new(at, 0.92 * room, length, hover).with_interval(interval))
        };
        let bars = groups.iter().enumerate().filter_map(bar).collect();
        Trace::Bars(Bars::new(row.label(&table.rests_on), Colour::Variant(place), bars))
    };
    let names = groups.iter().enumerate().map(|(at, sessions)| (at as f64, sessions.clone()));
    let x = Axis::linear("sessions", Unit::Plain).ranging(-0.5, groups.len() as f64 - 0.5).named(names);
    Drawing::new(x, y, table.rows.iter().enumerate().map(trace).collect()).following_bars(show)
}

fn means(analysis: &Analysis, table: &MetricTable, place: u32) -> Chart {
    let y = Axis::linear(table.metric.as_str(), Unit::Count);
    Chart {
        id: format!("means-{place}"),
        title: titled("Means with their intervals", table, &table.rests_on),
        about: format!(
            "The mean of the repeats of each cell; the line at its end is its {} confidence interval, which a single run \
             does not have.",
            analysis.confidence
        ),
        source: "the runs of the analysis; Student's interval of the mean".into(),
        body: Ok(bars(table, y, significant, |row, at| {
            let cell = row.cell(at);
            Some(((cell.mean?, cell.low.zip(cell.high)), format!("; {}", plural(cell.runs as u64, "run"))))
        })),
    }
}

fn ratios(analysis: &Analysis, table: &MetricTable, place: u32) -> Chart {
    let chosen = analysis.scale.as_ref().filter(|scale| table.rows.iter().any(|row| row.variant == **scale));
    let base = chosen.or(table.rows.first().map(|row| &row.variant)).map_or("", String::as_str);
    let y = Axis::linear(format!("ratio to {base}"), Unit::Plain);
    let is_refused = |row: &VariantRow| row.verdicts.against(&table.rests_on, Claim::Compared).is_some();
    Chart {
        id: format!("ratios-{place}"),
        title: format!("Relative to {base}"),
        about: format!(
            "{base} is 1. Where the line at the end of a bar does not reach 1, the difference at that number of \
             sessions is more than noise. The verdicts go by all numbers of sessions together."
        ),
        source: "the comparisons of the analysis: ratios of geometric means, Welch's interval".into(),
        body: match table.rows.len() {
            ..2 => Err("there is one variant only".into()),
            _ if table.rows.iter().any(|row| row.variant == base && is_refused(row)) => {
                Err(format!("a verdict on {base} is BAD, so nothing can be compared with it"))
            }
            _ if table.rows.iter().all(|row| row.variant == base || is_refused(row)) => {
                Err("a verdict on each other variant is BAD, so none can be compared".into())
            }
            _ => Ok(bars(table, y, as_ratio, |row, at| Some((ratio(table, base, row, at)?, String::new())))),
        },
    }
}

fn ratio(table: &MetricTable, base: &str, row: &VariantRow, at: usize) -> Option<Estimate> {
    if row.variant == base {
        return (row.cell(at).runs > 0).then_some((1.0, None));
    }
    let estimate = |pair: &VariantPair| {
        let comparison = pair.by_sessions.get(at).copied().unwrap_or(pair.overall)?;
        let ratio = |percent: f64| 1.0 + percent / 100.0;
        let interval = comparison.interval.map(|interval| (ratio(interval.low), ratio(interval.high)));
        Some((ratio(comparison.percent), interval))
    };
    let find = |first: &str, second: &str| {
        table.pairs.iter().find(|pair| pair.first == first && pair.second == second).and_then(estimate)
    };
    find(base, &row.variant).or_else(|| find(&row.variant, base).map(inverse))
}

fn inverse((value, interval): Estimate) -> Estimate {
    (1.0 / value, interval.map(|(low, high)| (1.0 / high, 1.0 / low)))
}

fn latency(table: &MetricTable, place: u32) -> Chart {
    let noun = table.latency.map_or("", LatencyOf::noun);
    let name = table.latency.map_or("", |of| of.mean().name);
    let rests_on = table.rests_on_with_latency();
    let lines = table.rows.iter().enumerate().flat_map(|(at, row)| {
        let line = |name: &str, stroke, of: fn(&Repeats) -> Option<f64>| {
            let points = row.cells.iter().filter_map(|cell| Some((cell.mean?, Some(of(cell)? / 1e6))));
            let name = format!("{}: {name}", row.label(&rests_on));
            Line { stroke, ..Line::through(name, Colour::Variant(at), points) }
        };
        let p99 = line("p99", Stroke::Dot, |cell| cell.latency_p99_us);
        [line("mean", Stroke::Solid, |cell| cell.latency_us), p99]
    });
    let x = Axis::linear(table.metric.as_str(), Unit::Count);
    let y = Axis::linear(format!("{noun} latency"), Unit::Seconds);
    Chart {
        id: format!("latency-{place}"),
        title: titled(format!("{} latency", capitalised(noun)).trim_start(), table, &rests_on),
        about: format!(
            "The latency of a {noun} against {}: a point for each number of sessions, from few to many. Solid: mean; dotted: \
             p99, where it was measured.",
            table.metric
        ),
        source: format!("the runs of the analysis: {name} and p99, means of the repeats"),
        body: Drawing::new(x, y, known(lines)).tall(380).or("these runs have no such latency"),
    }
}

fn sweep(table: &MetricTable, place: u32) -> Chart {
    let x: Vec<f64> = table.sessions.iter().map(|sessions| f64::from(*sessions)).collect();
    let noun = table.latency.map_or("", LatencyOf::noun);
    let rests_on = table.rests_on_with_latency();
    let lines = |more: &str, of: fn(&Repeats) -> Option<f64>| {
        let line = |(at, row): (usize, &VariantRow)| {
            let y = row.cells.iter().map(of).collect();
            let name = format!("{}{more}", row.label(&rests_on));
            Line { has_markers: true, ..Line::new(name, Colour::Variant(at), x.clone(), y) }
        };
        table.rows.iter().enumerate().map(line).collect_vec()
    };
    let latencies = lines(&format!(": {noun} latency"), |cell| Some(cell.latency_us? / 1e6)).into_iter();
    let latencies = known(latencies.map(|line| Line { stroke: Stroke::Dot, on_right: true, ..line }));
    let latency = match latencies.is_empty() {
        false => format!(
            " Dotted, on the right: mean latency of a {noun}. Where the solid lines go flat and the dotted ones turn up, more \
             sessions only wait."
        ),
        true => " These runs have no latency figures.".to_owned(),
    };
    let right = (!latencies.is_empty()).then(|| Axis::linear(format!("mean {noun} latency"), Unit::Seconds));
    let means = lines("", |cell| cell.mean).into_iter().map(Trace::Line);
    // Sweeps double, so each step has the same room.
    let axis = Axis::log("sessions", Unit::Plain).named(x.iter().map(|at| (*at, at.to_string())));
    let y = Axis::linear(table.metric.as_str(), Unit::Count);
    let drawing = Drawing::new(axis, y, means.chain(latencies).collect()).tall(380);
    Chart {
        id: format!("sweep-{place}"),
        title: titled("Over the number of sessions", table, &rests_on),
        about: format!("Solid, on the left: {}, the mean of the repeats.{latency}", table.metric),
        source: "the runs of the analysis".into(),
        body: match x.len() {
            ..2 => Err("all runs have the same number of sessions".into()),
            _ => Ok(Drawing { right, ..drawing }),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::{Metric, Options, Run, TableSpec, Variant};
    use super::*;

    fn run(variant: &str, model: &str, sessions: u32, figures: &[(&str, f64)]) -> Run {
        Run {
            label: variant.into(),
            models: BTreeSet::from([model.into()]),
            sessions: BTreeSet::from([sessions]),
            figures: figures
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect::<BTreeMap<_, _>>(),
            ..Run::default()
        }
    }

    #[test]
    fn the_top_waits_of_a_cell_are_counted() {
        let waited = |event: &str| Run {
            top_wait: Some(event.into()),
            ..run("raw", "read", 8, &[("physical_reads_per_s", 1000.0)])
        };
        let runs = ["CPU", "read", "read"].map(waited);
        let spec = TableSpec { title: "read".into(), model: "read".into(), metric: Metric::Reads };
        let options = Options::default();
        let analysis = Analysis::of(&runs, &[Variant::whole("raw")], &[spec], &options).unwrap();
        assert!(analysis.text(None).contains("read (2), CPU (1)"), "{}", analysis.text(None));
        assert!(analysis.html().contains("read (2), CPU (1)"));
    }

    /// `raw` and its twin, and `xfs`, which is twice as fast; two numbers of sessions, three repeats.
    fn analysis(scale: Option<&str>) -> Analysis {
        let mut runs = Vec::new();
        for (variant, factor) in [("raw", 1.0), ("raw.again", 1.0), ("xfs", 2.0)] {
            for sessions in [1_u32, 4] {
                for repeat in 0..3 {
                    let rate = 1000.0 * f64::from(sessions) * factor + f64::from(repeat);
                    let figures = [("physical_reads_per_s", rate), ("operation_mean_us", 250.0)];
                    runs.push(run(variant, "read", sessions, &figures));
                }
            }
        }
        let twin = Variant::whole("raw.again").twin_of(Some("raw".into()));
        let variants = [Variant::whole("raw"), twin, Variant::whole("xfs")];
        let spec = TableSpec { title: "read <all>".into(), model: "read".into(), metric: Metric::Reads };
        let options = Options { scale: scale.map(str::to_owned), ..Options::default() };
        Analysis::of(&runs, &variants, &[spec], &options).unwrap()
    }

    fn bars_of(chart: &Chart, trace: usize) -> &Bars {
        match &chart.body.as_ref().unwrap().traces[trace] {
            Trace::Bars(bars) => bars,
            other => panic!("{other:?}"),
        }
    }

    /// The tables of the article that SLOB.R was published with.
    #[test]
    fn columns_look_as_r_prints_them() {
        let shown = |values: &[f64]| as_r_prints(&values.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(shown(&[27223.894, 30076.766]), ["27,223.89", "30,076.77"]);
        assert_eq!(shown(&[326_480_426.3, 304_188_997.0]), ["326,480,426", "304,188,997"]);
        assert_eq!(shown(&[9876.5432, 27223.89]), ["9,876.543", "27,223.890"]);
        assert_eq!(shown(&[1.0, 0.5]), ["1.0", "0.5"]);
        assert_eq!(shown(&[1.0 / 3.0]), ["0.3333333"]);
        assert_eq!(shown(&[9_999_999.7, 5.0]), ["10,000,000", "5"]);
        assert_eq!(as_r_prints(&[None, Some(2.0)]), ["-", "2"]);
    }

    #[test]
    fn bars_stand_beside_each_other_with_their_intervals() {
        let analysis = analysis(None);
        let table = &analysis.tables[0];
        let chart = means(&analysis, table, 1);
        let xfs = bars_of(&chart, 2);
        assert_eq!((xfs.name.as_str(), xfs.bars[1].length), ("xfs", 8001.0));
        let cell = &table.rows[2].cells[1];
        assert_eq!(xfs.bars[1].error, Some((8001.0 - cell.low.unwrap(), cell.high.unwrap() - 8001.0)));
        // Groups lie around 0 and 1, and no bar lies over another.
        let mut all: Vec<_> = (0..3).flat_map(|trace| bars_of(&chart, trace).bars.clone()).collect();
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        assert!(all.windows(2).all(|two| two[0].at + two[0].width / 2.0 < two[1].at - two[1].width / 2.0));
        assert!(all.iter().all(|bar| (bar.at - bar.at.round()).abs() < 0.5));
    }

    #[test]
    fn ratios_are_those_of_the_verdicts_either_way_round() {
        let value = |scale: Option<&str>, trace: usize| {
            let analysis = analysis(scale);
            let chart = ratios(&analysis, &analysis.tables[0], 1);
            bars_of(&chart, trace).bars.first().map(|bar| (bar.length, bar.error))
        };
        let (xfs, error) = value(None, 2).unwrap();
        let (below, above) = error.unwrap();
        assert!((xfs - 2.0).abs() < 0.01 && below > 0.0 && above > 0.0, "{xfs} {below} {above}");
        assert_eq!(value(None, 0), Some((1.0, None)));
        let (raw, error) = value(Some("xfs"), 0).unwrap();
        assert!((raw * xfs - 1.0).abs() < 1e-9 && error.unwrap().0 > 0.0, "{raw}");
        assert_eq!(inverse((2.0, Some((1.0, 4.0)))), (0.5, Some((0.25, 1.0))));
        // A twin is compared with its original alone.
        assert_eq!(value(Some("xfs"), 1), None);
    }

    #[test]
    fn the_page_has_verdicts_charts_and_figures_and_escapes_them() {
        let page = analysis(Some("raw")).html();
        for text in [
            "read &lt;all&gt;: physical reads",
            "faster than raw",
            "Relative to raw:",
            "Difference in",
            "Bonferroni",
        ] {
            assert!(page.contains(text), "{text}");
        }
        for chart in ["means-1", "ratios-1", "latency-1", "sweep-1"] {
            assert_eq!(page.matches(&format!("data-chart=\"{chart}\"")).count(), 1, "{chart}");
        }
        assert!(!page.contains("<all>"));
    }
}
