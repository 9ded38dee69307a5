//! The readers on fixtures, on damaged ones, and on real reports where there is a folder of them.
#![allow(clippy::unwrap_used)]

mod common;
mod defects;
mod diff;
mod global;
mod kinds;
mod names;
mod pitfalls;
mod robust;
mod work;
