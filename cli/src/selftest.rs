//! What `slob selftest` does on a user's own server, and the report of it that can be attached to an issue.

mod end_to_end;
mod report;

pub(crate) use self::end_to_end::{EndToEnd, remove_all};
pub(crate) use self::report::Report;
