//! The table of parameters: the one source of keys, defaults, ranges, help and documents.

mod access;
mod compatibility;
mod data;
mod pattern;
mod run;
mod target;
mod workload;

use std::collections::HashSet;

use crate::kind::Kind;
use crate::param::{Group, Param};

/// The size of a block unless `BLOCK_SZ` says otherwise, in bytes.
pub(crate) const DEFAULT_BLOCK_BYTES: u32 = 8192;
/// The most schemas, threads per schema, and sessions in all: as many as there are numbers for schemas. Machines and servers
/// have lower limits of their own, which are looked at before a run.
pub const MAX_SESSIONS: u64 = u16::MAX as u64;

/// How alike two keys must be, 0 to 1, for one to be suggested in place of the other.
const SUGGESTION_LIKENESS: f64 = 0.65;

/// All parameters there are: this crate's and the engines' own.
#[derive(Clone, Debug)]
pub struct Table {
    params: Vec<Param>,
}

impl Table {
    /// Makes the table. `default_target` is the shipped value of `TARGET`, and `engine_options` has one
    /// slice for each engine, usually of [`crate::Group::Engine`].
    ///
    /// A table that contradicts itself is a fault of the program, not of its user: a test should check that
    /// [`Table::faults`] is empty for the engines that are built in.
    #[must_use]
    pub fn new(default_target: &'static str, engine_options: &[&'static [Param]]) -> Self {
        let core = [
            data::PARAMS,
            workload::PARAMS,
            pattern::PARAMS,
            run::PARAMS,
            access::PARAMS,
            compatibility::PARAMS,
        ];
        let mut params = target::params(default_target).to_vec();
        params.extend(core.iter().chain(engine_options).flat_map(|group| group.iter().copied()));
        // What engines share stands among the options of each of them, and here once.
        let mut shared = Vec::new();
        params.retain(|param| {
            let again = param.group == Group::Servers && shared.contains(param);
            shared.push(*param);
            !again
        });
        // Stable: within a group the order of writing stands.
        params.sort_by_key(|param| param.group);
        Self { params }
    }

    /// All parameters, group by group.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The parameter of a key or alias; keys are case-sensitive, as in a shell.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.keys().any(|name| name == key))
    }

    /// The known key that is most like an unknown one, if any is like it at all.
    #[must_use]
    pub fn nearest(&self, key: &str) -> Option<&'static str> {
        let key = key.to_uppercase();
        let names = self.params.iter().flat_map(Param::keys);
        names
            .map(|name| (strsim::normalized_damerau_levenshtein(&key, name), name))
            .filter(|(likeness, _)| *likeness >= SUGGESTION_LIKENESS)
            .max_by(|(left, _), (right, _)| left.total_cmp(right))
            .map(|(_, name)| name)
    }

    /// What is wrong with the table: keys or flags given twice or misspelt, and defaults that their own kind
    /// refuses. Empty for a good table.
    #[must_use]
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
            if let Some(flag) = param.flag.filter(|flag| !flags.insert(*flag)) {
                faults.push(format!("the flag --{flag} occurs twice"));
            }
            faults.extend(param_faults(param));
        }
        faults
    }
}

fn param_faults(param: &Param) -> Vec<String> {
    let mut faults = Vec::new();
    let key = param.key;
    if let Some(flag) = param.flag {
        let spelt = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !flag.starts_with(|first: char| first.is_ascii_lowercase()) || !flag.bytes().all(spelt) {
            faults.push(format!("{key}: the flag {flag} is not in small letters"));
        }
        if param.kind == Kind::Secret {
            faults.push(format!("{key}: a secret must not have a flag"));
        }
    }
    for default in [param.shipped, param.if_deleted].into_iter().flatten() {
        if let Err(bad) = param.kind.parse(default, DEFAULT_BLOCK_BYTES) {
            faults.push(format!("{key}: the default is refused: it must be {}", bad.permitted));
        }
    }
    if param.is_optional() && param.if_deleted.is_some() {
        faults.push(format!("{key}: an optional parameter can't have a default for deletion"));
    }
    if param.note.is_some() && (param.shipped.is_some() || param.flag.is_some()) {
        faults.push(format!("{key}: a parameter without effect has a default or a flag"));
    }
    if param.meaning.is_empty() || param.meaning.contains('\n') {
        faults.push(format!("{key}: its meaning is not one line"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Group;
    use rstest::rstest;

    fn table() -> Table {
        Table::new("file:./data", &[])
    }

    #[test]
    fn the_core_is_without_fault() {
        assert_eq!(table().faults(), Vec::<String>::new());
    }

    #[test]
    fn finds_what_is_wrong() {
        static BAD: &[Param] = &[
            Param::new("WORK_UNIT", Kind::Text, Group::Engine("x"), "a key of the core"),
            Param::new("lower", Kind::Percent, Group::Engine("x"), "a bad key and default").shipped("101"),
            Param::new("PIN", Kind::Secret, Group::Engine("x"), "a secret on the command line").flag("pin"),
            Param::new("PORT", Kind::Text, Group::Engine("x"), "a flag of the core").flag("target"),
        ];
        let faults = Table::new("no target", &[BAD]).faults();
        for part in [
            "WORK_UNIT occurs",
            "lower is not",
            "lower: the def",
            "PIN: a secret",
            "--target occurs",
            "TARGET: ",
        ] {
            assert!(faults.iter().any(|fault| fault.contains(part)), "{part} not in {faults:?}");
        }
        assert_eq!(faults.len(), 6, "{faults:?}");
    }

    /// Both defaults of the original's own keys.
    #[rstest]
    #[case("UPDATE_PCT", "10", "25")]
    #[case("SCAN_PCT", "0", "0")]
    #[case("RUN_TIME", "300", "300")]
    #[case("WORK_LOOP", "0", "0")]
    #[case("SCALE", "80M", "10000")]
    #[case("SCAN_TABLE_SZ", "1M", "1M")]
    #[case("WORK_UNIT", "64", "256")]
    #[case("REDO_STRESS", "LITE", "LITE")]
    #[case("LOAD_PARALLEL_DEGREE", "2", "2")]
    #[case("THREADS_PER_SCHEMA", "1", "1")]
    #[case("DATABASE_STATISTICS_TYPE", "statspack", "statspack")]
    #[case("DO_HOTSPOT", "FALSE", "FALSE")]
    #[case("HOTSPOT_MB", "8", "10")]
    #[case("HOTSPOT_OFFSET_MB", "16", "0")]
    #[case("HOTSPOT_FREQUENCY", "3", "0")]
    #[case("HOT_SCHEMA_FREQUENCY", "0", "0")]
    #[case("THINK_TM_FREQUENCY", "0", "0")]
    #[case("THINK_TM_MIN", ".1", ".1")]
    #[case("THINK_TM_MAX", ".5", ".5")]
    #[case("DBA_PRIV_USER", "system", "system")]
    #[case("SYSDBA_PASSWD", "manager", "manager")]
    #[case("OBFUSCATE_COLUMNS", "FALSE", "FALSE")]
    fn both_defaults(#[case] key: &str, #[case] shipped: &str, #[case] if_deleted: &str) {
        let table = table();
        let param = table.find(key).unwrap();
        assert_eq!((param.shipped, param.default_if_deleted()), (Some(shipped), Some(if_deleted)));
    }

    #[rstest]
    #[case("EXTERNAL_SCRIPT")]
    #[case("ADMIN_SQLNET_SERVICE")]
    #[case("SQLNET_SERVICE_BASE")]
    #[case("SQLNET_SERVICE_MAX")]
    #[case("SHARED_DATA_MODULUS")]
    #[case("DBNAME")]
    #[case("CONNECT_STRING")]
    #[case("CREATE_BASE_TABLE")]
    #[case("UPDATE_WORK_UNIT")]
    #[case("TABLESPACE")]
    #[case("BLOCK_SZ")]
    fn optional_ones(#[case] key: &str) {
        assert!(table().find(key).unwrap().is_optional());
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
