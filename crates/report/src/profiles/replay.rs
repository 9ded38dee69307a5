//! A stretch of production replayed on a platform: each interval beside production's own figures.

use std::ops::Deref;

use itertools::Itertools;
use serde::Serialize;
use slob_demand::{Figure, Figures, ReplayInterval, ReplayResult, times};
use slob_facts::format::length;

use super::PlanView;
use super::headroom::{BESIDE, not_made, of_profiled, waits_chart};
use slob_facts::format::{duration_us, fixed, or_absent, plural, significant};
use slob_facts::{Grade, figure};
use slob_page::chart::{Axis, Chart, Colour, Drawing, Line, Stroke, Unit, known};
use slob_page::layout::{Section, View, lead};
use slob_page::{Answer, Outcome};
use slob_page::{Column, Page, Table};

#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    pub plan: PlanView,
    #[serde(flatten)]
    pub result: ReplayResult,
}

impl Deref for Replay {
    type Target = ReplayResult;

    fn deref(&self) -> &ReplayResult {
        &self.result
    }
}

impl Replay {
    fn stretch(&self) -> String {
        let ends = self.intervals.first().zip(self.intervals.last());
        ends.map_or_else(String::new, |(first, last)| {
            format!("{} to {}", first.slot.begin_words(), last.slot.end_words())
        })
    }

    fn headline(&self) -> String {
        let (all, done, broken) = (self.of_production(), self.replayed().count(), self.broken().count());
        let what = match self.multiply {
            1.0 => "production".to_owned(),
            factor => format!("{}x production", times(factor)),
        };
        let carried = match (done, broken) {
            (0, _) => return "Nothing was replayed".to_owned(),
            _ if self.unknown().is_some() => return "Not known: the replay can't be relied on".to_owned(),
            (_, 0) if done < all => format!("Carried {what} so far: {done} of {all} intervals"),
            (_, 0) => format!("Carries {what}, interval by interval"),
            _ => format!("Does not carry {what} in {broken} of {}", plural(done as u64, "interval")),
        };
        [carried].into_iter().chain(of_profiled(self.bad())).collect()
    }

    /// Unsound, or of another load, as of a search for headroom.
    fn unknown(&self) -> Option<String> {
        let of_load = || not_made(&self.plan.fit, self.is_carried().then_some(1.0));
        self.unsound().or_else(|| of_load().map(|why| format!("In its calibration {why}.")))
    }

    fn answer(&self) -> String {
        let mut sentences = Vec::new();
        sentences.extend(self.unknown().map(|why| format!("This result can't be relied on. {why}")));
        let (all, done) = (self.of_production(), self.replayed().count());
        if done == 0 {
            return sentences.join(" ");
        }
        sentences.push(format!(
            "{} was replayed in {}, {} times as fast: {done} of {}.",
            self.stretch(),
            length(self.intervals.iter().map(|interval| interval.slot.seconds).sum::<f64>() / self.compress),
            times(self.compress),
            plural(all as u64, "interval")
        ));
        let slower = self.replayed().map(|(own, _)| own).filter(|own| !own.slower.is_empty()).collect_vec();
        let first = self.broken().next();
        let first = first.map(|first| format!("First at {}: {}.", first.slot.begin_words(), first.outcome));
        sentences.extend(first);
        let cached = self.replayed().filter(|(own, _)| own.slot.has_cached_reads()).count();
        let cached = (cached > 0).then(|| plural(cached as u64, "interval"));
        sentences.extend(cached.as_ref().map(|intervals| {
            format!("In {intervals} production's page cache served reads, which are not compared.")
        }));
        sentences.push(match slower.first() {
            None if cached.is_some() => "Nowhere else was this platform slower than production.".to_owned(),
            None => "Nowhere was this platform slower than production, as far as both measure latencies."
                .to_owned(),
            Some(first) => format!(
                "In {} this platform would have been slower than production, first at {}: {}.",
                plural(slower.len() as u64, "interval"),
                first.slot.begin_words(),
                first.slower.join(", ")
            ),
        });
        sentences.extend(self.plan.shortfall());
        sentences.join(" ")
    }

    fn facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let [production, platform] = self.plan.ends(self.measured.as_ref());
        let mix = ("Mix", Some(self.plan.demand.point.clone()));
        [production, platform, mix].into_iter().filter_map(|(name, fact)| Some((name, fact?)))
    }

    fn work(&self) -> Table {
        let heads =
            ["Rate/s", "Kept %", "Reads/s", "(prod.)", "Redo MB/s", "(prod.)", "Commits/s", "(prod.)"];
        let mut table = Table::of_numbers(Column::left("Interval"), heads);
        for interval in &self.intervals {
            let production = interval.slot.production.as_ref().map(|own| own.figures.times(self.multiply));
            let both = [interval.step.as_ref().map(|step| &step.figures), production.as_ref()];
            let pair = |of: &dyn Fn(&Figures) -> Option<f64>| {
                both.map(|own| or_absent(own.and_then(of), significant))
            };
            let pairs = [
                pair(&|own| own.reads()),
                pair(&|own| Some(own.get(Figure::RedoBytes)? / 1e6)),
                pair(&|own| own.get(Figure::Commits)),
            ];
            let kept = or_absent(interval.step.as_ref(), |step| fixed(step.kept_percent, 1));
            let begin = [interval.slot.begin_words(), fixed(f64::from(interval.rate), 0), kept];
            table.row(begin.into_iter().chain(pairs.into_iter().flatten()));
        }
        table
    }

    fn latencies(&self) -> Table {
        let heads = ["Read mean", "(prod.)", "Commit", "(prod.)", "Response p99"].map(Column::right);
        let outcome = Column::left("Outcome").at_most(40);
        let mut table = Table::new([Column::left("Interval")].into_iter().chain(heads).chain([outcome]));
        for interval in &self.intervals {
            let pair = |figure: Figure| {
                let here = interval.step.as_ref().and_then(|step| step.figures.get(figure));
                let there = interval.slot.production.as_ref().and_then(|own| own.figures.get(figure));
                [here, there].map(|us| or_absent(us, duration_us))
            };
            let response = interval.step.as_ref().and_then(|step| step.latency(figure::RESPONSE_P99_US.name));
            let pairs = [pair(Figure::ReadUs), pair(Figure::CommitUs)].into_iter().flatten();
            let end = [or_absent(response, duration_us), interval.outcome.clone()];
            table.row([interval.slot.begin_words()].into_iter().chain(pairs).chain(end));
        }
        table
    }

    fn verdicts(&self) -> Table {
        let titles = self.runs.iter().take(1).flat_map(|run| &run.verdicts);
        let titles = titles.map(|verdict| Column::left(verdict.question.title()));
        let mut table = Table::new([Column::left("Run")].into_iter().chain(titles));
        for run in &self.runs {
            let answers = run.verdicts.iter().map(|verdict| verdict.answer.word().to_owned());
            table.row([run.run.clone()].into_iter().chain(answers));
        }
        table
    }
}

impl Answer for Replay {
    const NAME: &'static str = "replay";

    fn write(&self, page: &mut Page) {
        page.section(&self.headline());
        page.paragraph(&self.answer());
        self.facts().for_each(|(name, fact)| page.fact(name, &fact));
        self.notes.iter().chain(&self.plan.notes).for_each(|note| page.fact("", note));
        page.section("What was asked for, and what was done");
        page.table(&self.work());
        page.section("Latencies");
        page.table(&self.latencies());
        page.table_under("Verdicts of the run", &self.verdicts());
        self.plan.write_plan(page);
    }

    fn view(&self) -> View {
        let answer = Section::new("answer", "At a glance").part("", |page| {
            self.facts().for_each(|(name, fact)| page.fact(name, &fact));
            page.list(self.notes.iter().chain(&self.plan.notes));
        });
        let peak = self.replayed().max_by_key(|(interval, _)| interval.rate);
        let waits = |name: &'static str, title: &str| {
            let there =
                peak.and_then(|(interval, _)| interval.slot.production.as_ref()?.histograms.get(name));
            waits_chart(name, title, there, peak.and_then(|(_, step)| step.histograms.get(name)))
        };
        let us = |figure| move |own: &Figures| Some(own.get(figure)? / 1e6);
        let rates = Section::new("rates", "Hour by hour").charts(vec![
            chart(self, "reads", "Reads per second", Unit::Count, |own| own.reads()),
            chart(self, "redo", "Redo, bytes per second", Unit::Plain, |own| own.get(Figure::RedoBytes)),
            chart(self, "read-latency", "Read of a block, mean", Unit::Seconds, us(Figure::ReadUs)),
            chart(self, "commit-latency", "Wait for a commit, mean", Unit::Seconds, us(Figure::CommitUs)),
        ]);
        let beside = Section::new("beside", BESIDE)
            .part("Work of each interval", |page| page.table(&self.work()))
            .part("Latencies of each interval", |page| page.table(&self.latencies()))
            .charts(vec![
                waits("read", "Reads of a block in the busiest interval"),
                waits("commit", "Waits for the log in the busiest interval"),
            ]);
        let verdicts = Section::new("verdicts", "Verdicts").part("", |page| page.table(&self.verdicts()));
        let fit =
            Section::new("plan", "The plan").part("Demanded and measured", |page| self.plan.write_fit(page));
        View {
            title: format!("Replay: {}", self.plan.database),
            heading: self.headline(),
            lead: lead(&self.answer()),
            sections: vec![answer, rates, beside, verdicts, fit],
            source: "From the profile and the records of the runs alone.".into(),
        }
    }

    fn table(&self) -> Table {
        self.work()
    }

    fn are_good(&self) -> bool {
        self.runs
            .iter()
            .flat_map(|run| &run.verdicts)
            .chain(self.bad())
            .all(|verdict| verdict.answer == Grade::Good)
    }

    fn outcome(&self) -> Option<Outcome> {
        Some(match (self.unknown(), self.is_carried()) {
            (Some(_), _) => Outcome::NotKnown,
            (None, true) => Outcome::Passed,
            (None, false) => Outcome::Failed,
        })
    }
}

fn chart(replay: &Replay, id: &str, title: &str, unit: Unit, of: impl Fn(&Figures) -> Option<f64>) -> Chart {
    let hours = |interval: &ReplayInterval| (interval.slot.from_s + interval.slot.seconds / 2.0) / 3600.0;
    let x: Vec<f64> = replay.intervals.iter().map(hours).collect();
    let production =
        |interval: &ReplayInterval| of(&interval.slot.production.as_ref()?.figures.times(replay.multiply));
    let here = |interval: &ReplayInterval| of(&interval.step.as_ref()?.figures);
    let line = |name: &str, place, of: &dyn Fn(&ReplayInterval) -> Option<f64>| {
        Line::new(name, Colour::Variant(place), x.clone(), replay.intervals.iter().map(of).collect())
    };
    let production = Line { stroke: Stroke::Dash, ..line("production", 0, &production) };
    let traces = known([production, line("here", 1, &here)]);
    let begin = replay.intervals.first().map(|first| first.slot.begin_words()).unwrap_or_default();
    let multiple = match replay.multiply {
        1.0 => String::new(),
        factor => format!(", its rates {} times", times(factor)),
    };
    let marks = replay.broken().map(|interval| (hours(interval), "broke".to_owned())).take(1).collect();
    let drawing = Drawing::new(Axis::linear("hours", Unit::Plain), Axis::linear(title, unit), traces);
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        about: format!("Hours of production from {begin} on. Dashed: production{multiple}."),
        source: "the profile, and the samples of the run at the edges of each interval".into(),
        body: Drawing { marks, ..drawing }.or("neither production nor this platform measured it"),
    }
}
