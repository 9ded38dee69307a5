//! Observers that die, hang and lie, in the place of an ssh.

use std::time::Instant;

use slob_host::{CpuSplit, CpuTimes};

use super::trust::Trust;
use crate::{ServerFigures, ServerSight, Sight};

fn sight(at_s: f64, host_s: f64, db_s: f64) -> Sight {
    let none = CpuTimes {
        user_s: host_s,
        nice_s: 0.0,
        system_s: 0.0,
        idle_s: 0.0,
        iowait_s: 0.0,
        irq_s: 0.0,
        softirq_s: 0.0,
        steal_s: 0.0,
    };
    let cpu = Some(CpuSplit { user_s: db_s, system_s: 0.0 });
    let server =
        ServerSight { processes: 1, found: 1, figures: ServerFigures { cpu, ..ServerFigures::default() } };
    Sight { at_s, cpu: Some(none), servers: vec![Some(server)], ..Sight::default() }
}

/// What becomes of a second sight, ten seconds after the first one.
fn second(sight_then: &Sight) -> Result<(), String> {
    let begun = Instant::now();
    let mut trust = Trust::default();
    trust.check(&sight(100.0, 50.0, 5.0), begun, begun, Some(2)).unwrap();
    let later = begun + std::time::Duration::from_secs(10);
    trust.check(sight_then, later, later, Some(2))
}

#[test]
fn what_two_cpus_can_do_in_ten_seconds_is_believed_and_more_is_not() {
    assert_eq!(second(&sight(110.0, 70.0, 24.0)), Ok(()));
    assert!(second(&sight(110.0, 70.0, 60.0)).unwrap_err().contains("CPU time"));
    assert!(second(&sight(110.0, 150.0, 5.0)).unwrap_err().contains("CPU time"));
}

#[test]
fn a_clock_that_runs_otherwise_is_not_believed() {
    assert_eq!(second(&sight(110.9, 70.0, 5.0)), Ok(()));
    for at_s in [90.0, 100.0, 105.0, 115.0, 1e9] {
        assert!(second(&sight(at_s, 50.0, 5.0)).unwrap_err().contains("clock"), "{at_s}");
    }
}
