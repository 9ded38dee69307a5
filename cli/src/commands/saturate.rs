//! `slob saturate`: how many sessions get what there is to get.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use slob_campaign::{Found, Limit, Next, Point, Search, SearchRules, Why};
use slob_record::{Record, Status};
use slob_report::analysis::{Curve, CurvePoint};
use slob_report::info::{Row, column};
use slob_spec::{RunSpec, Settings};

use super::campaign::Quiet;
use super::run;
use crate::failure::{Failure, INTERRUPTED, Outcome};
use crate::{interrupt, output, registry, settings};

pub(crate) fn saturate(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let checked = RunSpec::from_settings(&settings)?;
    settings::warn(&checked.warnings);
    let limit = matches.get_one::<String>("limit").map(|text| text.parse::<Limit>()).transpose();
    let limit = limit.map_err(Failure::usage)?;
    let schemas = checked.spec.schemas;
    let most = matches.get_one::<u32>("max-sessions").copied().unwrap_or(256);
    let tolerance = matches.get_one::<f64>("tolerance").copied().unwrap_or(5.0) / 100.0;
    if !(0.001..0.5).contains(&tolerance) {
        return Err(Failure::usage("--tolerance must be 0.1 to 49 percent, such as 5"));
    }
    let Some(most) = NonZeroU32::new(most / schemas.get()) else {
        return Err(Failure::usage(format!(
            "--max-sessions {most} is fewer than one for each of {schemas} schemas"
        )));
    };
    let repeats =
        matches.get_one::<u32>("repeats").copied().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let rules = SearchRules { most, tolerance, repeats };
    let name = checked.spec.run_name.to_string();
    let stop = interrupt::flag()?;
    let mut work = Work {
        settings,
        schemas,
        name,
        limit,
        stop,
        search: Search::new(rules),
        points: Vec::new(),
        cut: None,
    };
    let ended = work.search();
    let curve = work.curve(ended.as_ref().ok().copied(), tolerance);
    if !curve.points.is_empty() {
        let text = match matches.get_flag("json") {
            true => {
                let json = serde_json::to_string_pretty(&curve);
                json.map_err(|error| Failure::failed(format!("writing the curve as JSON: {error}")))? + "\n"
            }
            false => curve.text(),
        };
        output::print(&text)?;
    }
    match ended {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(failure) if failure.is_interruption() => Ok(ExitCode::from(INTERRUPTED)),
        Err(failure) => Err(failure),
    }
}

struct Work {
    settings: Settings,
    schemas: NonZeroU32,
    name: String,
    limit: Option<Limit>,
    stop: Arc<AtomicBool>,
    search: Search,
    points: Vec<CurvePoint>,
    /// Why no more sessions could be tried, if the target refused them.
    cut: Option<String>,
}

impl Work {
    fn search(&mut self) -> Result<Found, Failure> {
        loop {
            let threads = match self.search.next() {
                Next::Found(found) => return Ok(found),
                Next::Measure(threads) => threads,
            };
            let sessions = threads.get() * self.schemas.get();
            let record = match self.measure(threads) {
                Ok(record) => record,
                // A server that takes no more sessions ends the search, not the answer.
                Err(failure) if !failure.is_interruption() && self.search.has_fewer_than(threads) => {
                    output::say(&format!("{sessions} sessions: {}; going on with fewer", failure.text()));
                    self.cut = Some(failure.text());
                    self.search.end_below(threads);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let over_limit = self.passed(&record)?;
            let Some(point) = CurvePoint::of(&record, over_limit) else {
                return Err(Failure::failed(format!("run {} has no throughput to judge by", record.id)));
            };
            output::say(&format!(
                "{sessions:>5} sessions  {:>10.1} op/s  {}{}",
                point.operations_per_s,
                point.reason,
                if over_limit { " Over the limit." } else { "" }
            ));
            self.search.add(Point { threads, throughput: point.operations_per_s, over_limit });
            self.points.push(point);
        }
    }

    fn measure(&self, threads: NonZeroU32) -> Result<Record, Failure> {
        let sessions = threads.get() * self.schemas.get();
        let pairs = [
            ("THREADS_PER_SCHEMA".to_owned(), threads.to_string()),
            ("RUN_NAME".to_owned(), format!("{}-s{sessions}", self.name)),
        ];
        let settings = self.settings.overridden(&registry::table(), &pairs, "saturate")?.settings;
        let spec = RunSpec::from_settings(&settings)?.spec;
        let kept = run::measure_spec(&settings, &spec, &self.stop, &mut Quiet::new())?;
        kept.end()?;
        match &kept.record.status {
            Status::Completed => Ok(kept.record),
            Status::Interrupted => Err(Failure::interrupted()),
            Status::Failed { error } => {
                Err(Failure::failed(format!("run {} failed: {error}", kept.record.id)))
            }
        }
    }

    fn passed(&self, record: &Record) -> Result<bool, Failure> {
        let Some(limit) = &self.limit else { return Ok(false) };
        let value = column(limit.column).and_then(|column| column.value(&Row::of(record))?.as_number());
        let value = value.ok_or_else(|| {
            Failure::usage(format!(
                "--limit {limit}: this target does not know {}; choose another",
                limit.column
            ))
        })?;
        Ok(value > limit.us)
    }

    fn curve(&self, found: Option<Found>, tolerance: f64) -> Curve {
        let percent = 100.0 * tolerance;
        let why = match found.map(|found| (found.why, found.threads)) {
            None => {
                "The search was ended before it found anything; the curve is what was measured.".to_owned()
            }
            Some((Why::Saturated, _)) => {
                format!("More sessions gain less than {percent} %: that is the knee.")
            }
            Some((Why::Limit, None)) => "Even the fewest sessions pass the latency limit.".to_owned(),
            Some((Why::Limit, _)) => "More sessions pass the latency limit.".to_owned(),
            Some((Why::Most, _)) => match &self.cut {
                Some(error) => format!("Throughput was still growing; more sessions failed: {error}"),
                None => "Throughput was still growing: allow more with --max-sessions.".to_owned(),
            },
            Some((Why::Unsettled, _)) => {
                "The runs differ too much to settle on a point: make them longer with --run-time.".to_owned()
            }
        };
        Curve {
            points: self.points.clone(),
            knee_sessions: found
                .and_then(|found| found.threads)
                .map(|threads| threads.get() * self.schemas.get()),
            why,
            limit: self.limit.map(|limit| limit.to_string()),
            tolerance_percent: percent,
        }
    }
}
