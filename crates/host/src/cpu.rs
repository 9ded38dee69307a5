//! CPU time: of the whole host by mode, of processes by user and system.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use slob_stats::Merge;

use crate::HostError;
use crate::roots::{Roots, read_text};

/// CPU time of the whole host by mode, in seconds summed over all CPUs: cumulative since boot as
/// [`read`](Self::read), or of an interval as [`since`](Self::since).
///
/// Source: the first line of `/proc/stat`, whose resolution is the tick (10 ms on nearly every kernel). Time given
/// to guests is part of `user_s`, as in the kernel's own figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Ordinary programs.
    pub user_s: f64,
    /// Programs with lowered priority.
    pub nice_s: f64,
    /// The kernel on behalf of programs.
    pub system_s: f64,
    /// Nothing to do.
    pub idle_s: f64,
    /// Nothing to do while some I/O was outstanding. A hint, not a measure: on several CPUs it can't be attributed,
    /// and it may even go down.
    pub iowait_s: f64,
    /// Hardware interrupts.
    pub irq_s: f64,
    /// Software interrupts.
    pub softirq_s: f64,
    /// Runnable, but the hypervisor gave the CPU to somebody else.
    pub steal_s: f64,
}

impl CpuTimes {
    /// The cumulative times now.
    ///
    /// # Errors
    /// `/proc/stat` is unreadable or not as expected.
    pub fn read() -> Result<Self, HostError> {
        Self::read_from(&Roots::default(), rustix::param::clock_ticks_per_second())
    }

    fn read_from(roots: &Roots, ticks_per_second: u64) -> Result<Self, HostError> {
        let path = roots.proc.join("stat");
        let text = read_text(&path)?;
        Self::parse(&text, ticks_per_second)
            .ok_or_else(|| HostError::unexpected(&path, "no line 'cpu' with eight numbers"))
    }

    fn parse(text: &str, ticks_per_second: u64) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let mut fields = line.split_ascii_whitespace();
        let mut next = || Some(fields.next()?.parse::<u64>().ok()? as f64 / ticks_per_second as f64);
        Some(Self {
            user_s: next()?,
            nice_s: next()?,
            system_s: next()?,
            idle_s: next()?,
            iowait_s: next()?,
            irq_s: next()?,
            softirq_s: next()?,
            steal_s: next()?,
        })
    }

    /// The times of the interval from `earlier` to `self`. A mode whose counter went down (iowait may) counts as 0.
    pub fn since(&self, earlier: &Self) -> Self {
        let delta = |later: f64, earlier: f64| (later - earlier).max(0.0);
        Self {
            user_s: delta(self.user_s, earlier.user_s),
            nice_s: delta(self.nice_s, earlier.nice_s),
            system_s: delta(self.system_s, earlier.system_s),
            idle_s: delta(self.idle_s, earlier.idle_s),
            iowait_s: delta(self.iowait_s, earlier.iowait_s),
            irq_s: delta(self.irq_s, earlier.irq_s),
            softirq_s: delta(self.softirq_s, earlier.softirq_s),
            steal_s: delta(self.steal_s, earlier.steal_s),
        }
    }

    /// All modes together: CPUs times wall-clock seconds.
    pub fn total_s(&self) -> f64 {
        self.busy_s() + self.steal_s + self.idle_s + self.iowait_s
    }

    /// Time in which a CPU worked for this host: all modes but idle, iowait and steal.
    pub fn busy_s(&self) -> f64 {
        self.user_s + self.nice_s + self.system_s + self.irq_s + self.softirq_s
    }

    /// Share of the time that was not idle, in percent of all CPUs; stolen time counts as not idle, since it was
    /// wanted and not to be had. `None` for an interval without time.
    pub fn busy_percent(&self) -> Option<f64> {
        let total_s = self.total_s();
        (total_s > 0.0).then(|| 100.0 * (self.busy_s() + self.steal_s) / total_s)
    }
}

/// Of two intervals: the times of both.
impl Merge for CpuTimes {
    fn merge(&mut self, later: &Self) {
        self.user_s += later.user_s;
        self.nice_s += later.nice_s;
        self.system_s += later.system_s;
        self.idle_s += later.idle_s;
        self.iowait_s += later.iowait_s;
        self.irq_s += later.irq_s;
        self.softirq_s += later.softirq_s;
        self.steal_s += later.steal_s;
    }
}

/// CPU time of one or several processes with all their threads, in seconds: cumulative, or of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSplit {
    /// In their own code.
    pub user_s: f64,
    /// In the kernel on their behalf.
    pub system_s: f64,
}

impl CpuSplit {
    /// An exact total, split as ticks were counted; without a tick yet all of it is user time.
    #[must_use]
    pub fn by_ticks(total: Duration, user_ticks: u64, system_ticks: u64) -> Self {
        let total_s = total.as_secs_f64();
        let ticks = user_ticks + system_ticks;
        let system_s = if ticks == 0 { 0.0 } else { total_s * system_ticks as f64 / ticks as f64 };
        Self { user_s: total_s - system_s, system_s }
    }

    /// User and system time together: exact, unlike the split.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// The CPU time that one process used between `earlier` and `self`. The split is the kernel's estimate and can go back by
    /// a tick; such a part counts as 0 and the other one takes the exact rest.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let total_s = (self.total_s() - earlier.total_s()).max(0.0);
        let system_s = (self.system_s - earlier.system_s).clamp(0.0, total_s);
        Self { user_s: total_s - system_s, system_s }
    }
}

/// Of two intervals or two processes: the time of both.
impl Merge for CpuSplit {
    fn merge(&mut self, other: &Self) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 200 300 4000 50 6 7 80 9 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";

    #[test]
    fn every_mode_lands_in_its_field() {
        let times = CpuTimes::parse(STAT, 100).unwrap();
        let expected = CpuTimes {
            user_s: 1.0,
            nice_s: 2.0,
            system_s: 3.0,
            idle_s: 40.0,
            iowait_s: 0.5,
            irq_s: 0.06,
            softirq_s: 0.07,
            steal_s: 0.8,
        };
        assert_eq!(times, expected);
        assert!((times.total_s() - 47.43).abs() < 1e-9, "{}", times.total_s());
        assert!((times.busy_percent().unwrap() - 100.0 * 6.93 / 47.43).abs() < 1e-9);
    }

    #[test]
    fn an_interval_is_a_difference_and_never_negative() {
        let earlier = CpuTimes::parse(STAT, 100).unwrap();
        let later = CpuTimes::parse("cpu 150 200 300 4100 40 6 7 80 9 0\n", 100).unwrap();
        let interval = later.since(&earlier);
        assert_eq!((interval.user_s, interval.idle_s, interval.iowait_s), (0.5, 1.0, 0.0));
        assert_eq!(earlier.since(&earlier).busy_percent(), None);
    }

    #[test]
    fn a_short_line_is_refused() {
        assert_eq!(CpuTimes::parse("cpu 1 2 3 4\n", 100), None);
        assert_eq!(CpuTimes::parse("cpu0 1 2 3 4 5 6 7 8\n", 100), None);
    }

    #[test]
    fn this_host_counts_upwards() {
        let earlier = CpuTimes::read().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let interval = CpuTimes::read().unwrap().since(&earlier);
        assert!(interval.total_s() > 0.0, "{interval:?}");
    }

    #[test]
    fn an_interval_survives_a_split_that_goes_back() {
        let earlier = CpuSplit { user_s: 1.0, system_s: 2.0 };
        let interval = CpuSplit { user_s: 1.5, system_s: 1.99 }.since(&earlier);
        assert_eq!(interval.system_s, 0.0);
        assert!((interval.user_s - 0.49).abs() < 1e-9);
    }
}
