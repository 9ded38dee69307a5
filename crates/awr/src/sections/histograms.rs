//! Wait-event histograms on one scale. Releases before 12.2 have milliseconds and three sections of details, later ones
//! microseconds and six. Text cuts units of headings.

use std::collections::BTreeMap;

use super::begins;
use crate::figure::{Figure, number};
use crate::histogram::{Bucket, EventHistogram, HistogramSection};
use crate::table::Table;

struct SectionRow {
    /// Microseconds.
    edges: Vec<f64>,
    /// Shares between each edge and the one before it, and above all edges.
    shares: Vec<Figure>,
    waits: Option<Figure>,
}

impl SectionRow {
    /// The range ends at the last edge. It begins at the first one, unless the scale does.
    fn section(&self) -> Option<HistogramSection> {
        let sum = |shares: &[Figure]| Figure::sum(shares.iter().copied().map(Some));
        let from = usize::from(*self.edges.first()? > 8.0 && *self.edges.first()? != 1000.0 * 1.024);
        let share = sum(self.shares.get(from..self.shares.len() - 1)?)?;
        Some(HistogramSection { sum: sum(&self.shares)?, waits: self.waits, share })
    }
}

type Parts = (Option<(Figure, bool)>, Vec<SectionRow>);

pub(super) fn histograms(tables: &[Table]) -> Vec<EventHistogram> {
    let mut order: Vec<String> = Vec::new();
    let mut parts: BTreeMap<String, Parts> = BTreeMap::new();
    for table in tables {
        if !begins(&table.title, &["wait event histogram"]) {
            continue;
        }
        let Some((first, edges)) = edges(table) else { continue };
        // Brackets name a part of the scale; `(Global)` is all of it.
        let is_main = !table.title.to_lowercase().replace("(global)", "").contains('(');
        let total = table.column("*waits*").filter(|column| *column < first);
        for row in table.rows.iter().filter(|row| !row.name().is_empty()) {
            if !parts.contains_key(row.name()) {
                order.push(row.name().to_owned());
            }
            let (waits, all) = parts.entry(row.name().to_owned()).or_default();
            if is_main && waits.is_none() {
                *waits = row.text(total).and_then(total_waits);
            }
            let share = |column: usize| match row.text(Some(column)) {
                None => Some(Figure::exact(0.0)),
                Some(text) => number(text),
            };
            let shares: Option<Vec<Figure>> = (first..=first + edges.len()).map(share).collect();
            let own = row.text(total).and_then(total_waits).map(|(waits, _)| waits);
            all.extend(shares.map(|shares| SectionRow { edges: edges.clone(), shares, waits: own }));
        }
    }
    order
        .into_iter()
        .filter_map(|event| {
            let (waits, parts) = parts.remove(&event)?;
            let buckets = merged(&parts)?;
            let (waits, waits_were_cut) = waits.unzip();
            let sections = parts.iter().filter_map(SectionRow::section).collect();
            let waits_were_cut = waits_were_cut.unwrap_or(false);
            Some(EventHistogram { event, waits, waits_were_cut, buckets, sections })
        })
        .collect()
}

/// True if the count lost its K: text of 11.2.0.3 prints `521.6K` in five places.
fn total_waits(text: &str) -> Option<(Figure, bool)> {
    let figure = number(text)?;
    let is_cut = text.contains('.')
        && text.ends_with(|last: char| last.is_ascii_digit())
        && !text.contains(['E', 'e']);
    Some((if is_cut { figure.times(1e3) } else { figure }, is_cut))
}

fn edges(table: &Table) -> Option<(usize, Vec<f64>)> {
    let first = table.column("<*")?;
    let heads: Vec<&str> = table.heads[first..].iter().map(|head| head.name.as_str()).collect();
    let below = heads.iter().take_while(|head| head.starts_with('<')).count();
    heads.get(below).filter(|head| head.starts_with('>'))?;
    let choices: Vec<Vec<f64>> = heads[..below].iter().map(|head| readings(head)).collect();
    Some((first, ascending(&choices)?))
}

/// Each edge is at most 64 times the one before. This decides on a cut unit: `<4m` is 4 ms before `<8ms`, and 4 minutes before
/// `<1/4h`.
fn ascending(choices: &[Vec<f64>]) -> Option<Vec<f64>> {
    let mut chains: Vec<Vec<f64>> = vec![Vec::new()];
    for own in choices {
        let extended = own.iter().filter_map(|edge| {
            let follows = |chain: &&Vec<f64>| {
                chain.last().is_none_or(|before| *edge > *before && *edge <= before * 64.0)
            };
            let chain = chains.iter().find(follows)?;
            Some(chain.iter().copied().chain([*edge]).collect())
        });
        chains = extended.collect();
    }
    chains.into_iter().next()
}

/// In microseconds, of a heading such as `<512`, `<1/8s`, `<=1s` or `<2m`.
fn readings(head: &str) -> Vec<f64> {
    let body = head.trim_start_matches(['<', '=']);
    let end = body.find(|symbol: char| !(symbol.is_ascii_digit() || symbol == '/')).unwrap_or(body.len());
    let (digits, unit) = body.split_at(end);
    let (over, under) = digits.split_once('/').unwrap_or((digits, "1"));
    let value = over.parse::<f64>().ok().zip(under.parse::<f64>().ok()).map(|(over, under)| over / under);
    let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) else { return Vec::new() };
    // On one scale a millisecond is 1,024 microseconds; before 12.2 it is 2.4 % less.
    let ms = 1024.0;
    let s = 1024.0 * ms;
    let m = 64.0 * s;
    let units: &[f64] = match unit {
        "us" | "u" => &[1.0],
        "ms" => &[ms],
        "s" => &[s],
        "m" => &[ms, m],
        "min" => &[m],
        "hr" | "h" => &[64.0 * m],
        "" => &[1.0, ms, s, m],
        _ => &[],
    };
    units.iter().map(|unit| value * unit).collect()
}

fn merged(parts: &[SectionRow]) -> Option<Vec<Bucket>> {
    let mut edges: Vec<f64> = parts.iter().flat_map(|part| part.edges.iter().copied()).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let last = *edges.last()?;
    let mut buckets = Vec::with_capacity(edges.len() + 1);
    let mut from_us = 0.0;
    for edge in edges {
        let percent = exact(parts, from_us, edge).or_else(|| between(parts, from_us, edge))?;
        buckets.push(Bucket { from_us, to_us: Some(edge), percent });
        from_us = edge;
    }
    let open = parts.iter().find(|part| part.edges.last() == Some(&last)).and_then(|part| part.shares.last());
    buckets.push(Bucket { from_us: last, to_us: None, percent: *open? });
    Some(buckets)
}

fn exact(parts: &[SectionRow], from: f64, to: f64) -> Option<Figure> {
    parts.iter().find_map(|part| {
        let at = part.edges.iter().position(|edge| *edge == to)?;
        let before = if at == 0 { 0.0 } else { part.edges[at - 1] };
        (before == from).then(|| part.shares[at])
    })
}

fn between(parts: &[SectionRow], from: f64, to: f64) -> Option<Figure> {
    let below = |edge: f64| {
        parts.iter().find_map(|part| {
            let at = part.edges.iter().position(|own| *own == edge)?;
            let sum: f64 = part.shares[..=at].iter().map(|share| share.value).sum();
            Some((sum, 0.1 * (at + 1) as f64))
        })
    };
    let (upper, upper_step) = below(to)?;
    let (lower, lower_step) = if from == 0.0 { (0.0, 0.0) } else { below(from)? };
    let value = ((upper - lower) * 10.0).round() / 10.0;
    Some(Figure { value: value.max(0.0), resolution: upper_step + lower_step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Head, Row};

    fn table(title: &str, heads: &[&str], row: &[&str]) -> Table {
        let heads = ["Event", "Total Waits"].iter().chain(heads).map(|head| Head::of("", head)).collect();
        let cells = row.iter().map(|cell| (*cell).to_owned()).collect();
        Table { title: title.into(), heads, rows: vec![Row { line: 1, cells }] }
    }

    const MAIN: [&str; 8] = ["<8us", "<16us", "<32us", "<64us", "<128u", "<256u", "<512u", ">=512"];
    const MS: [&str; 8] = ["<512", "<1ms", "<2ms", "<4ms", "<8ms", "<16ms", "<32ms", ">=32m"];

    #[test]
    fn cut_units_are_found_again() {
        let main = table("Wait Event Histogram", &MAIN, &[]);
        assert_eq!(edges(&main).unwrap().1, [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        let ms = table("Wait Event Histogram (up to 32 ms)", &MS, &[]);
        assert_eq!(edges(&ms).unwrap().1, [512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0]);
        let minutes = table("", &["<2s", "<4s", "<8s", "<16s", "<32s", "< 1m", "< 2m", ">=2m"], &[]);
        assert_eq!(edges(&minutes).unwrap().1[5..], [64.0 * 1_048_576.0, 128.0 * 1_048_576.0]);
        let hours = table("", &["<2m", "<4m", "<8m", "<1/4h", "<1/2h", "< 1h", ">=1h"], &[]);
        let m = 64.0 * 1_048_576.0;
        assert_eq!(edges(&hours).unwrap().1, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|count| count * m));
        let older = table("", &["<1ms", "<2ms", "<4ms", "<8ms", "<16ms", "<32ms", "<=1s", ">1s"], &[]);
        assert_eq!(edges(&older).unwrap().1[5..], [32_768.0, 1_048_576.0]);
        let eighths = table("", &["<32ms", "<64ms", "<1/8s", "<1/4s", "<1/2s", "<1s", "<2s", ">=2s"], &[]);
        assert_eq!(edges(&eighths).unwrap().1[1..3], [65_536.0, 131_072.0]);
    }

    #[test]
    fn sections_join_to_one_scale() {
        let main =
            table("Wait Event Histogram", &MAIN, &["e", "100", "", "", "", "90.6", "5.4", "", "", "4.0"]);
        let detail = table(
            "Wait Event Histogram (up to 32 ms)",
            &MS,
            &["e", "4", "96.0", "3.0", ".9", ".1", "", "", "", ".0"],
        );
        let histograms = histograms(&[main, detail]);
        let sum: f64 = histograms[0].buckets.iter().map(|bucket| bucket.percent.value).sum();
        assert!((sum - 100.0).abs() < 1e-9, "{sum}");
        assert_eq!(histograms[0].buckets.len(), 14);
        let expected = Bucket { from_us: 512.0, to_us: Some(1024.0), percent: number("3.0").unwrap() };
        assert_eq!(histograms[0].buckets[7], expected);
        let [none, few] = [12, 13].map(|at: usize| histograms[0].buckets[at].percent);
        assert!(none.value == 0.0 && few.is_below_resolution());
    }

    #[test]
    fn a_count_with_decimals_has_lost_its_unit() {
        assert_eq!(total_waits("521.6").map(|(figure, cut)| (figure.value, cut)), Some((521_600.0, true)));
        assert_eq!(total_waits("45.1K").map(|(figure, cut)| (figure.value, cut)), Some((45_100.0, false)));
        assert_eq!(total_waits("735").map(|(figure, cut)| (figure.value, cut)), Some((735.0, false)));
    }
}
