//! OpenSLOB: host counters, the device behind a path, the device probe. Linux only.
//!
//! - [`HostInfo`]: what this host is.
//! - [`CpuTimes`], [`CpuSplit`], [`process_cpu`] and their neighbours: who used the CPU.
//! - [`Device`]: the block devices that carry a path, and their counters.
//! - [`Group`]: what the control group of a process, such as a container, may use and used.
//! - [`room_for_threads`]: what this process may still have.
//! - [`free_space`]: what a folder can take.
//! - [`Probe`]: what the device itself can do, through the same file system, without a database.
//!
//! Everything here only reads the host, except [`room_for_threads`], which may raise the soft limit of open files, and
//! [`Probe`]: it writes to a scratch file that never has a name for longer than its creation takes, so that nothing stays behind.

#![deny(unsafe_code)]

mod buffer;
mod clock;
mod cpu;
mod device;
mod error;
mod everybody;
mod group;
mod info;
mod lossy;
mod machine;
mod probe;
mod process;
mod room;
mod roots;
mod scratch;
mod space;
mod within;

pub use cpu::{CpuSplit, CpuTimes};
pub use device::{BlockId, Device, DeviceCounters, DeviceUse, Disk};
pub use error::HostError;
pub use everybody::EverybodysCpu;
pub use group::{Group, GroupLimits, GroupUse};
pub use info::HostInfo;
pub use machine::MachineSettings;
pub use probe::{
    IoInterface, Probe, ProbeEvent, ProbePlan, ProbeResult, ProbeStep, StepFigures, StepKind, StepPlan,
};
pub use process::{FamilyIo, ProcessIo, own_cpu, peak_memory_bytes, process_clock, process_cpu, self_io};
pub use room::{TooFew, room_for_threads};
pub use space::{FreeSpace, free_space};
pub use within::open_within;
