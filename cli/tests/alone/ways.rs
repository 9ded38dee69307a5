//! One server in a container, observed in each way there is, in a run each. Only `auto` finds it by itself.

use std::path::Path;

use slob_facts::{Grade, Question, figure, verdicts};
use slob_measure::Counter;
use slob_record::{Record, read_record};
use slob_testing::Sshd;
use slob_testing::jobs::TestServer;
use slob_testing::postgres::Version;
use slob_testing::tries::{Seen, ensure, shown_within};

use crate::alone;
use crate::common::{Bench, SLOB, contained, skip_without_a_device};

/// The same operations on the same blocks in each run, nearly all of them misses.
const WORK: &str = "run -t 2 --work-loop 100 --update-pct 0 --seed 7";

#[derive(Debug)]
struct Run {
    verdicts: Vec<(Question, Grade)>,
    /// Bytes that the device read for each that the database counts as physical: for everybody, and for the database.
    of_device: f64,
    for_database: f64,
    cpu_s: f64,
}

impl Run {
    fn of(record: &Record) -> Self {
        let figures = figure::Figures::of(record);
        let get = |figure: &figure::Figure| figure.of(&figures).unwrap_or_else(|| panic!("{}", figure.name));
        let block_bytes = u64::from(record.server.block_bytes);
        let asked_for = record.counters.get(Counter::PhysicalReads).expect("it counts them") * block_bytes;
        let device =
            record.host.as_ref().and_then(|host| host.device.as_ref()?.counters).expect("its device");
        assert!(record.db_io.is_some(), "root may see what its processes read: {:?}", record.notes);
        Self {
            verdicts: verdicts(record).map(|verdict| (verdict.question, verdict.answer)).into(),
            of_device: device.used.read_bytes as f64 / asked_for as f64,
            for_database: get(&figure::DATABASE_READS_PER_S) / get(&figure::PHYSICAL_READS_PER_S),
            cpu_s: get(&figure::DB_CPU_S),
        }
    }
}

#[test]
fn one_server_is_the_same_by_auto_by_its_process_and_through_ssh() {
    let _alone = alone();
    if skip_without_a_device() {
        return;
    }
    let settings = [("shared_buffers", "2MB"), ("debug_io_direct", "data"), ("max_connections", "20")];
    let Some((bench, _container)) = contained(Version::V18, &settings) else { return };
    let Some(sshd) = Sshd::start_or_skip() else { return };
    sshd.install("slob", Path::new(SLOB));
    let first = seen(&bench, &sshd, "auto");
    let by_pid = format!("pid:{}", first.observed[0].process.expect("it is root's"));
    // Other work on the machine takes CPUs and the device now and then, which figures tell.
    shown_within(4, || {
        let runs = ["auto", &by_pid, "ssh:localhost"].map(|observe| Run::of(&seen(&bench, &sshd, observe)));
        let [auto, others @ ..] = &runs;
        others.iter().try_for_each(|other| agree(auto, other))
    });
}

fn seen<S: TestServer>(bench: &Bench<S>, sshd: &Sshd, observe: &str) -> Record {
    let line = format!("{WORK} --observe {observe}");
    bench.folder.slob_with_env(line, &[("PATH", &sshd.search_path())]).success();
    let record = read_record(&bench.folder.last_run()).unwrap();
    assert_eq!(record.observed[0].by, observe);
    record
}

fn agree(one: &Run, other: &Run) -> Seen {
    let within = |one: f64, other: f64, share: f64| (one - other).abs() <= share * one.max(other);
    let said = || format!("{one:?} {other:?}");
    let mut pairs = one.verdicts.iter().zip(&other.verdicts);
    ensure(
        one.verdicts.len() == other.verdicts.len() && pairs.all(|(one, other)| agree_in(one, other)),
        said,
    )?;
    ensure(within(one.for_database, other.for_database, 0.01), said)?;
    // The device is shared: it can only have read more.
    ensure([one, other].iter().all(|run| run.of_device >= 0.99 * run.for_database), said)?;
    // The same instructions take more time beside other work: on two CPUs it shares their caches and their clock. An observer
    // that counted a part of the processes, or some of them twice, would be further off.
    ensure(within(one.cpu_s, other.cpu_s, 0.4), said)
}

/// The share of CPU decides on 'CPU to spare?'. Other work moves it over one limit, not over two.
fn agree_in(one: &(Question, Grade), other: &(Question, Grade)) -> bool {
    let neighbours = [[Grade::Good, Grade::Doubt], [Grade::Doubt, Grade::Bad]];
    let is_near =
        || neighbours.iter().any(|pair| [one, other].iter().all(|verdict| pair.contains(&verdict.1)));
    one.0 == other.0 && (one.1 == other.1 || (one.0 == Question::CpuToSpare && is_near()))
}
