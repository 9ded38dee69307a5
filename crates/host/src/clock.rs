//! CPU clocks of processes: the calls for which no safe wrapper exists.

// No crate in use here wraps clock_getcpuclockid, getrusage or clock_gettime on a process's clock.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::time::Duration;

use crate::HostError;

/// CPU time of a process with all its threads, ended ones included, to the nanosecond.
///
/// The scheduler's own sum: it does not depend on the tick, unlike the figures in `/proc/PID/stat`.
pub(crate) fn process_cpu(pid: u32) -> Result<Duration, HostError> {
    let Ok(pid_t) = libc::pid_t::try_from(pid) else { return Err(HostError::NoSuchProcess { pid }) };
    if pid == 0 {
        return Err(HostError::NoSuchProcess { pid }); // 0 would silently mean the caller itself
    }
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the only pointer is to a live local of the right type.
    if unsafe { libc::clock_getcpuclockid(pid_t, &raw mut clock) } != 0 {
        return Err(HostError::NoSuchProcess { pid });
    }
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the only pointer is to a live local of the right type.
    if unsafe { libc::clock_gettime(clock, now.as_mut_ptr()) } != 0 {
        return Err(HostError::NoSuchProcess { pid }); // it ended between the two calls
    }
    // SAFETY: clock_gettime returned 0, so it has filled the struct.
    let now = unsafe { now.assume_init() };
    Ok(Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32))
}

/// User and system CPU time of this process, from getrusage: the sum is exact to a microsecond, the split is the
/// kernel's (which on most kernels samples it at the tick and scales it to the exact sum).
pub(crate) fn own_cpu() -> Result<(Duration, Duration), HostError> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the only pointer is to a live local of the right type.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return Err(HostError::last_os_error("getrusage"));
    }
    // SAFETY: getrusage returned 0, so it has filled the struct.
    let usage = unsafe { usage.assume_init() };
    let duration =
        |t: libc::timeval| Duration::new(t.tv_sec.unsigned_abs(), 1000 * t.tv_usec.unsigned_abs() as u32);
    Ok((duration(usage.ru_utime), duration(usage.ru_stime)))
}
