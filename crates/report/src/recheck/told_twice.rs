//! What a record tells of the run in two places, other than in sums: how it ended, what it cost, how it read.

use slob_host::CpuSplit;
use slob_record::{Interval, Record, Status, Verification};

use super::{Recheck, sampled};
use crate::window::window_intervals;

/// CPU times that are read at slightly different moments, or cut to ticks, may differ by so many seconds.
const CPU_SLACK_S: f64 = 0.01;
/// And by this share.
const CPU_TOLERANCE: f64 = 0.02;
/// Ticks of all modes together come a little late now and then.
const HOST_TOLERANCE: f64 = 0.1;
/// And are lost while a hypervisor has a virtual machine wait and does not say so: 15 % of them were, on a busy host.
const LOST_TICKS: f64 = 0.25;
/// The sampling itself comes on top of the window, in seconds.
const SAMPLING_S: f64 = 1.0;
/// A completed window is not shorter than planned by more than this share.
const WINDOW_TOLERANCE: f64 = 0.01;
/// Under this name an engine that can choose says how it reads its files.
const FILE_IO: (&str, &str) = ("data file I/O", "direct");

pub(super) fn told_twice(record: &Record) -> Vec<Recheck> {
    let checks = [
        ending(record),
        embedded_cpu(record),
        host_cpu(record),
        series_cpu(
            record,
            "s of the host's CPUs at work",
            record.host.as_ref().and_then(|host| host.cpu).map(|cpu| cpu.busy_s()),
            |interval| interval.host_cpu.map(|cpu| cpu.busy_s()),
        ),
        series_cpu(record, "s of DB CPU", record.db_cpu.as_ref().map(|cpu| cpu.cpu.total_s()), |interval| {
            interval.db_cpu.as_ref().map(CpuSplit::total_s)
        }),
        series_cpu(
            record,
            "s of the host's CPUs in all modes",
            record.host.as_ref().and_then(|host| host.cpu).map(|cpu| cpu.total_s()),
            |interval| interval.host_cpu.map(|cpu| cpu.total_s()),
        ),
        direct_io(record),
        read_back(record),
    ];
    checks.into_iter().flatten().collect()
}

/// A run whose window has its length was completed, and one whose window has not was not; and without a failed session it did
/// not fail for one.
fn ending(record: &Record) -> Option<Recheck> {
    let (window, planned_s) = (record.window?, record.workload.run_time_s?);
    let is_whole = window.seconds >= planned_s * (1.0 - WINDOW_TOLERANCE)
        || record.until_steady.as_ref().is_some_and(|until| until.reached);
    let (state, agrees) = match &record.status {
        Status::Completed => ("completed", is_whole),
        Status::Interrupted => ("interrupted", !is_whole),
        Status::Failed { .. } => return None,
    };
    let words = format!("the run was {state}, its window took {:.2} of {planned_s:.2} s", window.seconds);
    Some(Recheck { agrees, words })
}

/// An embedded database's CPU is this program's.
fn embedded_cpu(record: &Record) -> Option<Recheck> {
    let (database, client) = (record.db_cpu.as_ref()?.cpu.total_s(), record.client_cpu.as_ref()?.total_s());
    let words = format!("s of DB CPU {database:.3}, of this program {client:.3}");
    record.server.embedded.then(|| Recheck { agrees: near(database, client, CPU_TOLERANCE), words })
}

/// Each CPU is in one of the modes all the time.
fn host_cpu(record: &Record) -> Option<Recheck> {
    let host = record.host.as_ref()?;
    let (cpus, window) = (f64::from(host.info.cpus_online?), record.window?);
    let (told, there) = (host.cpu?.total_s(), cpus * window.seconds);
    let words = format!("s of the host's CPUs in all modes {told:.2}, CPUs times seconds {there:.2}");
    let agrees = told >= there * (1.0 - LOST_TICKS) - CPU_SLACK_S
        && told <= there * (1.0 + HOST_TOLERANCE) + cpus * SAMPLING_S;
    Some(Recheck { agrees, words })
}

/// CPU of the window lies between that of the intervals within it and that of those which touch it.
fn series_cpu(
    record: &Record,
    name: &str,
    told_s: Option<f64>,
    of: fn(&Interval) -> Option<f64>,
) -> Option<Recheck> {
    let told_s = told_s?;
    let within: f64 = window_intervals(record).into_iter().filter_map(|(_, interval)| of(interval?)).sum();
    let touching: Vec<f64> = sampled(record).map(of).collect::<Option<_>>()?;
    let touching_s: f64 = touching.iter().sum();
    let slack = CPU_SLACK_S + CPU_TOLERANCE * told_s;
    let agrees = within <= told_s + slack && touching_s + slack >= told_s;
    let words = format!("{name} {told_s:.2}, in the series {within:.2} to {touching_s:.2}");
    (!touching.is_empty()).then_some(Recheck { agrees, words })
}

fn direct_io(record: &Record) -> Option<Recheck> {
    let told = record.server.direct_io?;
    let (name, direct) = FILE_IO;
    let setting = record.server.settings.iter().find(|setting| setting.name == name)?;
    let words = format!("direct_io is {told}, the setting {name} is {}", setting.value);
    Some(Recheck { agrees: told == setting.value.starts_with(direct), words })
}

/// As many rows are read back as are drawn, if none is damaged.
fn read_back(record: &Record) -> Option<Recheck> {
    let verification = record.verification.as_ref()?;
    let most = Verification::SAMPLED_ROWS;
    let is_whole = verification.unread.is_none() && verification.faults.is_empty();
    let least = if is_whole { most } else { 0 };
    let words = format!(
        "rows read back {}, of which {} updated, {most} to be read",
        verification.rows, verification.updated
    );
    let agrees = (least..=most).contains(&verification.rows) && verification.updated <= verification.rows;
    Some(Recheck { agrees, words })
}

fn near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= CPU_SLACK_S + share * a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use rstest::rstest;
    use slob_record::SettingRecord;

    #[test]
    fn a_sound_record_says_the_same_twice() {
        let record = fixture::direct_read_run();
        let checks = told_twice(&record);
        assert!(checks.len() >= 4 && checks.iter().all(|check| check.agrees), "{checks:?}");
    }

    #[rstest]
    #[case("DB CPU", |record: &mut Record| record.db_cpu.as_mut().unwrap().cpu.user_s *= 1.3)]
    #[case("all modes", |record: &mut Record| record.host.as_mut().unwrap().cpu.as_mut().unwrap().idle_s /= 3.0)]
    #[case("the run was interrupted", |record: &mut Record| record.status = Status::Interrupted)]
    #[case("the run was completed", |record: &mut Record| record.workload.run_time_s = Some(90.0))]
    #[case("rows read back", |record: &mut Record| record.verification.as_mut().unwrap().rows = 99)]
    #[case("rows read back", |record: &mut Record| record.verification.as_mut().unwrap().updated = 101)]
    #[case("direct_io is true", |record: &mut Record| record.server.settings.push(SettingRecord { name: "data file I/O".into(), value: "buffered".into() }))]
    fn an_edit_of_one_of_both_is_seen(#[case] words: &str, #[case] edit: fn(&mut Record)) {
        let mut record = fixture::direct_read_run();
        edit(&mut record);
        let told: Vec<String> =
            told_twice(&record).into_iter().filter(|check| !check.agrees).map(|check| check.words).collect();
        assert!(told.iter().any(|told| told.contains(words)), "{told:?}");
    }
}
