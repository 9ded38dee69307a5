//! Folders of records: slob publishes a run whole or not at all, and finds it by what people type.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use slob_measure::OpCounts;
use slob_record::{
    Record, RecordError, RunDirectory, digest_of, find_run, find_runs, list_runs, read_record,
};
use slob_stats::Series;
use slob_testing::records::failed_run;

fn record(id: &str) -> Record {
    let mut series = Series::new(0, 10);
    let ops = OpCounts { selects: 3, updates: 2, scans: 1 };
    series.push(0, slob_record::Interval { ops, ..Default::default() }).unwrap();
    Record { id: id.into(), name: "run".into(), series, ..failed_run() }
}

fn publish(results: &Path, name: &str) -> String {
    let directory = RunDirectory::create(results, Timestamp::UNIX_EPOCH, name).unwrap();
    let id = directory.id().to_owned();
    directory.publish(&mut record(&id), None).unwrap();
    id
}

#[test]
fn a_record_reads_back_and_its_series_is_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let id = publish(folder.path(), "first");
    assert_eq!(id, "19700101T000000Z-first");
    let read = read_record(&folder.path().join(&id)).unwrap();
    assert_eq!((read.digest.as_deref(), read.files.len()), (Some(&*digest_of(&read).unwrap()), 1));
    assert!(Record { files: record(&id).files, digest: None, ..read } == record(&id));
    let csv = fs::read_to_string(folder.path().join(&id).join("series.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
    assert!(lines[1].starts_with("0,1,0,6,3,2,1,0,,,"), "{}", lines[1]);
}

#[test]
fn a_run_is_not_seen_before_it_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(folder.path(), Timestamp::UNIX_EPOCH, "run").unwrap();
    directory.write("slob.conf", "").unwrap();
    assert!(list_runs(folder.path()).unwrap().is_empty());
    assert!(matches!(find_run(folder.path(), "last"), Err(RecordError::NoRun { .. })));
    directory.publish(&mut record("x"), None).unwrap();
    assert_eq!(list_runs(folder.path()).unwrap().len(), 1);
}

#[test]
fn names_that_are_taken_get_a_number_and_runs_are_found_by_what_people_type() {
    let folder = tempfile::tempdir().unwrap();
    let ids = [publish(folder.path(), "a"), publish(folder.path(), "a"), publish(folder.path(), "b")];
    assert_eq!(ids[1], format!("{}-2", ids[0]));
    let found = |name: &str| {
        let path = find_run(folder.path(), name).unwrap();
        path.file_name().unwrap().to_string_lossy().into_owned()
    };
    assert_eq!(found("b"), ids[2]);
    assert_eq!(found("a"), ids[1], "the latest of that name");
    assert_eq!(found("last"), ids[2]);
    assert_eq!(found(&ids[0]), ids[0]);
    assert!(find_run(folder.path(), "c").is_err());
}

#[test]
fn runs_are_found_by_age_beginning_and_part() {
    let folder = tempfile::tempdir().unwrap();
    let at = |second, name: &str| {
        let started = Timestamp::from_second(second).unwrap();
        let directory = RunDirectory::create(folder.path(), started, name).unwrap();
        let id = directory.id().to_owned();
        directory.publish(&mut record(&id), None).unwrap();
        id
    };
    let ids = [at(0, "raw-xfs"), at(60, "raw-ext4"), at(7_200, "cooked")];
    let found = |name: &str| find_run(folder.path(), name).map(|path| path.file_name().unwrap().to_owned());
    let names = "latest 2|latest~0 2|latest~1 1|last~2 0|xfs 0|ooke 2|19700101T02 2|19700101T000100 1|-ext 1";
    for (name, index) in names.split('|').map(|name| name.split_once(' ').unwrap()) {
        assert_eq!(found(name).unwrap(), ids[index.parse::<usize>().unwrap()].as_str(), "{name}");
    }
    let said = |name: &str| found(name).unwrap_err().to_string();
    assert!(said("raw").contains("fits 2 runs") && said("raw").contains(&ids[1]), "{}", said("raw"));
    assert!(said("latest~3").contains("holds only 3 runs"), "{}", said("latest~3"));
    assert!(said("").contains("slob list") && said("latest~x").contains("no run"), "{}", said("latest~x"));
    let all = find_runs(folder.path(), &folder.path().to_string_lossy()).unwrap();
    assert_eq!(all.len(), 3);
    let empty = tempfile::tempdir().unwrap();
    let none = find_runs(folder.path(), &empty.path().to_string_lossy()).unwrap_err();
    assert!(none.to_string().contains("holds no runs"), "{none}");
}

#[test]
fn a_record_that_was_cut_off_goes_away_and_one_that_only_lacks_its_name_stays() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("cut", "{\"id\": "), ("whole", "{}\n")] {
        let left = folder.path().join(format!(".20260101T000000Z-{name}.partial"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("run.json"), text).unwrap();
        fs::write(left.join("series.csv"), "").unwrap();
    }
    publish(folder.path(), "next");
    let hidden = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let hidden: Vec<_> = hidden.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert_eq!(hidden, [".20260101T000000Z-whole.partial"]);
}

#[test]
fn folders_of_killed_runs_go_away_and_a_run_that_goes_on_keeps_its_own() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".20260101T000000Z-killed.partial")).unwrap();
    let going_on = RunDirectory::create(folder.path(), Timestamp::UNIX_EPOCH, "slow").unwrap();
    publish(folder.path(), "other");
    assert!(going_on.path().exists());
    going_on.publish(&mut record("slow"), None).unwrap();
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
    assert_eq!(list_runs(folder.path()).unwrap().len(), 2);
}

#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let read = |text: &str| {
        fs::write(&path, text).unwrap();
        read_record(&path).unwrap_err().to_string()
    };
    assert!(read("{\"record_version\": 99}").contains("record version 99"));
    assert!(read("{\"record_version\": 1}").contains("missing field"));
    assert!(read("nonsense").contains("is not a run record"));
    let none = read_record(&folder.path().join("none.json")).unwrap_err();
    assert!(none.to_string().contains("none.json"));
}

#[test]
fn runs_that_start_together_keep_all_their_records() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..30 {
        let names: Vec<String> = (0..6).map(|n| format!("r{round}n{}", n / 2)).collect();
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(|| publish(folder.path(), name));
            }
        });
    }
    assert_eq!(list_runs(folder.path()).unwrap().len(), 180);
}
