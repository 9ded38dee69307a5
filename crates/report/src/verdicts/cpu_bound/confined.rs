//! A server that may not use all CPUs of its host: by the quota of its control group, its set of CPUs, or its affinity.

use slob_record::{ObservedRecord, Record};

use super::CPU_FULL_PERCENT;
use crate::format::{fixed, percent, seconds};
use crate::server_cpu::{has_quota, throttled_percent, used_percent};

/// From here on being held up by a quota is more than a burst now and then, in percent of its periods.
const THROTTLED_PERCENT: f64 = 10.0;

/// How a server stands to the CPUs that it may use.
pub(super) struct Confined<'a> {
    server: &'a ObservedRecord,
    cpus: f64,
    /// What it used of them, in percent.
    used_percent: f64,
    /// Periods of its quota in which it was held up, in percent.
    throttled_percent: Option<f64>,
}

impl<'a> Confined<'a> {
    /// Of all servers that may use less than their hosts have, the one that used most of it.
    pub(super) fn worst(record: &'a Record) -> Option<Self> {
        let of_host = record.host.as_ref().and_then(|host| host.info.cpus_online);
        let confined =
            record.observed.iter().filter_map(|server| Self::of(server, server.host_cpus.or(of_host)?));
        confined.max_by(|a, b| a.used_percent.total_cmp(&b.used_percent))
    }

    fn of(server: &'a ObservedRecord, of_host: u32) -> Option<Self> {
        let cpus = server.cpus.filter(|cpus| *cpus < f64::from(of_host))?;
        let (used_percent, throttled_percent) = (used_percent(server)?, throttled_percent(server));
        Some(Self { server, cpus, used_percent, throttled_percent })
    }

    /// Whether it used all that it may.
    pub(super) fn is_full(&self) -> bool {
        self.used_percent >= CPU_FULL_PERCENT
    }

    /// Whether it was held up again and again without having used all: sessions that wake up together use up a period at once.
    pub(super) fn is_held_up(&self) -> bool {
        self.throttled_percent.is_some_and(|held| held >= THROTTLED_PERCENT)
    }

    /// `the server used 99.1 % of the 0.5 CPUs that its control group may use, and was held up ...`.
    pub(super) fn words(&self) -> String {
        let Self { server, cpus, used_percent, .. } = self;
        let whose = match &server.endpoint {
            Some(endpoint) => format!("the server of {endpoint}"),
            None => "the server".to_owned(),
        };
        let by = if has_quota(server) { "its control group" } else { "it" };
        let cpus = if cpus.fract() == 0.0 { fixed(*cpus, 0) } else { fixed(*cpus, 2) };
        let held = self.held_up().map(|held| format!(", and {held}")).unwrap_or_default();
        format!("{whose} used {} % of the {cpus} CPUs that {by} may use{held}", percent(*used_percent))
    }

    fn held_up(&self) -> Option<String> {
        let (share, group) = (self.throttled_percent.filter(|share| *share > 0.0)?, self.server.group?);
        let time = group.throttled_s.map(|held_s| format!(", for {} summed over CPUs", seconds(held_s)));
        Some(format!(
            "was held up (throttled) in {} % of the quota's periods{}",
            percent(share),
            time.unwrap_or_default()
        ))
    }
}
