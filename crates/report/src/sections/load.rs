//! The load: amounts per second, CPU, latencies of operations and of the database's reads and writes, wait events.

use itertools::Itertools;
use slob_host::CpuSplit;
use slob_measure::{Counter, OpKind};
use slob_record::Record;
use slob_spec::ArrivalProcess;
use slob_stats::Histogram;

use slob_facts::format::{
    ABSENT, Format, capitalised, count, duration_us, fixed, or_absent, percent, plain_number, size,
};
use slob_facts::measured::{
    BACKLOG_S, OfferedLoad, TIMED_WAITS, TimedEvent, all_operations, all_responses, asked_rate,
    certain_backlog, counter, distribution, is_coarse, latency, latency_mean_us, latency_percentile_us,
    ratio, saturating_sum, timed_events, total_rows, wait_times,
};
use slob_facts::table::{Cell, Table};
use slob_facts::{Figure, Run, figure};
use slob_page::{Column, Page};

pub(super) fn profile(page: &mut Page, figures: &Run<'_>) {
    page.section("Load profile");
    let heads = ["Per second", "Per operation", "Per transaction"];
    let divisors = [&figure::WINDOW_S, &figure::OPERATIONS, &figure::COMMITS].map(|of| of.of(figures));
    let mut table = Table::of_numbers(Column::left(""), heads);
    for (name, amount) in amounts(figures) {
        let per = |of: Option<f64>| amount.zip(of).and_then(|(amount, of)| ratio(amount, of));
        let cells = divisors.map(|of| Format::Significant.cell(per(of)));
        table.row(std::iter::once(name.into()).chain(cells));
    }
    page.table(&table);
    let hits = figure::HIT_PERCENT.show(figures);
    page.paragraph(&format!("Buffer cache hit ratio: {hits} %. A transaction is a commit."));
    if let Some(sentence) = blocks_per_request(figures.record) {
        page.paragraph(&sentence);
    }
}

fn amounts(figures: &Run<'_>) -> Vec<(&'static str, Option<f64>)> {
    let counted = |name| counter(figures.record, name).map(|amount| amount as f64);
    let operations = figure::OPERATIONS.of(figures);
    let mut amounts = vec![
        (figure::AVERAGE_ACTIVE_SESSIONS.title, figure::DB_TIME_S.of(figures)),
        (figure::DB_CPUS.title, figure::DB_CPU_S.of(figures)),
        (figure::OPERATIONS_PER_S.title, operations),
        (figure::ROWS_PER_S.title, operations.map(|_| total_rows(figures.record) as f64)),
        (figure::LOGICAL_READS_PER_S.title, counted(Counter::LogicalReads)),
        (figure::PHYSICAL_READS_PER_S.title, counted(Counter::PhysicalReads)),
        (figure::PHYSICAL_WRITES_PER_S.title, counted(Counter::PhysicalWrites)),
        ("Redo size (bytes)", counted(Counter::RedoBytes)),
        (figure::REDO_SYNCS_PER_S.title, counted(Counter::RedoSyncs)),
        (figure::COMMITS_PER_S.title, figure::COMMITS.of(figures)),
    ];
    // These lines are left out if the database does not count them.
    let requests = counted(Counter::PhysicalReadRequests);
    let requests = requests.map(|n| (figure::PHYSICAL_READ_REQUESTS_PER_S.title, Some(n)));
    let checkpoints = counted(Counter::Checkpoints).map(|n| ("Checkpoints", Some(n)));
    amounts.splice(6..6, requests);
    amounts.extend(checkpoints);
    amounts
}

fn blocks_per_request(record: &Record) -> Option<String> {
    /// More blocks to a request are not single-block I/O in a test without scans.
    const SINGLE_BLOCKS: f64 = 1.05;
    let blocks = counter(record, Counter::PhysicalReads)? as f64;
    let requests = counter(record, Counter::PhysicalReadRequests)? as f64;
    let each = ratio(blocks, requests)?;
    let scans = record.operations.get(&OpKind::Scan).is_some_and(|scans| scans.operations > 0);
    let advice = " That is not single-block I/O: the server read ahead, or combined blocks into larger reads. Check its \
                  read-ahead settings, or compare blocks per second, not requests.";
    let advice = if each > SINGLE_BLOCKS && !scans { advice } else { "" };
    Some(format!("Blocks per physical read request: {each:.2}.{advice}"))
}

const PER_CORE_AND_PRICE: [&Figure; 4] = [
    &figure::IOPS_PER_CORE,
    &figure::IOPS_PER_DB_CORE,
    &figure::IOPS_PER_LICENSED_CORE,
    &figure::COST_PER_MILLION_IOPS_HOURS,
];

pub(super) fn cpu(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    page.section("CPU");
    let heads = ["Seconds", "CPUs", "% of host", "% of DB time"];
    let mut table = Table::of_numbers(Column::left(""), heads);
    let host = record.host.as_ref().and_then(|host| host.cpu);
    let (host_s, db_time_s) = (host.map(|cpu| cpu.total_s()), figure::DB_TIME_S.of(figures));
    let mut line = |name: &str, cpu_s: Option<f64>, is_own: bool| {
        let of = |whole: Option<f64>| cpu_s.zip(whole).and_then(|(cpu_s, whole)| ratio(cpu_s, whole));
        let share = |whole| Format::Percent.cell(of(whole).map(|share| 100.0 * share));
        table.row([
            name.into(),
            Format::Tenths.cell(cpu_s),
            Format::Hundredths.cell(of(figure::WINDOW_S.of(figures))),
            share(host_s),
            if is_own { share(db_time_s) } else { "".into() },
        ]);
    };
    line("Host, user", host.map(|cpu| cpu.user_s + cpu.nice_s), false);
    line("Host, system", host.map(|cpu| cpu.system_s), false);
    line("Host, interrupts", host.map(|cpu| cpu.irq_s + cpu.softirq_s), false);
    line("Host, stolen by the hypervisor", host.map(|cpu| cpu.steal_s), false);
    line("Host, idle with I/O outstanding", host.map(|cpu| cpu.iowait_s), false);
    line("Host, idle", host.map(|cpu| cpu.idle_s), false);
    let mut own = |user, system, cpu: Option<CpuSplit>| {
        line(user, cpu.map(|cpu| cpu.user_s), true);
        line(system, cpu.map(|cpu| cpu.system_s), true);
    };
    own("Database, user", "Database, system", record.db_cpu.as_ref().map(|db| db.cpu));
    if !record.server.embedded {
        own("This program, user", "This program, system", record.client_cpu);
    }
    page.table(&table);
    if let Some(db) = &record.db_cpu {
        page.paragraph(&format!("Database CPU is that of {}.", db.source));
    }
    page.paragraph(&format!(
        "Physical reads per DB-CPU-second: {}; per host-CPU-second: {}. DB CPU per physical read: {} us. Logical \
         reads per DB-CPU-second: {}.",
        figure::PHYSICAL_READS_PER_DB_CPU_S.show(figures),
        figure::PHYSICAL_READS_PER_HOST_CPU_S.show(figures),
        figure::DB_CPU_US_PER_PHYSICAL_READ.show(figures),
        figure::LOGICAL_READS_PER_DB_CPU_S.show(figures),
    ));
    let known = PER_CORE_AND_PRICE.iter().filter(|figure| figure.of(figures).is_some());
    let known = known.map(|figure| format!("{}: {}", figure.title, figure.show(figures))).join("; ");
    if !known.is_empty() {
        page.paragraph(&format!("Reads and writes together: {known}."));
    }
    let busy_s = figure::HOST_BUSY_S.of(figures);
    if busy_s.is_some_and(|busy_s| figure::DB_CPU_S.of(figures) > Some(busy_s)) {
        page.paragraph(
            "The host's figures are too low: its kernel samples CPU time once per tick and misses shorter work. The \
             database's are exact.",
        );
    }
    let memory = or_absent(record.client_peak_memory_bytes, size);
    page.paragraph(&format!("Peak memory of this program: {memory}."));
}

const LATENCY_HEADS: [&str; 8] = ["Count", "Mean", "p50", "p90", "p95", "p99", "p99.9", "Max"];

pub(super) fn operations(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    page.section("Operation latency (us)");
    if record.operations.is_empty() {
        page.paragraph("No operation ended within the window.");
        return;
    }
    let all = all_operations(record);
    let mut table = Table::of_numbers(Column::left("Kind"), LATENCY_HEADS);
    for (kind, of_kind) in &record.operations {
        table.row(latency_row(kind.name(), &of_kind.latency));
    }
    if record.operations.len() > 1 {
        table.row(latency_row("all", &all));
    }
    page.table(&table);
    responses(page, figures, &all);
    if let Some(step) = all.clock_step().filter(|step| all.min() < Some(step.get())) {
        page.paragraph(&format!(
            "The server's clock timed them in steps of {}: means and percentiles below one step are not known.",
            duration_us(step.get() as f64 / 1e3)
        ));
    }
    if all.beyond_range() > 0 {
        let many = count(all.beyond_range());
        page.paragraph(&format!("{many} operations took longer than 73 minutes; they count as such."));
    }
}

pub(super) fn roles(page: &mut Page, figures: &Run<'_>) {
    if figures.record.workload.roles().is_none() {
        return;
    }
    page.section("Readers beside writers");
    let heads = ["Sessions", "Operations/s", "Each session", "Mean (us)", "p99 (us)"];
    let mut table = Table::of_numbers(Column::left("Role"), heads);
    let mut line = |name: &str, [sessions, rate, mean, p99]: [&Figure; 4]| {
        let each = rate.of(figures).zip(sessions.of(figures)).and_then(|(rate, of)| ratio(rate, of));
        let [sessions, rate, mean, p99] = [sessions, rate, mean, p99].map(|figure| figure.cell(figures));
        table.row([name.into(), sessions, rate, Format::Significant.cell(each), mean, p99]);
    };
    line("Readers", figure::OF_READERS);
    line("Writers", figure::OF_WRITERS);
    page.table(&table);
}

fn responses(page: &mut Page, figures: &Run<'_>, all: &Histogram) {
    let record = figures.record;
    let responses = all_responses(record);
    if responses.is_empty() {
        return;
    }
    let load = OfferedLoad::of_window(record);
    let head = if load.is_some() { "Open loop" } else { "Closed loop" };
    let mut table = Table::of_numbers(Column::left(head), LATENCY_HEADS);
    table.row(latency_row("response", &responses));
    table.row(latency_row("service", all));
    if !record.dispatch.is_empty() {
        table.row(latency_row("dispatch", &record.dispatch));
    }
    page.table(&table);
    let waiting = figure::WAITING_PERCENT.of(figures).map(percent);
    page.paragraph(&format!(
        "Service time is that of the operation{}; response time counts from the moment at which its session was ready for \
         it, or, with RATE, at which it was due. Dispatch is the wait for the first operation of a batch. Sessions waited \
         outside operations for {} % of their time.",
        if record.server.batches_in_server { " in the server" } else { "" },
        waiting.unwrap_or_else(|| ABSENT.to_owned()),
    ));
    let Some(load) = load else { return };
    let (rate, done_per_s) = load.per_second();
    let arrivals = record.workload.arrivals.map_or("", ArrivalProcess::as_str);
    page.paragraph(&format!(
        "{} were to start ({arrivals} arrivals), {} were done ({}).",
        asked_rate(record, rate),
        fixed(done_per_s, 1),
        or_absent(ratio(100.0 * done_per_s, rate), |share| format!("{share:.1} %")),
    ));
    steps(page, record);
    if let Some(backlog) = certain_backlog(record).filter(|backlog| *backlog as f64 > BACKLOG_S * rate) {
        page.paragraph(&format!(
            "The system did not keep up: at the end of the window {} operations were due and not done, {} of work.",
            count(backlog),
            or_absent(ratio(backlog as f64, done_per_s), |seconds| duration_us(seconds * 1e6))
        ));
    }
}

/// A long schedule shows the steps with the least of their rate.
fn steps(page: &mut Page, record: &Record) {
    const MOST_STEPS: usize = 48;
    let mut loads: Vec<OfferedLoad> = OfferedLoad::steps(record).into_iter().flatten().collect();
    if loads.is_empty() {
        return;
    }
    let all = loads.len();
    if all > MOST_STEPS {
        loads.sort_by(|one, other| one.share().unwrap_or(1.0).total_cmp(&other.share().unwrap_or(1.0)));
        loads.truncate(MOST_STEPS);
        page.paragraph(&format!(
            "Of the {all} steps of RATE these {MOST_STEPS} did the least of what was due:"
        ));
    }
    page.line("");
    let heads = ["Rate/s", "Done/s", "Done %"];
    page.table(&Table::of_numbers(Column::left("RATE from second"), heads).with_rows(loads.iter().map(
        |load| {
            let (rate, done) = load.per_second();
            let share = or_absent(load.share(), |share| percent(100.0 * share));
            [plain_number(load.step_from_s.unwrap_or_default()), fixed(rate, 1), fixed(done, 1), share]
        },
    )));
}

fn latency_row(name: &str, latency: &Histogram) -> Vec<Cell> {
    std::iter::once(name.into()).chain(distribution(latency).map(|(_, value)| value)).collect()
}

pub(super) fn histograms(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    for (kind, name) in TIMED_WAITS {
        let Some(histogram) = wait_times(record, kind) else { continue };
        let is_kernels = latency(record, kind).is_none();
        let is_coarse = is_coarse(record, kind);
        let at = |percent| match latency_percentile_us(record, kind, percent) {
            Some(us) if is_coarse => Cell::Bound(us, Format::Micros).show(),
            us => Format::Micros.cell(us).show(),
        };
        let by = if is_kernels { ", by the kernel's trace" } else { "" };
        page.section(&format!("{} latency{by}", capitalised(name)));
        let mean = Format::Micros.cell(latency_mean_us(record, kind)).show();
        let [p50, p90, p99, p999, max] = [50.0, 90.0, 99.0, 99.9, 100.0].map(at);
        page.paragraph(&format!(
            "Microseconds: mean {mean}, p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p999}, max {max}."
        ));
        let [count, percent, cumulative] = ["Count", "%", "Cumulative %"].map(Column::right);
        let columns = [Column::left("Latency"), count, percent, cumulative, Column::left("")];
        page.table(&Table::new(columns).with_rows(histogram_rows(&histogram, is_coarse)));
    }
}

/// Nanoseconds: powers of two times a microsecond up to 512, then of a millisecond.
fn edges() -> impl Iterator<Item = (u64, String)> {
    let micros = (6..10).map(|power| 1 << power).map(|us: u64| (1_000 * us, format!("<= {us} us")));
    let millis = (0..10).map(|power| 1 << power).map(|ms: u64| (1_000_000 * ms, format!("<= {ms} ms")));
    micros.chain(millis).chain([(1_000_000_000, "<= 1 s".to_owned())])
}

/// One empty range is on either side.
fn histogram_rows(histogram: &Histogram, is_coarse: bool) -> Vec<[String; 5]> {
    const BAR: f64 = 40.0;
    let counts = counts_by_edge(histogram, is_coarse);
    let filled = |(_, n): &(String, u64)| *n > 0;
    let (Some(first), Some(last)) = (counts.iter().position(filled), counts.iter().rposition(filled)) else {
        return Vec::new();
    };
    let total = saturating_sum(counts.iter().map(|(_, n)| *n));
    let of_all = |n: u64| 100.0 * n as f64 / total as f64;
    let mut cumulative = 0;
    let row = |(name, n): &(String, u64)| {
        cumulative += n;
        let bar = "#".repeat((of_all(*n) / 100.0 * BAR).round() as usize);
        [name.clone(), count(*n), percent(of_all(*n)), percent(of_all(cumulative)), bar]
    };
    let shown = first.saturating_sub(1)..(last + 2).min(counts.len());
    counts[shown].iter().map(row).collect()
}

fn counts_by_edge(histogram: &Histogram, is_coarse: bool) -> Vec<(String, u64)> {
    // Bounds of databases are at an edge or just above it, as 2^20 us are above a second. They belong below it.
    let slack = if is_coarse { 1.06 } else { 1.0 };
    let edges = edges().map(|(high, name)| ((high as f64 * slack) as u64, name));
    let ends = [(0, String::new())].into_iter().chain(edges).chain([(u64::MAX, "> 1 s".to_owned())]);
    ends.tuple_windows().map(|((low, _), (high, name))| (name, histogram.count_in(low, high))).collect()
}

pub(super) fn events(page: &mut Page, figures: &Run<'_>) {
    let (events, db_time_s) = (timed_events(figures.record), figure::DB_TIME_S.of(figures));
    page.table_under("Top timed events", &event_table(&events, db_time_s));
    if !events.is_empty() {
        page.paragraph(&event_explanation(figures.record, &events, db_time_s));
    }
}

pub(super) fn background_events(page: &mut Page, figures: &Run<'_>) {
    let own = figures.record.events.iter().filter(|event| event.background);
    page.table_under(
        "The server's own processes",
        &event_table(&own.map(TimedEvent::of).collect_vec(), None),
    );
}

fn event_table(events: &[TimedEvent], db_time_s: Option<f64>) -> Table {
    const TOP: usize = 10;
    let names = [Column::left("Event").at_most(38), Column::left("Class").at_most(16)];
    let numbers = ["Waits", "Time s", "Mean us", "% DB time"].map(Column::right);
    Table::new(names.into_iter().chain(numbers)).with_rows(events.iter().take(TOP).map(|event| {
        let mean_us = event.waits.and_then(|waits| ratio(event.time_s * 1e6, waits as f64));
        let share = db_time_s.and_then(|db_time_s| ratio(100.0 * event.time_s, db_time_s));
        [
            Cell::from(event.name.as_str()),
            event.class.as_str().into(),
            event.waits.into(),
            Format::Tenths.cell(event.time_s),
            Format::Micros.cell(mean_us),
            Format::Percent.cell(share),
        ]
    }))
}

fn event_explanation(record: &Record, events: &[TimedEvent], db_time_s: Option<f64>) -> String {
    if !record.server.embedded {
        return "As reported by the database; may include idle events and those of background processes."
            .into();
    }
    let sum_s: f64 = events.iter().map(|event| event.time_s).sum();
    let share = db_time_s.and_then(|db_time_s| ratio(100.0 * (sum_s - db_time_s), db_time_s));
    match share {
        // With the rest the sum equals DB time, up to rounding.
        Some(more) if more > 1e-6 => format!(
            "Measured around each call. Together they are {} % above DB time: some happened outside of operations, \
             as checkpoints do.",
            percent(more)
        ),
        _ => "Measured around each call; the rest of DB time is CPU and other.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::{Latencies, LatencyKind};
    use slob_testing::records;

    #[test]
    fn read_ahead_is_mentioned() {
        let mut record = records::direct_read_run();
        record.operations.remove(&OpKind::Scan);
        record.counters.set(Counter::PhysicalReads, 1000);
        let mut sentence = |requests| {
            record.counters.set(Counter::PhysicalReadRequests, requests);
            blocks_per_request(&record).unwrap()
        };
        assert_eq!(sentence(1000), "Blocks per physical read request: 1.00.");
        assert_eq!(sentence(960), "Blocks per physical read request: 1.04.");
        assert!(sentence(940).contains("1.06. That is not single-block I/O"));
    }

    #[test]
    fn a_histogram_shows_every_latency_and_leaves_out_empty_ends() {
        let mut histogram = Histogram::new();
        for (us, n) in [(100, 1), (300, 2), (900, 1)] {
            histogram.record_n(us * 1000, n);
        }
        let rows = histogram_rows(&histogram, false);
        let shown = rows.iter().map(|[name, n, share, sum, bar]| {
            (name.as_str(), n.as_str(), share.as_str(), sum.as_str(), bar.len())
        });
        let expected = [
            ("<= 64 us", "0", "0.0", "0.0", 0),
            ("<= 128 us", "1", "25.0", "25.0", 10),
            ("<= 256 us", "0", "0.0", "25.0", 0),
            ("<= 512 us", "2", "50.0", "75.0", 20),
            ("<= 1 ms", "1", "25.0", "100.0", 10),
            ("<= 2 ms", "0", "0.0", "100.0", 0),
        ];
        assert!(shown.eq(expected), "{rows:?}");
        let mut slow = Histogram::new();
        slow.record(5_000_000_000);
        let rows = histogram_rows(&slow, false);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[1][0].as_str(), rows[1][1].as_str()), ("> 1 s", "1"));
    }

    /// 1,024 us was below '<= 2 ms', and 64 us below '<= 128 us'.
    #[test]
    fn bounds_of_the_databases_buckets_are_in_the_row_of_that_name() {
        for (us, name) in [(64, "<= 64 us"), (512, "<= 512 us"), (1024, "<= 1 ms"), (1 << 20, "<= 1 s")] {
            let mut histogram = Histogram::new();
            histogram.record(us * 1000);
            let rows = histogram_rows(&histogram, true);
            let filled: Vec<_> = rows.iter().filter(|row| row[1] == "1").map(|row| row[0].as_str()).collect();
            assert_eq!(filled, [name]);
        }
    }

    #[test]
    fn times_above_db_time_are_outside_of_operations() {
        let explanation = |record: &Record| {
            let db_time_s = figure::DB_TIME_S.of(&Run::of(record));
            event_explanation(record, &timed_events(record), db_time_s)
        };
        let mut record = records::update_run();
        assert!(explanation(&record).contains("the rest of DB time is CPU"), "{}", explanation(&record));
        let db_time_ns = 1e9 * figure::DB_TIME_S.of(&Run::of(&record)).unwrap();
        record.latencies = Latencies::default();
        let one_read = records::spread(1_000, (1.03 / 1.08 * db_time_ns / 1_000.0) as u64);
        record.latencies.set(LatencyKind::PhysicalRead, one_read);
        let words = explanation(&record);
        assert!(words.contains("above DB time: some happened outside of operations"), "{words}");
    }
}
