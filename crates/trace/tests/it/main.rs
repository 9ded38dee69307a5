//! Traces of this very process, where the kernel lets it. Elsewhere these tests say so and pass, unless CI=true.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slob_host::Device;
use slob_measure::{KernelTrace, Span};
use slob_trace::Tracer;

const BLOCK: usize = 8192;
const READS: u64 = 200;

fn tracer() -> Option<Tracer> {
    slob_testing::available(Tracer::start(BLOCK as u32).map_err(|why| why.to_string()))
}

/// A test that watches this process counts the calls of the others, too.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // Another test's failure is no reason to fail.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Direct I/O needs such an address.
#[repr(align(4096))]
struct Aligned([u8; BLOCK]);

/// Blocks from the file's begin on; the time is by this program's clock.
fn read(file: &File, blocks: u64) -> Duration {
    let mut block = Box::new(Aligned([0; BLOCK]));
    let begun = Instant::now();
    for number in 0..blocks {
        file.read_exact_at(&mut block.0, number * BLOCK as u64).unwrap();
    }
    begun.elapsed()
}

fn count(trace: &KernelTrace, span: Span) -> u64 {
    trace.span(span).map_or(0, |durations| durations.count())
}

#[test]
fn reads_are_counted_by_where_they_come_from() {
    let _alone = alone();
    let Some(tracer) = tracer() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("data");
    File::create(&path).unwrap().write_all(&vec![7; BLOCK * READS as usize]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    let Ok(direct) = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path) else { return };
    let devices = Device::behind(&path).unwrap().competitors();
    tracer.count_neighbours(devices.iter().copied()).unwrap();
    tracer.watch([std::process::id()]).unwrap();
    let before = tracer.counts().unwrap();
    let took = read(&direct, READS);
    direct.read_at(&mut Aligned([0; BLOCK]).0[..4096], 0).unwrap();
    let after = tracer.counts().unwrap();
    let trace = after.since(&before);
    assert_eq!(count(&trace, Span::ReadFromDevice), READS, "half a block is no read of data");
    assert_eq!(count(&trace, Span::ReadFromCache), 0);
    assert_eq!(count(&trace, Span::ReadSubmit), READS);
    assert!(count(&trace, Span::ReadInDevice) >= READS);
    let sum_ns = |spans: &[Span]| -> u64 { spans.iter().map(|span| trace.span(*span).unwrap().sum()).sum() };
    let calls_ns = sum_ns(&[Span::ReadFromDevice]);
    assert!(u128::from(calls_ns) <= took.as_nanos(), "no more than by our clock: {calls_ns} ns, {took:?}");
    assert!(u128::from(calls_ns) >= took.as_nanos() / 2, "{calls_ns} ns, {took:?}");
    let parts_ns = sum_ns(&[Span::ReadSubmit, Span::ReadInQueue, Span::ReadInDevice, Span::ReadWakeUp]);
    assert!(parts_ns.abs_diff(calls_ns) * 10 < calls_ns, "{parts_ns} of {calls_ns} ns");

    let buffered = File::open(&path).unwrap();
    read(&buffered, READS);
    let before = tracer.counts().unwrap();
    read(&buffered, READS);
    let trace = tracer.counts().unwrap().since(&before);
    assert_eq!((count(&trace, Span::ReadFromCache), count(&trace, Span::ReadInDevice)), (READS, 0));

    let before = tracer.counts().unwrap();
    let from = format!("if={}", path.display());
    let copied = Command::new("dd").args([&from, "of=/dev/null", "bs=8k", "iflag=direct"]).output().unwrap();
    assert!(copied.status.success());
    let trace = tracer.counts().unwrap().since(&before);
    assert_eq!((count(&trace, Span::ReadFromDevice), count(&trace, Span::ReadInDevice)), (0, 0));
    assert!(devices.is_empty() || count(&trace, Span::NeighbourRead) >= READS, "{trace:?}");
}

#[test]
fn calls_that_force_the_log_are_split_and_those_of_data_files_are_not() {
    let _alone = alone();
    let Some(tracer) = tracer() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).unwrap();
    tracer.count_neighbours(Device::behind(&logs).unwrap().competitors()).unwrap();
    tracer.watch_logs([logs.clone(), folder.path().join("missing")]).unwrap();
    tracer.watch([std::process::id()]).unwrap();
    let force = |path: &Path, flags: i32, grows: u64| {
        let mut options = OpenOptions::new();
        let file = options.create(true).write(true).truncate(false).custom_flags(flags).open(path).unwrap();
        let before = tracer.counts().unwrap();
        for number in 0..READS {
            file.write_all_at(&[7; BLOCK], number * grows * BLOCK as u64).unwrap();
            if flags == 0 {
                file.sync_data().unwrap();
            }
        }
        tracer.counts().unwrap().since(&before)
    };
    let both = |trace: &KernelTrace| (count(trace, Span::LogWrite), count(trace, Span::LogSync));
    let parts = [
        Span::LogSubmit,
        Span::LogInQueue,
        Span::LogInDevice,
        Span::LogToFlush,
        Span::LogFlush,
        Span::LogJournal,
        Span::LogWakeUp,
    ];
    let data = force(&folder.path().join("data"), 0, 1);
    assert_eq!((both(&data), count(&data, Span::Sync)), ((0, 0), READS), "{data:?}");
    for (flags, grows, expected) in
        [(0, 1, (READS, READS)), (0, 0, (READS, READS)), (libc::O_DSYNC, 0, (0, READS))]
    {
        let trace = force(&logs.join("1"), flags, grows);
        assert_eq!(both(&trace), expected, "{trace:?}");
        let sum_ns = |span: Span| trace.span(span).map_or(0, |durations| durations.sum());
        let (whole_ns, parts_ns) = (sum_ns(Span::LogSync), parts.map(sum_ns).iter().sum::<u64>());
        let named = parts.map(|span| (span, count(&trace, span), sum_ns(span) / READS));
        assert!(parts_ns <= whole_ns && parts_ns > whole_ns * 9 / 10, "{whole_ns} ns: {named:?}");
        assert!(count(&trace, Span::LogInDevice) >= READS * 9 / 10, "{named:?}");
    }
}

/// The child of the next test.
#[test]
#[ignore = "the child of another test"]
fn traces_until_it_is_killed() {
    let _tracer = tracer();
    // Not through the harness, which keeps what a test prints.
    writeln!(std::io::stderr(), "traces").unwrap();
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn nothing_stays_in_the_kernel_after_a_kill() {
    if tracer().is_none() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "traces_until_it_is_killed", "--ignored", "--nocapture"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "traces"));
    let infos = fs::read_dir(format!("/proc/{}/fdinfo", child.id())).unwrap();
    let infos: Vec<String> = infos.map(|info| fs::read_to_string(info.unwrap().path()).unwrap()).collect();
    let ids: Vec<u32> = infos
        .iter()
        .flat_map(|info| info.lines())
        .filter_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok())
        .collect();
    assert!(ids.len() >= 5 && ids.iter().all(|id| is_loaded(*id)), "{ids:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    while ids.iter().any(|id| is_loaded(*id)) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{ids:?} are still there");
        thread::sleep(Duration::from_millis(20));
    }
}

fn is_loaded(id: u32) -> bool {
    const GET_BY_ID: u32 = 13;
    let mut attributes = [0_u32; 32];
    attributes[0] = id;
    let size = size_of_val(&attributes);
    // SAFETY: the buffer is as long as the call is told.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, GET_BY_ID, attributes.as_mut_ptr(), size) };
    let Ok(fd) = i32::try_from(fd) else { return false };
    if fd < 0 {
        return false;
    }
    // SAFETY: the descriptor is new and ours.
    let file = unsafe { <File as std::os::fd::FromRawFd>::from_raw_fd(fd) };
    file.as_raw_fd() >= 0
}
