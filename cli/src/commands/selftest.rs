//! `slob selftest`: the contract suite on the user's own server.

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::ArgMatches;
use slob_engine::{Purpose, suite};
use slob_spec::LoadSpec;

use crate::failure::{Failure, INTERRUPTED, JUDGED, Outcome};
use crate::{interrupt, output, registry, settings};

pub(crate) fn selftest(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let spec = LoadSpec::from_settings(&settings)?.spec;
    let stop = interrupt::flag()?;
    let open = || registry::open(&spec.target, &spec.options, Purpose::Load);
    let verdicts = suite::run(&open, &mut |name, verdict| {
        let line = match verdict {
            Ok(()) => format!("ok      {name}\n"),
            Err(complaint) => format!("FAILED  {name}: {complaint}\n"),
        };
        // A closed pipe must not keep the suite from cleaning up.
        let _ = output::print(&line);
        !stop.load(Ordering::Relaxed)
    })
    .map_err(Failure::from)?;
    let failed = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).count();
    output::say(&format!("{}: {} of {} checks passed", spec.target, verdicts.len() - failed, verdicts.len()));
    let interrupted = stop.load(Ordering::Relaxed);
    Ok(ExitCode::from(if interrupted {
        INTERRUPTED
    } else if failed > 0 {
        JUDGED
    } else {
        0
    }))
}
