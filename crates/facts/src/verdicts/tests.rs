//! Each row is a record, an edit, the answer, and words of the sentence; words after "- " are of the details.

use rstest::rstest;
use slob_host::{CpuSplit, CpuTimes, DeviceUse, LimitedIo, ProcessIo};
use slob_measure::{Counter, Counters, Latencies, LatencyKind, OpKind, WaitEvent, WaitTotal};
use slob_record::{
    AutoWarmUp, ClientHostRecord, EdgeRecord, Edges, Interval, KindRecord, LongestWait, NeighbourUse, Status,
    UntilSteady, Verification, Window,
};
use slob_spec::ArrivalProcess;
use slob_stats::{Histogram, Series};

use super::*;
use crate::figure;
use crate::measured::{neighbour_use, physical_read_bytes};
use crate::{Bottleneck, Claim, Run, bottleneck};
use slob_testing::records::{
    self, direct_read_run, page_cache_run, uncounted, update_run, with_device_read_share, with_exact,
    with_host_busy, with_series, with_utilisation,
};

type Edit = fn(&mut Record);

/// A share of this run's reads.
fn with_neighbour(record: &mut Record, read_share: f64) {
    let bytes = physical_read_bytes(record).unwrap_or(0) as f64;
    let read_bytes = Some((bytes * read_share) as u64);
    records::with_neighbour(record, NeighbourUse { read_bytes, ..neighbour_use(record).unwrap_or_default() });
}

fn verdict(question: Question, record: &Record) -> Verdict {
    verdicts(record).into_iter().find(|verdict| verdict.question == question).unwrap()
}

fn assert_says(question: Question, record: &Record, answer: Grade, words: &str) {
    let verdict = verdict(question, record);
    assert_eq!(verdict.answer, answer, "{verdict:?}");
    match words.strip_prefix("- ") {
        Some(words) => {
            let details = verdict.details();
            assert!(details.iter().any(|detail| detail.contains(words)), "'{words}' is not in {details:?}");
        }
        None => assert!(verdict.sentence().contains(words), "'{words}' is not in {}", verdict.sentence()),
    }
}

fn edited(edit: Edit) -> Record {
    let mut record = direct_read_run();
    edit(&mut record);
    record
}

fn used(record: &mut Record) -> &mut DeviceUse {
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    &mut device.counters.as_mut().unwrap().used
}

fn cpu(record: &mut Record) -> &mut CpuTimes {
    record.host.as_mut().unwrap().cpu.as_mut().unwrap()
}

fn count_of(record: &Record, counter: Counter) -> u64 {
    record.counters.get(counter).unwrap()
}

fn db_time_s(record: &Record) -> f64 {
    figure::DB_TIME_S.of(&Figures::of(record)).unwrap()
}

mod common {
    use super::*;

    #[test]
    fn every_question_is_answered_in_order() {
        for record in [direct_read_run(), records::failed_run()] {
            assert_eq!(verdicts(&record).map(|verdict| verdict.question), Question::ALL);
        }
    }

    #[test]
    fn without_a_window_only_the_last_question_has_an_answer() {
        let answers = verdicts(&records::failed_run()).map(|verdict| verdict.answer);
        use Grade::{Bad, Unknown};
        assert_eq!(answers, [Unknown, Unknown, Unknown, Unknown, Bad]);
    }

    #[test]
    fn the_worst_finding_speaks_and_no_other_is_lost() {
        let mut record = edited(|record: &mut Record| {
            record.sessions[2].whole_window = false;
            record.load.as_mut().unwrap().schemas[1].row_blocks /= 2;
        });
        assert_says(Question::Complete, &record, Grade::Doubt, "1 of 4 sessions");
        record.status = Status::Failed { error: "gone".into() };
        assert_says(Question::Complete, &record, Grade::Bad, "No: the run failed: gone.");
        assert_says(Question::Complete, &record, Grade::Bad, "- 1 of 4 sessions");
        assert_says(Question::Complete, &record, Grade::Bad, "- schema 2 has 2.00 rows per block");
        let even = edited(|record: &mut Record| with_device_read_share(record, 1.2));
        assert_says(Question::Steady, &even, Grade::Doubt, "Not quite: ");
        assert_says(Question::Steady, &even, Grade::Doubt, "- Yes: 300 operations/s");
    }

    #[test]
    fn a_verdict_is_data() {
        let mut record = page_cache_run();
        let json = serde_json::to_value(verdict(Question::Physical, &record)).unwrap();
        let expected = json!({
            "question": "physical",
            "answer": "BAD",
            "cause": "page_cache",
            "threshold": "mostly_cached",
            "remedy": null,
            "sentence": "No: your OS page cache served 99.9 % of these reads; the device did only 716 reads/s.",
        });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&json[name], value, "{name}");
        }
        let missing = &json["numbers"]["missing"];
        assert_eq!(missing["witness"], "device");
        assert!(missing["delivered"].as_f64().unwrap() < 0.01 && json["others"].is_array(), "{json}");
        record.server.page_cache_remedy = Some("Limit it.".into());
        let own = verdict(Question::Physical, &record);
        assert_eq!(own.finding.remedy().as_deref(), Some("Limit it."));
        assert!(own.details().contains(&"Limit it.".to_owned()));
        let remedy = edited(|record: &mut Record| {
            record.host.as_mut().unwrap().device.as_mut().unwrap().device.cached_below = true;
        });
        let verdict = verdict(Question::Physical, &remedy);
        assert!(
            verdict.finding.remedy().unwrap().contains("losetup") && verdict.sentence().contains("losetup")
        );
    }

    #[test]
    fn a_figure_is_worth_no_more_than_the_verdicts_it_rests_on() {
        use crate::Standing::{Invalid, Sound};
        let (sound, cached) = (direct_read_run(), page_cache_run());
        let (sound, cached) = (Run::of(&sound), Run::of(&cached));
        assert_eq!(sound.standing(&figure::PHYSICAL_READS_PER_S, Claim::Storage), Sound);
        assert_eq!(
            cached.standing(&figure::PHYSICAL_READS_PER_S, Claim::Storage),
            Invalid(Question::Physical)
        );
        for figure in [
            figure::OPERATIONS_PER_S,
            figure::OPERATION_MEAN_US,
            figure::OPERATION_P99_US,
            figure::REDO_MB_PER_S,
        ] {
            assert_eq!(
                cached.standing(&figure, Claim::Storage),
                Invalid(Question::Physical),
                "{}",
                figure.name
            );
        }
        assert_eq!(cached.standing(&figure::DEVICE_WRITES_PER_S, Claim::Storage), Sound);
        let failed = records::failed_run();
        let failed = Run::of(&failed);
        assert_eq!(failed.standing(&figure::OPERATIONS_PER_S, Claim::Storage), Invalid(Question::Complete));
        assert_eq!(failed.standing(&figure::SESSIONS, Claim::Storage), Sound);
    }

    #[test]
    fn threshold_names_are_unique_within_their_question() {
        let mut names: Vec<_> = crate::thresholds::THRESHOLDS
            .iter()
            .map(|threshold| (threshold.question.map(|question| question as u8), threshold.name))
            .collect();
        names.dedup();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), count), (crate::thresholds::THRESHOLDS.len(), names.len()));
    }
}

mod physical {
    use super::super::physical::is_cached_test;
    use super::*;

    /// A server whose reads go through the page cache.
    fn buffered(share: f64) -> Record {
        let mut record = direct_read_run();
        record.server.embedded = false;
        record.server.direct_io = Some(false);
        with_device_read_share(&mut record, share);
        record
    }

    /// Updates of data that fit into the buffer cache.
    fn cached_updates() -> Record {
        let mut record = update_run();
        record.counters.set(Counter::PhysicalReads, 1000);
        record.client_io.as_mut().unwrap().read_bytes = 1000 * u64::from(record.server.block_bytes);
        record
    }

    /// Reads of a cached server beside a neighbour's: 4 us each, and the device's 69.
    fn cached_beside_a_neighbour() -> Record {
        let mut record = page_cache_run();
        with_read_times(&mut record, 4);
        with_device_read_share(&mut record, 0.993);
        used(&mut record).read_time_ms = used(&mut record).reads * 69 / 1000;
        record
    }

    fn with_read_times(record: &mut Record, us: u64) {
        let reads = count_of(record, Counter::PhysicalReads);
        record.counters.set(Counter::PhysicalReadTimeNs, reads * us * 1000);
    }

    /// The kernel fetched all for the server, and the device read more for others.
    fn fetched_beside_others(record: &mut Record) {
        with_device_read_share(record, 2.5);
        let read_bytes = physical_read_bytes(record).unwrap();
        record.db_io = Some(ProcessIo { read_bytes, ..ProcessIo::default() });
    }

    fn in_memory(record: &mut Record) {
        record.host.as_mut().unwrap().device.as_mut().unwrap().device.memory = Some("zram0".into());
    }

    /// So many blocks came with each request of the device.
    fn read_ahead(record: &mut Record, blocks: u64) {
        with_read_times(record, 20);
        used(record).reads /= blocks;
        used(record).read_time_ms /= blocks;
    }

    fn with_own_reads(record: &mut Record, part: u64) {
        record.client_io.as_mut().unwrap().read_bytes = physical_read_bytes(record).unwrap() / part;
    }

    /// A loop device through the page cache, whose disks read that share.
    fn with_loop_device(record: &mut Record, share: Option<f64>) {
        let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
        device.device.cached_below = true;
        device.device.top.as_mut().unwrap().name = "loop0".into();
        let counters = device.counters.as_mut().unwrap();
        counters.disk_read_bytes = share.map(|share| (counters.used.read_bytes as f64 * share) as u64);
    }

    #[rstest]
    #[case(0.003, Grade::Bad, "page cache served 99.7 %")]
    #[case(0.49, Grade::Bad, "page cache served 51.0 %")]
    #[case(0.51, Grade::Doubt, "page cache served 49.0 %")]
    #[case(0.949, Grade::Doubt, "page cache served 5.1 %")]
    #[case(0.951, Grade::Good, "delivered 95.1 %")]
    #[case(1.049, Grade::Good, "delivered 104.9 %")]
    #[case(1.06, Grade::Doubt, "6.0 % more")]
    fn the_devices_share_decides(#[case] share: f64, #[case] answer: Grade, #[case] words: &str) {
        assert_says(Question::Physical, &buffered(share), answer, words);
    }

    #[rstest]
    #[case::direct_reads_are_not_blamed_on_the_page_cache(buffered(0.1),
        |record: &mut Record| record.server.direct_io = Some(true), Grade::Bad, "bypass the page cache")]
    #[case::others_do_not_spoil_the_kernels_count(direct_read_run(),
        |record: &mut Record| with_device_read_share(record, 1.4), Grade::Good, "- 40.0 % more")]
    #[case::others_reads_do_not_hide_a_cache(buffered(1.0), |record: &mut Record| {
        record.server.embedded = true;
        with_own_reads(record, 50);
    }, Grade::Bad, "page cache served 98.0 %")]
    #[case::the_kernel_fetched_all(buffered(1.0), |record: &mut Record| {
        record.server.embedded = true;
        with_own_reads(record, 1);
    }, Grade::Good, "")]
    #[case::reads_of_another_device(direct_read_run(), |record: &mut Record| {
        record.server.direct_io = Some(false);
        with_device_read_share(record, 0.02);
    }, Grade::Bad, "may be on another device")]
    #[case::a_loop_device(direct_read_run(), |record: &mut Record| with_loop_device(record, None), Grade::Doubt,
        "loop0 reads the file behind it through the page cache")]
    #[case::its_disks_read_all(direct_read_run(), |record: &mut Record| with_loop_device(record, Some(1.0)), Grade::Doubt,
        "may not have come from a disk")]
    #[case::its_disks_read_more(direct_read_run(), |record: &mut Record| with_loop_device(record, Some(3.0)), Grade::Doubt,
        "may not have come from a disk")]
    #[case::its_disks_read_less(direct_read_run(), |record: &mut Record| with_loop_device(record, Some(0.8)), Grade::Doubt,
        "never reached the disks below")]
    #[case::its_disks_read_hardly(direct_read_run(), |record: &mut Record| with_loop_device(record, Some(0.04)), Grade::Bad,
        "never reached the disks below")]
    #[case::updates_of_cached_data(cached_updates(), |_: &mut Record| {}, Grade::Good,
        "Yes: this was a test of writes (63.4 MB/s of redo, ")]
    #[case::updates_of_cached_data_with_hits(cached_updates(), |_: &mut Record| {}, Grade::Good, "99.98 % hit the buffer cache")]
    #[case::their_few_reads_came_from_a_cache(cached_updates(),
        |record: &mut Record| record.client_io.as_mut().unwrap().read_bytes = 0, Grade::Doubt, "")]
    #[case::no_reads_beside_updates(cached_updates(), |record: &mut Record| {
        record.client_io.as_mut().unwrap().read_bytes = 0;
        record.counters.set(Counter::PhysicalReads, 0);
    }, Grade::Good, "")]
    #[case::redo_that_the_device_did_not_write(cached_updates(), |record: &mut Record| used(record).write_bytes /= 4,
        Grade::Doubt, "of the database's redo")]
    #[case::an_embedded_database_without_a_device(direct_read_run(), |record: &mut Record| with_utilisation(record, None),
        Grade::Good, "the storage delivered")]
    #[case::a_server_without_a_device(direct_read_run(), |record: &mut Record| {
        with_utilisation(record, None);
        record.server.embedded = false;
    }, Grade::Unknown, "device's counters are missing")]
    #[case::a_server_without_a_host(direct_read_run(), |record: &mut Record| {
        record.host = None;
        record.server.embedded = false;
    }, Grade::Unknown, "switched off")]
    #[case::cached_reads(buffered(0.1), |record: &mut Record| {
        record.counters.set(Counter::PhysicalReads, 1000);
        record.counters.set(Counter::LogicalReads, 1_000_000);
    }, Grade::Good, "99.9 % of 1,000,000 block visits")]
    #[case::no_physical_read(buffered(0.1), |record: &mut Record| {
        record.counters.set(Counter::PhysicalReads, 0);
        uncounted(record, Counter::LogicalReads);
    }, Grade::Good, "")]
    #[case::no_read_at_all(buffered(0.1), |record: &mut Record| {
        record.counters.set(Counter::PhysicalReads, 0);
        record.counters.set(Counter::LogicalReads, 0);
    }, Grade::Unknown, "")]
    #[case::a_server_that_was_restarted(buffered(1.0), |record: &mut Record| record.counters = Counters::default(),
        Grade::Unknown, "the server was restarted")]
    #[case::no_counter(direct_read_run(), |record: &mut Record| uncounted(record, Counter::PhysicalReads), Grade::Unknown,
        "does not count")]
    #[case::a_neighbour_by_times(cached_beside_a_neighbour(), |_: &mut Record| {}, Grade::Bad, "memory speed; the device took 69")]
    #[case::a_neighbour_by_bytes(cached_beside_a_neighbour(),
        |record: &mut Record| record.db_io = Some(ProcessIo::default()), Grade::Bad, "served 100.0 % of these reads")]
    #[case::a_neighbour_by_the_servers_bytes(cached_beside_a_neighbour(),
        |record: &mut Record| record.db_io = Some(ProcessIo::default()), Grade::Bad, "the server's processes")]
    #[case::a_neighbour_without_times(cached_beside_a_neighbour(),
        |record: &mut Record| uncounted(record, Counter::PhysicalReadTimeNs), Grade::Doubt, "only the device's total is known")]
    #[case::the_servers_processes_fetched_all(cached_beside_a_neighbour(), |record: &mut Record| {
        fetched_beside_others(record);
        with_read_times(record, 100);
    }, Grade::Good, "- other programs used it")]
    #[case::others_requests_hide_those_that_a_cache_saved(
        cached_beside_a_neighbour(),
        fetched_beside_others,
        Grade::Bad,
        "which is memory speed"
    )]
    #[case::without_times_others_requests_may_hide_a_cache(cached_beside_a_neighbour(), |record: &mut Record| {
        fetched_beside_others(record);
        uncounted(record, Counter::PhysicalReadTimeNs);
    }, Grade::Unknown, "caused a request is not counted")]
    #[case::few_reads_prove_nothing(buffered(1.0), |record: &mut Record| {
        record.counters.set(Counter::PhysicalReads, 99);
        record.counters.set(Counter::LogicalReads, 99);
        with_device_read_share(record, 1.0);
    }, Grade::Unknown, "99 reads are too few")]
    #[case::times_between_memory_and_device(cached_beside_a_neighbour(), |record: &mut Record| with_read_times(record, 20),
        Grade::Doubt, "")]
    #[case::times_of_the_device(cached_beside_a_neighbour(), |record: &mut Record| with_read_times(record, 60), Grade::Good, "")]
    #[case::read_ahead_makes_up_for_cached_reads(cached_beside_a_neighbour(), |record: &mut Record| read_ahead(record, 8),
        Grade::Bad, "reads 3,666,448 at most caused a request")]
    #[case::read_ahead_makes_up_for_a_few(buffered(1.0), |record: &mut Record| used(record).reads = used(record).reads * 9 / 10,
        Grade::Doubt, "Not quite: of 1,170,432 reads")]
    #[case::read_ahead_of_scans(cached_beside_a_neighbour(), |record: &mut Record| {
        read_ahead(record, 8);
        let rows = count_of(record, Counter::PhysicalReads);
        let scans = KindRecord { operations: 8, rows, ..KindRecord::default() };
        record.operations.insert(OpKind::Scan, scans);
    }, Grade::Good, "")]
    #[case::data_in_memory(direct_read_run(), in_memory, Grade::Bad, "the data are in memory (zram0)")]
    #[case::a_log_in_memory(cached_updates(), in_memory, Grade::Bad, "the data are in memory (zram0)")]
    #[case::cached_reads_of_data_in_memory(buffered(0.1), |record: &mut Record| {
        in_memory(record);
        record.counters.set(Counter::PhysicalReads, 1000);
        record.counters.set(Counter::LogicalReads, 1_000_000);
    }, Grade::Good, "Yes: this was a test of cached reads")]
    #[case::a_file_system_that_compresses(buffered(0.4), |record: &mut Record| {
        record.server.direct_io = Some(true);
        let device = &mut record.host.as_mut().unwrap().device.as_mut().unwrap().device;
        (device.file_system, device.mount_options) = ("btrfs".into(), vec!["rw".into(), "compress=zstd:3".into()]);
    }, Grade::Doubt, "btrfs compresses data")]
    fn findings(#[case] mut record: Record, #[case] edit: Edit, #[case] answer: Grade, #[case] words: &str) {
        edit(&mut record);
        assert_says(Question::Physical, &record, answer, words);
    }

    #[test]
    fn reads_of_undo_logs_are_requested_by_the_server_too() {
        let mut record = direct_read_run();
        let bytes = physical_read_bytes(&record).unwrap();
        record.client_io.as_mut().unwrap().read_bytes = bytes * 109 / 100;
        with_device_read_share(&mut record, 1.09);
        assert_says(Question::Physical, &record, Grade::Doubt, "more than the buffer cache asked for");
        record.counters.set(Counter::SharedReadBytes, bytes * 9 / 100);
        assert_says(Question::Physical, &record, Grade::Good, "");
    }

    #[rstest]
    #[case(3_000, Grade::Doubt, "on average by its own clock, which is memory's time", false)]
    #[case(216_000, Grade::Unknown, "counters are missing", true)]
    fn without_a_witness_the_databases_own_clock_can_only_contradict(
        #[case] each_ns: u64,
        #[case] answer: Grade,
        #[case] words: &str,
        #[case] is_plausible: bool,
    ) {
        let mut record = buffered(1.0);
        record.host = None;
        record.latencies.set(LatencyKind::PhysicalRead, records::spread(100_000, each_ns));
        assert_says(Question::Physical, &record, answer, words);
        let details = verdict(Question::Physical, &record).details();
        let has_no_contradiction =
            details.iter().any(|detail| detail.contains("There is no proof, and no contradiction"));
        assert_eq!(has_no_contradiction, is_plausible, "{details:?}");
    }

    #[test]
    fn disks_that_read_less_than_the_device_on_top_are_seen_without_a_loop_device() {
        let mut record = direct_read_run();
        let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
        let counters = device.counters.as_mut().unwrap();
        counters.disk_read_bytes = Some(counters.used.read_bytes / 4);
        assert_says(Question::Physical, &record, Grade::Bad, "a cache between it and the disks");
        let figures = Figures::of(&record);
        let all = figure::DEVICE_READS_PER_S.of(&figures).unwrap();
        let own = figure::DATABASE_READS_PER_S.of(&figures).unwrap();
        assert!((own - all / 4.0).abs() < 1.0, "{own} of {all}");
    }

    #[test]
    fn a_neighbours_reads_are_no_part_of_the_ceiling() {
        let mut record = cached_beside_a_neighbour();
        record.db_io = Some(ProcessIo::default());
        assert_eq!(figure::PERCENT_OF_CEILING.of(&Figures::of(&record)), Some(0.0));
    }

    #[test]
    fn either_redo_or_time_makes_a_load_of_writes() {
        let mut record = cached_updates();
        assert!(!is_cached_test(&Figures::of(&record)));
        record.counters.set(Counter::RedoBytes, 59_000_000);
        record.latencies = Latencies::default();
        assert!(is_cached_test(&Figures::of(&record)));
        record.counters.set(Counter::RedoBytes, 61_000_000);
        assert!(!is_cached_test(&Figures::of(&record)));
        uncounted(&mut record, Counter::RedoBytes);
        assert!(is_cached_test(&Figures::of(&record)));
        let db_time_ns = 1e9 * db_time_s(&record);
        let mut with_share = |share: f64| {
            let each_ns = (share * db_time_ns / 1.08 / 10_000.0) as u64;
            record.latencies.set(LatencyKind::PhysicalWrite, records::spread(10_000, each_ns));
            is_cached_test(&Figures::of(&record))
        };
        assert!(with_share(0.08) && !with_share(0.12));
    }

    /// A server's own processes write its pages: writes may be 140 % of DB time.
    #[test]
    fn writes_of_a_servers_own_processes_are_not_db_time() {
        let mut record = cached_updates();
        record.server.embedded = false;
        let db_time_ns = 1e9 * db_time_s(&record);
        record.latencies = Latencies::default();
        let writes_alone = records::spread(10_000, (1.4 * db_time_ns / 10_800.0) as u64);
        record.latencies.set(LatencyKind::PhysicalWrite, writes_alone);
        let of_writes = |record: &Record| {
            let verdict = verdict(Question::Physical, record);
            let all = [vec![verdict.sentence()], verdict.details()].concat();
            all.into_iter().find(|sentence| sentence.contains("test of writes")).unwrap()
        };
        assert!(of_writes(&record).contains("(63.4 MB/s of redo);"), "{}", of_writes(&record));
        let mut syncs = slob_stats::Histogram::new();
        syncs.record_n(1_024_000, 1000);
        record.latencies.set(LatencyKind::RedoSync, syncs);
        let time_us = (0.25 * db_time_ns / 1e3) as u64;
        with_exact(&mut record, LatencyKind::RedoSync, WaitTotal { waits: 1000, time_us });
        let words = "(63.4 MB/s of redo, 25.0 % of DB time for redo syncs);";
        assert!(of_writes(&record).contains(words), "{}", of_writes(&record));
    }
}

mod accounted {
    use super::*;

    #[rstest]
    #[case(Rule::Equal, 100_000, 99_000, true)]
    #[case(Rule::Equal, 100_000, 98_999, false)]
    #[case(Rule::Equal, 0, 0, true)]
    #[case(Rule::AtLeast, 500_000, 100_000, true)]
    #[case(Rule::AtLeast, 99_000, 100_000, true)]
    #[case(Rule::AtLeast, 98_000, 100_000, false)]
    #[case(Rule::Shown, 0, 100_000, true)]
    fn pairs_agree_within_their_tolerance(
        #[case] rule: Rule,
        #[case] left: u64,
        #[case] right: u64,
        #[case] agrees: bool,
    ) {
        let pair = Pair::new(rule, ("a", left), ("b", right));
        assert_eq!(pair.agrees(), agrees);
        assert_eq!(
            pair.exactly().agrees(),
            rule == Rule::Shown || left == right || (rule == Rule::AtLeast && left > right)
        );
    }

    #[rstest]
    #[case(update_run(), |_: &mut Record| {}, Grade::Good, "")]
    #[case(direct_read_run(), |_: &mut Record| {}, Grade::Good, "")]
    #[case::half_the_commits(update_run(), |record: &mut Record| scale_commits(record, 1, 2), Grade::Doubt,
        "commits of the database")]
    #[case::half_the_commits_in_percent(update_run(), |record: &mut Record| scale_commits(record, 1, 2), Grade::Doubt, "(-50.0 %)")]
    #[case::more_commits(update_run(), |record: &mut Record| scale_commits(record, 2, 1), Grade::Doubt, "")]
    #[case::more_commits_of_a_server(update_run(), |record: &mut Record| {
        scale_commits(record, 2, 1);
        record.server.embedded = false;
    }, Grade::Good, "")]
    #[case::fewer_logical_reads_than_rows(direct_read_run(), |record: &mut Record| {
        let rows: u64 = record.operations.values().map(|kind| kind.rows).sum();
        record.counters.set(Counter::LogicalReads, rows / 2);
    }, Grade::Doubt, "logical reads")]
    #[case::others_reads(direct_read_run(), |record: &mut Record| with_device_read_share(record, 1.5), Grade::Good, "")]
    #[case::others_reads_without_the_kernel(direct_read_run(), |record: &mut Record| {
        with_device_read_share(record, 1.5);
        record.client_io = None;
    }, Grade::Doubt, "")]
    #[case::reads_of_a_run_beside(direct_read_run(), |record: &mut Record| {
        with_device_read_share(record, 1.5);
        record.client_io = None;
        with_neighbour(record, 0.5);
    }, Grade::Good, "- 33.3 % was for the runs beside this one: report")]
    #[case::reads_of_others_and_of_a_run_beside(direct_read_run(), |record: &mut Record| {
        with_device_read_share(record, 3.0);
        record.client_io = None;
        with_neighbour(record, 0.5);
    }, Grade::Doubt, "less those of report")]
    #[case::missing_reads_without_the_kernel(direct_read_run(), |record: &mut Record| {
        with_device_read_share(record, 0.9);
        record.client_io = None;
    }, Grade::Doubt, "")]
    #[case::others_reads_beside_a_server(direct_read_run(), |record: &mut Record| {
        record.server.embedded = false;
        with_device_read_share(record, 1.5);
    }, Grade::Good, "- 50.0 % more than the database")]
    #[case::missing_reads_of_a_server(direct_read_run(), |record: &mut Record| {
        record.server.embedded = false;
        with_device_read_share(record, 0.9);
    }, Grade::Doubt, "bytes read by the device")]
    #[case::the_page_cache(page_cache_run(), |_: &mut Record| {}, Grade::Good, "- ytes read by the device")]
    #[case::lost_operations(direct_read_run(), |record: &mut Record| record.sessions[1].selects /= 2, Grade::Doubt,
        "operations by session")]
    #[case::lost_time(direct_read_run(), |record: &mut Record| record.sessions[1].busy_us /= 2, Grade::Doubt, "us of all sessions")]
    #[case::sessions_that_take_turns(records::crowded_run(), |_: &mut Record| {}, Grade::Good, "")]
    #[case::lost_responses(records::crowded_run(), |record: &mut Record| {
        select(record).response = records::spread(17_000, 46_000_000);
    }, Grade::Doubt, "us of all sessions in the window 960,000,000, us in responses and think time 911,")]
    #[case::lost_waits(records::crowded_run(), |record: &mut Record| {
        record.sessions.iter_mut().for_each(|session| session.unfinished_us = Some(0));
    }, Grade::Doubt, "us of all sessions in the window 960,000,000, us in responses and think time 869,")]
    #[case::seconds_that_count_twice(records::crowded_run(), |record: &mut Record| {
        *record.sessions[0].waiting_us.as_mut().unwrap() += 20_000_000;
    }, Grade::Doubt, "us in operations and waiting 980,000,000, us in responses 9")]
    #[case::unfinished_waits_of_an_older_release(records::crowded_run(), |record: &mut Record| {
        record.sessions[0].unfinished_us = None;
        *record.sessions[0].waiting_us.as_mut().unwrap() += 20_000_000;
    }, Grade::Good, "")]
    #[case::with_rate(records::crowded_run(), |record: &mut Record| {
        record.workload.rate_per_s = "300".parse().ok();
        select(record).response = records::spread(17_000, 46_000_000);
    }, Grade::Good, "")]
    #[case::sessions_that_crossed_the_begin(records::crowded_run(), |record: &mut Record| {
        let begin = EdgeRecord { sessions_at_work: 1, operations_under_way: 1 };
        record.edges = Some(Edges { begin, ..Edges::default() });
        select(record).response = records::spread(17_000, 46_000_000);
    }, Grade::Good, "")]
    #[case::no_counters(direct_read_run(), |record: &mut Record| record.counters = Counters::default(), Grade::Unknown, "")]
    #[case::a_scan_at_each_edge(direct_read_run(), |record: &mut Record| with_scan_at_edges(record, 10), Grade::Good, "")]
    #[case::no_scan_at_the_edges(direct_read_run(), |record: &mut Record| with_scan_at_edges(record, 0), Grade::Doubt, "")]
    fn findings(#[case] mut record: Record, #[case] edit: Edit, #[case] answer: Grade, #[case] words: &str) {
        edit(&mut record);
        assert_says(Question::Accounted, &record, answer, words);
    }

    fn select(record: &mut Record) -> &mut slob_record::KindRecord {
        record.operations.get_mut(&OpKind::Select).unwrap()
    }

    /// Whole microseconds made 97 us of 98.7.
    #[test]
    fn cut_times_of_sessions_are_no_difference_in_a_run_of_microseconds() {
        let mut record = records::crowded_run();
        record.sessions.truncate(1);
        record.workload.schemas = "1".parse().unwrap();
        record.workload.threads_per_schema = "1".parse().unwrap();
        record.window.as_mut().unwrap().seconds = 99.9e-6;
        let mut response = Histogram::new();
        response.record(98_700);
        select(&mut record).response = response;
        let session = &mut record.sessions[0];
        (session.busy_us, session.waiting_us) = (13, Some(84));
        (session.unfinished_us, session.idle_us) = (Some(0), Some(0));
        let wrong = |record: &Record| {
            let of_time = |pair: &Pair| pair.right.0.contains("us in responses") && !pair.agrees();
            counter_pairs(record).into_iter().filter(of_time).count()
        };
        assert_eq!(wrong(&record), 0);
        record.sessions[0].waiting_us = Some(64);
        assert_eq!(wrong(&record), 1);
    }

    /// A run of 2,506 reads without operations under way at its edges, for which the kernel fetched `more` bytes.
    fn small_run(more: i64) -> Record {
        let mut record = direct_read_run();
        let block_bytes = u64::from(record.server.block_bytes);
        record.counters.set(Counter::PhysicalReads, 2506);
        record.counters.set(Counter::PhysicalReadBytes, 2506 * block_bytes);
        record.edges = Some(Edges::default());
        uncounted(&mut record, Counter::LogicalReads);
        let fetched = (2506 * block_bytes).checked_add_signed(more).unwrap();
        record.client_io.as_mut().unwrap().read_bytes = fetched;
        used(&mut record).read_bytes = fetched;
        record
    }

    #[rstest]
    #[case(208_896, Grade::Good)]
    #[case(786_432, Grade::Good)]
    #[case(1_800_000, Grade::Good)]
    #[case(6 << 20, Grade::Doubt)]
    #[case(-524_288, Grade::Doubt)]
    fn pages_of_the_program_accuse_no_small_run(#[case] more: i64, #[case] answer: Grade) {
        let record = small_run(more);
        assert_says(Question::Accounted, &record, answer, "");
        // The database's counters lack no byte, but the reads may not have come from the device.
        assert_says(Question::Physical, &record, if more < 0 { Grade::Good } else { answer }, "");
    }

    #[rstest]
    #[case(150 << 20, 5 << 20, Grade::Good)]
    #[case(150 << 20, 7 << 20, Grade::Doubt)]
    #[case(0, 5 << 20, Grade::Doubt)]
    fn log_that_the_page_cache_lost_accuses_no_run(
        #[case] redo_bytes: u64,
        #[case] more: i64,
        #[case] answer: Grade,
    ) {
        let mut record = small_run(more);
        record.counters.set(Counter::RedoBytes, redo_bytes);
        assert_says(Question::Accounted, &record, answer, "");
    }

    /// InnoDB requests pages of a last extent that the file system knows to be zeros.
    #[rstest]
    #[case::read_ahead(53, true, Grade::Good)]
    #[case::nothing_was_read_ahead(53, false, Grade::Doubt)]
    #[case::more_than_an_extent(1000, true, Grade::Doubt)]
    fn scans_that_read_unwritten_blocks_ahead_are_not_accused(
        #[case] missing_per_scan: u64,
        #[case] ahead: bool,
        #[case] answer: Grade,
    ) {
        let mut record = small_run(0);
        record.server.embedded = false;
        let (block_bytes, scans) = (u64::from(record.server.block_bytes), 10);
        let asked = 2506 * block_bytes;
        let fetched = asked.saturating_sub(missing_per_scan * scans * block_bytes);
        record.db_io = Some(ProcessIo { read_bytes: fetched, ..ProcessIo::default() });
        let scan = slob_record::KindRecord { operations: scans, ..Default::default() };
        record.operations.insert(slob_measure::OpKind::Scan, scan);
        record.sessions[0].scans = scans;
        if ahead {
            record.counters.set(Counter::PhysicalReadsAhead, 2000);
        }
        let disagrees =
            format!("{:?}", verdict(Question::Accounted, &record)).contains("fetched for the server");
        let disagrees = disagrees
            && crate::verdicts::counter_pairs(&record)
                .iter()
                .any(|pair| pair.left.0.contains("fetched for the server") && !pair.agrees());
        assert_eq!(disagrees, answer == Grade::Doubt, "{:?}", verdict(Question::Accounted, &record));
        let physical = verdict(Question::Physical, &record);
        assert_eq!(physical.answer == Grade::Good, answer == Grade::Good, "{physical:?}");
    }

    fn scale_commits(record: &mut Record, times: u64, by: u64) {
        let commits = count_of(record, Counter::Commits);
        record.counters.set(Counter::Commits, commits * times / by);
    }

    fn with_scan_at_edges(record: &mut Record, scan_pct: u8) {
        with_device_read_share(record, 0.98);
        record.workload.scan_pct = slob_spec::Percent::new(scan_pct).unwrap();
        let sessions = u64::from(record.workload.sessions());
        record.load.as_mut().unwrap().scan_blocks = count_of(record, Counter::PhysicalReads) / sessions / 20;
    }
}

mod other_clients {
    use slob_measure::Peer;

    use super::*;
    use crate::measured::total_rows;

    /// The server attributes logical reads; all clients together did `percent` of the run's own.
    fn run(percent: u64) -> Record {
        let mut record = direct_read_run();
        record.server.embedded = false;
        let own = count_of(&record, Counter::LogicalReads);
        record.server_counters = Counters::from([(Counter::LogicalReads, own * percent / 100)]);
        record.other_clients =
            vec![Peer { user: "app".into(), database: "shop".into(), application: "psql".into() }];
        record
    }

    #[rstest]
    #[case::alone(100, Grade::Good, "differ")]
    #[case::below_the_tolerance(101, Grade::Good, "")]
    #[case::a_few_percent(105, Grade::Doubt, "4.8 % of its logical reads")]
    #[case::more_than_the_run(5093, Grade::Bad, "98.0 % of its logical reads")]
    #[case::named(5093, Grade::Bad, "user 'app', database 'shop', application 'psql'")]
    #[case::both_are_stated(5093, Grade::Bad, "- 5,184,000")]
    #[case::commits_rest_on_totals(100, Grade::Good, "- other clients included: physical reads")]
    fn their_share_decides(#[case] percent: u64, #[case] answer: Grade, #[case] words: &str) {
        assert_says(Question::Accounted, &run(percent), answer, words);
    }

    #[test]
    fn work_that_nobody_was_seen_at_is_a_doubt_and_never_bad() {
        let mut record = run(5093);
        record.other_clients.clear();
        assert_says(Question::Accounted, &record, Grade::Doubt, "no other client was seen at work");
    }

    #[test]
    fn work_of_sessions_that_were_killed_is_not_called_others() {
        let mut record = run(5093);
        for session in &mut record.sessions {
            session.error = Some("the connection was killed".into());
        }
        assert_says(Question::Accounted, &record, Grade::Unknown, "this run's own sessions that were lost");
    }

    #[test]
    fn a_few_blocks_of_others_accuse_no_run_however_small() {
        let mut record = run(100);
        record.counters.set(Counter::RowsChanged, 100);
        record.server_counters.set(Counter::RowsChanged, 900);
        assert_says(Question::Accounted, &record, Grade::Good, "");
    }

    #[test]
    fn another_run_on_the_same_tables_is_seen_by_their_rows() {
        let mut record = run(100);
        let rows = total_rows(&record);
        record.counters.set(Counter::TableRowsRead, rows);
        assert_says(Question::Accounted, &record, Grade::Good, "");
        record.counters.set(Counter::TableRowsRead, 2 * rows);
        assert_says(Question::Accounted, &record, Grade::Bad, "50.0 % of its rows read in the run's tables");
    }

    #[test]
    fn a_count_of_twice_the_other_is_at_least_as_much_and_does_not_agree() {
        let mut record = run(100);
        let rows = total_rows(&record);
        record.counters.set(Counter::LogicalReads, rows * 206 / 100);
        record.server_counters.set(Counter::LogicalReads, rows * 206 / 100);
        assert_says(Question::Accounted, &record, Grade::Good, "2 counter checks passed");
        assert_says(Question::Accounted, &record, Grade::Good, "- at least rows of operations");
    }
}

mod cpu_to_spare {
    use super::super::cpu_to_spare::Site;
    use super::*;
    use crate::thresholds::{CPU_FULL, DEVICE_FULL};

    fn without_probe(host_percent: f64, device_percent: Option<f64>) -> Record {
        let mut record = direct_read_run();
        record.probe = None;
        with_host_busy(&mut record, host_percent);
        with_utilisation(&mut record, device_percent);
        record
    }

    fn full_with_probe(device_percent: f64) -> Record {
        let mut record = direct_read_run();
        with_host_busy(&mut record, 97.0);
        with_own_cpu(&mut record, 90.0);
        with_utilisation(&mut record, Some(device_percent));
        record
    }

    /// The fixture's host has 16 CPUs for 60 s.
    fn with_own_cpu(record: &mut Record, percent: f64) {
        let cpu = &mut record.db_cpu.as_mut().unwrap().cpu;
        (cpu.user_s, cpu.system_s) = (16.0 * 60.0 * percent / 100.0, 0.0);
    }

    /// Reads take 5 % of DB time.
    fn with_cpu_of_db_time(record: &mut Record, share: f64) {
        let db_time_s = db_time_s(record);
        record.db_cpu.as_mut().unwrap().cpu.user_s = share * db_time_s;
        with_reads_of_db_time(record, 0.05);
    }

    fn with_reads_of_db_time(record: &mut Record, share: f64) {
        let (reads, ns) = (1_000_000, share * db_time_s(record) * 1e9);
        record.latencies = [(LatencyKind::PhysicalRead, records::spread(reads, ns as u64 / reads))].into();
    }

    fn with_ceiling(record: &mut Record, iops: f64) {
        let steps = &mut record.probe.as_mut().unwrap().result.steps;
        steps.iter_mut().filter_map(|step| step.figures.as_mut()).for_each(|step| step.iops = iops);
    }

    /// A minute in a group of half a CPU.
    fn confined(used_s: f64, periods: u64, throttled_periods: u64) -> Record {
        let mut record = direct_read_run();
        record.server.embedded = false;
        record.db_cpu.as_mut().unwrap().cpu = CpuSplit { user_s: used_s, system_s: 0.0 };
        let mut server = records::half_a_cpu();
        server.cpu = Some(CpuSplit { user_s: used_s, system_s: 0.0 });
        let group = server.group.as_mut().unwrap();
        (group.cpu_s, group.periods) = (Some(used_s), Some(periods));
        group.throttled_periods = Some(throttled_periods);
        record.observed = vec![server];
        record
    }

    fn with_client_host(record: &mut Record, cpu: Option<CpuTimes>) {
        record.client_cpu = Some(CpuSplit { user_s: 1e4, system_s: 0.0 });
        record.client_host = Some(ClientHostRecord { hostname: "client".into(), cpus_online: Some(2), cpu });
    }

    fn filled(cpu: &CpuTimes) -> CpuTimes {
        CpuTimes { user_s: cpu.user_s + 100.0 * cpu.total_s(), ..*cpu }
    }

    #[rstest]
    #[case(45.0, Some(98.0), Grade::Good, "Yes: CPUs 45.0 % busy, device 98.0 % busy")]
    #[case(89.9, Some(40.0), Grade::Good, "Yes:")]
    #[case(90.1, Some(40.0), Grade::Bad, "the CPU, not the storage")]
    #[case(97.0, Some(89.0), Grade::Bad, "CPUs were 97.0 % busy, device 89.0 % busy")]
    #[case(97.0, Some(91.0), Grade::Doubt, "both near their limits")]
    #[case(97.0, None, Grade::Doubt, "not known")]
    fn host_and_device_decide(
        #[case] host: f64,
        #[case] device: Option<f64>,
        #[case] answer: Grade,
        #[case] words: &str,
    ) {
        let mut record = without_probe(host, device);
        if host > CPU_FULL.value {
            with_own_cpu(&mut record, host - 2.0);
        }
        assert_says(Question::CpuToSpare, &record, answer, words);
    }

    #[rstest]
    #[case::a_busy_device_far_from_its_ceiling(full_with_probe(99.0), |record: &mut Record| {
        let ceiling = figure::PERCENT_OF_CEILING.of(&Figures::of(record)).unwrap();
        assert!(ceiling < DEVICE_FULL.value, "{ceiling}");
    }, Grade::Bad, "")]
    #[case::close_to_its_ceiling(full_with_probe(99.0), |record: &mut Record| with_ceiling(record, 19_500.0), Grade::Doubt,
        "of its ceiling")]
    #[case::a_cached_test_uses_the_cpu(without_probe(99.0, Some(1.0)), |record: &mut Record| {
        with_own_cpu(record, 95.0);
        record.counters.set(Counter::PhysicalReads, 10);
    }, Grade::Good, "cached")]
    #[case::others_cpu_use_is_no_test(without_probe(99.0, Some(1.0)), |record: &mut Record| {
        with_own_cpu(record, 5.0);
        record.counters.set(Counter::PhysicalReads, 10);
    }, Grade::Doubt, "")]
    #[case::sessions_on_an_idle_host(without_probe(30.0, Some(20.0)), |record: &mut Record| with_cpu_of_db_time(record, 0.95),
        Grade::Doubt, "of DB time")]
    #[case::stolen_time(without_probe(45.0, Some(98.0)), |record: &mut Record| {
        let cpu = cpu(record);
        cpu.steal_s = 0.05 * cpu.total_s();
    }, Grade::Doubt, "steal")]
    #[case::another_host(without_probe(12.0, None), elsewhere, Grade::Unknown, "runs on another host")]
    #[case::a_full_client(without_probe(95.0, None), elsewhere, Grade::Bad, "where only the sessions run")]
    #[case::no_host(without_probe(95.0, None), |record: &mut Record| {
        elsewhere(record);
        record.host = None;
    }, Grade::Unknown, "")]
    #[case::others_used_the_cpus(without_probe(97.0, Some(40.0)), |record: &mut Record| with_own_cpu(record, 20.0), Grade::Doubt,
        "Not quite: 77.0 % of the host's CPU time was others', neither")]
    #[case::this_run_used_the_cpus(without_probe(97.0, Some(40.0)), |record: &mut Record| with_own_cpu(record, 60.0), Grade::Bad,
        "- This run used 60.0 %")]
    #[case::stolen_time_is_others(without_probe(97.0, Some(40.0)), steal_most, Grade::Doubt, "")]
    #[case::the_runs_part_is_unknown(without_probe(97.0, Some(40.0)), |record: &mut Record| {
        steal_most(record);
        record.db_cpu = None;
    }, Grade::Doubt, "this run's share of that is not known")]
    #[case::server_and_program_count_together(without_probe(97.0, Some(40.0)), |record: &mut Record| server_beside_client(record, 0.25),
        Grade::Bad, "")]
    #[case::the_server_alone(without_probe(97.0, Some(40.0)), |record: &mut Record| server_beside_client(record, 0.0),
        Grade::Doubt, "")]
    #[case::a_device_at_its_ceiling_for_others(full_with_probe(99.0), |record: &mut Record| {
        // 19,507 reads/s of this run, six times as many by the device, of 118,000.
        with_device_read_share(record, 6.0);
        assert!(figure::PERCENT_OF_CEILING.of(&Figures::of(record)).unwrap() < 20.0);
    }, Grade::Doubt, "99.2 % of its ceiling, others' reads included")]
    #[case::a_device_busy_with_writes(full_with_probe(99.0), |record: &mut Record| used(record).writes = 900_000, Grade::Doubt,
        "device 99.0 % busy")]
    #[case::a_device_with_writes_and_free(full_with_probe(50.0), |record: &mut Record| used(record).writes = 900_000, Grade::Bad, "")]
    #[case::a_run_above_its_probe(full_with_probe(99.0), |record: &mut Record| with_ceiling(record, 1_775.0), Grade::Doubt,
        "more reads than the probe achieved")]
    #[case::cached_reads(full_with_probe(40.0), |record: &mut Record| record.counters.set(Counter::PhysicalReads, 10), Grade::Good, "")]
    #[case::writes(full_with_probe(40.0), |record: &mut Record| {
        record.counters.set(Counter::PhysicalReads, 10);
        record.counters.set(Counter::RedoBytes, 3_800_000_000);
    }, Grade::Bad, "")]
    #[case::cpu_time_above_db_time(without_probe(30.0, Some(20.0)), |record: &mut Record| with_cpu_of_db_time(record, 1.04),
        Grade::Doubt, "- outside of operations")]
    #[case::unseen(
        without_probe(12.0, None),
        unseen,
        Grade::Unknown,
        "it is not known whether the database runs on this host"
    )]
    #[case::unseen_and_full(
        without_probe(95.0, None),
        unseen,
        Grade::Bad,
        "not known whether the database runs here"
    )]
    #[case::unseen_with_events(without_probe(95.0, None), |record: &mut Record| {
        unseen(record);
        let time_us = (0.25 * 1e6 * db_time_s(record)) as u64;
        let (name, class) = ("DB CPU".into(), "CPU".into());
        record.events.push(WaitEvent { name, class, waits: None, time_us, background: false });
    }, Grade::Bad, "- 25.0 % of DB time")]
    #[case::a_cached_session_on_one_cpu(without_probe(7.0, Some(1.0)), |record: &mut Record| cached_sessions(record, 1.0), Grade::Good,
        "Yes: a test of cached reads measures the CPU")]
    #[case::with_background_threads(without_probe(7.0, Some(1.0)), |record: &mut Record| cached_sessions(record, 1.9), Grade::Good,
        "background threads included")]
    #[case::background_processes_are_no_sessions(without_probe(7.0, Some(1.0)), |record: &mut Record| {
        cached_sessions(record, 1.9);
        let cpu = record.db_cpu.as_mut().unwrap();
        cpu.sessions = Some(CpuSplit { user_s: cpu.cpu.user_s * 0.2, system_s: 0.0 });
    }, Grade::Good, "Yes: CPUs")]
    #[case::half_a_cpu(confined(29.7, 600, 590), |_: &mut Record| {}, Grade::Bad,
        "No: the server used 99.0 % of the 0.50 CPUs that its control group may use")]
    #[case::throttled(confined(29.7, 600, 590), |_: &mut Record| {}, Grade::Bad,
        "held up (throttled) in 98.3 % of the quota's periods, for 41.5 s")]
    #[case::throttled_without_using_all(confined(20.0, 600, 90), |_: &mut Record| {}, Grade::Doubt,
        "Not quite: the server used 66.7 %")]
    #[case::hardly_throttled(confined(20.0, 600, 30), |_: &mut Record| {}, Grade::Good, "Yes: CPUs")]
    #[case::never_throttled(confined(20.0, 0, 0), |_: &mut Record| {}, Grade::Good, "Yes: CPUs")]
    #[case::a_limit_as_high_as_the_host(confined(29.7, 600, 590), |record: &mut Record| {
        record.observed[0].cpus = record.host.as_ref().unwrap().info.cpus_online.map(f64::from);
    }, Grade::Good, "")]
    #[case::a_full_client_host(confined(20.0, 0, 0), |record: &mut Record| {
        let full = filled(cpu(record));
        with_client_host(record, Some(full));
    }, Grade::Bad, "No: the CPUs of client")]
    #[case::a_full_client_host_before_a_limit(confined(29.7, 600, 590), |record: &mut Record| {
        let full = filled(cpu(record));
        with_client_host(record, Some(full));
    }, Grade::Bad, "No: the CPUs of client")]
    #[case::an_unknown_client_host(confined(20.0, 0, 0), |record: &mut Record| with_client_host(record, None), Grade::Good, "")]
    #[case::the_fullest_of_several_hosts(confined(20.0, 0, 0), |record: &mut Record| several_hosts(record, false), Grade::Doubt,
        "host of db2:5000")]
    fn findings(#[case] mut record: Record, #[case] edit: Edit, #[case] answer: Grade, #[case] words: &str) {
        edit(&mut record);
        assert_says(Question::CpuToSpare, &record, answer, words);
    }

    fn elsewhere(record: &mut Record) {
        unseen(record);
        record.target = "db://u@another:5432/d".into();
    }

    fn unseen(record: &mut Record) {
        (record.server.embedded, record.server.data_path, record.db_cpu) = (false, None, None);
        record.target = "db:/".into();
    }

    #[rstest]
    #[case::reads_of_a_third(0.95, 0.31, Grade::Good, "Yes: CPUs")]
    #[case::reads_of_most(1.2, 0.75, Grade::Good, "Yes: CPUs")]
    #[case::never_above_db_time(1.2, 0.05, Grade::Doubt, "Not quite: CPU was 94.")]
    #[case::waits_are_named(1.2, 0.05, Grade::Doubt, "of DB time, waits for storage 5.")]
    #[case::reads_from_memory_are_cpu_time(0.95, 0.02, Grade::Doubt, "waits for storage 0.0 %")]
    fn cpu_time_of_sessions_is_what_waits_leave(
        #[case] cpu: f64,
        #[case] reads: f64,
        #[case] answer: Grade,
        #[case] words: &str,
    ) {
        let mut record = without_probe(30.0, Some(20.0));
        with_cpu_of_db_time(&mut record, cpu);
        with_reads_of_db_time(&mut record, reads);
        assert_says(Question::CpuToSpare, &record, answer, words);
        let verdict = verdict(Question::CpuToSpare, &record);
        let all = [vec![verdict.sentence()], verdict.details()].concat().join(" ");
        assert!(!all.contains("120.0 % of DB time"), "{all}");
    }

    #[test]
    fn threads_in_the_background_are_not_each_session_and_their_cpu_is_no_proof() {
        let mut record = without_probe(30.0, Some(20.0));
        with_cpu_of_db_time(&mut record, 1.2);
        record.server.embedded = false;
        record.latencies = Latencies::default();
        (record.server.direct_io, record.client_io) = (Some(false), None);
        assert_says(Question::CpuToSpare, &record, Grade::Doubt, "Not quite: CPU was 100.0 % of DB time");
        assert_says(Question::CpuToSpare, &record, Grade::Doubt, "what sessions waited for is not known");
        // Each read waits for the device's own time of a read.
        record.server.direct_io = Some(true);
        used(&mut record).read_time_ms = used(&mut record).reads * 138 / 1000;
        assert_says(Question::CpuToSpare, &record, Grade::Good, "Yes: CPUs");
    }

    #[test]
    fn more_sessions_do_not_load_the_storage_more_than_rate_allows() {
        let mut record = without_probe(30.0, Some(20.0));
        with_cpu_of_db_time(&mut record, 0.95);
        assert_says(Question::CpuToSpare, &record, Grade::Doubt, "- More sessions");
        record.workload.rate_per_s = "300".parse().ok();
        assert_says(Question::CpuToSpare, &record, Grade::Doubt, "- RATE sets the load");
    }

    /// The run does 19,507 reads/s.
    #[rstest]
    #[case::reached(
        "254:0 rbps=max wbps=max riops=20000 wiops=max",
        Grade::Bad,
        "may do 20,000.0 reads/s, of which it used 97."
    )]
    #[case::of_version_1("254:0 riops=20000", Grade::Bad, "the figures show that limit")]
    #[case::bytes_reached("254:0 rbps=161000000", Grade::Bad, "may do 161.0 MB/s of reads")]
    #[case::half_of_it(
        "254:0 riops=40000",
        Grade::Good,
        "- I/O is limited: the control group of the server may do 40,000.0"
    )]
    #[case::of_another_device("8:0 riops=20000", Grade::Good, "Yes: CPUs")]
    fn a_limit_on_io_is_named_where_it_bends_the_figures(
        #[case] limit: &str,
        #[case] answer: Grade,
        #[case] words: &str,
    ) {
        let mut record = confined(20.0, 0, 0);
        let device = &mut record.host.as_mut().unwrap().device.as_mut().unwrap().device;
        (device.top.as_mut().unwrap().major, device.top.as_mut().unwrap().minor) = (254, 0);
        device.disks.clear();
        let DeviceUse { reads, read_bytes, writes, write_bytes, .. } = *used(&mut record);
        record.observed[0].group.as_mut().unwrap().limited =
            Some(LimitedIo { reads, read_bytes, writes, write_bytes });
        record.observed[0].limits.as_mut().unwrap().io = vec![limit.to_owned()];
        assert_says(Question::CpuToSpare, &record, answer, words);
        let (by, why) = bottleneck(&Run::of(&record));
        assert_eq!(by == Bottleneck::IoLimit, answer == Grade::Bad, "{why}");
    }

    #[test]
    fn more_cpu_time_than_the_host_has_is_no_figure() {
        let mut record = without_probe(30.0, Some(20.0));
        record.db_cpu.as_mut().unwrap().cpu.user_s = 3_700_000.0;
        assert_says(Question::CpuToSpare, &record, Grade::Doubt, "its host's CPUs had");
        let shares = [figure::DB_CPU_PERCENT_OF_HOST, figure::RUN_PERCENT_OF_HOST, figure::DB_CPUS];
        assert_eq!(shares.map(|share| share.of(&Figures::of(&record))), [None; 3]);
    }

    #[test]
    fn a_neighbours_writes_are_none_of_a_limited_group() {
        let mut record = confined(20.0, 0, 0);
        let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
        (device.device.top.as_mut().unwrap().major, device.device.top.as_mut().unwrap().minor) = (254, 0);
        let used = &mut device.counters.as_mut().unwrap().used;
        (used.writes, used.write_bytes) = (900_000, 60_000_000_000);
        record.observed[0].limits.as_mut().unwrap().io = vec!["254:0 wbps=10000000 wiops=100".to_owned()];
        let io = LimitedIo { reads: 10, read_bytes: 81_920, writes: 60, write_bytes: 491_520 };
        record.observed[0].group.as_mut().unwrap().limited = Some(io);
        assert_says(Question::CpuToSpare, &record, Grade::Good, "- which it used 1.0 %");
        // Records of older releases lack the group's requests.
        record.observed[0].group.as_mut().unwrap().limited = None;
        assert_says(Question::CpuToSpare, &record, Grade::Good, "Yes: CPUs");
    }

    fn steal_most(record: &mut Record) {
        let cpu = cpu(record);
        (cpu.steal_s, cpu.user_s) = (0.7 * cpu.total_s(), 0.27 * cpu.total_s());
        with_own_cpu(record, 25.0);
    }

    fn server_beside_client(record: &mut Record, client: f64) {
        record.server.embedded = false;
        with_own_cpu(record, 30.0);
        record.client_cpu = Some(CpuSplit { user_s: 16.0 * 60.0 * client, system_s: 0.0 });
    }

    fn cached_sessions(record: &mut Record, times: f64) {
        record.counters.set(Counter::PhysicalReads, 10);
        record.server.embedded = false;
        with_cpu_of_db_time(record, 0.95);
        record.db_cpu.as_mut().unwrap().cpu.user_s *= times;
    }

    fn several_hosts(record: &mut Record, all_full: bool) {
        let idle = *cpu(record);
        let full = filled(&idle);
        for (name, cpu) in [("db1:5000", if all_full { full } else { idle }), ("db2:5000", full)] {
            let mut server = record.observed[0].clone();
            (server.endpoint, server.host_cpu, server.host_cpus) = (Some(name.into()), Some(cpu), Some(4));
            record.observed.push(server);
        }
    }

    #[test]
    fn of_full_hosts_none_is_the_fullest() {
        let mut record = confined(20.0, 0, 0);
        several_hosts(&mut record, true);
        let found = format!("{:?}", verdict(Question::CpuToSpare, &record));
        assert!(!found.contains("FullestHost"), "{found}");
        // A share above 100 % of a probe is never shown.
        let mut above = full_with_probe(99.0);
        with_ceiling(&mut above, 1_775.0);
        assert!(!verdict(Question::CpuToSpare, &above).sentence().contains("1,099"));
        let mut here = without_probe(95.0, None);
        unseen(&mut here);
        assert!(!verdict(Question::CpuToSpare, &here).sentence().contains("only the sessions"));
    }

    #[rstest]
    #[case("db://u@db1:5432/d", Site::Elsewhere)]
    #[case("db://u@db1/d?x=@localhost", Site::Elsewhere)]
    #[case("db://u@db1.example.com", Site::Elsewhere)]
    #[case("db://u@10.0.0.7,10.0.0.8:1521/s", Site::Elsewhere)]
    #[case("db://u@//db1:1521/s", Site::Elsewhere)]
    #[case("db://[2001:db8::1]:3306", Site::Elsewhere)]
    #[case("db:", Site::Unseen)]
    #[case("db:/", Site::Unseen)]
    #[case("db://u@NAME", Site::Unseen)]
    #[case("db://u@localhost:1521/s", Site::Unseen)]
    #[case("db://u@//127.0.0.1:1521/s", Site::Unseen)]
    #[case("db://u@[::1]:1521/s", Site::Unseen)]
    #[case("db://u@db1,localhost:1521/s", Site::Unseen)]
    #[case("db:///d?host=/run/db", Site::Unseen)]
    #[case("db://u@%2Frun%2Fdb/d", Site::Unseen)]
    fn a_database_is_elsewhere_only_if_its_target_says_so(#[case] target: &str, #[case] site: Site) {
        let mut record = direct_read_run();
        assert_eq!(Site::of(&record), Site::Seen, "it is embedded");
        unseen(&mut record);
        record.target = target.into();
        record.host.as_mut().unwrap().info.hostname = "client".into();
        assert_eq!(Site::of(&record), site);
        record.host.as_mut().unwrap().info.hostname = "DB1.example.com".into();
        let by_name = if target.contains("db1") { Site::Unseen } else { site };
        assert_eq!(Site::of(&record), by_name, "db1 is this host");
    }
}

mod steady {
    use super::*;

    fn with_rates(of_second: impl Fn(u64) -> u64) -> Record {
        let mut record = direct_read_run();
        with_series(&mut record, 72, of_second);
        record
    }

    #[rstest]
    #[case::even(|s| 300 + s % 7, Grade::Good, "Yes: 303 operations/s")]
    #[case::noisy(|s| 300 + 90 * (s % 2), Grade::Doubt, "vary by 13.")]
    #[case::wild(|s| 300 + 400 * (s % 2), Grade::Bad, "vary by 40.")]
    #[case::falling(|s| 1000 - 2 * s, Grade::Doubt, "fell by 12.0 %")]
    #[case::collapsing(|s| 1000 - 10 * s, Grade::Bad, "fell by")]
    #[case::rising(|s| 1000 + 2 * s, Grade::Doubt, "rose by")]
    #[case::barely_rising(|s| 10_000 + 5 * s, Grade::Good, "trend +2.9 %")]
    #[case::one_stall(|s| if s == 40 { 20 } else { 3000 }, Grade::Doubt, "1 of 60")]
    #[case::stalls(|s| if s % 10 == 0 { 20 } else { 300 }, Grade::Bad, "6 of 60")]
    #[case::slow(|_| 3, Grade::Unknown, "Not known: ")]
    #[case::by_chance(|s| 3000 + 90 * (s * 7 % 5), Grade::Good, "no trend found, within +-")]
    fn the_series_decides(#[case] of_second: fn(u64) -> u64, #[case] answer: Grade, #[case] words: &str) {
        let verdict = verdict(Question::Steady, &with_rates(of_second));
        assert_eq!(verdict.answer, answer, "{verdict:?}");
        let sentences = [vec![verdict.sentence()], verdict.details()].concat();
        assert!(sentences.iter().any(|sentence| sentence.contains(words)), "{sentences:?}");
        if words.starts_with("no trend") {
            assert!(!verdict.sentence().contains("over the window"), "{sentences:?}");
        }
    }

    /// Credits last from the begin of the warm-up on.
    #[test]
    fn spent_burst_credits_are_named_with_their_bucket() {
        let falling = |at: u64| with_rates(move |s| if s < at { 1600 + s % 7 } else { 300 + s % 5 });
        let verdict = verdict(Question::Steady, &falling(50));
        assert_eq!((verdict.answer, verdict.finding.cause()), (Grade::Bad, "cliff".into()));
        let sentence = verdict.sentence();
        // 1,603 operations of 65 reads each.
        assert!(
            sentence.contains("physical reads fell from 104,")
                && sentence.contains("burst credits does that"),
            "{sentence}"
        );
        assert!(sentence.ends_with("it lasts 50 s."), "{sentence}");
        assert!(
            verdict.details().iter().any(|detail| detail.starts_with("Measure behind the cliff")),
            "{verdict:?}"
        );
        assert!(verdict.others.iter().any(|other| other.cause() == "variation"), "{verdict:?}");
        let cause = |record: &Record| verdict_of(record).finding.cause();
        // Before the window, just too little, and planned.
        assert_eq!(cause(&falling(8)), "even");
        assert_ne!(cause(&with_rates(|s| if s < 50 { 440 } else { 300 })), "cliff");
        assert_eq!(cause(&with_rates(|s| if s < 50 { 460 } else { 300 })), "cliff");
        let mut planned = falling(50);
        planned.workload.rate_per_s = Some("1600@0s,300@50s".parse().unwrap());
        assert_ne!(cause(&planned), "cliff");
        // Another program writes from then on.
        let mut disturbed = falling(50);
        disturbed.series = Series::new(0, 1800);
        for second in 0..72 {
            let mut interval =
                records::interval(if second < 50 { 1600 + second % 7 } else { 300 + second % 5 });
            interval.device.as_mut().unwrap().write_bytes = if second < 50 { 0 } else { 300_000_000 };
            disturbed.series.push(second, interval).unwrap();
        }
        assert_ne!(cause(&disturbed), "cliff");
        // The cache serves what the device no longer reads.
        let mut warm = with_rates(|_| 1600);
        warm.series = Series::new(0, 1800);
        for second in 0..72 {
            let physical_reads = Some(if second < 50 { 104_000 } else { 20_000 + second });
            warm.series.push(second, Interval { physical_reads, ..records::interval(1600) }).unwrap();
        }
        assert_ne!(cause(&warm), "cliff");
    }

    fn verdict_of(record: &Record) -> Verdict {
        verdict(Question::Steady, record)
    }

    #[rstest]
    #[case::a_second_without_a_report(|record: &mut Record| {
        record.series = Series::new(0, 1800);
        for second in (0..72).filter(|second| *second != 40) {
            record.series.push(second, records::interval(300)).unwrap();
        }
    }, Grade::Doubt, "began at second 40")]
    #[case::too_short(|record: &mut Record| record.window.as_mut().unwrap().seconds = 9.0, Grade::Unknown, "9 intervals of 1 s")]
    #[case::long_enough(|record: &mut Record| record.window.as_mut().unwrap().seconds = 10.0, Grade::Good, "")]
    #[case::others_reads(|record: &mut Record| with_device_read_share(record, 1.2), Grade::Doubt,
        "16.7 % of what the device read")]
    #[case::others_writes(|record: &mut Record| used(record).write_bytes = 20_000_000_000, Grade::Doubt, "not this run's writes")]
    #[case::as_much_as_the_run_writes(|record: &mut Record| {
        used(record).write_bytes = 20_000_000_000;
        record.client_io.as_mut().unwrap().write_bytes = 10_000_000_000;
    }, Grade::Good, "")]
    #[case::the_journal_of_its_commits(|record: &mut Record| {
        used(record).write_bytes = 20_000_000_000;
        record.counters.set(Counter::RedoSyncs, 620_000);
    }, Grade::Good, "")]
    #[case::a_warm_up_that_ended_too_early(|record: &mut Record| {
        record.warm_up = Some(AutoWarmUp { seconds: 20.0, ..AutoWarmUp::default() });
    }, Grade::Good, "- The load was not steady yet when its warm-up ended at the limit of 20.0 s")]
    #[case::reads_of_a_run_beside(|record: &mut Record| {
        with_device_read_share(record, 1.2);
        with_neighbour(record, 0.2);
    }, Grade::Good, "- Beside this run, as planned: report.")]
    #[case::others_cpu(|record: &mut Record| {
        let cpu = cpu(record);
        let moved = 0.1 * cpu.total_s();
        (cpu.user_s, cpu.idle_s) = (cpu.user_s + moved, cpu.idle_s - moved);
    }, Grade::Doubt, "other programs")]
    #[case::others_unknown(|record: &mut Record| record.host = None, Grade::Good,
        "- CPU use and device reads could not be measured")]
    #[case::a_standstill(|record: &mut Record| stand_still(record, 2, 12.0), Grade::Doubt,
        "Not quite: session 2 stood still for 12.0 s, 20.0 % of the window, from second 17.2 on.")]
    #[case::below_5_percent_of_a_minute(|record: &mut Record| stand_still(record, 2, 2.9), Grade::Good, "")]
    #[case::two_standstills(|record: &mut Record| {
        stand_still(record, 2, 12.0);
        stand_still(record, 0, 3.1);
    }, Grade::Doubt, "; so did 1 other session, for less.")]
    #[case::long_operations(|record: &mut Record| {
        // Of operations that take half a second each, one that takes four is no standstill.
        stand_still(record, 2, 12.0);
        record.sessions.iter_mut().for_each(|session| session.busy_us = session.operations() * 700_000);
    }, Grade::Good, "")]
    #[case::a_session_behind(fall_behind, Grade::Doubt, "Not quite: session 1 did ")]
    #[case::behind_in_few_operations(|record: &mut Record| {
        record.sessions.iter_mut().for_each(|session| session.selects = 33);
        record.sessions[1].selects = 5;
    }, Grade::Doubt, "Not quite: session 1 did 5 operations")]
    #[case::by_chance(|record: &mut Record| {
        record.sessions.iter_mut().for_each(|session| session.selects = 33);
        record.sessions[1].selects = 15;
    }, Grade::Good, "")]
    #[case::without_an_operation(|record: &mut Record| record.sessions[1].selects = 0, Grade::Doubt,
        "Not quite: session 1 stood still for 60.0 s, 100.0 % of the window")]
    #[case::of_sessions_without_an_operation(|record: &mut Record| record.sessions[1].selects = 0, Grade::Doubt,
        "- Not quite: 1 of 4 sessions ended no operation in the window.")]
    #[case::nothing_was_due(|record: &mut Record| {
        record.sessions[1].selects = 0;
        record.sessions[1].waiting_us = Some(0);
        record.workload.work_loop = Some(4500);
    }, Grade::Good, "")]
    #[case::waiting_outside_operations(|record: &mut Record| {
        record.server.embedded = false;
        record.sessions.iter_mut().for_each(|session| session.waiting_us = Some(30_000_000));
    }, Grade::Doubt, "waited outside operations for 50.0 % of it")]
    #[case::with_work_loop(|record: &mut Record| {
        fall_behind(record);
        record.workload.work_loop = Some(4500);
    }, Grade::Good, "")]
    fn findings(#[case] edit: Edit, #[case] answer: Grade, #[case] words: &str) {
        assert_says(Question::Steady, &edited(edit), answer, words);
    }

    /// Each second has a freeze of 0.4 s, at a p99 of 371 ms.
    #[rstest]
    #[case::eight_of_sixty(8, 400, Grade::Doubt, "in 8 of 59 intervals operations waited 400 ms to 400 ms")]
    #[case::their_share_decides(8, 100, Grade::Good, "no stalls")]
    #[case::one_is_not_the_rule(1, 400, Grade::Good, "no stalls")]
    #[case::all_operations_are_long(0, 0, Grade::Good, "no stalls")]
    fn stalls_are_judged_by_their_share_of_time(
        #[case] times: u64,
        #[case] ms: u64,
        #[case] answer: Grade,
        #[case] words: &str,
        #[values(false, true)] is_open: bool,
    ) {
        let mut record = direct_read_run();
        record.series = Series::new(0, 1800);
        record.operations.values_mut().for_each(|kind| {
            kind.latency = records::spread(18_000, 1_900_000);
            kind.response = records::spread(18_000, if times == 0 { 400_000_000 } else { 2_000_000 });
        });
        for second in 0..72 {
            let mut interval = records::interval(300);
            interval.latency = records::spread(300, 1_900_000);
            interval.response = records::spread(300, if times == 0 { 400_000_000 } else { 2_000_000 });
            if (30..30 + times).contains(&second) {
                let waits = if is_open { &mut interval.response } else { &mut interval.latency };
                waits.record(ms * 1_000_000);
            }
            record.series.push(second, interval).unwrap();
        }
        record.workload.rate_per_s = is_open.then(|| "300".parse().unwrap());
        assert_says(Question::Steady, &record, answer, words);
        let says = verdict(Question::Steady, &record).details().join(" ").contains("no stalls");
        assert!(!says, "no detail contradicts it");
    }

    fn stand_still(record: &mut Record, session: usize, seconds: f64) {
        record.sessions[session].longest_wait = Some(LongestWait { at_s: 17.25, seconds });
    }

    fn fall_behind(record: &mut Record) {
        record.sessions[1].selects /= 3;
        record.sessions[1].updates /= 3;
    }

    #[test]
    fn a_window_too_noisy_to_show_a_trend_is_not_steady() {
        let mut record = with_rates(|s| 3000 + 500 * (s * 7 % 3));
        record.window.as_mut().unwrap().seconds = 10.0;
        let noisy = verdict(Question::Steady, &record);
        assert_eq!(noisy.answer, Grade::Doubt, "{noisy:?}");
        let sentences = [vec![noisy.sentence()], noisy.details()].concat();
        assert!(sentences.iter().any(|sentence| sentence.contains("would go unnoticed")), "{sentences:?}");
    }

    /// Twenty seconds of 1,000 reads/s, with others in some of them.
    fn with_others(seconds: std::ops::Range<u64>) -> Record {
        let mut record = direct_read_run();
        record.window = Some(Window { begin_s: 0.0, seconds: 20.0 });
        record.server.block_bytes = 8192;
        record.series = Series::new(0, 1800);
        let none = CpuTimes {
            user_s: 0.0,
            nice_s: 0.0,
            system_s: 0.0,
            idle_s: 0.0,
            iowait_s: 0.0,
            irq_s: 0.0,
            softirq_s: 0.0,
            steal_s: 0.0,
        };
        for second in 0..20 {
            let there = seconds.contains(&second);
            let of_others = if there { 25_000_000 } else { 4096 };
            let user_s = if there { 1.5 } else { 0.25 };
            let interval = Interval {
                physical_reads: Some(1000),
                sampled_s: Some(1.0),
                device: Some(DeviceUse { read_bytes: 8_192_000 + of_others, ..DeviceUse::default() }),
                host_cpu: Some(CpuTimes { user_s, idle_s: 2.0 - user_s, ..none }),
                db_cpu: Some(CpuSplit { user_s: 0.2, system_s: 0.0 }),
                ..Interval::default()
            };
            record.series.push(second, interval).unwrap();
        }
        record
    }

    #[test]
    fn visits_of_others_are_mentioned_with_their_seconds() {
        let visits = |record: &Record| -> Vec<String> {
            let details = verdict(Question::Steady, record).details();
            details.into_iter().filter(|detail| detail.starts_with("Others ")).collect()
        };
        let expected = [
            "Others read 25.0 MB/s from second 7 to second 12, and far less before and after.",
            "Others used 65.0 % of the host's CPUs from second 7 to second 12, and far less before and after.",
        ];
        assert_eq!(visits(&with_others(7..12)), expected);
        // All the time, for a moment, and never.
        for seconds in [0..20, 1..20, 5..6, 0..0] {
            assert!(visits(&with_others(seconds.clone())).is_empty(), "{seconds:?}");
        }
    }
}

mod complete {
    use super::*;

    const ROWS: Verification = Verification { rows: 100, updated: 0, faults: Vec::new(), unread: None };

    #[rstest]
    #[case::whole(|_: &mut Record| {}, Grade::Good, "Yes: 4 sessions ran through the whole window; 100 sampled rows are sound.")]
    #[case::no_row_read_back(|record: &mut Record| {
        record.verification = None;
        (record.workload.work_loop, record.workload.run_time_s) = (Some(5000), None);
    }, Grade::Good, "Yes: all operations of 4 sessions were done; no row was read back.")]
    #[case::short(|record: &mut Record| record.workload.run_time_s = Some(61.0), Grade::Doubt, "took 60 s instead of 61 s")]
    #[case::too_short(|record: &mut Record| record.workload.run_time_s = Some(600.0), Grade::Doubt, "")]
    #[case::short_because_steady(|record: &mut Record| until_steady(record, true), Grade::Good, "")]
    #[case::short_and_not_steady(|record: &mut Record| until_steady(record, false), Grade::Doubt, "")]
    #[case::a_lost_session(|record: &mut Record| lose(record), Grade::Doubt, "Session 2: the disk went away.")]
    #[case::two_lost_sessions(|record: &mut Record| {
        lose(record);
        record.sessions.pop();
    }, Grade::Doubt, "2 of 4 sessions")]
    #[case::a_damaged_row(|record: &mut Record| {
        let faults = vec!["schema 1, row 7: c2 is wrong".to_owned()];
        record.verification = Some(Verification { faults, ..ROWS });
    }, Grade::Bad, "No: of 100 sampled rows, 1 is not what was written: schema 1, row 7: c2 is wrong.")]
    #[case::unread_rows(|record: &mut Record| {
        let unread = Some("no answer within 30 s".to_owned());
        record.verification = Some(Verification { rows: 0, unread, ..ROWS });
    }, Grade::Doubt, "Not quite: the rows could not be read back: no answer within 30 s.")]
    #[case::a_session_without_an_operation(|record: &mut Record| record.sessions[1].selects = 0, Grade::Doubt,
        "1 of 4 sessions did not work through the whole window")]
    #[case::interrupted(|record: &mut Record| record.status = Status::Interrupted, Grade::Doubt, "in 60 s is valid")]
    #[case::interrupted_early(|record: &mut Record| {
        record.status = Status::Interrupted;
        record.window = None;
    }, Grade::Doubt, "before its measured window")]
    #[case::without_a_window(|record: &mut Record| record.window = None, Grade::Bad, "")]
    #[case::much_too_late(|record: &mut Record| late(record, 14.96, None), Grade::Bad,
        "took 14.96 s instead of 6 s: the sampler was held up")]
    #[case::late_operations(|record: &mut Record| late(record, 8.0, Some(0)), Grade::Doubt, "operations that had begun in time")]
    #[case::late_sessions(|record: &mut Record| late(record, 8.0, Some(2)), Grade::Doubt, "2 sessions were still at work")]
    #[case::a_gap_of_2_of_59(|record: &mut Record| records::with_gap(record, 20..22), Grade::Good, "")]
    #[case::a_gap_of_5_of_59(|record: &mut Record| records::with_gap(record, 20..25), Grade::Doubt,
        "5 of the window's 59 intervals had no sample")]
    #[case::a_gap_before_the_window(|record: &mut Record| records::with_gap(record, 0..10), Grade::Good, "")]
    // 18,000 operations in 60 s.
    #[case::a_rate_met(|record: &mut Record| rate(record, 300, ArrivalProcess::Steady), Grade::Good, "- 300/s of 300/s")]
    // 18,000 of 19,000, with 1,100 sessions.
    #[case::a_rate_missed_by_less_than_its_sessions(|record: &mut Record| {
        rate(record, 317, ArrivalProcess::Steady);
        record.workload.threads_per_schema = std::num::NonZeroU32::new(1100).unwrap();
    }, Grade::Bad, "18,000 of 19,020")]
    #[case::a_rate_not_quite_met(|record: &mut Record| rate(record, 306, ArrivalProcess::Steady), Grade::Doubt, "")]
    #[case::a_rate_missed(|record: &mut Record| rate(record, 1200, ArrivalProcess::Steady), Grade::Bad,
        "18,000 of 72,000 operations that were due, 25.0 %")]
    #[case::a_schedule_met(|record: &mut Record| schedule(record, "300@0s,299@30s"), Grade::Good, "- in each of its 2 steps, ")]
    // The first half makes up for it in the sum.
    #[case::a_step_missed(|record: &mut Record| schedule(record, "200@0s,400@30s"), Grade::Bad,
        "from second 30 of the window on ")]
    #[case::few_random_arrivals(|record: &mut Record| rate(record, 305, ArrivalProcess::Poisson), Grade::Good, "")]
    #[case::a_wrong_layout(|record: &mut Record| record.load.as_mut().unwrap().schemas[1].row_blocks /= 2, Grade::Doubt,
        "schema 2 has 2.00 rows per block")]
    fn findings(#[case] edit: Edit, #[case] answer: Grade, #[case] words: &str) {
        assert_says(Question::Complete, &edited(edit), answer, words);
    }

    fn until_steady(record: &mut Record, reached: bool) {
        record.workload.run_time_s = Some(600.0);
        record.until_steady = Some(UntilSteady {
            reached,
            tolerance_percent: 3.0,
            window_s: 10,
            since_s: Some(40),
            operations_per_s: vec![300.0; 3],
        });
    }

    fn lose(record: &mut Record) {
        record.sessions[2].whole_window = false;
        record.sessions[2].error = Some("the disk went away.".into());
    }

    fn late(record: &mut Record, seconds: f64, sessions_at_work: Option<u32>) {
        record.workload.run_time_s = Some(6.0);
        record.window.as_mut().unwrap().seconds = seconds;
        record.edges = sessions_at_work.map(|sessions_at_work| {
            let end = EdgeRecord { sessions_at_work, operations_under_way: 9 };
            Edges { begin: EdgeRecord::default(), end }
        });
    }

    fn schedule(record: &mut Record, text: &str) {
        record.workload.warmup_s = 10.0;
        record.workload.rate_per_s = text.parse().ok();
        record.workload.arrivals = Some(ArrivalProcess::Steady);
    }

    #[test]
    fn rates_are_steady_if_they_follow_their_schedule() {
        let of = |text: &str| {
            let mut record = direct_read_run();
            schedule(&mut record, text);
            verdict(Question::Steady, &record).answer
        };
        assert_eq!(of("300@0s,299@30s"), Grade::Good);
        assert_eq!(of("200@0s,400@30s"), Grade::Bad);
    }

    fn rate(record: &mut Record, rate_per_s: u32, arrivals: ArrivalProcess) {
        record.workload.rate_per_s = rate_per_s.to_string().parse().ok();
        record.workload.arrivals = Some(arrivals);
    }

    #[test]
    fn a_window_may_be_longer_by_little_or_by_a_small_share() {
        for (planned_s, seconds) in [(6.0, 6.45), (100.0, 104.0)] {
            let mut record = direct_read_run();
            late(&mut record, seconds, None);
            record.workload.run_time_s = Some(planned_s);
            assert!(!verdict(Question::Complete, &record).sentence().contains("held up"));
        }
    }

    #[rstest]
    #[case::a_missed_rate(|record: &mut Record| rate(record, 1200, ArrivalProcess::Steady), "The rate was met")]
    #[case::a_wrong_layout(|record: &mut Record| record.load.as_mut().unwrap().schemas[1].row_blocks /= 2,
        "Each block holds one row")]
    fn no_detail_contradicts_the_finding(#[case] edit: Edit, #[case] words: &str) {
        let says = |record: &Record| verdict(Question::Complete, record).details().join(" ").contains(words);
        assert!(!says(&edited(edit)));
        assert!(says(&edited(|record: &mut Record| rate(record, 300, ArrivalProcess::Steady))), "{words}");
    }

    #[test]
    fn a_failed_run_is_bad() {
        assert_says(Question::Complete, &records::failed_run(), Grade::Bad, "No: the run failed: ");
        let missed = edited(|record: &mut Record| rate(record, 1200, ArrivalProcess::Steady));
        assert_says(Question::Complete, &missed, Grade::Bad, "300/s of 1,200/s");
    }
}
