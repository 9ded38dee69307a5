//! Physical? Did the device deliver what the database calls physical reads?

use serde::Serialize;
use slob_measure::{Counter, LatencyKind};
use slob_record::Record;

use super::thresholds::{CACHED_HITS, DELIVERED, EXCESS, MEMORY_READ, MOSTLY_CACHED, WRITE_RATE, WRITE_TIME};
use super::{Answer, Judge, Judgement, worst_first};
use crate::figure::{self, Figures};
use crate::format::{count, duration_us, fixed, or_absent, percent};
use crate::measured::{
    counter, device_counters, latency_sum_s, own_io, own_read_bytes, physical_read_bytes, ratio,
};

/// A finding about 'Physical?'. Shares are those of the bytes that the database requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", content = "numbers", rename_all = "snake_case")]
pub enum PhysicalFinding {
    /// The database does not count its physical reads.
    NotCounted,
    /// The database visited no block.
    NoBlockVisited,
    /// The database requested no byte.
    NoByteRequested,
    /// The buffer cache served nearly all visits.
    CachedTest { hits: Hits, blocks: u64 },
    /// The buffer cache requested nothing; its hits are unknown.
    NothingRequested,
    /// The buffer cache served nearly all visits, and much was written.
    WriteTest { writes: Writes, hits: Option<Hits>, reads: Option<Box<PhysicalFinding>> },
    /// The device wrote less than the log.
    RedoNotWritten { share: f64 },
    /// Neither the kernel nor the device counted the reads.
    NoWitness { why: String },
    /// Without a witness: the database waited for a read as long as a device needs.
    PlausibleTimes { mean_us: f64 },
    /// Without a witness: the database waited for a read no longer than for memory.
    MemoryTimes { mean_us: f64 },
    /// All counts agree.
    Delivered { witness: Witness, share: f64, blocks: u64 },
    /// The kernel fetched everything, and the device read more for others.
    DeliveredBesideOthers { share: f64, device_share: f64 },
    /// The first count holds more than was requested.
    Excess { witness: Witness, share: f64, kernel_could_count: bool },
    /// Less reached the disks than the device on top of them.
    MissingBelowDevice { share: f64, blocks: u64, cached_device: Option<String> },
    /// The kernel fetched everything, but not from this device.
    OtherDevice { share: f64, blocks: u64, embedded: bool },
    /// Reads bypass the page cache and do not reach the device.
    MissingDirectReads { witness: Witness, share: f64, blocks: u64 },
    /// The page cache served reads.
    PageCache { witness: Witness, share: f64, blocks: u64, embedded: bool, device_reads_per_s: Option<f64> },
    /// Only the device's total is known, and no times.
    OnlyTotalKnown,
    /// Only the device's total is known, and the database waited for less than the device needs.
    TooFast { mean_us: f64, device_us: f64, share: f64 },
    /// The device is a file that is read through the page cache.
    FileThroughPageCache { device: String },
}

/// Visits of blocks in the buffer cache and their hit ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hits {
    /// Visits of blocks.
    pub visits: u64,
    /// Visits that needed no physical read.
    pub percent: f64,
}

/// A load of writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Writes {
    /// Log written.
    pub redo_mb_per_s: Option<f64>,
    /// DB time in writes and log flushes.
    pub percent_of_db_time: Option<f64>,
    /// True if sessions write pages too.
    pub embedded: bool,
}

/// A count of the reads below the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    /// The kernel's count of what it fetched for the database's processes.
    Kernel,
    /// The device that carries the file system, for all programs.
    Device,
    /// All disks below that device, for all programs.
    Disks,
}

impl Witness {
    fn name(self) -> &'static str {
        match self {
            Self::Kernel => "storage",
            Self::Device => "device",
            Self::Disks => "disks",
        }
    }
}

impl PhysicalFinding {
    pub(super) fn judgement(&self) -> Judgement {
        match self {
            Self::NotCounted => Judgement::unknown("Not known: the database does not count its physical reads."),
            Self::NoBlockVisited => Judgement::unknown("Nothing to judge: no block was read."),
            Self::NoByteRequested => Judgement::unknown("Nothing to judge: no byte was read physically."),
            Self::CachedTest { hits, blocks } => Judgement::good(format!(
                "These were cached reads: {} % of {} block visits hit the buffer cache.",
                percent(hits.percent),
                count(hits.visits)
            ))
            .by(&CACHED_HITS)
            .detail(format!(
                "Only {} blocks were read physically: this is not a test of the storage.",
                count(*blocks)
            )),
            Self::NothingRequested => {
                Judgement::good("These were cached reads: the buffer cache requested no physical reads.")
            }
            Self::WriteTest { writes, hits, reads } => write_test(writes, hits.as_ref(), reads.as_deref()),
            Self::RedoNotWritten { share } => Judgement::doubt(format!(
                "Not certain: the device wrote at most {} % of the database's redo: the log is elsewhere, or its \
                 writes stayed in memory.",
                percent(100.0 * share)
            ))
            .by(&DELIVERED),
            Self::NoWitness { why } => {
                Judgement::unknown(format!("Not known: the device's counters are missing. {why}"))
            }
            Self::PlausibleTimes { mean_us } => Judgement::observation(format!(
                "No proof, but no contradiction: {}.",
                read_took(*mean_us)
            )),
            Self::MemoryTimes { mean_us } => Judgement::doubt(format!(
                "Not certain: {}, which is memory's time: a cache below the database served most of them.",
                read_took(*mean_us)
            ))
            .by(&MEMORY_READ),
            Self::Delivered { witness, share, blocks } => Judgement::good(format!(
                "Yes: of {} blocks that the buffer cache asked for, the {} delivered {} %.",
                count(*blocks),
                witness.name(),
                percent(100.0 * share)
            ))
            .by(&DELIVERED),
            Self::DeliveredBesideOthers { share, device_share } => Judgement::good(format!(
                "Yes: of what the buffer cache asked for, the kernel fetched {} % from storage.",
                percent(100.0 * share)
            ))
            .by(&DELIVERED)
            .detail(format!(
                "The device read {} % more than that: other programs used it.",
                percent(100.0 * (device_share - 1.0))
            )),
            Self::Excess { witness, share, kernel_could_count } => {
                let judgement = Judgement::doubt(format!(
                    "Not certain: the {} read {} % more than the buffer cache asked for.",
                    witness.name(),
                    percent(100.0 * (share - 1.0))
                ))
                .by(&EXCESS)
                .detail(match witness {
                    Witness::Kernel => {
                        "The system read ahead, or the server's processes read for others too: how many of the run's \
                         own reads a cache served is not known."
                    }
                    Witness::Device | Witness::Disks => {
                        "Other programs used it, or the system read ahead: how many of the database's own reads a \
                         cache served is not known."
                    }
                });
                match kernel_could_count {
                    false => judgement,
                    true => judgement.remedy(
                        "Run as root or as the server's account: then what the kernel fetched for its processes is \
                         known.",
                    ),
                }
            }
            Self::MissingBelowDevice { share, blocks, cached_device } => {
                let how = match cached_device {
                    Some(top) => format!("{top} reads the file behind it through the page cache"),
                    None => "a cache between it and the disks answered".into(),
                };
                missing(Witness::Disks, *share, *blocks, |cached| {
                    format!("No: {cached} % of these reads never reached the disks below the device; {how}.")
                })
            }
            Self::OtherDevice { share, blocks, embedded } => {
                missing(Witness::Device, *share, *blocks, |cached| {
                    format!(
                        "No: {cached} % of these reads never reached this device, although the kernel fetched them \
                         for {}: the data may be on another device.",
                        processes(*embedded)
                    )
                })
            }
            Self::MissingDirectReads { witness, share, blocks } => missing(*witness, *share, *blocks, |cached| {
                format!(
                    "No: {cached} % of these reads never reached the {}, although they bypass the page cache: the \
                     data may be on another device, or a cache above it answers.",
                    witness.name()
                )
            }),
            Self::PageCache { witness, share, blocks, embedded, device_reads_per_s } => {
                missing(*witness, *share, *blocks, |cached| match witness {
                    Witness::Kernel => format!(
                        "No: your OS page cache served {cached} % of these reads, by the kernel's own count for {}.",
                        processes(*embedded)
                    ),
                    _ => format!(
                        "No: your OS page cache served {cached} % of these reads; the device did only {} reads/s.",
                        or_absent(*device_reads_per_s, |reads| fixed(reads, 0))
                    ),
                })
            }
            Self::OnlyTotalKnown => Judgement::doubt(
                "Not certain: only the device's total is known, which includes everyone's reads; this user may not \
                 read the counters of the server's processes (/proc/PID/io), and the database does not time its \
                 reads.",
            )
            .advice("Run as root or as the server's account."),
            Self::TooFast { mean_us, device_us, share } => too_fast(*mean_us, *device_us, *share),
            Self::FileThroughPageCache { device } => Judgement::doubt(format!(
                "Not certain: {device} reads the file behind it through the page cache, so that what it delivered \
                 may not have come from a disk."
            ))
            .advice("Use the disk itself, or a loop device with direct I/O (losetup --direct-io=on)."),
        }
    }
}

fn write_test(writes: &Writes, hits: Option<&Hits>, reads: Option<&PhysicalFinding>) -> Judgement {
    let what = if writes.embedded { "page writes and redo syncs" } else { "redo syncs" };
    let redo = writes.redo_mb_per_s.map(|mb| format!("{} MB/s of redo", fixed(mb, 1)));
    let share = writes.percent_of_db_time.map(|share| format!("{} % of DB time for {what}", percent(share)));
    let writes = redo.into_iter().chain(share).collect::<Vec<_>>().join(", ");
    let visits = match hits {
        Some(Hits { visits, percent: hits }) => {
            format!("of {} block visits, {} % hit the buffer cache", count(*visits), percent(*hits))
        }
        None => "the buffer cache requested no physical reads".into(),
    };
    let sentence = format!("This was a test of writes ({writes}); {visits}.");
    let Some(reads) = reads else { return Judgement::good(sentence).by(&CACHED_HITS) };
    // Others' reads easily exceed so few; reads from a cache still deserve a look.
    let answer = if reads.answer() == Answer::Bad { Answer::Doubt } else { Answer::Good };
    let reads = reads.judgement().into_sentences().swap_remove(0);
    Judgement::new(answer, sentence).by(&CACHED_HITS).detail(format!("As for the reads: {reads}"))
}

fn read_took(mean_us: f64) -> String {
    format!("a read took the database {} on average by its own clock", duration_us(mean_us))
}

fn processes(embedded: bool) -> &'static str {
    if embedded { "this process" } else { "the server's processes" }
}

/// A count that holds less than was requested; `sentence` takes the missing percentage.
fn missing(witness: Witness, share: f64, blocks: u64, sentence: impl FnOnce(String) -> String) -> Judgement {
    let is_most = share < MOSTLY_CACHED.share();
    let threshold = if is_most { &MOSTLY_CACHED } else { &DELIVERED };
    let (missing, share) = (percent(100.0 * (1.0 - share)), percent(100.0 * share));
    Judgement::bad_if(is_most, sentence(missing)).by(threshold).detail(format!(
        "Of {} blocks requested, the {} delivered {share} %.",
        count(blocks),
        witness.name(),
    ))
}

fn too_fast(mean_us: f64, device_us: f64, share: f64) -> Judgement {
    let (mean, device) = (duration_us(mean_us), duration_us(device_us));
    let others = percent(100.0 * (1.0 - share));
    match mean_us < MEMORY_READ.value {
        true => Judgement::bad(format!(
            "No: a read took the database {mean}, which is memory speed; the device took {device}. Your OS page cache \
             served {others} % of these reads or more; what the device read was for others."
        ))
        .by(&MEMORY_READ),
        false => Judgement::doubt(format!(
            "Not certain: a read took the database {mean}, and the device {device}: {others} % of these reads were \
             not waited for. Either a cache served them and the device's total includes others' reads, or they were \
             read ahead."
        ))
        .by(&MOSTLY_CACHED),
    }
}

pub(super) fn judge(figures: &Figures<'_>) -> Vec<PhysicalFinding> {
    let record = figures.record;
    let (Some(blocks), Some(bytes)) = (counter(record, Counter::PhysicalReads), physical_read_bytes(record))
    else {
        return vec![PhysicalFinding::NotCounted];
    };
    if !hardly_reads(figures) {
        return delivered(figures, blocks, bytes);
    }
    let visits = counter(record, Counter::LogicalReads);
    let hits = visits.zip(figure::HIT_PERCENT.of(figures)).map(|(visits, percent)| Hits { visits, percent });
    if let Some(writes) = writes(figures) {
        let reads = (blocks > 0).then(|| Box::new(delivered(figures, blocks, bytes).swap_remove(0)));
        let mut findings: Vec<PhysicalFinding> = redo_not_written(record).into_iter().collect();
        findings.push(PhysicalFinding::WriteTest { writes, hits, reads });
        return findings;
    }
    vec![match (visits, hits) {
        (Some(0), _) => PhysicalFinding::NoBlockVisited,
        (_, Some(hits)) => PhysicalFinding::CachedTest { hits, blocks },
        _ => PhysicalFinding::NothingRequested,
    }]
}

/// True if the run read and wrote hardly anything physically, as a test of cached reads does on purpose.
pub(super) fn is_cached_test(figures: &Figures<'_>) -> bool {
    hardly_reads(figures) && writes(figures).is_none()
}

/// True if the buffer cache served nearly all visits.
fn hardly_reads(figures: &Figures<'_>) -> bool {
    counter(figures.record, Counter::PhysicalReads) == Some(0)
        || figure::HIT_PERCENT.of(figures).is_some_and(|hits| hits > CACHED_HITS.value)
}

/// The writes of a run, if they are a load of their own.
fn writes(figures: &Figures<'_>) -> Option<Writes> {
    let embedded = figures.record.server.embedded;
    // A server's own processes write its pages, which is not DB time.
    let kinds: &[LatencyKind] = if embedded {
        &[LatencyKind::PhysicalWrite, LatencyKind::RedoSync]
    } else {
        &[LatencyKind::RedoSync]
    };
    let seconds = kinds.iter().filter_map(|kind| latency_sum_s(figures.record, *kind)).reduce(|a, b| a + b);
    let db_time_s = figure::DB_TIME_S.of(figures);
    let percent_of_db_time = seconds.zip(db_time_s).and_then(|(seconds, all)| ratio(100.0 * seconds, all));
    let redo_mb_per_s = figure::REDO_MB_PER_S.of(figures);
    let is_load = redo_mb_per_s.is_some_and(|mb| mb > WRITE_RATE.value)
        || percent_of_db_time.is_some_and(|share| share > WRITE_TIME.value);
    is_load.then_some(Writes { redo_mb_per_s, percent_of_db_time, embedded })
}

/// The log is written before a commit is acknowledged: a device that wrote less, for all programs together, does not have it.
fn redo_not_written(record: &Record) -> Option<PhysicalFinding> {
    let redo = counter(record, Counter::RedoBytes)?;
    let device = device_counters(record)?.used.write_bytes;
    let written = own_io(record).map_or(device, |own| device.min(own.write_bytes));
    let share = ratio(written as f64, redo as f64).filter(|share| *share < DELIVERED.share())?;
    Some(PhysicalFinding::RedoNotWritten { share })
}

/// The findings of all witnesses.
fn delivered(figures: &Figures<'_>, blocks: u64, bytes: u64) -> Vec<PhysicalFinding> {
    let record = figures.record;
    let witnesses = witnesses(record);
    if witnesses.is_empty() {
        return without_witness(figures);
    }
    let share = |(witness, read): &(Witness, u64)| Some((*witness, ratio(*read as f64, bytes as f64)?));
    let shares: Vec<(Witness, f64)> = witnesses.iter().filter_map(share).collect();
    let Some(&first) = shares.first() else { return vec![PhysicalFinding::NoByteRequested] };
    if let Some(&short) = shares.iter().find(|(_, share)| *share < DELIVERED.share()) {
        let kernel_has_all = first.0 == Witness::Kernel && first.1 >= DELIVERED.share();
        return vec![reads_missing(figures, short, blocks, kernel_has_all)];
    }
    let main = match first {
        (witness, share) if share > EXCESS.share() => {
            let has_process = record.observed.iter().any(|server| server.process.is_some());
            let kernel_could_count = witness != Witness::Kernel && has_process;
            PhysicalFinding::Excess { witness, share, kernel_could_count }
        }
        _ => all_there(&shares, blocks),
    };
    let by_times = (first.0 != Witness::Kernel).then(|| behind_the_total(figures)).flatten();
    let below = cached_device(record)
        .map(|device| PhysicalFinding::FileThroughPageCache { device: device.to_owned() });
    let mut findings = worst_first(by_times.into_iter().chain(below).collect());
    findings.push(main);
    findings
}

/// Bytes read below the page cache: the kernel's count first, because others' reads must not hide what a cache served.
fn witnesses(record: &Record) -> Vec<(Witness, u64)> {
    let device = device_counters(record);
    let counts = [
        (Witness::Kernel, own_read_bytes(record)),
        (Witness::Device, device.map(|device| device.used.read_bytes)),
        (Witness::Disks, device.and_then(|device| device.disk_read_bytes)),
    ];
    counts.into_iter().filter_map(|(witness, bytes)| Some((witness, bytes?))).collect()
}

/// The database's own clock can't prove that reads were physical, but it can contradict it.
fn without_witness(figures: &Figures<'_>) -> Vec<PhysicalFinding> {
    let unknown = PhysicalFinding::NoWitness { why: why_no_device(figures.record) };
    match figure::PHYSICAL_READ_MEAN_US.of(figures) {
        None => vec![unknown],
        Some(mean_us) if mean_us < MEMORY_READ.value => {
            vec![PhysicalFinding::MemoryTimes { mean_us }, unknown]
        }
        Some(mean_us) => vec![unknown, PhysicalFinding::PlausibleTimes { mean_us }],
    }
}

fn why_no_device(record: &Record) -> String {
    let Some(host) = &record.host else { return "Host counters were switched off.".into() };
    let note = host.device.as_ref().and_then(|device| device.device.note.clone());
    host.device_note.clone().or(note).unwrap_or_else(|| "Its counters could not be read.".into())
}

/// No count lacks anything, and the first one holds no more than was requested.
fn all_there(shares: &[(Witness, f64)], blocks: u64) -> PhysicalFinding {
    let first = shares[0];
    match shares.iter().find(|(witness, _)| *witness == Witness::Device).copied() {
        Some((_, device_share)) if device_share > EXCESS.share() => {
            PhysicalFinding::DeliveredBesideOthers { share: first.1, device_share }
        }
        device => {
            let (witness, share) = device.unwrap_or(first);
            PhysicalFinding::Delivered { witness, share, blocks }
        }
    }
}

fn reads_missing(
    figures: &Figures<'_>,
    (witness, share): (Witness, f64),
    blocks: u64,
    kernel_has_all: bool,
) -> PhysicalFinding {
    let record = figures.record;
    let embedded = record.server.embedded;
    match witness {
        Witness::Disks => {
            let cached_device = cached_device(record).map(str::to_owned);
            PhysicalFinding::MissingBelowDevice { share, blocks, cached_device }
        }
        Witness::Device if kernel_has_all => PhysicalFinding::OtherDevice { share, blocks, embedded },
        _ if record.server.direct_io == Some(true) => {
            PhysicalFinding::MissingDirectReads { witness, share, blocks }
        }
        _ => {
            let device_reads_per_s = figure::DEVICE_READS_PER_S.of(figures);
            PhysicalFinding::PageCache { witness, share, blocks, embedded, device_reads_per_s }
        }
    }
}

/// The name of the device on top, if something below it reads through the page cache.
fn cached_device(record: &Record) -> Option<&str> {
    let device = &record.host.as_ref()?.device.as_ref()?.device;
    device.cached_below.then(|| device.top.as_ref().map_or("the device", |top| top.name.as_str()))
}

/// Behind a page cache the device's total may hold others' reads in place of those that the cache served. `None` if the database
/// waited for its reads as long as the device needs.
fn behind_the_total(figures: &Figures<'_>) -> Option<PhysicalFinding> {
    if figures.record.server.direct_io == Some(true) {
        return None;
    }
    let Some((mean_us, device_us, share)) = waited_share(figures) else {
        return Some(PhysicalFinding::OnlyTotalKnown);
    };
    (share < MOSTLY_CACHED.share()).then_some(PhysicalFinding::TooFast { mean_us, device_us, share })
}

/// The mean times of a read for the database and for the device, and the share of the reads that the device can have served in
/// the time that the database waited.
fn waited_share(figures: &Figures<'_>) -> Option<(f64, f64, f64)> {
    let record = figures.record;
    let used = device_counters(record)?.used;
    let mean_us = figure::PHYSICAL_READ_MEAN_US.of(figures)?;
    let device_us = figure::DEVICE_READ_AWAIT_US.of(figures)?;
    let reads =
        counter(record, Counter::PhysicalReadRequests).or_else(|| counter(record, Counter::PhysicalReads))?;
    // The system reads ahead in larger requests, and each wait is for one of them.
    let request_bytes = ratio(used.read_bytes as f64, used.reads as f64)?;
    let served_bytes = ratio(mean_us * reads as f64, device_us)? * request_bytes;
    Some((mean_us, device_us, ratio(served_bytes, physical_read_bytes(record)? as f64)?))
}
