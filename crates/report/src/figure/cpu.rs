//! What it cost.

use super::Get::{Count, Number};
use super::measured::Measured;
use crate::counters::{db_time_s, ratio};
use slob_measure::Counter;

const HOST: &str = "/proc/stat of the host";
const DB_CPU: &str = "CPU time of the database's processes";

figures! { CPU:
    HOST_CPUS = "host_cpus", "CPUs of the host", "", Neither, "CPUs (hardware threads) of the host",
        Count(|run| run.host_cpus().map(u64::from));
    DB_CPUS = "db_cpus", "DB CPU (s)", "", Neither,
        "DB CPU per second: CPUs that the database kept busy, on average",
        Number(|run| ratio(run.db_cpu_s()?, run.seen_s()));
    DB_CPU_S = "db_cpu_s", "DB CPU of the window (s)", "s", Neither, DB_CPU,
        Number(|run| run.db_cpu_s());
    DB_CPU_PERCENT_OF_HOST = "db_cpu_percent_of_host", "DB CPU (% of the host's CPUs)", "%", Neither, DB_CPU,
        Number(|run| percent_of_host(run, run.db_cpu_s()?));
    /// What is left is waiting.
    DB_CPU_PERCENT_OF_DB_TIME = "db_cpu_percent_of_db_time", "DB CPU (% of DB time)", "%", Neither, DB_CPU,
        Number(|run| ratio(100.0 * run.db_cpu_s()?, db_time_s(run.record)?));
    /// The same of the processes that serve the sessions, where the server has one for each; else of all.
    SESSIONS_CPU_PERCENT_OF_DB_TIME = "sessions_cpu_percent_of_db_time", "CPU of the sessions' processes (% of DB time)", "%", Neither,
        "CPU time of the processes that serve the sessions",
        Number(|run| ratio(100.0 * run.sessions_cpu_s()?, db_time_s(run.record)?));
    /// With an embedded database it is the same time as `db_cpu_s`.
    CLIENT_CPU_S = "client_cpu_s", "CPU of this program (s)", "s", Neither, "CPU time of this program",
        Number(|run| run.client_cpu_s());
    /// Not idle, stolen time included: as the kernel sampled it tick by tick, or what the database and this program are
    /// known to have used exactly, if that is more.
    HOST_BUSY_PERCENT = "host_busy_percent", "Host CPU busy (%)", "%", Neither, HOST,
        Number(host_busy_percent);
    HOST_STEAL_PERCENT = "host_steal_percent", "Host CPU stolen (%)", "%", Lower, HOST,
        Number(|run| run.host_cpu().and_then(|cpu| ratio(100.0 * cpu.steal_s, cpu.total_s())));
    /// Without idle, iowait and steal.
    HOST_BUSY_S = "host_busy_s", "CPU time that the host worked (s)", "s", Neither, HOST,
        Number(|run| run.host_cpu().map(|cpu| cpu.busy_s()));
    RUN_PERCENT_OF_HOST = "run_percent_of_host", "DB and client CPU (% of the host's CPUs)", "%", Neither,
        "CPU time of the database and this program together",
        Number(|run| percent_of_host(run, run_cpu_s(run)?));
    FOREIGN_CPU_PERCENT = "foreign_cpu_percent", "CPU of others (%)", "%", Lower,
        "CPU time of others than the database and this program",
        Number(foreign_cpu_percent);
    PHYSICAL_READS_PER_DB_CPU_S = "physical_reads_per_db_cpu_s", "Physical reads per DB-CPU-s", "blocks/s", Higher,
        "physical reads by CPU time of the database",
        Number(|run| ratio(run.counted(Counter::PhysicalReads)?, run.db_cpu_s()?));
    LOGICAL_READS_PER_DB_CPU_S = "logical_reads_per_db_cpu_s", "Logical reads per DB-CPU-s", "blocks/s", Higher,
        "logical reads by CPU time of the database",
        Number(|run| ratio(run.counted(Counter::LogicalReads)?, run.db_cpu_s()?));
    PHYSICAL_READS_PER_HOST_CPU_S = "physical_reads_per_host_cpu_s", "Physical reads per host-CPU-s", "blocks/s", Higher,
        "physical reads by CPU time of the host",
        Number(|run| ratio(run.counted(Counter::PhysicalReads)?, run.host_cpu()?.busy_s()));
    /// It includes all that was done with the block.
    DB_CPU_US_PER_PHYSICAL_READ = "db_cpu_us_per_physical_read", "DB CPU per physical read (us)", "us", Lower,
        "CPU time of the database by physical reads",
        Number(|run| ratio(run.db_cpu_s()? * 1e6, run.counted(Counter::PhysicalReads)?));
}

fn percent_of_host(run: &Measured<'_>, cpu_s: f64) -> Option<f64> {
    ratio(100.0 * cpu_s, run.seen_s() * f64::from(run.host_cpus()?))
}

/// Ticks miss work that is woken and sleeps again between two of them, which is what waiting for I/O looks like; the
/// processes' own times are exact.
fn host_busy_percent(run: &Measured<'_>) -> Option<f64> {
    let sampled = run.host_cpu()?.busy_percent()?;
    let client_s = run.client_cpu_on_host_s();
    let known = percent_of_host(run, run.db_cpu_s().unwrap_or(0.0) + client_s.unwrap_or(0.0));
    Some(known.map_or(sampled, |known| sampled.max(known.min(100.0))))
}

/// CPU time of the database and this program on the database's host. An embedded database's is this program's, and counts once.
fn run_cpu_s(run: &Measured<'_>) -> Option<f64> {
    Some(run.db_cpu_s()? + run.client_cpu_on_host_s()?)
}

/// By the clocks of all processes, which are exact. Where they were not read, or tell of more than the host has (records of
/// earlier releases do), it is what the kernel sampled tick by tick, less what the run is known to have used. Interrupts are
/// left out of that: the device's own ones belong to the test, and nobody can tell them from others'.
fn foreign_cpu_percent(run: &Measured<'_>) -> Option<f64> {
    let others_s = run.record.host.as_ref().and_then(|host| host.others_cpu_s);
    let exact = others_s.and_then(|others_s| percent_of_host(run, others_s));
    if let Some(exact) = exact.filter(|share| *share <= 100.0) {
        return Some(exact);
    }
    let host = run.host_cpu()?;
    let programs_s = host.user_s + host.nice_s + host.system_s;
    ratio(100.0 * (programs_s - run_cpu_s(run)?).max(0.0), host.total_s())
}
