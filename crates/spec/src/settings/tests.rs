//! Tests of precedence, and of errors and warnings.

use proptest::prelude::*;
use rstest::rstest;

use crate::{
    ConfFile, Group, Kind, Origin, Param, Resolved, Settings, SpecErrors, Table, init_text, markdown,
    to_conf_text,
};
use crate::{Secret, Value};

static OPTIONS: &[Param] = &[
    Param::new("CACHE_MB", Kind::Count { min: 1, max: 1 << 20 }, Group::Engine("demo"))
        .meaning("cache in MiB")
        .shipped("16"),
    Param::new("DEMO_NOTE", Kind::Text, Group::Engine("demo")).meaning("free text"),
    Param::new("DEMO_PASSWORD", Kind::Secret, Group::Engine("demo")).meaning("a password | with a bar"),
];

fn table() -> Table {
    Table::new("file:./slob-data", &[OPTIONS])
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn resolve(
    file: Option<&str>,
    environment: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> Result<Resolved, SpecErrors> {
    let file = file.map(|text| ConfFile::parse("slob.conf", text).unwrap());
    Settings::resolve(&table(), file.as_ref(), &pairs(environment), &pairs(flags))
}

fn shown(settings: &Settings, key: &str) -> Option<String> {
    settings.entry(key).unwrap().displayed()
}

#[test]
fn without_a_file_the_shipped_defaults_apply() {
    let resolved = resolve(None, &[], &[]).unwrap();
    assert_eq!(resolved.warnings, Vec::<String>::new());
    for entry in resolved.settings.entries() {
        assert_eq!(entry.origin(), &Origin::ShippedDefault);
        assert!(!entry.changed_from_default(), "{}", entry.param().key);
        assert_eq!(entry.value().is_none(), entry.param().is_optional());
    }
    assert_eq!(shown(&resolved.settings, "UPDATE_PCT").as_deref(), Some("10"));
}

#[test]
fn an_empty_file_selects_the_other_defaults() {
    let settings = resolve(Some(""), &[], &[]).unwrap().settings;
    let entry = settings.entry("UPDATE_PCT").unwrap();
    assert_eq!((entry.displayed().as_deref(), entry.origin()), (Some("25"), &Origin::DeletedDefault));
    assert!(entry.changed_from_default());
    assert_eq!(settings.entry("TARGET").unwrap().origin(), &Origin::ShippedDefault);
    assert_eq!(shown(&settings, "SCALE").as_deref(), Some("10000"));
}

#[test]
fn flags_beat_environment_beats_file() {
    let file = Some("WORK_UNIT=1\nSCAN_PCT=1\nUPDATE_PCT=1\n");
    let environment = [("SLOB_SCAN_PCT", "2"), ("SLOB_UPDATE_PCT", "2"), ("PATH", "/bin")];
    let settings = resolve(file, &environment, &[("UPDATE_PCT", "3"), ("UPDATE_PCT", "4")]).unwrap().settings;
    for (key, value, origin) in [
        ("WORK_UNIT", "1", "slob.conf line 1"),
        ("SCAN_PCT", "2", "environment variable SLOB_SCAN_PCT"),
        ("UPDATE_PCT", "4", "command line"),
    ] {
        let entry = settings.entry(key).unwrap();
        assert_eq!((entry.displayed().as_deref(), entry.origin().to_string()), (Some(value), origin.into()));
    }
}

#[test]
fn three_bare_keys_are_environment_variables_too() {
    let environment = [
        ("SLOB_BLOCK_SZ", "4096"),
        ("BLOCK_SZ", "16384"),
        ("OBFUSCATE_COLUMNS", "TRUE"),
        ("NO_OS_PERF_DATA", ""),
        ("UPDATE_PCT", "99"),
    ];
    let resolved = resolve(None, &environment, &[]).unwrap();
    assert_eq!(resolved.warnings, Vec::<String>::new());
    let value = |key| shown(&resolved.settings, key).unwrap();
    assert_eq!([value("BLOCK_SZ"), value("OBFUSCATE_COLUMNS")], ["4096", "TRUE"]);
    assert_eq!([value("NO_OS_PERF_DATA"), value("UPDATE_PCT")], ["FALSE", "10"]);
}

#[test]
fn an_empty_value_unsets_what_is_optional() {
    let file = Some("EXTERNAL_SCRIPT=/bin/true\nTABLESPACE=\"\"\n");
    let settings = resolve(file, &[("SLOB_EXTERNAL_SCRIPT", "")], &[]).unwrap().settings;
    assert_eq!(shown(&settings, "EXTERNAL_SCRIPT"), None);
    assert_eq!(shown(&settings, "TABLESPACE"), None);
    let error = resolve(Some("UPDATE_PCT=\n"), &[], &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "UPDATE_PCT is empty (slob.conf line 1); it must be a number from 0 to 100, with up to two decimals. \
         Correct the line, or delete it for the default (25)."
    );
}

#[test]
fn unknown_names_give_a_warning_and_a_misspelt_key_of_a_file_is_an_error() {
    let misspelt = resolve(Some("UPDATE_PCTT=9\n"), &[], &[]).unwrap_err().to_string();
    assert_eq!(
        misspelt,
        "slob.conf line 1: UPDATE_PCTT is not a known key; did you mean UPDATE_PCT? Correct the line, or delete it"
    );
    let resolved = resolve(Some("FROBNICATE=1\n"), &[("SLOB_SCALEE", "1"), ("SLOB_Q", "")], &[]).unwrap();
    assert_eq!(
        resolved.warnings,
        [
            "slob.conf line 1: FROBNICATE is not a known key and has no effect",
            "the environment variable SLOB_SCALEE names no parameter and has no effect; did you mean SLOB_SCALE?",
            "the environment variable SLOB_Q names no parameter and has no effect",
        ]
    );
    let error = resolve(None, &[], &[("run_time", "9")]).unwrap_err().to_string();
    assert_eq!(error, "there is no parameter run_time; did you mean RUN_TIME?");
}

#[test]
fn two_names_of_one_parameter_are_one_parameter() {
    let resolved = resolve(Some("NUM_SCHEMAS=2\nSCHEMAS=3\n"), &[], &[]).unwrap();
    assert_eq!(shown(&resolved.settings, "NUM_SCHEMAS").as_deref(), Some("3"));
    assert_eq!(
        resolved.warnings,
        ["slob.conf: NUM_SCHEMAS on line 1 is overridden by SCHEMAS on line 2; delete one of them"]
    );
}

#[rstest]
#[case("SHARED_DATA_MODULUS=8", "release 2.3")]
#[case("DBNAME=pgio", "TARGET")]
#[case("CONNECT_STRING=pgio/tiger", "TARGET")]
#[case("CREATE_BASE_TABLE=TRUE", "TARGET")]
fn keys_of_other_kits_give_a_warning(#[case] line: &str, #[case] instead: &str) {
    let resolved = resolve(Some(line), &[], &[]).unwrap();
    let warnings = resolved.warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("(slob.conf line 1) is accepted without effect"), "{}", warnings[0]);
    assert!(warnings[0].contains(instead) && !warnings[0].contains("tiger"), "{}", warnings[0]);
}

#[test]
fn all_bad_values_are_reported_together() {
    let file =
        Some("UPDATE_PCT=110\nSYSDBA_PASSWD='a\tb'\nTARGET=db://u:tiger@h:x/d\nRUN_TIME=0\nWORK_UNIT=0\n");
    let error = resolve(file, &[("SLOB_SCALE", "64K")], &[("DO_HOTSPOT", "perhaps"), ("WORK_UNIT", "8")]);
    let error = error.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.errors().len(), 6, "{text}");
    for part in [
        "UPDATE_PCT is '110' (slob.conf line 1); it must be a number from 0 to 100, with up to two decimals. Correct the line",
        "SYSDBA_PASSWD is ******** (slob.conf line 2)",
        "delete it for the default (********)",
        "a port is not a number",
        "RUN_TIME is '0' (slob.conf line 4); it must be 1 to 2592000 seconds",
        "SCALE is '64K' (environment variable SLOB_SCALE)",
        "this is 8 blocks of 8192 bytes. Correct or unset SLOB_SCALE.",
        "DO_HOTSPOT is 'perhaps' (command line); it must be TRUE or FALSE (yes or no, on or off, 1 or 0). Correct --do-hotspot.",
    ] {
        assert!(text.contains(part), "{part}\nnot in\n{text}");
    }
    assert!(!text.contains("tiger") && !text.contains("a\tb"));
}

#[test]
fn a_size_is_measured_with_the_block_size_in_effect() {
    assert!(resolve(None, &[], &[("SCALE", "128K")]).is_ok());
    assert!(resolve(None, &[("BLOCK_SZ", "16384")], &[("SCALE", "128K")]).is_err());
}

#[test]
fn a_pause_of_more_than_an_hour_is_refused() {
    assert!(resolve(None, &[], &[("THINK_TM_MAX", "3600")]).is_ok());
    assert!(resolve(None, &[], &[("THINK_TM_MAX", "3601")]).is_err());
}

#[test]
fn no_password_is_shown_or_written() {
    let file = "SYSDBA_PASSWD=t1ger\nDEMO_PASSWORD=t1ger\nTARGET=\"db://app:t1ger@h/d?x=y\"\n";
    let resolved = resolve(Some(file), &[], &[]).unwrap();
    assert_eq!(shown(&resolved.settings, "SYSDBA_PASSWD").as_deref(), Some("********"));
    let text = to_conf_text(&resolved.settings);
    assert!(text.contains("TARGET=\"db://app@h/d?x=y\"\n"), "{text}");
    assert!(!text.contains("t1ger") && !text.contains("manager"), "{text}");
    assert!(!format!("{resolved:?}").contains("t1ger"));
}

#[test]
fn a_plan_overrides_every_other_source() {
    let base =
        resolve(Some("UPDATE_PCT=20\nTABLESPACE=x\n"), &[("SLOB_RUN_TIME", "9")], &[]).unwrap().settings;
    let pairs = [("UPDATE_PCT", "0"), ("NUM_THREADS", "4"), ("TABLESPACE", ""), ("UPDATE_PCT", "30")];
    let pairs = pairs.map(|(key, text)| (key.to_owned(), text.to_owned()));
    let settings = base.overridden(&table(), &pairs, "the plan's variant a").unwrap().settings;
    let value = |key| shown(&settings, key);
    assert_eq!(value("UPDATE_PCT").as_deref(), Some("30"));
    assert_eq!(value("THREADS_PER_SCHEMA").as_deref(), Some("4"));
    assert_eq!((value("TABLESPACE"), value("RUN_TIME").as_deref()), (None, Some("9")));
    assert_eq!(settings.entry("UPDATE_PCT").unwrap().origin().to_string(), "the plan's variant a");
    let bad = [("UPDATE_PTC".to_owned(), "1".to_owned()), ("RUN_TIME".to_owned(), "0".to_owned())];
    let error = base.overridden(&table(), &bad, "the plan's variant a").unwrap_err().to_string();
    let parts = ["did you mean UPDATE_PCT?", "Correct RUN_TIME in the plan."];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn the_initial_file_gives_the_shipped_defaults() {
    let (table, text) = (table(), init_text(&table()));
    let file = ConfFile::parse("slob.conf", &text).unwrap();
    let read = Settings::resolve(&table, Some(&file), &[], &[]).unwrap();
    assert_eq!(read.warnings, Vec::<String>::new());
    let shipped = Settings::resolve(&table, None, &[], &[]).unwrap().settings;
    assert_eq!(values(&read.settings), values(&shipped));
    for param in table.params() {
        let line =
            |line: &str| line.strip_prefix('#').unwrap_or(line).starts_with(&format!("{}=", param.key));
        assert_eq!(text.lines().filter(|text| line(text)).count(), 1, "{}", param.key);
        assert!(text.contains(param.meaning));
    }
    assert!(text.contains("# Default: 10; 25 if this line is deleted\nUPDATE_PCT=10\n"));
    assert!(text.contains("\n#UPDATE_WORK_UNIT=\n") && text.contains("\n#SYSDBA_PASSWD=\n"));
    assert!(!text.contains("manager"));
}

#[test]
fn the_document_has_one_whole_row_for_each_parameter() {
    let (table, text) = (table(), markdown(&table()));
    for param in table.params() {
        let start = format!("| `{}`", param.key);
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with(&start)).collect();
        let row = rows.iter().find(|row| row[start.len()..].starts_with(' ')).unwrap();
        assert_eq!(row.replace("\\|", "").matches('|').count(), 8, "{row}");
    }
    assert!(text.contains("## Options of the engine demo"));
    assert!(text.contains(
        "| `UPDATE_PCT` | `--update-pct` | `10` | `25` | a number from 0 to 100, with up to two decimals |"
    ));
    assert!(text.contains("a password \\| with a bar"));
    assert!(!text.contains("manager"));
}

fn values(settings: &Settings) -> Vec<(&'static str, Option<crate::Value>)> {
    settings.entries().map(|entry| (entry.param().key, entry.value().cloned())).collect()
}

/// Texts that a kind permits, whatever the block size.
fn permitted_text(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::Count { min, max } => (min..=max).prop_map(|value| value.to_string()).boxed(),
        Kind::Percent => (0..=100_u32, 0..100_u32)
            .prop_map(|(number, decimals)| if number < 100 { format!("{number}.{decimals:02}") } else { "100".into() })
            .boxed(),
        Kind::Every { max, .. } => {
            (1..max, 0..1_000_000_u32).prop_map(|(number, decimals)| format!("{number}.{decimals:06}")).boxed()
        }
        Kind::Seed => any::<u64>().prop_map(|value| value.to_string()).boxed(),
        Kind::Size { min, max } => {
            let bytes = (2_u64..1 << 20, prop::sample::select(vec!["M", "m", "G"]));
            let bytes = bytes.prop_map(|(number, unit)| format!("{number}{unit}"));
            prop_oneof![(min..=max).prop_map(|value| value.to_string()), bytes].boxed()
        }
        Kind::Duration { min_s, max_s } => (min_s * 1000..=max_s * 1000)
            .prop_map(|millis| format!("{}.{:03}s", millis / 1000, millis % 1000))
            .boxed(),
        Kind::WarmUp { .. } => "[0-9]{1,3}([.][0-9]{1,6})?m?|auto(:[1-9][0-9]{1,2}[.]5s)?".boxed(),
        Kind::Flag => prop::sample::select(vec!["TRUE", "no", "On", "0"]).prop_map(str::to_owned).boxed(),
        Kind::Choice(choices) => {
            prop::sample::select(choices).prop_map(|(value, _)| value.to_lowercase()).boxed()
        }
        Kind::Url => {
            "[a-z]{2,5}:(//([a-z]{1,4}@)?[a-z]{1,5}(:[1-9][0-9]{0,3})?)?(/[a-z'$%20 ]{0,6})?(\\?a=b)?"
                .prop_filter("a target", |text| text.parse::<crate::Target>().is_ok())
                .boxed()
        }
        Kind::Rate => "[1-9][0-9]{0,5}(@0s,[0-9]{1,5}@[1-9][0-9]{0,3}s)?".boxed(),
        Kind::Amount => "[1-9][0-9]{0,5}([.][0-9]{1,2})?( ?[A-Za-z]{1,8})?".boxed(),
        Kind::Name => "[A-Za-z0-9._-]{1,64}".boxed(),
        Kind::Observe => "(auto|none|pid:[1-9][0-9]{0,6}|ssh:([a-z][a-z0-9]{0,8}@)?[a-z][a-z0-9.]{0,12}(:[1-9][0-9]{0,3})?)".boxed(),
        _ => "\\P{Cc}{0,20}".boxed(),
    }
}

/// Texts for some of the parameters.
fn some_flags() -> impl Strategy<Value = Vec<(String, String)>> {
    let params: Vec<Param> = table().params().to_vec();
    let flags: Vec<_> = params
        .into_iter()
        .filter(|param| param.kind != Kind::Secret)
        .map(|param| {
            let text = permitted_text(param.kind)
                .prop_filter("a value", move |text| param.is_optional() || !text.is_empty());
            prop::option::of(text.prop_map(move |text| (param.key.to_owned(), text)))
        })
        .collect();
    flags.prop_map(|flags| flags.into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn the_effective_file_reads_back_to_the_same_settings(flags in some_flags()) {
        let table = table();
        let settings = Settings::resolve(&table, None, &[], &flags).unwrap().settings;
        let file = ConfFile::parse("slob.conf", &to_conf_text(&settings)).unwrap();
        let again = Settings::resolve(&table, Some(&file), &[], &[]).unwrap();
        prop_assert_eq!(again.warnings, Vec::<String>::new());
        prop_assert_eq!(values(&again.settings), values(&settings));
    }

    #[test]
    fn no_value_panics(key in prop::sample::select(table().params().to_vec()), text in "(?s).*") {
        let _ = Settings::resolve(&table(), None, &[], &[(key.key.to_owned(), text)]);
    }
}

#[test]
fn a_typed_password_belongs_to_the_target_and_is_not_shown() {
    let table = Table::new("file:./slob-data", &[]);
    let flags = [("TARGET".to_owned(), "db://u:old@h/d".to_owned())];
    let settings = Settings::resolve(&table, None, &[], &flags).unwrap().settings;
    let settings = settings.with_password(Secret::new("tiger"));
    let Some(Value::Target(target)) = settings.value("TARGET") else { panic!("no target") };
    assert_eq!(target.password().map(Secret::expose), Some("tiger"));
    assert!(!format!("{settings:?}").contains("tiger"));
    let pairs = [("RUN_TIME".to_owned(), "5".to_owned())];
    let other = settings.overridden(&table, &pairs, "plan").unwrap().settings;
    let Some(Value::Target(target)) = other.value("TARGET") else { panic!("no target") };
    assert_eq!(target.password().map(Secret::expose), Some("tiger"));
}
