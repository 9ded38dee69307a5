//! What each of several servers used of its host, and what the devices behind it did.

use std::cmp::Ordering;

use slob_host::DeviceCounters;
use slob_record::{ObservedRecord, Record};

use crate::counters::ratio;
use crate::format::{fixed, micros, or_absent, percent};
use crate::page::{Column, Page, Table};
use crate::server_cpu::{throttled_percent, used_percent};

pub(super) fn write(page: &mut Page, record: &Record) {
    if record.observed.len() < 2 {
        return;
    }
    let mut servers: Vec<&ObservedRecord> = record.observed.iter().collect();
    // One of which nothing is known comes last.
    servers.sort_by(|a, b| nearness(b).partial_cmp(&nearness(a)).unwrap_or(Ordering::Equal));
    page.section("Hosts of the endpoints");
    table(
        page,
        ["Host CPU %", "Server CPUs", "May use", "Used %", "Held up %", "Held up s", "Trip ms"],
        &servers,
        cpu,
    );
    page.paragraph(
        "The first one came nearest to a limit: of its host's CPUs, of those that the server may use, or of its device's \
         time. Held up: in percent of its quota's periods, and in seconds summed over CPUs (throttling). Trip: the host was looked at \
         within that time of each edge of the window.",
    );
    page.line("");
    table(
        page,
        ["Reads/s", "Read MB/s", "Mean us", "Writes/s", "Busy %", "Log writes/s", "Log MB/s"],
        &servers,
        devices,
    );
    page.paragraph(
        "Reads and writes: of the device behind the data, for everybody on that host. Log: of the device behind the log, where \
         that is another one.",
    );
}

fn table(
    page: &mut Page,
    heads: [&str; 7],
    servers: &[&ObservedRecord],
    cells: fn(&ObservedRecord) -> [String; 7],
) {
    let name = Column::left("Endpoint").at_most(20);
    let mut table = Table::new([vec![name], heads.map(Column::right).into()].concat());
    for server in servers {
        let name = server.endpoint.clone().unwrap_or_default();
        table.row([vec![name], cells(server).into()].concat());
    }
    page.table(&table);
}

fn cpu(server: &ObservedRecord) -> [String; 7] {
    let cpus = |cpus: Option<f64>| or_absent(cpus, |cpus| fixed(cpus, 2));
    let share = |share: Option<f64>| or_absent(share, percent);
    let used = server.cpu.zip(server.seconds).and_then(|(cpu, seconds)| ratio(cpu.total_s(), seconds));
    let held_s = server.group.and_then(|group| group.throttled_s);
    [
        share(host_busy(server)),
        cpus(used),
        cpus(server.cpus),
        share(used_percent(server)),
        share(throttled_percent(server)),
        or_absent(held_s, |held_s| fixed(held_s, 1)),
        or_absent(server.round_trip_s, |trip_s| fixed(1e3 * trip_s, 1)),
    ]
}

fn devices(server: &ObservedRecord) -> [String; 7] {
    let rate = |of: fn(&DeviceCounters, f64) -> Option<f64>, counters: Option<DeviceCounters>, digits| {
        or_absent(counters.zip(server.seconds).and_then(|(counters, s)| of(&counters, s)), |rate| {
            fixed(rate, digits)
        })
    };
    let data = server.device.as_ref().and_then(|device| device.counters);
    let of_log = |of: fn(&DeviceCounters, f64) -> Option<f64>, digits| match &server.log_device {
        Some(log) => rate(of, log.counters, digits),
        None => String::new(),
    };
    [
        rate(|counters, s| counters.used.reads_per_s(s), data, 0),
        rate(|counters, s| counters.used.read_mb_per_s(s), data, 1),
        or_absent(data.and_then(|counters| counters.used.mean_read_us()), micros),
        rate(|counters, s| counters.used.writes_per_s(s), data, 0),
        or_absent(device_busy(server), percent),
        of_log(|counters, s| counters.used.writes_per_s(s), 0),
        of_log(|counters, s| counters.used.write_mb_per_s(s), 1),
    ]
}

fn host_busy(server: &ObservedRecord) -> Option<f64> {
    server.host_cpu?.busy_percent()
}

fn device_busy(server: &ObservedRecord) -> Option<f64> {
    server.device.as_ref()?.counters?.used.utilisation_percent(server.seconds?)
}

/// How near it came to each of its limits, in percent, the nearest first: servers of one host differ by the others.
fn nearness(server: &ObservedRecord) -> Vec<f64> {
    let shares = [host_busy(server), used_percent(server), device_busy(server)];
    let mut shares: Vec<f64> = shares.into_iter().flatten().collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn text(record: &Record) -> String {
        Page::text_by(write, record)
    }

    #[test]
    fn each_server_has_its_row_and_the_busiest_comes_first() {
        insta::assert_snapshot!(text(&fixture::eventful_run()));
    }

    #[test]
    fn one_server_needs_no_table_and_one_that_was_not_seen_comes_last() {
        let mut record = fixture::eventful_run();
        record.observed[0] = ObservedRecord {
            endpoint: Some("db0:5000".into()),
            by: "ssh:db0".into(),
            found: "ssh says: no route".into(),
            ..ObservedRecord::default()
        };
        let last = text(&record);
        let rows: Vec<&str> = last.lines().filter(|line| line.trim().starts_with("db")).collect();
        assert!(rows.len() == 4 && rows[1].trim().starts_with("db0:5000"), "{last}");
        assert_eq!(rows[1].split_whitespace().skip(1).collect::<Vec<_>>(), ["-"; 7], "{last}");
        record.observed.truncate(1);
        assert_eq!(text(&record), "");
    }
}
