use std::collections::BTreeMap;
use std::fmt::Write;

use rstest::rstest;
use slob_measure::Counter;
use slob_record::Record;

use super::*;
use slob_page::Answer;
use slob_testing::records;

const SAMPLE: &str = include_str!("fixtures/awr_info_older.txt");

fn runs_of_text(text: &str) -> Result<Vec<Run>, slob_awr::info::PipesError> {
    Ok(slob_awr::info::read_pipes(text)?.iter().map(run_of_row).collect())
}

fn of_sample(options: &Options) -> Result<Analysis, AnalysisError> {
    let variants = ["XFS", "EXT3", "RAW"].map(Variant::part);
    Analysis::of(&runs_of_text(SAMPLE).unwrap(), &variants, &slob_r_tables(), options)
}

/// SLOB.R's `myavg`: drop what equals the extremes, then the mean.
fn myavg(values: &[f64]) -> f64 {
    let (low, high) =
        (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max));
    let kept: Vec<f64> = values.iter().copied().filter(|value| *value != low && *value != high).collect();
    kept.iter().sum::<f64>() / kept.len() as f64
}

/// SLOB.R's tables, calculated from the text independently: cells by position, rules by REFERENCE's words.
fn independent(text: &str, table: &str, variant: &str, sessions: Option<u32>) -> f64 {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let cell: Vec<&str> = line.split('|').collect();
        let number = |at: usize| cell[at].parse::<f64>().unwrap();
        let (writers, readers, redo, preads, pwrites) =
            (number(1), number(2), number(6), number(8), number(9));
        let is_reads = readers > 0.0;
        let is_redo = redo / (pwrites * 8192.0) > 2.0 && !is_reads;
        let is_writes = writers > 0.0 && !is_redo;
        let wanted = match table {
            "READS" => is_reads,
            "REDO" => is_redo,
            _ => is_writes,
        };
        let of_sessions = sessions.is_none_or(|n| writers == f64::from(n) || readers == f64::from(n));
        if wanted && of_sessions && cell[0].contains(variant) {
            first.push(match table {
                "READS" | "READWRITE" => preads,
                "REDO" => redo,
                _ => pwrites,
            });
            second.push(pwrites);
        }
    }
    if table == "READWRITE" { myavg(&first) + myavg(&second) } else { myavg(&first) }
}

#[test]
fn tables_of_awr_info_are_slob_rs_to_the_last_digit() {
    let analysis = of_sample(&Options::default()).unwrap();
    let titles: Vec<_> = analysis.tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles, ["READS", "REDO", "WRITES", "READWRITE"]);
    for table in &analysis.tables {
        assert_eq!(table.sessions, [8, 16, 32]);
        for row in &table.rows {
            let of = |sessions| independent(SAMPLE, &table.title, &row.variant, sessions);
            let expected: Vec<f64> = [Some(8), Some(16), Some(32), None].into_iter().map(of).collect();
            let found: Vec<f64> =
                row.cells.iter().chain([&row.overall]).map(|cell| cell.slob_r_mean.unwrap()).collect();
            for (found, expected) in found.iter().zip(&expected) {
                let place = (&table.title, &row.variant);
                assert!((found / expected - 1.0).abs() < 1e-12, "{place:?}: {found} {expected}");
            }
        }
        // The text has the digits of the independent figures.
        let text = analysis.text(None);
        for (at, sessions) in [Some(8), Some(16), Some(32), None].into_iter().enumerate() {
            let values: Vec<Option<f64>> = table
                .rows
                .iter()
                .map(|row| Some(independent(SAMPLE, &table.title, &row.variant, sessions)))
                .collect();
            for (row, shown) in table.rows.iter().zip(views::as_r_prints(&values)) {
                let lines: Vec<&str> = text
                    .split(&format!("{}: {}\n", table.title, table.metric))
                    .nth(1)
                    .unwrap()
                    .lines()
                    .filter(|line| line.trim_start().starts_with(&row.variant))
                    .collect();
                let cells: Vec<&str> = lines[0].split_whitespace().collect();
                assert_eq!(cells[at + 1], shown, "{text}");
            }
        }
    }
}

#[test]
fn scaled_tables_make_the_chosen_variant_one() {
    let options = Options { scale: Some("RAW".into()), ..Options::default() };
    let analysis = of_sample(&options).unwrap();
    for table in &analysis.tables {
        let raw = table.rows.iter().find(|row| row.variant == "RAW").unwrap();
        assert!(raw.cells.iter().chain([&raw.overall]).all(|cell| cell.scaled == Some(1.0)));
        let xfs = &table.rows[0];
        let expected = independent(SAMPLE, &table.title, "XFS", Some(16))
            / independent(SAMPLE, &table.title, "RAW", Some(16));
        assert!((xfs.cells[1].scaled.unwrap() - expected).abs() < 1e-12);
    }
    assert!(analysis.text(None).contains("Relative to RAW:"));
    let none = Options { scale: Some("ZFS".into()), ..options };
    assert_eq!(
        of_sample(&none).unwrap_err().to_string(),
        "there is no variant 'ZFS' to scale by; there are XFS, EXT3, RAW"
    );
}

#[test]
fn variants_come_from_the_names_where_nobody_says_them() {
    let runs = runs_of_text(SAMPLE).unwrap();
    let variants = variants_of(runs.iter().map(|run| run.label.as_str()));
    let names: Vec<_> = variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["AWR-EXT3", "AWR-RAW", "AWR-XFS"]);
}

const NEWER: &str = "FILE|SESSIONS|ELAPSED|DB CPU|DB Tm|EXECUTES|LIO|PREADS|READ_MBS|PWRITES|WRITE_MBS|REDO_MBS|DFSR_LAT|\
                     DPR_LAT|DFPR_LAT|DFPW_LAT|LFPW_LAT|TOP WAIT|";

#[test]
fn the_newer_form_tells_models_by_figures() {
    let text = format!(
        "{NEWER}\nawr.txt.8|8|300|1|8|10|100|20000|160|3|0|0.01|390|||||db file sequential read|\n{NEWER}\n\
         redo.16|16|300|1|8|10|100|12|0|90|0.7|310||||||log file sync|\n\
         rw.16|16|300|1|8|10|100|12000|0|9000|0.7|30||||||db file sequential read|\n"
    );
    let runs = runs_of_text(&text).unwrap();
    let models: Vec<_> = runs.iter().map(|run| run.models.first().unwrap().as_str()).collect();
    assert_eq!(models, ["READS", "REDO", "WRITES"]);
    assert_eq!(
        (runs[0].figures["single_read_mean_us"], runs[1].figures.get("single_read_mean_us")),
        (390.0, None)
    );
    assert_eq!(runs[1].figures["redo_bytes_per_s"], 310.0 * 1_048_576.0);
}

/// The newer form has no columns for roles.
#[test]
fn names_in_rows_tell_writers_and_readers_and_a_part_of_a_name_is_enough() {
    let row = |file: &str, reads: u32| {
        format!("{file}||60|1|8|100|1000|{reads}|1|900|1|1|500|||||db file sequential read|\n")
    };
    let files = [
        ("SLOB-AWR-EXT3-1.0.8", 1000),
        ("SLOB-AWR-EXT3-2.0.8", 1010),
        ("SLOB-AWR-XFS-1.0.8", 1200),
        ("SLOB-AWR-XFS-2.0.8", 1190),
    ];
    let runs =
        runs_of_text(&format!("{NEWER}\n{}", files.map(|(file, reads)| row(file, reads)).concat())).unwrap();
    assert!(
        runs.iter().all(|run| run.models == ["READS".to_owned()].into() && run.sessions == [8].into()),
        "{runs:?}"
    );
    let variants = variants_of(runs.iter().map(|run| run.label.as_str()));
    let options = Options { scale: Some("EXT3".into()), ..Options::default() };
    let analysis = Analysis::of(&runs, &variants, &slob_r_tables(), &options).unwrap();
    assert_eq!(analysis.scale.as_deref(), Some("SLOB-AWR-EXT3"));
}

#[test]
fn what_is_not_awr_info_is_refused_with_its_line() {
    let error = |text: &str| runs_of_text(text).unwrap_err().to_string();
    assert!(error("hello\n").contains("must begin with FILE|"));
    assert!(error("FILE|SESSIONS|PREADS|\na|1|\n").contains("line 2 has 2 cells, but the head has 3"));
    assert!(error("FILE|SESSIONS|PREADS|\na|1|x|\n").contains("line 2: PREADS is 'x'"));
}

/// Draws of a known noise, about normal: sums of twelve uniforms from Knuth's MMIX generator.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn near(&mut self, mean: f64, spread: f64) -> f64 {
        mean * (spread * ((0..12).map(|_| self.uniform()).sum::<f64>() - 6.0)).exp()
    }
}

/// `raw`, its twin and `other`, which is faster by some percent; three numbers of sessions, five repeats.
fn campaign(seed: u64, faster_percent: f64) -> Analysis {
    let mut draws = Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    (0..20).for_each(|_| {
        let _ = draws.uniform();
    });
    let mut runs = Vec::new();
    for (variant, factor) in [("raw", 1.0), ("raw.again", 1.0), ("other", 1.0 + faster_percent / 100.0)] {
        for sessions in [1_u32, 2, 4] {
            for _ in 0..5 {
                let rate = draws.near(1000.0 * f64::from(sessions) * factor, 0.02);
                runs.push(Run {
                    label: variant.into(),
                    models: BTreeSet::from(["read".into()]),
                    sessions: BTreeSet::from([sessions]),
                    figures: BTreeMap::from([("physical_reads_per_s".into(), rate)]),
                    ..Run::default()
                });
            }
        }
    }
    let variants = [
        Variant::whole("raw"),
        Variant::whole("raw.again").twin_of(Some("raw".into())),
        Variant::whole("other"),
    ];
    let spec = TableSpec { title: "read".into(), model: "read".into(), metric: Metric::Reads };
    Analysis::of(&runs, &variants, &[spec], &Options::default()).unwrap()
}

#[test]
fn the_same_thing_twice_shows_no_difference_in_at_least_19_of_20() {
    let quiet = |seeds: std::ops::Range<u64>| {
        let shows = |seed: &u64| {
            let pair = campaign(*seed, 0.0).tables[0].pairs[0].clone();
            assert!(pair.same_thing && pair.verdict.starts_with("A/A: raw"));
            pair.verdict.contains("no difference found")
        };
        seeds.filter(shows).count()
    };
    assert!(quiet(0..20) >= 19);
    // Two pairs share 5 %: each is wrong in 2.5 %. Of 800, 20 are expected, and 36 are more than 3.5 deviations away.
    assert!(quiet(0..800) >= 800 - 36);
}

#[test]
fn a_real_difference_is_found_and_its_size_said() {
    let mut found = 0;
    for seed in 0..200 {
        let analysis = campaign(seed, 5.0);
        let pair = analysis.tables[0].pairs.iter().find(|pair| pair.second == "other").unwrap();
        let interval = pair.overall.unwrap().interval.unwrap();
        found +=
            u32::from(interval.low < 5.0 && 5.0 < interval.high && pair.verdict.contains("faster than raw"));
    }
    assert!(found >= 190, "{found}");
    assert_eq!(campaign(1, 5.0).tables[0].pairs.len(), 2);
}

/// Verdicts of one table hold together, those of several do not.
#[test]
fn several_tables_say_how_many_differ_by_chance() {
    let by_chance = "By chance alone, one table in 20 is marked.";
    let mut analysis = of_sample(&Options::default()).unwrap();
    assert!(analysis.tables.len() > 1 && analysis.text(None).contains(by_chance), "{}", analysis.text(None));
    analysis.tables.truncate(1);
    assert!(!analysis.text(None).contains(by_chance), "{}", analysis.text(None));
}

#[test]
fn single_runs_make_no_statement_about_noise() {
    let mut text = "FILE|WRITERS|READERS|PREADS|PWRITES|REDO|\n".to_owned();
    for (variant, rate) in [("XFS", 100), ("RAW", 110)] {
        let _ = writeln!(text, "{variant}-run1.0.8|0|8|{rate}|0|0|");
    }
    let runs = runs_of_text(&text).unwrap();
    let variants = ["XFS", "RAW"].map(Variant::part);
    let analysis = Analysis::of(&runs, &variants, &slob_r_tables(), &Options::default()).unwrap();
    let table = &analysis.tables[0];
    assert_eq!(table.rows[0].cells[0].slob_r_mean, None);
    assert_eq!((table.rows[0].cells[0].mean, table.rows[0].cells[0].low), (Some(100.0), None));
    assert!(table.pairs[0].verdict.contains("(a side has a single run)"), "{:?}", table.pairs);
    assert!(analysis.text(None).contains("repeat three times or more"));
}

#[test]
fn the_csv_has_a_line_for_each_cell() {
    let csv = of_sample(&Options::default()).unwrap().csv();
    assert_eq!(csv.lines().count(), 1 + 4 * 3 * 4);
    assert!(csv.lines().all(|line| line.split(',').count() == 17), "{csv}");
}

fn mixed_runs(counters: &[Counter]) -> Vec<Run> {
    let run = |repeat: u64| {
        let mut record = records::update_run();
        record.counters =
            [Counter::RedoBytes].iter().chain(counters).map(|one| (*one, 60_000 + 600 * repeat)).collect();
        run_of(&slob_facts::Run::of(&record)).unwrap()
    };
    (0..3).map(run).collect()
}

fn analysed(runs: &[Run], metric: Metric) -> Result<Analysis, AnalysisError> {
    let model = runs[0].models.first().unwrap().clone();
    let variants = variants_of(runs.iter().map(|run| run.label.as_str()));
    Analysis::of(runs, &variants, &[TableSpec { title: "t".into(), model, metric }], &Options::default())
}

/// No database counts requests of writes.
#[rstest]
#[case::requests_of_reads(&[Counter::PhysicalReads, Counter::PhysicalReadRequests, Counter::PhysicalWrites])]
#[case::blocks(&[Counter::PhysicalReads, Counter::PhysicalWrites])]
fn reads_and_writes_are_counted_in_a_unit_that_both_have(#[case] counters: &[Counter]) {
    let runs = mixed_runs(counters);
    let metrics = [Metric::Reads, Metric::Redo, Metric::Writes, Metric::ReadWrite];
    for (metric, mean) in metrics.into_iter().zip([1010.0, 1010.0, 1010.0, 2020.0]) {
        let analysis = analysed(&runs, metric).unwrap();
        let table = &analysis.tables[0];
        assert_eq!((table.rows[0].overall.mean, table.lacking.len()), (Some(mean), 0), "{}", table.metric);
        let unit = if matches!(metric, Metric::Redo) { "bytes" } else { "(in blocks)" };
        assert!(table.metric.contains(unit), "{}", table.metric);
        assert!(analysis.html().contains("data-chart=\"means-1\""));
    }
}

#[test]
fn requests_of_reads_are_used_where_nothing_counts_writes() {
    let runs = mixed_runs(&[Counter::PhysicalReads, Counter::PhysicalReadRequests]);
    let reads = analysed(&runs, Metric::Reads).unwrap();
    assert_eq!(reads.tables[0].metric, "physical reads per second (in requests)");
    for metric in [Metric::Writes, Metric::ReadWrite] {
        let error = analysed(&runs, metric).unwrap_err().to_string();
        assert!(
            error.contains("has no physical") && error.contains("nothing counted physical_write"),
            "{error}"
        );
    }
}

#[test]
fn a_variant_without_the_figure_is_named_beside_those_with_it() {
    let mut runs = mixed_runs(&[Counter::PhysicalReads, Counter::PhysicalWrites]);
    let mut blind = mixed_runs(&[Counter::PhysicalReads]);
    blind.iter_mut().for_each(|run| run.label = "blind".into());
    runs.append(&mut blind);
    let analysis = analysed(&runs, Metric::Writes).unwrap();
    let table = &analysis.tables[0];
    assert_eq!((table.rows.len(), table.lacking.len()), (1, 1));
    assert!(table.lacking[0].contains("blind has no physical writes per second"), "{:?}", table.lacking);
    assert!(analysis.text(None).contains("blind has no physical writes"));
}

fn two_variants(second: fn() -> Record) -> Vec<Run> {
    let named = |label: &str, record: Record| Run {
        label: label.into(),
        ..run_of(&slob_facts::Run::of(&record)).unwrap()
    };
    let runs = |label: &'static str, of: fn() -> Record| (0..3).map(move |_| named(label, of()));
    runs("direct", records::direct_read_run).chain(runs("buffered", second)).collect()
}

#[test]
fn reads_of_a_page_cache_are_not_praised() {
    let analysis = analysed(&two_variants(records::page_cache_run), Metric::Reads).unwrap();
    let table = &analysis.tables[0];
    let pair = &table.pairs[0];
    assert_eq!((pair.overall, &pair.by_sessions), (None, &vec![None]));
    assert!(
        pair.verdict.contains("can't be compared") && pair.verdict.contains("Physical? of buffered is BAD")
    );
    let buffered = table.rows.iter().find(|row| row.variant == "buffered").unwrap();
    assert_eq!(buffered.label(&table.rests_on), "buffered (Physical? BAD)");
    let (text, page) = (analysis.text(None), analysis.html());
    for words in ["times the figure", "faster", "slower"] {
        assert!(!text.contains(words) && !page.contains(words), "{words}");
    }
    assert!(!page.contains("data-chart=\"ratios-1\""), "{page}");
    assert!(text.contains("BAD 3/3") && page.contains("buffered (Physical? BAD)"), "{text}");
    assert!(!analysis.are_good() && analysis.csv().contains("BAD: Physical?"));
}

#[test]
fn unlike_runs_are_said_to_be_unlike() {
    let other = || {
        let mut record = records::direct_read_run();
        record.server.product = "OtherDB".into();
        record.workload.scale_blocks *= 2;
        record
    };
    let notes = analysed(&two_variants(other), Metric::Reads).unwrap().notes;
    let words = notes.join(" ");
    assert!(words.contains("ExampleDB, OtherDB") && words.contains("1,048,576, 2,097,152"), "{words}");
}

#[test]
fn a_limit_that_one_variant_has_is_named() {
    let limited = || {
        let (mut record, mut server) = (records::direct_read_run(), records::half_a_cpu());
        server.limits.as_mut().unwrap().io = vec!["254:0 riops=100".to_owned()];
        record.observed = vec![server];
        record
    };
    let notes = analysed(&two_variants(limited), Metric::Reads).unwrap().notes.join(" ");
    assert!(notes.contains("different limits: buffered has "), "{notes}");
    assert!(notes.contains("I/O limit 254:0 riops=100"), "{notes}");
}

/// An operation has 64 blocks.
#[test]
fn latencies_are_those_of_reads_where_they_are_known() {
    let shown = |runs: &[Run], latency| {
        let options = Options { latency, ..Options::default() };
        let spec = TableSpec { title: "t".into(), model: "READS".into(), metric: Metric::Reads };
        let variants = variants_of(runs.iter().map(|run| run.label.as_str()));
        let table = Analysis::of(runs, &variants, &[spec], &options).unwrap().tables.remove(0);
        (table.latency, table.rows[0].cells[0].latency_us, table.rows[0].cells[0].latency_p99_us)
    };
    let runs = two_variants(records::direct_read_run);
    let figure = |name: &str| runs[0].figures.get(name).copied();
    let reads = (figure("physical_read_mean_us"), figure("physical_read_p99_us"));
    let near =
        |found: Option<f64>, wanted: Option<f64>| (found.unwrap() / wanted.unwrap() - 1.0).abs() < 1e-9;
    let (of, mean, p99) = shown(&runs, None);
    assert!(of == Some(LatencyOf::Read) && near(mean, reads.0) && near(p99, reads.1), "{mean:?} {p99:?}");
    let (of, mean, _) = shown(&runs, Some(LatencyOf::Operation));
    assert!(of == Some(LatencyOf::Operation) && near(mean, figure("operation_mean_us")), "{mean:?}");
    let mut untimed = runs.clone();
    untimed.iter_mut().for_each(|run| {
        run.figures.remove("single_read_mean_us");
    });
    assert_eq!(shown(&untimed, None).0, Some(LatencyOf::Operation));
    let crowded = &two_variants(records::crowded_run)[3..];
    let (of, mean, _) = shown(crowded, None);
    let response = crowded[0].figures.get("response_mean_us").copied();
    assert!(of == Some(LatencyOf::Response) && near(mean, response), "{mean:?}");
}
