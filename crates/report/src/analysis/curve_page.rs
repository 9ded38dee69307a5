//! The curve of a search for the knee as a page with charts.

use slob_demand::CurvePoint;

use super::Curve;
use crate::Answer;
use crate::html::chart::{Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::html::layout::{Section, View, lead};
use crate::page::{Page, Table};
use slob_facts::{Claim, Figure, GroupVerdicts, figure};
use slob_stats::summary::mean;

impl Answer for Curve {
    const NAME: &'static str = "search";

    fn page(&self) -> Page {
        let mut page = Page::default();
        page.section("Knee");
        self.sentences().iter().for_each(|sentence| page.paragraph(sentence));
        page.section("Verdicts");
        self.write_verdicts(&mut page);
        page.section("Curve");
        page.table(&self.points_table());
        page.paragraph(&self.little());
        page
    }

    fn view(&self) -> View {
        let mut points: Vec<&CurvePoint> = self.points.iter().collect();
        points.sort_by_key(|point| (point.sessions, point.rate_per_s));
        let charts = vec![
            chart(
                "read-latency",
                "Read latency",
                &points,
                (&figure::PHYSICAL_READS_PER_S, |point| point.physical_reads_per_s),
                [
                    (&figure::PHYSICAL_READ_MEAN_US, |point| point.physical_read_mean_us),
                    (&figure::PHYSICAL_READ_P99_US, |point| point.physical_read_p99_us),
                ],
            ),
            chart(
                "operation-latency",
                "Operation latency",
                &points,
                (&figure::OPERATIONS_PER_S, |point| Some(point.operations_per_s)),
                [
                    (&figure::OPERATION_MEAN_US, |point| point.operation_mean_us),
                    (&figure::OPERATION_P99_US, |point| point.operation_p99_us),
                ],
            ),
        ];
        let sentences = self.sentences();
        let knee = Section::new("knee", "Knee")
            .part("", |page| sentences.iter().for_each(|sentence| page.paragraph(sentence)))
            .part("Verdicts", |page| self.write_verdicts(page))
            .charts(charts)
            .part("Curve", |page| {
                page.table(&self.points_table());
                page.paragraph(&self.little());
            });
        View {
            title: "OpenSLOB saturation".into(),
            heading: "Saturation".into(),
            lead: lead(&self.why),
            has_links: false,
            sections: vec![knee],
            source: "From the saved records of the search's runs.".into(),
        }
    }

    fn table(&self) -> Table {
        self.points_table()
    }

    fn are_good(&self) -> bool {
        self.verdicts().iter().all(|(_, verdicts)| verdicts.are_good())
    }
}

type Of = (&'static Figure, fn(&CurvePoint) -> Option<f64>);

/// A point for each level: a line through repeats would zigzag.
fn chart(id: &str, title: &str, points: &[&CurvePoint], (rate, rate_of): Of, latencies: [Of; 2]) -> Chart {
    let line = |((figure, of), stroke): (Of, Stroke)| {
        let levels = points.chunk_by(|a, b| (a.sessions, a.rate_per_s) == (b.sessions, b.rate_per_s));
        let point = |level: &[&CurvePoint]| {
            let known: Vec<(f64, f64)> =
                level.iter().filter_map(|point| Some((rate_of(point)?, of(point)? / 1e6))).collect();
            let (rates, latencies): (Vec<f64>, Vec<f64>) = known.into_iter().unzip();
            let first = level.first()?;
            let label = first.rate_per_s.unwrap_or(first.sessions).to_string();
            Some((mean(&rates)?, mean(&latencies), label))
        };
        let mut line = Line::new(figure.title, Colour::Variant(0), Vec::new(), Vec::new());
        for (rate, latency, label) in levels.filter_map(point) {
            line.x.push(rate);
            line.y.push(latency);
            line.labels.push(label);
        }
        Line { has_markers: true, stroke, ..line }
    };
    let verdicts =
        GroupVerdicts::of(points.iter().map(|point| (point.run.as_str(), point.verdicts.as_slice())));
    let bad = verdicts.against(rate.rests_on, Claim::Storage);
    let mark =
        bad.map(|bad| format!(" ({} {})", bad.question.title(), bad.answer.word())).unwrap_or_default();
    let names = latencies.map(|(figure, _)| figure.name).join(", ");
    let lines = latencies.into_iter().zip([Stroke::Solid, Stroke::Dot]).map(line);
    let traces: Vec<Trace> = lines.filter(Line::is_known).map(Trace::Line).collect();
    let x = Axis::linear(rate.heading, Unit::Count);
    let drawing = Drawing::new(x, Axis::linear("latency", Unit::Seconds), traces);
    Chart {
        id: id.into(),
        title: format!("{title}{mark}"),
        about: format!(
            "Against {}: a point for each {}, which it is labelled with, the mean of its runs. Where the line turns up, more \
             load only waits.",
            rate.heading,
            match points.iter().any(|point| point.rate_per_s.is_some()) {
                true => "rate of operations",
                false => "number of sessions",
            }
        ),
        source: format!("the runs of the search: {}, {names}", rate.name),
        body: match drawing.traces.is_empty() {
            true => Err("the target does not measure it".into()),
            false => Ok(Drawing { height_px: 380, ..drawing }),
        },
    }
}
