//! `slob plan`: from a profile to the test that makes the same demand.

pub(super) mod calibration;
pub(super) mod wanted;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_profile::{Costs, compare, not_modelled, solve};
use slob_record::{Record, Status};
use slob_report::profiles::{PlanView, plan_conf, plan_table};
use slob_spec::{RunSpec, Settings};

use self::calibration::{Calibrated, calibrate};
use self::wanted::{Loaded, Wanted};
use super::campaign::Quiet;
use super::run;
use crate::failure::{Failure, Outcome};
use crate::{interrupt, next_step, output, registry, settings};

pub(crate) fn plan(matches: &ArgMatches) -> Outcome {
    let wanted = Wanted::of(matches)?;
    let settings = settings::resolve(matches, &[])?;
    let view = match settings.entry("TARGET").is_some_and(|entry| entry.origin().is_set()) {
        true => {
            let loaded = Loaded::of(&settings, &wanted)?;
            let stop = interrupt::flag()?;
            let calibrated =
                calibrate(&wanted, &loaded, &mut |name, pairs| measure(&settings, name, pairs, &stop, None))?;
            view(&wanted, Some(&loaded), calibrated)
        }
        false => {
            let costs = Costs::default();
            let planned = solve(&wanted.demand, &costs, &wanted.limits(1));
            let fit = compare(&wanted.demand, &planned, None, &costs);
            view(&wanted, None, Calibrated { planned, fit, runs: Vec::new() })
        }
    };
    let path = matches.get_one::<PathBuf>("output");
    if let Some(path) = path {
        output::write_page(&plan_conf(&view), path)?;
    }
    let text = match (matches.get_flag("json"), path) {
        (true, _) => output::json("the plan", &view)?,
        (false, Some(_)) => plan_table(&view),
        (false, None) => plan_conf(&view),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What is shown of a plan.
pub(super) fn view(wanted: &Wanted, loaded: Option<&Loaded>, calibrated: Calibrated) -> PlanView {
    let notes = loaded.into_iter().flat_map(|loaded| loaded.notes(wanted)).collect();
    PlanView {
        database: wanted.database.clone(),
        demand: wanted.demand.clone(),
        plan: calibrated.planned,
        fit: calibrated.fit,
        target: loaded.map(|loaded| loaded.target.clone()),
        runs: calibrated.runs,
        scale_blocks: loaded.map(|loaded| loaded.limits.scale_blocks),
        not_modelled: not_modelled(&wanted.demand.figures, wanted.block_bytes),
        notes,
    }
}

/// Makes a run of that name; its record goes where it always does, or into `directory`.
pub(super) fn measure(
    settings: &Settings,
    name: &str,
    pairs: &[(&'static str, String)],
    stop: &std::sync::atomic::AtomicBool,
    directory: Option<&std::path::Path>,
) -> Result<Record, Failure> {
    let mut all: Vec<(String, String)> =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    all.push(("RUN_NAME".to_owned(), name.to_owned()));
    if let Some(directory) = directory {
        all.push(("RESULTS_DIR".to_owned(), directory.display().to_string()));
    }
    let settings = settings.overridden(&registry::table(), &all, name)?.settings;
    let spec = RunSpec::from_settings(&settings)?.spec;
    let kept = run::measure_spec(&settings, &spec, None, stop, &mut Quiet::new())?;
    kept.end()?;
    match &kept.record.status {
        Status::Completed => Ok(kept.record),
        Status::Interrupted => {
            let then = directory.map_or_else(
                || format!("what it measured is kept: `{}`", next_step::report(&kept.folder)),
                |directory| format!("the same command goes on from the runs in {}", directory.display()),
            );
            Err(Failure::interrupted(format!("run {} was interrupted; {then}", kept.record.id)))
        }
        Status::Failed { error } => Err(Failure::failed(format!("run {} failed: {error}", kept.record.id))),
    }
}
