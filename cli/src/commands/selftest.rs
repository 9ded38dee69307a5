//! `slob selftest`: the contract suite and a small test from end to end, on the user's own server, with a report.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::ArgMatches;
use slob_engine::{Engine, EngineError, Purpose, suite};
use slob_spec::LoadSpec;

use crate::failure::{Failure, INTERRUPTED, JUDGED, Outcome};
use crate::selftest::{Capture, EndToEnd, Report, remove_all, replay};
use crate::{interrupt, output, registry, settings};

pub(crate) fn selftest(matches: &ArgMatches) -> Outcome {
    let file = |name| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    if let Some(capture) = file("replay") {
        return replay(capture);
    }
    let settings = settings::resolve(matches, &[])?;
    let spec = LoadSpec::from_settings(&settings)?.spec;
    let stop = interrupt::flag()?;
    let kind = registry::engine_of(&spec.target)?;
    let with_names = matches.get_flag("with-names");
    let capture = file("capture").map(|file| Capture::new(file, kind, &settings, with_names)).transpose()?;
    let open = || {
        let open =
            || registry::open_for_load(&spec.target, &spec.options, Purpose::Load, spec.tablespace.clone());
        match &capture {
            Some(capture) => capture.open(open),
            None => open(),
        }
    };
    let engine = open()?;
    let held = engine.schemas()?.len();
    if held > 0 {
        return Err(Failure::usage(format!(
            "{} already holds {} of ours: give the test a target, or a prefix, of its own; `slob drop` with the \
             same target removes what is there",
            spec.target,
            output::plural(held as u64, "schema")
        )));
    }
    let server = engine.server()?;
    drop(engine);
    let mut report = Report::new(file("output"))?;
    let end_to_end = EndToEnd::new(&settings, &stop, capture.as_ref())?;
    report.begin(&spec.target, &server);
    if let Some(capture) = &capture {
        capture.moment("before all", open()?.as_ref());
        capture.keep(report.text());
    }
    contract(&mut report, &open, &stop)?;
    if !stop.load(Ordering::Relaxed) {
        report.section("End to end");
        end_to_end.report(&mut report, server.capabilities.stores_data);
    }
    let interrupted = stop.load(Ordering::Relaxed);
    let failed = report.end(interrupted);
    if let Some(capture) = &capture {
        capture.keep(report.text());
    }
    Ok(ExitCode::from(match (interrupted, failed) {
        (true, _) => INTERRUPTED,
        (false, 0) => 0,
        (false, _) => JUDGED,
    }))
}

/// The contract suite. What a check that failed left behind is removed: the target held nothing of ours.
fn contract(
    report: &mut Report,
    open: &dyn Fn() -> Result<Box<dyn Engine>, EngineError>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    report.section("Contract");
    let mut begun = Instant::now();
    let verdicts = suite::run(open, &mut |name, verdict| {
        let result = verdict.clone().map(|()| String::new());
        report.step(name, begun.elapsed(), &result);
        begun = Instant::now();
        !stop.load(Ordering::Relaxed)
    })?;
    if verdicts.iter().any(|(_, verdict)| verdict.is_err()) {
        let cleaned =
            open().map_err(|error| error.to_string()).and_then(|engine| remove_all(engine.as_ref()));
        report.step("removing what the checks left", begun.elapsed(), &cleaned);
    }
    Ok(())
}
