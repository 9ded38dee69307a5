//! A plan as a `slob.conf` with its reasons, and as a table.

use std::fmt::Write as _;

use serde::Serialize;
use slob_profile::{Demand, Fit, FitLine, NotModelled, Parameters, Planned};

use super::{text, words};
use crate::format::{or_absent, signed_percent};
use crate::page::{Column, Page, Table};

/// A plan with all that is said of it.
#[derive(Clone, Debug, Serialize)]
pub struct PlanView {
    /// The database that the demand comes from.
    pub database: String,
    /// What is demanded.
    pub demand: Demand,
    /// The parameters, and what they should come to.
    pub plan: Planned,
    /// The demand beside the plan, and what was measured of it.
    pub fit: Fit,
    /// The target that it was measured on; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The runs that were made for it.
    pub runs: Vec<String>,
    /// SCALE, where data are loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_blocks: Option<u64>,
    /// What of the demand is not in the test.
    pub not_modelled: Vec<NotModelled>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// What a parameter is there for.
fn reason(key: &str, parameters: &Parameters) -> &'static str {
    match key {
        "SCHEMAS" => "as many as are loaded",
        "THREADS_PER_SCHEMA" => "sessions that arrivals find free: twice those that were active",
        "RATE" => "operations per second: production's work, not as fast as possible",
        "ARRIVALS" if parameters.poisson => "as of many independent users",
        "ARRIVALS" => "at such a low rate, chance would hide any difference",
        "UPDATE_PCT" => "each UPDATE commits once: this is the share of the commits",
        "SCAN_PCT" => "scans of a small table are the logical reads that hit",
        "WORK_UNIT" => "blocks of a SELECT: the physical reads",
        "UPDATE_WORK_UNIT" => "blocks of an UPDATE: the redo of a commit, and the writes",
        "REDO_STRESS" => "how much of each block changes",
        _ => "",
    }
}

/// The plan as a file that `slob run` takes as it is; everything but the parameters is a comment.
#[must_use]
pub fn plan_conf(view: &PlanView) -> String {
    let mut conf = String::new();
    for line in plan_table(view).lines() {
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

/// What is demanded, planned and measured, and what is not in it.
#[must_use]
pub fn plan_table(view: &PlanView) -> String {
    let mut page = Page::new();
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
    page.section("Demanded and measured");
    page.table(&fit_table(&view.fit));
    said(&mut page, view);
    if !view.not_modelled.is_empty() {
        page.section("What the method does not model");
        page.table(&text::not_modelled_table(&view.not_modelled));
    }
    page.into_text()
}

/// What is said below that table: what is not met and why, and what stands for what.
pub(super) fn said(page: &mut Page, view: &PlanView) {
    for line in &view.fit.lines {
        if let Some(why) = &line.why {
            let verb = match (line.percent, line.must) {
                (None, _) => "not compared",
                (_, true) => "not met",
                (_, false) => "approached only",
            };
            page.hanging("  -", &format!("{}: {verb}: {why}.", line.what.words()));
        }
        if let Some(note) = &line.note {
            page.hanging("  -", &format!("{}: {note}.", line.what.words()));
        }
    }
    if view.plan.parameters.scan_pct > 0 {
        page.hanging(
            "  -",
            "The logical reads that hit are scans of a small table (SCAN_PCT), of which there can be any share; a hot spot takes \
             every operation, every second, every third or fewer, UPDATEs as well.",
        );
    }
    if view.fit.lines.iter().any(|line| line.measured.is_some()) && view.fit.is_met() {
        page.paragraph(
            "Reads, redo, commits and writes, as far as they are known, lie within 5 % of the demand.",
        );
    }
}

/// A row for each figure of the demand.
pub(super) fn fit_table(fit: &Fit) -> Table {
    let columns = ["Demanded", "Planned", "Measured", "Difference %"].map(Column::right);
    let mut table = Table::new([vec![Column::left("Per second")], columns.into()].concat());
    for line in &fit.lines {
        let cell = |value: Option<f64>| or_absent(value, |value| words::amount(line.unit, value));
        table.row([
            line.what.words().to_owned(),
            cell(Some(line.demanded)),
            cell(line.planned),
            cell(line.measured),
            difference(line),
        ]);
    }
    table
}

/// Of what was measured alone: that a plan fits itself says nothing.
fn difference(line: &FitLine) -> String {
    or_absent(line.percent.filter(|_| line.measured.is_some()), signed_percent)
}
