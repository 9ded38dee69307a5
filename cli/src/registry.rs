//! The engines: one line each.

use slob_engine::{Engine, EngineError, EngineKind, ErrorKind, OpenSpec, Purpose, Result, null};
use slob_spec::{EngineOptions, Group, Param, Table, Target};

pub(crate) const ENGINES: &[EngineKind] = &[
    slob_engine_sqlite::KIND,
    #[cfg(feature = "postgres")]
    slob_engine_postgres::KIND,
    #[cfg(feature = "mysql")]
    slob_engine_mysql::KIND,
    #[cfg(feature = "oracle")]
    slob_engine_oracle::KIND,
    null::KIND,
];

const DEFAULT_TARGET: &str = "sqlite:./slob-data";
pub(crate) const EXAMPLE_TARGET: &str = "sqlite:./d";
const POSTGRES_TARGET: &str = "postgres://USER@HOST:PORT/DATABASE";
const MYSQL_TARGET: &str = "mysql://USER@HOST:PORT";
/// Loads of the original kit name a tablespace.
pub(crate) const TABLESPACES_TARGET: &str = "oracle://USER@//HOST:PORT/SERVICE";
/// Forms of the targets whose engines a build may leave out.
const OPTIONAL_TARGETS: [&str; 3] = [POSTGRES_TARGET, MYSQL_TARGET, TABLESPACES_TARGET];
/// The engine of the demo needs no server.
pub(crate) const DEMO_SCHEME: &str = slob_engine_sqlite::KIND.scheme;

pub(crate) fn table() -> Table {
    let options: Vec<&'static [Param]> = ENGINES.iter().map(|engine| engine.params).collect();
    Table::new(DEFAULT_TARGET, &options)
}

pub(crate) fn target_of_kit(param: &Param) -> Option<&'static str> {
    match (param.key, param.group) {
        ("DBNAME" | "CONNECT_STRING" | "CREATE_BASE_TABLE", _) => Some(POSTGRES_TARGET),
        ("DATABASE_STATISTICS_TYPE", _) | (_, Group::Access | Group::Compatibility) => {
            Some(TABLESPACES_TARGET)
        }
        _ => None,
    }
}

/// The others decide how data are loaded.
pub(crate) fn is_of_run(param: &Param) -> bool {
    !["LOAD_PARALLEL_DEGREE", "OBFUSCATE_COLUMNS", "TABLESPACE"].contains(&param.key)
}

/// Schemes of the addresses of other programs, and the targets that are meant.
const SCHEMES_ELSEWHERE: [(&str, &str); 5] = [
    ("postgresql", POSTGRES_TARGET),
    ("pg", POSTGRES_TARGET),
    ("mariadb", MYSQL_TARGET),
    ("sqlite3", slob_engine_sqlite::KIND.target_form),
    ("file", slob_engine_sqlite::KIND.target_form),
];

/// The forms of targets of this build.
pub(crate) fn target_forms() -> String {
    ENGINES.iter().map(|engine| engine.target_form).collect::<Vec<_>>().join(", ")
}

/// An address of published runs, for help.
pub(crate) const EXAMPLE_BOARD: &str = "postgres://slob@db/results";

/// The forms of addresses of published runs.
pub(crate) fn board_forms() -> String {
    let forms = ENGINES.iter().filter_map(|engine| Some(engine.board?.form));
    forms.collect::<Vec<_>>().join(", ")
}

pub(crate) fn open_target(
    target: &Target,
    options: &EngineOptions,
    purpose: Purpose,
    tablespace: Option<String>,
) -> Result<Box<dyn Engine>> {
    let engine = engine_of(target)?;
    (engine.open)(&open_spec(engine, target, options, purpose, tablespace))
}

pub(crate) fn open_spec(
    engine: &EngineKind,
    target: &Target,
    options: &EngineOptions,
    purpose: Purpose,
    tablespace: Option<String>,
) -> OpenSpec {
    OpenSpec { tablespace, ..OpenSpec::new(target.clone(), purpose, options.of(engine.scheme)) }
}

/// Messages show the scheme alone: a mistyped target may hold a password anywhere.
pub(crate) fn engine_of(target: &Target) -> Result<&'static EngineKind> {
    let refused = |message: &str, advice: String| {
        let step = format!("TARGET={}:...", target.scheme());
        Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(advice))
    };
    let Some(engine) = ENGINES.iter().find(|engine| engine.scheme == target.scheme()) else {
        if OPTIONAL_TARGETS.iter().any(|form| form.split(':').next() == Some(target.scheme())) {
            let message = "this build of slob leaves that engine out";
            return refused(message, "build it with all of them: cargo build --release".to_owned());
        }
        let meant = SCHEMES_ELSEWHERE.iter().find(|(other, _)| *other == target.scheme());
        return refused(
            "no engine of that name",
            match meant {
                Some((_, form)) => format!("write {form}"),
                None => format!("this build knows {}", target_forms()),
            },
        );
    };
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let name = target.path().strip_prefix('/').unwrap_or(target.path());
    if engine.target_form.contains("://") && target.is_bare() && !name.chars().all(is_name) {
        return refused("'//' is missing after the scheme", format!("write {}", engine.target_form));
    }
    Ok(engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_this_build_is_sound() {
        assert_eq!(table().faults(), Vec::<String>::new());
    }

    #[test]
    fn every_engine_runs_the_contract_suite_in_its_own_tests() {
        for engine in ENGINES.iter().filter(|engine| engine.scheme != null::KIND.scheme) {
            let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../engines");
            let test = std::fs::read_to_string(format!("{tests}/{}/tests/it/contract.rs", engine.scheme));
            let test = test.unwrap();
            let is_run = ["suite::run", "passes_the_contract_suite"].iter().any(|call| test.contains(call));
            assert!(is_run, "{} has no contract run", engine.scheme);
        }
    }

    #[test]
    fn forms_of_optional_targets_are_those_of_their_engines() {
        let all: Vec<_> = ENGINES.iter().map(|engine| engine.target_form).collect();
        let forms = OPTIONAL_TARGETS;
        assert!(forms.iter().all(|form| all.contains(form)), "{forms:?} are not all of {all:?}");
    }

    #[test]
    fn schemes_are_unique() {
        let mut schemes: Vec<_> = ENGINES.iter().map(|engine| engine.scheme).collect();
        schemes.sort_unstable();
        schemes.dedup();
        assert_eq!(schemes.len(), ENGINES.len());
    }
}
