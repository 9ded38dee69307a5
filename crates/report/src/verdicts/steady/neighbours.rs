//! When others were at work on host and device: a neighbour that comes and goes is told with its moments.

use slob_record::{Interval, Record};

use crate::format::{fixed, percent};
use crate::window::window_intervals;

/// Others are noticed in an interval from this share of what the device read, or of the host's CPU time, on.
const NOTICED: f64 = 0.2;
/// And reads from so many bytes a second.
const NOTICED_BYTES_PER_S: f64 = 1e6;
/// Who is there for at least so many intervals in a row has come.
const LEAST_INTERVALS: usize = 2;
/// Who is there in more than this share of the window was there all the time.
const ALL_THE_TIME: f64 = 0.8;

/// What others did in an interval, if it is known: how much, and whether it is worth noticing.
type OfOthers = fn(&Record, &Interval, f64) -> Option<(f64, bool)>;

/// A sentence each for reads and CPU of others that were there for a part of the window only.
pub(super) fn came_and_went(record: &Record) -> Vec<String> {
    let read = stretch(record, reads)
        .map(|stretch| format!("Others read {} MB/s {}.", fixed(stretch.mean / 1e6, 1), stretch.words()));
    let used = stretch(record, cpu).map(|stretch| {
        format!("Others used {} % of the host's CPUs {}.", percent(100.0 * stretch.mean), stretch.words())
    });
    read.into_iter().chain(used).collect()
}

/// Bytes a second that the device read beyond what the database asked for.
fn reads(record: &Record, interval: &Interval, width_s: f64) -> Option<(f64, bool)> {
    let device = interval.device?.read_bytes as f64;
    let own = interval.physical_reads? as f64 * f64::from(record.server.block_bytes);
    let others = (device - own).max(0.0);
    let per_s = others / interval.sampled_s.unwrap_or(width_s);
    Some((per_s, others >= NOTICED * device && per_s >= NOTICED_BYTES_PER_S))
}

/// The share of the host's CPU time that was not the database's.
fn cpu(_: &Record, interval: &Interval, _: f64) -> Option<(f64, bool)> {
    let host = interval.host_cpu?;
    let all_s = Some(host.total_s()).filter(|all_s| *all_s > 0.0)?;
    let share = (host.busy_s() - interval.db_cpu?.total_s()).max(0.0) / all_s;
    Some((share, share >= NOTICED))
}

/// The longest time in a row that others were there.
struct Stretch {
    from_s: u64,
    to_s: u64,
    mean: f64,
}

impl Stretch {
    fn words(&self) -> String {
        format!("from second {} to second {}, and far less before and after", self.from_s, self.to_s)
    }
}

/// `None` if they were there all the time, or never, or it is not known.
fn stretch(record: &Record, of_others: OfOthers) -> Option<Stretch> {
    let width_s = record.series.width_s();
    let told: Vec<(u64, (f64, bool))> = window_intervals(record)
        .into_iter()
        .filter_map(|(start_s, interval)| Some((start_s, of_others(record, interval?, width_s as f64)?)))
        .collect();
    let noticed = told.iter().filter(|(_, (_, noticed))| *noticed).count();
    if noticed as f64 > ALL_THE_TIME * told.len() as f64 {
        return None;
    }
    let in_a_row = told.chunk_by(|(_, (_, before)), (_, (_, after))| before == after);
    let longest = in_a_row.filter(|row| row[0].1.1).max_by_key(|row| row.len())?;
    (longest.len() >= LEAST_INTERVALS).then(|| Stretch {
        from_s: longest[0].0,
        to_s: longest[longest.len() - 1].0 + width_s,
        mean: longest.iter().map(|(_, (amount, _))| amount).sum::<f64>() / longest.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_host::{CpuSplit, CpuTimes, DeviceUse};
    use slob_stats::Series;

    /// Twenty seconds of 1,000 reads/s, and of others' in some of them.
    fn with_others(seconds: std::ops::Range<u64>) -> Record {
        let mut record = fixture::direct_read_run();
        record.window = Some(slob_record::Window { begin_s: 0.0, seconds: 20.0 });
        record.server.block_bytes = 8192;
        record.series = Series::new(0, 1800);
        for second in 0..20 {
            let there = seconds.contains(&second);
            let of_others = if there { 25_000_000 } else { 4096 };
            let used_s = if there { 1.5 } else { 0.25 };
            let host = CpuTimes {
                user_s: used_s,
                nice_s: 0.0,
                system_s: 0.0,
                idle_s: 2.0 - used_s,
                iowait_s: 0.0,
                irq_s: 0.0,
                softirq_s: 0.0,
                steal_s: 0.0,
            };
            let device = DeviceUse { read_bytes: 8_192_000 + of_others, ..DeviceUse::default() };
            let interval = Interval {
                physical_reads: Some(1000),
                sampled_s: Some(1.0),
                device: Some(device),
                host_cpu: Some(host),
                db_cpu: Some(CpuSplit { user_s: 0.2, system_s: 0.0 }),
                ..Interval::default()
            };
            record.series.push(second, interval).unwrap();
        }
        record
    }

    #[test]
    fn who_comes_and_goes_is_told_with_the_moments() {
        let told = came_and_went(&with_others(7..12));
        assert_eq!(
            told,
            [
                "Others read 25.0 MB/s from second 7 to second 12, and far less before and after.",
                "Others used 65.0 % of the host's CPUs from second 7 to second 12, and far less before and after."
            ]
        );
    }

    #[test]
    fn who_is_there_all_the_time_or_for_a_moment_or_never_did_not_come_and_go() {
        for seconds in [0..20, 1..20, 5..6, 0..0] {
            assert!(came_and_went(&with_others(seconds.clone())).is_empty(), "{seconds:?}");
        }
    }
}
