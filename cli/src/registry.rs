//! The engines: one line each.

use slob_engine::{Engine, EngineError, EngineKind, ErrorKind, OpenSpec, Purpose, null};
use slob_spec::{EngineOptions, Param, Table, Target};

/// Every engine of this build.
pub(crate) const ENGINES: &[EngineKind] = &[slob_engine_sqlite::KIND, null::KIND];

/// Where tests go that were not told where to go.
const DEFAULT_TARGET: &str = "sqlite:./slob-data";
/// The engine of the demo: the one that needs nothing to be installed.
pub(crate) const DEMO_SCHEME: &str = slob_engine_sqlite::KIND.scheme;

/// The table of all parameters: those of every test and those of each engine.
pub(crate) fn table() -> Table {
    let options: Vec<&'static [Param]> = ENGINES.iter().map(|engine| engine.params).collect();
    Table::new(DEFAULT_TARGET, &options)
}

/// Opens a target with the engine that its scheme names.
pub(crate) fn open(
    target: &Target,
    options: &EngineOptions,
    purpose: Purpose,
) -> Result<Box<dyn Engine>, EngineError> {
    let scheme = target.scheme();
    let Some(engine) = ENGINES.iter().find(|engine| engine.scheme == scheme) else {
        let forms: Vec<&str> = ENGINES.iter().map(|engine| engine.target_form).collect();
        return Err(EngineError::new(ErrorKind::Usage, format!("TARGET={target}"), "no engine of that name")
            .with_advice(format!("this build knows {}", forms.join(", "))));
    };
    (engine.open)(&OpenSpec { target: target.clone(), purpose, options: options.of(scheme) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_this_build_is_sound() {
        assert_eq!(table().faults(), Vec::<String>::new());
    }

    #[test]
    fn schemes_are_unique() {
        let mut schemes: Vec<_> = ENGINES.iter().map(|engine| engine.scheme).collect();
        schemes.sort_unstable();
        schemes.dedup();
        assert_eq!(schemes.len(), ENGINES.len());
    }
}
