//! CPU over time: the host's by mode, and the database's.

use slob_host::CpuTimes;
use slob_record::Record;

use super::absent;
use super::timeline::{Timeline, has_any};
use crate::counters::ratio;
use crate::figure::{self, Figures};
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Fill, Line, Trace, Unit};

/// The modes that are shown, from below, with their share of the time in seconds.
type Mode = (&'static str, Colour, fn(&CpuTimes) -> f64);
const MODES: [Mode; 5] = [
    ("user", Colour::User, |cpu| cpu.user_s + cpu.nice_s),
    ("system", Colour::System, |cpu| cpu.system_s),
    ("interrupts", Colour::Interrupts, |cpu| cpu.irq_s + cpu.softirq_s),
    ("stolen", Colour::Stolen, |cpu| cpu.steal_s),
    ("I/O wait", Colour::Waiting, |cpu| cpu.iowait_s),
];

/// The host's CPU time by mode; what is left to 100 % was idle.
pub(super) fn host(record: &Record) -> Chart {
    Chart {
        id: "host-cpu".into(),
        title: "CPU of the host by mode".into(),
        about: "Share of all CPUs. The rest up to 100 % was idle; stolen time went to other guests of the hypervisor; I/O wait is idle time too."
            .into(),
        source: "/proc/stat, which the kernel samples at its tick".into(),
        body: host_drawing(record),
    }
}

fn host_drawing(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    let share = |of: fn(&CpuTimes) -> f64| {
        time.seen(|interval, _| {
            let cpu = interval.host_cpu?;
            ratio(100.0 * of(&cpu), cpu.total_s())
        })
    };
    let modes: Vec<_> = MODES.iter().map(|(name, colour, of)| (*name, *colour, share(*of))).collect();
    if !modes.iter().any(|(_, _, y)| has_any(y)) {
        return absent("the host's CPU was not sampled");
    }
    let used = |y: &[Option<f64>]| y.iter().flatten().any(|percent| *percent > 0.0);
    let traces = modes.into_iter().filter(|(_, _, y)| used(y)).map(|(name, colour, y)| {
        let line = Line::new(name, colour, Unit::Percent, time.x(), y);
        Trace::Line(Line { fill: Fill::Stacked, ..line })
    });
    let y = Axis::linear("share of all CPUs", Unit::Percent).ranging(0.0, 100.0);
    Ok(time.drawing(y, traces.collect()))
}

/// The CPU time of the database's processes.
pub(super) fn database(record: &Record, figures: &Figures<'_>) -> Chart {
    let whose = record.db_cpu.as_ref().map(|db| db.source.clone());
    let cpus = figure::HOST_CPUS.of(figures).map(|cpus| format!(" of {cpus}")).unwrap_or_default();
    Chart {
        id: "database-cpu".into(),
        title: "CPU of the database".into(),
        about: format!("CPUs{cpus} that the database kept busy: the price of its I/O."),
        source: match whose {
            Some(whose) => format!("/proc, of {whose}"),
            None => "/proc".into(),
        },
        body: database_drawing(record),
    }
}

fn database_drawing(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    let user = time.seen(|interval, seconds| Some(interval.db_cpu?.user_s / seconds));
    let system = time.seen(|interval, seconds| Some(interval.db_cpu?.system_s / seconds));
    if !has_any(&user) {
        return absent("the CPU of the database's processes can't be seen from here");
    }
    let modes = [("user", Colour::Database, user), ("system", Colour::System, system)];
    let traces = modes.into_iter().map(|(name, colour, y)| {
        let line = Line::new(name, colour, Unit::Plain, time.x(), y);
        Trace::Line(Line { fill: Fill::Stacked, ..line })
    });
    Ok(time.drawing(Axis::linear("CPUs busy", Unit::Plain), traces.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn modes_that_took_nothing_are_left_out() {
        let drawing = host_drawing(&fixture::direct_read_run()).unwrap();
        // Nothing was stolen.
        assert_eq!(drawing.traces.len(), MODES.len() - 1);
        let Trace::Line(user) = &drawing.traces[0] else { panic!("{:?}", drawing.traces) };
        assert!((user.y[0].unwrap() - 100.0 * 0.55 / 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_database_on_another_host_says_so() {
        let mut record = fixture::direct_read_run();
        fixture::with_gap(&mut record, 0..72);
        let absent = database_drawing(&record).unwrap_err();
        assert!(absent.0.contains("can't be seen"), "{absent:?}");
    }
}
