//! What is known of a figure arrives in the next command: the figure by the same name, its verdict or refusal, the limit in which
//! two sides differ, the exit code.

use std::fs;

use rstest::rstest;
use serde_json::Value;
use slob_testing::postgres::Version;
use slob_testing::skipped;
use slob_testing::tries::{ensure, shown_within};

use crate::common::{Bench, Called, Folder, Product, Throttle, awr_fixture, is_full, read_json, unwrapped};

struct Place {
    folder: Folder,
    /// Absent for SQLite.
    bench: Option<Bench>,
    sound: &'static str,
    cached: &'static str,
    /// The setting in which a throttled run differs.
    limit: &'static str,
}

const FIGURE: &str = "operations_per_s";
const MISSED: &str = "Complete? is BAD: No: the rate was not met";
const MISSED_OF: &str = "is BAD: No: the rate was not met";

/// A command of the chain: `{good}`, `{bad}` and others are folders of runs.
struct Station {
    line: &'static str,
    code: i32,
    says: &'static [&'static str],
    never: &'static [&'static str],
    /// The figure of the good run in the command's JSON.
    figure: Option<&'static str>,
}

const fn asks(line: &'static str, code: i32, says: &'static [&'static str]) -> Station {
    Station { line, code, says, never: &[], figure: None }
}

const fn never(
    line: &'static str,
    code: i32,
    says: &'static [&'static str],
    never: &'static [&'static str],
) -> Station {
    Station { line, code, says, never, figure: None }
}

const fn same(line: &'static str, figure: &'static str) -> Station {
    Station { line, code: 0, says: &[], never: &[], figure: Some(figure) }
}

/// The exit code of a gate that failed, or that noise leaves open.
const NOT_PASSED: i32 = -1;

const RUNS: &[Station] = &[
    same("show {good} --field figures", "/operations_per_s"),
    same("info {good} --json --columns operations_per_s", "/0/operations_per_s"),
    same("gate {good} --require 'operations_per_s > 1' --json", "/checks/0/found"),
    asks("list", 0, &["BAD: Complete?", "BAD: Physical?"]),
    asks("list --json", 0, &["\"verdicts\": \"BAD: Complete?\""]),
    asks("list --html", 0, &[]),
    asks(
        "info runs --columns name,operations_per_s,verdicts",
        0,
        &["bad|", "BAD: Complete?", "BAD: Physical?"],
    ),
    asks("show {bad} --field figures.operations_per_s", 0, &[]),
    asks("report {bad}", 0, &["rate was not met"]),
    never("diff {good} {bad}", 0, &["can't be compared", MISSED_OF], &["faster than", "slower than"]),
    never(
        "diff {good} {cached}",
        0,
        &["can't be compared", "Physical? of second is BAD"],
        &["faster than", "slower than"],
    ),
    asks("diff {good} {limited}", 0, &["slower than first", "Mind the different {limit}: "]),
    never("diff {good} {again}", 0, &[], &["{limit}"]),
    asks("gate {good} --require 'operations_per_s > 1'", 0, &["PASSED"]),
    asks("gate {bad} --require 'operations_per_s > 1'", 4, &["NOT KNOWN", MISSED_OF]),
    asks("gate {cached} --require 'operations_per_s > 1'", 4, &["NOT KNOWN", "Physical? "]),
    asks(
        "gate {limited} {held} --baseline {good} {again} --max-loss 'operations_per_s 10'",
        NOT_PASSED,
        &["{limit}"],
    ),
    asks("analyze {good} {bad} {cached} {limited} --metric operations_per_s", 0, &["{limit}", MISSED_OF]),
    never(
        "analyze {good} {bad} --metric operations_per_s",
        0,
        &["good can't be compared with bad", MISSED_OF],
        &["faster", "slower"],
    ),
    asks(
        "trend {good} {again} {bad} {cached} {limited}",
        0,
        &["2 of 5 runs do not count", "Complete? is BAD", "{limit}"],
    ),
    asks("ledger runs", 0, &["Left out: ", MISSED_OF]),
];

const DEMANDS: &[Station] = &[
    never("profile {good} {again} -o good.json", 0, &["Intervals"], &["is BAD"]),
    asks("profile {bad} -o bad.json", 0, &[MISSED]),
    asks("profile show bad.json", 0, &[MISSED]),
    asks("profile {cached} -o cached.json", 0, &["Physical? is BAD"]),
    asks("plan bad.json --conf empty.conf --force", 0, &[MISSED]),
    asks("headroom bad.json --directory h-bad", 4, &["Headroom is not known", MISSED]),
    asks(
        "headroom cached.json --directory h-cached",
        4,
        &["Headroom is not known", "Physical? is BAD", "--count-cached"],
    ),
];

impl Place {
    /// Writes do not happen beside a throttle of reads.
    fn sqlite() -> Self {
        let folder = Folder::loaded(2, "16M");
        folder.write(
            "slob.conf",
            "TARGET=sqlite:./d\nSCALE=16M\nWORK_UNIT=16\nUPDATE_PCT=0\nTHREADS_PER_SCHEMA=1\nWARMUP=0\nRUN_TIME=2\nCACHE_MB=1\n",
        );
        Self { folder, bench: None, sound: "", cached: "--buffered", limit: "I/O limit" }
    }

    /// The server's own cache is sound; the page cache is not.
    fn of(product: Product, settings: &[&str]) -> Option<Self> {
        let bench = product.start(settings)?;
        bench.setup(2, "32M");
        let conf = bench.folder.read("slob.conf").replace("WORK_UNIT=64", "WORK_UNIT=16");
        // Much redo: runs that are near the border of two models are in no common table.
        bench.folder.write(
            "slob.conf",
            &format!("{conf}UPDATE_PCT=20\nREDO_STRESS=HEAVY\nTHREADS_PER_SCHEMA=1\nRUN_TIME=2\n"),
        );
        let folder = Folder::new();
        folder.write("slob.conf", &bench.folder.read("slob.conf"));
        let (sound, cached) = ("--scale 2M --warmup 1", "");
        Some(Self { folder, bench: Some(bench), sound, cached, limit: "CPU limit" })
    }

    fn run(&self, name: &str, flags: &str, throttle: Option<&Throttle>) -> String {
        let line = format!("run 2 {flags}");
        let mut command = match (throttle, &self.bench) {
            (Some(throttle), None) => throttle.command(&self.folder, &line),
            _ => self.folder.command(line),
        };
        Called::from(command.env("SLOB_RUN_NAME", name).output().unwrap()).success();
        let run = self.folder.last_run();
        format!("runs/{}", run.file_name().unwrap().to_str().unwrap())
    }

    /// No verdict that its rate rests on is BAD.
    fn sound_run(&self, name: &str) -> String {
        self.judged_run(name, self.sound, None, |verdicts| !verdicts.contains("BAD"))
    }

    /// Repeats the run until its verdicts are the wanted ones: others may use the machine.
    fn judged_run(
        &self,
        name: &str,
        flags: &str,
        throttle: Option<&Throttle>,
        wanted: fn(&str) -> bool,
    ) -> String {
        shown_within(5, || {
            let run = self.run(name, flags, throttle);
            let shown = self.folder.slob(format!("info {run} --columns verdicts")).success().stdout;
            ensure(wanted(&shown), || {
                fs::remove_dir_all(self.folder.at(&run)).unwrap();
                shown
            })?;
            Ok(run)
        })
    }
}

type Runs = Vec<(&'static str, String)>;

fn runs(place: &Place) -> Runs {
    let short = format!("{} --run-time 1", place.sound);
    let is_bad = |verdicts: &str| verdicts.contains("BAD: Complete?");
    let mut runs = vec![
        ("good", place.sound_run("good")),
        ("again", place.sound_run("again")),
        // A window of two seconds hardly ends late, which would be said first.
        ("bad", place.judged_run("bad", &format!("{} --rate 1000000", place.sound), None, is_bad)),
    ];
    let throttle = match &place.bench {
        None => Throttle::of_disk_below(place.folder.path(), 200),
        Some(_) => Throttle::of_cpu(10),
    };
    match throttle {
        Ok(throttle) => {
            if let Some(pid) = place.bench.as_ref().and_then(|bench| bench.server.served().pid()) {
                throttle.add(pid);
            }
            let ends_in_time = |verdicts: &str| !verdicts.contains("Complete?");
            let run = |name| (name, place.judged_run(name, &short, Some(&throttle), ends_in_time));
            runs.extend(["limited", "held"].map(run));
        }
        Err(why) => skipped(why),
    }
    // It reads all data, and leaves in the server's cache little of what the others use.
    let cached = format!("{} --run-time 1", place.cached);
    let is_cached = |verdicts: &str| verdicts.contains("BAD: Physical?");
    runs.push(("cached", place.judged_run("cached", &cached, None, is_cached)));
    runs
}

fn ask(place: &Place, runs: &Runs, stations: &[Station]) {
    let expected = operations_per_s(&read_json(place.folder.at(&runs[0].1).join("run.json")));
    let mut wrong = Vec::new();
    for station in stations {
        let filled = |text: &str| {
            let text = text.replace("{limit}", place.limit);
            runs.iter().fold(text, |text, (name, run)| text.replace(&format!("{{{name}}}"), run))
        };
        let line = filled(station.line);
        if line.contains("{limited}") {
            continue;
        }
        let called = place.folder.slob(&line);
        let said = unwrapped(&called.all());
        let mut faults = Vec::new();
        let is_right = match station.code {
            NOT_PASSED => [1, 4].contains(&called.code),
            code => called.code == code,
        };
        if !is_right {
            faults.push(format!("exit code {} instead of {}", called.code, station.code));
        }
        let lacking = station.says.iter().map(|words| filled(words)).filter(|words| !said.contains(words));
        faults.extend(lacking.map(|words| format!("does not say '{words}'")));
        let too_many = station.never.iter().map(|words| filled(words)).filter(|words| said.contains(words));
        faults.extend(too_many.map(|words| format!("says '{words}'")));
        if let Some(pointer) = station.figure {
            let json: Value = serde_json::from_str(&called.stdout).unwrap_or_default();
            let found = json.pointer(pointer).and_then(Value::as_f64);
            if found.is_none_or(|found| (found / expected - 1.0).abs() > 1e-3) {
                faults.push(format!("{FIGURE} is {found:?} at {pointer} instead of {expected}"));
            }
        }
        if !faults.is_empty() {
            wrong.push(format!("slob {line}: {}\n{}", faults.join("; "), called.all()));
        }
    }
    let (count, all) = (wrong.len(), stations.len());
    assert!(count == 0, "{count} of {all} answers are wrong:\n{}", wrong.join("\n"));
}

fn operations_per_s(record: &Value) -> f64 {
    let kinds = record["operations"].as_object().unwrap().values();
    let operations: u64 = kinds.map(|kind| kind["operations"].as_u64().unwrap()).sum();
    operations as f64 / record["window"]["seconds"].as_f64().unwrap()
}

/// The search and the replay of the good demand print what their exit codes say.
fn searched(place: &Place) {
    let flags = "--calibration 2s --warmup 0 --json";
    let of_server = match place.bench {
        Some(_) => format!("--by commits --grow 0.2 {}", place.sound.replace("--warmup 1", "")),
        None => String::new(),
    };
    let headroom =
        format!("headroom good.json --most 1 --repeats 1 --run-time 1 --limit mean=10s {flags} {of_server}");
    let replay = format!("headroom good.json --replay day --compress 1 {flags} {of_server}");
    for line in [headroom, replay] {
        let called = place.folder.slob(&line);
        let found: Value =
            serde_json::from_str(&called.stdout).unwrap_or_else(|_| panic!("{line}: {}", called.all()));
        let (why, runs) = (&found["unknown"], &found["plan"]["runs"]);
        match called.code {
            0 | 1 => assert!(why.is_null() && found["refused"].is_null(), "{line}: {found:#}"),
            4 if found["carries"].is_null() || why.is_string() || !found["runs"].is_null() => {}
            code => panic!("{line}: exit code {code}: {}", called.all()),
        }
        assert!(!runs.as_array().unwrap().is_empty(), "it was measured: {found:#}");
    }
}

/// One of two variants misses its rate: the others are compared, and it is named.
fn campaign(place: &Place) {
    let target = place.folder.target();
    let scale = if place.bench.is_some() { "SCALE = \"2M\"" } else { "SCALE = \"16M\"" };
    place.folder.write(
        "plan.toml",
        &format!(
            "name = \"chain\"\ndirectory = \"c\"\nrepeats = 1\nsessions = [\"2x1\"]\n\
             settings = {{ TARGET = \"{target}\", RUN_TIME = 1, WARMUP = 0, WORK_UNIT = 16, UPDATE_PCT = 0, {scale} }}\n\
             [[variant]]\nname = \"plain\"\n[[variant]]\nname = \"missed\"\nsettings = {{ RATE = 1000000 }}\n"
        ),
    );
    place.folder.slob("campaign plan.toml").success();
    let said = unwrapped(&place.folder.slob("analyze c").success().stdout);
    assert!(said.contains("Complete? of missed is BAD") && said.contains("can't be compared with"), "{said}");
}

/// The probe's ceiling arrives in the run, and the ladder's rungs have verdicts.
fn device(place: &Place) {
    let folder = &place.folder;
    folder.slob("probe . --seconds 0.2 --size-mb 32 --sessions 2 --depths 4").success();
    let rungs: Value = folder.slob("ladder -s 1 -t 1 --seconds 1 --size-mb 32 --json").json();
    let storage = rungs.as_array().unwrap().last().unwrap();
    assert!(storage["verdict"].is_string() && storage["spread_percent"].is_number(), "{storage}");
    let run = place.run("probed", place.sound, None);
    let record = read_json(folder.at(&run).join("run.json"));
    assert!(!record["probe"].is_null(), "the run knows the probe");
    let shown = folder.slob(format!("show {run} --field figures.percent_of_ceiling"));
    let report = folder.slob(format!("report {run}")).success().stdout;
    assert!(shown.code == 2 || unwrapped(&report).contains("ceiling"), "{report}");
}

fn walk(place: &Place) {
    place.folder.write("empty.conf", "# no target\n");
    let runs = runs(place);
    ask(place, &runs, RUNS);
    ask(place, &runs, DEMANDS);
    assert!(place.folder.at("runs/index.html").is_file());
    campaign(place);
}

#[test]
fn the_chain_on_sqlite() {
    walk(&Place::sqlite());
}

#[test]
fn the_chain_of_searches_on_sqlite() {
    let place = Place::sqlite();
    let [good, again] = ["good", "again"].map(|name| place.sound_run(name));
    place.folder.slob(format!("profile {good} {again} -o good.json")).success();
    searched(&place);
}

#[test]
fn the_chain_of_the_device() {
    device(&Place::sqlite());
}

#[rstest]
#[case::postgresql_18(Product::Postgres(Version::V18), &["shared_buffers=8MB"])]
#[case::postgresql_15(Product::Postgres(Version::V15), &["shared_buffers=8MB"])]
#[case::mariadb(Product::MariaDb, &["innodb-buffer-pool-size=24M", "innodb-flush-method=fsync"])]
fn the_chain_on(#[case] product: Product, #[case] settings: &[&str]) {
    if product != Product::Postgres(Version::V18) && !is_full() {
        return skipped("PostgreSQL 18 has its own; DRILLS=full walks it on others too");
    }
    if let Some(place) = Place::of(product, settings) {
        walk(&place);
        searched(&place);
    }
}

/// `slob analyze` reads what `slob awr info` prints, and `slob profile` the report: the reads are the same.
#[test]
fn the_chain_of_a_report() {
    let folder = Folder::new();
    let report = "awr.txt.16";
    fs::copy(awr_fixture("awr_12201.txt"), folder.at(report)).unwrap();
    let piped = folder.slob(format!("awr info {report}")).success().stdout;
    folder.write("i.pipe", &piped);
    let row: Vec<Vec<&str>> = piped.lines().map(|line| line.split('|').collect()).collect();
    let of = |name: &str| -> f64 {
        row[1][row[0].iter().position(|head| *head == name).unwrap()].parse().unwrap()
    };
    let (reads, writes) = (of("PREADS"), of("PWRITES"));
    let analysis = folder.slob("analyze i.pipe --csv").success().stdout;
    assert!([writes, reads + writes].iter().all(|sum| analysis.contains(&format!(",{sum},"))), "{analysis}");
    let profile = folder.slob(format!("profile {report} --json")).json();
    let found = profile["intervals"][0]["figures"]["physical_read_requests_per_s"].as_f64().unwrap();
    assert!((found / reads - 1.0).abs() < 1e-6, "{found} and {reads}");
}
