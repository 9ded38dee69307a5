//! OpenSLOB: campaigns of repeated runs. Every run is resolved and checked before anything is touched. Nothing here prints or
//! names an engine.
#![forbid(unsafe_code)]

mod execute;
mod hook;
mod plan;
mod schedule;
mod store;

pub use execute::{Conductor, End, Event, Progress, carry_out};
pub use hook::{CommandLine, Hook, HookError, Moment};
pub use plan::{Model, Neighbour, Order, Plan, PlanError, PlanErrors, Sessions, Variant, is_set_by_plan};
pub use schedule::{Campaign, Member, ModelEntry, Schedule, Step, VariantEntry, clash};
pub use store::{
    Attempt, CAMPAIGN_FILE, CampaignError, Ended, Folder, HookFailure, MissedRun, STATE_FILE, Slot, State,
    Store, Trail,
};
