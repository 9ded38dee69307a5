//! Throughput and latency over sessions or rates, from a search for the knee.

use std::ops::Deref;

use itertools::Itertools;
use serde::Serialize;
use slob_demand::{CurvePoint, KneeResult};
use slob_stats::summary;

use crate::group::write_verdicts;
use slob_facts::format::{duration_us, fixed, or_absent, percent, plain_number, plural};
use slob_facts::thresholds::COUNTERS_DIFFER;
use slob_facts::verdicts::refusal;
use slob_facts::{Claim, Figure, GroupVerdicts, Lead, figure};
use slob_page::Answer;
use slob_page::chart::{Axis, Chart, Colour, Drawing, Line, Stroke, Unit, known};
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, Page, Table};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Curve(pub KneeResult);

impl Deref for Curve {
    type Target = KneeResult;

    fn deref(&self) -> &KneeResult {
        &self.0
    }
}

impl Curve {
    fn is_knee(&self, point: &CurvePoint) -> bool {
        match self.knee_rate_per_s {
            Some(rate) => point.rate_per_s == Some(rate),
            None => Some(point.sessions) == self.knee_sessions && point.rate_per_s.is_none(),
        }
    }

    fn is_open(&self) -> bool {
        self.points.iter().any(|point| point.rate_per_s.is_some())
    }

    fn verdicts(&self) -> Vec<(String, GroupVerdicts)> {
        levels(self.points.iter())
    }

    fn sorted(&self) -> Vec<&CurvePoint> {
        self.points.iter().sorted_by_key(|point| (point.sessions, point.rate_per_s)).collect()
    }

    /// Beyond the limit a rate is missed, which is the answer; the closed loop before a search by rate only sets its steps.
    fn decisive(&self) -> impl Iterator<Item = &CurvePoint> {
        let is_open = self.is_open();
        let decides = move |point: &&CurvePoint| point.rate_per_s.is_some() || !is_open;
        self.points.iter().filter(|point| !point.over_limit).filter(decides)
    }

    fn refusals(&self) -> Vec<String> {
        let verdicts = levels(self.decisive());
        let groups: Vec<_> = verdicts.iter().map(|(level, verdicts)| (level.as_str(), verdicts)).collect();
        let refused = |figure: &Figure| refusal(&groups, figure.rests_on);
        if let Some(why) = refused(&figure::OPERATIONS_PER_S) {
            return vec![format!("This knee can't be relied on: its rates can't be compared. {why}")];
        }
        let reads = refused(&figure::PHYSICAL_READS_PER_S);
        reads.map(|why| format!("These physical reads can't be compared. {why}")).into_iter().collect()
    }

    fn write_verdicts(&self, page: &mut Page) {
        let verdicts = self.verdicts();
        let groups: Vec<_> = verdicts.iter().map(|(level, verdicts)| (level.as_str(), verdicts)).collect();
        write_verdicts(page, &groups);
    }

    fn victim(&self, runs: &[&CurvePoint]) -> Option<String> {
        let values = |of: &dyn Fn(&CurvePoint) -> Option<f64>| -> Vec<f64> {
            runs.iter().filter_map(|point| of(point)).collect()
        };
        let rates = values(&|point| Some(point.victim.as_ref()?.operations_per_s));
        let reads = values(&|point| point.victim.as_ref()?.physical_read_mean_us);
        let rate = fixed(summary::mean(&rates)?, 0);
        let read = or_absent(summary::mean(&reads), duration_us);
        let limited = values(&|point| point.limited_us);
        let limit = self.limit.as_ref().zip(summary::mean(&limited));
        let limit = limit.map(|(limit, us)| format!(", {} of the limit {limit}", duration_us(us)));
        Some(format!(
            "Beside it the victim did {rate} operations/s, mean of a read {read}{}.",
            limit.unwrap_or_default()
        ))
    }

    fn sentences(&self) -> Vec<String> {
        let mut sentences = self.refusals();
        let place = match (self.knee_rate_per_s, self.knee_sessions) {
            (Some(rate), _) => format!("A rate of {rate}/s"),
            (None, Some(sessions)) => format!("{sessions} sessions"),
            (None, None) => {
                sentences.push(self.why.clone());
                return sentences;
            }
        };
        let runs: Vec<&CurvePoint> = self.points.iter().filter(|point| self.is_knee(point)).collect();
        let values = |of: fn(&CurvePoint) -> Option<f64>| -> Option<Vec<f64>> {
            let values: Option<Vec<f64>> = runs.iter().map(|point| of(point)).collect();
            values.filter(|values| !values.is_empty())
        };
        let ends = |values: &[f64]| Some((summary::minimum(values)?, summary::maximum(values)?));
        let shown = |of, show: fn(f64) -> String| {
            let values = values(of).unwrap_or_default();
            let mean = or_absent(summary::mean(&values), show);
            let ends = ends(&values).filter(|_| runs.len() > 1);
            mean + &ends.map(|(low, high)| format!(" ({} to {})", show(low), show(high))).unwrap_or_default()
        };
        let lead = self.lead();
        let of_operations = format!(
            "mean of an operation {}, p99 {}",
            shown(|point| point.operation_mean_us, duration_us),
            shown(|point| point.operation_p99_us, duration_us),
        );
        let durations = match lead {
            Lead::Operation => of_operations,
            Lead::Response => format!(
                "mean of a response {}, p99 {}, {of_operations}",
                shown(|point| point.response_mean_us, duration_us),
                shown(|point| point.response_p99_us, duration_us),
            ),
        };
        sentences.push(format!(
            "{place}: {} operations/s, {} physical reads/s, mean of a read {}, {durations}; {} there.",
            shown(|point| Some(point.operations_per_s), |rate| fixed(rate, 0)),
            shown(|point| point.physical_reads_per_s, |rate| fixed(rate, 0)),
            shown(|point| point.physical_read_mean_us, duration_us),
            plural(runs.len() as u64, "run"),
        ));
        if let Some((low, high)) =
            values(|point| point.response_p99_us.filter(|_| point.rate_per_s.is_some()))
                .filter(|_| lead == Lead::Operation)
                .and_then(|values| ends(&values))
        {
            let (low, high) = (duration_us(low), duration_us(high));
            sentences.push(format!("p99 of response times there: {low} to {high}."));
        }
        sentences.extend(self.victim(&runs));
        sentences.push(self.why.clone());
        // The limit shows best at the largest number of sessions.
        if let Some(last) = self.points.iter().max_by_key(|point| (point.sessions, point.rate_per_s)) {
            let most = last.rate_per_s.map(|rate| format!(" and {rate} operations/s")).unwrap_or_default();
            sentences.push(format!(
                "What limited it at {} sessions{most}: {}. {}",
                last.sessions, last.bottleneck, last.reason
            ));
        }
        sentences
    }

    fn points_table(&self) -> Table {
        let is_open = self.is_open();
        let lead = self.lead();
        let (raised, checked) = match (is_open, lead) {
            (true, Lead::Operation) => ("Rate/s", "p99 response"),
            (true, Lead::Response) => ("Rate/s", "Op p99"),
            (false, _) => ("Sessions", "Little %"),
        };
        let mean = if lead == Lead::Response { "Response mean" } else { "Op mean" };
        let numbers = [raised, "Op/s", "Reads/s", "Read mean", "p99", mean, "p99", checked];
        let numbers = numbers.map(|head| Column::right(head).at_most(9));
        let words = ["Limited by", ""].map(|head| Column::left(head).at_most(12));
        let has_victim = self.points.iter().any(|point| point.victim.is_some());
        let limited = self.limit.as_deref().unwrap_or("Read mean");
        let of_victim = ["Victim op/s", limited].map(|head| Column::right(head).at_most(9));
        let of_victim = if has_victim { &of_victim[..] } else { &[] };
        let mut table = Table::new([numbers.as_slice(), of_victim, &words].concat());
        for point in self.sorted() {
            let marks =
                [self.is_knee(point).then_some("<- knee"), point.over_limit.then_some("over the limit")];
            let victim = point.victim.as_deref();
            let limited = match self.limit {
                Some(_) => point.limited_us,
                None => victim.and_then(|victim| victim.physical_read_mean_us),
            };
            let of_victim = [
                or_absent(victim, |victim| fixed(victim.operations_per_s, 1)),
                or_absent(limited, duration_us),
            ];
            let numbers = [
                match point.rate_per_s {
                    Some(rate) => rate.to_string(),
                    None if is_open => "closed loop".to_owned(),
                    None => point.sessions.to_string(),
                },
                fixed(point.operations_per_s, 1),
                or_absent(point.physical_reads_per_s, |rate| fixed(rate, 0)),
                or_absent(point.physical_read_mean_us, duration_us),
                or_absent(point.physical_read_p99_us, duration_us),
                or_absent(mean_us(lead, point), duration_us),
                or_absent(p99_us(lead, point), duration_us),
                match (is_open, lead) {
                    (true, Lead::Operation) => or_absent(point.response_p99_us, duration_us),
                    (true, Lead::Response) => or_absent(point.operation_p99_us, duration_us),
                    (false, _) => or_absent(point.little_percent, percent),
                },
            ];
            let words = [point.bottleneck.to_string(), marks.into_iter().flatten().join(", ")];
            let of_victim = of_victim.into_iter().filter(|_| has_victim);
            table.row(numbers.into_iter().chain(of_victim).chain(words));
        }
        table
    }

    fn lead(&self) -> Lead {
        Lead::of_all(self.points.iter().map(|point| point.leads))
    }

    fn little(&self) -> String {
        let tolerance = plain_number(COUNTERS_DIFFER.value);
        if self.is_open() {
            return "Response time counts from the moment at which an operation was due: it grows where the rate is not kept."
                .to_owned();
        }
        if self.points.iter().any(|point| point.little_percent.is_none()) {
            return "Little's law is not checked: not every session's time is known.".to_owned();
        }
        let is_off = |share: f64| (share - 100.0).abs() > COUNTERS_DIFFER.value;
        let off = self.points.iter().filter(|point| point.little_percent.is_some_and(is_off));
        let off = off.map(|point| point.sessions).join(", ");
        let law = "Little's law: throughput x mean response and think time must be the number of sessions";
        match off.is_empty() {
            true => format!("{law}; it is, within {tolerance} %, at every point."),
            false => format!(
                "{law}. It is not, within {tolerance} %, at {off} sessions: their responses can't be relied on."
            ),
        }
    }
}

fn levels<'a>(points: impl Iterator<Item = &'a CurvePoint>) -> Vec<(String, GroupVerdicts)> {
    let levels = points.into_group_map_by(|point| (point.sessions, point.rate_per_s));
    let of = |name: String, points: &[&CurvePoint]| {
        (name, GroupVerdicts::of(points.iter().map(|point| (point.run.as_str(), point.verdicts.as_slice()))))
    };
    let judged = |points: Vec<&CurvePoint>| {
        let name = points.first().map_or_else(String::new, |point| point.level());
        let victims: Vec<&CurvePoint> = points.iter().filter_map(|point| point.victim.as_deref()).collect();
        let of_victims = (!victims.is_empty()).then(|| of(format!("the victim beside {name}"), &victims));
        std::iter::once(of(name, &points)).chain(of_victims)
    };
    levels.into_iter().sorted_by_key(|(level, _)| *level).flat_map(|(_, points)| judged(points)).collect()
}

impl Answer for Curve {
    const NAME: &'static str = "search";

    fn write(&self, page: &mut Page) {
        page.section("Knee");
        self.sentences().iter().for_each(|sentence| page.paragraph(sentence));
        page.section("Verdicts");
        self.write_verdicts(page);
        page.section("Curve");
        page.table(&self.points_table());
        page.paragraph(&self.little());
    }

    fn view(&self) -> View {
        let (points, leads) = (self.sorted(), self.lead());
        let charts = vec![
            chart(
                "read-latency",
                "Read latency",
                &points,
                (&figure::PHYSICAL_READS_PER_S, &|point| point.physical_reads_per_s),
                [
                    (&figure::PHYSICAL_READ_MEAN_US, &|point| point.physical_read_mean_us),
                    (&figure::PHYSICAL_READ_P99_US, &|point| point.physical_read_p99_us),
                ],
            ),
            chart(
                "operation-latency",
                if leads == Lead::Response { "Response time" } else { "Operation latency" },
                &points,
                (&figure::OPERATIONS_PER_S, &|point| Some(point.operations_per_s)),
                [
                    (leads.mean(), &|point| mean_us(leads, point)),
                    (leads.p99(), &|point| p99_us(leads, point)),
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

type Of<'a> = (&'static Figure, &'a dyn Fn(&CurvePoint) -> Option<f64>);

fn mean_us(lead: Lead, point: &CurvePoint) -> Option<f64> {
    match lead {
        Lead::Operation => point.operation_mean_us,
        Lead::Response => point.response_mean_us,
    }
}

fn p99_us(lead: Lead, point: &CurvePoint) -> Option<f64> {
    match lead {
        Lead::Operation => point.operation_p99_us,
        Lead::Response => point.response_p99_us,
    }
}

/// A point for each level: a line through repeats would zigzag.
fn chart(
    id: &str,
    title: &str,
    points: &[&CurvePoint],
    (rate, rate_of): Of<'_>,
    latencies: [Of<'_>; 2],
) -> Chart {
    let line = |((figure, of), stroke): (Of<'_>, Stroke)| {
        let levels = points.chunk_by(|a, b| (a.sessions, a.rate_per_s) == (b.sessions, b.rate_per_s));
        let point = |level: &[&CurvePoint]| {
            let known = level.iter().filter_map(|point| Some((rate_of(point)?, of(point)? / 1e6)));
            let (rates, latencies): (Vec<f64>, Vec<f64>) = known.unzip();
            let first = level.first()?;
            let label = first.rate_per_s.unwrap_or(first.sessions).to_string();
            Some(((summary::mean(&rates)?, summary::mean(&latencies)), label))
        };
        let (points, labels): (Vec<_>, Vec<_>) = levels.filter_map(point).unzip();
        Line { labels, stroke, ..Line::through(figure.title, Colour::Variant(0), points) }
    };
    let verdicts =
        GroupVerdicts::of(points.iter().map(|point| (point.run.as_str(), point.verdicts.as_slice())));
    let bad = verdicts.against(rate.rests_on, Claim::Storage);
    let mark =
        bad.map(|bad| format!(" ({} {})", bad.question.title(), bad.answer.word())).unwrap_or_default();
    let names = latencies.map(|(figure, _)| figure.name).join(", ");
    let lines = known(latencies.into_iter().zip([Stroke::Solid, Stroke::Dot]).map(line));
    let (x, y) = (Axis::linear(rate.heading, Unit::Count), Axis::linear("latency", Unit::Seconds));
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
        body: Drawing::new(x, y, lines).tall(380).or("the target does not measure it"),
    }
}

#[cfg(test)]
mod tests {
    use slob_facts::{Grade, Judged, Question};
    use slob_testing::records;

    use super::*;

    fn point(rate: Option<u32>, over_limit: bool) -> CurvePoint {
        let mut point = CurvePoint::of(&records::direct_read_run(), over_limit).unwrap();
        let (answer, cause) = if over_limit { (Grade::Bad, "rate_missed") } else { (Grade::Good, "whole") };
        let (question, sentence) = (Question::Complete, cause.to_owned());
        point.verdicts = vec![Judged { question, answer, cause: cause.to_owned(), sentence }];
        point.rate_per_s = rate;
        point
    }

    fn curve(points: Vec<CurvePoint>) -> Curve {
        Curve(KneeResult {
            points,
            knee_sessions: None,
            knee_rate_per_s: Some(200),
            why: "Higher rates are not kept.".into(),
            limit: Some("read-p99=2ms".into()),
            tolerance_percent: 5.0,
        })
    }

    #[test]
    fn a_rate_beyond_the_knee_is_missed_and_makes_it_no_less_reliable() {
        let levels = || vec![point(None, true), point(Some(200), false), point(Some(400), true)];
        let words = curve(levels()).sentences().join(" ");
        assert!(!words.contains("can't be relied on") && words.contains("A rate of 200/s"), "{words}");
        let mut unsound = levels();
        unsound[1].verdicts = unsound[2].verdicts.clone();
        let words = curve(unsound).sentences().join(" ");
        assert!(words.contains("This knee can't be relied on"), "{words}");
    }

    #[test]
    fn responses_lead_in_a_search_of_crowded_runs() {
        let point = CurvePoint::of(&records::crowded_run(), false).unwrap();
        let found = KneeResult { knee_sessions: Some(16), knee_rate_per_s: None, ..curve(vec![point]).0 };
        let text = Curve(found).text(None);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("mean of a response 48.3 ms, p99 134 ms, mean of an operation 12.9 ms"),
            "{text}"
        );
        assert!(words.contains("Response") && words.contains("it is, within 1 %, at every point"), "{text}");
    }

    #[test]
    fn the_victims_figures_are_beside_each_level() {
        let mut kept = point(Some(200), false);
        kept.limited_us = Some(1_500.0);
        kept.victim = Some(Box::new(CurvePoint { operations_per_s: 123.4, ..point(Some(130), false) }));
        let curve = curve(vec![kept]);
        let words = curve.sentences().join(" ");
        assert!(words.contains("Beside it the victim did 123 operations/s"), "{words}");
        assert!(words.contains("1.50 ms of the limit read-p99=2ms"), "{words}");
        let table = curve.points_table().json();
        assert!(table.contains("123.4"), "{table}");
        assert!(curve.verdicts().iter().any(|(name, _)| name == "the victim beside a rate of 200/s"));
    }
}
