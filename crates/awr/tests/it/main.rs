//! The readers on fixtures, on damaged fixtures, and on real reports if there is a folder of them.
#![allow(clippy::unwrap_used)]

mod common;
mod defects;
mod diff;
mod edits;
mod global;
mod kinds;
mod names;
mod pitfalls;
mod robust;
mod ways_in;
mod work;
