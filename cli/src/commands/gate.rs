//! Requirements that saved runs pass or fail.

use std::path::PathBuf;

use clap::{ArgAction, ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use slob_record::{Record, SeriesWanted};
use slob_report::Confidence;
use slob_report::gate::{self, Gate, MaxLoss, Requirement};

use crate::answer::Forms;
use crate::failure::{Failure, Outcome};
use crate::flags::NAMING;
use crate::tables::{Records, Runs, texts};
use crate::{completing, output, settings};

/// Decide for scripts whether runs are good enough
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob gate --require 'read-p99 < 2ms' --require physical        the latest run
  slob gate --require 'iops_per_db_cpu_s > 40000' --require 'steady = doubt' r1 r2 r3
  slob gate runs-new --baseline runs-old --max-loss 'iops 3 %'   is more than 3 % lost, beyond noise?
  slob gate --junit gate.xml latest                              what GATE of its slob.conf requires
A figure goes by its name (`slob list --columns help`) or that of tables: iops, p99, read-p99. A verdict (physical, accounted, cpu-to-spare,
steady, complete) must be GOOD, with `= doubt` at least DOUBT. Without --require and --max-loss, GATE of the runs' configuration counts.
Exit codes: 0 all passed; 1 one failed; 2 bad usage; 4 none failed, and one is not known.
{NAMING}"))]
pub(super) struct GateArgs {
    /// Runs, or folders of runs [default: latest]
    #[arg(value_name = "RUN|FOLDER", num_args = 0.., add = ArgValueCompleter::new(completing::runs))]
    runs: Vec<String>,
    /// A figure within a bound, or a verdict; once for each
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<Requirement>,
    /// The runs to compare with
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., action = ArgAction::Set)]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    baseline: Vec<String>,
    /// How much worse than the baseline a figure may be; once for each
    #[arg(long, value_name = "FIGURE PERCENT", requires = "baseline")]
    max_loss: Vec<MaxLoss>,
    /// The confidence level for repeated runs, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    confidence: Confidence,
    /// Write the results as JUnit's XML to this file too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    forms: Forms,
}

pub(super) fn gate(args: &GateArgs, matches: &ArgMatches) -> Outcome {
    let forms = args.forms.checked()?;
    let results = settings::results_dir_of(matches)?;
    let read = |names| {
        let all = Records::read(&Runs::named(&results, names), SeriesWanted::Counts, |record| record).all();
        let (replaced, runs): (Vec<Record>, Vec<Record>) = all?.into_iter().partition(gate::is_replaced);
        replaced
            .iter()
            .for_each(|run| say!("slob: {} was interrupted, and is left out of its series", run.id));
        Ok::<_, Failure>(runs)
    };
    let runs = read(if args.runs.is_empty() { vec!["latest"] } else { texts(&args.runs) })?;
    let baseline = read(texts(&args.baseline))?;
    let mut requirements = args.require.clone();
    if requirements.is_empty() && args.max_loss.is_empty() {
        requirements = configured(&runs)?;
    }
    let gate = Gate::of(&requirements, &args.max_loss, &runs, &baseline, args.confidence);
    if let Some(path) = &args.junit {
        output::write_file(path, &gate.junit())?;
    }
    forms.done(&gate, false)
}

fn configured(runs: &[Record]) -> Result<Vec<Requirement>, Failure> {
    let mut texts = runs.iter().map(gate::required_of);
    let first = texts.next().unwrap_or_default();
    if texts.any(|text| text != first) {
        return Err(Failure::usage("these runs have different GATEs: say with --require what must hold"));
    }
    let required = required(first)?;
    if required.is_empty() {
        return Err(Failure::usage(
            "nothing is required: name a verdict or a bound as in --require physical --require 'iops > 20000', use --max-loss, or set \
             GATE for runs",
        ));
    }
    Ok(required)
}

pub(super) fn required(gate: &str) -> Result<Vec<Requirement>, Failure> {
    gate::requirements(gate).map_err(|error| usage!("GATE: {error}"))
}
