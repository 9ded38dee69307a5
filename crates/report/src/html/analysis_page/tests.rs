use super::*;
use crate::analysis::{Metric, Options, Run, TableSpec, Variant};
use crate::html::plot::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// `raw` and its twin, and `xfs`, which is twice as fast; two numbers of sessions, three repeats.
fn analysis(scale: Option<&str>) -> Analysis {
    let mut runs = Vec::new();
    for (variant, factor) in [("raw", 1.0), ("raw.again", 1.0), ("xfs", 2.0)] {
        for sessions in [1_u32, 4] {
            for repeat in 0..3 {
                let rate = 1000.0 * f64::from(sessions) * factor + f64::from(repeat);
                runs.push(Run {
                    label: variant.into(),
                    models: BTreeSet::from(["read".into()]),
                    sessions: BTreeSet::from([sessions]),
                    figures: BTreeMap::from([
                        ("physical_reads_per_s".into(), rate),
                        ("operation_mean_us".into(), 250.0),
                    ]),
                    ..Run::default()
                });
            }
        }
    }
    let twin = Variant::whole("raw.again").twin_of(Some("raw".into()));
    let variants = [Variant::whole("raw"), twin, Variant::whole("xfs")];
    let spec = TableSpec { title: "read <all>".into(), model: "read".into(), metric: Metric::Reads };
    let options = Options { scale: scale.map(str::to_owned), ..Options::default() };
    Analysis::of(&runs, &variants, &[spec], &options).unwrap()
}

fn measured(chart: &Chart, trace: usize) -> &crate::html::plot::MeasuredBars {
    match &chart.body.as_ref().unwrap().traces[trace] {
        Trace::Measured(bars) => bars,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bars_stand_beside_each_other_with_their_intervals() {
    let analysis = analysis(None);
    let table = &analysis.tables[0];
    let chart = bars::chart(&analysis, table, 1);
    let xfs = measured(&chart, 2);
    assert_eq!((xfs.name.as_str(), xfs.bars[1].value), ("xfs", 8001.0));
    let cell = &table.rows[2].cells[1];
    assert_eq!(xfs.bars[1].interval, Some((cell.low.unwrap(), cell.high.unwrap())));
    // Groups lie around 0 and 1, and no bar lies over another.
    let mut all: Vec<_> = (0..3).flat_map(|trace| measured(&chart, trace).bars.clone()).collect();
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    assert!(all.windows(2).all(|two| two[0].at + two[0].width / 2.0 < two[1].at - two[1].width / 2.0));
    assert!(all.iter().all(|bar| (bar.at - bar.at.round()).abs() < 0.5));
}

#[test]
fn ratios_are_those_of_the_verdicts_either_way_round() {
    let value = |scale: Option<&str>, trace: usize| {
        let analysis = analysis(scale);
        let chart = ratios::chart(&analysis, &analysis.tables[0], 1);
        measured(&chart, trace).bars.first().map(|bar| (bar.value, bar.interval))
    };
    let (xfs, interval) = value(None, 2).unwrap();
    let (low, high) = interval.unwrap();
    assert!((xfs - 2.0).abs() < 0.01 && low < xfs && xfs < high, "{xfs} {low} {high}");
    assert_eq!(value(None, 0), Some((1.0, None)));
    let (raw, interval) = value(Some("xfs"), 0).unwrap();
    assert!((raw * xfs - 1.0).abs() < 1e-9 && interval.unwrap().0 < raw, "{raw}");
    // A twin is compared with its original alone.
    assert_eq!(value(Some("xfs"), 1), None);
}

#[test]
fn the_page_has_verdicts_charts_and_figures_and_nothing_of_it_is_run() {
    let page = analysis_page(&analysis(Some("raw")));
    for text in [
        "read &lt;all&gt;: physical reads",
        "faster than raw",
        "Relative to raw:",
        "Difference in",
        "Bonferroni",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for chart in ["means-1", "ratios-1", "sweep-1"] {
        assert_eq!(page.matches(&format!("data-chart=\"{chart}\"")).count(), 1, "{chart}");
    }
    assert!(!page.contains("<all>"));
}

#[test]
fn a_figure_that_no_run_has_is_said_and_not_drawn() {
    let figures = BTreeMap::from([("physical_reads_per_s".into(), 1000.0)]);
    let sessions = BTreeSet::from([1]);
    let run = Run {
        label: "raw".into(),
        models: BTreeSet::from(["write".into()]),
        sessions,
        figures,
        ..Run::default()
    };
    let spec = TableSpec { title: "writes".into(), model: "write".into(), metric: Metric::Writes };
    let options = Options::default();
    let analysis = Analysis::of(&[run], &[Variant::whole("raw")], &[spec], &options).unwrap();
    let page = analysis_page(&analysis);
    assert!(
        page.contains("None of these runs has this figure") && analysis.text().contains("None of these runs")
    );
    assert!(!page.contains("0 runs") && !page.contains("class=\"chart\""));
}
