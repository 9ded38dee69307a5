//! Whether what an observer tells can be.

use std::time::Instant;

use crate::Sight;

/// By so much the clocks of two hosts may run apart, and CPU times exceed what there is: ticks are coarse.
const TOLERANCE: f64 = 0.1;
/// And by so many seconds besides.
const SLACK_S: f64 = 0.5;

/// What was last believed.
#[derive(Debug, Default)]
pub(super) struct Trust {
    last: Option<(Instant, Sight)>,
}

impl Trust {
    /// Compares with the sight before. It was taken between the question and its answer.
    ///
    /// # Errors
    /// With what can't be.
    pub(super) fn check(
        &mut self,
        sight: &Sight,
        asked: Instant,
        came: Instant,
        cpus: Option<u32>,
    ) -> Result<(), String> {
        if let Some((before, last)) = &self.last {
            let ours_s = came.duration_since(*before).as_secs_f64();
            let trip_s = came.duration_since(asked).as_secs_f64();
            let theirs_s = sight.at_s - last.at_s;
            let slack_s = SLACK_S + trip_s + TOLERANCE * ours_s;
            if (theirs_s - ours_s).abs() > slack_s {
                return Err(format!("its clock went on by {theirs_s:.1} s while {ours_s:.1} s went by"));
            }
            let most_s = cpus.map(|cpus| f64::from(cpus) * (theirs_s * (1.0 + TOLERANCE) + SLACK_S));
            let since = sight.since(last, true).unwrap_or_default();
            let of_host = since.cpu.map(|cpu| cpu.total_s());
            let of_servers = since.servers.iter().flatten().filter_map(|server| Some(server.cpu?.total_s()));
            let used = of_servers.chain(of_host).fold(0.0, f64::max);
            if let Some(most_s) = most_s.filter(|most_s| used > *most_s) {
                return Err(format!("it tells of {used:.1} s of CPU time where there were {most_s:.1}"));
            }
        }
        self.last = Some((came, sight.clone()));
        Ok(())
    }
}
