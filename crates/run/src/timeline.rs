//! A run gets a context, keeps its state in a timeline, and ends with measurements.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use jiff::Timestamp;
use slob_demand::AbortWatch;
use slob_engine::Engine;
use slob_record::{
    AutoWarmUp, ConfigEntry, EdgeRecord, Mark, RateStepRecord, SavedProbe, ServerReportRecord,
    UntilSteady as SteadyRecord, Verification,
};
use slob_spec::RunSpec;

use crate::events::RunObserver;
use crate::extras::{OperationsFile, ReportOfServer};
use crate::prepare::Prepared;
use crate::sampler::{Sample, Topology};
use crate::sessions::SessionEnd;
use crate::tally::{GrowingSeries, Tally};

pub struct RunContext<'a> {
    pub engine: Arc<dyn Engine>,
    pub spec: &'a RunSpec,
    pub configuration: Vec<ConfigEntry>,
    pub slob_version: &'a str,
    pub stop: &'a AtomicBool,
    /// A new file for updates.
    pub journal: Option<&'a Path>,
    /// Starts the run together with others.
    pub common_start: Option<&'a dyn CommonStart>,
}

pub trait CommonStart {
    /// Waits for the sessions of every run. `None` if there is no common start.
    fn agree(&self, run_id: &str) -> Option<Instant>;
}

pub(crate) struct Timeline<'a> {
    pub(crate) context: &'a RunContext<'a>,
    pub(crate) prepared: &'a Prepared,
    pub(crate) observer: &'a mut dyn RunObserver,
    pub(crate) run_id: String,
    pub(crate) tally: Arc<Tally>,
    pub(crate) operations_file: OperationsFile,
    pub(crate) server_report: ReportOfServer,
    /// The device without a database.
    pub(crate) probe: Option<SavedProbe>,
    pub(crate) topology: Arc<Topology>,
    pub(crate) abort: AbortWatch,
    /// Agreed with other runs.
    pub(crate) start: Option<Instant>,
}

#[derive(Default)]
pub(crate) struct Measurements {
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) interrupted: bool,
    /// The reason of ABORT_ON.
    pub(crate) aborted: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) begin: Option<Edge>,
    pub(crate) end: Option<Edge>,
    pub(crate) series: GrowingSeries,
    /// Samples at both ends of a trace behind the window.
    pub(crate) traced: Option<(Sample, Sample)>,
    pub(crate) steps: Vec<RateStepRecord>,
    pub(crate) until_steady: Option<SteadyRecord>,
    pub(crate) warm_up: Option<AutoWarmUp>,
    /// The number counts further marks.
    pub(crate) marks: (Vec<Mark>, usize),
    /// The moment is when the timeline learned of the end.
    pub(crate) sessions: Vec<(Instant, SessionEnd)>,
    /// They did not end in time.
    pub(crate) unfinished: u32,
    pub(crate) notes: Vec<String>,
    pub(crate) verification: Option<Verification>,
    pub(crate) server_report: Option<ServerReportRecord>,
}

#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) sample: Sample,
    pub(crate) stragglers: EdgeRecord,
}

impl Measurements {
    pub(crate) fn end_of_window(&self) -> Option<Instant> {
        self.end.as_ref().map(|end| end.sample.taken)
    }
}
