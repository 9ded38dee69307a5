//! A stretch of production replayed on a platform: each interval beside production's own figures.

use crate::{Answer, Outcome};
use std::ops::Deref;

use serde::Serialize;
use slob_demand::{Figure, HeadroomStep, Histograms, RESPONSE, ReplayInterval, ReplayResult, length, times};

use super::PlanView;
use super::headroom::{BESIDE, waits_chart};
use crate::html::chart::{Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::html::layout::{Section, View, lead};
use crate::page::{Column, Page, Table};
use slob_facts::Grade;
use slob_facts::format::{duration_us, fixed, or_absent, plural, significant};

/// The plan of its mix was calibrated at 1x.
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
        match (done, broken) {
            (0, _) => "Nothing was replayed".to_owned(),
            _ if self.unsound().is_some() => "Not known: the replay can't be relied on".to_owned(),
            (_, 0) if done < all => format!("Carried {what} so far: {done} of {all} intervals"),
            (_, 0) => format!("Carries {what}, interval by interval"),
            _ => format!("Does not carry {what} in {broken} of {}", plural(done as u64, "interval")),
        }
    }

    fn answer(&self) -> String {
        let mut sentences = Vec::new();
        sentences.extend(self.unsound().map(|why| format!("This result can't be relied on. {why}")));
        let (all, done) = (self.of_production(), self.replayed().count());
        sentences.push(format!(
            "{} was replayed in {}, {} times as fast: {done} of {}.",
            self.stretch(),
            length(self.intervals.iter().map(|interval| interval.slot.seconds).sum::<f64>() / self.compress),
            times(self.compress),
            plural(all as u64, "interval")
        ));
        let slower: Vec<&ReplayInterval> = self
            .replayed()
            .map(|(interval, _)| interval)
            .filter(|interval| !interval.slower.is_empty())
            .collect();
        let first = self.broken().next();
        sentences
            .extend(first.map(|first| format!("First at {}: {}.", first.slot.begin_words(), first.outcome)));
        sentences.push(match slower.first() {
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
            let here = interval.step.as_ref().map(|step| &step.figures);
            let reads = [here.and_then(|own| own.reads()), production.as_ref().and_then(|own| own.reads())];
            let pair = |figure: Figure, unit: f64| {
                [here.and_then(|own| own.get(figure)), production.as_ref().and_then(|own| own.get(figure))]
                    .map(|value| or_absent(value, |value| significant(value / unit)))
            };
            let [reads, there] = reads.map(|value| or_absent(value, significant));
            let ([redo, redo_there], [commits, commits_there]) =
                (pair(Figure::RedoBytes, 1e6), pair(Figure::Commits, 1.0));
            let kept = or_absent(interval.step.as_ref(), |step| fixed(step.kept_percent, 1));
            let rate = fixed(f64::from(interval.rate), 0);
            table.row([
                interval.slot.begin_words(),
                rate,
                kept,
                reads,
                there,
                redo,
                redo_there,
                commits,
                commits_there,
            ]);
        }
        table
    }

    fn latencies(&self) -> Table {
        let heads = ["Read mean", "(prod.)", "Commit", "(prod.)", "Response p99"].map(Column::right);
        let first = [Column::left("Interval")];
        let last = [Column::left("Outcome").at_most(40)];
        let mut table = Table::new([&first[..], &heads, &last].concat());
        for interval in &self.intervals {
            let pair = |figure: Figure| {
                let here = interval.step.as_ref().and_then(|step| step.figures.get(figure));
                let there = interval.slot.production.as_ref().and_then(|own| own.figures.get(figure));
                [here, there].map(|us| or_absent(us, duration_us))
            };
            let ([read, read_there], [commit, commit_there]) = (pair(Figure::ReadUs), pair(Figure::CommitUs));
            let response = interval.step.as_ref().and_then(|step| step.latency(RESPONSE));
            let response = or_absent(response, duration_us);
            let outcome = interval.outcome.clone();
            table.row([
                interval.slot.begin_words(),
                read,
                read_there,
                commit,
                commit_there,
                response,
                outcome,
            ]);
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

    fn peak(&self) -> Option<(&ReplayInterval, &HeadroomStep)> {
        self.replayed().max_by_key(|(interval, _)| interval.rate)
    }
}

impl Answer for Replay {
    const NAME: &'static str = "replay";

    fn page(&self) -> Page {
        let mut page = Page::default();
        page.section(&self.headline());
        page.paragraph(&self.answer());
        self.facts().for_each(|(name, fact)| page.fact(name, &fact));
        self.notes.iter().chain(&self.plan.notes).for_each(|note| page.fact("", note));
        page.section("What was asked for, and what was done");
        page.table(&self.work());
        page.section("Latencies");
        page.table(&self.latencies());
        page.section("Verdicts of the run");
        page.table(&self.verdicts());
        page.section("The plan, as it was calibrated");
        self.plan.write_fit(&mut page);
        page
    }

    fn view(&self) -> View {
        let answer = Section::new("answer", "At a glance").part("", |page| {
            self.facts().for_each(|(name, fact)| page.fact(name, &fact));
            self.notes.iter().chain(&self.plan.notes).for_each(|note| page.hanging("  -", note));
        });
        let peak = self.peak();
        let histograms =
            |of: fn(&(&ReplayInterval, &HeadroomStep)) -> Option<Histograms>| peak.as_ref().and_then(of);
        let (there, here) = (
            histograms(|(interval, _)| Some(interval.slot.production.as_ref()?.histograms.clone()))
                .unwrap_or_default(),
            histograms(|(_, step)| Some(step.histograms.clone())).unwrap_or_default(),
        );
        let waits =
            |name: &'static str, title: &str| waits_chart(name, title, there.get(name), here.get(name));
        let rates = Section::new("rates", "Hour by hour").charts(vec![
            chart(self, "reads", "Reads per second", Unit::Count, |own| own.reads()),
            chart(self, "redo", "Redo, bytes per second", Unit::Plain, |own| own.get(Figure::RedoBytes)),
            chart(self, "read-latency", "Read of a block, mean", Unit::Seconds, |own| {
                Some(own.get(Figure::ReadUs)? / 1e6)
            }),
            chart(self, "commit-latency", "Wait for a commit, mean", Unit::Seconds, |own| {
                Some(own.get(Figure::CommitUs)? / 1e6)
            }),
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
            has_links: true,
            sections: vec![answer, rates, beside, verdicts, fit],
            source: "From the profile and the records of the runs alone.".into(),
        }
    }

    fn table(&self) -> Table {
        self.work()
    }

    fn are_good(&self) -> bool {
        self.runs.iter().flat_map(|run| &run.verdicts).all(|verdict| verdict.answer == Grade::Good)
    }

    fn outcome(&self) -> Option<Outcome> {
        Some(match (self.unsound(), self.is_carried()) {
            (Some(_), _) => Outcome::NotKnown,
            (None, true) => Outcome::Passed,
            (None, false) => Outcome::Failed,
        })
    }
}

fn chart(
    replay: &Replay,
    id: &str,
    title: &str,
    unit: Unit,
    of: impl Fn(&slob_demand::Figures) -> Option<f64>,
) -> Chart {
    let hours = |interval: &ReplayInterval| (interval.slot.from_s + interval.slot.seconds / 2.0) / 3600.0;
    let x: Vec<f64> = replay.intervals.iter().map(hours).collect();
    let production =
        |interval: &ReplayInterval| of(&interval.slot.production.as_ref()?.figures.times(replay.multiply));
    let here = |interval: &ReplayInterval| of(&interval.step.as_ref()?.figures);
    let lines = [
        Line {
            stroke: Stroke::Dash,
            ..Line::new(
                "production",
                Colour::Variant(0),
                x.clone(),
                replay.intervals.iter().map(production).collect(),
            )
        },
        Line::new("here", Colour::Variant(1), x, replay.intervals.iter().map(here).collect()),
    ];
    let traces: Vec<Trace> = lines.into_iter().filter(Line::is_known).map(Trace::Line).collect();
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
        body: match drawing.traces.is_empty() {
            true => Err("neither production nor this platform measured it".into()),
            false => Ok(Drawing { marks, ..drawing }),
        },
    }
}
