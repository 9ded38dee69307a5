//! What `slob selftest` does on a user's own server, and the report of it that can be attached to an issue.

mod capture;
mod end_to_end;
mod observed;
mod replay;
mod report;
mod veil;

pub(crate) use self::capture::Capture;
pub(crate) use self::end_to_end::{EndToEnd, remove_all};
pub(crate) use self::replay::replay;
pub(crate) use self::report::Report;
