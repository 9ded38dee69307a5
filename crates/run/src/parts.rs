//! What a run has measured until its record is put together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slob_record::{Mark, SavedProbe, ServerReportRecord, Status, Verification};

use crate::RunError;
use crate::growing_series::GrowingSeries;
use crate::hosts::Places;
use crate::rendezvous::Stragglers;
use crate::sampler::Sample;
use crate::session::SessionEnd;
use crate::tally::Tally;
use crate::until_steady::SteadyUntil;

/// What is known beside the sessions before they start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    /// The hosts and the servers on them.
    pub(crate) places: Arc<Places>,
    /// What the device does without a database, if that was measured.
    pub(crate) probe: Option<SavedProbe>,
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
        }
        self.last = Some(sample);
    }

    /// What there would be if the run ended with the last sample.
    pub(crate) fn so_far(&self) -> Self {
        let last = self.last.as_ref();
        Self {
            begin: self.begin.clone(),
            end: last.cloned(),
            series: self.series.so_far(last.map_or(Duration::ZERO, |last| self.tally.clock().at(last.taken))),
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
