//! A schema that was damaged: it hides no sound one, is not used, and can be removed.
//!
//! How a schema of some database is damaged is no part of the contract: whoever runs this says so.

use slob_method::SchemaNo;
use slob_spec::RedoStress;

use super::loading::load_whole;
use super::{LOAD, Subject, Verdict, ensure, second, session_plan, text};
use crate::{Engine, EngineError, ErrorKind, LoadState, RunPlan};

/// Loads schema 1, and for each of `damages` schema 2, which `damage` is to spoil by it; looks at what the engine makes of
/// that, removes schema 2, and loads it again. At last what is said when schema 1, damaged too, is the only one: `remedy` is
/// part of it. The target must be empty, and is again afterwards.
///
/// # Errors
/// With the damage, and what is wrong.
pub fn survives_damage(
    open: &dyn Fn() -> Result<Box<dyn Engine>, EngineError>,
    damages: &[&str],
    damage: &mut dyn FnMut(SchemaNo, &str),
    remedy: &str,
) -> Verdict {
    let subject = Subject { open };
    let (engine, second) = (subject.engine()?, second()?);
    load_whole(engine.as_ref(), SchemaNo::FIRST)?;
    for words in damages {
        load_whole(engine.as_ref(), second)?;
        damage(second, words);
        let of_damage = |complaint| format!("{words}: {complaint}");
        is_told(engine.as_ref(), SchemaNo::FIRST, second).map_err(of_damage)?;
        is_removed(engine.as_ref(), second).map_err(of_damage)?;
    }
    for words in damages {
        damage(SchemaNo::FIRST, words);
        is_all_there_is(engine.as_ref(), SchemaNo::FIRST, remedy)
            .map_err(|complaint| format!("{words}, of the only schema: {complaint}"))?;
        engine.drop_schema(SchemaNo::FIRST).map_err(text)?;
        ensure(engine.schemas().map_err(text)?.is_empty(), || format!("{words}: something is left"))?;
        load_whole(engine.as_ref(), SchemaNo::FIRST)?;
    }
    engine.drop_schema(SchemaNo::FIRST).map_err(text)
}

/// Where of two schemas one is damaged, it is listed beside the other one, as a part of the same load, the server is described,
/// and no run uses it.
///
/// # Errors
/// With what is wrong.
pub fn is_told(engine: &dyn Engine, sound: SchemaNo, damaged: SchemaNo) -> Verdict {
    let states = engine.schemas().map_err(text)?;
    let found: Vec<_> =
        states.iter().map(|state| (state.schema, state.state == LoadState::Damaged)).collect();
    ensure(found == [(sound, false), (damaged, true)], || {
        format!("schemas, and whether damaged: {found:?}")
    })?;
    ensure(states[0].load == states[1].load, || format!("they come from different loads: {states:?}"))?;
    engine.server().map_err(text)?;
    let redo = Some(RedoStress::Lite);
    let run = RunPlan { schemas: &[damaged], sessions: 1, redo, scans: false, stop: None };
    let used =
        engine.before_run(&run).and_then(|_| engine.session(&session_plan(0, damaged, redo)).map(drop));
    let Err(error) = used else { return Err("it is worked on as if it were sound".into()) };
    let says_what_to_do = error.to_string().contains("slob drop");
    ensure(error.kind() == ErrorKind::Data && says_what_to_do, || format!("a run is refused with {error}"))
}

/// It is not replaced without a word, and is gone once it was dropped.
fn is_removed(engine: &dyn Engine, damaged: SchemaNo) -> Verdict {
    let made = engine.create_schema(&LOAD, damaged);
    ensure(made.is_err(), || "it was replaced".into())?;
    engine.drop_schema(damaged).map_err(text)?;
    let left: Vec<_> = engine.schemas().map_err(text)?.iter().map(|state| state.schema).collect();
    ensure(left == [SchemaNo::FIRST], || format!("{left:?} are left"))?;
    load_whole(engine, damaged)?;
    engine.drop_schema(damaged).map_err(text)
}

/// Nothing says what was loaded: an error tells what to remove, and a drop removes it.
fn is_all_there_is(engine: &dyn Engine, damaged: SchemaNo, remedy: &str) -> Verdict {
    let Err(error) = engine.schemas() else { return Err("it is taken for sound".into()) };
    let named = remedy.replace("{}", &damaged.to_string());
    ensure(error.kind() == ErrorKind::Data && error.to_string().contains(&named), || {
        format!("the list of schemas fails with {error}, and does not say '{named}'")
    })
}
