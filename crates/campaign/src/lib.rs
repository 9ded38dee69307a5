//! OpenSLOB: campaigns of repeated runs, and the searches for the knee and for headroom.
//!
//! [`Plan::parse`] reads a plan. [`Campaign::build`] resolves and checks every run before anything is touched. [`Store::open`]
//! locks the campaign's directory and knows what is done. [`carry_out`] makes the remaining runs through a [`Conductor`].
//!
//! [`search_knee`] and [`search_headroom`] decide which runs to make. [`Trail`] keeps the runs of a search that resumes after a kill.
//!
//! Nothing here prints or names an engine.
#![forbid(unsafe_code)]

mod execute;
mod hook;
mod plan;
mod schedule;
mod search;
mod store;

pub use execute::{Conductor, End, Event, Progress, carry_out};
pub use hook::{CommandLine, Hook, HookError, Moment};
pub use plan::{
    Demand, DemandPoint, Model, Neighbour, Plan, PlanError, PlanErrors, Sessions, Variant, is_set_by_plan,
};
pub use schedule::{Campaign, Member, ModelEntry, Order, Schedule, Step, VariantEntry, clash};
pub use search::{
    HeadroomEnd, HeadroomFound, HeadroomRules, KneeFound, KneePoint, KneeReason, KneeRules, Raised,
    Step as SearchStep, search_headroom, search_knee,
};
pub use store::{
    Attempt, CAMPAIGN_FILE, CampaignError, Ended, HookFailure, MissedRun, Slot, State, Store, Trail,
    read_campaign,
};
