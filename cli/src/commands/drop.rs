//! `slob drop`: removing what this program loaded.

use std::process::ExitCode;

use clap::ArgMatches;
use slob_engine::Purpose;
use slob_spec::LoadSpec;

use crate::failure::{Failure, Outcome};
use crate::{output, registry, settings};

pub(crate) fn drop(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let spec = LoadSpec::from_settings(&settings)?.spec;
    let engine = registry::open(&spec.target, &spec.options, Purpose::Use)?;
    let schemas = engine.schemas()?;
    if schemas.is_empty() {
        output::say(&format!("{}: no schemas loaded by slob, nothing to remove", spec.target));
        return Ok(ExitCode::SUCCESS);
    }
    let what = format!("{} from {}", output::plural(schemas.len() as u64, "schema"), spec.target);
    if !matches.get_flag("yes") && !output::confirm(&format!("Remove {what}?"))? {
        output::say("nothing was removed");
        return Ok(ExitCode::SUCCESS);
    }
    for state in &schemas {
        engine.drop_schema(state.schema).map_err(Failure::failed)?;
    }
    output::say(&format!("removed {what}"));
    Ok(ExitCode::SUCCESS)
}
