//! `slob ladder`: the same blocks read from the device, through the file system, and by the database.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgMatches, Args, value_parser};
use slob_engine::{BlockReader, Engine, Purpose};
use slob_facts::format::{plural, size};
use slob_host::{BlockTransfer, PathProbe, ProbePlan, ProbeStep, ReadPath, time_reads};
use slob_live::Progress;
use slob_page::Answer;
use slob_report::rungs::{Path, Rung, Rungs};
use slob_run::{ObservedHost, Prepared, Site, prepare};
use slob_spec::{Entry, Origin, RunSpec, Settings};

use super::selftest::Silent;
use super::{demands, measuring};
use crate::answer::Forms;
use crate::failure::{Failure, Outcome};
use crate::{interrupt, output, registry, settings};

/// Data that fit any buffer cache.
const CACHED_BYTES: u64 = 4 << 20;

/// Read the same blocks from the device, the page cache and through the database
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob ladder                            the device below the data, the file system, the page cache, and the database
  slob ladder -s 1 -t 8 --seconds 20     eight sessions on each rung
  slob ladder --repeats 5                each rung five times, in turns
  slob ladder /data                      without a database: the folder of a device
  slob ladder /pgdata --target ...       a folder beside the data, if those are not found
  slob ladder --html                     a page with a chart, probe.html
Reads random blocks, one at a time in each session, for --seconds on each rung, --repeats times in turns. Runs of the database are ordinary records, named
ladder-cached and ladder-storage.")]
pub(super) struct LadderArgs {
    /// Read the same blocks from the device, the page cache and through the database
    #[arg(long)]
    ladder: bool,
    /// A folder on the device [default: the folder of the target's data]
    #[arg(value_name = "path")]
    path: Option<PathBuf>,
    /// Seconds per rung
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// How often each rung is measured, in turns
    #[arg(long, value_name = "N", default_value = "2", value_parser = value_parser!(u32).range(1..=20))]
    repeats: u32,
    /// Size of the scratch file in MiB
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = value_parser!(u64).range(16..=1_048_576))]
    size_mb: u64,
    #[command(flatten)]
    forms: Forms,
}

pub(super) fn ladder(args: &LadderArgs, matches: &ArgMatches) -> Outcome {
    let forms = args.forms.checked()?;
    let asked = settings::resolve(matches, &[])?;
    let folder = args.path.as_deref();
    let is_flag = asked.entry("TARGET").map(Entry::origin) == Some(&Origin::Flag);
    // A folder alone needs no database, and a target of a file is not meant then.
    let database = match folder.is_some() && !is_flag {
        true => None,
        false => Some(Database::open(&asked, args.seconds)?),
    };
    let sessions = match &database {
        Some(database) => database.prepared.homes.len() as u32,
        None => RunSpec::from_settings(&asked)?.spec.workload.sessions(),
    };
    let plan = ProbePlan {
        file_bytes: args.size_mb << 20,
        block_bytes: database.as_ref().map_or(8192, |database| database.prepared.server.block_bytes),
        seconds_per_step: f64::from(args.seconds),
        sync_sessions: vec![sessions],
        ..ProbePlan::new(folder.unwrap_or(FilePath::new(".")))
    };
    let block = size(plan.block_bytes.into());
    let about = format!("Random reads of {block} by {}.", plural(sessions.into(), "session"));
    let of = u64::from(args.repeats) * if database.is_some() { 6 } else { 3 };
    let (stop, progress) = (interrupt::flag()?, Progress::new("measuring"));
    let database = database.as_ref();
    let mut climb = Climb { folder, database, plan, stop, progress, done: 0, of, rungs: Vec::new() };
    let climbed = climb.all(args.repeats);
    climb.progress.finish();
    climbed?;
    let rungs = Rungs::of(about, climb.rungs);
    forms.write(&rungs)?;
    if forms.is_page_alone() {
        output::print(&rungs.text(output::width()))?;
    }
    Ok(forms.exit_code(&rungs, false))
}

struct Database {
    engine: Box<dyn Engine>,
    settings: Settings,
    prepared: Prepared,
}

impl Database {
    fn open(asked: &Settings, seconds: u32) -> Result<Self, Failure> {
        demands::refuse_roles(asked)?;
        let settings = settings::of_run_as_loaded(asked)?;
        let (run_time, warm_up) = (seconds.to_string(), seconds.min(2).to_string());
        let pairs = [
            ("WORK_UNIT", "1"),
            ("UPDATE_PCT", "0"),
            ("SCAN_PCT", "0"),
            ("RATE", "0"),
            ("WORK_LOOP", "0"),
            ("THINK_TM_FREQUENCY", "0"),
            ("DO_HOTSPOT", "FALSE"),
            ("HOT_SCHEMA_FREQUENCY", "0"),
            ("UNTIL_STEADY", "FALSE"),
            ("TRACE", "off"),
            ("WARMUP", &warm_up),
            ("RUN_TIME", &run_time),
        ];
        let settings =
            settings::overridden(&settings, &pairs.map(|(key, value)| (key, value.to_owned())), "ladder")?;
        let spec = RunSpec::from_settings(&settings)?.spec;
        let engine = registry::open_target(&spec.target, &spec.options, Purpose::Use, None)?;
        let prepared = prepare(engine.as_ref(), &spec)?;
        if !prepared.server.capabilities.stores_data {
            let (target, example) = (&spec.target, "slob probe --ladder /data");
            return Err(usage!("{target} stores no blocks: name another target, or a folder: `{example}`"));
        }
        Ok(Self { engine, settings, prepared })
    }

    fn folder(&self, stop: &AtomicBool) -> Result<PathBuf, String> {
        let (engine, server) = (self.engine.as_ref(), &self.prepared.server);
        let (observers, copy) =
            (settings::observers(&self.settings), settings::copies_observer(&self.settings));
        let elsewhere = || {
            "no data of this target were found on this host: run `slob probe --ladder FOLDER` on the database's host"
                .to_owned()
        };
        match Site::find(engine, server, &observers, copy, stop).map_err(|error| error.to_string())? {
            Site::Here(local) => Ok(local.folder().to_owned()),
            Site::Servers(hosts) => {
                let [server, ..] = &hosts.topology.servers[..] else { return Err(elsewhere()) };
                let found = server.found.as_ref().map_err(|lacking| format!("{lacking}; {}", elsewhere()))?;
                let is_here = |(host, _)| {
                    hosts.topology.hosts.get(host).is_some_and(|host: &ObservedHost| host.is_here)
                };
                let here = server.observed_at.filter(|place| is_here(*place));
                match (here, &found.path) {
                    (Some(_), Some(path)) => Ok(path.clone()),
                    (Some(_), None) if !found.lacking.is_empty() => Err(format!(
                        "{} Or name a folder of its device: `slob probe --ladder FOLDER`",
                        found.lacking.join(" ")
                    )),
                    _ => Err(elsewhere()),
                }
            }
            Site::Nowhere => Err(elsewhere()),
        }
    }

    fn readers(&self) -> Result<Option<Vec<BlockReader>>, Failure> {
        let readers = self.prepared.homes.iter().map(|schema| self.engine.block_reader(*schema));
        readers.collect::<Result<_, _>>().map_err(Failure::failed)
    }
}

struct Climb<'a> {
    folder: Option<&'a FilePath>,
    database: Option<&'a Database>,
    plan: ProbePlan,
    stop: Arc<AtomicBool>,
    progress: Progress,
    done: u64,
    of: u64,
    rungs: Vec<Rung>,
}

impl Climb<'_> {
    /// Rungs take turns, so that a change over time meets each of them.
    fn all(&mut self, repeats: u32) -> Result<(), Failure> {
        let paths = match self.scratch() {
            // The database's own rungs need no folder that this account may write to.
            Err(why) if self.folder.is_none() && !why.is_interruption() => {
                let impossible = |path| Rung::impossible(Path::Without(path), &why.text());
                self.rungs.extend(ReadPath::ALL.map(impossible));
                self.of /= 2;
                None
            }
            paths => paths?,
        };
        for _ in 0..repeats {
            for (paths, read) in paths.iter().flat_map(|paths| ReadPath::ALL.map(|read| (paths, read))) {
                self.without_database(paths, read)?;
            }
            let Some(database) = self.database else { continue };
            let past_cache = self.past_cache(database)?;
            self.rungs.push(past_cache);
            self.run(database, Path::BufferCache)?;
            self.run(database, Path::Storage)?;
        }
        Ok(())
    }

    /// The default place is beside the data.
    fn scratch(&mut self) -> Result<Option<PathProbe>, Failure> {
        self.plan.dir = match (self.folder, self.database) {
            (Some(folder), _) => folder.to_owned(),
            (None, Some(database)) => database.folder(&self.stop).map_err(Failure::failed)?,
            (None, None) => return Ok(None),
        };
        let (progress, of) = (&self.progress, self.of);
        let mut on_event = |_| progress.at(0, of, "writing the scratch file");
        Ok(Some(PathProbe::fill(&self.plan, &mut on_event, &self.stop)?))
    }

    fn check(&mut self) -> Result<(), Failure> {
        self.done += 1;
        match self.stop.load(Ordering::Relaxed) {
            true => {
                Err(Failure::interrupted("the ladder was interrupted: the same command measures it again"))
            }
            false => Ok(()),
        }
    }

    fn without_database(&mut self, paths: &PathProbe, read: ReadPath) -> Result<(), Failure> {
        let path = Path::Without(read);
        self.progress.at(self.done, self.of, path.name());
        let step = paths.read(read, self.done, &self.stop)?;
        self.rungs.push(Rung::of_step(path, &step));
        self.check()
    }

    fn past_cache(&mut self, database: &Database) -> Result<Rung, Failure> {
        let path = Path::PastCache;
        self.progress.at(self.done, self.of, path.name());
        let Some(readers) = database.readers()? else {
            self.done += 1;
            let why = "this database reads single blocks through its buffer cache alone";
            return Ok(Rung::impossible(path, why));
        };
        let bytes = readers.iter().map(|reader| reader.bytes).min().unwrap_or_default();
        let plan = ProbePlan { file_bytes: bytes >> 20 << 20, ..self.plan.of_turn(self.done) };
        let readers = readers.into_iter().map(|reader| -> BlockTransfer<'_> { reader.read });
        let step: ProbeStep = time_reads(&plan, readers.collect(), &self.stop)?;
        self.check()?;
        Ok(Rung::of_step(path, &step))
    }

    fn run(&mut self, database: &Database, path: Path) -> Result<(), Failure> {
        self.progress.at(self.done, self.of, path.name());
        let name = if path == Path::BufferCache { "ladder-cached" } else { "ladder-storage" };
        let mut pairs = vec![("RUN_NAME", name.to_owned())];
        let spec = RunSpec::from_settings(&database.settings)?.spec;
        let block_bytes = database.prepared.server.block_bytes;
        let cached_blocks = CACHED_BYTES / u64::from(block_bytes);
        if path == Path::BufferCache && spec.scale.blocks(block_bytes) > cached_blocks {
            pairs.push(("SCALE", cached_blocks.to_string()));
        }
        let settings = settings::overridden(&database.settings, &pairs, "ladder")?;
        let record = measuring::measure_step(&settings, &self.stop, &mut Silent, |_| String::new())?;
        self.rungs.push(Rung::of_run(path, &record));
        self.check()
    }
}
