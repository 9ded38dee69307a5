//! The host. Linux only. It is only read, but [`check_thread_limits`] may raise the soft limit of open files, [`run_probe`]
//! writes to a scratch file, and [`end_connections`] ends connections of this process.

#![deny(unsafe_code)]

mod cgroups;
mod cpu;
mod device;
mod error;
mod files;
mod group;
mod limits;
mod machine;
mod mounts;
mod probe;
mod processes;
mod sockets;

pub use cgroups::{Group, GroupLimits, GroupUse, LimitedIo};
pub use cpu::{CpuSplit, CpuTimes};
pub use device::{BlockId, Device, DeviceCounters, DeviceUse, Disk};
pub use error::HostError;
pub use files::{free_space, open_within};
pub use group::{ProgramGroup, Waited, end_programs};
pub use limits::{ThreadLimit, check_thread_limits};
pub use machine::{HostInfo, MachineSettings};
pub use probe::{
    BlockTransfer, DurableWrite, Flush, IoInterface, PathProbe, ProbeEvent, ProbePlan, ProbeResult,
    ProbeStep, ReadPath, StepFigures, StepKind, StepPlan, UntilCliff, run_probe, time_reads,
};
pub use processes::{
    AllProcessesCpu, FamilyIo, ProcessIo, own_cpu, peak_memory_bytes, process_clock, self_io,
};
pub use sockets::end_connections;
