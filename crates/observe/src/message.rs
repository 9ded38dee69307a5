//! The words between who asks and who observes: a line of JSON each.
//!
//! The observer begins with a hello. Then each question has one answer with the same number, in their order; a probe tells of its
//! progress before. Fields that are not known are passed over, so that a later release may say more.

use std::fmt;

use serde::{Deserialize, Serialize};
use slob_engine::Clues;
use slob_host::{Device, HostInfo, MachineSettings, ProbePlan, ProbeResult};

use crate::{Found, Sight};

/// The version of these words. Both sides must have the same.
pub const PROTOCOL: u32 = 1;
/// No line is longer. That of a host with a thousand disks below its data is far shorter.
pub(crate) const LONGEST_LINE: usize = 4 << 20;

/// The first words of an observer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Its [`PROTOCOL`].
    pub slob_observe: u32,
    /// Its release.
    pub version: String,
    /// The host.
    pub host: HostInfo,
    /// The kernel's name for this boot of the host.
    #[serde(default)]
    pub boot: Option<String>,
    /// The numbering of processes that the observer is in.
    #[serde(default)]
    pub numbering: Option<String>,
    /// How the host is set up.
    #[serde(default)]
    pub machine: Option<MachineSettings>,
}

/// A question with its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The answer bears the same one.
    pub number: u64,
    /// What is asked.
    #[serde(flatten)]
    pub ask: Ask,
}

/// What an observer can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Ask {
    /// Look for a server, and keep looking at it.
    Find {
        /// What is known of it.
        clues: Clues,
        /// Who asks, if it is on the same host: its CPU is nobody else's.
        #[serde(default)]
        asker: Option<u32>,
    },
    /// How things stand.
    Look {
        /// Whether it is an edge of the window: what takes a file of each process is read then.
        edge: bool,
    },
    /// Measure what the device behind a folder can do.
    Probe {
        /// How.
        plan: ProbePlan,
    },
}

/// An answer with the number of its question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// That of the question.
    pub number: u64,
    /// What is answered.
    #[serde(flatten)]
    pub told: Told,
}

/// What an observer answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The server is there.
    Found(Box<Found>),
    /// It is not, and why.
    NotFound(String),
    /// How things stand.
    Sight(Box<Sight>),
    /// How far a probe is.
    Progress {
        /// Bytes or steps that are done.
        done: u64,
        /// Of how many.
        of: u64,
        /// At what it is.
        at: String,
    },
    /// What a probe showed, and what it was of.
    Probed {
        /// What it showed.
        result: Box<ProbeResult>,
        /// What carries the folder.
        device: Option<Box<Device>>,
    },
    /// It could not be done, and why.
    Failed(String),
}

/// Why a line is no word of an observer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled(String);

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Hello {
    /// Reads a hello.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(line: &[u8]) -> Result<Self, Garbled> {
        let hello: Self = serde_json::from_slice(line).map_err(|_| garbled(line))?;
        Ok(hello)
    }
}

impl Answer {
    /// Reads an answer, and refuses one whose figures can't be: times that are no numbers or lie before the beginning.
    ///
    /// # Errors
    /// If it is none, with how it begins.
    pub fn parse(line: &[u8]) -> Result<Self, Garbled> {
        let answer: Self = serde_json::from_slice(line).map_err(|_| garbled(line))?;
        if let Told::Sight(sight) = &answer.told
            && !sight.is_possible()
        {
            return Err(Garbled("a sight with times that can't be".into()));
        }
        Ok(answer)
    }
}

/// Only how it begins is shown, and only what can be printed.
fn garbled(line: &[u8]) -> Garbled {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned();
    let shown: String = text.chars().filter(|char| !char.is_control()).collect();
    Garbled(format!("'{shown}'"))
}

impl Sight {
    /// Whether all times are such as clocks tell.
    fn is_possible(&self) -> bool {
        /// A hundred years.
        const LONGEST_S: f64 = 100.0 * 365.25 * 86_400.0;
        // All CPUs of the largest hosts together.
        let cpu_time = |seconds: f64| (0.0..=LONGEST_S * 1e5).contains(&seconds);
        let of_host = self.cpu.is_none_or(|cpu| {
            [
                cpu.user_s,
                cpu.nice_s,
                cpu.system_s,
                cpu.idle_s,
                cpu.iowait_s,
                cpu.irq_s,
                cpu.softirq_s,
                cpu.steal_s,
            ]
            .into_iter()
            .all(cpu_time)
        });
        let of_servers = self.servers.iter().flatten().all(|server| {
            let figures = &server.figures;
            let cpus = figures.cpu.into_iter().chain(figures.sessions_cpu);
            let group = figures.group.unwrap_or_default();
            cpus.flat_map(|cpu| [cpu.user_s, cpu.system_s]).all(cpu_time)
                && group.cpu_s.into_iter().chain(group.throttled_s).all(cpu_time)
        });
        (0.0..=LONGEST_S).contains(&self.at_s)
            && of_host
            && self.others_cpu_s.is_none_or(cpu_time)
            && of_servers
    }
}
