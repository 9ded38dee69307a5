//! What went wrong and was tolerated.

use std::collections::BTreeMap;

use slob_engine::EngineError;

/// Losses that one session remembers; it counts the others.
const MOST: usize = 100;

/// Operations that were repeated after a conflict, by the server's code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conflicts(BTreeMap<String, u64>);

impl Conflicts {
    pub(crate) fn count(&mut self, error: &EngineError) {
        *self.0.entry(error.code().unwrap_or("conflict").to_owned()).or_default() += 1;
    }

    pub(crate) fn add_to(&self, sum: &mut BTreeMap<String, u64>) {
        for (code, count) in &self.0 {
            *sum.entry(code.clone()).or_default() += count;
        }
    }
}

/// One time that a session was without its database.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    /// In nanoseconds after the start of the run.
    pub(crate) at_ns: u64,
    pub(crate) endpoint: usize,
    pub(crate) error: String,
    /// When it went on, and where.
    pub(crate) back: Option<(u64, usize)>,
    /// The last answer that was not a connection.
    pub(crate) refused: Option<String>,
}

/// All of them, of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    pub(crate) kept: Vec<Loss>,
    /// Losses that are not kept.
    pub(crate) more: u64,
}

impl Losses {
    pub(crate) fn begin(&mut self, at_ns: u64, endpoint: usize, error: &EngineError) {
        if self.kept.len() < MOST {
            self.kept.push(Loss { at_ns, endpoint, error: error.to_string(), back: None, refused: None });
        } else {
            self.more += 1;
        }
    }

    /// An attempt to have the database again failed.
    pub(crate) fn refused(&mut self, error: &EngineError) {
        self.current().into_iter().for_each(|loss| loss.refused = Some(error.to_string()));
    }

    pub(crate) fn end(&mut self, at_ns: u64, endpoint: usize) {
        self.current().into_iter().for_each(|loss| loss.back = Some((at_ns, endpoint)));
    }

    /// The latest, if it is kept.
    fn current(&mut self) -> Option<&mut Loss> {
        if self.more == 0 { self.kept.last_mut() } else { None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}
