//! Physical? Did what the database calls physical reads reach the device?

use slob_record::Record;

use super::{Answer, NO_WINDOW, Question, Verdict};
use crate::counters::{LOGICAL_READS, PHYSICAL_READS, counter, physical_read_bytes, ratio};
use crate::figures::Figures;
use crate::format::{count, fixed, or_absent, percent};

/// From this share of the database's physical reads on, the device is said to have delivered them. The rest is
/// what the two counters may differ by at the window's edges and by reads of the file system's own metadata.
const DELIVERED: f64 = 0.95;
/// From this share on, the device did more than it was asked for: as far above 1 as [`DELIVERED`] is below it.
const EXCESS: f64 = 1.05;
/// Below this share most of the reads were served by a cache below the database: the figures are the cache's.
const MOSTLY_CACHED: f64 = 0.5;
/// Above this hit ratio a run is a test of cached (logical) reads, and meant as one.
const CACHED_HIT_PERCENT: f64 = 99.0;

/// Whether the run hardly read physically, as a test of cached reads does on purpose.
pub(super) fn is_cached_test(figures: &Figures) -> bool {
    figures.load.hit_percent.is_some_and(|hits| hits > CACHED_HIT_PERCENT)
}

pub(super) fn judge(record: &Record, figures: &Figures) -> Verdict {
    let unknown = |why: &str| Verdict::unknown(Question::Physical, why);
    if figures.window_s.is_none() {
        return unknown(NO_WINDOW);
    }
    let (Some(blocks), Some(bytes)) = (counter(record, PHYSICAL_READS), physical_read_bytes(record)) else {
        return unknown("Not known: the database does not count its physical reads.");
    };
    if blocks == 0 || is_cached_test(figures) {
        return cached(record, figures, blocks);
    }
    match Witness::of(record) {
        Some(witness) => delivered(record, figures, blocks, bytes, &witness),
        None => Verdict::unknown(
            Question::Physical,
            format!("Not known: the device was not counted. {}", why_no_device(record)),
        ),
    }
}

/// Who saw below the page cache what was read.
struct Witness {
    name: &'static str,
    read_bytes: u64,
    /// Whether it counts this process alone, so that other programs can't hide anything.
    ours_alone: bool,
}

impl Witness {
    fn of(record: &Record) -> Option<Self> {
        let device = record.host.as_ref().and_then(|host| host.device.as_ref()?.counters);
        let device = device.map(|counters| Self {
            name: "device",
            read_bytes: counters.read_bytes,
            ours_alone: false,
        });
        device.or_else(|| Self::process(record))
    }

    /// The kernel's count of what it had to fetch for this process, which an embedded database is part of.
    fn process(record: &Record) -> Option<Self> {
        let io = record.client_io.filter(|_| record.server.embedded)?;
        Some(Self { name: "storage", read_bytes: io.read_bytes, ours_alone: true })
    }

    fn share(&self, bytes: u64) -> Option<f64> {
        ratio(self.read_bytes as f64, bytes as f64)
    }
}

fn cached(record: &Record, figures: &Figures, blocks: u64) -> Verdict {
    let good = |sentence: String| Verdict::new(Question::Physical, Answer::Good, sentence);
    match (counter(record, LOGICAL_READS), figures.load.hit_percent) {
        (Some(0), _) => Verdict::unknown(Question::Physical, "Nothing to judge: no block was read."),
        (Some(visits), Some(hits)) => good(format!(
            "These were cached reads: {} % of {} block visits hit the buffer cache.",
            percent(hits),
            count(visits)
        ))
        .with_detail(format!(
            "Only {} blocks were asked for physically: this is no test of the storage.",
            count(blocks)
        )),
        _ => good("These were cached reads: the buffer cache asked for no block physically.".into()),
    }
}

fn delivered(record: &Record, figures: &Figures, blocks: u64, bytes: u64, witness: &Witness) -> Verdict {
    let Some(share) = witness.share(bytes) else {
        return Verdict::unknown(Question::Physical, "Nothing to judge: no byte was read physically.");
    };
    let verdict = |answer, sentence| Verdict::new(Question::Physical, answer, sentence);
    let (who, part) = (witness.name, percent(100.0 * share));
    let asked = format!("of {} blocks that the buffer cache asked for", count(blocks));
    match share {
        _ if share > EXCESS => excess(record, bytes, share, witness),
        _ if share >= DELIVERED => {
            verdict(Answer::Good, format!("Yes: {asked}, the {who} delivered {part} %."))
        }
        _ => {
            let answer = if share < MOSTLY_CACHED { Answer::Bad } else { Answer::Doubt };
            let verdict = verdict(answer, missing(record, figures, share, witness));
            verdict.with_detail(format!(
                "Of {} blocks that were asked for, the {who} delivered {part} %.",
                count(blocks)
            ))
        }
    }
}

/// The device read more than was asked for.
fn excess(record: &Record, bytes: u64, share: f64, witness: &Witness) -> Verdict {
    let more = percent(100.0 * (share - 1.0));
    let own = Witness::process(record).filter(|_| !witness.ours_alone).and_then(|own| own.share(bytes));
    match own {
        Some(own) if (DELIVERED..=EXCESS).contains(&own) => Verdict::new(
            Question::Physical,
            Answer::Good,
            format!(
                "Yes: the kernel fetched {} % of what the buffer cache asked for from the storage.",
                percent(100.0 * own)
            ),
        )
        .with_detail(format!("The device read {more} % more than that: other programs used it.")),
        _ => Verdict::new(
            Question::Physical,
            Answer::Doubt,
            format!("Not certain: the {} read {more} % more than the buffer cache asked for.", witness.name),
        )
        .with_detail(
            "Other programs used it, or the system read ahead: how much of the database's own reads a cache \
             served can't be told.",
        ),
    }
}

/// The device read less than was asked for.
fn missing(record: &Record, figures: &Figures, share: f64, witness: &Witness) -> String {
    let cached = percent(100.0 * (1.0 - share));
    let reads = figures.device.reads_per_s.filter(|_| !witness.ours_alone);
    let only = or_absent(reads, |reads| fixed(reads, 0));
    match (record.server.direct_io == Some(true), reads) {
        (true, _) => format!(
            "No: {cached} % of these reads never reached the {}, although they go around the page cache: the data \
             may lie on another one, or a cache above it answers.",
            witness.name
        ),
        (false, Some(_)) => format!(
            "No: your OS page cache served {cached} % of these reads; the device did only {only} reads/s."
        ),
        (false, None) => format!("No: your OS page cache served {cached} % of these reads."),
    }
}

fn why_no_device(record: &Record) -> String {
    let Some(host) = &record.host else { return "Host counters were switched off.".into() };
    let note = host.device.as_ref().and_then(|device| device.device.note.clone());
    host.device_note.clone().or(note).unwrap_or_else(|| "Its counters could not be read.".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, with_device_read_share};
    use rstest::rstest;

    fn verdict(record: &Record) -> Verdict {
        judge(record, &Figures::of(record))
    }

    /// Of a server whose reads go through the page cache.
    fn buffered(share: f64) -> Record {
        let mut record = fixture::direct_read_run();
        record.server.embedded = false;
        record.server.direct_io = Some(false);
        with_device_read_share(&mut record, share);
        record
    }

    #[rstest]
    #[case(0.003, Answer::Bad, "page cache served 99.7 %")]
    #[case(0.49, Answer::Bad, "page cache served 51.0 %")]
    #[case(0.51, Answer::Doubt, "page cache served 49.0 %")]
    #[case(0.949, Answer::Doubt, "page cache served 5.1 %")]
    #[case(0.951, Answer::Good, "delivered 95.1 %")]
    #[case(1.049, Answer::Good, "delivered 104.9 %")]
    #[case(1.06, Answer::Doubt, "6.0 % more")]
    fn the_devices_share_decides(#[case] share: f64, #[case] answer: Answer, #[case] words: &str) {
        let verdict = verdict(&buffered(share));
        assert_eq!(verdict.answer, answer, "{verdict:?}");
        assert!(verdict.sentence.contains(words), "{verdict:?}");
    }

    #[test]
    fn direct_reads_that_miss_the_device_are_not_blamed_on_the_page_cache() {
        let mut record = buffered(0.1);
        record.server.direct_io = Some(true);
        let verdict = verdict(&record);
        assert_eq!(verdict.answer, Answer::Bad);
        assert!(verdict.sentence.contains("around the page cache"), "{verdict:?}");
    }

    #[test]
    fn other_programs_do_not_spoil_what_the_kernel_counted_for_this_process() {
        let mut record = fixture::direct_read_run();
        with_device_read_share(&mut record, 1.4);
        let verdict = verdict(&record);
        assert_eq!(verdict.answer, Answer::Good);
        assert!(verdict.details[0].contains("40.0 % more"), "{verdict:?}");
    }

    #[test]
    fn without_a_device_the_process_is_asked_if_the_database_is_in_it() {
        let mut record = fixture::direct_read_run();
        record.host.as_mut().unwrap().device.as_mut().unwrap().counters = None;
        let embedded = verdict(&record);
        assert_eq!(embedded.answer, Answer::Good);
        assert!(embedded.sentence.contains("the storage delivered"), "{embedded:?}");
        record.server.embedded = false;
        let server = verdict(&record);
        assert_eq!(server.answer, Answer::Unknown);
        assert!(server.sentence.contains("device was not counted"), "{server:?}");
        record.host = None;
        assert!(verdict(&record).sentence.contains("switched off"));
    }

    #[test]
    fn a_cached_test_is_a_good_one() {
        let mut record = buffered(0.1);
        record.counters.insert(PHYSICAL_READS.into(), 1000);
        record.counters.insert(LOGICAL_READS.into(), 1_000_000);
        let hits = verdict(&record);
        assert_eq!(hits.answer, Answer::Good);
        assert!(hits.sentence.contains("99.9 % of 1,000,000 block visits"), "{hits:?}");
        record.counters.insert(PHYSICAL_READS.into(), 0);
        record.counters.remove(LOGICAL_READS);
        assert_eq!(verdict(&record).answer, Answer::Good);
        record.counters.insert(LOGICAL_READS.into(), 0);
        assert_eq!(verdict(&record).answer, Answer::Unknown);
    }

    #[test]
    fn what_is_not_counted_is_not_judged() {
        let mut record = fixture::direct_read_run();
        record.counters.remove(PHYSICAL_READS);
        assert!(verdict(&record).sentence.contains("does not count"));
        assert_eq!(verdict(&record).answer, Answer::Unknown);
        assert_eq!(verdict(&fixture::failed_run()).answer, Answer::Unknown);
    }
}
