//! The headroom of a platform: the multiple of a demand that it carries.

use std::ops::Deref;

use itertools::Itertools;
use serde::Serialize;
use slob_demand::{
    Break, Bucket, Environment, Figure, Fit, FitLine, HeadroomLimit, HeadroomResult, HeadroomStep,
    NotCounted, TOLERANCE_PERCENT, times,
};
use slob_spec::Amount;

use super::{FIGURE_HEAD, PlanView, not_modelled_table, with_unit};
use slob_facts::format::{Percent, duration_us, fixed, or_absent, percent, plural, significant};
use slob_facts::thresholds::LOAD_MADE;
use slob_facts::{CARRIED, Grade, Judged};
use slob_page::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Line, Stroke, Trace, Unit, known};
use slob_page::layout::{Section, View, lead};
use slob_page::{Answer, Outcome};
use slob_page::{Column, Page, Table};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct Headroom {
    pub plan: PlanView,
    #[serde(flatten)]
    result: HeadroomResult,
    unknown: Option<String>,
    cost_per_hour: Option<Amount>,
    licensed_cores: Option<Amount>,
}

pub(super) fn nearest_above<T>(carries: Option<f64>, items: impl Iterator<Item = (f64, T)>) -> Option<T> {
    let above = items.filter(|(factor, _)| carries.is_none_or(|carries| *factor > carries));
    above.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, item)| item)
}

/// A step that broke a limit may have missed its rate: that is the answer.
pub(super) fn refused(step: &HeadroomStep) -> Option<String> {
    if step.broke.is_some() || step.not_counted.is_some() {
        return None;
    }
    let bad = |verdict: &&Judged| verdict.answer == Grade::Bad && CARRIED.contains(&verdict.question);
    let bad = step.verdicts.iter().find(bad)?;
    Some(format!("at {} times {}", times(step.factor), bad.words()))
}

pub(super) fn are_good<'a>(steps: impl IntoIterator<Item = &'a HeadroomStep>) -> bool {
    let carried = steps
        .into_iter()
        .filter(|step| step.broke.is_none() && step.not_counted != Some(NotCounted::Repeated));
    carried.flat_map(|step| &step.verdicts).all(|verdict| verdict.answer == Grade::Good)
}

/// A rate that was not kept explains some of another load. A load that is too small and not carried shows enough.
pub(super) fn not_made(fit: &Fit, carries: Option<f64>) -> Option<String> {
    let part = |line: &FitLine| {
        let kept = fit.kept_percent.clamp(1.0, 100.0);
        let percent = 100.0 * ((100.0 + line.percent?) / kept - 1.0);
        let decides = percent > 0.0 || carries.is_some();
        let side = if percent < 0.0 { "below" } else { "above" };
        let is_far = line.must && !line.by_chance && decides && percent.abs() > LOAD_MADE.value;
        is_far.then(|| format!("{} {} % {side}", line.what.words(), Percent(percent.abs())))
    };
    let parts = fit.lines.iter().filter_map(part).join(", ");
    let why = "the test does not make this demand on this target";
    (!parts.is_empty()).then(|| format!("{why}: {parts}"))
}

/// A headline names the BAD verdicts on production, each once.
pub(super) fn of_profiled<'a>(bad: impl IntoIterator<Item = &'a Judged>) -> impl Iterator<Item = String> {
    let questions = bad.into_iter().map(|bad| bad.question).unique();
    questions.map(|question| format!("; {} of the profiled run is BAD", question.title()))
}

/// A headline names what is known of the steps that count.
fn of_steps(counted: &[&HeadroomStep]) -> [Option<String>; 2] {
    let of = plural(counted.len() as u64, "step");
    let number =
        |is_it: fn(&&&HeadroomStep) -> bool| Some(counted.iter().filter(is_it).count()).filter(|n| *n > 0);
    let spoiled = number(|step| step.spoiled.is_some());
    let cached = number(|step| step.is_cached());
    [
        spoiled.map(|n| format!("; others spoiled {n} of {of}")),
        cached.map(|n| format!("; Physical? of {n} of {of} is BAD")),
    ]
}

impl PlanView {
    pub(super) fn ends(&self, measured: Option<&Environment>) -> [(&'static str, Option<String>); 2] {
        let joined = |parts: [Option<String>; 2], by| parts.into_iter().flatten().join(by);
        let production = joined([Some(self.database.clone()), self.production.clone()], ", ");
        let platform = joined([self.target.clone(), measured.map(Environment::words)], ": ");
        [("Production", Some(production)), ("Platform", Some(platform))]
    }

    pub(super) fn shortfall(&self) -> Option<String> {
        let mut parts = self.fit.lines.iter().filter(|line| line.must).filter_map(|line| {
            let percent = self.fit.asked_percent(line).filter(|percent| *percent < -TOLERANCE_PERCENT)?;
            let decimals = if percent > -99.0 { 0 } else { 1 };
            Some(format!("{} {} % below", line.what.words(), fixed(-percent, decimals)))
        });
        let parts = parts.join(", ");
        let caution = "Mind that the test asks for less than production did, as it was calibrated";
        (!parts.is_empty()).then(|| format!("{caution}: {parts}."))
    }
}

impl Deref for Headroom {
    type Target = HeadroomResult;

    fn deref(&self) -> &HeadroomResult {
        &self.result
    }
}

impl Headroom {
    pub fn of(
        plan: PlanView,
        result: HeadroomResult,
        cost_per_hour: Option<Amount>,
        licensed_cores: Option<Amount>,
    ) -> Self {
        Self { plan, result, unknown: None, cost_per_hour, licensed_cores }.judged()
    }

    fn counted(&self) -> impl Iterator<Item = &HeadroomStep> {
        self.steps.iter().filter(|step| step.not_counted.is_none())
    }

    fn at_one(&self) -> Option<&HeadroomStep> {
        self.counted().filter(|step| step.factor == 1.0).last()
    }

    /// Unknown if another load was made, no step counts, or a verdict forbids it.
    fn judged(self) -> Self {
        let uncounted = || match self.steps.iter().find_map(HeadroomStep::why_cached) {
            Some(why) => format!("no step counts: {why}"),
            None => "no step counts".to_owned(),
        };
        let uncounted = self.counted().next().is_none().then(uncounted);
        let of_demand = self.refused.clone();
        let unknown = of_demand
            .or_else(|| not_made(&self.plan.fit, self.carries))
            .or(uncounted)
            .or_else(|| self.steps.iter().find_map(refused));
        Self { unknown: unknown.map(|why| why.trim_end_matches('.').to_owned()), ..self }
    }

    /// `Carries 2.4x (2.1 to 2.7) your peak hour`
    fn headline(&self) -> String {
        let name = &self.plan.demand.name;
        if self.unknown.is_some() {
            return "Headroom is not known".to_owned();
        }
        let provisos = self.provisos();
        let Some(carries) = self.carries else { return format!("Does not carry your {name}{provisos}") };
        let range = match (self.at_least, self.less_than) {
            (Some(low), Some(high)) => format!(" ({} to {})", times(low), times(high)),
            (Some(low), None) if low < carries => format!(" ({} in every run)", times(low)),
            _ => String::new(),
        };
        let end = if self.less_than.is_none() && self.broken().is_none() { " at least" } else { "" };
        format!("Carries {}x{range} your {name}{end}{provisos}", times(carries))
    }

    fn provisos(&self) -> String {
        let of_steps = of_steps(&self.counted().collect::<Vec<_>>());
        of_steps.into_iter().flatten().chain(of_profiled(&self.plan.demand.bad)).collect()
    }

    fn broken(&self) -> Option<(&HeadroomStep, &Break)> {
        let broken = self.counted().filter_map(|step| Some((step.factor, (step, step.broke.as_ref()?))));
        nearest_above(self.carries, broken)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let broken = self.broken();
        let breaks = |(step, broke): (&HeadroomStep, &Break)| {
            format!("at {} times: {}", times(step.factor), broke.words())
        };
        let bottleneck = |step: &HeadroomStep| Some(format!("{}: {}", step.bottleneck?, step.reason));
        let [production, platform] = self.plan.ends(self.measured.as_ref());
        let facts = [
            ("Breaks", broken.map(breaks)),
            ("Bottleneck", broken.and_then(|(step, _)| bottleneck(step))),
            production,
            platform,
            ("Demand", Some(self.demand())),
            ("Mean read", self.mean_reads()),
            ("Limits", Some(self.limits_in_words())),
            ("Search", Some(self.why.clone())),
            ("Spoiled", broken.and_then(|(step, _)| self.spoiled_at(step.factor))),
        ];
        facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect()
    }

    /// `None` if a run that broke at this multiple was undisturbed.
    fn spoiled_at(&self, factor: f64) -> Option<String> {
        let broken = self.counted().filter(|step| step.factor == factor && step.broke.is_some());
        let why: Option<Vec<&String>> = broken.map(|step| step.spoiled.as_ref()).collect();
        let why = why?.into_iter().last()?;
        let is_repeated =
            |step: &HeadroomStep| step.factor == factor && step.not_counted == Some(NotCounted::Repeated);
        let each = if self.steps.iter().any(is_repeated) { ", each time that it was repeated" } else { "" };
        Some(format!("by others{each}: more may be carried. {why}"))
    }

    fn demand(&self) -> String {
        let figures = &self.plan.demand.figures;
        let parts = [
            figures.reads().map(|reads| format!("{} reads/s", significant(reads))),
            figures.get(Figure::RedoBytes).map(|redo| format!("{} redo", with_unit(Figure::RedoBytes, redo))),
            figures.get(Figure::Commits).map(|commits| format!("{} commits/s", significant(commits))),
        ];
        format!("{}; {}", self.plan.demand.point, parts.into_iter().flatten().join(", "))
    }

    fn mean_reads(&self) -> Option<String> {
        let production = self.plan.demand.figures.get(Figure::ReadUs)?;
        let here = self.at_one()?.figures.get(Figure::ReadUs)?;
        let [production, here] = [production, here].map(duration_us);
        Some(format!("{production} in production; here, at the same demand, {here}"))
    }

    fn answer(&self) -> String {
        let unknown = self.unknown.as_ref().map(|why| format!("Not known, because {why}."));
        let price = if unknown.is_none() { self.price() } else { None };
        let nothing = (unknown.is_none() && self.carries.is_none())
            .then(|| "The least part of it that was tried is not carried either.".to_owned());
        let caution = self.limits.iter().find_map(HeadroomLimit::caution);
        let sentences = [unknown, nothing, price, self.plan.shortfall(), caution];
        sentences.into_iter().flatten().join(" ")
    }

    fn price(&self) -> Option<String> {
        let carries = self.carries?;
        let part = |amount: &Amount, of: &str| format!("{} {of}", significant(amount.number() / carries));
        let cost = self.cost_per_hour.as_ref();
        let cost = cost.map(|cost| part(cost, format!("{} per hour", cost.unit()).trim_start()));
        let cores = self.licensed_cores.as_ref().map(|cores| part(cores, "licensed cores"));
        let parts = cost.into_iter().chain(cores).join(" and ");
        (!parts.is_empty()).then(|| format!("Each time that it carries this demand takes {parts}."))
    }

    fn limits_in_words(&self) -> String {
        let limit = |limit: &HeadroomLimit| {
            let mut steps = self.all_steps().peekable();
            let is_measured = steps.peek().is_none() || steps.any(|step| limit.latency_of(step).is_some());
            let note = " (this target does not measure it: it limits nothing)";
            limit.words() + if is_measured { "" } else { note }
        };
        self.limits
            .iter()
            .map(limit)
            .chain(["the rate kept within 5 % and what chance explains".to_owned()])
            .join(", ")
    }

    fn all_steps(&self) -> impl Iterator<Item = &HeadroomStep> {
        self.low_load.iter().chain(&self.steps)
    }

    fn steps_table(&self) -> Table {
        let heads = ["Times", "Rate/s", "Kept %", "Reads/s", "Redo MB/s", "Read mean", "Redo sync"];
        let outcome = [Column::left("Outcome").at_most(34)];
        let mut table = Table::new([&heads.map(Column::right)[..], &outcome].concat());
        for step in self.all_steps() {
            let figure = |figure| step.figures.get(figure);
            table.row([
                times(step.factor),
                fixed(f64::from(step.rate), 0),
                fixed(step.kept_percent, 1),
                or_absent(step.figures.reads(), significant),
                or_absent(figure(Figure::RedoBytes), |bytes| significant(bytes / 1e6)),
                or_absent(figure(Figure::ReadUs), duration_us),
                or_absent(figure(Figure::CommitUs), duration_us),
                step.outcome(),
            ]);
        }
        table
    }

    fn write_steps(&self, page: &mut Page) {
        page.table(&self.steps_table());
        let cached: Vec<String> = self.steps.iter().filter_map(HeadroomStep::why_cached).collect();
        if let Some(why) = cached.first() {
            page.paragraph(&format!("{} not counted: {why}", plural(cached.len() as u64, "step")));
        }
        let repeated = |step: &&HeadroomStep| step.not_counted == Some(NotCounted::Repeated);
        let repeated: Vec<&HeadroomStep> = self.steps.iter().filter(repeated).collect();
        if let Some(why) = repeated.last().and_then(|step| step.spoiled.as_deref()) {
            let at = repeated.iter().map(|step| times(step.factor)).dedup().join(", ");
            let steps = plural(repeated.len() as u64, "step");
            page.paragraph(&format!("{steps} repeated, at {at} times the demand. The last: {why}"));
        }
    }

    fn beside_production(&self) -> Table {
        let mut table = Table::of_numbers(Column::left(FIGURE_HEAD), ["Production", "This platform"]);
        for figure in Figure::all() {
            let production = self.plan.demand.figures.get(figure);
            let here = self.at_one().and_then(|step| step.figures.get(figure));
            if production.is_some() || here.is_some() {
                let [production, here] =
                    [production, here].map(|value| or_absent(value, |value| with_unit(figure, value)));
                table.row([figure.title().to_owned(), production, here]);
            }
        }
        table
    }

    fn write_verdicts(&self, page: &mut Page) {
        let Some(first) = self.steps.first() else { return };
        let titles = first.verdicts.iter().map(|verdict| Column::left(verdict.question.title()));
        let mut table = Table::new([Column::right("Times"), Column::left("Run")].into_iter().chain(titles));
        for step in &self.steps {
            let answers = step.verdicts.iter().map(|verdict| verdict.answer.word().to_owned());
            table.row([times(step.factor), step.run.clone()].into_iter().chain(answers));
        }
        page.table(&table);
    }
}

pub(super) const BESIDE: &str = "Production beside this platform";

impl Answer for Headroom {
    const NAME: &'static str = "headroom";

    fn write(&self, page: &mut Page) {
        let plan = &self.plan;
        page.section(&self.headline());
        page.paragraph(&self.answer());
        self.facts().iter().for_each(|(name, fact)| page.fact(name, fact));
        plan.demand.notes.iter().chain(&plan.notes).for_each(|note| page.fact("", note));
        if self.all_steps().next().is_some() {
            page.section("Steps");
            self.write_steps(page);
            page.table_under(&format!("{BESIDE} at the same demand"), &self.beside_production());
        }
        plan.write_plan(page);
        plan.write_not_modelled(page);
    }

    fn view(&self) -> View {
        let plan = &self.plan;
        let answer = Section::new("answer", "At a glance")
            .part("", |page| self.facts().iter().for_each(|(name, fact)| page.fact(name, fact)));
        let waits = |name: &'static str, title: &str| {
            let here = self.at_one().and_then(|step| step.histograms.get(name));
            waits_chart(name, title, plan.demand.histograms.get(name), here)
        };
        let beside = Section::new("beside", BESIDE)
            .part("Each figure, at the same demand", |page| page.table(&self.beside_production()))
            .charts(vec![waits("read", "Reads of a block"), waits("commit", "Waits for the log")]);
        let curve = Section::new("curve", "The curve to the break")
            .charts(vec![rate_chart(self), latency_chart(self)]);
        let steps = Section::new("steps", "Steps")
            .part("What was asked for, and what was done", |page| self.write_steps(page))
            .part("Verdicts of each step", |page| self.write_verdicts(page));
        let fit = Section::new("plan", "The plan").part("Demanded and measured", |page| {
            plan.write_fit(page);
            page.list(plan.notes.iter().chain(&plan.demand.notes));
        });
        let not_modelled = Section::new("not-modelled", "Not modelled");
        let nothing = "The profile does not tell of anything that is not modelled.";
        let title = "With its share of what production did";
        let not_modelled = match plan.not_modelled.as_slice() {
            [] => not_modelled.part("", |page| page.paragraph(nothing)),
            list => not_modelled.part(title, |page| page.table(&not_modelled_table(list))),
        };
        View {
            title: format!("Headroom: {}", plan.database),
            heading: self.headline(),
            lead: lead(&self.answer()),
            sections: vec![answer, curve, beside, steps, fit, not_modelled],
            source: "From the profile and the records of the runs alone.".into(),
        }
    }

    fn table(&self) -> Table {
        self.steps_table()
    }

    fn are_good(&self) -> bool {
        are_good(&self.steps) && self.plan.demand.bad.is_empty()
    }

    fn outcome(&self) -> Option<Outcome> {
        let is_carried = self.carries.is_some_and(|carries| carries >= 1.0);
        Some(match (self.unknown.is_none(), is_carried) {
            (false, _) => Outcome::NotKnown,
            (true, true) => Outcome::Passed,
            (true, false) => Outcome::Failed,
        })
    }
}

pub(super) fn waits_chart(
    name: &'static str,
    title: &str,
    production: Option<&Vec<Bucket>>,
    here: Option<&Vec<Bucket>>,
) -> Chart {
    let bars = |name: &str, colour, buckets: &[Bucket]| {
        let bars = buckets_in_percent(buckets).into_iter().map(|(from_us, to_us, share)| {
            // A logarithmic axis has no zero.
            let from_us = if from_us > 0.0 { from_us } else { to_us / 2.0 };
            let [from, to] = [from_us, to_us].map(duration_us);
            let hover = format!("{name}, {from} to {to}: {} %", percent(share));
            Bar::between(from_us / 1e6, to_us / 1e6, share, hover)
        });
        Trace::Bars(Bars { opacity: 0.55, ..Bars::new(name, colour, bars.collect()) })
    };
    let body = match (production, here) {
        (Some(production), Some(here)) => Ok(Drawing::new(
            Axis::log("duration", Unit::Seconds),
            Axis::linear("share of waits", Unit::Percent),
            vec![bars("production", Colour::Variant(0), production), bars("here", Colour::Variant(1), here)],
        )),
        (None, _) => Err("the profile has no histogram of them".into()),
        (_, None) => Err("this platform's database does not measure each of them".into()),
    };
    Chart {
        id: format!("histogram-{name}"),
        title: format!("{title}: how long they took"),
        about: "Share of the waits by their duration, in production and here at the same demand.".into(),
        source: "the profile, and the run at the same demand".into(),
        body,
    }
}

fn buckets_in_percent(buckets: &[Bucket]) -> Vec<(f64, f64, f64)> {
    let all: f64 = buckets.iter().map(|bucket| bucket.waits).sum();
    let of = |bucket: &Bucket| {
        // An open bucket gets the size of the one below it.
        let to_us = bucket.to_us.unwrap_or(bucket.from_us * 2.0);
        (bucket.from_us, to_us, 100.0 * bucket.waits / all)
    };
    buckets.iter().filter(|bucket| bucket.waits > 0.0 && all > 0.0).map(of).collect()
}

fn line(headroom: &Headroom, name: &str, colour: Colour, of: impl Fn(&HeadroomStep) -> Option<f64>) -> Line {
    let steps = headroom.counted().sorted_by(|one, other| one.factor.total_cmp(&other.factor));
    Line::through(name, colour, steps.map(|step| (step.factor, of(step))))
}

fn marks(headroom: &Headroom) -> Vec<(f64, String)> {
    let broken = headroom.broken().map(|(step, _)| step.factor);
    let all = [(Some(1.0), "production"), (headroom.carries, "carried"), (broken, "breaks")];
    let known = || all.into_iter().filter_map(|(at, text)| Some((at?, text)));
    let mark = |at| (at, known().filter(|(other, _)| *other == at).map(|(_, text)| text).join(", "));
    known().map(|(at, _)| at).unique_by(|at| at.to_bits()).map(mark).collect()
}

fn rate_chart(headroom: &Headroom) -> Chart {
    let asked = line(headroom, "asked for", Colour::Logical, |step| Some(f64::from(step.rate)));
    let done = |step: &HeadroomStep| Some(f64::from(step.rate) * step.kept_percent / 100.0);
    let done = line(headroom, "done", Colour::Reads, done);
    let is_known = asked.is_known();
    let drawing = Drawing::new(
        Axis::linear("times the demand", Unit::Plain),
        Axis::linear("operations per second", Unit::Count),
        vec![Trace::Line(Line { stroke: Stroke::Dash, ..asked }), Trace::Line(done)],
    );
    Chart {
        id: "rate".into(),
        title: "Asked for and done".into(),
        about: "Where the lines part, the platform no longer keeps up.".into(),
        source: "the runs of this search that count".into(),
        body: is_known
            .then_some(Drawing { marks: marks(headroom), ..drawing })
            .ok_or("no step counts".into()),
    }
}

fn latency_chart(headroom: &Headroom) -> Chart {
    let here = |name: &str, colour, figure| {
        line(headroom, name, colour, |step| Some(step.figures.get(figure)? / 1e6))
    };
    let production = |name: &str, colour, figure| {
        let level = headroom.plan.demand.figures.get(figure).map(|us| us / 1e6);
        let line = line(headroom, name, colour, |_| level);
        Line { stroke: Stroke::Dot, has_markers: false, ..line }
    };
    let limit = |name: &str, colour, column: &str| {
        let limit = headroom.limits.iter().find(|limit| limit.column == column).map(|limit| limit.us / 1e6);
        let line = line(headroom, name, colour, |_| limit);
        Line { stroke: Stroke::Dash, has_markers: false, ..line }
    };
    let lines = [
        limit("limit of the mean read", Colour::Reads, "physical_read_mean_us"),
        limit("limit of the mean redo sync", Colour::Redo, "redo_sync_mean_us"),
        here("mean read here", Colour::Reads, Figure::ReadUs),
        here("redo sync here", Colour::Redo, Figure::CommitUs),
        production("mean read in production", Colour::Reads, Figure::ReadUs),
        production("commit in production", Colour::Redo, Figure::CommitUs),
    ];
    let x = Axis::linear("times the demand", Unit::Plain);
    let drawing = Drawing::new(x, Axis::log("mean", Unit::Seconds), known(lines));
    Chart {
        id: "latency".into(),
        title: "Latency on the way".into(),
        about: "Dotted: what production had at the demand itself. Dashed: the limits.".into(),
        source: "the databases' own clocks".into(),
        body: Drawing { marks: marks(headroom), ..drawing }.or("no latency is known"),
    }
}

#[cfg(test)]
mod tests {
    use slob_demand::Aim;
    use slob_facts::Question;

    use super::*;

    fn line(what: Aim, percent: f64) -> FitLine {
        let (demanded, measured) = (100.0, Some(100.0 + percent));
        let (planned, percent, must, by_chance) = (None, Some(percent), true, false);
        FitLine {
            what,
            unit: "1/s",
            demanded,
            planned,
            measured,
            percent,
            must,
            by_chance,
            why: None,
            note: None,
        }
    }

    fn fit<const LINES: usize>(kept_percent: f64, lines: [(Aim, f64); LINES]) -> Fit {
        Fit { lines: lines.map(|(what, percent)| line(what, percent)).into(), kept_percent }
    }

    /// 'Carries 4x' was said of a test with 99.3 % fewer logical reads and three times the physical ones.
    #[test]
    fn a_load_that_was_not_made_carries_nothing() {
        let other = fit(100.0, [(Aim::LogicalReads, -99.3), (Aim::PhysicalReads, 213.0)]);
        let why = not_made(&other, Some(4.0)).unwrap();
        assert!(why.contains("logical reads 99.3 % below, physical reads 213.0 % above"), "{why}");
        assert!(not_made(&other, None).unwrap().contains("physical reads 213.0 % above"));
        let near = fit(100.0, [(Aim::LogicalReads, -12.0), (Aim::PhysicalReads, 9.0)]);
        assert_eq!(not_made(&near, Some(4.0)), None);
    }

    /// 'Mind that the test asks for less' was said of a platform that was too slow for what was asked.
    #[test]
    fn a_slow_platform_is_asked_for_the_whole_demand() {
        let mut slow = fit(10.0, [(Aim::PhysicalReads, -89.0)]);
        slow.lines[0].planned = Some(100.0);
        assert_eq!(slow.asked_percent(&slow.lines[0]), Some(0.0));
        slow.kept_percent = 100.0;
        assert_eq!(slow.asked_percent(&slow.lines[0]), Some(-89.0));
    }

    /// 'Carries 1x' was said without a word on reads that the page cache of the platform served.
    #[test]
    fn counted_steps_with_cached_reads_are_named() {
        let (question, answer) = (Question::Physical, Grade::Bad);
        let bad = Judged { question, answer, cause: String::new(), sentence: String::new() };
        let cached = HeadroomStep { verdicts: vec![bad], ..HeadroomStep::default() };
        let said = of_steps(&[&cached, &HeadroomStep::default()]);
        assert_eq!(said, [None, Some("; Physical? of 1 of 2 steps is BAD".to_owned())]);
    }

    /// A platform that is too slow for the rate was 'not known', and was left out of every comparison.
    #[test]
    fn a_rate_that_is_not_kept_is_no_other_load() {
        let slow = fit(40.0, [(Aim::LogicalReads, -60.0), (Aim::PhysicalReads, -61.0)]);
        assert_eq!(not_made(&slow, Some(0.3)), None);
        assert_eq!(not_made(&slow, None), None);
        let why = not_made(&fit(100.0, [(Aim::Redo, 40.0)]), Some(3.0)).unwrap();
        assert!(why.contains("redo 40.0 % above"), "{why}");
    }
}
