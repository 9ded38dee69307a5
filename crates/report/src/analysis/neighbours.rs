//! Matrix of neighbours: targets measured alone and beside each other, from the runs of a campaign.
//!
//! Changes are those of [`slob_stats::Comparison`], with one confidence for a table. A variant protects if its ratios of beside
//! to alone differ from the baseline's. Fairness is Jain's index: Jain, Chiu and Hawe, "A quantitative measure of fairness and
//! discrimination for resource allocation in shared computer systems", DEC-TR-301, 1984.

use std::collections::BTreeMap;

use itertools::Itertools;
use serde::Serialize;
use slob_record::Status;
use slob_stats::Comparison;
use slob_stats::summary::{maximum, mean, mean_interval};

use super::{RETRY_BAD, number_or_empty};
use crate::Confidence;
use crate::change::{noise, signed_range};
use slob_facts::figure::{self, Better};
use slob_facts::format::{ABSENT, fixed, or_absent, plural, signed_percent};
use slob_facts::{Claim, Figure, GroupVerdicts, Judged, Lead, Run};
use slob_page::Answer;
use slob_page::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Trace, Unit};
use slob_page::escape;
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, Page, Table};

const FIGURES: [&Figure; 5] = [
    &figure::OPERATIONS_PER_S,
    &figure::PHYSICAL_READ_P99_US,
    &figure::RESPONSE_P99_US,
    &figure::OPERATION_P99_US,
    &figure::REDO_SYNC_P99_US,
];
/// Starts further apart are no common start.
const COMMON_START_MS: f64 = 50.0;
/// More noise, as of two rounds, has no meaning.
const MOST_NOISE: f64 = 999.0;
const MISSED_RATE: &str = "rate_not_met";
const ALL_OTHERS: &str = "all others";

#[derive(Clone, Debug)]
pub struct NeighbourRun {
    pub run: String,
    pub step: String,
    pub name: String,
    beside: Vec<String>,
    values: [Option<f64>; FIGURES.len()],
    lead: Lead,
    late_ms: f64,
    pub judged: Vec<Judged>,
}

impl NeighbourRun {
    /// `None` unless the run completed and started with others, or alone among them.
    pub fn of(figures: &Run<'_>) -> Option<Self> {
        let record = figures.record;
        let together = record.together.as_ref().filter(|_| record.status == Status::Completed)?;
        Some(Self {
            run: record.id.clone(),
            step: together.step.clone(),
            name: together.name.clone(),
            beside: together.neighbours.iter().map(|other| other.name.clone()).collect(),
            values: FIGURES.map(|figure| figure.of(figures)),
            lead: figures.lead(),
            late_ms: 1e3 * record.started.duration_since(together.start).as_secs_f64(),
            // A rate that is not met beside others is what the matrix shows.
            judged: figures.judged().iter().filter(|judged| judged.cause != MISSED_RATE).cloned().collect(),
        })
    }

    fn verdicts<'a>(repeats: impl IntoIterator<Item = &'a Self>) -> GroupVerdicts {
        GroupVerdicts::of(repeats.into_iter().map(|run| (run.run.as_str(), run.judged.as_slice())))
    }
}

#[derive(Clone, Debug)]
pub struct Round {
    pub variant: String,
    pub repeat: u32,
    pub company: Vec<String>,
    pub runs: Vec<NeighbourRun>,
    pub error: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Neighbours {
    pub name: String,
    confidence: Confidence,
    pub done: usize,
    of: usize,
    names: Vec<String>,
    start_spread_ms: Option<f64>,
    variants: Vec<Matrix>,
    protection: Vec<Protection>,
    pub holes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct Matrix {
    variant: String,
    cells: Vec<Beside>,
    fairness: Vec<Fairness>,
    verdicts: BTreeMap<String, GroupVerdicts>,
}

#[derive(Clone, Debug, Serialize)]
struct Beside {
    figure: &'static str,
    of: String,
    beside: Vec<String>,
    alone: Option<f64>,
    mean: Option<f64>,
    runs: usize,
    /// Absent if either side is unknown or rests on a BAD verdict.
    change: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hole: Option<Hole>,
    #[serde(skip)]
    ratios: Vec<f64>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
struct Hole {
    why: String,
    #[serde(skip)]
    in_short: String,
}

impl Beside {
    fn is_clear(&self) -> bool {
        self.change.and_then(|change| change.interval).is_some_and(|interval| interval.excludes_zero())
    }

    fn is_loss(&self) -> bool {
        let lower_is_better = figure_named(self.figure).better == Better::Lower;
        self.is_clear() && self.change.is_some_and(|change| (change.percent > 0.0) == lower_is_better)
    }

    /// `-45 % (-48.0 % to -41.2 %)`; within the noise `~ (noise 3.1 %)`.
    fn words(&self) -> String {
        if self.mean == Some(0.0) && self.hole.is_none() {
            return "-100 % (nothing done)".to_owned();
        }
        let Some(change) = self.change else {
            let in_short = |hole: &Hole| format!("hole: {}", hole.in_short);
            return self.hole.as_ref().map_or_else(|| ABSENT.to_owned(), in_short);
        };
        let percent = format!("{:+.1} %", change.percent);
        match change.interval {
            None => format!("{percent} (one run)"),
            Some(interval) if interval.excludes_zero() => format!("{percent} ({})", signed_range(&interval)),
            Some(interval) if interval.noise_percent() > MOST_NOISE => {
                format!("{percent} (noise above {MOST_NOISE} %)")
            }
            Some(interval) => format!("{percent} (noise {} %)", fixed(interval.noise_percent(), 1)),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct Fairness {
    company: Vec<String>,
    index: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct Protection {
    variant: String,
    figure: &'static str,
    of: String,
    beside: Vec<String>,
    baseline_ratio: f64,
    variant_ratio: f64,
    change: Comparison,
    sentence: String,
}

fn figure_named(name: &str) -> &'static Figure {
    FIGURES.into_iter().find(|figure| figure.name == name).unwrap_or(FIGURES[0])
}

impl Neighbours {
    /// The baseline comes first. `of` is the number of steps of the campaign.
    pub fn of(
        name: &str,
        names: &[String],
        variants: &[String],
        rounds: &[Round],
        of: usize,
        confidence: Confidence,
    ) -> Self {
        let takings = rounds.iter().flat_map(|round| &round.runs);
        let lead = Lead::of_all(takings.clone().map(|run| run.lead));
        let is_shown = |at: usize| lead == Lead::Response || FIGURES[at].name != figure::RESPONSE_P99_US.name;
        let is_known = |at: &usize| is_shown(*at) && takings.clone().any(|run| run.values[*at].is_some());
        let known = (0..FIGURES.len()).filter(is_known).collect_vec();
        let each = confidence.of_each(places(names, rounds).len().max(1));
        let matrix = |variant: &String| {
            let own = rounds.iter().filter(|round| &round.variant == variant).collect_vec();
            Matrix::of(variant, names, &own, rounds, &known, (confidence, each))
        };
        let variants: Vec<Matrix> = variants.iter().map(matrix).collect();
        let spread = |round: &Round| {
            let ends = round.runs.iter().map(|run| run.late_ms).minmax().into_option();
            ends.filter(|_| round.runs.len() > 1).map(|(first, last)| last - first)
        };
        let spreads = rounds.iter().filter_map(spread).collect_vec();
        let missing = |round: &Round| Some(format!("{}: {}.", round.words(), round.error.as_ref()?));
        Self {
            name: name.to_owned(),
            confidence,
            done: rounds.iter().filter(|round| round.error.is_none()).count(),
            of,
            names: names.to_vec(),
            start_spread_ms: maximum(&spreads),
            protection: protection(&variants, each),
            variants,
            holes: rounds.iter().filter_map(missing).unique().collect(),
        }
    }

    fn prefix(&self, matrix: &Matrix) -> String {
        if self.variants.len() > 1 { format!("{}: ", matrix.variant) } else { String::new() }
    }

    fn lead(&self) -> String {
        format!(
            "Each target alone, and beside the others from a common start: {}. A row is slowed by the column's target.",
            self.names.join(", ")
        )
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let of_matrix = |matrix| {
            let titled = move |figure: &'static Figure| {
                let title = format!("{}{} ({})", self.prefix(matrix), figure.title, figure.unit);
                Some((title, self.matrix_table(matrix, figure)?))
            };
            FIGURES.into_iter().filter_map(titled)
        };
        self.variants.iter().flat_map(of_matrix).collect()
    }

    fn matrix_table(&self, matrix: &Matrix, figure: &Figure) -> Option<Table> {
        let cells = matrix.cells.iter().filter(|cell| cell.figure == figure.name).collect_vec();
        cells.first()?;
        let heads = self.names.iter().cloned().chain(cells.iter().map(|cell| self.head(cell)));
        let heads = heads.unique().collect_vec();
        let beside = heads.iter().map(|head| Column::right(format!("beside {head}")));
        let columns = [Column::left("Target"), Column::right("alone")].into_iter().chain(beside);
        let row = |name: &String| {
            let own = || cells.iter().filter(|cell| &cell.of == name);
            let alone = or_absent(own().find_map(|cell| cell.alone), |value| figure.format.show(value));
            let words = |head| {
                own().find(|cell| &self.head(cell) == head).map_or_else(String::new, |cell| cell.words())
            };
            [name.clone(), alone].into_iter().chain(heads.iter().map(words)).collect_vec()
        };
        Some(Table::new(columns).with_rows(self.names.iter().map(row)))
    }

    fn cells(&self) -> impl Iterator<Item = (&Matrix, &Beside)> {
        self.variants.iter().flat_map(|matrix| matrix.cells.iter().map(move |cell| (matrix, cell)))
    }

    fn head(&self, cell: &Beside) -> String {
        let is_all = cell.beside.len() > 1 && cell.beside.len() + 1 == self.names.len();
        if is_all { ALL_OTHERS.to_owned() } else { cell.beside.join(", ") }
    }

    fn write_statements(&self, page: &mut Page) {
        self.protection.iter().for_each(|protection| page.paragraph(&protection.sentence));
        for (matrix, fairness) in
            self.variants.iter().flat_map(|one| one.fairness.iter().map(move |fair| (one, fair)))
        {
            let interval = fairness.low.zip(fairness.high);
            let interval =
                interval.map(|(low, high)| format!(" ({low:.2} to {high:.2})")).unwrap_or_default();
            page.paragraph(&format!(
                "{}fairness of {} together: {:.2}{interval}; 1 is even, 1/{} is one target alone.",
                self.prefix(matrix),
                fairness.company.join(", "),
                fairness.index,
                fairness.company.len()
            ));
        }
        let mut holes: Vec<&String> = self.holes.iter().collect();
        for Hole { why, .. } in self.cells().filter_map(|(_, cell)| cell.hole.as_ref()) {
            if !holes.iter().any(|hole| hole.contains(why.as_str())) {
                holes.push(why);
            }
        }
        holes.iter().for_each(|hole| page.paragraph(&format!("Hole: {hole}")));
        if holes.len() > self.holes.len() {
            page.paragraph(RETRY_BAD);
        }
        for matrix in &self.variants {
            let short =
                matrix.verdicts.iter().filter_map(|(name, verdicts)| Some((name, verdicts.in_short()?)));
            short.for_each(|(name, short)| {
                page.paragraph(&format!("Verdicts of {name} ({}): {short}.", matrix.variant));
            });
        }
        if let Some(spread) = self.start_spread_ms {
            let is_late = spread > COMMON_START_MS;
            let late = if is_late { "; that is too far apart: repeat these runs" } else { "" };
            page.paragraph(&format!("Starts of a company were at most {} ms apart{late}.", fixed(spread, 1)));
        }
        if let Some(left) = self.of.checked_sub(self.done).filter(|left| *left > 0) {
            page.paragraph(&format!("{left} of {} are not complete.", plural(self.of as u64, "measurement")));
        }
    }
}

impl Round {
    fn words(&self) -> String {
        format!("{}, {}, round {}", self.variant, self.company.join(" beside "), self.repeat)
    }
}

fn places(names: &[String], rounds: &[Round]) -> Vec<(String, Vec<String>)> {
    let all = rounds.iter().flat_map(|round| {
        let planned = round.company.iter().map(|name| (name, &round.company));
        planned.chain(round.runs.iter().map(|run| (&run.name, &run.beside)))
    });
    let places = all.map(|(of, company)| {
        let beside = names.iter().filter(|name| *name != of && company.contains(name));
        (of.clone(), beside.cloned().collect_vec())
    });
    let places = places.filter(|(_, beside)| !beside.is_empty()).unique();
    let order = |name: &String| names.iter().position(|other| other == name);
    let key = |(of, beside): &(String, Vec<String>)| {
        (order(of), beside.len(), beside.iter().map(order).collect_vec())
    };
    places.sorted_by_key(key).collect()
}

impl Matrix {
    fn of(
        variant: &str,
        names: &[String],
        own: &[&Round],
        rounds: &[Round],
        known: &[usize],
        (confidence, each): (Confidence, Confidence),
    ) -> Self {
        let runs = || own.iter().flat_map(|round| round.runs.iter().map(move |run| (round.repeat, run)));
        let verdicts = names.iter().map(|name| {
            let own = runs().map(|(_, run)| run).filter(|run| &run.name == name);
            let companies = own.into_group_map_by(|run| &run.beside).into_iter();
            let companies =
                companies.sorted_by_key(|(beside, _)| *beside).map(|(_, runs)| NeighbourRun::verdicts(runs));
            (name.clone(), GroupVerdicts::joined(companies))
        });
        let verdicts = verdicts.collect();
        let cell = |at: usize, of: &str, beside: &[String]| {
            let wanted = |beside: &[String]| -> Vec<(u32, &NeighbourRun)> {
                let is_beside = |run: &NeighbourRun| {
                    run.beside.len() == beside.len() && beside.iter().all(|one| run.beside.contains(one))
                };
                runs().filter(|(_, run)| run.name == of && is_beside(run)).collect()
            };
            let has_none = wanted(&[]).is_empty() || wanted(beside).is_empty();
            let values = |beside: &[String]| {
                let known =
                    wanted(beside).into_iter().filter_map(|(repeat, run)| Some((repeat, run.values[at]?)));
                known.collect_vec()
            };
            let (alone, together) = (values(&[]), values(beside));
            let plain = |values: &[(u32, f64)]| values.iter().map(|(_, value)| *value).collect_vec();
            let ratios = together.iter().filter_map(|(repeat, value)| {
                let (_, alone) = alone.iter().find(|(other, _)| other == repeat)?;
                (*alone > 0.0).then(|| value / alone)
            });
            let bad = || {
                [beside, &[]].into_iter().find_map(|beside| {
                    let verdicts = NeighbourRun::verdicts(wanted(beside).into_iter().map(|(_, run)| run));
                    let worst = verdicts.against(FIGURES[at].rests_on, Claim::Compared)?;
                    let name = match beside {
                        [] => format!("{of} alone"),
                        others => format!("{of} beside {}", others.join(", ")),
                    };
                    let in_short = format!("{} {}", worst.question.title(), worst.answer.word());
                    Some(Hole { why: worst.words(&name), in_short })
                })
            };
            let missing = || {
                let concerns = |round: &&&Round| {
                    let is_there = |name: &str| round.company.iter().any(|one| one == name);
                    is_there(of) && beside.iter().all(|one| is_there(one))
                };
                let why = own.iter().filter(concerns).find_map(|round| round.error.clone())?;
                Some(Hole { why, in_short: "no run".to_owned() })
            };
            let hole = if has_none { missing() } else { bad() };
            let change = Comparison::of(&plain(&alone), &plain(&together), each.ratio());
            Beside {
                figure: FIGURES[at].name,
                of: of.to_owned(),
                beside: beside.to_vec(),
                alone: mean(&plain(&alone)),
                mean: mean(&plain(&together)),
                runs: together.len(),
                change: change.filter(|_| hole.is_none()),
                ratios: ratios.collect(),
                hole,
            }
        };
        let places = places(names, rounds);
        let cells = known.iter().cartesian_product(&places).map(|(at, (of, beside))| cell(*at, of, beside));
        let cells = cells.collect();
        Self { variant: variant.to_owned(), cells, fairness: fairness(own, confidence), verdicts }
    }

    fn cell(&self, like: &Beside) -> Option<&Beside> {
        self.cells
            .iter()
            .find(|cell| (cell.figure, &cell.of, &cell.beside) == (like.figure, &like.of, &like.beside))
    }
}

fn fairness(own: &[&Round], confidence: Confidence) -> Vec<Fairness> {
    let alone = |name: &str| {
        let runs = own.iter().flat_map(|round| &round.runs);
        let rates =
            runs.filter(|run| run.name == name && run.beside.is_empty()).filter_map(|run| run.values[0]);
        mean(&rates.collect_vec()).filter(|rate| *rate > 0.0)
    };
    let index = |round: &&Round| {
        let shares = round.runs.iter().map(|run| Some(run.values[0]? / alone(&run.name)?));
        let index = jain(&shares.collect::<Option<Vec<f64>>>()?)?;
        let is_there = |name: &&String| round.runs.iter().any(|run| run.name == **name);
        Some((round.company.iter().filter(is_there).cloned().collect_vec(), index))
    };
    let together = own.iter().filter(|round| round.runs.len() > 1).filter_map(index);
    let by_company = together.into_group_map().into_iter();
    let company = |(company, indices): (Vec<String>, Vec<f64>)| {
        let (low, high) = mean_interval(&indices, confidence.ratio()).unzip();
        let low = low.map(|low| low.max(1.0 / company.len() as f64));
        Some(Fairness { index: mean(&indices)?, low, high: high.map(|high| high.min(1.0)), company })
    };
    by_company.sorted_by_key(|(names, _)| (names.len(), names.clone())).filter_map(company).collect()
}

/// `(Σx)² / (n Σx²)`
fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares): (f64, f64) = (shares.iter().sum(), shares.iter().map(|share| share * share).sum());
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Compares only where the baseline loses more than noise.
fn protection(variants: &[Matrix], confidence: Confidence) -> Vec<Protection> {
    let Some((baseline, others)) = variants.split_first() else { return Vec::new() };
    let losses = || baseline.cells.iter().filter(|cell| cell.is_loss());
    let pair = |matrix: &Matrix, without: &Beside| {
        let with = matrix.cell(without).filter(|cell| cell.hole.is_none())?;
        let change = Comparison::of(&without.ratios, &with.ratios, confidence.ratio())?;
        let (baseline_ratio, variant_ratio) = (mean(&without.ratios)?, mean(&with.ratios)?);
        let figure = figure_named(without.figure);
        let is_better = (change.percent > 0.0) == (figure.better == Better::Higher);
        let verdict = match change.interval {
            None => "one round can't tell whether that is noise.".to_owned(),
            Some(interval) if !interval.excludes_zero() => noise(&interval),
            Some(_) if is_better => "it protects.".to_owned(),
            Some(_) => "it does harm.".to_owned(),
        };
        let sentence = format!(
            "{} beside {}: {} is {baseline_ratio:.2} times that alone with {}, {variant_ratio:.2} times with {}: {verdict}{}",
            without.of,
            without.beside.join(", "),
            figure.title.to_lowercase(),
            baseline.variant,
            matrix.variant,
            without.beside.iter().filter_map(|name| price(name, baseline, matrix)).collect::<String>()
        );
        let (variant, of, beside) = (matrix.variant.clone(), without.of.clone(), without.beside.clone());
        let figure = figure.name;
        Some(Protection { variant, figure, of, beside, baseline_ratio, variant_ratio, change, sentence })
    };
    others.iter().flat_map(|matrix| losses().filter_map(move |cell| pair(matrix, cell))).collect()
}

fn price(name: &str, baseline: &Matrix, matrix: &Matrix) -> Option<String> {
    let rate = FIGURES[0];
    let [without, with] = [baseline, matrix].map(|matrix| {
        let mut own = matrix.cells.iter().filter(|cell| cell.figure == rate.name && cell.of == name);
        own.find_map(|cell| cell.alone)
    });
    let (without, with) = (without.filter(|rate| *rate > 0.0)?, with?);
    let percent = signed_percent(100.0 * (with / without - 1.0));
    let (baseline, variant) = (&baseline.variant, &matrix.variant);
    let [without, with] = [without, with].map(|value| rate.format.show(value));
    Some(format!(
        " Alone, {name} does {without}/s with {baseline} and {with}/s with {variant} ({percent} %)."
    ))
}

impl Answer for Neighbours {
    const NAME: &'static str = "compare";

    fn write(&self, page: &mut Page) {
        page.section("Neighbours");
        page.paragraph(&self.lead());
        for (title, table) in self.tables() {
            page.section(&title);
            page.table(&table);
        }
        page.section("What follows");
        self.write_statements(page);
    }

    fn view(&self) -> View {
        let counted = format!("{} of {} done", self.done, plural(self.of as u64, "measurement"));
        let mut matrix = Section::new("matrix", "Who slows whom").charts(vec![chart(self)]);
        for (title, table) in self.tables() {
            matrix = matrix.part(&title, |page| page.table(&table));
        }
        let follows = Section::new("follows", "What follows").part("", |page| self.write_statements(page));
        View {
            title: format!("{}: neighbours", self.name),
            heading: format!("{}: neighbours", self.name),
            lead: format!("{}<p class=\"id\">{}</p>\n", lead(&self.lead()), escape::text(&counted)),
            sections: vec![matrix, follows],
            source: "From the runs of the campaign; each has its own page in its folder.".into(),
        }
    }

    fn table(&self) -> Table {
        let heads = "variant figure of beside runs alone mean change_percent low high hole";
        let row = |(matrix, cell): (&Matrix, &Beside)| {
            let (low, high) =
                cell.change.and_then(|change| change.interval).map(|all| (all.low, all.high)).unzip();
            let numbers = [cell.alone, cell.mean, cell.change.map(|change| change.percent), low, high];
            let hole = cell.hole.as_ref().map_or_else(String::new, |hole| hole.why.clone());
            let names =
                [matrix.variant.clone(), cell.figure.to_owned(), cell.of.clone(), cell.beside.join(" ")];
            let numbers = [cell.runs.to_string()].into_iter().chain(numbers.map(number_or_empty));
            names.into_iter().chain(numbers).chain([hole]).collect_vec()
        };
        Table::new(heads.split(' ').map(Column::left)).with_rows(self.cells().map(row))
    }

    fn are_good(&self) -> bool {
        self.variants.iter().flat_map(|matrix| matrix.verdicts.values()).all(GroupVerdicts::are_good)
    }
}

fn chart(neighbours: &Neighbours) -> Chart {
    let rates = |matrix: &Matrix| -> Vec<Beside> {
        matrix.cells.iter().filter(|cell| cell.figure == FIGURES[0].name).cloned().collect()
    };
    let count = neighbours.variants.len().max(1) as f64;
    let traces = neighbours.variants.iter().enumerate().filter_map(|(nth, matrix)| {
        let bar = |(at, cell): (usize, &Beside)| {
            let change = cell.change?;
            let kept = |percent: f64| 100.0 + percent;
            let interval = change.interval.map(|interval| (kept(interval.low), kept(interval.high)));
            let at = at as f64 + (nth as f64 + 0.5) / count * 0.8 - 0.4;
            let hover = format!("{} beside {}: {}", cell.of, cell.beside.join(", "), cell.words());
            Some(Bar::new(at, 0.7 / count, kept(change.percent), hover).with_interval(interval))
        };
        let bars: Vec<Bar> = rates(matrix).iter().enumerate().filter_map(bar).collect();
        (!bars.is_empty()).then(|| Trace::Bars(Bars::new(&matrix.variant, Colour::Variant(nth), bars)))
    });
    let traces = traces.collect();
    let cells = neighbours.variants.first().map(rates).unwrap_or_default();
    let names = cells.iter().map(|cell| format!("{} beside {}", cell.of, neighbours.head(cell)));
    let names = names.enumerate().map(|(at, name)| (at as f64, name));
    let x = Axis::linear("target", Unit::Plain).ranging(-0.5, cells.len() as f64 - 0.5);
    let y = Axis::linear("% of the rate alone", Unit::Plain);
    Chart {
        id: "kept".into(),
        title: "What is left of the rate alone".into(),
        about: "100 is the rate alone; the line at a bar's end is its interval.".into(),
        source: "the runs of the campaign".into(),
        body: Drawing::new(x.named(names), y, traces)
            .following_bars(|value| fixed(value, 0))
            .or("no target was measured both alone and beside others"),
    }
}

#[cfg(test)]
mod tests {
    use slob_facts::{Grade, Question};

    use super::*;

    fn run_of(name: &str, beside: &[&str], rate: f64) -> NeighbourRun {
        NeighbourRun {
            run: format!("{name}-{rate}"),
            step: String::new(),
            name: name.into(),
            beside: beside.iter().map(|name| (*name).to_owned()).collect(),
            values: [Some(rate), None, None, None, None],
            lead: Lead::Operation,
            late_ms: 1.0,
            judged: Vec::new(),
        }
    }

    fn rounds(variant: &str, alone: [f64; 2], together: [f64; 2]) -> Vec<Round> {
        let round = |repeat: u32, company: &[&str], runs| Round {
            variant: variant.into(),
            repeat,
            company: company.iter().map(|name| (*name).to_owned()).collect(),
            runs,
            error: None,
        };
        let wobble = |repeat: u32| 1.0 + 0.002 * f64::from(repeat);
        (1..=4)
            .flat_map(|repeat| {
                let rate = |rate: f64| rate * wobble(repeat);
                [
                    round(repeat, &["a"], vec![run_of("a", &[], rate(alone[0]))]),
                    round(repeat, &["b"], vec![run_of("b", &[], rate(alone[1]))]),
                    round(
                        repeat,
                        &["a", "b"],
                        vec![run_of("a", &["b"], rate(together[0])), run_of("b", &["a"], rate(together[1]))],
                    ),
                ]
            })
            .collect()
    }

    fn compared(rounds: &[Round], variants: &[&str]) -> Neighbours {
        let names = ["a", "b"].map(str::to_owned);
        let variants: Vec<String> = variants.iter().map(|name| (*name).to_owned()).collect();
        Neighbours::of("disk", &names, &variants, rounds, rounds.len(), Confidence::default())
    }

    #[test]
    fn fairness_is_jains() {
        assert_eq!(jain(&[0.5, 0.5, 0.5]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0]), Some(0.5));
        assert!((jain(&[1.0, 0.5]).unwrap() - 0.9).abs() < 1e-12);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn a_limit_that_gives_the_victim_its_rate_back_protects_it() {
        let mut all = rounds("free", [1000.0, 4000.0], [400.0, 3600.0]);
        all.extend(rounds("limited", [1000.0, 500.0], [980.0, 500.0]));
        let compared = compared(&all, &["free", "limited"]);
        let [free, limited] = &compared.variants[..] else { panic!() };
        assert!((free.cells[0].change.unwrap().percent + 60.0).abs() < 0.1 && free.cells[0].is_loss());
        assert!(!limited.cells[1].is_clear(), "{:?}", limited.cells[1]);
        let protection = &compared.protection[0];
        assert!(protection.sentence.contains(
            "0.40 times that alone with free, 0.98 times with limited: it protects. Alone, b does 4,0"
        ));
        assert!(protection.sentence.ends_with("/s with limited (-87.5 %)."), "{}", protection.sentence);
        assert!((free.fairness[0].index - jain(&[0.4, 0.9]).unwrap()).abs() < 1e-6);
        assert!((compared.start_spread_ms.unwrap()).abs() < 1e-9);
        let text = compared.text(None);
        assert!(text.contains("beside b") && text.contains("-60.0 %"), "{text}");
        assert!(compared.html().contains("data-chart=\"kept\""));
        assert_eq!(compared.csv().lines().count(), 1 + 2 * 2);
    }

    /// One BAD run beside one neighbour made holes of all cells of its target.
    #[test]
    fn a_bad_run_makes_a_hole_of_its_own_cell_alone_and_is_named() {
        let judge = |of: &[(&str, usize, Grade, &str)]| {
            let mut all = rounds("free", [1000.0, 4000.0], [400.0, 3600.0]);
            for run in all.iter_mut().flat_map(|round| &mut round.runs) {
                let own =
                    of.iter().filter(|(name, beside, ..)| run.name == *name && run.beside.len() == *beside);
                let judged = |(_, _, answer, cause): &(&str, usize, Grade, &str)| {
                    let (answer, cause, sentence) = (*answer, (*cause).to_owned(), (*cause).to_owned());
                    Judged { question: Question::CpuToSpare, answer, cause, sentence }
                };
                run.judged = own.map(judged).collect();
                run.values[1] = run.values[0];
            }
            compared(&all, &["free"])
        };
        let holes = |compared: &Neighbours| {
            let cells = compared.variants[0].cells.iter();
            let of_reads = cells.filter(|cell| cell.figure == figure::PHYSICAL_READ_P99_US.name);
            of_reads.map(|cell| cell.hole.as_ref().map(|hole| hole.in_short.clone())).collect::<Vec<_>>()
        };
        let bad = judge(&[("a", 1, Grade::Bad, "client_side_full"), ("b", 1, Grade::Good, "")]);
        let title = format!("{} BAD", Question::CpuToSpare.title());
        assert_eq!(holes(&bad), [Some(title.clone()), None]);
        for text in [bad.text(None), bad.html()] {
            assert!(
                text.contains(&format!("hole: {title}")) && text.contains("of a beside b is BAD"),
                "{text}"
            );
            assert!(text.contains("--retry-bad"), "{text}");
        }
        // A limit that all runs alone have is a result, though beside others none reaches it.
        let limited = judge(&[("a", 0, Grade::Bad, "io_limited"), ("a", 1, Grade::Good, "")]);
        assert_eq!(holes(&limited), [None, None]);
    }

    #[test]
    fn a_target_that_failed_leaves_a_hole_with_its_reason() {
        let mut all = rounds("free", [1000.0, 4000.0], [400.0, 3600.0]);
        for round in all.iter_mut().filter(|round| round.company.iter().any(|name| name == "b")) {
            round.runs.clear();
            round.error = Some("b: connection refused".into());
        }
        let compared = compared(&all, &["free"]);
        assert!(compared.variants[0].cells.iter().all(|cell| cell.change.is_none()));
        assert_eq!(compared.variants[0].cells[0].words(), "hole: no run");
        let text = compared.text(None);
        assert!(text.contains("a beside b, round 1: b: connection refused"), "{text}");
    }
}
