//! Which schemas sessions may work on.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};

use slob_engine::{EngineError, ErrorKind, Load, SchemaState, SessionPlan};
use slob_method::SchemaNo;

use crate::homes;

/// Schemas that were found to be complete, and what they were loaded as.
#[derive(Debug, Default)]
pub struct Complete(Mutex<BTreeMap<SchemaNo, Load>>);

impl Complete {
    /// Makes sure that the schemas of a session are complete; `look`, which is called for each that is not known to be so yet,
    /// returns its state, and may return others' too. `name` is what a schema is called.
    ///
    /// # Errors
    /// Of `look`; [`ErrorKind::Usage`] if one is not complete.
    pub fn require<N: Display>(
        &self,
        plan: &SessionPlan,
        step: &str,
        name: impl Fn(SchemaNo) -> N,
        look: impl Fn(SchemaNo) -> Result<Vec<SchemaState>, EngineError>,
    ) -> Result<(), EngineError> {
        // Held while a server is asked: sessions that are opened at the same time need the same answer.
        let mut complete = self.lock();
        for (schema, _) in homes(plan.home, plan.hot_schema) {
            if complete.contains_key(&schema) {
                continue;
            }
            for found in look(schema)? {
                if found.state.layout().is_some() {
                    complete.insert(found.schema, found.load);
                } else if found.schema == schema
                    && let Some(lack) = found.state.unusable(name(schema))
                {
                    return Err(lack.into_error(step));
                }
            }
            if !complete.contains_key(&schema) {
                let message = format!("{} is not loaded", name(schema));
                return Err(EngineError::new(ErrorKind::Usage, step, message)
                    .with_advice("load it with `slob setup`"));
            }
        }
        Ok(())
    }

    /// Makes sure that the procedure of a session's schema, which was made for its load, writes what the session is to write.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it does not.
    pub fn check_update_text(&self, plan: &SessionPlan, step: &str) -> Result<(), EngineError> {
        let load = self.lock().get(&plan.home).copied();
        if load.is_none_or(|load| load.content().update_text() == *plan.update_text) {
            return Ok(());
        }
        let message = "its procedure writes other texts than the run is to write";
        Err(EngineError::new(ErrorKind::Usage, step, message))
    }

    /// A schema is about to be removed.
    pub fn forget(&self, schema: SchemaNo) {
        self.lock().remove(&schema);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SchemaNo, Load>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::{Layout, LoadState};
    use std::cell::Cell;
    use std::sync::Arc;

    const LOAD: Load = Load { seed: 1, scale: 10, scan_blocks: 0, obfuscated: false, slice_rows: 5 };

    fn plan(hot_schema: bool) -> SessionPlan {
        let update_text = Arc::new(LOAD.content().update_text());
        let home = SchemaNo::new(2).unwrap();
        SessionPlan { attempt: 0, number: 0, home, hot_schema, scans: false, redo: None, update_text }
    }

    fn found(schema: SchemaNo, state: LoadState) -> SchemaState {
        SchemaState { schema, load: LOAD, filler_bytes: 0, state }
    }

    #[test]
    fn each_schema_is_looked_at_once_and_again_when_it_was_removed() {
        let (complete, looks) = (Complete::default(), Cell::new(0));
        let layout = Layout { rows: 10, row_blocks: 10, all_blocks: 12 };
        let look = |schema| {
            looks.set(looks.get() + 1);
            Ok(vec![found(schema, LoadState::Complete(layout))])
        };
        let require =
            |hot| complete.require(&plan(hot), "opening", |schema| schema, look).map(|()| looks.get());
        assert_eq!([require(false), require(true), require(true)].map(Result::unwrap), [1, 2, 2]);
        complete.forget(SchemaNo::FIRST);
        assert_eq!(require(true).unwrap(), 3);
        assert!(complete.check_update_text(&plan(false), "opening").is_ok());
        let other = Load { seed: 2, ..LOAD }.content().update_text();
        let other = SessionPlan { update_text: Arc::new(other), ..plan(false) };
        assert!(complete.check_update_text(&other, "opening").is_err());
    }

    #[test]
    fn what_is_not_complete_is_refused_and_looked_at_again() {
        let complete = Complete::default();
        for states in [vec![LoadState::Begun(Vec::new())], vec![LoadState::Damaged], Vec::new()] {
            let look = |schema| Ok(states.iter().map(|state| found(schema, state.clone())).collect());
            let error = complete.require(&plan(false), "opening", |schema| schema, look).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        }
    }
}
