//! The charts of a run: from its record to what is drawn, one file each.

mod cpu;
mod cumulative;
mod device;
mod events;
mod heat_map;
mod latency_bands;
mod operations;
mod read_histogram;
mod response;
mod sessions;
mod throughput;
mod timeline;

use slob_record::Record;

use super::plot::{Absent, Chart};
use crate::figure::Figures;

/// A group of charts under one heading.
pub(super) struct Group {
    /// The heading.
    pub(super) title: &'static str,
    /// Its name within the page.
    pub(super) id: &'static str,
    /// Its charts.
    pub(super) charts: Vec<Chart>,
}

impl Group {
    /// The section of the page.
    pub(super) fn html(&self) -> String {
        let charts: String = self.charts.iter().map(Chart::container).collect();
        format!(
            "<section id=\"{}\">\n<h2>{}</h2>\n<div class=\"charts\">\n{charts}</div>\n</section>\n",
            self.id, self.title
        )
    }
}

/// All charts of a run.
pub(super) fn groups(record: &Record, figures: &Figures<'_>) -> Vec<Group> {
    let group = |title, id, charts| Group { title, id, charts };
    vec![
        group("Throughput", "throughput", vec![throughput::chart(record), operations::chart(record)]),
        group(
            "Latency",
            "latency",
            [
                vec![latency_bands::chart(record), heat_map::chart(record)],
                response::chart(record).into_iter().collect(),
                vec![cumulative::chart(record), read_histogram::chart(record)],
            ]
            .concat(),
        ),
        group("CPU", "cpu", vec![cpu::host(record), cpu::database(record, figures)]),
        group("Device", "device", device::charts(record)),
        group("Waits and sessions", "waits", {
            let mut charts = vec![events::chart(figures)];
            charts.extend(sessions::charts(record));
            charts
        }),
    ]
}

/// Nothing to draw, and why.
fn absent<T>(reason: impl Into<String>) -> Result<T, Absent> {
    Err(Absent(reason.into()))
}
