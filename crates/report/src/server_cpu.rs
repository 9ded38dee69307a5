//! What a server used of the CPUs that it may use, and how often its quota held it up.

use slob_record::ObservedRecord;

use crate::counters::ratio;

/// CPU time that counts against what the server may use, in percent of that.
pub(crate) fn used_percent(server: &ObservedRecord) -> Option<f64> {
    // A quota is for all that run in the group.
    let of_group = server.group.and_then(|group| group.cpu_s).filter(|_| has_quota(server));
    let own = server.cpu.map(|cpu| cpu.total_s());
    let used_s = of_group.into_iter().chain(own).reduce(f64::max)?;
    ratio(100.0 * used_s, server.seconds? * server.cpus?)
}

/// Periods of its quota in which it was held up, in percent.
pub(crate) fn throttled_percent(server: &ObservedRecord) -> Option<f64> {
    let group = server.group?;
    ratio(100.0 * group.throttled_periods? as f64, group.periods? as f64)
}

/// Whether it is the quota that limits its CPUs.
pub(crate) fn has_quota(server: &ObservedRecord) -> bool {
    let quota = server.limits.as_ref().and_then(|limits| limits.cpus);
    quota.is_some() && quota == server.cpus
}
