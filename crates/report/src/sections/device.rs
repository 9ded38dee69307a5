//! What the device did.

use slob_record::Record;

use crate::counters::ratio;
use crate::figure::{self, Figure, Figures};
use crate::format::{ABSENT, duration_us, fixed, micros, or_absent, percent};
use crate::page::{Column, Page, Table};

pub(super) fn write(page: &mut Page, figures: &Figures<'_>) {
    let record = figures.record;
    page.section("Device and database");
    let rate = |figure: &Figure| or_absent(figure.of(figures), |rate| fixed(rate, 0));
    let mb = |figure: &Figure| or_absent(figure.of(figures), |mb| fixed(mb, 1));
    let us = |figure: &Figure| or_absent(figure.of(figures), micros);
    let mut table = Table::new([
        Column::left("").at_most(20),
        Column::right("Reads/s"),
        Column::right("Read MB/s"),
        Column::right("Mean us"),
        Column::right("Writes/s"),
        Column::right("Write MB/s"),
        Column::right("Mean us"),
        Column::right("Queue"),
        Column::right("Busy %"),
    ]);
    table.row([
        "Database".into(),
        rate(&figure::PHYSICAL_READS_PER_S),
        mb(&figure::PHYSICAL_READ_MB_PER_S),
        us(&figure::PHYSICAL_READ_MEAN_US),
        rate(&figure::PHYSICAL_WRITES_PER_S),
        mb(&figure::PHYSICAL_WRITE_MB_PER_S),
    ]);
    table.row([
        "Redo".into(),
        String::new(),
        String::new(),
        String::new(),
        rate(&figure::REDO_WRITES_PER_S),
        mb(&figure::REDO_MB_PER_S),
    ]);
    table.row([
        device_name(record),
        rate(&figure::DEVICE_READS_PER_S),
        mb(&figure::DEVICE_READ_MB_PER_S),
        us(&figure::DEVICE_READ_AWAIT_US),
        rate(&figure::DEVICE_WRITES_PER_S),
        mb(&figure::DEVICE_WRITE_MB_PER_S),
        us(&figure::DEVICE_WRITE_AWAIT_US),
        or_absent(figure::DEVICE_QUEUE.of(figures), |queue| fixed(queue, 2)),
        or_absent(figure::DEVICE_BUSY_PERCENT.of(figures), percent),
    ]);
    page.table(&table);
    notes(page, record, figures);
}

/// What the columns mean, and what they do not hold.
fn notes(page: &mut Page, record: &Record, figures: &Figures<'_>) {
    page.paragraph(
        "Database: blocks. Redo: writes and bytes of log. Device: requests of everybody on this host; times include \
         queueing.",
    );
    if let Some(disks) = disks_below(record, figure::WINDOW_S.of(figures)) {
        page.paragraph(&disks);
    }
    if let Some(syncs) = figure::REDO_SYNCS_PER_S.of(figures) {
        let mean = figure::REDO_SYNC_MEAN_US
            .of(figures)
            .map(|us| format!(", each in {} on average", duration_us(us)));
        page.paragraph(&format!(
            "The log was flushed to stable storage {} times/s{}.",
            fixed(syncs, 1),
            mean.unwrap_or_default()
        ));
    }
}

/// Of a device that is not itself the disk: what the disks below it read, by name.
fn disks_below(record: &Record, window_s: Option<f64>) -> Option<String> {
    let device = record.host.as_ref()?.device.as_ref()?;
    let read_mb = device.counters?.disk_read_bytes? as f64 / 1e6;
    let names: Vec<&str> = device.device.disks.iter().map(|disk| disk.id.name.as_str()).collect();
    let rate = fixed(ratio(read_mb, window_s?)?, 1);
    Some(format!("The disks below it ({}) read {rate} MB/s, for everybody.", names.join(", ")))
}

fn device_name(record: &Record) -> String {
    let device = record.host.as_ref().and_then(|host| host.device.as_ref());
    let name = device.and_then(|device| device.device.top.as_ref()).map_or(ABSENT, |top| top.name.as_str());
    format!("Device {name}")
}
