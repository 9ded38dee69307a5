//! How many times a demand a platform carries.

mod page;
mod step;

use serde::Serialize;

pub use self::page::headroom_page;
pub use self::step::HeadroomStep;

use slob_profile::Figure;

use super::plan::{PlanView, fit_table, said};
use super::{text, words};
use crate::format::{duration_us, fixed, or_absent, plural, significant};
use crate::page::{Column, Page, Table};

/// All of a search for headroom.
#[derive(Clone, Debug, Serialize)]
pub struct Headroom {
    /// The demand, its plan, and how it was met at 1x.
    pub plan: PlanView,
    /// Limits in words, such as `read-mean=5.1ms`.
    pub limits: Vec<String>,
    /// Those of them that the target measures nothing of, so that they could not break.
    pub unmeasured: Vec<String>,
    /// Every run, in order.
    pub steps: Vec<HeadroomStep>,
    /// So many times the demand are carried; absent if not even the least that was tried.
    pub carries: Option<f64>,
    /// So many times were carried in every run.
    pub at_least: Option<f64>,
    /// So many times were carried in none; absent if nothing broke.
    pub less_than: Option<f64>,
    /// Why the search ended.
    pub why: String,
}

impl Headroom {
    /// The steps that count.
    fn counted(&self) -> impl Iterator<Item = &HeadroomStep> {
        self.steps.iter().filter(|step| step.not_counted.is_none())
    }

    /// The latest step at 1x that counts.
    fn at_one(&self) -> Option<&HeadroomStep> {
        self.counted().filter(|step| step.factor == 1.0).last()
    }

    /// The step that broke nearest above what is carried.
    fn broken(&self) -> Option<&HeadroomStep> {
        let above = |step: &&HeadroomStep| self.carries.is_none_or(|carries| step.factor > carries);
        let broken = self.counted().filter(|step| step.broke.is_some()).filter(above);
        broken.min_by(|one, other| one.factor.total_cmp(&other.factor))
    }
}

/// What it comes to, for who asked: how many times, with what it is known within; what the limit is; how production and this
/// platform read.
#[must_use]
pub fn headroom_sentence(headroom: &Headroom) -> String {
    let mut said = vec![carried(headroom)];
    match headroom.broken() {
        Some(step) => {
            let why = step.broke.as_deref().unwrap_or_default();
            said.push(format!("Beyond that {why}. {}", step.reason));
        }
        None if headroom.carries.is_some() => said.push(headroom.why.clone()),
        None => {}
    }
    said.extend(easier(headroom));
    let production = headroom.plan.demand.figures.get(Figure::ReadUs);
    let here = headroom.at_one().and_then(|step| step.figures.get(Figure::ReadUs));
    if let Some((production, here)) = production.zip(here) {
        said.push(format!(
            "Production's mean read was {}; here, at the same demand, {}.",
            duration_us(production),
            duration_us(here)
        ));
    }
    said.join(" ")
}

/// A test that asks for less than production did proves less.
fn easier(headroom: &Headroom) -> Option<String> {
    let short = headroom.plan.fit.lines.iter().filter(|line| line.must && !line.is_met());
    let parts: Vec<String> = short
        .filter_map(|line| {
            let percent = line.percent.filter(|percent| *percent < 0.0)?;
            Some(format!(
                "{} {} % below",
                line.what.words(),
                fixed(-percent, if percent > -99.0 { 0 } else { 1 })
            ))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Mind that the test asks for less than production did, as it was calibrated: {}.",
            parts.join(", ")
        )
    })
}

fn carried(headroom: &Headroom) -> String {
    let demand = demanded(headroom);
    if headroom.counted().next().is_none() {
        let why = headroom.steps.iter().find_map(|step| step.not_counted.clone()).unwrap_or_default();
        return format!("Nothing is known of headroom: no step counts. {why}").trim_end().to_owned();
    }
    let Some(carries) = headroom.carries else {
        return format!(
            "This platform does not carry this demand ({demand}), nor the least part of it that was tried."
        );
    };
    let within = match (headroom.at_least, headroom.less_than) {
        (Some(low), Some(high)) => format!(" (at least {}, less than {})", times(low), times(high)),
        (Some(low), None) => {
            format!(" at least{}", if low < carries { format!(" ({})", times(low)) } else { String::new() })
        }
        _ => String::new(),
    };
    let often = match times(carries).as_str() {
        "1" => "this demand once".to_owned(),
        more => format!("{more} times this demand"),
    };
    format!("This platform carries {often}{within}: {demand}.")
}

/// Three digits: a step is as exact as that.
pub(super) fn times(factor: f64) -> String {
    let decimals = if factor < 1.0 { 3 } else { usize::from(factor < 10.0) + usize::from(factor < 100.0) };
    let text = fixed(factor, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `17,000 reads/s, 31.0 MB/s redo, 410 commits/s`.
fn demanded(headroom: &Headroom) -> String {
    let figures = &headroom.plan.demand.figures;
    let parts = [
        headroom.plan.demand.reads().map(|reads| format!("{} reads/s", significant(reads))),
        figures.get(Figure::RedoBytes).map(|redo| format!("{} redo", words::shown(Figure::RedoBytes, redo))),
        figures.get(Figure::Commits).map(|commits| format!("{} commits/s", significant(commits))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}; {}", headroom.plan.demand.point, parts.join(", "))
}

/// What must not be passed, and what of it could not be.
pub(super) fn limits(headroom: &Headroom) -> String {
    let limit = |limit: &String| match headroom.unmeasured.contains(limit) {
        true => format!("{limit} (this target does not measure it: it limits nothing)"),
        false => limit.clone(),
    };
    let kept = "the rate kept within 5 %".to_owned();
    headroom.limits.iter().map(limit).chain([kept]).collect::<Vec<_>>().join(", ")
}

/// All of it as text.
#[must_use]
pub fn headroom_text(headroom: &Headroom) -> String {
    let mut page = Page::new();
    page.section("Headroom");
    page.paragraph(&headroom_sentence(headroom));
    page.fact("Database", &headroom.plan.database);
    if let Some(target) = &headroom.plan.target {
        page.fact("Platform", target);
    }
    page.fact("Limits", &limits(headroom));
    page.fact("Search", &headroom.why);
    let demand = &headroom.plan.demand;
    demand.notes.iter().chain(&headroom.plan.notes).for_each(|note| page.fact("", note));
    page.section("Steps");
    page.table(&steps_table(headroom));
    not_counted(&mut page, headroom);
    page.section("Production beside this platform at the same demand");
    page.table(&beside(headroom));
    page.section("The plan, as it was calibrated");
    page.table(&fit_table(&headroom.plan.fit));
    said(&mut page, &headroom.plan);
    if !headroom.plan.not_modelled.is_empty() {
        page.section("What the method does not model");
        page.table(&text::not_modelled_table(&headroom.plan.not_modelled));
    }
    page.into_text()
}

/// Every step.
pub(super) fn steps_table(headroom: &Headroom) -> Table {
    let heads =
        ["Times", "Rate/s", "Kept %", "Reads/s", "Redo MB/s", "Read mean", "Redo sync"].map(Column::right);
    let last = [Column::left("Outcome").at_most(34)];
    let mut table = Table::new([heads.as_slice(), &last].concat());
    for step in &headroom.steps {
        let figure = |figure| step.figures.get(figure);
        let outcome = match (&step.not_counted, &step.broke) {
            (Some(_), _) => "does not count",
            (None, Some(broke)) => broke,
            (None, None) => "held",
        };
        table.row([
            times(step.factor),
            fixed(f64::from(step.rate), 0),
            fixed(step.kept_percent, 1),
            or_absent(step.figures.reads(), significant),
            or_absent(figure(Figure::RedoBytes), |bytes| significant(bytes / 1e6)),
            or_absent(figure(Figure::ReadUs), duration_us),
            or_absent(figure(Figure::CommitUs), duration_us),
            outcome.to_owned(),
        ]);
    }
    table
}

/// Steps that prove nothing, and why.
pub(super) fn not_counted(page: &mut Page, headroom: &Headroom) {
    let without: Vec<&HeadroomStep> =
        headroom.steps.iter().filter(|step| step.not_counted.is_some()).collect();
    if let Some(why) = without.first().and_then(|step| step.not_counted.as_ref()) {
        page.paragraph(&format!("{} not counted: {why}", plural(without.len() as u64, "step")));
    }
}

/// Each figure of the demand, and what this platform did at 1x.
pub(super) fn beside(headroom: &Headroom) -> Table {
    let heads = ["Production", "This platform"].map(Column::right);
    let mut table = Table::new([vec![Column::left("Per second, or mean")], heads.into()].concat());
    let here = headroom.at_one();
    let demand = &headroom.plan.demand.figures;
    let own = |figure| here.and_then(|step| step.figures.get(figure));
    for figure in Figure::all().filter(|figure| demand.get(*figure).is_some() || own(*figure).is_some()) {
        let cell = |value: Option<f64>| or_absent(value, |value| words::shown(figure, value));
        table.row([figure.title().to_owned(), cell(demand.get(figure)), cell(own(figure))]);
    }
    table
}
