//! A stretch of production replayed on a platform: each interval beside production's own figures.

use crate::{Answer, Outcome};
use serde::Serialize;
use slob_profile::{Figure, Histograms, Slot, length};
use slob_record::Record;

use super::headroom::{BESIDE, Measured, times, waits_chart};
use super::limits::HeadroomLimit;
use super::runs::{figures, histograms, steps};
use super::{HeadroomStep, PlanView};
use crate::html::chart::{Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::html::layout::{Section, View, lead};
use crate::page::{Column, Page, Table};
use slob_facts::format::{duration_us, fixed, or_absent, plural, significant};
use slob_facts::measured::{OfferedLoad, total_operations};
use slob_facts::thresholds::FLASH_READ;
use slob_facts::{Grade, Judged, Question, Run, figure, verdicts};

/// A mean that exceeds production's by this share is slower.
const SLOWER: f64 = 1.05;

/// Latencies of production that are compared, by their names.
const COMPARED: [(Figure, &str); 2] = [(Figure::ReadUs, "reads take"), (Figure::CommitUs, "commits wait")];

#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// The plan of the mix, as it was calibrated at 1x.
    pub plan: PlanView,
    pub measured: Option<Measured>,
    /// Times production's work.
    pub multiply: f64,
    /// Seconds of production in one of the replay.
    pub compress: f64,
    /// True if reads that the page cache served count.
    pub count_cached: bool,
    pub intervals: Vec<ReplayInterval>,
    /// Verdicts of each run of the replay.
    pub runs: Vec<ReplayRun>,
    /// Sentences on what of production is not replayed.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReplayRun {
    pub run: String,
    pub verdicts: Vec<Judged>,
}

/// An interval of production and what the platform made of it.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayInterval {
    #[serde(flatten)]
    pub slot: Slot,
    /// Intended operations per second.
    pub rate: u32,
    /// `None` if it was not replayed to its end.
    pub step: Option<HeadroomStep>,
    /// The latencies that exceed production's, within the limits or not.
    pub slower: Vec<String>,
    pub outcome: String,
}

impl Replay {
    /// Adds the whole steps of a run that replays the intervals from number `first` on. A run's schedule has a step for each.
    /// Returns how many intervals there are up to the last of them.
    pub fn add(&mut self, record: &Record, first: usize, columns: &[&str]) -> usize {
        let mut done = 0;
        self.measured.get_or_insert_with(|| Measured::of(record));
        self.runs.push(ReplayRun {
            run: record.id.clone(),
            verdicts: verdicts(record).iter().map(Judged::from).collect(),
        });
        let Some(schedule) = &record.workload.rate_per_s else { return done };
        let loads = OfferedLoad::steps(record);
        for (from_s, step) in steps(record) {
            let Some(nth) = schedule.spans().position(|(begin_s, ..)| begin_s == from_s) else { continue };
            let (Some(interval), Some(Some(load))) = (self.intervals.get_mut(first + nth), loads.get(nth))
            else {
                continue;
            };
            interval.step = Some(step_of(&step, interval.slot.share * self.multiply, load, columns));
            done = first + nth + 1;
        }
        done
    }

    pub fn has(&self, record: &Record) -> bool {
        self.runs.iter().any(|run| run.run == record.id)
    }

    /// Judges each interval by limits, which are those asked for or the defaults from its own production and from the quietest
    /// interval here.
    pub fn judge(&mut self, asked: &[HeadroomLimit]) {
        let worked = self.intervals.iter().filter(|interval| interval.rate > 0);
        let quietest = worked.filter(|interval| interval.step.is_some()).min_by_key(|interval| interval.rate);
        let quietest = quietest.and_then(|interval| interval.step.clone());
        for ReplayInterval { slot, rate, step, slower, outcome } in &mut self.intervals {
            let (Some(production), Some(step)) = (&slot.production, step.as_mut()) else {
                *outcome =
                    if slot.production.is_none() { "nothing is known" } else { "not replayed" }.to_owned();
                continue;
            };
            let defaults = || HeadroomLimit::defaults(&production.figures, quietest.as_ref(), &[]);
            step.judge(&if asked.is_empty() { defaults() } else { asked.to_vec() });
            let compare = |(figure, verb): (Figure, &str)| {
                let [here, there] = [step.figures.get(figure)?, production.figures.get(figure)?];
                // A page cache served production, which says nothing of its storage.
                let is_cached = figure == Figure::ReadUs && there < FLASH_READ.value;
                let is_slower = there > 0.0 && !is_cached && here > SLOWER * there;
                is_slower.then(|| format!("{verb} {} instead of {}", duration_us(here), duration_us(there)))
            };
            *slower = COMPARED.into_iter().filter_map(compare).collect();
            *outcome = match &step.broke {
                Some(broke) => broke.words(),
                None if *rate == 0 => "at rest".to_owned(),
                None if slower.is_empty() => "held".to_owned(),
                None => "held, slower".to_owned(),
            };
        }
    }

    /// The intervals of production that were replayed.
    fn replayed(&self) -> impl Iterator<Item = (&ReplayInterval, &HeadroomStep)> {
        let known = self.intervals.iter().filter(|interval| interval.slot.production.is_some());
        known.filter_map(|interval| Some((interval, interval.step.as_ref()?)))
    }

    fn broken(&self) -> impl Iterator<Item = &ReplayInterval> {
        self.replayed().filter(|(_, step)| step.broke.is_some()).map(|(interval, _)| interval)
    }

    fn of_production(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.slot.production.is_some()).count()
    }

    /// True if every interval was replayed and held, on runs that can be relied on.
    pub fn is_carried(&self) -> bool {
        self.replayed().count() == self.of_production()
            && self.broken().next().is_none()
            && self.unsound().is_none()
    }

    /// Why nothing follows from a run: its reads were not physical, or its counters do not agree. A run that missed its rate or
    /// was interrupted is part of the answer.
    fn unsound(&self) -> Option<String> {
        let counts = |verdict: &&Judged| match verdict.question {
            Question::Physical => !self.count_cached,
            question => question == Question::Accounted,
        };
        self.runs.iter().find_map(|run| {
            let bad = run.verdicts.iter().filter(counts).find(|verdict| verdict.answer == Grade::Bad)?;
            let hint = if bad.question == Question::Physical {
                " --count-cached counts them nevertheless."
            } else {
                ""
            };
            Some(format!("{} is BAD in {}: {}{hint}", bad.question.title(), run.run, bad.sentence))
        })
    }

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

    /// The interval with the most work that was replayed.
    fn peak(&self) -> Option<(&ReplayInterval, &HeadroomStep)> {
        self.replayed().max_by_key(|(interval, _)| interval.rate)
    }
}

/// The column of the response times, beside those that limits need.
pub const RESPONSE: &str = "response_p99_us";

/// A step of a run alone, as that of a search.
fn step_of(step: &Record, factor: f64, load: &OfferedLoad, columns: &[&str]) -> HeadroomStep {
    let of = Run::of(step);
    let (rate, done) = load.per_second();
    let latency = |column: &&str| Some(((*column).to_owned(), figure::named(column)?.of(&of)?));
    let mut own = figures(step);
    let seconds = step.window.map_or(0.0, |window| window.seconds);
    let busy: f64 = step.operations.values().map(|kind| kind.latency.sum() as f64 / 1e9).sum();
    own.set_known(
        Figure::DbTime,
        slob_facts::measured::ratio(busy, seconds).filter(|_| total_operations(step) > 0),
    );
    HeadroomStep {
        factor,
        run: step.id.clone(),
        rate: rate.round() as u32,
        sessions: step.workload.sessions(),
        kept_percent: 100.0 * load.share().unwrap_or(1.0),
        rate_kept: !load.is_missed(),
        figures: own,
        latencies: columns.iter().filter_map(latency).collect(),
        histograms: histograms(step),
        reason: format!("{} of {} operations/s were done", fixed(done, 1), fixed(rate, 1)),
        ..HeadroomStep::default()
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

/// A figure of each interval, in production and here, by the hours of the stretch.
fn chart(
    replay: &Replay,
    id: &str,
    title: &str,
    unit: Unit,
    of: impl Fn(&slob_profile::Figures) -> Option<f64>,
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
