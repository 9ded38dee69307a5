use rstest::rstest;
use serde_json::Value;
use slob_facts::Run;
use slob_record::{ConfigEntry, Record};

use super::*;

use slob_testing::records;

const SHEET: &str = r#"
[[platform]]
name = "Two sockets of 6 cores"
iops = 625_000
cores = 12
iops_per_core = 52_093
source = "a weblog"

[[platform]]
name = "Appliance"
iops = 1_500_000
writes_percent = 0
cores = 96
cost_per_hour = "40 USD"
source = "its data sheet"

[[platform]]
name = "Cloud"
iops = 40_000
read_mean_us = 900
licensed_cores = 8
cost_per_hour = "0.50 USD"
source = "its price list"
"#;

fn of_run(record: Record) -> Platform {
    of_runs(&[record]).remove(0)
}

fn of_runs(records: &[Record]) -> Vec<Platform> {
    Platform::of_runs(records.iter().map(|record| JudgedRun::of(&Run::of(record))).collect())
}

#[test]
fn repeats_are_one_platform() {
    let run = |seconds: f64| {
        let mut record = records::update_run();
        record.name = format!("array-write-1x8-r{seconds}");
        record.window.as_mut().unwrap().seconds = seconds;
        record
    };
    let platforms = of_runs(&[run(60.0), run(30.0), records::direct_read_run()]);
    let [repeated, other] = platforms.as_slice() else { panic!("{platforms:?}") };
    assert_eq!(repeated.name, "array-write-1x8");
    assert!(
        repeated.source.starts_with("mean of 2 runs, ") && other.source.starts_with("run "),
        "{platforms:?}"
    );
    let alone = of_run(run(60.0)).io_per_s.unwrap();
    assert!((repeated.io_per_s.unwrap() / alone - 1.5).abs() < 0.01, "{platforms:?}");
}

#[test]
fn platforms_of_one_name_are_told_apart_by_what_differs() {
    let run = |schemas: u32, target: &str| {
        let mut record = records::update_run();
        (record.name, record.target) = ("array".into(), target.into());
        record.workload.schemas = schemas.try_into().unwrap();
        record
    };
    let names = |records: &[Record]| {
        let named = Ledger::new(of_runs(records)).platforms.into_iter().map(|platform| platform.name);
        named.sorted().collect_vec()
    };
    let sessions = |schemas: u32| plural(run(schemas, "a").workload.sessions().into(), "session");
    assert_eq!(names(&[run(1, "a"), run(1, "a")]), ["array"]);
    let [one, two] = [1, 2].map(|schemas| format!("array ({})", sessions(schemas)));
    assert_eq!(names(&[run(1, "a"), run(2, "a")]), [one, two]);
    let [one, two] =
        [(1, "a"), (2, "b")].map(|(schemas, target)| format!("array ({target}, {})", sessions(schemas)));
    assert_eq!(names(&[run(1, "a"), run(2, "b")]), [one, two]);
    let mut twice = of_runs(&[run(1, "a")]);
    twice.extend(of_runs(&[Record { id: "another".into(), ..run(1, "a") }]));
    let ledger = Ledger::new(twice);
    assert!(ledger.platforms[1].name.contains("run another"), "{ledger:?}");
    assert_ne!(ledger.platforms[0].name, ledger.platforms[1].name);
}

fn priced(mut record: Record, cost: &str, cores: &str) -> Record {
    for (key, value) in [("COST_PER_HOUR", cost), ("LICENSED_CORES", cores)] {
        let (key, value) = (key.into(), value.into());
        record.configuration.push(ConfigEntry { key, value, origin: "command line".into() });
    }
    record
}

/// Its verdict 'Physical?' is BAD.
fn cached() -> Record {
    let mut record = priced(records::page_cache_run(), "0.01 USD", "1");
    record.counters.set(slob_measure::Counter::PhysicalWrites, 10);
    record
}

fn claims(sheet: &str) -> Vec<Platform> {
    let claim = |entry| match entry {
        Entry::Claim(platform) => platform,
        Entry::Beside(..) => panic!("no claim"),
    };
    read_sheet("sheets.toml", sheet).unwrap().into_iter().map(claim).collect()
}

fn rows(ledger: &Ledger) -> Vec<Value> {
    serde_json::from_str(&ledger.table().json()).unwrap()
}

#[test]
fn a_run_beside_claims_as_text_and_markdown() {
    let run = of_run(priced(records::update_run(), "4.20 EUR", "4 cores"));
    let ledger = Ledger::new([claims(SHEET), vec![of_run(cached()), run]].concat());
    insta::assert_snapshot!(ledger.text(None));
    insta::assert_snapshot!(ledger.table().markdown());
}

#[test]
fn figures_are_those_of_the_run() {
    let record = priced(records::update_run(), "4.20 EUR", "4 cores");
    let (figures, row) = (slob_facts::Run::of(&record), &rows(&Ledger::new(vec![of_run(record.clone())]))[0]);
    for (name, figure) in [
        ("iops", &figure::PHYSICAL_IO_PER_S),
        ("iops_per_core", &figure::IOPS_PER_CORE),
        ("iops_per_db_core", &figure::IOPS_PER_DB_CORE),
        ("iops_per_licensed_core", &figure::IOPS_PER_LICENSED_CORE),
        ("cost_per_million_iops_hours", &figure::COST_PER_MILLION_IOPS_HOURS),
    ] {
        let (found, expected) = (row[name].as_f64().unwrap(), figure.of(&figures).unwrap());
        assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {found} is not {expected}");
    }
    assert_eq!((&row["cost_per_hour"], &row["price_rank"]), (&"4.20 EUR".into(), &Value::Null));
}

#[test]
fn an_invalid_run_has_no_figures_and_no_rank() {
    let sound = |cost| of_run(priced(records::update_run(), cost, "1"));
    let ledger = Ledger::new(vec![of_run(cached()), sound("2 USD"), sound("1 USD")]);
    let rows = rows(&ledger);
    assert_eq!(
        rows.iter().map(|row| row["price_rank"].as_u64()).collect::<Vec<_>>(),
        [Some(2), Some(1), None]
    );
    let row = rows.iter().find(|row| row["verdicts"].as_str().unwrap().contains("Physical?")).unwrap();
    for name in ["iops", "read_mean_us", "iops_per_core", "iops_per_db_core", "cost_per_million_iops_hours"] {
        assert_eq!(row[name], Value::Null, "{name}");
    }
    assert!(
        ledger.text(None).contains("Left out: Physical? of buffered is BAD: No:"),
        "{}",
        ledger.text(None)
    );
    assert!(!ledger.are_good());
}

#[test]
fn only_rows_of_one_basis_and_currency_are_ranked() {
    let run = of_run(priced(records::update_run(), "1 USD", "1"));
    let euro = SHEET.replace("0.50 USD", "0.50 EUR");
    let ranks = |sheet: &str| {
        let rows = rows(&Ledger::new([claims(sheet), vec![run.clone()]].concat()));
        rows.iter().map(|row| row["price_rank"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(ranks(SHEET), [None, None, Some(2), Some(1)]);
    assert_eq!(ranks(&euro), [None; 4]);
}

#[test]
fn a_price_is_added_to_a_run_or_a_report() {
    let sheet = "[[platform]]\nname = \"db1\"\nfrom = \"latest\"\ncost_per_hour = \"3 EUR\"\n";
    let entries = read_sheet("a.toml", sheet).unwrap();
    let [Entry::Beside(from, typed)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!(from, "latest");
    let platform = typed.beside(of_run(priced(records::update_run(), "9 EUR", "4")));
    let row = &rows(&Ledger::new(vec![platform]))[0];
    assert_eq!((&row["platform"], &row["cost_per_hour"]), (&"db1".into(), &"3 EUR".into()));
    assert_eq!(row["licensed_cores"].as_f64(), Some(4.0));
}

#[rstest]
#[case("platform = 1", 1, "invalid type")]
#[case("[[platform]]\nname = \"a\"\niop = 1\n", 3, "unknown field `iop`")]
#[case("[[platform]]\nname = \"a\"\niops = 0\n", 3, "a number above 0")]
#[case("[[platform]]\nname = \"a\"\niops = nan\n", 3, "a number above 0")]
#[case("[[platform]]\nname = \"a\"\niops = \"many\"\n", 3, "invalid type: string")]
#[case("[[platform]]\nname = \"a\"\nwrites_percent = 101\n", 3, "from 0 to 100")]
#[case("[[platform]]\ncost_per_hour = \"cheap\"\n", 2, "4.20 EUR")]
#[case("\n[[platform]]\nname = \"a\"\niops = 1\n", 2, "needs `name`, `iops` and `source`")]
#[case("[[platform]]\nfrom = \"latest\"\niops = 1\n", 1, "with `from` there is only")]
#[case("[[platform]]\nname = \"a\"\n\n[[platform]\n", 4, "")]
#[case("[[platform]]\nname = \"a\"\niops = 1\nsource = \" \"\n", 1, "who claims it")]
#[case("", 1, "missing field `platform`")]
#[case(
    "[[platform]]\nname=\"a\"\nsource=\"b\"\niops=625_000\ncores=8\niops_per_core=52_093",
    1,
    "625000 iops of 8 cores are 78,125 per core, not 52093"
)]
fn a_bad_sheet_is_refused_with_its_line(#[case] sheet: &str, #[case] line: usize, #[case] words: &str) {
    let message = read_sheet("sheets.toml", sheet).unwrap_err().to_string();
    assert!(message.starts_with(&format!("sheets.toml:{line}: ")) && message.contains(words), "{message}");
}

#[test]
fn names_can_not_become_elements() {
    let page = Ledger::new(claims(&SHEET.replace("Cloud", "<script>alert(1)</script>"))).html();
    assert!(!page.contains("<script>alert") && page.contains("52,093"), "the page");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\[\\[platform\\]\\]\n)?([a-z_]{1,14} = (\"[^\"]{0,9}\"|[0-9_.e-]{1,9})\n?){0,6}\\PC{0,9}") {
        let _ = read_sheet("a.toml", &text);
    }
}
