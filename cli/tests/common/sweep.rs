//! A sweep to hold a search for the knee against.

use crate::common::Folder;

/// How far below the best rate the knee may lie.
pub(crate) const TOLERANCE: f64 = 0.2;

/// The knee of a sweep over the doublings, by the definition that the search has.
pub(crate) fn sweep(folder: &Folder) -> u64 {
    let rate = |threads: &str| {
        let record = folder.run_json(&["-t", threads]);
        let operations = record["operations"]["select"]["operations"].as_f64().unwrap();
        operations / record["window"]["seconds"].as_f64().unwrap()
    };
    let rates = ["1", "2", "4", "8"].map(rate);
    let best = rates.iter().copied().reduce(f64::max).unwrap();
    1 << rates.iter().position(|rate| *rate >= (1.0 - TOLERANCE) * best).unwrap()
}
