//! A plan as a `slob.conf` with its reasons, and as a table.

use std::fmt::Write as _;

use serde::Serialize;
use slob_demand::{Calibrated, Demand, Fit, Goal, NotModelled, Parameters, Planned, Target, not_modelled};

use super::{amount, known_facts, not_modelled_table};
use slob_facts::format::{or_absent, signed_percent};
use slob_page::{Column, Page, Table};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct PlanView {
    pub database: String,
    pub production: Option<String>,
    pub demand: Demand,
    pub plan: Planned,
    pub fit: Fit,
    pub target: Option<String>,
    pub runs: Vec<String>,
    pub scale_blocks: Option<u64>,
    pub not_modelled: Vec<NotModelled>,
    pub notes: Vec<String>,
}

fn reason(key: &str, parameters: &Parameters) -> &'static str {
    match key {
        "SCHEMAS" => "as many as are loaded",
        "THREADS_PER_SCHEMA" => "sessions that arrivals find free: twice those that were active",
        "RATE" => "operations per second: production's work, not as fast as possible",
        "ARRIVALS" if parameters.poisson => "as of many independent users",
        "ARRIVALS" => "at such a low rate, chance would hide any difference",
        "UPDATE_PCT" => "UPDATEs among the operations: the commits, COMMIT_EVERY of them for each",
        "SCAN_PCT" => "scans of a small table are the logical reads that hit",
        "WORK_UNIT" => "blocks of a SELECT: the physical reads",
        "UPDATE_WORK_UNIT" => "blocks of an UPDATE: the redo of a commit, and the writes",
        "REDO_STRESS" => "how much of each block changes",
        "COMMIT_EVERY" => {
            "UPDATEs of a transaction: the redo of a commit, where blocks are too coarse or too few"
        }
        "DO_HOTSPOT" if parameters.hot_every.is_some() => "visits that hit: there are more than reads",
        "DO_HOTSPOT" => "every visit may read",
        "HOTSPOT_MB" => "a small one, which stays in the cache",
        "HOTSPOT_FREQUENCY" => "with 1.25 four of five visits",
        _ => "",
    }
}

pub fn plan_conf(view: &PlanView, columns: Option<usize>) -> String {
    let mut conf = String::new();
    for line in plan_table(view, columns).lines() {
        // Writing to a String can't fail, here and below.
        let _ = writeln!(conf, "{}", format!("# {line}").trim_end());
    }
    conf.push('\n');
    if let Some(target) = &view.target {
        let _ = writeln!(conf, "TARGET={target}");
    }
    if let Some(scale) = view.scale_blocks {
        let _ = writeln!(
            conf,
            "# Blocks of each schema; how much of production's data is active no counter tells.\nSCALE={scale}"
        );
    }
    for (key, value) in view.plan.parameters.pairs() {
        let _ = writeln!(conf, "# {}\n{key}={value}", reason(key, &view.plan.parameters));
    }
    conf
}

pub fn plan_table(view: &PlanView, columns: Option<usize>) -> String {
    let mut page = Page::default();
    page.section(&format!("Plan for the demand of {}", view.database));
    let grown = if view.demand.grow == 1.0 { String::new() } else { format!(", times {}", view.demand.grow) };
    page.fact("Demand", &format!("{}{grown}", view.demand.point));
    view.demand.notes.iter().chain(&view.notes).for_each(|note| page.fact("", note));
    match &view.target {
        Some(target) if !view.runs.is_empty() => {
            page.fact("Measured on", &format!("{target}: {}", view.runs.join(", ")));
        }
        _ => page
            .fact("Measured", "not yet: --target measures what an update costs, in up to three short runs"),
    }
    page.section(if view.runs.is_empty() { "Demanded and planned" } else { "Demanded and measured" });
    view.write_fit(&mut page);
    view.write_not_modelled(&mut page);
    page.into_text(columns)
}

impl PlanView {
    pub fn of(goal: &Goal, target: Option<&Target>, calibrated: Calibrated) -> Self {
        Self {
            database: goal.database.clone(),
            production: known_facts(&goal.profile),
            demand: goal.demand.clone(),
            plan: calibrated.planned,
            fit: calibrated.fit,
            target: target.map(|target| target.name.clone()),
            runs: calibrated.runs,
            scale_blocks: target.map(|target| target.limits.scale_blocks),
            not_modelled: not_modelled(&goal.demand.figures, goal.block_bytes),
            notes: target.map(|target| target.notes(goal)).unwrap_or_default(),
        }
    }

    pub(super) fn write_plan(&self, page: &mut Page) {
        page.section(if self.runs.is_empty() { "The plan" } else { "The plan, as it was calibrated" });
        self.write_fit(page);
    }

    pub(super) fn write_fit(&self, page: &mut Page) {
        let heads = ["Demanded", "Planned", "Measured", "Difference %"];
        let mut table = Table::of_numbers(Column::left("Per second"), heads);
        for line in &self.fit.lines {
            let amounts = [Some(line.demanded), line.planned, line.measured];
            let amounts = amounts.map(|value| or_absent(value, |value| amount(line.unit, value)));
            let percent = or_absent(line.percent, signed_percent);
            table.row([line.what.words().to_owned()].into_iter().chain(amounts).chain([percent]));
        }
        page.table(&table);
        for line in &self.fit.lines {
            let words = line.what.words();
            if let Some(why) = &line.why {
                let verb = match (line.percent, line.must) {
                    (None, _) => "not compared",
                    _ if line.by_chance => "not certain",
                    (_, true) => "not met",
                    (_, false) => "left out of the choice",
                };
                page.hanging("  -", &format!("{words}: {verb}: {why}."));
            }
            if let Some(note) = &line.note {
                page.hanging("  -", &format!("{words}: {note}."));
            }
        }
        if self.fit.lines.iter().any(|line| line.measured.is_some()) && self.fit.is_met() {
            page.paragraph(
                "Reads, redo, commits and hits, as far as they are known, lie within 5 % of the demand.",
            );
        }
    }

    pub(super) fn write_not_modelled(&self, page: &mut Page) {
        page.table_under("What the method does not model", &not_modelled_table(&self.not_modelled));
    }
}
