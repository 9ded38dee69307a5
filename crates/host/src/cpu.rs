use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slob_stats::{Merge, merge_fields};

use crate::HostError;
use crate::files::read_text;

/// Seconds of all CPUs by mode, since boot or of an interval.
///
/// `/proc/stat` counts ticks, mostly of 10 ms. User time includes guests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuTimes {
    pub user_s: f64,
    pub nice_s: f64,
    pub system_s: f64,
    pub idle_s: f64,
    /// Idle with outstanding I/O. It is a hint, and may go down.
    pub iowait_s: f64,
    pub irq_s: f64,
    pub softirq_s: f64,
    /// Runnable while the hypervisor ran another guest.
    pub steal_s: f64,
}

impl CpuTimes {
    /// Since boot.
    pub fn read() -> Result<Self, HostError> {
        let path = Path::new("/proc/stat");
        Self::parse(&read_text(path)?, rustix::param::clock_ticks_per_second())
            .ok_or_else(|| HostError::unexpected(path, "no line 'cpu' with eight numbers"))
    }

    fn parse(text: &str, ticks_per_second: u64) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let mut modes = [0.0; 8];
        let mut fields = line.split_ascii_whitespace();
        for mode in &mut modes {
            *mode = fields.next()?.parse::<u64>().ok()? as f64 / ticks_per_second as f64;
        }
        Some(Self::from_modes(modes))
    }

    fn from_modes(modes: [f64; 8]) -> Self {
        let [user_s, nice_s, system_s, idle_s, iowait_s, irq_s, softirq_s, steal_s] = modes;
        Self { user_s, nice_s, system_s, idle_s, iowait_s, irq_s, softirq_s, steal_s }
    }

    pub fn modes(&self) -> [f64; 8] {
        let Self { user_s, nice_s, system_s, idle_s, iowait_s, irq_s, softirq_s, steal_s } = *self;
        [user_s, nice_s, system_s, idle_s, iowait_s, irq_s, softirq_s, steal_s]
    }

    /// A mode whose counter went down counts as 0.
    pub fn since(&self, earlier: &Self) -> Self {
        let (later, earlier) = (self.modes(), earlier.modes());
        Self::from_modes(std::array::from_fn(|mode| (later[mode] - earlier[mode]).max(0.0)))
    }

    /// CPUs times wall-clock seconds.
    pub fn total_s(&self) -> f64 {
        self.busy_s() + self.steal_s + self.idle_s + self.iowait_s
    }

    /// All modes but idle, iowait and steal.
    pub fn busy_s(&self) -> f64 {
        self.user_s + self.nice_s + self.system_s + self.irq_s + self.softirq_s
    }

    /// `None` for an empty interval.
    ///
    /// Stolen time is not idle: this host wanted it.
    pub fn busy_percent(&self) -> Option<f64> {
        let total_s = self.total_s();
        (total_s > 0.0).then(|| 100.0 * (self.busy_s() + self.steal_s) / total_s)
    }
}

impl Merge for CpuTimes {
    fn merge(&mut self, later: &Self) {
        let (own, later) = (self.modes(), later.modes());
        *self = Self::from_modes(std::array::from_fn(|mode| own[mode] + later[mode]));
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSplit {
    pub user_s: f64,
    pub system_s: f64,
}

impl CpuSplit {
    /// Without any tick, all of it is user time.
    pub fn by_ticks(total: Duration, user_ticks: u64, system_ticks: u64) -> Self {
        let total_s = total.as_secs_f64();
        let ticks = user_ticks + system_ticks;
        let system_s = if ticks == 0 { 0.0 } else { total_s * system_ticks as f64 / ticks as f64 };
        Self { user_s: total_s - system_s, system_s }
    }

    /// The sum is exact, unlike the split.
    pub fn total_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// The split can go back by a tick; the other part then takes the exact rest.
    pub fn since(&self, earlier: &Self) -> Self {
        let total_s = (self.total_s() - earlier.total_s()).max(0.0);
        let system_s = (self.system_s - earlier.system_s).clamp(0.0, total_s);
        Self { user_s: total_s - system_s, system_s }
    }
}

merge_fields!(CpuSplit: user_s, system_s);

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
