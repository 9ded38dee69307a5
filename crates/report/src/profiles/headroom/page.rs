//! One page for management and engineers: the sentence, production beside this platform, the curve to the break, verdicts.

use slob_profile::{Bucket, Figure, NotModelled};

use super::super::{part, plan, text};
use super::step::shares;
use super::{Headroom, beside, headroom_sentence, limits, not_counted, steps_table};
use crate::format::{duration_us, percent};
use crate::html::document::{self, Document};
use crate::html::escape;
use crate::html::plot::{Absent, Axis, Bar, Bars, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::page::{Column, Page, Table};

const LINKS: [(&str, &str); 5] = [
    ("beside", "Production beside this platform"),
    ("curve", "The curve to the break"),
    ("steps", "Steps"),
    ("plan", "The plan"),
    ("not-modelled", "Not modelled"),
];

/// The page as one HTML file that needs no network.
#[must_use]
pub fn headroom_page(headroom: &Headroom) -> String {
    let charts =
        [histogram("read", "Reads of a block", headroom), histogram("commit", "Waits for the log", headroom)];
    let curves = [curve(headroom), latencies(headroom)];
    let main = [
        document::NO_CHARTS.to_owned(),
        section(LINKS[0], [titled("Each figure, at the same demand", &beside(headroom))], &charts),
        section(LINKS[1], [], &curves),
        section(LINKS[2], [steps(headroom), verdicts(headroom)], &[]),
        section(LINKS[3], [fit(headroom)], &[]),
        section(LINKS[4], [not_modelled(&headroom.plan.not_modelled)], &[]),
    ];
    Document {
        title: format!("Headroom: {}", headroom.plan.database),
        header: format!(
            "<h1>Headroom</h1>\n<p class=\"lead\">{}</p>\n<p class=\"id\">{}</p>\n{}",
            escape::prose(&headroom_sentence(headroom)),
            escape::text(&format!(
                "{}; platform {}; limits: {}",
                headroom.plan.database,
                headroom.plan.target.as_deref().unwrap_or("unknown"),
                limits(headroom)
            )),
            document::links(LINKS.into_iter())
        ),
        main: main.concat(),
        said: "From the profile and the records of the runs alone.".into(),
        slob_version: env!("CARGO_PKG_VERSION"),
        holds: String::new(),
        charts: charts.iter().chain(&curves).collect(),
    }
    .html()
}

fn section<const N: usize>((id, title): (&str, &str), parts: [Page; N], charts: &[Chart]) -> String {
    let parts: String = parts.into_iter().map(part).collect();
    let charts: String = charts.iter().map(Chart::container).collect();
    let charts = if charts.is_empty() { charts } else { format!("<div class=\"charts\">\n{charts}</div>\n") };
    format!("<section id=\"{id}\">\n<h2>{}</h2>\n{parts}{charts}</section>\n", escape::text(title))
}

fn titled(title: &str, table: &Table) -> Page {
    let mut page = Page::new();
    page.section(title);
    page.table(table);
    page
}

fn steps(headroom: &Headroom) -> Page {
    let mut page = titled("What was asked for, and what was done", &steps_table(headroom));
    not_counted(&mut page, headroom);
    page
}

/// A row for each step, a column for each verdict.
fn verdicts(headroom: &Headroom) -> Page {
    let Some(first) = headroom.steps.first() else { return Page::new() };
    let titles = first.verdicts.iter().map(|[question, ..]| Column::left(question));
    let columns = [Column::right("Times"), Column::left("Run")].into_iter().chain(titles);
    let mut rows = Table::new(columns.collect::<Vec<_>>());
    for step in &headroom.steps {
        let answers = step.verdicts.iter().map(|[_, answer, _]| answer.clone());
        rows.row(
            [super::times(step.factor), step.run.clone()].into_iter().chain(answers).collect::<Vec<_>>(),
        );
    }
    titled("Verdicts of each step", &rows)
}

fn fit(headroom: &Headroom) -> Page {
    let mut page = titled("Demanded and measured", &plan::fit_table(&headroom.plan.fit));
    plan::said(&mut page, &headroom.plan);
    headroom.plan.notes.iter().chain(&headroom.plan.demand.notes).for_each(|note| page.hanging("  -", note));
    page
}

fn not_modelled(list: &[NotModelled]) -> Page {
    if list.is_empty() {
        let mut page = Page::new();
        page.paragraph("The profile does not tell of anything that is not modelled.");
        return page;
    }
    titled("With its share of what production did", &text::not_modelled_table(list))
}

/// Shares of waits by duration: production's and this platform's at 1x.
fn histogram(name: &'static str, title: &str, headroom: &Headroom) -> Chart {
    let production = headroom.plan.demand.histograms.get(name);
    let here = headroom.at_one().and_then(|step| step.histograms.get(name));
    let body = match (production, here) {
        (Some(production), Some(here)) => Ok(shares_drawing(production, here)),
        (None, _) => Err(Absent("the profile has no histogram of them".into())),
        (_, None) => Err(Absent("this platform's database does not measure each of them".into())),
    };
    Chart {
        id: format!("histogram-{name}").into(),
        title: format!("{title}: how long they took"),
        about: "Share of the waits by their duration, in production and here at the same demand.".into(),
        source: "the profile, and the run at 1x".into(),
        body,
    }
}

fn shares_drawing(production: &[Bucket], here: &[Bucket]) -> Drawing {
    let bars = |name: &str, colour, buckets: &[Bucket]| {
        let bar = |(from_us, to_us, share): (f64, f64, f64)| {
            // A logarithmic axis has no zero.
            let from_us = if from_us > 0.0 { from_us } else { to_us / 2.0 };
            Bar {
                at: f64::midpoint(from_us, to_us) / 1e6,
                width: (to_us - from_us) / 1e6,
                length: share,
                hover: format!(
                    "{name}, {} to {}: {} %",
                    duration_us(from_us),
                    duration_us(to_us),
                    percent(share)
                ),
            }
        };
        let bars = shares(buckets).into_iter().map(bar).collect();
        Trace::Bars(Bars { name: name.to_owned(), colour, opacity: 0.55, bars, horizontal: false })
    };
    let traces = vec![bars("production", Colour::First, production), bars("here", Colour::Second, here)];
    Drawing::new(Axis::log("duration", Unit::Seconds), Axis::linear("share of waits", Unit::Percent), traces)
}

/// Steps that count, by their factor.
fn points(
    headroom: &Headroom,
    value: impl Fn(&super::HeadroomStep) -> Option<f64>,
) -> (Vec<f64>, Vec<Option<f64>>) {
    let mut steps: Vec<_> = headroom.counted().collect();
    steps.sort_by(|one, other| one.factor.total_cmp(&other.factor));
    steps.into_iter().map(|step| (step.factor, value(step))).unzip()
}

fn curve(headroom: &Headroom) -> Chart {
    let line = |name: &str, colour, of: &dyn Fn(&super::HeadroomStep) -> Option<f64>| {
        let (x, y) = points(headroom, of);
        Line { has_markers: true, ..Line::new(name, colour, Unit::Count, x, y) }
    };
    let kept = line("done", Colour::Reads, &|step| Some(f64::from(step.rate) * step.kept_percent / 100.0));
    let asked = line("asked for", Colour::Logical, &|step| Some(f64::from(step.rate)));
    let asked = Line { stroke: Stroke::Dashed, ..asked };
    let mut drawing = Drawing::new(
        Axis::linear("times the demand", Unit::Plain),
        Axis::linear("operations per second", Unit::Count),
        vec![Trace::Line(asked), Trace::Line(kept)],
    );
    drawing.marks = headroom.carries.map(|carries| (carries, "carried".to_owned())).into_iter().collect();
    Chart {
        id: "rate".into(),
        title: "Asked for and done".into(),
        about: "Where the lines part, the platform no longer keeps up.".into(),
        source: "the runs of this search that count".into(),
        body: if headroom.counted().next().is_some() {
            Ok(drawing)
        } else {
            Err(Absent("no step counts".into()))
        },
    }
}

fn latencies(headroom: &Headroom) -> Chart {
    let line = |name: &str, colour, figure: Figure| {
        let (x, y) = points(headroom, |step| Some(step.figures.get(figure)? / 1e6));
        let line = Line { has_markers: true, ..Line::new(name, colour, Unit::Seconds, x, y) };
        line.y.iter().any(Option::is_some).then_some(Trace::Line(line))
    };
    let level = |name: &str, colour, figure: Figure| {
        let value = headroom.plan.demand.figures.get(figure)? / 1e6;
        let (x, _) = points(headroom, |_| None);
        let y = vec![Some(value); x.len()];
        Some(Trace::Line(Line { stroke: Stroke::Dotted, ..Line::new(name, colour, Unit::Seconds, x, y) }))
    };
    let traces: Vec<Trace> = [
        line("mean read here", Colour::Reads, Figure::ReadUs),
        line("redo sync here", Colour::Redo, Figure::CommitUs),
        level("mean read in production", Colour::Reads, Figure::ReadUs),
        level("commit in production", Colour::Redo, Figure::CommitUs),
    ]
    .into_iter()
    .flatten()
    .collect();
    let body = match traces.is_empty() || headroom.counted().next().is_none() {
        true => Err(Absent("no latency is known".into())),
        false => Ok(Drawing::new(
            Axis::linear("times the demand", Unit::Plain),
            Axis::log("mean", Unit::Seconds),
            traces,
        )),
    };
    Chart {
        id: "latency".into(),
        title: "Latency on the way".into(),
        about: "Dotted: what production had at the demand itself.".into(),
        source: "the databases' own clocks".into(),
        body,
    }
}
