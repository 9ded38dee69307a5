//! The text report of a run.
//!
//! Laid out for eyes used to Oracle's AWR reports: headed sections, aligned columns, at most 100 wide.

mod activity;
mod compare_probe;
mod cpu;
mod device;
mod endpoints;
mod events;
mod facts;
mod histogram;
mod load_profile;
mod losses;
mod marks;
mod operations;
mod page;
mod probe;
mod server_report;
mod sessions;
mod settings;
mod table;
mod top;

use slob_record::{Record, SavedProbe};

pub use self::compare_probe::{NoComparison, compare_probe_text};
pub(crate) use self::events::{Timed, timed_events};
#[cfg(test)]
pub(crate) use self::page::WIDTH;
pub(crate) use self::page::{Block, Page};
pub(crate) use self::probe::ABOVE_PROBE;
pub(crate) use self::settings::source_words;
pub(crate) use self::table::{Column, Table};
pub(crate) use self::top::verdict_lines;

use crate::figures::Figures;
use crate::verdicts::verdicts_by;

/// The whole run as text. It depends on the record alone; what is not known is shown as
/// [`ABSENT`](crate::format::ABSENT).
#[must_use]
pub fn text_report(record: &Record) -> String {
    let figures = Figures::of(record);
    let mut page = Page::new();
    facts::write(&mut page, record);
    top::verdicts(&mut page, &verdicts_by(record, &figures));
    if record.window.is_some() {
        top::key_figures(&mut page, &figures);
    }
    settings::server(&mut page, record);
    if record.window.is_some() {
        load_profile::write(&mut page, record, &figures);
        cpu::write(&mut page, record, &figures);
        operations::write(&mut page, record);
        histogram::write(&mut page, record);
        device::write(&mut page, record, &figures);
        endpoints::write(&mut page, record);
    }
    probe::write(&mut page, record, &figures);
    events::write(&mut page, record, &figures);
    events::background(&mut page, record);
    server_report::write(&mut page, record);
    activity::write(&mut page, record);
    sessions::write(&mut page, record);
    losses::write(&mut page, record);
    marks::write(&mut page, record);
    settings::layout(&mut page, record);
    settings::configuration(&mut page, record);
    settings::notes(&mut page, record);
    settings::sources(&mut page, record);
    page.into_text()
}

/// A part of the report, for views that arrange the parts in their own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Facts,
    Server,
    LoadProfile,
    Cpu,
    Operations,
    Device,
    Probe,
    CompareProbe,
    Events,
    ServerReport,
    Slices,
    Marks,
    Sessions,
    Layout,
    Configuration,
    Notes,
}

/// One part of the report; nothing where the record has nothing for it.
pub(crate) fn part(part: Part, record: &Record, figures: &Figures) -> Vec<Block> {
    let mut page = Page::new();
    let measured = record.window.is_some();
    match part {
        Part::Facts => facts::of_run(&mut page, record),
        Part::Server => settings::server(&mut page, record),
        Part::LoadProfile if measured => load_profile::write(&mut page, record, figures),
        Part::Cpu if measured => cpu::write(&mut page, record, figures),
        Part::Operations if measured => operations::write(&mut page, record),
        Part::Device if measured => device::write(&mut page, record, figures),
        Part::LoadProfile | Part::Cpu | Part::Operations | Part::Device => {}
        Part::Probe => probe::write(&mut page, record, figures),
        Part::CompareProbe => compare_probe::write(&mut page, record, figures),
        Part::Events => {
            events::write(&mut page, record, figures);
            events::background(&mut page, record);
        }
        Part::ServerReport => server_report::write(&mut page, record),
        Part::Slices => activity::write(&mut page, record),
        Part::Marks => marks::write(&mut page, record),
        Part::Sessions => sessions::write(&mut page, record),
        Part::Layout => settings::layout(&mut page, record),
        Part::Configuration => settings::configuration(&mut page, record),
        Part::Notes => settings::notes(&mut page, record),
    }
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
