//! What the device did.

use slob_record::Record;

use super::Page;
use super::table::{Column, Table};
use crate::counters::ratio;
use crate::figures::Figures;
use crate::format::{ABSENT, duration_us, fixed, micros, or_absent, percent};

pub(super) fn write(page: &mut Page, record: &Record, figures: &Figures) {
    page.section("Device and database");
    let (load, device, latency) = (&figures.load, &figures.device, &figures.latency);
    let rate = |value| or_absent(value, |rate| fixed(rate, 0));
    let mb = |value| or_absent(value, |mb| fixed(mb, 1));
    let us = |value| or_absent(value, micros);
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
        rate(load.physical_reads_per_s),
        mb(load.physical_read_mb_per_s),
        us(latency.physical_read_mean_us),
        rate(load.physical_writes_per_s),
        mb(load.physical_write_mb_per_s),
    ]);
    table.row([
        "Redo".into(),
        String::new(),
        String::new(),
        String::new(),
        rate(load.redo_writes_per_s),
        mb(load.redo_mb_per_s),
    ]);
    table.row([
        device_name(record),
        rate(device.reads_per_s),
        mb(device.read_mb_per_s),
        us(device.read_await_us),
        rate(device.writes_per_s),
        mb(device.write_mb_per_s),
        us(device.write_await_us),
        or_absent(device.queue, |queue| fixed(queue, 2)),
        or_absent(device.utilisation_percent, percent),
    ]);
    page.table(&table);
    notes(page, record, figures);
}

/// What the columns mean, and what they do not hold.
fn notes(page: &mut Page, record: &Record, figures: &Figures) {
    page.paragraph(
        "Database: blocks. Redo: writes and bytes of log. Device: requests of everybody on this host; times include \
         queueing.",
    );
    if let Some(disks) = disks_below(record, figures.window_s) {
        page.paragraph(&disks);
    }
    if let Some(syncs) = figures.load.redo_syncs_per_s {
        let mean =
            figures.latency.redo_sync_mean_us.map(|us| format!(", each in {} on average", duration_us(us)));
        page.paragraph(&format!(
            "The log was forced to stable storage {} times/s{}.",
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
