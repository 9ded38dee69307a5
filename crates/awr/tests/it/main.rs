//! The readers on fixtures, on damaged ones, and on real reports where there is a folder of them.
#![allow(clippy::unwrap_used)]

mod common;
mod diff;
mod kinds;
mod names;
mod pitfalls;
mod robust;
