//! CPU-bound? Was the CPU at its limit while the device was not?

use slob_measure::WaitEvent;
use slob_record::{ObservedRecord, Record};

use self::confined::Confined;
use self::site::Site;
use super::physical::is_cached_test;
use super::{Answer, Finding, NO_WINDOW, Question, Verdict};
use crate::counters::ratio;
use crate::figure::{self, Figures};
use crate::format::{fixed, or_absent, percent, seconds};

/// From here on the host's CPUs are at their limit: sampled over a window, a load that waits for CPU most of the
/// time rarely shows more, since sessions also wait for each other.
const CPU_FULL_PERCENT: f64 = 90.0;
/// From here on the device worked nearly all the time, or came near to what the probe had from it.
const DEVICE_FULL_PERCENT: f64 = 90.0;
/// From here on sessions hardly waited for anything but CPU, whatever the host had left.
const SESSIONS_ON_CPU_PERCENT: f64 = 90.0;
/// Above this share of its requests, writes keep a device busy that a probe's reads say nothing about.
const WRITES_SHARE: f64 = 0.1;
/// From here on what the hypervisor withheld is more than noise.
const STEAL_PERCENT: f64 = 2.0;

pub(super) fn judge(figures: &Figures<'_>) -> Verdict {
    let record = figures.record;
    if !figures.is_measured() {
        return Verdict::unknown(Question::CpuBound, NO_WINDOW);
    }
    let Some(busy) = figure::HOST_BUSY_PERCENT.of(figures) else {
        return Verdict::unknown(Question::CpuBound, "Not known: the host's CPU time was not sampled.")
            .with_details(lacking(record).chain(details(record, figures)).collect());
    };
    let main = match Site::of(record) {
        Site::Seen => confined(record, figures).unwrap_or_else(|| on_its_host(record, figures, busy)),
        site => unseen(record, figures, site, busy),
    };
    let findings =
        stolen(figures).into_iter().chain(fullest_host(record)).chain(full_client(record)).collect();
    match main.answer {
        Answer::Good | Answer::Unknown => main.with_details(details(record, figures)).qualified_by(findings),
        _ => {
            let said = findings.into_iter().map(|finding| finding.sentence);
            main.with_details(said.chain(details(record, figures)).collect())
        }
    }
}

/// What can be said where the database's processes were not seen.
fn unseen(record: &Record, figures: &Figures<'_>, site: Site, busy: f64) -> Verdict {
    let busy_words = format!("CPUs {} % busy", percent(busy));
    let verdict = match site {
        Site::Elsewhere if busy >= CPU_FULL_PERCENT => Verdict::new(
            Question::CpuBound,
            Answer::Bad,
            format!("Yes, on the client's side: {busy_words} on this host, where only the sessions run."),
        ),
        Site::Elsewhere => Verdict::unknown(
            Question::CpuBound,
            format!("Not known: the database runs on another host. On this one, the client's: {busy_words}."),
        ),
        _ if busy >= CPU_FULL_PERCENT => Verdict::new(
            Question::CpuBound,
            Answer::Bad,
            format!("Yes: {busy_words} on this host. It is not known whether the database runs here."),
        ),
        _ => Verdict::unknown(
            Question::CpuBound,
            format!("Not known, nor is it known whether the database runs on this host: {busy_words} here."),
        ),
    };
    verdict.with_details(servers_own_count(record, figures).into_iter().chain(lacking(record)).collect())
}

/// Why servers were not seen, and what helps.
fn lacking(record: &Record) -> impl Iterator<Item = String> {
    let unseen = record.observed.iter().filter(|server| server.process.is_none());
    unseen.map(|server| format!("The server was not seen: {}.", server.found))
}

/// The CPU time of its sessions that the server itself counted, or sampled, among what they did.
fn servers_own_count(record: &Record, figures: &Figures<'_>) -> Option<String> {
    let cpu = |event: &&WaitEvent| !event.background && event.class.eq_ignore_ascii_case("cpu");
    let cpu_s =
        record.events.iter().filter(cpu).map(|event| event.time_us as f64 / 1e6).reduce(|a, b| a + b)?;
    let share = ratio(100.0 * cpu_s, figure::DB_TIME_S.of(figures)?)?;
    Some(format!(
        "By the server's own account its sessions were on a CPU for {}, {} % of DB time.",
        seconds(cpu_s),
        percent(share)
    ))
}

/// What can be said where a server may not use all CPUs of its host, and used all that it may.
fn confined(record: &Record, figures: &Figures<'_>) -> Option<Verdict> {
    let confined = Confined::worst(record).filter(|confined| confined.is_full() || confined.is_held_up())?;
    let words = confined.words();
    let verdict = |answer, sentence: String| Verdict::new(Question::CpuBound, answer, sentence);
    if is_cached_test(record, figures) {
        return Some(verdict(Answer::Good, format!("Yes, as a test of cached reads should be: {words}.")));
    }
    let remedy = "Give it more CPUs, or compare only runs that are held so.";
    Some(match (device_limit(record, figures), confined.is_full()) {
        (Limit::Ceiling(share), _) => verdict(
            Answer::Doubt,
            format!("Nearly: {words}, but the device also delivered {} % of its ceiling.", percent(share)),
        ),
        (Limit::Busy, true) => verdict(
            Answer::Doubt,
            format!("Possibly: {words}{}: both near their limits.", device_words(figures)),
        ),
        (_, true) => verdict(
            Answer::Bad,
            format!("Yes: {words}{}: the figures show that limit, not the storage.", device_words(figures)),
        )
        .with_detail(remedy),
        (_, false) => verdict(Answer::Doubt, format!("Now and then: {words}{}.", device_words(figures)))
            .with_detail(remedy),
    })
}

/// Of several hosts, the one that was at its limit while all together were not.
fn fullest_host(record: &Record) -> Option<Finding> {
    let busy = |server: &ObservedRecord| Some((server.host_cpu?.busy_percent()?, server.endpoint.clone()?));
    let all: Vec<(f64, String)> = record.observed.iter().filter_map(busy).collect();
    let others_are_not = all.iter().any(|(busy, _)| *busy < CPU_FULL_PERCENT);
    let (busy, endpoint) = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (others_are_not && busy >= CPU_FULL_PERCENT).then(|| {
        let words =
            format!("The host of {endpoint} had its CPUs {} % busy, more than the others.", percent(busy));
        Finding::new(Answer::Doubt, words)
    })
}

/// The sessions of this program need CPU too, on a host of their own.
fn full_client(record: &Record) -> Option<Finding> {
    let client = record.client_host.as_ref()?;
    let busy = client.cpu?.busy_percent().filter(|busy| *busy >= CPU_FULL_PERCENT)?;
    Some(Finding::new(
        Answer::Bad,
        format!(
            "Yes, on the client's side: the CPUs of {}, where only the sessions run, were {} % busy.",
            client.hostname,
            percent(busy)
        ),
    ))
}

fn on_its_host(record: &Record, figures: &Figures<'_>, busy: f64) -> Verdict {
    let verdict = |answer, sentence: String| Verdict::new(Question::CpuBound, answer, sentence);
    let (cpu, device) = (percent(busy), device_words(figures));
    let cached = is_cached_test(record, figures);
    if busy < CPU_FULL_PERCENT {
        let on_cpu = figure::SESSIONS_CPU_PERCENT_OF_DB_TIME
            .of(figures)
            .filter(|share| *share >= SESSIONS_ON_CPU_PERCENT);
        return match on_cpu {
            Some(share) if cached => verdict(
                Answer::Good,
                format!(
                    "Yes, in each session, as expected of a test of cached reads: {}; the host's CPUs were {cpu} % \
                     busy.",
                    of_db_time(share)
                ),
            ),
            Some(share) => verdict(
                Answer::Doubt,
                format!(
                    "Yes, in each session: {}, hardly any of it was spent waiting for the device; the host's CPUs \
                     were {cpu} % busy{device}.",
                    of_db_time(share)
                ),
            )
            .with_detail("More sessions would load the storage more."),
            None => verdict(Answer::Good, format!("No: CPUs {cpu} % busy{device}.")),
        };
    }
    // Where others filled the CPUs, no cached read shows what this host can do.
    if cached && !matches!(cpu_user(figures), CpuUser::Others(_)) {
        return verdict(
            Answer::Good,
            format!("Yes, as expected of a test of cached reads: CPUs {cpu} % busy."),
        );
    }
    full(record, figures, &cpu, &device)
}

/// The work of a server's background threads, where they can't be told from sessions, is on nobody's DB time.
fn of_db_time(share: f64) -> String {
    let background = if share > 100.0 { ", background threads included" } else { "" };
    format!("CPU was {} % of DB time{background}", percent(share))
}

/// The CPUs are at their limit. Is the device too, and who used the CPUs?
fn full(record: &Record, figures: &Figures<'_>, cpu: &str, device: &str) -> Verdict {
    let doubt = |sentence: String| Verdict::new(Question::CpuBound, Answer::Doubt, sentence);
    match (device_limit(record, figures), cpu_user(figures)) {
        (Limit::Ceiling(share), _) => doubt(format!(
            "Nearly: CPUs {cpu} % busy, but the device also delivered {} % of its ceiling, others' reads included.",
            percent(share)
        )),
        (Limit::Busy, _) => doubt(format!("Possibly: CPUs {cpu} % busy{device}: both near their limits.")),
        (Limit::Unknown, _) => {
            doubt(format!("Probably: the host's CPUs were {cpu} % busy; what the device did is not known."))
        }
        (Limit::Free, CpuUser::Others(share)) => doubt(format!(
            "Others used the CPUs: {} % of the host's CPU time was neither the database's nor this program's; in \
             total {cpu} % busy{device}.",
            percent(share)
        )),
        (Limit::Free, CpuUser::Unknown) => doubt(format!(
            "Probably: the host's CPUs were {cpu} % busy{device}; this run's share of that is not known."
        )),
        (Limit::Free, CpuUser::ThisRun(share)) => Verdict::new(
            Question::CpuBound,
            Answer::Bad,
            format!(
                "Yes: the host's CPUs were {cpu} % busy{device}: the figures show the CPU, not the storage."
            ),
        )
        .with_detail(format!("This run used {} % of the host's CPU time.", percent(share))),
    }
}

/// How near the device was to its own limit.
enum Limit {
    /// It had this percentage of what the probe showed, for whomever.
    Ceiling(f64),
    /// It worked nearly all the time, and the probe does not tell how much more it can do.
    Busy,
    Free,
    Unknown,
}

/// A device that only reads is busy long before it is at its limit, which the probe's reads show; with writes among
/// them they do not.
fn device_limit(record: &Record, figures: &Figures<'_>) -> Limit {
    let ceiling = figure::DEVICE_PERCENT_OF_CEILING.of(figures);
    let busy = figure::DEVICE_BUSY_PERCENT.of(figures).map(|busy| busy >= DEVICE_FULL_PERCENT);
    let explained_by_probe = ceiling.is_some() && !writes_much(record);
    match (ceiling, busy) {
        (Some(share), _) if share >= DEVICE_FULL_PERCENT => Limit::Ceiling(share),
        (_, Some(true)) if !explained_by_probe => Limit::Busy,
        (None, None) => Limit::Unknown,
        _ => Limit::Free,
    }
}

fn writes_much(record: &Record) -> bool {
    let counters = record.host.as_ref().and_then(|host| host.device.as_ref()?.counters);
    counters.is_some_and(|counters| {
        counters.used.writes as f64 > WRITES_SHARE * (counters.used.reads + counters.used.writes) as f64
    })
}

/// Whose the larger part of the CPU time was, in percent of the host's.
enum CpuUser {
    ThisRun(f64),
    Others(f64),
    Unknown,
}

/// Interrupts are nobody's here; what the hypervisor withheld is others'.
fn cpu_user(figures: &Figures<'_>) -> CpuUser {
    let own = figure::RUN_PERCENT_OF_HOST.of(figures);
    let Some((own, foreign)) = own.zip(figure::FOREIGN_CPU_PERCENT.of(figures)) else {
        return CpuUser::Unknown;
    };
    let others = foreign + figure::HOST_STEAL_PERCENT.of(figures).unwrap_or(0.0);
    if own >= others { CpuUser::ThisRun(own) } else { CpuUser::Others(others) }
}

fn device_words(figures: &Figures<'_>) -> String {
    let busy =
        figure::DEVICE_BUSY_PERCENT.of(figures).map(|busy| format!(", device {} % busy", percent(busy)));
    let ceiling = figure::PERCENT_OF_CEILING.of(figures);
    let ceiling = match figures.is_above_probe() {
        true => Some(", more reads than the probe achieved".to_owned()),
        false => ceiling.map(|share| format!(", {} % of the device's ceiling", percent(share))),
    };
    busy.unwrap_or_default() + &ceiling.unwrap_or_default()
}

fn stolen(figures: &Figures<'_>) -> Option<Finding> {
    let steal = figure::HOST_STEAL_PERCENT.of(figures).filter(|steal| *steal >= STEAL_PERCENT)?;
    let sentence =
        format!("The hypervisor gave {} % of this host's CPU time to others (steal).", percent(steal));
    Some(Finding::new(Answer::Doubt, sentence))
}

fn details(record: &Record, figures: &Figures<'_>) -> Vec<String> {
    let database = figure::DB_CPU_S.of(figures).map(|db_s| {
        let of_host = figure::DB_CPU_PERCENT_OF_HOST
            .of(figures)
            .map(|share| format!(", {} % of the host's", percent(share)));
        let of_time = figure::DB_CPU_PERCENT_OF_DB_TIME
            .of(figures)
            .map(|share| format!(", {} % of DB time", percent(share)));
        let shares = of_host.unwrap_or_default() + &of_time.unwrap_or_default();
        format!("The database used {} of CPU time{shares}.", seconds(db_s))
    });
    let client = figure::CLIENT_CPU_S.of(figures).filter(|_| !record.server.embedded).map(|client_s| {
        let cpus = figure::WINDOW_S.of(figures).map(|window_s| fixed(client_s / window_s, 2));
        format!("This program used {} CPUs.", or_absent(cpus, |cpus| cpus))
    });
    let outside = figure::DB_CPU_PERCENT_OF_DB_TIME
        .of(figures)
        .filter(|share| record.server.embedded && *share > 100.0);
    let outside = outside.map(|_| {
        "That is more than DB time: some of it was used outside of operations, for instance by checkpoints.".to_owned()
    });
    database.into_iter().chain(outside).chain(client).collect()
}

impl Verdict {
    fn with_details(mut self, details: Vec<String>) -> Self {
        self.details.extend(details);
        self
    }
}

mod confined;
#[cfg(test)]
mod confined_tests;
mod site;
#[cfg(test)]
mod tests;
