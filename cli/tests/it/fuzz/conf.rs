//! `slob.conf`, the environment and flags.

use slob_spec::{ConfFile, LoadSpec, Param, RunSpec, Settings, Table, init_text, to_conf_text};

use super::damage::{self, Random, odd};
use super::each;

pub(super) fn table() -> Table {
    let options: [&'static [Param]; 4] = [
        slob_engine_sqlite::KIND.params,
        slob_engine_postgres::KIND.params,
        slob_engine_mysql::KIND.params,
        slob_engine::null::KIND.params,
    ];
    Table::new("sqlite:./slob-data", &options)
}

const SLOB_CONF: &str = "\u{feff}# SLOB 2.5.2\nUPDATE_PCT=25\nSCAN_PCT=0\nRUN_TIME=300\nWORK_LOOP=0\nSCALE=80M\nSCAN_TABLE_SZ=1M
WORK_UNIT=64\nREDO_STRESS=LITE\nLOAD_PARALLEL_DEGREE=4\nTHREADS_PER_SCHEMA=1 # threads\nDATABASE_STATISTICS_TYPE=statspack
ADMIN_SQLNET_SERVICE=\"\"\nexport SQLNET_SERVICE_BASE='a b'\nSQLNET_SERVICE_MAX=\"3\"\nDBA_PRIV_USER=system
SYSDBA_PASSWD=\"ti\\\"ger\"\nEXTERNAL_SCRIPT=''\nDO_HOTSPOT=FALSE\nHOTSPOT_MB=8\nHOTSPOT_OFFSET_MB=16\nHOTSPOT_FREQUENCY=3
HOT_SCHEMA_FREQUENCY=0\nTHINK_TM_FREQUENCY=0\nTHINK_TM_MIN=.1\nTHINK_TM_MAX=.5\nexport UPDATE_PCT RUN_TIME\r\n";
const PGIO_CONF: &str =
    "UPDATE_PCT=0\nRUN_TIME=120\nNUM_SCHEMAS=4\nNUM_THREADS=2\nWORK_UNIT=255\nUPDATE_WORK_UNIT=8\nSCALE=1G
DBNAME=pgio\nCONNECT_STRING=\"pgio\"\nCREATE_BASE_TABLE=TRUE\n";
const WORDS: &[&str] =
    &["=", "\n", "export ", "'", "\"", "\\\n", "$", "`", "#", "%", "M", "A=B", "\r\n", "if true; then"];

fn use_all(table: &Table, text: &str, environment: &[(String, String)], flags: &[(String, String)]) {
    let file = ConfFile::parse("slob.conf", text);
    if let Err(errors) = &file {
        assert!(!errors.to_string().is_empty());
    }
    let resolved = match Settings::resolve(table, file.ok().as_ref(), environment, flags) {
        Ok(resolved) => resolved,
        Err(errors) => return assert!(!errors.to_string().is_empty()),
    };
    resolved.warnings.iter().for_each(|warning| assert!(!warning.to_string().is_empty()));
    let _ = (RunSpec::from_settings(&resolved.settings), LoadSpec::from_settings(&resolved.settings));
    let written = to_conf_text(&resolved.settings);
    let read = ConfFile::parse("written", &written).unwrap();
    let again = Settings::resolve(table, Some(&read), &[], &[]).unwrap().settings;
    let shown = |settings: &Settings| -> Vec<(&'static str, Option<String>)> {
        let visible =
            settings.entries().filter(|entry| !entry.value().is_some_and(slob_spec::Value::is_secret));
        visible.map(|entry| (entry.param().key, entry.displayed())).collect()
    };
    let secret_too = shown(&again).len() == shown(&resolved.settings).len();
    assert!(!secret_too || shown(&again) == shown(&resolved.settings), "{written}");
}

fn pair(table: &Table, before: &str, random: &mut Random) -> (String, String) {
    let param = random.of_these(table.params());
    (format!("{before}{}", param.key), odd(random).to_owned())
}

#[test]
fn damaged_configurations_do_no_harm() {
    let table = table();
    let files = [SLOB_CONF.to_owned(), PGIO_CONF.to_owned(), init_text(&table)];
    each("slob.conf", 500, 32, |random| {
        let text = damage::text(&files[random.index(3)], WORDS, random);
        let environment = [pair(&table, "SLOB_", random)];
        let flags = [pair(&table, "", random)];
        use_all(&table, &text, &environment[random.index(2)..], &flags[random.index(2)..]);
    });
}

/// Most values are good, so that what is behind the reader is tested too.
#[test]
fn odd_values_do_no_harm() {
    let table = table();
    each("values of parameters", 500, 32, |random| {
        let lines = (0..=random.index(3)).map(|_| pair(&table, "", random));
        let lines = lines.filter(|(_, value)| !value.contains(['\'', '\n']));
        let text: String = lines.map(|(key, value)| format!("{key}='{value}'\n")).collect();
        use_all(&table, &text, &[], &[]);
    });
}
