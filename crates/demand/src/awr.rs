//! AWR and Statspack reports as samples of a profile.

use slob_awr::checks::{Checks, Weight};
use slob_awr::info::{Head, Named, Row};
use slob_awr::{BufferPoolAdvice, EventHistogram, Kind, Rates, Report};
use slob_measure::{Bound, Facts, WorkingSet};

use crate::{Bucket, Figure, Figures, Histograms, Sample, Subject};

/// `awr_info` counts bytes in MiB.
const MIB: f64 = 1024.0 * 1024.0;

const COLUMNS: [(Head, Figure, f64); 14] = [
    (Head::LogicalReads, Figure::LogicalReads, 1.0),
    (Head::Reads, Figure::ReadRequests, 1.0),
    (Head::ReadMib, Figure::AllReadBytes, MIB),
    (Head::Writes, Figure::WriteRequests, 1.0),
    (Head::WriteMib, Figure::AllWriteBytes, MIB),
    (Head::RedoMib, Figure::RedoBytes, MIB),
    (Head::Executes, Figure::Executions, 1.0),
    (Head::DbTime, Figure::DbTime, 1.0),
    (Head::DbCpu, Figure::DbCpu, 1.0),
    (Head::SingleBlockRead, Figure::ReadUs, 1.0),
    (Head::DirectRead, Figure::DirectReadUs, 1.0),
    (Head::ParallelRead, Figure::ParallelReadUs, 1.0),
    (Head::BlockWrite, Figure::BlockWriteUs, 1.0),
    (Head::LogWrite, Figure::LogWriteUs, 1.0),
];
const STATISTICS: [(&str, Figure); 4] = [
    ("physical reads direct", Figure::DirectReadBlocks),
    ("user rollbacks", Figure::Rollbacks),
    ("parse count (total)", Figure::Parses),
    ("parse count (hard)", Figure::HardParses),
];
const READS: [&str; 2] = ["db file sequential read", "cell single block physical read"];
const COMMIT: &str = "log file sync";

impl Sample {
    pub fn of_report(named: &Named) -> Self {
        let report = &named.report;
        let interval = &report.interval;
        let time = |snapshot: Option<&slob_awr::Snapshot>| snapshot.and_then(|snapshot| snapshot.time);
        let is_one_instance = report.database.is_rac == Some(true) && report.kind != Kind::AwrGlobal;
        let faults =
            Checks::of(named).warnings.into_iter().filter(|warning| warning.weight == Weight::Impossible);
        Self {
            subject: subject(report),
            source: named.label(),
            instance: report.database.instance.clone().filter(|_| is_one_instance),
            begin: time(interval.begin.as_ref()),
            end: time(interval.end.as_ref()),
            seconds: report.elapsed_s(),
            figures: figures(named),
            histograms: histograms(report),
            bad: Vec::new(),
            faults: faults.map(|warning| warning.text).collect(),
        }
    }
}

fn subject(report: &Report) -> Subject {
    let database = &report.database;
    let whole = |number: f64| (number >= 1.0).then_some(number as u32);
    let cache = report.cache_sizes.iter().find(|size| size.name.eq_ignore_ascii_case("buffer cache"));
    let cache_bytes = cache.and_then(|size| size.end_bytes.or(size.begin_bytes)).map(|size| size.value);
    Subject {
        name: database.name.clone().unwrap_or_else(|| "unnamed".into()),
        id: database.id.clone(),
        container: database.container.clone(),
        version: database.release.clone(),
        block_bytes: report.block_bytes().and_then(whole),
        cpus: report.cpus().and_then(whole),
        // Reports do not print the size of the database.
        facts: Facts {
            database_bytes: None,
            cache_bytes: cache_bytes.filter(|bytes| *bytes >= 1.0).map(|bytes| bytes as u64),
            working_set: Some(working_set(&report.buffer_pool_advice)),
        },
    }
}

/// The working set fits the smallest default pool with at most this many times the least physical reads of the advisory.
const NO_MORE_READS: f64 = 1.05;

fn working_set(advice: &[BufferPoolAdvice]) -> WorkingSet {
    let sizes = advice.iter().skip_while(|line| line.pool != "D").take_while(|line| line.pool == "D");
    let reads = |line: &BufferPoolAdvice| line.thousand_reads.or(line.read_factor).map(|reads| reads.value);
    let known = sizes.filter_map(|line| Some((line.size_mb?.value, reads(line)?)));
    let mut tried: Vec<(f64, f64)> = Vec::new();
    for (mb, reads) in known {
        // Sizes begin anew with blocks of another size.
        if tried.last().is_some_and(|(last, _)| mb <= *last) {
            break;
        }
        tried.push((mb, reads));
    }
    let (Some((_, least)), true) = (tried.last().copied(), tried.len() > 1) else {
        return WorkingSet::unknown("the reports print no buffer pool advisory");
    };
    let at = tried.iter().position(|(_, reads)| *reads <= NO_MORE_READS * least).unwrap_or_default();
    let (bound, method) = match at {
        0 => (
            Bound::AtMost,
            "physical reads are no fewer with more than the smallest cache of the buffer pool advisory",
        ),
        at if at + 1 == tried.len() => {
            (Bound::AtLeast, "physical reads still fall at the largest cache of the buffer pool advisory")
        }
        _ => (Bound::About, "the cache at which physical reads stop falling by the buffer pool advisory"),
    };
    WorkingSet::Estimate { bytes: (tried[at].0 * MIB) as u64, bound, method: method.into() }
}

fn figures(named: &Named) -> Figures {
    let report = &named.report;
    let row = Row::of(named);
    let columns =
        COLUMNS.iter().filter_map(|(head, figure, scale)| Some((*figure, row.figure(*head)? * scale)));
    let mut figures: Figures = columns.collect();
    let rates = Rates::of(report);
    figures.set_known(Figure::ReadBlocks, rates.physical_reads);
    figures.set_known(Figure::ReadBytes, rates.physical_read_bytes);
    figures.set_known(Figure::SingleBlockReads, rates.single_block_reads);
    figures.set_known(Figure::WriteBlocks, rates.physical_writes);
    figures.set_known(Figure::CommitUs, rates.log_file_sync_us);
    let value = |name: &str| report.statistic_per_s(name).map(|figure| figure.value);
    figures.set_known(Figure::Commits, value("user commits").or(rates.commits));
    for (name, figure) in STATISTICS {
        figures.set_known(figure, value(name));
    }
    let bytes = |name: &str| Some(value(name)? * report.block_bytes()?);
    figures.set_known(Figure::TempReadBytes, bytes("physical reads direct temporary tablespace"));
    figures.set_known(Figure::TempWriteBytes, bytes("physical writes direct temporary tablespace"));
    let sent = value("bytes sent via SQL*Net to client");
    let received = value("bytes received via SQL*Net from client");
    figures.set_known(Figure::NetworkBytes, sent.zip(received).map(|(sent, received)| sent + received));
    figures
}

fn histograms(report: &Report) -> Histograms {
    let named = |name: &str, histogram: Option<&EventHistogram>| {
        let bucket = |own: &slob_awr::Bucket| Bucket {
            from_us: own.from_us,
            to_us: own.to_us,
            waits: own.percent.value,
        };
        let buckets: Vec<Bucket> = histogram?.buckets.iter().map(bucket).collect();
        (!buckets.is_empty()).then(|| (name.to_owned(), buckets))
    };
    let read = READS.iter().find_map(|event| report.histogram(event));
    [named("read", read), named("commit", report.histogram(COMMIT))].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn advice(pool: &str, size_mb: f64, thousand_reads: f64) -> BufferPoolAdvice {
        BufferPoolAdvice {
            pool: pool.into(),
            size_mb: Some(slob_awr::Figure::exact(size_mb)),
            size_factor: None,
            read_factor: None,
            thousand_reads: Some(slob_awr::Figure::exact(thousand_reads)),
        }
    }

    #[rstest]
    #[case(&[(10.0, 900.0), (20.0, 104.0), (30.0, 101.0), (40.0, 100.0)], Some((20, Bound::About)))]
    #[case(&[(10.0, 900.0), (20.0, 500.0), (30.0, 300.0)], Some((30, Bound::AtLeast)))]
    #[case(&[(10.0, 4.0), (20.0, 4.0), (30.0, 4.0)], Some((10, Bound::AtMost)))]
    // Blocks of another size begin a list of their own.
    #[case(&[(10.0, 900.0), (20.0, 100.0), (30.0, 100.0), (5.0, 7.0), (6.0, 1.0)], Some((20, Bound::About)))]
    #[case(&[(10.0, 900.0)], None)]
    #[case(&[], None)]
    fn the_working_set_is_the_cache_at_which_reads_stop_falling(
        #[case] lines: &[(f64, f64)],
        #[case] expected: Option<(u64, Bound)>,
    ) {
        let mut lines: Vec<_> = lines.iter().map(|(mb, reads)| advice("D", *mb, *reads)).collect();
        lines.push(advice("K", 1.0, 1.0));
        let found = match working_set(&lines) {
            WorkingSet::Estimate { bytes, bound, .. } => Some((bytes >> 20, bound)),
            WorkingSet::Unknown { .. } => None,
        };
        assert_eq!(found, expected);
    }
}
