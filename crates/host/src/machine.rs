//! Settings of the machine that make figures smaller or less even than they need be.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What the kernel says of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSettings {
    /// The policies by which CPUs choose their frequency, each once; none where the kernel does not choose, as in most guests.
    pub governors: Vec<String>,
    /// What the kernel reads the time from; `None` where it does not say.
    pub clocksource: Option<String>,
}

impl MachineSettings {
    /// Reads them. What can't be read is not known.
    #[must_use]
    pub fn read() -> Self {
        Self::below(Path::new("/sys/devices/system"))
    }

    fn below(system: &Path) -> Self {
        let word = |path: &Path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let cpus = fs::read_dir(system.join("cpu")).into_iter().flatten().flatten();
        let governors: BTreeSet<String> =
            cpus.filter_map(|cpu| word(&cpu.path().join("cpufreq/scaling_governor"))).collect();
        Self {
            governors: governors.into_iter().collect(),
            clocksource: word(&system.join("clocksource/clocksource0/current_clocksource")),
        }
    }

    /// A policy that lowers the frequency of CPUs that wait, as those of a test of storage do.
    #[must_use]
    pub fn slow_governor(&self) -> Option<&str> {
        self.governors.iter().map(String::as_str).find(|governor| *governor != "performance")
    }

    /// A clock that takes a microsecond or more to be read, where each operation is timed.
    #[must_use]
    pub fn slow_clocksource(&self) -> Option<&str> {
        self.clocksource
            .as_deref()
            .filter(|clock| ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"].contains(clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_governor_is_told_once_and_slow_ones_are_known() {
        let system = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = system.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(MachineSettings::below(system.path()), MachineSettings::default());
        for (cpu, governor) in [("cpu0", "performance\n"), ("cpu1", "powersave\n"), ("cpu2", "powersave\n")] {
            write(&format!("cpu/{cpu}/cpufreq/scaling_governor"), governor);
        }
        write("clocksource/clocksource0/current_clocksource", "hpet\n");
        let machine = MachineSettings::below(system.path());
        assert_eq!(machine.governors, ["performance", "powersave"]);
        assert_eq!((machine.slow_governor(), machine.slow_clocksource()), (Some("powersave"), Some("hpet")));
        write("clocksource/clocksource0/current_clocksource", "tsc\n");
        assert_eq!(MachineSettings::below(system.path()).slow_clocksource(), None);
    }
}
