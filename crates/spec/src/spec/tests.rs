//! Tests of loads and runs, and of contradictions.

use std::num::NonZeroU32;
use std::time::Duration;

use rstest::rstest;

use crate::{
    Checked, ConfFile, Every, Group, Kind, Length, LoadSpec, Param, RunSpec, Secret, Settings, Size,
    SpecErrors, Table, WarmUp,
};

static DEMO: &[Param] = &[
    Param::new("CACHE_MB", Kind::Count { min: 1, max: 1024 }, Group::Engine("demo")).shipped("16"),
    Param::new("DEMO_TOKEN", Kind::Secret, Group::Engine("demo")),
];
static OTHER: &[Param] = &[Param::new("OTHER_MODE", Kind::Text, Group::Engine("other")).shipped("x")];

fn settings(flags: &[(&str, &str)]) -> Settings {
    let table = Table::new("file:./slob-data", &[DEMO, OTHER]);
    let flags: Vec<_> = flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Settings::resolve(&table, None, &[], &flags).unwrap().settings
}

fn run(flags: &[(&str, &str)]) -> Result<Checked<RunSpec>, SpecErrors> {
    RunSpec::from_settings(&settings(flags))
}

#[test]
fn a_plan_with_an_automatic_warm_up_holds_its_limit_and_a_work_loop_has_none() {
    let warm_up = |flags: &[(&str, &str)]| {
        let spec = run(flags).unwrap().spec;
        (spec.warmup, spec.workload.warmup_s)
    };
    let limit = Duration::from_secs(120);
    assert_eq!(warm_up(&[("WARMUP", "auto:2m")]), (WarmUp::Auto(limit), 120.0));
    assert_eq!(warm_up(&[("WARMUP", "auto"), ("WORK_LOOP", "10")]), (WarmUp::NONE, 0.0));
    let refused =
        |text| Settings::resolve(&Table::new("file:./d", &[]), None, &[], &[("WARMUP".to_owned(), text)]);
    let said = refused("auto:1s".to_owned()).unwrap_err().to_string();
    assert!(said.contains("with a limit auto:10m (3 s or more)"), "{said}");
}

fn every(n: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(n)
}

#[test]
fn the_defaults_make_a_run() {
    let Checked { spec, warnings } = run(&[]).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let work = &spec.workload;
    assert_eq!((work.update_pct.get(), work.scan_pct.get(), work.commit_every), (10.0, 0.0, Every::ONE));
    assert_eq!((work.work_unit.get(), work.update_work_unit.get()), (64, 64));
    assert_eq!((spec.scale, work.scale_blocks, spec.block_bytes()), (Size::Bytes(80 << 20), 10_240, 8192));
    let (five_minutes, five_s) = (Duration::from_secs(300), Duration::from_secs(5));
    assert_eq!((spec.length, spec.warmup), (Length::Time(five_minutes), WarmUp::For(five_s)));
    assert_eq!((work.hot_spot, work.hot_schema_every, work.think_time, spec.seed), (None, None, None, None));
    assert_eq!((work.sessions(), spec.host_counters, spec.external_script), (1, true, None));
}

#[test]
fn the_defaults_of_an_empty_file_make_a_run() {
    let table = Table::new("file:./slob-data", &[]);
    let file = ConfFile::parse("slob.conf", "").unwrap();
    let settings = Settings::resolve(&table, Some(&file), &[], &[]).unwrap().settings;
    let work = RunSpec::from_settings(&settings).unwrap().spec.workload;
    assert_eq!((work.update_pct.get(), work.work_unit.get(), work.scale_blocks), (25.0, 256, 10_000));
    assert!(LoadSpec::from_settings(&settings).is_ok());
}

#[test]
fn the_defaults_make_a_load() {
    let spec =
        LoadSpec::from_settings(&settings(&[("SEED", "7"), ("OBFUSCATE_COLUMNS", "yes")])).unwrap().spec;
    assert_eq!((spec.schemas.get(), spec.streams.get(), spec.seed, spec.obfuscate), (1, 2, Some(7), true));
    assert_eq!(
        (spec.scale_blocks(), spec.scan_table, spec.tablespace),
        (10_240, Some(Size::Bytes(1 << 20)), None)
    );
    let none = LoadSpec::from_settings(&settings(&[("SCAN_TABLE_SZ", "1K")])).unwrap().spec;
    assert_eq!(none.scan_table, None);
}

#[test]
fn operations_override_time() {
    assert_eq!(run(&[("WORK_LOOP", "9"), ("RUN_TIME", "1h")]).unwrap().spec.length, Length::Operations(9));
    assert_eq!(run(&[("RUN_TIME", "1h")]).unwrap().spec.length, Length::Time(Duration::from_secs(3600)));
}

#[test]
fn every_part_of_a_run_is_read() {
    let spec = run(&[
        ("DO_HOTSPOT", "TRUE"),
        ("THINK_TM_FREQUENCY", "5"),
        ("HOT_SCHEMA_FREQUENCY", "7"),
        ("SCHEMAS", "4"),
        ("UPDATE_WORK_UNIT", "3"),
        ("SQLNET_SERVICE_BASE", "rac"),
        ("SQLNET_SERVICE_MAX", "2"),
        ("NO_OS_PERF_DATA", "TRUE"),
    ])
    .unwrap()
    .spec;
    let hot = spec.hot_spot.unwrap();
    assert_eq!((hot.size_mb.get(), hot.offset_mb, Some(hot.every)), (8, 16, Every::new(3)));
    let think = spec.workload.think_time.unwrap();
    assert_eq!((Some(think.every), think.min_us, think.max_us), (every(5), 100_000, 500_000));
    assert_eq!((spec.workload.hot_schema_every, spec.workload.update_work_unit.get()), (every(7), 3));
    assert!(!spec.host_counters);
}

#[rstest]
#[case(&[("SCHEMAS", "1024"), ("THREADS_PER_SCHEMA", "64")], "makes 65536 sessions, but at most 65535")]
#[case(&[("SCALE", "32")], "WORK_UNIT=64 is more blocks than SCALE=32 has, which is 32 blocks")]
#[case(&[("SCALE", "64"), ("UPDATE_WORK_UNIT", "65")], "UPDATE_WORK_UNIT=65 is more blocks than SCALE=64")]
#[case(&[("DO_HOTSPOT", "TRUE"), ("HOTSPOT_MB", "0")], "HOTSPOT_MB=0 leaves it no room")]
#[case(&[("DO_HOTSPOT", "TRUE"), ("HOTSPOT_MB", "65")], "ends at block 10368 (HOTSPOT_OFFSET_MB=16, HOTSPOT_MB=65), but SCALE=80M has 10240")]
#[case(&[("DO_HOTSPOT", "TRUE"), ("HOTSPOT_MB", "1"), ("WORK_UNIT", "129")], "WORK_UNIT=129 is more blocks than HOTSPOT_MB=1 has")]
#[case(&[("SCAN_PCT", "1"), ("SCAN_TABLE_SZ", "0")], "SCAN_PCT=1 asks for short scans, but SCAN_TABLE_SZ=0")]
#[case(&[("THINK_TM_FREQUENCY", "1"), ("THINK_TM_MIN", "1")], "THINK_TM_MIN=1 is more than THINK_TM_MAX=0.5")]
#[case(&[("SQLNET_SERVICE_MAX", "2")], "SQLNET_SERVICE_BASE is not set")]
#[case(&[("RUN_TIME", "60"), ("RATE", "100@0s,200@60s")], "RUN_TIME=60 ends the window by then")]
#[case(&[("RUN_TIME", "60"), ("RATE", "100@0s,200@30s"), ("UNTIL_STEADY", "TRUE")], "waits for a rate that does not")]
fn contradictions_are_refused(#[case] flags: &[(&str, &str)], #[case] message: &str) {
    let errors = run(flags).unwrap_err();
    assert_eq!(errors.errors().len(), 1, "{errors}");
    assert!(errors.to_string().contains(message), "{errors}");
}

#[rstest]
#[case(&[("SCHEMAS", "8"), ("THREADS_PER_SCHEMA", "4096")])]
#[case(&[("SCALE", "64")])]
#[case(&[("SCALE", "64"), ("UPDATE_WORK_UNIT", "65"), ("UPDATE_PCT", "0")])]
#[case(&[("DO_HOTSPOT", "TRUE"), ("HOTSPOT_MB", "64")])]
#[case(&[("DO_HOTSPOT", "TRUE"), ("HOTSPOT_MB", "1"), ("WORK_UNIT", "128")])]
#[case(&[("HOTSPOT_MB", "0")])]
#[case(&[("THINK_TM_MIN", "1")])]
#[case(&[("THINK_TM_FREQUENCY", "1"), ("THINK_TM_MIN", "0.5")])]
#[case(&[("SQLNET_SERVICE_MAX", "0")])]
fn limits_are_accepted(#[case] flags: &[(&str, &str)]) {
    assert_eq!(run(flags).unwrap().warnings, Vec::<String>::new());
}

#[test]
fn all_contradictions_are_reported_together() {
    let errors = run(&[
        ("SCHEMAS", "65535"),
        ("THREADS_PER_SCHEMA", "2"),
        ("SCALE", "16"),
        ("DO_HOTSPOT", "TRUE"),
        ("SCAN_PCT", "5"),
        ("SCAN_TABLE_SZ", "0"),
    ])
    .unwrap_err();
    assert_eq!(errors.errors().len(), 4, "{errors}");
    assert_eq!(errors.to_string().lines().count(), 4);
}

#[rstest]
#[case(&[("DO_HOTSPOT", "TRUE"), ("HOTSPOT_FREQUENCY", "0")], "HOTSPOT_FREQUENCY=0 means never")]
#[case(&[("HOT_SCHEMA_FREQUENCY", "3")], "HOT_SCHEMA_FREQUENCY=3 has no effect with one schema")]
#[case(&[("UPDATE_PCT", "100"), ("SCAN_PCT", "5")], "SCAN_PCT=5 has no effect")]
fn parameters_without_effect_give_a_warning(#[case] flags: &[(&str, &str)], #[case] message: &str) {
    let Checked { spec, warnings } = run(flags).unwrap();
    assert_eq!((spec.hot_spot, spec.workload.hot_schema_every), (None, None));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains(message), "{}", warnings[0]);
}

#[test]
fn no_secret_is_shown() {
    let flags = [
        ("TARGET", "db://app:t1ger@h/d"),
        ("SYSDBA_PASSWD", "t1ger"),
        ("DEMO_TOKEN", "t1ger"),
        ("RUN_TIME", "90"),
    ];
    let settings = settings(&flags);
    let run = RunSpec::from_settings(&settings).unwrap().spec;
    let load = LoadSpec::from_settings(&settings).unwrap().spec;
    assert_eq!((run.target.to_string().as_str(), run.scale.to_string().as_str()), ("db://app@h/d", "80M"));
    let all = format!("{run:?} {load:?}");
    assert!(!all.contains("t1ger"), "{all}");
}

#[test]
fn each_engine_gets_its_own_options() {
    let options = run(&[("DEMO_TOKEN", "t1ger")]).unwrap().spec.options.of("demo");
    let own = options.0.iter().filter(|(_, (group, _))| *group != Group::Access);
    assert_eq!(own.map(|(key, _)| *key).collect::<Vec<_>>(), ["CACHE_MB", "DEMO_TOKEN"]);
    assert_eq!(options.get::<String>("DBA_PRIV_USER").as_deref(), Some("system"));
    assert_eq!(options.get("CACHE_MB"), Some(16_u64));
    assert_eq!(options.get::<Secret>("DEMO_TOKEN").as_ref().map(Secret::expose), Some("t1ger"));
    assert_eq!((options.get::<String>("OTHER_MODE"), options.get::<bool>("CACHE_MB")), (None, None));
}

#[test]
fn a_password_among_the_hosts_is_not_shown() {
    let errors = run(&[("TARGET", "db://u@h/d"), ("ENDPOINTS", "u:tiger@a,b")]).unwrap_err().to_string();
    assert!(errors.contains("ENDPOINTS can't replace") && !errors.contains("tiger"), "{errors}");
}

#[rstest]
#[case(&[("WRITERS", "4"), ("READERS", "8"), ("SCHEMAS", "1")], (1, 12), (33.0, Some(4)))]
#[case(&[("WRITERS", "4"), ("READERS", "8"), ("SCHEMAS", "64")], (12, 1), (33.0, Some(4)))]
#[case(&[("READERS", "8"), ("SCHEMAS", "2")], (2, 4), (0.0, None))]
#[case(&[("WRITERS", "8"), ("READERS", "0"), ("SCHEMAS", "8")], (8, 1), (100.0, None))]
#[case(&[("WRITERS", "1"), ("READERS", "999")], (1, 1000), (1.0, Some(1)))]
fn writers_and_readers_decide_the_sessions(
    #[case] flags: &[(&str, &str)],
    #[case] sessions: (u32, u32),
    #[case] (update_pct, writers): (f64, Option<u32>),
) {
    let Checked { spec, warnings } = run(flags).unwrap();
    let work = &spec.workload;
    assert_eq!((work.schemas.get(), work.threads_per_schema.get()), sessions);
    assert_eq!((work.update_pct.get(), work.writers.map(NonZeroU32::get)), (update_pct, writers));
    assert!(warnings.is_empty(), "{warnings:?}");
    let workload = spec.workload(8192, 1, 1);
    workload.check().unwrap();
    let does = |session| workload.of_session(session).update_pct.hundredths();
    if let Some(writers) = writers {
        let expected = (10_000, 10_000, 0, 0);
        assert_eq!((does(0), does(writers - 1), does(writers), does(work.sessions() - 1)), expected);
    }
}

#[test]
fn a_share_of_updates_beside_writers_and_readers_gives_a_warning() {
    let warnings = run(&[("WRITERS", "1"), ("READERS", "1"), ("UPDATE_PCT", "30")]).unwrap().warnings;
    let expected = ["UPDATE_PCT has no effect, because WRITERS and READERS say what each session does"];
    assert_eq!(warnings, expected);
}

#[rstest]
#[case(&[("WRITERS", "0"), ("READERS", "0")], "nothing would work")]
#[case(&[("WRITERS", "4"), ("READERS", "5"), ("SCHEMAS", "4")], "over SCHEMAS=4. Set SCHEMAS=3")]
#[case(&[("WRITERS", "65535"), ("READERS", "1")], "65536 sessions, but at most 65535")]
fn impossible_writers_and_readers_are_refused(#[case] flags: &[(&str, &str)], #[case] message: &str) {
    let error = run(flags).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}
