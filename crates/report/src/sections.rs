//! The sections of a run's report, in one list that feeds both text and HTML.
//!
//! Laid out for eyes used to Oracle's AWR reports: headed sections, aligned columns, at most 100 wide.

mod compare_probe;
mod cpu;
mod device;
mod endpoints;
mod events;
mod facts;
mod histogram;
mod hosts;
mod load_profile;
mod losses;
mod marks;
mod operations;
mod probe;
mod server_report;
mod sessions;
mod settings;
mod slices;
mod top;

use slob_record::{Record, SavedProbe};

pub use self::compare_probe::{NoComparison, compare_probe_text};
pub(crate) use self::probe::ABOVE_PROBE;
pub(crate) use self::settings::source_words;
pub(crate) use self::top::verdict_lines;

use crate::figure::Figures;
use crate::page::{Block, Page};
use crate::verdicts::verdicts_by;

/// A section of a run's report.
pub(crate) struct Section {
    /// Where views find it that arrange sections in groups.
    pub(crate) group: Group,
    /// Whether it is there only where something was measured.
    of_window: bool,
    write: fn(&mut Page, &Figures<'_>),
}

/// What sections belong together, in views that do not just list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Which run it is, and how it ended.
    Title,
    /// What the figures are worth.
    Verdicts,
    /// The few figures that the field compares.
    KeyFigures,
    /// What was measured.
    Figures,
    /// What the device does without a database.
    Probe,
    /// What was run, on what.
    Configuration,
    /// Where the figures come from.
    Sources,
}

impl Section {
    const fn new(group: Group, write: fn(&mut Page, &Figures<'_>)) -> Self {
        Self { group, of_window: false, write }
    }

    const fn of_window(group: Group, write: fn(&mut Page, &Figures<'_>)) -> Self {
        Self { group, of_window: true, write }
    }

    fn write(&self, page: &mut Page, figures: &Figures<'_>) {
        if figures.record.window.is_some() || !self.of_window {
            (self.write)(page, figures);
        }
    }

    /// The section by itself; nothing where the record has nothing for it.
    pub(crate) fn blocks(&self, figures: &Figures<'_>) -> Vec<Block> {
        let mut page = Page::new();
        self.write(&mut page, figures);
        page.into_blocks()
    }
}

/// Every section, in the order of the text.
pub(crate) const SECTIONS: &[Section] = &[
    Section::new(Group::Title, |page, figures| facts::title(page, figures.record)),
    Section::new(Group::Verdicts, |page, figures| top::verdicts(page, &verdicts_by(figures))),
    Section::of_window(Group::KeyFigures, top::key_figures),
    Section::new(Group::Configuration, |page, figures| facts::write(page, figures.record)),
    Section::new(Group::Configuration, |page, figures| settings::server(page, figures.record)),
    Section::of_window(Group::Figures, load_profile::write),
    Section::of_window(Group::Figures, cpu::write),
    Section::of_window(Group::Figures, |page, figures| operations::write(page, figures.record)),
    Section::of_window(Group::Figures, |page, figures| histogram::write(page, figures.record)),
    Section::of_window(Group::Figures, device::write),
    Section::of_window(Group::Figures, |page, figures| endpoints::write(page, figures.record)),
    Section::of_window(Group::Figures, |page, figures| hosts::write(page, figures.record)),
    Section::new(Group::Probe, probe::write),
    Section::new(Group::Figures, events::write),
    Section::new(Group::Figures, |page, figures| events::background(page, figures.record)),
    Section::new(Group::Figures, |page, figures| server_report::write(page, figures.record)),
    Section::new(Group::Figures, |page, figures| slices::write(page, figures.record)),
    Section::new(Group::Figures, |page, figures| sessions::write(page, figures.record)),
    Section::new(Group::Figures, |page, figures| losses::write(page, figures.record)),
    Section::new(Group::Figures, |page, figures| marks::write(page, figures.record)),
    Section::new(Group::Configuration, |page, figures| settings::layout(page, figures.record)),
    Section::new(Group::Configuration, |page, figures| settings::configuration(page, figures.record)),
    Section::new(Group::Configuration, |page, figures| settings::notes(page, figures.record)),
    Section::new(Group::Sources, |page, figures| settings::sources(page, figures.record)),
];

/// The whole run as text. It depends on the record alone; what is not known is shown as
/// [`ABSENT`](crate::format::ABSENT).
#[must_use]
pub fn text_report(record: &Record) -> String {
    let figures = Figures::of(record);
    let mut page = Page::new();
    SECTIONS.iter().for_each(|section| section.write(&mut page, &figures));
    page.into_text()
}

/// The run beside its probe; nothing where they can't be compared. A report of its own as text, a part of other views.
pub(crate) fn beside_probe(figures: &Figures<'_>) -> Vec<Block> {
    let mut page = Page::new();
    compare_probe::write(&mut page, figures);
    page.into_blocks()
}

/// A probe by itself as text.
#[must_use]
pub fn probe_text(probe: &SavedProbe) -> String {
    let mut page = Page::new();
    page.section("Device without a database (probe)");
    page.fact("Host", &probe.host);
    if let Some(device) = &probe.device {
        facts::device(&mut page, device);
    }
    probe::steps(&mut page, probe);
    match probe.result.ceiling_iops() {
        Some(ceiling) => {
            page.paragraph(&format!("Ceiling: {} random reads/s.", crate::format::fixed(ceiling, 0)));
        }
        None => page.paragraph("Ceiling: not known, no step of random reads was completed."),
    }
    page.into_text()
}

#[cfg(test)]
mod tests;
