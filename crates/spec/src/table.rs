use std::collections::HashSet;

use crate::param::{Group, Param};
use crate::parameters::PARAMETERS;

/// `BLOCK_SZ` may differ.
pub(crate) const DEFAULT_BLOCK_BYTES: u32 = 8192;

const SUGGESTION_LIKENESS: f64 = 0.65;

#[derive(Clone, Debug)]
pub struct Table {
    params: Vec<Param>,
}

impl Table {
    /// `default_target` is the shipped TARGET; each engine has a slice. A test should check [`Table::faults`].
    pub fn new(default_target: &'static str, engine_options: &[&'static [Param]]) -> Self {
        let mut params = PARAMETERS.to_vec();
        if let Some(target) = params.iter_mut().find(|param| param.key == "TARGET") {
            target.shipped = Some(default_target);
        }
        for param in engine_options.iter().copied().flatten() {
            // Several engines list the options that they share.
            if param.group != Group::Servers || !params.contains(param) {
                params.push(*param);
            }
        }
        params.sort_by_key(|param| param.group);
        Self { params }
    }

    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Keys are case-sensitive, as in a shell.
    pub fn find(&self, key: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.keys().any(|name| name == key))
    }

    /// `None` if no key is similar.
    pub fn nearest(&self, key: &str) -> Option<&'static str> {
        let key = key.to_uppercase();
        let names = self.params.iter().flat_map(Param::keys);
        names
            .map(|name| (strsim::normalized_damerau_levenshtein(&key, name), name))
            .filter(|(likeness, _)| *likeness >= SUGGESTION_LIKENESS)
            .max_by(|(left, _), (right, _)| left.total_cmp(right))
            .map(|(_, name)| name)
    }

    /// Keys or flags occur twice or are misspelt, or a kind refuses a default.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let (mut keys, mut flags) = (HashSet::new(), HashSet::new());
        for param in &self.params {
            for key in param.keys() {
                let spelt = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
                if !key.starts_with(|first: char| first.is_ascii_uppercase()) || !key.bytes().all(spelt) {
                    faults.push(format!("the key {key} is not in capitals"));
                }
                if !keys.insert(key) {
                    faults.push(format!("the key {key} occurs twice"));
                }
            }
            if let Some(flag) = param.flag().filter(|flag| !flags.insert(flag.clone())) {
                faults.push(format!("the flag --{flag} occurs twice"));
            }
            for default in [param.shipped, param.if_deleted].into_iter().flatten() {
                if let Err(bad) = param.kind.parse(default, DEFAULT_BLOCK_BYTES) {
                    faults
                        .push(format!("{}: the default is refused: it must be {}", param.key, bad.permitted));
                }
            }
            if param.note.is_some() && param.shipped.is_some() {
                faults.push(format!("{}: a parameter without effect has a default", param.key));
            }
            if param.meaning.is_empty() || param.meaning.contains('\n') {
                faults.push(format!("{}: its meaning is not one line", param.key));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Kind;

    fn table() -> Table {
        Table::new("file:./data", &[])
    }

    #[test]
    fn the_table_has_no_fault() {
        assert_eq!(table().faults(), Vec::<String>::new());
    }

    #[test]
    fn mistakes_are_found() {
        static BAD: &[Param] = &[
            Param::new("WORK_UNIT", Kind::Text, Group::Engine("x")).meaning("a key of the core"),
            Param::new("lower", Kind::Flag, Group::Engine("x")).meaning("a bad default").shipped("101"),
            Param::new("PORT", Kind::Text, Group::Engine("x")).meaning("a flag").named_flag("target"),
            Param::new("VOID", Kind::Text, Group::Engine("x")),
        ];
        let faults = Table::new("no target", &[BAD]).faults();
        for part in [
            "WORK_UNIT occurs",
            "--work-unit occurs",
            "lower is not",
            "lower: the def",
            "--target occurs",
            "VOID: its meaning",
            "TARGET: ",
        ] {
            assert!(faults.iter().any(|fault| fault.contains(part)), "{part} not in {faults:?}");
        }
        assert_eq!(faults.len(), 7, "{faults:?}");
    }

    #[test]
    fn both_defaults_of_the_original() {
        let all = "UPDATE_PCT 10 25|SCAN_PCT 0 0|RUN_TIME 300 300|WORK_LOOP 0 0|SCALE 80M 10000|\
            SCAN_TABLE_SZ 1M 1M|WORK_UNIT 64 256|REDO_STRESS LITE LITE|LOAD_PARALLEL_DEGREE 2 2|\
            THREADS_PER_SCHEMA 1 1|DATABASE_STATISTICS_TYPE statspack statspack|DO_HOTSPOT FALSE FALSE|\
            HOTSPOT_MB 8 10|HOTSPOT_OFFSET_MB 16 0|HOTSPOT_FREQUENCY 3 0|HOT_SCHEMA_FREQUENCY 0 0|\
            THINK_TM_FREQUENCY 0 0|THINK_TM_MIN .1 .1|THINK_TM_MAX .5 .5|DBA_PRIV_USER system system|\
            SYSDBA_PASSWD manager manager|OBFUSCATE_COLUMNS FALSE FALSE";
        for line in all.split('|') {
            let words: Vec<_> = line.split(' ').collect();
            let param = *table().find(words[0]).unwrap();
            let both = [param.shipped, param.default_if_deleted()];
            assert_eq!(both, [Some(words[1]), Some(words[2])], "{line}");
        }
    }

    #[test]
    fn optional_parameters() {
        let all = "EXTERNAL_SCRIPT|ADMIN_SQLNET_SERVICE|SQLNET_SERVICE_BASE|SQLNET_SERVICE_MAX|SHARED_DATA_MODULUS|\
            DBNAME|CONNECT_STRING|CREATE_BASE_TABLE|UPDATE_WORK_UNIT|TABLESPACE|BLOCK_SZ";
        for key in all.split('|') {
            assert!(table().find(key).unwrap().is_optional(), "{key}");
        }
    }

    #[test]
    fn a_secret_has_no_flag() {
        let pin = Param::new("PIN", Kind::Secret, Group::Engine("x")).named_flag("pin");
        assert_eq!(pin.flag(), None);
        assert_eq!(table().find("SYSDBA_PASSWD").unwrap().flag(), None);
        assert_eq!(table().find("SCAN_TABLE_SZ").unwrap().flag().as_deref(), Some("scan-table-sz"));
    }

    #[test]
    fn aliases_lead_to_the_same_parameter() {
        let table = table();
        assert_eq!(table.find("NUM_SCHEMAS").map(|param| param.key), Some("SCHEMAS"));
        assert_eq!(table.find("NUM_THREADS").map(|param| param.key), Some("THREADS_PER_SCHEMA"));
        assert_eq!(table.find("run_time"), None);
    }

    #[test]
    fn suggests_the_likely_key() {
        let table = table();
        assert_eq!(table.nearest("run_time"), Some("RUN_TIME"));
        assert_eq!(table.nearest("UPDATE_PTC"), Some("UPDATE_PCT"));
        assert_eq!(table.nearest("XYZZY"), None);
        assert_eq!(table.nearest(""), None);
    }
}
