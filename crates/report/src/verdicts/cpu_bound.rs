//! CPU-bound? Was the CPU at its limit while the device was not?

use slob_record::Record;

use super::physical::is_cached_test;
use super::{Answer, Finding, NO_WINDOW, Question, Verdict};
use crate::figures::Figures;
use crate::format::{fixed, or_absent, percent, seconds};

/// From here on the host's CPUs are at their limit: sampled over a window, a load that waits for CPU most of the
/// time rarely shows more, since sessions also wait for each other.
const CPU_FULL_PERCENT: f64 = 90.0;
/// From here on the device worked nearly all the time, or came near to what the probe had from it.
const DEVICE_FULL_PERCENT: f64 = 90.0;
/// From here on sessions hardly waited for anything but CPU, whatever the host had left.
const SESSIONS_ON_CPU_PERCENT: f64 = 90.0;
/// From here on what the hypervisor withheld is more than noise.
const STEAL_PERCENT: f64 = 2.0;

pub(super) fn judge(record: &Record, figures: &Figures) -> Verdict {
    if figures.window_s.is_none() {
        return Verdict::unknown(Question::CpuBound, NO_WINDOW);
    }
    let Some(busy) = figures.cpu.host_busy_percent else {
        return Verdict::unknown(Question::CpuBound, "Not known: the host's CPU time was not sampled.")
            .with_details(details(record, figures));
    };
    let main = if is_elsewhere(record) { client_only(busy) } else { on_this_host(figures, busy) };
    let findings = stolen(figures).into_iter().collect();
    match main.answer {
        Answer::Good | Answer::Unknown => main.with_details(details(record, figures)).qualified_by(findings),
        _ => {
            let said = findings.into_iter().map(|finding| finding.sentence);
            main.with_details(said.chain(details(record, figures)).collect())
        }
    }
}

/// Whether the database runs on another host, as far as the record tells.
fn is_elsewhere(record: &Record) -> bool {
    !record.server.embedded && record.server.data_path.is_none() && record.db_cpu.is_none()
}

fn client_only(busy: f64) -> Verdict {
    let busy_words = format!("CPUs {} % busy", percent(busy));
    if busy >= CPU_FULL_PERCENT {
        return Verdict::new(
            Question::CpuBound,
            Answer::Bad,
            format!("Yes, on the client's side: {busy_words} on this host, where only the sessions run."),
        );
    }
    Verdict::unknown(
        Question::CpuBound,
        format!(
            "Not known: the database runs on another host. This one, the client's, had its {busy_words}."
        ),
    )
}

fn on_this_host(figures: &Figures, busy: f64) -> Verdict {
    let verdict = |answer, sentence: String| Verdict::new(Question::CpuBound, answer, sentence);
    let (cpu, device) = (percent(busy), device_words(figures));
    let cached = is_cached_test(figures);
    if busy < CPU_FULL_PERCENT {
        let on_cpu = figures.cpu.db_cpu_percent_of_db_time.filter(|share| *share >= SESSIONS_ON_CPU_PERCENT);
        return match on_cpu {
            Some(share) if !cached => verdict(
                Answer::Doubt,
                format!(
                    "Yes, in each session: CPU was {} % of DB time, hardly any was waiting for the device; the \
                     host's CPUs were {cpu} % busy{device}.",
                    percent(share)
                ),
            )
            .with_detail("More sessions would ask more of the storage."),
            _ => verdict(Answer::Good, format!("No: CPUs {cpu} % busy{device}.")),
        };
    }
    if cached {
        return verdict(
            Answer::Good,
            format!("Yes, as a test of cached reads should be: CPUs {cpu} % busy."),
        );
    }
    full(figures, &cpu, &device)
}

/// The CPUs are at their limit. Is the device too?
fn full(figures: &Figures, cpu: &str, device: &str) -> Verdict {
    let verdict = |answer, sentence: String| Verdict::new(Question::CpuBound, answer, sentence);
    let ceiling = figures.probe.percent_of_ceiling;
    let at_ceiling = ceiling.map(|share| share >= DEVICE_FULL_PERCENT);
    let busy_device = figures.device.utilisation_percent.map(|busy| busy >= DEVICE_FULL_PERCENT);
    match (at_ceiling, busy_device) {
        (Some(true), _) => verdict(
            Answer::Doubt,
            format!(
                "Nearly: CPUs {cpu} % busy, but the device also delivered {} % of its ceiling.",
                or_absent(ceiling, percent)
            ),
        ),
        (None, Some(true)) => {
            verdict(Answer::Doubt, format!("Possibly: CPUs {cpu} % busy{device}: both near their limits."))
        }
        (None, None) => verdict(
            Answer::Doubt,
            format!("Probably: the host's CPUs were {cpu} % busy; what the device did is not known."),
        ),
        (Some(false), _) | (None, Some(false)) => verdict(
            Answer::Bad,
            format!(
                "Yes: the host's CPUs were {cpu} % busy{device}: the figures show the CPU, not the storage."
            ),
        ),
    }
}

fn device_words(figures: &Figures) -> String {
    let busy = figures.device.utilisation_percent.map(|busy| format!(", device {} % busy", percent(busy)));
    let ceiling = figures.probe.percent_of_ceiling;
    let ceiling = ceiling.map(|share| format!(", {} % of the device's ceiling", percent(share)));
    busy.unwrap_or_default() + &ceiling.unwrap_or_default()
}

fn stolen(figures: &Figures) -> Option<Finding> {
    let steal = figures.cpu.host_steal_percent.filter(|steal| *steal >= STEAL_PERCENT)?;
    let sentence =
        format!("The hypervisor gave {} % of this host's CPU time to others (steal).", percent(steal));
    Some(Finding::new(Answer::Doubt, sentence))
}

fn details(record: &Record, figures: &Figures) -> Vec<String> {
    let cpu = &figures.cpu;
    let database = cpu.db_cpu_s.map(|db_s| {
        let of_host = cpu.db_cpu_percent_of_host.map(|share| format!(", {} % of the host's", percent(share)));
        let of_time = cpu.db_cpu_percent_of_db_time.map(|share| format!(", {} % of DB time", percent(share)));
        let shares = of_host.unwrap_or_default() + &of_time.unwrap_or_default();
        format!("The database used {} of CPU time{shares}.", seconds(db_s))
    });
    let client = cpu.client_cpu_s.filter(|_| !record.server.embedded).map(|client_s| {
        let cpus = figures.window_s.map(|window_s| fixed(client_s / window_s, 2));
        format!("This program used {} CPUs.", or_absent(cpus, |cpus| cpus))
    });
    database.into_iter().chain(client).collect()
}

impl Verdict {
    fn with_details(mut self, details: Vec<String>) -> Self {
        self.details.extend(details);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, with_host_busy, with_utilisation};
    use rstest::rstest;

    fn verdict(record: &Record) -> Verdict {
        judge(record, &Figures::of(record))
    }

    fn without_probe(host_percent: f64, device_percent: Option<f64>) -> Record {
        let mut record = fixture::direct_read_run();
        record.probe = None;
        with_host_busy(&mut record, host_percent);
        with_utilisation(&mut record, device_percent);
        record
    }

    #[rstest]
    #[case(45.0, Some(98.0), Answer::Good, "No: CPUs 45.0 % busy, device 98.0 % busy")]
    #[case(89.9, Some(40.0), Answer::Good, "No:")]
    #[case(90.1, Some(40.0), Answer::Bad, "the CPU, not the storage")]
    #[case(97.0, Some(89.0), Answer::Bad, "CPUs were 97.0 % busy, device 89.0 % busy")]
    #[case(97.0, Some(91.0), Answer::Doubt, "both near their limits")]
    #[case(97.0, None, Answer::Doubt, "not known")]
    fn host_and_device_decide(
        #[case] host: f64,
        #[case] device: Option<f64>,
        #[case] answer: Answer,
        #[case] words: &str,
    ) {
        let verdict = verdict(&without_probe(host, device));
        assert_eq!(verdict.answer, answer, "{verdict:?}");
        assert!(verdict.sentence.contains(words), "{verdict:?}");
    }

    #[test]
    fn a_busy_device_that_is_far_from_its_ceiling_is_no_excuse() {
        let mut record = fixture::direct_read_run();
        with_host_busy(&mut record, 97.0);
        with_utilisation(&mut record, Some(99.0));
        let ceiling = Figures::of(&record).probe.percent_of_ceiling.unwrap();
        assert!(ceiling < DEVICE_FULL_PERCENT, "{ceiling}");
        assert_eq!(verdict(&record).answer, Answer::Bad);
        let figures = &mut record.probe.as_mut().unwrap().result.steps;
        figures.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = 19_500.0);
        let near = verdict(&record);
        assert_eq!(near.answer, Answer::Doubt);
        assert!(near.sentence.contains("of its ceiling"), "{near:?}");
    }

    #[test]
    fn a_cached_test_is_meant_to_use_the_cpu() {
        let mut record = without_probe(99.0, Some(1.0));
        record.counters.insert("physical_reads".into(), 10);
        let verdict = verdict(&record);
        assert_eq!(verdict.answer, Answer::Good);
        assert!(verdict.sentence.contains("cached"), "{verdict:?}");
    }

    #[test]
    fn sessions_can_be_bound_while_the_host_is_idle() {
        let mut record = without_probe(30.0, Some(20.0));
        record.db_cpu.as_mut().unwrap().cpu.user_s = 0.95 * Figures::of(&record).load.db_time_s.unwrap();
        let verdict = verdict(&record);
        assert_eq!(verdict.answer, Answer::Doubt);
        assert!(verdict.sentence.contains("of DB time"), "{verdict:?}");
    }

    #[test]
    fn stolen_time_is_named() {
        let mut record = without_probe(45.0, Some(98.0));
        let cpu = record.host.as_mut().unwrap().cpu.as_mut().unwrap();
        cpu.steal_s = 0.05 * cpu.total_s();
        let verdict = verdict(&record);
        assert_eq!(verdict.answer, Answer::Doubt);
        assert!(verdict.sentence.contains("steal"), "{verdict:?}");
    }

    #[test]
    fn another_hosts_cpu_is_not_known_from_here() {
        let mut record = without_probe(12.0, None);
        record.server.embedded = false;
        record.server.data_path = None;
        record.db_cpu = None;
        assert_eq!(verdict(&record).answer, Answer::Unknown);
        with_host_busy(&mut record, 95.0);
        assert_eq!(verdict(&record).answer, Answer::Bad);
        record.host = None;
        assert_eq!(verdict(&record).answer, Answer::Unknown);
        assert_eq!(verdict(&fixture::failed_run()).answer, Answer::Unknown);
    }
}
