//! Who used the CPU.

use slob_host::CpuSplit;
use slob_record::Record;

use crate::counters::ratio;
use crate::figure::{self, Figure, Figures};
use crate::format::{fixed, or_absent, percent, significant, size};
use crate::page::{Column, Page, Table};

pub(super) fn write(page: &mut Page, figures: &Figures<'_>) {
    let record = figures.record;
    page.section("CPU");
    let mut table = Table::new([
        Column::left(""),
        Column::right("Seconds"),
        Column::right("CPUs"),
        Column::right("% of host"),
        Column::right("% of DB time"),
    ]);
    let host_s = record.host.as_ref().and_then(|host| host.cpu).map(|cpu| cpu.total_s());
    for (name, cpu_s) in lines(record) {
        let of = |whole: Option<f64>| cpu_s.zip(whole).and_then(|(cpu_s, whole)| ratio(cpu_s, whole));
        let share = |whole| or_absent(of(whole).map(|share| 100.0 * share), percent);
        let ours = name.starts_with("Database") || name.starts_with("This program");
        let of_db_time = if ours { share(figure::DB_TIME_S.of(figures)) } else { String::new() };
        table.row([
            name.to_owned(),
            or_absent(cpu_s, |s| fixed(s, 1)),
            or_absent(of(figure::WINDOW_S.of(figures)), |cpus| fixed(cpus, 2)),
            share(host_s),
            of_db_time,
        ]);
    }
    page.table(&table);
    costs(page, record, figures);
}

fn lines(record: &Record) -> Vec<(&'static str, Option<f64>)> {
    let host = record.host.as_ref().and_then(|host| host.cpu);
    let db = record.db_cpu.as_ref().map(|db| db.cpu);
    let user = |cpu: Option<CpuSplit>| cpu.map(|cpu| cpu.user_s);
    let system = |cpu: Option<CpuSplit>| cpu.map(|cpu| cpu.system_s);
    let mut lines = vec![
        ("Host, user", host.map(|cpu| cpu.user_s + cpu.nice_s)),
        ("Host, system", host.map(|cpu| cpu.system_s)),
        ("Host, interrupts", host.map(|cpu| cpu.irq_s + cpu.softirq_s)),
        ("Host, stolen by the hypervisor", host.map(|cpu| cpu.steal_s)),
        ("Host, idle with I/O outstanding", host.map(|cpu| cpu.iowait_s)),
        ("Host, idle", host.map(|cpu| cpu.idle_s)),
        ("Database, user", user(db)),
        ("Database, system", system(db)),
    ];
    if !record.server.embedded {
        lines.push(("This program, user", user(record.client_cpu)));
        lines.push(("This program, system", system(record.client_cpu)));
    }
    lines
}

fn costs(page: &mut Page, record: &Record, figures: &Figures<'_>) {
    if let Some(db) = &record.db_cpu {
        page.paragraph(&format!("Database CPU is that of {}.", db.source));
    }
    let rate = |figure: &Figure| or_absent(figure.of(figures), |rate| fixed(rate, 0));
    page.paragraph(&format!(
        "Physical reads per DB-CPU-second: {}; per host-CPU-second: {}. DB CPU per physical read: {} us. Logical \
         reads per DB-CPU-second: {}.",
        rate(&figure::PHYSICAL_READS_PER_DB_CPU_S),
        rate(&figure::PHYSICAL_READS_PER_HOST_CPU_S),
        or_absent(figure::DB_CPU_US_PER_PHYSICAL_READ.of(figures), significant),
        rate(&figure::LOGICAL_READS_PER_DB_CPU_S),
    ));
    let host_s = figure::HOST_BUSY_S.of(figures);
    if host_s.is_some_and(|host_s| figure::DB_CPU_S.of(figures) > Some(host_s)) {
        page.paragraph(
            "The host's figures are too low: its kernel samples CPU time once per tick and misses shorter work. The \
             database's are exact.",
        );
    }
    let memory = or_absent(record.client_peak_memory_bytes, size);
    page.paragraph(&format!("Peak memory of this program: {memory}."));
}
