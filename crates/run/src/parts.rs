//! What a run has measured until its record is put together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slob_host::{CpuSplit, Device};
use slob_record::{Mark, SavedProbe, ServerReportRecord, Status, Verification};
use slob_stats::Merge;

use crate::RunError;
use crate::growing_series::GrowingSeries;
use crate::rendezvous::Stragglers;
use crate::sampler::Sample;
use crate::session::SessionEnd;
use crate::tally::Tally;
use crate::until_steady::SteadyUntil;

/// What is known beside the sessions before they start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    pub(crate) device: Option<Device>,
    /// Processes of the server that were there before the sessions.
    pub(crate) background: BTreeSet<u32>,
    /// What the device does without a database, if that was measured.
    pub(crate) probe: Option<SavedProbe>,
}

/// CPU of the database, added up from sample to sample: what a process used that ended is in it, up to the last sample that
/// saw it. Absent if a sample had none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledCpu {
    pub(crate) all: Option<CpuSplit>,
    /// Of the processes that serve sessions, where there is one for each.
    pub(crate) sessions: Option<CpuSplit>,
}

impl Default for SampledCpu {
    fn default() -> Self {
        Self { all: Some(CpuSplit::default()), sessions: Some(CpuSplit::default()) }
    }
}

impl SampledCpu {
    fn add(&mut self, sample: &Sample, last: &Sample, background: &BTreeSet<u32>) {
        let plus = |sum: Option<CpuSplit>, more: Option<CpuSplit>| {
            let (mut sum, more) = (sum?, more?);
            sum.merge(&more);
            Some(sum)
        };
        self.all = plus(self.all, sample.db_cpu_since(last));
        self.sessions = plus(self.sessions, sample.sessions_cpu_since(last, background));
    }
}

/// Everything that was measured.
pub(crate) struct Parts {
    pub(crate) tally: Arc<Tally>,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) status: Status,
    pub(crate) begin: Option<Sample>,
    pub(crate) begin_stragglers: Stragglers,
    pub(crate) end: Option<Sample>,
    pub(crate) end_stragglers: Stragglers,
    /// From the beginning of the window on.
    pub(crate) db_cpu: SampledCpu,
    /// The last sample, whatever it is of.
    pub(crate) last: Option<Sample>,
    pub(crate) series: GrowingSeries,
    /// With UNTIL_STEADY, from the beginning of the window on.
    pub(crate) until_steady: Option<SteadyUntil>,
    /// What was marked, and how many marks there were beyond those.
    pub(crate) marks: (Vec<Mark>, usize),
    /// With the moment at which the timeline heard of each end.
    pub(crate) sessions: Vec<(Instant, SessionEnd)>,
    /// Sessions that did not end in time.
    pub(crate) unfinished: u32,
    pub(crate) beside: Beside,
    pub(crate) notes: Vec<String>,
    pub(crate) verification: Option<Verification>,
    pub(crate) server_report: Option<ServerReportRecord>,
}

impl Parts {
    pub(crate) fn new(started: Timestamp, tally: Arc<Tally>) -> Self {
        Self {
            tally,
            started,
            ended: started,
            status: Status::Completed,
            begin: None,
            begin_stragglers: Stragglers::default(),
            end: None,
            end_stragglers: Stragglers::default(),
            db_cpu: SampledCpu::default(),
            last: None,
            series: GrowingSeries::new(),
            until_steady: None,
            marks: (Vec::new(), 0),
            sessions: Vec::new(),
            unfinished: 0,
            beside: Beside::default(),
            notes: Vec::new(),
            verification: None,
            server_report: None,
        }
    }

    /// Takes in what came to be since the last sample.
    pub(crate) fn sampled(&mut self, sample: Sample) {
        if let Some(last) = &self.last {
            self.series.add_sampled(self.tally.clock(), last, &sample);
            if self.begin.is_some() {
                self.db_cpu.add(&sample, last, &self.beside.background);
            }
        }
        self.last = Some(sample);
    }

    /// What there would be if the run ended with the last sample.
    pub(crate) fn so_far(&self) -> Self {
        Self {
            begin: self.begin.clone(),
            end: self.last.clone(),
            series: self.series.so_far(),
            db_cpu: self.db_cpu,
            beside: self.beside.clone(),
            ..Self::new(self.started, Arc::clone(&self.tally))
        }
    }

    /// When the second of the run ends that the last sample lies in.
    pub(crate) fn next_second(&self) -> Instant {
        let clock = self.tally.clock();
        let second = self.last.as_ref().map_or(0, |last| clock.at(last.taken).as_secs());
        clock.moment(Duration::from_secs(second + 1))
    }

    /// Whether the run is to end because it is steady.
    pub(crate) fn is_steady(&mut self) -> bool {
        let (Some(steady), Some(last)) = (&mut self.until_steady, &self.last) else { return false };
        steady.look(&self.series, self.tally.clock().at(last.taken))
    }

    /// Makes the run a failed one; the first failure counts.
    pub(crate) fn fail(&mut self, error: &RunError) {
        if !matches!(self.status, Status::Failed { .. }) {
            self.status = Status::Failed { error: error.to_string() };
        }
    }
}
