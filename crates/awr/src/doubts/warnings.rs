//! What a reader must know, and what can't be true.

use super::{Warning, Weight};
use crate::histogram::duration;
use crate::info::{Named, db_time_per_s, logical_reads_per_s, physical_reads_per_s, single_block_read};
use crate::report::Report;

/// Below this share of its sessions' time in calls a load was not one all the time.
const IDLE_PERCENT: f64 = 5.0;
/// From this share of the host's CPUs on, CPU is the limit.
const CPU_BOUND_PERCENT: f64 = 80.0;
/// Longer intervals average over too much.
const LONG_HOURS: f64 = 4.0;

pub(super) fn warnings(named: &Named) -> Vec<Warning> {
    let report = &named.report;
    let mut warnings = Vec::new();
    warnings.extend(idle(named));
    warnings.extend(restart(report));
    warnings.extend(cpu(report));
    warnings.extend(blocks_and_requests(report));
    warnings.extend(two_peaks(report));
    if !report.io_by_function.is_empty() && !super::pairs::has_all_writes(report) {
        let text = "IOStat by Function has no line of DBWR and no total here: its writes are not all writes, and are not compared";
        warnings.push(warning(Weight::Note, text));
    }
    if report.units_were_restored {
        let text = "IOStat's data per second has lost its unit, as text of 11.2 prints it: it was found again by Data / elapsed";
        warnings.push(warning(Weight::Note, text));
    }
    warnings.extend(impossible(report));
    warnings.extend(length(report));
    warnings.extend(report.notes.iter().map(|text| warning(Weight::Note, text.clone())));
    warnings
}

fn warning(weight: Weight, text: impl Into<String>) -> Warning {
    Warning { weight, text: text.into(), is_general: false }
}

/// Rates are divided by the interval, idle or not.
fn idle(named: &Named) -> Option<Warning> {
    let active = db_time_per_s(&named.report)?;
    if let Some(sessions) = named.sessions().filter(|sessions| *sessions > 0) {
        let idle = 100.0 * (1.0 - active.value / f64::from(sessions));
        return (idle > IDLE_PERCENT).then(|| {
            let text = format!(
                "of {sessions} sessions (by the file's name) {:.1} were active on average: they were idle for {idle:.0} % of the time, \
                 which lowers rates per second as much",
                active.value
            );
            warning(Weight::Doubt, text)
        });
    }
    // Less than one session on average: so much of the interval at least nobody was in a call.
    let idle = 100.0 * (1.0 - active.value);
    (idle > IDLE_PERCENT).then(|| {
        let text = format!(
            "idle for at least {idle:.1} % of the interval: {:.3} sessions were active on average, but rates are divided by \
             the whole interval",
            active.value
        );
        warning(Weight::Doubt, text)
    })
}

/// Counters begin anew with the instance.
fn restart(report: &Report) -> Option<Warning> {
    let (started, begin) = report.database.started.zip(report.interval.begin.as_ref()?.time)?;
    // To the minute, or to the hour where the minutes are not known.
    let slack = if report.database.started_to_the_minute { 60.0 } else { 3600.0 };
    let after = started.duration_since(begin).as_secs_f64();
    (after > slack).then(|| {
        let text = format!(
            "the instance was started at {started}, after the first snapshot ({begin}): counters were reset within the interval",
        );
        warning(Weight::Impossible, text)
    })
}

fn cpu(report: &Report) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let cpu = report.db_cpu_s();
    let possible = report.cpus().zip(report.elapsed_s()).map(|(cpus, seconds)| cpus * seconds);
    let background = report.background_cpu_s().map_or(0.0, |figure| figure.value);
    if let Some((cpu, possible)) = cpu.zip(possible) {
        let used = cpu.value + background;
        let percent = 100.0 * used / possible;
        // Ten percent more than there is can't be rounding, nor snapshots taken one after the other.
        if percent > 110.0 {
            warnings.push(warning(
                Weight::Impossible,
                format!("the database used {used:.0} s of CPU, but the host's CPUs had only {possible:.0} s"),
            ));
        } else if percent > CPU_BOUND_PERCENT {
            warnings.push(warning(Weight::Doubt, format!(
                "the database kept {percent:.0} % of the host's CPUs busy: CPU was the limit, and waits are longer for it"
            )));
        }
    }
    if let Some((cpu, time)) = cpu.zip(report.db_time_s())
        && cpu.value > time.value + time.resolution + cpu.resolution
    {
        warnings.push(warning(Weight::Note, format!(
            "DB CPU ({:.1} s) exceeds DB time ({:.1} s): calls that had not ended count in one and not the other",
            cpu.value, time.value
        )));
    }
    let busy = report.host_cpu.as_ref().and_then(|cpu| cpu.idle_percent).map(|idle| 100.0 - idle.value);
    if let Some(busy) = busy.filter(|busy| *busy > 90.0) {
        warnings.push(warning(
            Weight::Doubt,
            format!("the host's CPUs were {busy:.0} % busy: every wait includes waiting for a CPU"),
        ));
    }
    warnings
}

fn blocks_and_requests(report: &Report) -> Option<Warning> {
    let blocks = physical_reads_per_s(report)?.value;
    let requests = report.statistic_per_s("physical read IO requests")?.value;
    let all = report.statistic_per_s("physical read total IO requests").map(|figure| figure.value);
    (requests > 0.0 && blocks > 0.0).then(|| {
        let all = all.map(|all| format!(", and {}/s with those of the instance itself", rate(all))).unwrap_or_default();
        let text = format!(
            "'Physical reads' are blocks, not requests: {} blocks/s were read in {} requests/s{all} ({:.2} blocks each)",
            rate(blocks),
            rate(requests),
            blocks / requests
        );
        Warning { is_general: true, ..warning(Weight::Note, text) }
    })
}

/// With decimals where it is small.
fn rate(per_second: f64) -> String {
    if per_second < 1.0 { format!("{per_second:.3}") } else { format!("{per_second:.1}") }
}

fn two_peaks(report: &Report) -> Option<Warning> {
    let event = single_block_read(report)?;
    let peaks = report.histogram(&event.name)?.two_peaks()?;
    let mean = event.mean_us()?.known()?;
    // Of single block reads: a cache serves nothing else here.
    let served = if peaks.may_be_a_caches() { ", as a cache would serve them" } else { "" };
    let text = format!(
        "the mean of '{}', {}, hides two kinds of waits: {:.0} % peak at {} to {}{served}, and {:.0} % at {} and more",
        event.name,
        duration(mean),
        peaks.short_percent,
        duration(peaks.short.from_us),
        peaks.short.to_us.map_or_else(|| "more".to_owned(), duration),
        peaks.long_percent,
        duration(peaks.long.from_us),
    );
    Some(warning(Weight::Doubt, text))
}

fn impossible(report: &Report) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (application, all) in [
        ("physical read IO requests", "physical read total IO requests"),
        ("physical write IO requests", "physical write total IO requests"),
        ("physical read bytes", "physical read total bytes"),
        ("physical write bytes", "physical write total bytes"),
    ] {
        let both = report.statistic_total(application).zip(report.statistic_total(all));
        if let Some((part, whole)) =
            both.filter(|(part, whole)| part.value > whole.value * 1.01 + whole.resolution)
        {
            warnings.push(warning(
                Weight::Impossible,
                format!(
                    "'{application}' ({:.0}) exceeds '{all}' ({:.0}), of which it is a part",
                    part.value, whole.value
                ),
            ));
        }
    }
    let reads = physical_reads_per_s(report).zip(logical_reads_per_s(report));
    if let Some((physical, logical)) =
        reads.filter(|(physical, logical)| physical.value > logical.value * 1.05 + 1.0)
    {
        warnings.push(warning(Weight::Doubt, format!(
            "more blocks were read physically ({:.0}/s) than logically ({:.0}/s): direct reads of temporary segments or LOBs",
            physical.value, logical.value
        )));
    }
    for line in &report.efficiency {
        if let Some(percent) = line.percent.filter(|percent| percent.value > 100.0 || percent.value < 0.0) {
            warnings.push(warning(
                Weight::Note,
                format!("'{}' is {} %, which is impossible", line.name, percent.value),
            ));
        }
    }
    for histogram in
        report.histograms.iter().filter(|own| own.waits.is_some_and(|waits| waits.value >= 100.0))
    {
        let sum: f64 = histogram.buckets.iter().map(|bucket| bucket.percent.value).sum();
        if (sum - 100.0).abs() > 2.0 {
            warnings.push(warning(
                Weight::Doubt,
                format!("the histogram of '{}' adds up to {sum:.1} %", histogram.event),
            ));
        }
    }
    warnings.extend(report.histograms.iter().filter(|own| own.waits_were_cut).take(1).map(|own| {
        warning(
            Weight::Note,
            format!(
                "total waits of histograms have lost their unit, such as those of '{}': K was assumed",
                own.event
            ),
        )
    }));
    warnings
}

fn length(report: &Report) -> Option<Warning> {
    let hours = report.elapsed_s()? / 3600.0;
    (hours > LONG_HOURS).then(|| {
        warning(
            Weight::Doubt,
            format!("an interval of {hours:.1} hours averages over busy and quiet times: take shorter ones"),
        )
    })
}
