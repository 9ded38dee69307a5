//! Repeated runs of several variants: tables, intervals, and verdicts that say what is more than noise.
//!
//! The tables are those of Brian Pardy's SLOB.R (2013): a row for each variant, a column for each number of sessions and
//! one for all of them; each figure is the mean after dropping every value equal to the extremes. Beside it stand the
//! plain mean with its confidence interval, the median, the coefficient of variation, and the number of runs.
//!
//! Pairs of variants are compared on logarithms by Welch's interval, see [`slob_stats::Comparison`]. Of all pairs of one
//! table the statements hold together with the confidence asked for (Bonferroni's inequality: Dunn, "Multiple
//! comparisons among means", *JASA* 56 (1961) 52): who compares seven file systems would else find a difference by luck.

mod bottleneck;
mod cell;
mod csv;
mod curve;
mod digits;
mod metric;
mod model;
mod names;
pub(crate) mod pair;
mod records;
mod reports;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use serde::Serialize;

pub use bottleneck::{Bottleneck, bottleneck};
pub use cell::Cell;
pub use curve::{Curve, CurvePoint};
pub use metric::{Metric, UnknownMetric};
pub use pair::Pair;
pub use records::run_of;
pub use reports::{run_of_report, run_of_row};

use std::collections::{BTreeMap, BTreeSet};

use metric::Counted;

use crate::Confidence;

/// A run as the analysis sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// What names it: a record's id, or FILE.
    pub id: String,
    /// What variants are told by.
    pub label: String,
    /// The models it belongs to. SLOB.R's definitions let a run with readers and writers be of two.
    pub models: BTreeSet<String>,
    /// The numbers of sessions it counts for. SLOB.R counts a run with 8 readers and 4 writers for both.
    pub sessions: BTreeSet<u32>,
    /// Its figures, by the names of columns of `slob info`, and `redo_bytes_per_s`; `PREADS` and `PWRITES` are as `awr_info`
    /// has them, and `physical_read_requests_per_s` is known of AWR reports.
    pub figures: BTreeMap<String, f64>,
}

/// A variant, and how its runs are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// The variant that it is the same as: together they are an A/A pair.
    pub twin_of: Option<String>,
    #[serde(skip)]
    pick: Pick,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pick {
    /// The label holds the name, as in SLOB.R.
    Part,
    /// The label is the name.
    Whole,
}

impl Variant {
    /// The variant whose runs have this text somewhere in their labels.
    #[must_use]
    pub fn part(name: &str) -> Self {
        Self { name: name.to_owned(), twin_of: None, pick: Pick::Part }
    }

    /// The variant whose runs have just this label.
    #[must_use]
    pub fn whole(name: &str) -> Self {
        Self { name: name.to_owned(), twin_of: None, pick: Pick::Whole }
    }

    /// The same variant as the twin of another one.
    #[must_use]
    pub fn twin_of(self, original: Option<String>) -> Self {
        Self { twin_of: original, ..self }
    }

    fn has(&self, run: &Run) -> bool {
        match self.pick {
            Pick::Part => run.label.contains(&self.name),
            Pick::Whole => run.label == self.name,
        }
    }
}

/// A table to make: whose runs, and what of them.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// What it is called.
    pub title: String,
    /// The model whose runs it is about.
    pub model: String,
    /// The figure.
    pub metric: Metric,
}

/// How to analyse.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How sure statements must be.
    pub confidence: Confidence,
    /// The variant that figures are shown relative to, if any.
    pub scale: Option<String>,
}

/// The analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// How sure statements are: of all pairs of a table together.
    pub confidence: Confidence,
    /// The variant that `scaled` figures are relative to.
    pub scale: Option<String>,
    /// The variants.
    pub variants: Vec<Variant>,
    /// A table for each model.
    pub tables: Vec<Table>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// A table: rows are variants, columns numbers of sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// What it is called.
    pub title: String,
    /// The model.
    pub model: String,
    /// The figure, in words with its unit.
    pub metric: String,
    /// The numbers of sessions.
    pub sessions: Vec<u32>,
    /// A row for each variant.
    pub rows: Vec<Row>,
    /// Every pair of variants.
    pub pairs: Vec<Pair>,
}

/// A variant's row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The variant.
    pub variant: String,
    /// A cell for each number of sessions.
    pub cells: Vec<Cell>,
    /// All its runs, whatever their sessions.
    pub overall: Cell,
}

/// Why there is no analysis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// No run fits.
    #[error("there is nothing to analyse: no run belongs to any of the variants {0}")]
    Nothing(String),
    /// A variant that there is none of.
    #[error("there is no variant '{name}' to scale by; there are {known}")]
    NoSuchVariant {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
}

impl Analysis {
    /// Analyses runs. Tables that no run belongs to are left out.
    ///
    /// # Errors
    /// If no run belongs to a variant, or there is none of the name to scale by.
    pub fn of(
        runs: &[Run],
        variants: &[Variant],
        tables: &[TableSpec],
        options: &Options,
    ) -> Result<Self, AnalysisError> {
        let known = || variants.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(name) = &options.scale
            && !variants.iter().any(|variant| &variant.name == name)
        {
            return Err(AnalysisError::NoSuchVariant { name: name.clone(), known: known() });
        }
        let made: Vec<Table> =
            tables.iter().filter_map(|spec| table(runs, variants, spec, options)).collect();
        if made.is_empty() {
            return Err(AnalysisError::Nothing(known()));
        }
        Ok(Self {
            confidence: options.confidence,
            scale: options.scale.clone(),
            variants: variants.to_vec(),
            tables: made,
            notes: Vec::new(),
        })
    }

    /// The analysis as text.
    #[must_use]
    pub fn text(&self) -> String {
        text::page(self)
    }

    /// Comma-separated values (RFC 4180): a line for each variant, model and number of sessions, and one for all of
    /// them. What is not known is empty.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::lines(self)
    }
}

/// SLOB.R's four tables, for runs whose models it tells by its own rules.
#[must_use]
pub fn slob_r_tables() -> Vec<TableSpec> {
    [
        ("READS", model::READS, Metric::Reads),
        ("REDO", model::REDO, Metric::Redo),
        ("WRITES", model::WRITES, Metric::Writes),
        ("READWRITE", model::WRITES, Metric::ReadWrite),
    ]
    .map(|(title, model, metric)| TableSpec { title: title.to_owned(), model: model.to_owned(), metric })
    .into()
}

/// The variants that labels have in common: what is left of each without the number of its run and its sessions.
#[must_use]
pub fn variants_of<'a>(labels: impl IntoIterator<Item = &'a str>) -> Vec<Variant> {
    let stems: BTreeSet<String> = labels.into_iter().map(names::stem).collect();
    // One that holds another would take its runs too.
    let ambiguous = |stem: &String| stems.iter().any(|other| other != stem && other.contains(stem.as_str()));
    let variant = |stem: &String| match ambiguous(stem) {
        true => Variant { name: stem.clone(), twin_of: None, pick: Pick::Whole },
        false => Variant::part(stem),
    };
    stems.iter().map(variant).collect()
}

/// The label that tells a run's variant where variants are what names have in common.
#[must_use]
pub fn stem(label: &str) -> String {
    names::stem(label)
}

fn table(runs: &[Run], variants: &[Variant], spec: &TableSpec, options: &Options) -> Option<Table> {
    let of_model: Vec<&Run> = runs
        .iter()
        .filter(|run| run.models.contains(&spec.model) && variants.iter().any(|variant| variant.has(run)))
        .collect();
    if of_model.is_empty() {
        return None;
    }
    let counted = Counted::of(&of_model);
    let parts = spec.metric.parts(counted);
    let sessions: BTreeSet<u32> = of_model.iter().flat_map(|run| run.sessions.iter().copied()).collect();
    let row = |variant: &Variant| {
        let of_variant: Vec<&Run> = of_model.iter().copied().filter(|run| variant.has(run)).collect();
        let cell = |sessions: &u32| {
            let of_cell: Vec<&Run> =
                of_variant.iter().copied().filter(|run| run.sessions.contains(sessions)).collect();
            Cell::of(&of_cell, &parts, options.confidence)
        };
        let cells = sessions.iter().map(cell).collect();
        let overall = Cell::of(&of_variant, &parts, options.confidence).without_interval();
        Row { variant: variant.name.clone(), cells, overall }
    };
    let mut rows: Vec<Row> = variants.iter().map(row).collect();
    let counts: Vec<u32> = sessions.iter().copied().collect();
    let pairs = pair::pairs(variants, &rows, &counts, options.confidence, spec.metric.words_of_change());
    if let Some(scale) = &options.scale
        && let Some(base) = rows.iter().find(|row| &row.variant == scale).cloned()
    {
        for row in &mut rows {
            row.overall.scale_by(&base.overall);
            row.cells.iter_mut().zip(&base.cells).for_each(|(cell, base)| cell.scale_by(base));
        }
    }
    rows.retain(|row| row.overall.runs > 0);
    Some(Table {
        title: spec.title.clone(),
        model: spec.model.clone(),
        metric: spec.metric.words(counted),
        sessions: sessions.into_iter().collect(),
        rows,
        pairs,
    })
}
