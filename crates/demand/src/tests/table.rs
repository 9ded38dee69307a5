//! Plans held against demands of real reports and of every shape, by arithmetic.

use std::fs;

use slob_awr::info::Named;

use crate::{
    At, By, Choice, Costs, Demand, Figure, Fit, Limits, Planned, Sample, Source, collect, compare, solve,
};

fn limits(scan_blocks: u64) -> Limits {
    let plain =
        Limits { schemas: 4, scan_blocks, scale_blocks: 10_240, most_sessions: 256, ..Limits::default() };
    plain.with_hot_spot(8192)
}

fn planned(demand: &Demand, costs: &Costs, limits: &Limits) -> (Planned, Fit) {
    let planned = solve(demand, costs, limits);
    let fit = compare(demand, &planned, None, costs);
    for missed in fit.missed() {
        let why = missed.why.as_deref().unwrap_or_default();
        // Nothing was run: no reason may speak of a run.
        assert!(!why.is_empty() && !why.contains("WARMUP") && !why.contains("the run"), "{missed:?}");
    }
    (planned, fit)
}

/// A row of the table: each figure's deviation in percent, and the figures that are missed.
fn row(name: &str, fit: &Fit) -> String {
    let line = |line: &crate::FitLine| {
        let percent = line.percent.map_or_else(|| "-".into(), |percent| format!("{percent:+.1}"));
        format!("{} {percent} %{}", line.what.words(), if line.is_missed() { " MISSED" } else { "" })
    };
    format!("{name:<58} {}", fit.lines.iter().map(line).collect::<Vec<_>>().join(", "))
}

#[test]
fn plans_for_real_reports_meet_each_figure_or_name_the_cause() {
    let Some(folder) = std::env::var_os("TEST_AWR_REPORTS") else {
        eprintln!("skipped: TEST_AWR_REPORTS names no folder of reports");
        return;
    };
    let (mut plans, mut met) = (0, 0);
    for file in fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let Ok(reports) = slob_awr::read(&fs::read(file.path()).unwrap()) else { continue };
        let name = file.file_name().to_string_lossy().into_owned();
        let samples =
            reports.into_iter().map(|report| Sample::of_report(&Named::new(name.clone(), report))).collect();
        for profile in collect(samples, Source::Reports) {
            for (by, grow) in [(By::Reads, 1.0), (By::Reads, 4.0), (By::Each, 0.5)] {
                let choice = Choice { at: At::Peak, by, grow, peak_factor: Some(1.0) };
                let Ok(demand) = profile.demand(&choice) else { continue };
                for scan_blocks in [128, 512, 2048] {
                    let (_, fit) = planned(&demand, &Costs::default(), &limits(scan_blocks));
                    eprintln!("{}", row(&format!("{name} {by:?} x{grow} scans of {scan_blocks}"), &fit));
                    plans += 1;
                    met += usize::from(fit.missed().count() == 0);
                }
            }
        }
    }
    eprintln!("{met} of {plans} plans meet every figure");
    assert!(100 * met >= 95 * plans, "{met} of {plans}");
}

#[test]
fn demands_of_every_shape_are_met() {
    use Figure::{Commits, LogicalReads, ReadRequests, RedoBytes};
    let of = |reads, logical, commits, redo| {
        Demand::of_peak([
            (ReadRequests, reads),
            (LogicalReads, logical),
            (Commits, commits),
            (RedoBytes, redo),
        ])
    };
    let shapes = [
        ("logical reads are nearly all hits", of(101.4, 97_456.0, 20.63, 146_100.0)),
        ("hardly any commit", of(8047.0, 68_115.0, 0.123, 4568.0)),
        ("hardly any work", of(0.4809, 651.0, 0.2774, 4513.0)),
        ("redo between two whole blocks", of(578.7, 406_408.0, 203.6, 393_300.0)),
        ("hundreds of MB of redo for each commit", of(71_553.0, 90_000.0, 0.42, 113.5e6)),
        ("changes of far more blocks than are read", of(50.0, 60_000.0, 400.0, 5e6)),
        ("a million hits", of(20_000.0, 1e6, 1500.0, 9e6)),
        ("reads alone, all physical", of(40_000.0, 40_000.0, 0.5, 700.0)),
        ("commits alone, all cached", of(0.5, 20_000.0, 5000.0, 12e6)),
    ];
    for (name, demand) in shapes {
        for scan_blocks in [128, 512, 2048] {
            let (planned, fit) = planned(&demand, &Costs::default(), &limits(scan_blocks));
            eprintln!("{}", row(&format!("{name}, scans of {scan_blocks}"), &fit));
            assert_eq!(fit.missed().count(), 0, "{planned:?}");
        }
    }
}

/// A generator of numbers between two others, evenly by their logarithm.
struct Numbers(u64);

impl Numbers {
    fn between(&mut self, least: f64, most: f64) -> f64 {
        // Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        least * (most / least).powf(share)
    }
}

/// By the costs of three databases: logical reads of a visit, redo of a LITE and a HEAVY block.
#[test]
fn ninety_five_of_a_hundred_demands_are_met_and_the_others_are_named() {
    for (visit, redo) in [(1.0, [1200.0, 6000.0]), (3.2, [217.0, 2800.0]), (4.1, [8300.0, 8400.0])] {
        let costs = Costs {
            logical_per_block: visit,
            redo: redo.map(|redo| vec![(1.0, redo)]),
            runs: 1,
            ..Costs::default()
        };
        let (mut numbers, mut met) = (Numbers(29), 0);
        for _ in 0..100 {
            let reads = numbers.between(1.0, 50_000.0);
            let commits = numbers.between(0.05, 3000.0);
            let redo_bytes = commits * numbers.between(1.02 * redo[0], 300.0 * redo[0]);
            // Reads and changes make so many at least.
            let least = visit * reads.max(redo_bytes / redo[0]);
            let demand = Demand::of_peak([
                (Figure::ReadRequests, reads),
                (Figure::LogicalReads, least * numbers.between(1.0, 1000.0)),
                (Figure::Commits, commits),
                (Figure::RedoBytes, redo_bytes),
            ]);
            let (planned, fit) = planned(&demand, &costs, &limits(128));
            match fit.missed().count() {
                0 => met += 1,
                _ => eprintln!("{}\n  {planned:?}", row(&format!("{:?}", demand.figures), &fit)),
            }
        }
        eprintln!("visits of {visit} logical reads: {met} of 100");
        assert!(met >= 95, "{met} of 100 with visits of {visit} logical reads");
    }
}

#[test]
fn what_the_method_can_not_do_is_named_with_its_cause() {
    use Figure::{Commits, LogicalReads, ReadRequests, RedoBytes};
    let why = |figures: [(Figure, f64); 4], limits: &Limits| {
        let fit =
            planned(&Demand::of_peak(figures), &Costs { logical_per_block: 3.0, ..Costs::default() }, limits)
                .1;
        let missed: Vec<_> =
            fit.missed().map(|line| (line.what.words(), line.why.clone().unwrap())).collect();
        assert_eq!(missed.len(), 1, "{fit:?}");
        missed[0].clone()
    };
    let base = [(ReadRequests, 1000.0), (LogicalReads, 9000.0), (Commits, 10.0), (RedoBytes, 24_000.0)];
    let with = |changed: (Figure, f64)| base.map(|own| if own.0 == changed.0 { changed } else { own });
    let (what, cause) = why(with((RedoBytes, 3000.0)), &limits(128));
    assert!(what == "redo" && cause.contains("can't write less"), "{what}: {cause}");
    let (what, cause) = why(with((LogicalReads, 1500.0)), &limits(128));
    assert!(
        what == "logical reads" && cause.contains("3.0 logical reads, those of its index"),
        "{what}: {cause}"
    );
    let none = Limits { hot_mb: 0, hot_blocks: 0, ..limits(0) };
    let (what, cause) = why(base, &none);
    assert!(what == "logical reads" && cause.contains("can't make more hits"), "{what}: {cause}");
}
