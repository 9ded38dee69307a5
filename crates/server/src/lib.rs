//! The common part of the engines of servers, without any client library. An engine supplies its [`Connector`], its [`Monitored`]
//! and its SQL.
#![forbid(unsafe_code)]

mod clients;
mod connections;
pub mod errors;
mod operations;
mod sampler;
mod schemas;
mod servers;
mod session;
mod settings;
mod target;

pub use clients::{Clients, ConnectionRole};
pub use connections::*;
pub use operations::{Kind, ServerClock, classify, homes, number, whole_microseconds};
pub use sampler::{NOT_SAMPLED, Sample, Sampler};
pub use schemas::*;
pub use servers::{Limit, Monitored, Servers};
pub use session::{Cancellable, ClientLoop, Interrupt, Statements, Work, time_left};
pub use settings::{LoopPlace, ServerSettings, Sizes, literals, loaded_blocks};
pub use target::*;
