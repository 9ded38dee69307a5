//! By which a reader tells whether a report and a record belong together.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use slob_record::Record;

/// What a report says before it.
const NAME: &str = "Digest of these figures:";
/// Bytes of it that are shown: enough to tell two apart, not to seal one.
const SHOWN: usize = 8;

/// A digest of what was measured, in hexadecimal: the first 8 bytes of the SHA-256 of the record's window, operations, sessions,
/// counters, latencies, CPU and I/O as JSON.
#[must_use]
pub fn digest_of_figures(record: &Record) -> String {
    let figures = json!([
        record.id,
        record.status,
        record.window,
        record.operations,
        record.sessions,
        record.counters,
        record.latencies,
        record.events,
        record.db_cpu,
        record.db_io,
        record.client_cpu,
        record.client_io,
        record.verification,
    ]);
    let hash = Sha256::digest(figures.to_string());
    hash.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect()
}

/// As a report tells it.
pub(crate) fn words(record: &Record) -> String {
    format!("{NAME} {}", digest_of_figures(record))
}

/// The one that a report tells, wherever its lines break.
#[must_use]
pub fn digest_in_report(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let name: Vec<&str> = NAME.split(' ').collect();
    let place = words.windows(name.len()).rposition(|found| found == name)?;
    let digest = words.get(place + name.len())?;
    Some(digest.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, text_report};

    #[test]
    fn a_report_tells_the_digest_of_its_record_and_of_no_other() {
        let record = fixture::direct_read_run();
        let report = text_report(&record);
        assert_eq!(digest_in_report(&report), Some(digest_of_figures(&record)));
        let mut edited = record;
        edited.sessions[0].rows += 1;
        assert_ne!(digest_in_report(&report), Some(digest_of_figures(&edited)));
        assert_eq!(digest_in_report("a report of an older release"), None);
    }
}
