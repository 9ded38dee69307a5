//! The variants relative to one of them.

use slob_stats::Comparison;

use super::{bar_place, sessions_axis};
use crate::analysis::{Analysis, Pair, Table};
use crate::format::fixed;
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, MeasuredBar, MeasuredBars, Trace, Unit};

/// A ratio, and what it is known within.
type Ratio = (f64, Option<(f64, f64)>);

pub(super) fn chart(analysis: &Analysis, table: &Table, place: usize) -> Chart {
    let base = base(analysis, table);
    Chart {
        id: format!("ratios-{place}").into(),
        title: format!("Relative to {base}"),
        about: format!(
            "{base} is 1. Where the line at the end of a bar does not reach 1, the difference at that number of \
             sessions is more than noise. The verdicts go by all numbers of sessions together."
        ),
        source: "the comparisons of the analysis: ratios of geometric means, Welch's interval".into(),
        body: drawing(table, &base),
    }
}

/// The variant that others are shown relative to: as asked for, or the first.
fn base(analysis: &Analysis, table: &Table) -> String {
    let asked = analysis.scale.as_ref().filter(|scale| table.rows.iter().any(|row| row.variant == **scale));
    let first = || table.rows.first().map(|row| row.variant.clone()).unwrap_or_default();
    asked.cloned().unwrap_or_else(first)
}

fn drawing(table: &Table, base: &str) -> Result<Drawing, Absent> {
    let variants = table.rows.len();
    let mut traces = Vec::new();
    for (variant_at, row) in table.rows.iter().enumerate() {
        let bar = |(sessions_at, sessions): (usize, &u32)| {
            let (at, width) = bar_place(sessions_at, variant_at, variants);
            let (value, interval) = ratio(table, base, &row.variant, sessions_at)?;
            let within = interval.map(|(low, high)| format!(", {} to {}", fixed(low, 3), fixed(high, 3)));
            let within = within.unwrap_or_default();
            let hover = format!("{} at {sessions} sessions: {}{within}", row.variant, fixed(value, 3));
            Some(MeasuredBar { at, width, value, interval, hover })
        };
        let bars: Vec<MeasuredBar> = table.sessions.iter().enumerate().filter_map(bar).collect();
        let (name, colour) = (row.variant.clone(), Colour::Variant(variant_at));
        traces.push(Trace::Measured(MeasuredBars { name, colour, bars }));
    }
    if variants < 2 {
        return Err(Absent("there is one variant only".into()));
    }
    let y = Axis::linear(format!("ratio to {base}"), Unit::Plain);
    Ok(Drawing::new(sessions_axis(table), y, traces))
}

/// What a variant has of the base at one number of sessions; `None` where both were not compared.
fn ratio(table: &Table, base: &str, variant: &str, sessions_at: usize) -> Option<Ratio> {
    if variant == base {
        let has_runs = table.rows.iter().any(|row| row.variant == base && row.cells[sessions_at].runs > 0);
        return has_runs.then_some((1.0, None));
    }
    let at = |pair: &Pair| pair.by_sessions.get(sessions_at).copied().flatten();
    let find = |first: &str, second: &str| {
        table.pairs.iter().find(|pair| pair.first == first && pair.second == second).and_then(at)
    };
    find(base, variant).map(|pair| of(&pair)).or_else(|| find(variant, base).map(|pair| inverse(of(&pair))))
}

fn of(comparison: &Comparison) -> Ratio {
    let ratio = |percent: f64| 1.0 + percent / 100.0;
    let interval = comparison.interval.map(|interval| (ratio(interval.low), ratio(interval.high)));
    (ratio(comparison.percent), interval)
}

fn inverse((value, interval): Ratio) -> Ratio {
    (1.0 / value, interval.map(|(low, high)| (1.0 / high, 1.0 / low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_has_its_ends_the_other_way_round() {
        assert_eq!(inverse((2.0, Some((1.0, 4.0)))), (0.5, Some((0.25, 1.0))));
    }
}
