//! What a view says of figures, and the verdicts that forbid it.

use crate::question::Grade;

/// A limit of the platform hides its storage, and is a result nevertheless: what is 95 % slower behind a throttle is 95 % slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// 'This is what the storage can do.'
    Storage,
    /// 'It is faster', 'it has changed since', 'it is met': of the platform as it is, whatever limits it.
    Compared,
}

/// Causes of BAD verdicts that are a limit of the platform itself: its CPUs, or a control group's quota.
pub(crate) const LIMITS: [&str; 3] = ["full", "confined", "io_limited"];

impl Claim {
    /// True if an answer with this cause forbids the claim about figures that rest on it. A limit that only some of the runs
    /// had does: their mean is of two platforms.
    pub(crate) fn is_forbidden_by(self, answer: Grade, cause: &str, of_all: bool) -> bool {
        answer == Grade::Bad && !(self == Self::Compared && of_all && LIMITS.contains(&cause))
    }
}
