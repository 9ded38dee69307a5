//! What an engine is told of a run and of its sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use slob_method::{SchemaNo, UpdateText};
use slob_spec::RedoStress;

/// What a run is going to do, as far as a server must be ready for it.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan<'a> {
    /// The schemas that it uses.
    pub schemas: &'a [SchemaNo],
    /// Sessions that it opens.
    pub sessions: u32,
    /// How much of a row its UPDATEs change; `None` if it makes none.
    pub redo: Option<RedoStress>,
    /// Whether it scans.
    pub scans: bool,
    /// Set when the run is to end: what takes long before it then breaks off. `None` where nobody can ask for that.
    pub stop: Option<&'a AtomicBool>,
}

impl RunPlan<'_> {
    /// Whether the run is to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// What a session needs to know to be opened.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// Its number, from 0.
    pub number: u32,
    /// How often it has lost its database and been opened again.
    pub attempt: u32,
    /// Its own schema.
    pub home: SchemaNo,
    /// Whether some of its operations go to schema 1.
    pub hot_schema: bool,
    /// Whether it will scan.
    pub scans: bool,
    /// How much of a row its UPDATEs change; `None` if it makes none.
    pub redo: Option<RedoStress>,
    /// What its UPDATEs write.
    pub update_text: Arc<UpdateText>,
}

impl SessionPlan {
    /// Which of so many endpoints it goes to: round-robin, and to the next one when it has lost its own.
    #[must_use]
    pub fn endpoint(&self, endpoints: usize) -> usize {
        (self.number as usize + self.attempt as usize) % endpoints.max(1)
    }
}
