//! Campaigns: a planned matrix of runs with repeats, carried out in an order that is fair to every variant, and resumed
//! where it was stopped; and the search for the number of sessions from where on throughput grows no more.
//!
//! The way of a campaign: [`Plan::parse`] reads a plan; [`Campaign::build`] makes every run of it and checks them all,
//! before anything is touched; [`Store::open`] holds its directory for one process and knows what is done;
//! [`carry_out`] does the rest, run by run, through a [`Conductor`] that knows how to measure.
//!
//! The searches are pure: [`Search`] says how many threads to measure next and is told what came of it, [`HeadroomSearch`] how
//! many times a demand. [`Trail`] keeps the runs of one that goes on after a kill.
//!
//! Nothing here prints, and no engine is known by name.
#![forbid(unsafe_code)]

mod build;
mod command;
mod error;
mod execute;
mod headroom;
mod hook;
mod lock;
mod order;
mod plan;
mod rounds;
mod saturation;
mod schedule;
mod shuffle;
mod state;
mod store;
mod trail;

pub use build::Campaign;
pub use command::CommandLine;
pub use error::{CampaignError, PlanError, PlanErrors};
pub use execute::{Conductor, End, Event, Kept, Progress, RunFailure, carry_out};
pub use headroom::{HeadroomFound, HeadroomNext, HeadroomPoint, HeadroomRules, HeadroomSearch};
pub use hook::{Hook, HookError, Moment};
pub use order::Order;
pub use plan::{Demand, Hooks, Model, Plan, Sessions, Variant};
pub use saturation::{Found, Limit, Next, Point, Search, SearchRules, Why};
pub use schedule::{ModelEntry, Schedule, Step, VariantEntry};
pub use state::{Attempt, Ended, HookFailure, State};
pub use store::{CAMPAIGN_FILE, Store, WARM_UP_FOLDER, read_campaign};
pub use trail::Trail;
