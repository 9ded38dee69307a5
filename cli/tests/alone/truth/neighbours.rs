//! Other work on a machine, on purpose.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use slob_testing::available;
use slob_testing::tries::{ensure, until};

/// Random reads per second of the device that carries a folder; they have begun.
pub(super) struct Neighbour(Child);

impl Neighbour {
    /// `None` where fio is not installed, which it is in CI.
    pub(super) fn reading(folder: &Path, per_second: u32) -> Option<Self> {
        let fio = Command::new("fio")
            .args(["--name=neighbour", "--filename=neighbour", "--size=64m", "--rw=randread", "--bs=8k"])
            .args(["--direct=1", "--time_based", "--runtime=120", &format!("--rate_iops={per_second}")])
            // A process of its own for the job would outlive the kill.
            .arg("--thread")
            .current_dir(folder)
            .stdout(Stdio::null())
            .spawn();
        let fio = available(fio.map_err(|error| format!("fio: {error}")))?;
        let counts = format!("/proc/{}/io", fio.id());
        let read_bytes = || {
            let counts = fs::read_to_string(&counts).unwrap_or_default();
            let read = counts.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
            read.unwrap_or(0_u64)
        };
        // It ends with this value, however the wait ends.
        let neighbour = Self(fio);
        // It lays out its file first.
        let mut before = u64::MAX;
        until(|| {
            let is_laid_out = fs::metadata(folder.join("neighbour")).is_ok_and(|file| file.len() == 64 << 20);
            let reads = is_laid_out && read_bytes() > before;
            before = read_bytes();
            ensure(reads, || "fio does not read".to_owned())
        });
        Some(neighbour)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A thread of this program that works a quarter of the time, in pieces that are far shorter than the kernel's tick.
pub(super) struct Burner {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Burner {
    const WORKS: Duration = Duration::from_micros(700);
    const SLEEPS: Duration = Duration::from_micros(2000);

    pub(super) fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let begun = Instant::now();
                while begun.elapsed() < Self::WORKS {
                    std::hint::spin_loop();
                }
                thread::sleep(Self::SLEEPS);
            }
        });
        Self { stop, thread }
    }

    pub(super) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

/// CPU seconds of the live threads of this program, by their own clocks.
pub(super) fn own_cpu_s() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let text = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
    let ns = |text: String| text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0);
    tasks.map_while(Result::ok).map(text).map(ns).sum::<f64>() / 1e9
}
