//! Physical? Did the device deliver what the database calls physical reads?

use std::fmt;

use serde::Serialize;
use slob_measure::{Counter, LatencyKind, OpKind};
use slob_record::Record;

use super::accounted::{incidental_bytes, unwritten_bytes};
use super::{
    BAD, COUNTERS_MISSING, DOUBT, GOOD, Grade, Judgement, OBSERVATION, UNKNOWN, bad_if, findings, worst_first,
};
use crate::figure::{self, Figures};
use crate::format::{Count, Duration, Percent, Share, Tenths, Whole, shown};
use crate::ladder::cached_share;
use crate::measured::{
    bypasses_page_cache, compressing_file_system, counter, counter_of_all, device_counters, device_name,
    latency_sum_s, misses_counters, own_io, own_read_bytes, physical_read_bytes, physical_read_bytes_of_all,
    ratio,
};
use crate::thresholds::{
    CACHED_HITS, DELIVERED, EXCESS, LEAST_READS, MEMORY_READ, MOSTLY_CACHED, WRITE_RATE, WRITE_TIME,
};

findings! {
    // Shares are those of the bytes that the database requested.
    PhysicalFinding {
        NotCounted = UNKNOWN => "the database does not count its physical reads.";
        CountersMissing = UNKNOWN => "{COUNTERS_MISSING}.";
        NoBlockVisited = UNKNOWN => "no block was read: there is nothing to judge.";
        InMemory { memory: String } = BAD.advice("Use a folder on a disk.") =>
            "the data are in memory ({memory}): no disk was read.";
        NoByteRequested = UNKNOWN => "no byte was read physically: there is nothing to judge.";
        CachedTest { hits: Hits, blocks: Count } = GOOD.by(&CACHED_HITS).detail(format!(
                "Only {blocks} blocks were read physically: this is not a test of the storage."
            )) =>
            "this was a test of cached reads: {} % of {} block visits hit the buffer cache.", hits.percent, hits.visits;
        /// Hits of the buffer cache are unknown.
        NothingRequested = GOOD => "this was a test of cached reads: the buffer cache requested no physical reads.";
        WriteTest { writes: Writes, hits: Option<Hits>, reads: Option<Box<PhysicalFinding>> } =
            write_test(reads.as_deref()) => "this was a test of writes ({writes}); {}.", hits_words(hits.as_ref());
        RedoNotWritten { share: Share } = DOUBT.by(&DELIVERED) =>
            "the device wrote at most {share} % of the database's redo: the log is elsewhere, or its \
             writes stayed in memory.";
        NoWitness { why: String } = UNKNOWN => "the device's counters are missing. {why}";
        // Judged by the time of a read alone.
        PlausibleTimes { mean_us: Duration } = OBSERVATION =>
            "There is no proof, and no contradiction: a read took the database {mean_us} on average by its own clock.";
        MemoryTimes { mean_us: Duration } = DOUBT.by(&MEMORY_READ) =>
            "a read took the database {mean_us} on average by its own clock, which is memory's time: a \
             cache below the database served most of them.";
        Delivered { witness: Witness, share: Share, blocks: Count } = GOOD.by(&DELIVERED) =>
            "of {blocks} blocks that the buffer cache asked for, the {witness} delivered {share} %.";
        ReadByRead { reads: Count, share: Share, remedy: Option<String> } =
            traced_judgement(share.0).own_remedy(remedy.as_ref()) =>
            "of {reads} reads that the kernel traced one by one, {share} % waited for their data.";
        /// The device read more for others.
        DeliveredBesideOthers { share: Share, more: Share } = GOOD.by(&DELIVERED).detail(format!(
                "The device read {more} % more than that: other programs used it."
            )) =>
            "of what the buffer cache asked for, the kernel fetched {share} % from storage.";
        /// The bytes are all there, but far fewer requests brought them.
        FewRequests { reads: Count, requests: Count, share: Share, remedy: Option<String> } =
            bad_if(share.0 < MOSTLY_CACHED.share(), &MOSTLY_CACHED, &DELIVERED).remedy(TRACE).own_remedy(remedy.as_ref()) =>
            "of {reads} reads {requests} at most caused a request: your OS page cache served the others. The storage \
             delivered as many bytes because the system read ahead.";
        /// Others' requests may replace those that the database's reads did not cause.
        RequestsOfOthers { reads: Count, is_timed: bool } = UNKNOWN.remedy(if *is_timed { TRACE } else { TRACE_OR_TIME }) =>
            "the kernel fetched enough bytes, but others read from the device too: how many of {reads} reads \
             caused a request is not counted.";
        TooFewReads { reads: Count } = UNKNOWN.by(&LEAST_READS) =>
            "{reads} reads are too few to tell those of the database from others.";
        Excess { witness: Witness, more: Share, kernel_could_count: bool } =
            DOUBT.by(&EXCESS).detail(why_more(*witness)).remedy(kernel_could_count.then_some(RUN_AS_ROOT)) =>
            "the {witness} read {more} % more than the buffer cache asked for.";
        MissingBelowDevice { missing: Missing, cached_device: Option<String> } = missing.judgement() =>
            "{missing} never reached the disks below the device; {}.",
            match cached_device {
                Some(top) => format!("{top} reads the file behind it through the page cache"),
                None => "a cache between it and the disks answered".into(),
            };
        OtherDevice { missing: Missing } = missing.judgement() =>
            "{missing} never reached this device, although the kernel fetched them for {}: the data may be on \
             another device.", missing.processes();
        /// Compressed data are fewer bytes, and are read through the page cache.
        Compressed { missing: Missing, file_system: String } = DOUBT.by(&DELIVERED).remedy(COMPRESSED) =>
            "{missing} never reached the {}: {file_system} compresses data, and reads them through the page cache \
             even where the database asks for direct I/O.", missing.witness;
        MissingDirectReads { missing: Missing } = missing.judgement() =>
            "{missing} never reached the {}, although they bypass the page cache: the data may be on another \
             device, or a cache above it answers.", missing.witness;
        PageCacheByKernel { missing: Missing, remedy: Option<String> } =
            missing.judgement().own_remedy(remedy.as_ref()) =>
            "your OS page cache served {missing}, by the kernel's own count for {}.", missing.processes();
        PageCache { missing: Missing, device_reads_per_s: Option<Whole>, remedy: Option<String> } =
            missing.judgement().own_remedy(remedy.as_ref()) =>
            "your OS page cache served {missing}; the device did only {} reads/s.", shown(*device_reads_per_s);
        // The time of a read decides where only the device's total is known.
        OnlyTotalKnown = DOUBT.advice("Run as root or as the server's account.") =>
            "only the device's total is known, which includes everyone's reads; this user may not read the \
             counters of the server's processes (/proc/PID/io), and the database does not time its reads.";
        TooFast { mean_us: Duration, device_us: Duration, missing: Share } = DOUBT.by(&MOSTLY_CACHED) =>
            "a read took the database {mean_us}, and the device {device_us}: {missing} % of these reads \
             were not waited for. Either a cache served them and the device's total includes others' reads, or they \
             were read ahead.";
        MemorySpeed { mean_us: Duration, device_us: Duration, missing: Share, remedy: Option<String> } =
            BAD.by(&MEMORY_READ).own_remedy(remedy.as_ref()) =>
            "a read took the database {mean_us}, which is memory speed; the device took {device_us}. Your OS page \
             cache served {missing} % of these reads or more; what the device read was for others.";
        FileThroughPageCache { device: String } =
            DOUBT.advice("Use the disk itself, or a loop device with direct I/O (losetup --direct-io=on).") =>
            "{device} reads the file behind it through the page cache, so that what it delivered may not \
             have come from a disk.";
    }
}

fn traced_judgement(share: f64) -> Judgement {
    match share < DELIVERED.share() {
        true => bad_if(share < MOSTLY_CACHED.share(), &MOSTLY_CACHED, &DELIVERED)
            .detail("The others came from the page cache, without a request."),
        false => GOOD.by(&DELIVERED),
    }
}

const COMPRESSED: &str =
    "Load with OBFUSCATE_COLUMNS=TRUE into a folder without compression (`chattr +C` before loading).";

const TRACE_OR_TIME: &str = "`slob run --trace=after` as root tells it read by read; times of reads tell it too, if the server measures them: \
     `slob doctor` says how.";

const TRACE: &str = "`slob run --trace=after` as root tells it read by read.";

const RUN_AS_ROOT: &str =
    "Run as root or as the server's account: then what the kernel fetched for its processes is known.";

fn why_more(witness: Witness) -> &'static str {
    match witness {
        Witness::Kernel => {
            "The system read ahead, or the server's processes read for others too: how many of the run's own reads a \
             cache served is not known."
        }
        Witness::Device | Witness::Disks => {
            "Other programs used it, or the system read ahead: how many of the database's own reads a cache served is \
             not known."
        }
    }
}

/// Others' reads easily exceed so few; reads from a cache still deserve a look.
fn write_test(reads: Option<&PhysicalFinding>) -> Judgement {
    let Some(reads) = reads else { return GOOD.by(&CACHED_HITS) };
    let judgement = if reads.judgement().answer() == Grade::Bad { DOUBT } else { GOOD };
    judgement.by(&CACHED_HITS).detail(format!("As for the reads: {}", reads.judgement().sentence()))
}

fn hits_words(hits: Option<&Hits>) -> String {
    let none = || "the buffer cache requested no physical reads".into();
    hits.map_or_else(none, |Hits { visits, percent }| {
        format!("of {visits} block visits, {percent} % hit the buffer cache")
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, derive_more::Display)]
#[display("{} % of these reads", Share(1.0 - delivered.0))]
pub struct Missing {
    witness: Witness,
    blocks: Count,
    delivered: Share,
    embedded: bool,
}

impl Missing {
    fn judgement(&self) -> Judgement {
        let Self { witness, blocks, delivered, .. } = self;
        bad_if(delivered.0 < MOSTLY_CACHED.share(), &MOSTLY_CACHED, &DELIVERED)
            .detail(format!("Of {blocks} blocks requested, the {witness} delivered {delivered} %."))
    }

    fn processes(&self) -> &'static str {
        if self.embedded { "this process" } else { "the server's processes" }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hits {
    visits: Count,
    percent: Percent,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Writes {
    redo_mb_per_s: Option<Tenths>,
    percent_of_db_time: Option<Percent>,
    embedded: bool,
}

impl fmt::Display for Writes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.embedded { "page writes and redo syncs" } else { "redo syncs" };
        let redo = self.redo_mb_per_s.map(|mb| format!("{mb} MB/s of redo"));
        let share = self.percent_of_db_time.map(|share| format!("{share} % of DB time for {what}"));
        out.write_str(&redo.into_iter().chain(share).collect::<Vec<_>>().join(", "))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Witness {
    /// The database's processes alone.
    #[strum(serialize = "storage")]
    Kernel,
    /// All programs.
    Device,
    /// All programs.
    Disks,
}

pub(super) fn judge(figures: &Figures<'_>) -> Vec<PhysicalFinding> {
    let record = figures.record;
    let (Some(blocks), Some(bytes)) = (counter(record, Counter::PhysicalReads), physical_read_bytes(record))
    else {
        return vec![match misses_counters(record) {
            true => PhysicalFinding::CountersMissing,
            false => PhysicalFinding::NotCounted,
        }];
    };
    // The kernel and the device count the reads of all clients.
    let bytes = physical_read_bytes_of_all(record).unwrap_or(bytes);
    let in_memory = memory(record).map(|memory| PhysicalFinding::InMemory { memory: memory.to_owned() });
    if let Some(in_memory) = in_memory.filter(|_| !is_cached_test(figures)) {
        return vec![in_memory];
    }
    if !hardly_reads(figures) {
        return delivered(figures, Count(blocks), bytes);
    }
    let visits = counter(record, Counter::LogicalReads);
    let hits = visits.zip(figure::HIT_PERCENT.of(figures));
    let hits = hits.map(|(visits, percent)| Hits { visits: Count(visits), percent: Percent(percent) });
    if let Some(writes) = writes(figures) {
        let reads = (blocks > 0).then(|| Box::new(delivered(figures, Count(blocks), bytes).swap_remove(0)));
        let mut findings: Vec<PhysicalFinding> = redo_not_written(record).into_iter().collect();
        findings.push(PhysicalFinding::WriteTest { writes, hits, reads });
        return findings;
    }
    vec![match (visits, hits) {
        (Some(0), _) => PhysicalFinding::NoBlockVisited,
        (_, Some(hits)) => PhysicalFinding::CachedTest { hits, blocks: Count(blocks) },
        _ => PhysicalFinding::NothingRequested,
    }]
}

pub(super) fn is_cached_test(figures: &Figures<'_>) -> bool {
    hardly_reads(figures) && writes(figures).is_none()
}

fn hardly_reads(figures: &Figures<'_>) -> bool {
    counter(figures.record, Counter::PhysicalReads) == Some(0)
        || figure::HIT_PERCENT.of(figures).is_some_and(|hits| hits > CACHED_HITS.value)
}

fn writes(figures: &Figures<'_>) -> Option<Writes> {
    let embedded = figures.record.server.embedded;
    // A server's own processes write its pages, which is not DB time.
    let kinds = embedded.then_some(LatencyKind::PhysicalWrite).into_iter().chain([LatencyKind::RedoSync]);
    let seconds = kinds.filter_map(|kind| latency_sum_s(figures.record, kind)).reduce(|a, b| a + b);
    let db_time_s = figure::DB_TIME_S.of(figures);
    let percent_of_db_time = seconds.zip(db_time_s).and_then(|(seconds, all)| ratio(100.0 * seconds, all));
    let redo_mb_per_s = figure::REDO_MB_PER_S.of(figures);
    let is_load = redo_mb_per_s.is_some_and(|mb| mb > WRITE_RATE.value)
        || percent_of_db_time.is_some_and(|share| share > WRITE_TIME.value);
    is_load.then_some(Writes {
        redo_mb_per_s: redo_mb_per_s.map(Tenths),
        percent_of_db_time: percent_of_db_time.map(Percent),
        embedded,
    })
}

/// The log is written before a commit is acknowledged: a device that wrote less does not have it.
fn redo_not_written(record: &Record) -> Option<PhysicalFinding> {
    let redo = counter(record, Counter::RedoBytes)?;
    let device = device_counters(record)?.used.write_bytes;
    let written = own_io(record).map_or(device, |own| device.min(own.write_bytes));
    let share = ratio(written as f64, redo as f64).filter(|share| *share < DELIVERED.share())?;
    Some(PhysicalFinding::RedoNotWritten { share: Share(share) })
}

#[derive(Clone, Copy)]
struct Seen {
    witness: Witness,
    share: Share,
    /// Bytes that may be missing or incidental. Incidental reads are no excess, but they do not make up for missing ones.
    allowed: f64,
}

fn delivered(figures: &Figures<'_>, blocks: Count, bytes: u64) -> Vec<PhysicalFinding> {
    let record = figures.record;
    let witnesses = witnesses(record);
    if witnesses.is_empty() {
        return without_witness(figures);
    }
    let seen = |(witness, read): &(Witness, u64)| {
        let (read, bytes) = (*read as f64, bytes as f64);
        let allowed = match read > bytes {
            true => bytes.max(read - incidental_bytes(record)),
            false => bytes.min(read + unwritten_bytes(record)),
        };
        Some(Seen { witness: *witness, share: Share(ratio(read, bytes)?), allowed: ratio(allowed, bytes)? })
    };
    let all: Vec<Seen> = witnesses.iter().filter_map(seen).collect();
    let Some(&first) = all.first() else { return vec![PhysicalFinding::NoByteRequested] };
    let traced = read_by_read(record);
    if let Some(&Seen { witness, share: delivered, .. }) =
        all.iter().find(|seen| seen.allowed < DELIVERED.share())
    {
        let kernel_has_all = first.witness == Witness::Kernel && first.allowed >= DELIVERED.share();
        let missing = Missing { witness, blocks, delivered, embedded: record.server.embedded };
        let missing = reads_missing(figures, missing, kernel_has_all);
        return worst_first([missing].into_iter().chain(traced).collect(), PhysicalFinding::judgement);
    }
    let below = cached_device(record)
        .map(|device| PhysicalFinding::FileThroughPageCache { device: device.to_owned() });
    if let Some(traced) = traced {
        return worst_first([traced].into_iter().chain(below).collect(), PhysicalFinding::judgement);
    }
    let main = if first.allowed > EXCESS.share() { excess(record, first) } else { all_there(&all, blocks) };
    let is_total_alone = first.witness != Witness::Kernel;
    let by_times = is_total_alone.then(|| behind_the_total(figures)).flatten();
    let doubts = requests_missing(figures).into_iter().chain(by_times).chain(below);
    let mut findings = worst_first(doubts.chain([main]).collect(), PhysicalFinding::judgement);
    // A 'Yes' is no detail of a doubt.
    let decides = findings[0].judgement().answer();
    findings.retain(|finding| decides == Grade::Good || finding.judgement().answer() != Grade::Good);
    findings
}

fn excess(record: &Record, Seen { witness, share, .. }: Seen) -> PhysicalFinding {
    let has_process = record.observed.iter().any(|server| server.process.is_some());
    let kernel_could_count = witness != Witness::Kernel && has_process;
    PhysicalFinding::Excess { witness, more: Share(share.0 - 1.0), kernel_could_count }
}

/// Behind a page cache, read-ahead brings bytes in place of cached reads. Each single-block read that waited for storage causes a
/// request.
fn requests_missing(figures: &Figures<'_>) -> Option<PhysicalFinding> {
    let record = figures.record;
    let blocks = || counter_of_all(record, Counter::PhysicalReads);
    let all = counter_of_all(record, Counter::PhysicalReadRequests).or_else(blocks)?;
    if (all as f64) < LEAST_READS.value {
        return Some(PhysicalFinding::TooFewReads { reads: Count(all) });
    }
    let reads = all.saturating_sub(joinable_reads(record));
    if bypasses_page_cache(record) || (reads as f64) < LEAST_READS.value {
        return None;
    }
    let used = device_counters(record)?.used;
    let requests = used.reads.saturating_add(used.reads_merged.unwrap_or(0));
    // Another client's scan takes few requests for many reads.
    let own = counter(record, Counter::PhysicalReadRequests)
        .or_else(|| counter(record, Counter::PhysicalReads))?
        .saturating_sub(joinable_reads(record));
    let share = ratio(requests as f64, own as f64)?;
    if share < DELIVERED.share() {
        let (reads, requests) = (Count(own), Count(requests));
        let remedy = record.server.page_cache_remedy.clone();
        return Some(PhysicalFinding::FewRequests { reads, requests, share: Share(share), remedy });
    }
    // Others' requests may be as small as a page.
    let others_bytes =
        used.read_bytes.saturating_sub(own_read_bytes(record)?) as f64 - incidental_bytes(record);
    let others = others_bytes.max(0.0) as u64 / PAGE_BYTES;
    let least = ratio(requests.saturating_sub(others) as f64, reads as f64)?;
    if least >= DELIVERED.share() {
        return None;
    }
    let times = figure::PHYSICAL_READ_MEAN_US.of(figures).zip(figure::DEVICE_READ_AWAIT_US.of(figures));
    match times {
        // Others' requests may be large and slow in the device's mean: only memory is faster than any of them.
        Some((mean_us, device_us)) if mean_us < MEMORY_READ.value => {
            too_fast(record, mean_us, device_us, ratio(mean_us, device_us)?)
        }
        Some((mean_us, device_us)) if mean_us >= MOSTLY_CACHED.share() * device_us => None,
        times => Some(PhysicalFinding::RequestsOfOthers { reads: Count(reads), is_timed: times.is_some() }),
    }
}

const PAGE_BYTES: u64 = 4096;

/// Reads of scans and read-ahead may share requests to the device.
fn joinable_reads(record: &Record) -> u64 {
    let scans = record.operations.get(&OpKind::Scan).map_or(0, |scans| scans.rows);
    scans.saturating_add(counter_of_all(record, Counter::PhysicalReadsAhead).unwrap_or(0))
}

fn read_by_read(record: &Record) -> Option<PhysicalFinding> {
    let trace = record.trace.as_ref()?;
    let reads = Some(trace.kernel.reads().count()).filter(|reads| *reads as f64 >= LEAST_READS.value)?;
    let share = Share(1.0 - cached_share(trace)?);
    let remedy = record.server.page_cache_remedy.clone().filter(|_| share.0 < DELIVERED.share());
    Some(PhysicalFinding::ReadByRead { reads: Count(reads), share, remedy })
}

/// The kernel's count comes first: others' reads must not hide what a cache served.
fn witnesses(record: &Record) -> Vec<(Witness, u64)> {
    let device = device_counters(record);
    let counts = [
        (Witness::Kernel, own_read_bytes(record)),
        (Witness::Device, device.map(|device| device.used.read_bytes)),
        (Witness::Disks, device.and_then(|device| device.disk_read_bytes)),
    ];
    counts.into_iter().filter_map(|(witness, bytes)| Some((witness, bytes?))).collect()
}

/// The database's own clock can contradict physical reads, but not prove them.
fn without_witness(figures: &Figures<'_>) -> Vec<PhysicalFinding> {
    let unknown = PhysicalFinding::NoWitness { why: why_no_device(figures.record) };
    match figure::PHYSICAL_READ_MEAN_US.of(figures).map(Duration) {
        None => vec![unknown],
        Some(mean_us) if mean_us.0 < MEMORY_READ.value => {
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

fn all_there(all: &[Seen], blocks: Count) -> PhysicalFinding {
    let first = all[0];
    match all.iter().find(|seen| seen.witness == Witness::Device).copied() {
        Some(device) if device.share.0 > EXCESS.share() && first.witness == Witness::Kernel => {
            let more = Share(device.share.0 - 1.0);
            PhysicalFinding::DeliveredBesideOthers { share: first.share, more }
        }
        device => {
            let Seen { witness, share, .. } = device.unwrap_or(first);
            PhysicalFinding::Delivered { witness, share, blocks }
        }
    }
}

fn reads_missing(figures: &Figures<'_>, missing: Missing, kernel_has_all: bool) -> PhysicalFinding {
    let record = figures.record;
    match missing.witness {
        Witness::Kernel | Witness::Device if compressing_file_system(record).is_some() => {
            let file_system = compressing_file_system(record).unwrap_or_default().to_owned();
            PhysicalFinding::Compressed { missing, file_system }
        }
        Witness::Disks => {
            let cached_device = cached_device(record).map(str::to_owned);
            PhysicalFinding::MissingBelowDevice { missing, cached_device }
        }
        Witness::Device if kernel_has_all => PhysicalFinding::OtherDevice { missing },
        _ if bypasses_page_cache(record) => PhysicalFinding::MissingDirectReads { missing },
        Witness::Kernel => {
            PhysicalFinding::PageCacheByKernel { missing, remedy: record.server.page_cache_remedy.clone() }
        }
        Witness::Device => {
            let device_reads_per_s = figure::DEVICE_READS_PER_S.of(figures).map(Whole);
            let remedy = record.server.page_cache_remedy.clone();
            PhysicalFinding::PageCache { missing, device_reads_per_s, remedy }
        }
    }
}

fn memory(record: &Record) -> Option<&str> {
    record.host.as_ref()?.device.as_ref()?.device.memory.as_deref()
}

/// The loop device that reads its file through the page cache. Older records name the device on top.
fn cached_device(record: &Record) -> Option<&str> {
    let device = &record.host.as_ref()?.device.as_ref()?.device;
    let name = device.cached_device.as_deref().or_else(|| device_name(record)).unwrap_or("the device");
    device.cached_below.then_some(name)
}

/// Behind a page cache the device's total may hold others' reads in place of cached ones.
fn behind_the_total(figures: &Figures<'_>) -> Option<PhysicalFinding> {
    if bypasses_page_cache(figures.record) {
        return None;
    }
    let Some((mean_us, device_us, share)) = waited_share(figures) else {
        return Some(PhysicalFinding::OnlyTotalKnown);
    };
    too_fast(figures.record, mean_us, device_us, share)
}

fn too_fast(record: &Record, mean_us: f64, device_us: f64, share: f64) -> Option<PhysicalFinding> {
    let (mean_us, device_us, missing) = (Duration(mean_us), Duration(device_us), Share(1.0 - share));
    (share < MOSTLY_CACHED.share()).then_some(match mean_us.0 < MEMORY_READ.value {
        true => {
            let remedy = record.server.page_cache_remedy.clone();
            PhysicalFinding::MemorySpeed { mean_us, device_us, missing, remedy }
        }
        false => PhysicalFinding::TooFast { mean_us, device_us, missing },
    })
}

/// Mean times of a read by database and device, and the share of reads that fits into the database's waits.
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
