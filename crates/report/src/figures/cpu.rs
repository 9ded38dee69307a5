//! What it cost.

use slob_measure::Counter;
use slob_record::Record;

use crate::counters::{counter, db_time_s, ratio};

/// CPU time of the host, the database and this program in the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuFigures {
    /// CPUs (hardware threads) of the host.
    pub host_cpus: Option<u32>,
    /// Share of the host's CPU time that was not idle, stolen time included, in percent: as the kernel sampled it
    /// tick by tick, or what the database and this program are known to have used exactly, if that is more.
    pub host_busy_percent: Option<f64>,
    /// Share of the host's CPU time that the hypervisor gave to others, in percent.
    pub host_steal_percent: Option<f64>,
    /// CPU time that the host worked, in seconds: without idle, iowait and steal.
    pub host_busy_s: Option<f64>,
    /// CPU time of the database in seconds.
    pub db_cpu_s: Option<f64>,
    /// CPU time of the database, in percent of all the host's CPUs.
    pub db_cpu_percent_of_host: Option<f64>,
    /// CPU time of the database, in percent of DB time: what is left is waiting.
    pub db_cpu_percent_of_db_time: Option<f64>,
    /// CPU time of this program in seconds. With an embedded database it is the same time as `db_cpu_s`.
    pub client_cpu_s: Option<f64>,
    /// CPU time of the database and this program together, in percent of all the host's CPUs; `None` unless both
    /// are known.
    pub run_percent_of_host: Option<f64>,
    /// CPU time of neither the database nor this program, without interrupts, in percent of the host's CPU time.
    pub foreign_cpu_percent: Option<f64>,
    /// Physical reads for each second of the database's CPU time.
    pub physical_reads_per_db_cpu_s: Option<f64>,
    /// Logical reads for each second of the database's CPU time.
    pub logical_reads_per_db_cpu_s: Option<f64>,
    /// Physical reads for each second that a CPU of the host worked, for whomever.
    pub physical_reads_per_host_cpu_s: Option<f64>,
    /// CPU time of the database for each physical read, in microseconds. It includes all that was done with the
    /// block.
    pub db_cpu_us_per_physical_read: Option<f64>,
}

impl CpuFigures {
    pub(super) fn of(record: &Record, window_s: f64) -> Self {
        let host = record.host.as_ref();
        let host_cpu = host.and_then(|host| host.cpu);
        let host_cpus = host.and_then(|host| host.info.cpus_online);
        let host_busy_s = host_cpu.map(|cpu| cpu.busy_s());
        let db_cpu_s = record.db_cpu.as_ref().map(|db| db.cpu.total_s());
        let physical = counter(record, Counter::PhysicalReads).map(|reads| reads as f64);
        let logical = counter(record, Counter::LogicalReads).map(|reads| reads as f64);
        Self {
            host_cpus,
            host_busy_percent: host_busy_percent(record, window_s),
            host_steal_percent: host_cpu.and_then(|cpu| ratio(100.0 * cpu.steal_s, cpu.total_s())),
            host_busy_s,
            db_cpu_s,
            db_cpu_percent_of_host: both(db_cpu_s, host_cpus.map(f64::from))
                .and_then(|(cpu_s, cpus)| ratio(100.0 * cpu_s, window_s * cpus)),
            db_cpu_percent_of_db_time: both(db_cpu_s, db_time_s(record))
                .and_then(|(cpu_s, db_time_s)| ratio(100.0 * cpu_s, db_time_s)),
            client_cpu_s: record.client_cpu.map(|cpu| cpu.total_s()),
            run_percent_of_host: both(run_cpu_s(record), host_cpus.map(f64::from))
                .and_then(|(cpu_s, cpus)| ratio(100.0 * cpu_s, window_s * cpus)),
            foreign_cpu_percent: foreign_cpu_percent(record),
            physical_reads_per_db_cpu_s: both(physical, db_cpu_s).and_then(|(reads, cpu)| ratio(reads, cpu)),
            logical_reads_per_db_cpu_s: both(logical, db_cpu_s).and_then(|(reads, cpu)| ratio(reads, cpu)),
            physical_reads_per_host_cpu_s: both(physical, host_busy_s)
                .and_then(|(reads, cpu)| ratio(reads, cpu)),
            db_cpu_us_per_physical_read: both(db_cpu_s, physical)
                .and_then(|(cpu, reads)| ratio(cpu * 1e6, reads)),
        }
    }
}

fn both<A, B>(a: Option<A>, b: Option<B>) -> Option<(A, B)> {
    a.zip(b)
}

/// Ticks miss work that is woken and sleeps again between two of them, which is what waiting for I/O looks like; the
/// processes' own times are exact.
fn host_busy_percent(record: &Record, window_s: f64) -> Option<f64> {
    let host = record.host.as_ref()?;
    let sampled = host.cpu?.busy_percent()?;
    let cpus = host.info.cpus_online.map(f64::from);
    let db_s = record.db_cpu.as_ref().map_or(0.0, |db| db.cpu.total_s());
    let client_s = record.client_cpu.filter(|_| !record.server.embedded).map_or(0.0, |cpu| cpu.total_s());
    let known = cpus.and_then(|cpus| ratio(100.0 * (db_s + client_s), window_s * cpus));
    Some(known.map_or(sampled, |known| sampled.max(known.min(100.0))))
}

/// CPU time of the database and this program. An embedded database's is this program's, and counts once.
fn run_cpu_s(record: &Record) -> Option<f64> {
    let db_s = record.db_cpu.as_ref()?.cpu.total_s();
    let client_s = if record.server.embedded { 0.0 } else { record.client_cpu?.total_s() };
    Some(db_s + client_s)
}

/// Interrupts are left out of the host's side: the device's own ones belong to the test, and nobody can tell them
/// from others'.
fn foreign_cpu_percent(record: &Record) -> Option<f64> {
    let host = record.host.as_ref()?.cpu?;
    let programs_s = host.user_s + host.nice_s + host.system_s;
    ratio(100.0 * (programs_s - run_cpu_s(record)?).max(0.0), host.total_s())
}
