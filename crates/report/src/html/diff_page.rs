//! Two runs, or two groups of repeated ones, as a page: the comparison's tables, and the charts of both laid over each
//! other.

use slob_record::Record;

use super::charts::{self, Group};
use super::document::{self, Document};
use super::plot::Chart;
use super::{blocks, escape};
use crate::diff::Diff;
use crate::figure::{self, Figures};
use crate::page::Block;

/// A comparison as one HTML file that needs no network.
///
/// `first` and `second` are the records that `diff` was made of, with their series. Of a group of repeated runs the
/// charts show the one with the median rate of operations; the figures are those of all.
#[must_use]
pub fn diff_page(diff: &Diff, first: &[Record], second: &[Record]) -> String {
    let typical = [typical(first), typical(second)];
    let groups = match typical {
        [Some(a), Some(b)] => laid_over(a, b),
        _ => Vec::new(),
    };
    let sections = sections(diff.blocks());
    let main = [
        sections.iter().take(1).map(Section::html).collect(),
        document::NO_CHARTS.into(),
        groups.iter().map(Group::html).collect::<String>(),
        sections.iter().skip(1).map(Section::html).collect(),
    ];
    Document {
        title: "OpenSLOB comparison".into(),
        header: header(diff, typical, &groups),
        main: main.concat(),
        said: "From the saved records of the runs alone.".into(),
        slob_version: env!("CARGO_PKG_VERSION"),
        holds: String::new(),
        charts: groups.iter().flat_map(|group| &group.charts).collect(),
    }
    .html()
}

/// The run of a group with the median rate of operations.
fn typical(records: &[Record]) -> Option<&Record> {
    let mut rated: Vec<(f64, &Record)> = records
        .iter()
        .map(|record| (figure::OPERATIONS_PER_S.of(&Figures::of(record)).unwrap_or_default(), record))
        .collect();
    rated.sort_by(|a, b| a.0.total_cmp(&b.0));
    rated.get(rated.len().saturating_sub(1) / 2).map(|(_, record)| *record)
}

fn laid_over(first: &Record, second: &Record) -> Vec<Group> {
    let of = |record| charts::groups(record, &Figures::of(record));
    let pairs = of(first).into_iter().zip(of(second));
    let both = |(a, b): (Group, Group)| {
        let charts = Chart::overlay_all(&a.charts, &b.charts);
        Group { charts, ..a }
    };
    pairs.map(both).collect()
}

/// Blocks from one heading to the next.
struct Section {
    /// The first is there without a heading of its own.
    id: String,
    blocks: Vec<Block>,
}

impl Section {
    fn html(&self) -> String {
        format!(
            "<section id=\"{}\">\n<div class=\"part\">\n{}</div>\n</section>\n",
            self.id,
            blocks::html(&self.blocks)
        )
    }
}

/// What is said in short comes first; then the charts, then what differs and all figures.
fn sections(blocks: Vec<Block>) -> Vec<Section> {
    let is_heading = |block: &Block, title: &str| matches!(block, Block::Section(name) if name == title);
    let tables = blocks.iter().position(|block| is_heading(block, Diff::CHANGES)).unwrap_or(blocks.len());
    let mut summary = blocks;
    let rest = summary.split_off(tables);
    vec![Section { id: "summary".into(), blocks: summary }, Section { id: "figures".into(), blocks: rest }]
}

fn header(diff: &Diff, typical: [Option<&Record>; 2], groups: &[Group]) -> String {
    let links = document::links(
        [("summary", "In short")]
            .into_iter()
            .chain(groups.iter().map(|group| (group.id, group.title)))
            .chain([("figures", "Figures")]),
    );
    let [first, second] = [(&diff.first, typical[0]), (&diff.second, typical[1])].map(|(side, record)| {
        let drawn = record
            .filter(|_| side.is_group())
            .map(|run| format!("; the charts show the median one, {}", run.id));
        escape::text(&(side.words() + &drawn.unwrap_or_default()))
    });
    let cautions: String = [&diff.first, &diff.second]
        .iter()
        .flat_map(|side| &side.incomplete)
        .map(|wrong| format!("<p class=\"banner doubt\">Caution: {}.</p>\n", escape::text(wrong)))
        .collect();
    format!(
        "<h1>Comparison</h1>\n<p class=\"lead\"><span class=\"key first\"></span>First: {first}<br><span class=\"key \
         second\"></span>Second: {second}</p>\n{cautions}{links}",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, fixture};

    fn page(first: &[Record], second: &[Record]) -> String {
        diff_page(&Diff::of(first, second, Confidence::default()).unwrap(), first, second)
    }

    #[test]
    fn both_runs_are_in_one_chart_and_all_tables_are_there() {
        let page = page(&[fixture::direct_read_run()], &[fixture::page_cache_run()]);
        for text in [
            "first: physical reads",
            "second: p99",
            "In short",
            "What differs between the tests",
            "Top timed events",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert_eq!(page.matches("data-chart=\"reads-over-time\"").count(), 1);
        assert_eq!(page.matches("data-chart=\"latency-heat-map-first\"").count(), 1);
    }

    #[test]
    fn of_a_group_the_median_run_is_drawn() {
        let run = |name: &str, times: u64| {
            let mut record = fixture::direct_read_run();
            record.id = name.into();
            record.operations.values_mut().for_each(|totals| totals.operations *= times);
            record
        };
        let group = [run("slow", 1), run("fast", 9), run("middle", 3)];
        assert_eq!(typical(&group).unwrap().id, "middle");
        let page = page(&group, &[run("named-once", 2)]);
        let said = "3 runs: slow, fast, middle; the charts show the median one, middle<br>";
        assert!(page.contains(said), "{}", &page[..4000]);
        assert_eq!(page.matches("named-once").count(), 1);
    }

    #[test]
    fn a_failed_run_can_be_compared() {
        let page = page(&[fixture::direct_read_run()], &[fixture::failed_run()]);
        assert!(page.contains("Not shown: ") && page.contains("Caution:"));
    }
}
