//! Damaged schemas: one hides no sound schema, is not used, and can be removed.

use slob_engine::{Engine, ErrorKind, LoadState, Result, RunPlan};
use slob_method::SchemaNo;
use slob_spec::RedoStress;

use crate::work::{FIRST, LOAD, load_schema, schema, session_plan};

/// `damage` damages a schema in the way of the given words.
///
/// Schema 1 is sound, and schema 2 gets each of `damages`. Then schema 1 gets them while it is the only one, and the error must
/// contain `remedy`, in which `{}` is the number. The target must be empty, and is empty afterwards.
pub fn survives_damage(
    open: impl Fn() -> Result<Box<dyn Engine>>,
    damages: &[&str],
    damage: &mut dyn FnMut(SchemaNo, &str),
    remedy: &str,
) {
    let (engine, second) = (open().expect("an empty target"), schema(2));
    let engine = engine.as_ref();
    load_schema(engine, &LOAD, FIRST);
    for words in damages {
        load_schema(engine, &LOAD, second);
        damage(second, words);
        check_damaged(engine, FIRST, second, words);
        assert!(engine.create_schema(&LOAD, second).is_err(), "{words}: it was replaced");
        engine.drop_schema(second).expect("a damaged schema");
        let left: Vec<_> = engine.schemas().expect("a list").iter().map(|state| state.schema).collect();
        assert_eq!(left, [FIRST], "{words}: others are left");
        load_schema(engine, &LOAD, second);
        engine.drop_schema(second).expect("a sound schema");
    }
    for words in damages {
        damage(FIRST, words);
        let Err(error) = engine.schemas() else {
            panic!("{words}, of the only schema: it is taken for sound")
        };
        let remedy = remedy.replace("{}", &FIRST.to_string());
        let says_what_to_do = error.to_string().contains(&remedy);
        assert!(
            error.kind() == ErrorKind::Data && says_what_to_do,
            "{words}, of the only schema: the list of schemas fails with {error}, and does not say '{remedy}'"
        );
        engine.drop_schema(FIRST).expect("a damaged schema");
        assert!(engine.schemas().expect("a list").is_empty(), "{words}: something is left");
        load_schema(engine, &LOAD, FIRST);
    }
    engine.drop_schema(FIRST).expect("a sound schema");
}

/// Both are listed as parts of one load, the server is described, and no run uses the damaged one.
pub fn check_damaged(engine: &dyn Engine, sound: SchemaNo, damaged: SchemaNo, damage: &str) {
    let states = engine.schemas().unwrap_or_else(|error| panic!("{damage}: {error}"));
    let found: Vec<_> =
        states.iter().map(|state| (state.schema, state.state == LoadState::Damaged)).collect();
    assert_eq!(found, [(sound, false), (damaged, true)], "{damage}");
    assert_eq!(states[0].load, states[1].load, "{damage}: they come from different loads");
    engine.server().unwrap_or_else(|error| panic!("{damage}: {error}"));
    let redo = RedoStress::Lite;
    let run = RunPlan { schemas: &[damaged], sessions: 1, redo: Some(redo), scans: false, stop: None };
    let plan = slob_engine::SessionPlan {
        home: damaged,
        hot_schema: damaged != FIRST,
        ..session_plan(&LOAD, 0, redo)
    };
    let used = engine.before_run(&run).and_then(|_| engine.session(&plan).map(drop));
    let Err(error) = used else { panic!("{damage}: it is worked on as if it were sound") };
    let says_what_to_do = error.to_string().contains("slob drop");
    assert!(error.kind() == ErrorKind::Data && says_what_to_do, "{damage}: a run is refused with {error}");
}
