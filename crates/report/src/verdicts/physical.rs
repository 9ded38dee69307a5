//! Physical? Did what the database calls physical reads reach the device?

mod kind;
mod times;
mod witness;

use slob_measure::Counter;
use slob_record::Record;

pub(super) use self::kind::is_cached_test;
use self::kind::{hardly_reads, writes};
use self::witness::{Place, Witness};
use super::{Answer, Finding, NO_WINDOW, Question, Verdict};
use crate::counters::{counter, own_io, physical_read_bytes, ratio};
use crate::figure::{self, Figures};
use crate::format::{ABSENT, count, fixed, or_absent, percent};

/// From this share of the database's physical reads on, the device is said to have delivered them. The rest is
/// what the two counters may differ by at the window's edges and by reads of the file system's own metadata.
const DELIVERED: f64 = 0.95;
/// From this share on, the device did more than it was asked for: as far above 1 as [`DELIVERED`] is below it.
const EXCESS: f64 = 1.05;
/// Below this share most of the reads were served by a cache below the database: the figures are the cache's.
const MOSTLY_CACHED: f64 = 0.5;

pub(super) fn judge(figures: &Figures<'_>) -> Verdict {
    let record = figures.record;
    let unknown = |why: &str| Verdict::unknown(Question::Physical, why);
    if !figures.is_measured() {
        return unknown(NO_WINDOW);
    }
    let (Some(blocks), Some(bytes)) = (counter(record, Counter::PhysicalReads), physical_read_bytes(record))
    else {
        return unknown("Not known: the database does not count its physical reads.");
    };
    match writes(record, figures).filter(|_| hardly_reads(record, figures)) {
        Some(writes) => written(record, figures, blocks, bytes, &writes),
        None if hardly_reads(record, figures) => cached(record, figures, blocks),
        None => delivered(record, figures, blocks, bytes),
    }
}

/// Hardly any block was read physically, and much was written: what is said of the reads is not what matters.
fn written(record: &Record, figures: &Figures<'_>, blocks: u64, bytes: u64, writes: &str) -> Verdict {
    let reads = match (counter(record, Counter::LogicalReads), figure::HIT_PERCENT.of(figures)) {
        (Some(visits), Some(hits)) => {
            format!("of {} block visits, {} % hit the buffer cache", count(visits), percent(hits))
        }
        _ => "the buffer cache requested no physical reads".into(),
    };
    let sentence = format!("This was a test of writes ({writes}); {reads}.");
    let verdict = match blocks {
        0 => Verdict::new(Question::Physical, Answer::Good, sentence),
        _ => {
            let few = delivered(record, figures, blocks, bytes);
            // Others' reads easily exceed so few; those that a cache served are still worth a look.
            let answer = if few.answer == Answer::Bad { Answer::Doubt } else { Answer::Good };
            Verdict::new(Question::Physical, answer, sentence)
                .with_detail(format!("As for the reads: {}", few.sentence))
        }
    };
    verdict.qualified_by(unwritten(record).into_iter().collect())
}

/// The log is written before a commit is acknowledged: a device that wrote less than the log, whoever it wrote for, has not
/// got it.
fn unwritten(record: &Record) -> Option<Finding> {
    let redo = counter(record, Counter::RedoBytes)?;
    let device = record.host.as_ref()?.device.as_ref()?.counters?.used.write_bytes;
    // Both are bounds from above of what the device wrote for the database.
    let written = own_io(record).map_or(device, |own| device.min(own.write_bytes));
    let share = ratio(written as f64, redo as f64).filter(|share| *share < DELIVERED)?;
    Some(Finding::new(
        Answer::Doubt,
        format!(
            "Not certain: the device wrote at most {} % of the database's redo: the log is elsewhere, or its writes \
             stayed in memory.",
            percent(100.0 * share)
        ),
    ))
}

fn cached(record: &Record, figures: &Figures<'_>, blocks: u64) -> Verdict {
    let good = |sentence: String| Verdict::new(Question::Physical, Answer::Good, sentence);
    match (counter(record, Counter::LogicalReads), figure::HIT_PERCENT.of(figures)) {
        (Some(0), _) => Verdict::unknown(Question::Physical, "Nothing to judge: no block was read."),
        (Some(visits), Some(hits)) => good(format!(
            "These were cached reads: {} % of {} block visits hit the buffer cache.",
            percent(hits),
            count(visits)
        ))
        .with_detail(format!(
            "Only {} blocks were read physically: this is not a test of the storage.",
            count(blocks)
        )),
        _ => good("These were cached reads: the buffer cache requested no physical reads.".into()),
    }
}

/// What every witness has to say of the reads.
fn delivered(record: &Record, figures: &Figures<'_>, blocks: u64, bytes: u64) -> Verdict {
    let unknown = |why: String| Verdict::unknown(Question::Physical, why);
    let witnesses = Witness::all(record);
    if witnesses.is_empty() {
        let why = why_no_device(record);
        return times::without_witness(
            figures,
            unknown(format!("Not known: the device's counters are missing. {why}")),
        );
    }
    let shares: Vec<(&Witness, f64)> =
        witnesses.iter().filter_map(|witness| Some((witness, witness.share(bytes)?))).collect();
    let Some(&first) = shares.first() else {
        return unknown("Nothing to judge: no byte was read physically.".into());
    };
    if let Some(&(witness, share)) = shares.iter().find(|(_, share)| *share < DELIVERED) {
        let own = first.0.place == Place::Process && first.1 >= DELIVERED;
        return short(record, figures, blocks, (witness, share), own);
    }
    let verdict = match first {
        (witness, share) if share > EXCESS => excess(record, witness, share),
        _ => all_there(blocks, &shares),
    };
    let total_only = first.0.place != Place::Process;
    let behind = total_only.then(|| times::behind_the_total(record, figures)).flatten();
    verdict.qualified_by(behind.into_iter().chain(cache_below(record)).collect())
}

/// No witness misses anything, and the first one saw no more than was asked for.
fn all_there(blocks: u64, shares: &[(&Witness, f64)]) -> Verdict {
    let good = |sentence: String| Verdict::new(Question::Physical, Answer::Good, sentence);
    let device = shares.iter().find(|(witness, _)| witness.place == Place::Device);
    let busy_device = device.filter(|(_, share)| *share > EXCESS);
    let speaker = if busy_device.is_some() { shares.first() } else { device.or(shares.first()) };
    let (name, share) = speaker.map_or((ABSENT, 0.0), |(witness, share)| (witness.name(), *share));
    match busy_device {
        // The first witness is then another one: the kernel's count for the database's processes.
        Some((_, all)) => good(format!(
            "Yes: of what the buffer cache asked for, the kernel fetched {} % from storage.",
            percent(100.0 * share)
        ))
        .with_detail(format!(
            "The device read {} % more than that: other programs used it.",
            percent(100.0 * (all - 1.0))
        )),
        None => good(format!(
            "Yes: of {} blocks that the buffer cache asked for, the {name} delivered {} %.",
            count(blocks),
            percent(100.0 * share)
        )),
    }
}

/// More was read than was asked for, and nobody knows for whom.
fn excess(record: &Record, witness: &Witness, share: f64) -> Verdict {
    let (name, more) = (witness.name(), percent(100.0 * (share - 1.0)));
    let verdict = Verdict::new(
        Question::Physical,
        Answer::Doubt,
        format!("Not certain: the {name} read {more} % more than the buffer cache asked for."),
    );
    let verdict = verdict.with_detail(match witness.place {
        Place::Process => {
            "The system read ahead, or the server's processes read for others too: how many of the run's own reads a \
             cache served is not known."
        }
        Place::Device | Place::Disks => {
            "Other programs used it, or the system read ahead: how many of the database's own reads a cache served \
             is not known."
        }
    });
    let unread =
        witness.place != Place::Process && record.observed.iter().any(|server| server.process.is_some());
    if !unread {
        return verdict;
    }
    verdict.with_detail(
        "Run as root or as the server's account: then what the kernel fetched for its processes is known.",
    )
}

/// Less was read than was asked for. `own` says whether the kernel's count for the database's processes is complete.
fn short(record: &Record, figures: &Figures<'_>, blocks: u64, found: (&Witness, f64), own: bool) -> Verdict {
    let (witness, share) = found;
    let answer = if share < MOSTLY_CACHED { Answer::Bad } else { Answer::Doubt };
    let sentence = missing(record, figures, found, own);
    Verdict::new(Question::Physical, answer, sentence).with_detail(format!(
        "Of {} blocks requested, the {} delivered {} %.",
        count(blocks),
        witness.name(),
        percent(100.0 * share)
    ))
}

fn missing(record: &Record, figures: &Figures<'_>, (witness, share): (&Witness, f64), own: bool) -> String {
    let (name, cached) = (witness.name(), percent(100.0 * (1.0 - share)));
    let direct = record.server.direct_io == Some(true);
    match witness.place {
        Place::Disks => {
            let how = match cached_device(record) {
                Some(top) => format!("{top} reads the file behind it through the page cache"),
                None => "a cache between it and the disks answered".into(),
            };
            format!("No: {cached} % of these reads never reached the disks below the device; {how}.")
        }
        Place::Device if own => format!(
            "No: {cached} % of these reads never reached this device, although the kernel fetched them for {}: the \
             data may be on another device.",
            processes(record)
        ),
        _ if direct => format!(
            "No: {cached} % of these reads never reached the {name}, although they bypass the page cache: the data \
             may be on another device, or a cache above it answers."
        ),
        Place::Device => format!(
            "No: your OS page cache served {cached} % of these reads; the device did only {} reads/s.",
            or_absent(figure::DEVICE_READS_PER_S.of(figures), |reads| fixed(reads, 0))
        ),
        Place::Process => format!(
            "No: your OS page cache served {cached} % of these reads, by the kernel's own count for {}.",
            processes(record)
        ),
    }
}

/// Whose reads the first witness counts.
fn processes(record: &Record) -> &'static str {
    if record.server.embedded { "this process" } else { "the server's processes" }
}

/// What the top device delivered may come from the page cache below it, however much it was.
fn cache_below(record: &Record) -> Option<Finding> {
    let top = cached_device(record)?;
    Some(Finding::new(
        Answer::Doubt,
        format!(
            "Not certain: {top} reads the file behind it through the page cache, so that what it delivered may not \
             have come from a disk. Use the disk itself, or a loop device with direct I/O (losetup --direct-io=on)."
        ),
    ))
}

/// The name of the device on top, if something below it reads through the page cache.
fn cached_device(record: &Record) -> Option<&str> {
    let device = &record.host.as_ref()?.device.as_ref()?.device;
    device.cached_below.then(|| device.top.as_ref().map_or("the device", |top| top.name.as_str()))
}

fn why_no_device(record: &Record) -> String {
    let Some(host) = &record.host else { return "Host counters were switched off.".into() };
    let note = host.device.as_ref().and_then(|device| device.device.note.clone());
    host.device_note.clone().or(note).unwrap_or_else(|| "Its counters could not be read.".into())
}

#[cfg(test)]
mod tests;
