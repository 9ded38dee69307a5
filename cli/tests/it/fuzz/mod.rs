//! No file, address or environment may stop a reader, slow it down or fill the memory. Good files are damaged by a generator; a failure
//! names its seed, and `FUZZ_SEED=n FUZZ_INPUTS=1` repeats it. `FUZZ_INPUTS=100000` gives each reader that many inputs.

pub(crate) mod addresses;
mod awr_info;
mod conf;
mod damage;
mod folders;
mod logins;
mod memory;
mod observers;
mod plans;
mod profiles;
mod records;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use damage::Random;

/// Beyond this an input hangs the reader. It is no measure of speed: inputs take milliseconds.
const HANGS: Duration = Duration::from_secs(60);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// No input may panic, hang, or take more than `most_mib` of memory at a time.
#[allow(clippy::print_stderr, reason = "how many inputs there were belongs to what was shown")]
fn each(reader: &str, usual: u64, most_mib: usize, mut work: impl FnMut(&mut Random)) {
    let (first, count) = (number("FUZZ_SEED").unwrap_or(1), number("FUZZ_INPUTS").unwrap_or(usual));
    let (mut slowest, mut largest) = ((Duration::ZERO, first), (0, first));
    for seed in first..first + count {
        let (begun, before) = (Instant::now(), memory::start());
        let panicked = catch_unwind(AssertUnwindSafe(|| work(&mut Random::of(seed)))).is_err();
        let (took, held) = (begun.elapsed(), memory::most_since(before));
        assert!(!panicked, "{reader}: the input of FUZZ_SEED={seed} stops the reader");
        assert!(took < HANGS, "{reader}: the input of FUZZ_SEED={seed} took {} s", took.as_secs());
        assert!(held >> 20 < most_mib, "{reader}: the input of FUZZ_SEED={seed} took {} MiB", held >> 20);
        slowest = slowest.max((took, seed));
        largest = largest.max((held, seed));
    }
    eprintln!(
        "{reader}: {count} inputs from seed {first}; the slowest took {} us (seed {}), the largest {} KiB (seed {})",
        slowest.0.as_micros(),
        slowest.1,
        largest.0 >> 10,
        largest.1
    );
}
