//! The sections of a run's report, for text and HTML. The layout follows Oracle's AWR reports, at most 100 wide.

mod course;
mod device;
mod load;
mod probed;
mod setup;

use slob_record::{Record, Status};

pub use self::device::{NoComparison, compare_probe_text};
pub(crate) use self::device::{above_probe, beside_probe};
pub use self::probed::ProbeAnswer;
pub(crate) use self::setup::source_words;

use slob_facts::format::{plural, seconds};
use slob_facts::measured::OfferedLoad;
use slob_facts::table::Table;
use slob_facts::{Figure, Grade, Lead, Question, Run, Verdict, figure};
use slob_page::{Block, Column, Page};

pub(crate) struct Section {
    pub(crate) group: Group,
    of_window: bool,
    write: fn(&mut Page, &Run<'_>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Title,
    Verdicts,
    KeyFigures,
    Figures,
    Probe,
    Configuration,
    Sources,
}

impl Section {
    const fn new(group: Group, write: fn(&mut Page, &Run<'_>)) -> Self {
        Self { group, of_window: false, write }
    }

    const fn of_window(group: Group, write: fn(&mut Page, &Run<'_>)) -> Self {
        Self { group, of_window: true, write }
    }

    fn write(&self, page: &mut Page, figures: &Run<'_>) {
        if figures.record.window.is_some() || !self.of_window {
            (self.write)(page, figures);
        }
    }

    pub(crate) fn blocks(&self, figures: &Run<'_>) -> Vec<Block> {
        let mut page = Page::default();
        self.write(&mut page, figures);
        page.blocks
    }
}

pub(crate) const SECTIONS: &[Section] = &[
    Section::new(Group::Title, title),
    Section::new(Group::Verdicts, verdicts),
    Section::of_window(Group::KeyFigures, key_figures),
    Section::new(Group::Configuration, setup::test),
    Section::new(Group::Configuration, setup::server),
    Section::of_window(Group::Figures, load::profile),
    Section::of_window(Group::Figures, load::cpu),
    Section::of_window(Group::Figures, load::operations),
    Section::of_window(Group::Figures, load::roles),
    Section::of_window(Group::Figures, load::histograms),
    Section::of_window(Group::Figures, device::device),
    Section::of_window(Group::Figures, crate::ladder::reads),
    Section::of_window(Group::Figures, crate::ladder::commits),
    Section::of_window(Group::Figures, course::endpoints),
    Section::of_window(Group::Figures, course::hosts),
    Section::new(Group::Probe, device::probe),
    Section::new(Group::Figures, load::events),
    Section::new(Group::Figures, load::background_events),
    Section::new(Group::Figures, course::server_report),
    Section::new(Group::Figures, course::slices),
    Section::new(Group::Figures, course::sessions),
    Section::new(Group::Figures, course::losses),
    Section::new(Group::Figures, course::marks),
    Section::new(Group::Configuration, setup::layout),
    Section::new(Group::Configuration, setup::configuration),
    Section::new(Group::Configuration, setup::notes),
    Section::new(Group::Sources, setup::sources),
];

pub fn text_report(record: &Record, columns: Option<usize>) -> String {
    let figures = Run::of(record);
    let mut page = Page::default();
    SECTIONS.iter().for_each(|section| section.write(&mut page, &figures));
    page.into_text(columns)
}

fn title(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    page.ends("OPENSLOB RUN REPORT", &format!("OpenSLOB {}", record.slob_version));
    page.rule('=');
    page.fact("Run", &record.id);
    let interrupted = "*** INTERRUPTED *** by the user";
    let status = match (&record.status, record.window) {
        (Status::Completed, _) => "completed".into(),
        (Status::Interrupted, None) => {
            format!("{interrupted} before the measured window: nothing was measured")
        }
        (Status::Interrupted, Some(_)) => format!("{interrupted}; the results up to then are valid"),
        (Status::Aborted { reason }, _) => {
            format!("*** ABORTED *** {reason}; the results up to then are valid")
        }
        (Status::Failed { error }, _) => format!("*** FAILED *** {error}"),
    };
    page.fact("Status", &status);
    page.fact("Target", &record.target);
}

fn verdicts(page: &mut Page, figures: &Run<'_>) {
    page.section("Verdicts");
    for verdict in figures.verdicts() {
        verdict_lines(page, verdict);
        for detail in verdict.details() {
            with_commands(page, &format!("{:<24} -", ""), &detail);
        }
    }
}

/// Commands on further lines are not wrapped, so that they can be copied.
fn with_commands(page: &mut Page, head: &str, text: &str) {
    let mut lines = text.lines();
    page.hanging(head, lines.next().unwrap_or_default());
    lines.for_each(|command| page.line(&format!("{:width$} {command}", "", width = head.len())));
}

fn verdict_lines(page: &mut Page, verdict: &Verdict) {
    let head = format!("  {:<13} {:<8}", verdict.question.title(), verdict.answer.word());
    page.hanging(&head, &verdict.sentence());
}

fn key_figures(page: &mut Page, figures: &Run<'_>) {
    page.section("Key figures");
    let key = figures.lead().key();
    let mut table = Table::new(key.iter().map(|figure| Column::right(figure.heading).at_most(12)));
    table.row(key.iter().map(|figure| figure.show(figures)));
    page.table(&table);
    if figures.is_above_probe() {
        page.paragraph(&format!("Reads from the device: {}", above_probe(figures)));
    }
    if figure::PHYSICAL_READ_MEAN_US.is_kernels(figures) {
        page.paragraph("The kernel timed the physical reads, in its trace: the database times none.");
    }
}

pub fn compact_summary(record: &Record, columns: Option<usize>) -> String {
    let figures = Run::of(record);
    let mut page = Page::default();
    let sessions = plural(u64::from(record.workload.sessions()), "session");
    let measured = match record.window {
        Some(window) => format!("{} measured with {sessions}", seconds(window.seconds)),
        None => "nothing was measured".into(),
    };
    let ending = match record.status {
        Status::Completed => "completed",
        Status::Interrupted => "INTERRUPTED",
        Status::Aborted { .. } => "ABORTED",
        Status::Failed { .. } => "FAILED",
    };
    page.line(&format!("Run {}: {ending}, {measured}", record.id));
    if figures.is_measured() {
        page.paragraph(&summarised_load(&figures));
        summarised_roles(&figures).into_iter().for_each(|roles| page.paragraph(&roles));
        Some(summarised_cost(&figures))
            .filter(|cost| !cost.is_empty())
            .into_iter()
            .for_each(|cost| page.paragraph(&cost));
    }
    // Without a window there is one verdict only.
    let is_shown = |question| figures.is_measured() || question == Question::Complete;
    for verdict in figures.verdicts().iter().filter(|verdict| is_shown(verdict.question)) {
        verdict_lines(&mut page, verdict);
        // The sentence may name its remedy.
        let remedy =
            verdict.finding.remedy().filter(|_| matches!(verdict.answer, Grade::Bad | Grade::Unknown));
        if let Some(remedy) = remedy.filter(|remedy| !verdict.sentence().contains(&**remedy)) {
            with_commands(&mut page, &format!("{:<24}->", ""), &remedy);
        }
        let cautions = verdict.others.iter().filter(|other| other.is_caution());
        cautions.for_each(|other| page.hanging(&format!("{:<24} -", ""), &other.sentence()));
    }
    page.into_text(columns)
}

fn summarised_load(figures: &Run<'_>) -> String {
    let by = if figure::PHYSICAL_READ_MEAN_US.is_kernels(figures) { ", by the kernel" } else { "" };
    let requested = OfferedLoad::of(figures.record).map(|load| format!("; RATE: {}", load.rates()));
    let reads = match figure::PHYSICAL_READS_PER_S.of(figures) {
        None => "physical reads are not counted".to_owned(),
        Some(rate) => {
            let times = times(figures, &figure::PHYSICAL_READ_MEAN_US, &figure::PHYSICAL_READ_P99_US, by);
            let unknown = || " (the database does not time them: `slob doctor` says how)".to_owned();
            let times = times.unwrap_or_else(|| if rate > 0.0 { unknown() } else { String::new() });
            format!("{} physical reads/s{times}", figure::PHYSICAL_READS_PER_S.show(figures))
        }
    };
    format!(
        "{reads}; {} operations/s{}{}",
        figure::OPERATIONS_PER_S.show(figures),
        summarised_durations(figures),
        requested.unwrap_or_default(),
    )
}

/// Names the durations of operations, after those of responses where these lead.
fn summarised_durations(figures: &Run<'_>) -> String {
    let of_operations = times(figures, &figure::OPERATION_MEAN_US, &figure::OPERATION_P99_US, "");
    let of_operations = of_operations.unwrap_or_default();
    let lead = figures.lead();
    if lead == Lead::Operation {
        return of_operations;
    }
    let responses = times(figures, lead.mean(), lead.p99(), "").unwrap_or_default();
    let in_flight = figure::AVERAGE_ACTIVE_SESSIONS.show(figures);
    let sessions = figure::SESSIONS.show(figures);
    format!(
        "; responses{responses}; operations alone{of_operations}; {in_flight} of {sessions} sessions in flight"
    )
}

/// The latencies that are known, in parentheses.
fn times(figures: &Run<'_>, mean: &Figure, p99: &Figure, by: &str) -> Option<String> {
    let known = |(name, of): (&str, &Figure)| of.of(figures).map(|_| format!("{name} {}", of.show(figures)));
    let known: Vec<String> = [("mean", mean), ("p99", p99)].into_iter().filter_map(known).collect();
    (!known.is_empty()).then(|| format!(" ({}{by})", known.join(", ")))
}

fn summarised_roles(figures: &Run<'_>) -> Option<String> {
    let roles = figures.record.workload.roles()?;
    let role = |sessions: u32, name: &str, [_, rate, mean, p99]: [&Figure; 4]| {
        let times = times(figures, mean, p99, "").unwrap_or_default();
        format!("{}: {} operations/s{times}", plural(sessions.into(), name), rate.show(figures))
    };
    let (readers, writers) = (figure::OF_READERS, figure::OF_WRITERS);
    Some(format!("{}; {}", role(roles.readers, "reader", readers), role(roles.writers, "writer", writers)))
}

fn summarised_cost(figures: &Run<'_>) -> String {
    let known = |of: &Figure, unit: &str| of.of(figures).map(|_| format!("{} {unit}", of.show(figures)));
    let is_to_be_probed = figures.record.probe.is_none() && figure::DEVICE_READS_PER_S.of(figures).is_some();
    let ceiling = match figures.is_above_probe() {
        true => Some(format!("reads from the device: {}", above_probe(figures).trim_end_matches('.'))),
        false => known(&figure::PERCENT_OF_CEILING, "% of the device's ceiling").or_else(|| {
            is_to_be_probed.then(|| "the device was not probed: `slob doctor` says how".to_owned())
        }),
    };
    let per_cpu = &figure::PHYSICAL_READS_PER_DB_CPU_S;
    let parts = [
        known(&figure::LOGICAL_READS_PER_S, "logical reads/s"),
        known(per_cpu, per_cpu.heading),
        known(&figure::REDO_MB_PER_S, "redo MB/s"),
        ceiling,
        known(&figure::REDO_PERCENT_OF_CEILING, "% of its durable writes"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
