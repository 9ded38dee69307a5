//! What the engines of database servers share, without any client library.
//!
//! An engine supplies what differs: how its library connects ([`Connector`]), what it asks its servers ([`Watch`]), and its SQL.
//! From here come the connections that are not sessions ([`Links`]), the servers behind the endpoints ([`Servers`]), the
//! schemas that may be worked on ([`Complete`]), the operations of the method as statements know them ([`Kind`]), the
//! frame of a session ([`Cancellable`]) and its loop where statements are sent one by one ([`ClientLoop`]).
#![forbid(unsafe_code)]

pub mod advice;
mod cancellable;
mod canceller;
mod capacity;
mod client_loop;
mod clock;
mod complete;
mod connector;
mod environment;
mod found;
mod links;
mod loop_place;
pub mod names;
pub mod network;
mod operation;
mod parameters;
mod rows;
mod sampler;
mod servers;

pub use cancellable::{Cancellable, Work, time_left};
pub use canceller::{Canceller, Interrupt};
pub use capacity::Limit;
pub use client_loop::{ClientLoop, Statements};
pub use clock::{ServerClock, nanoseconds, whole_microseconds};
pub use complete::Complete;
pub use connector::{Connector, Errand, reach_any};
pub use environment::Environment;
pub use found::{Found, Sizes, loaded_blocks};
pub use links::{Links, Pool};
pub use loop_place::LoopPlace;
pub use operation::{Kind, classify, homes};
pub use parameters::{Keywords, port, unusable, user};
pub use rows::{all_there, chunks};
pub use sampler::{NOT_SAMPLED, Sample, Sampler};
pub use servers::{Servers, Watch};
