//! Disks that are full, in the middle of everything.

use std::fs::{self, File};
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use slob_testing::jobs::TestServer as _;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::skipped;
use slob_testing::tries::{ensure, shown_within};

use super::wire::{Weather, Wire};
use crate::common::{Called, Folder, Signal, all_below, awr_fixture, mariadb, signal, wait_until};

/// A small file system in memory, with a file that can fill it up.
pub(crate) struct Disk(TempDir);

impl Disk {
    /// `None`, which stderr says, where this account may not mount.
    pub(crate) fn mount_or_skip(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m,mode=0777");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(folder.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        skipped("no file system can be mounted here (root is needed)");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Others may make room meanwhile: fills until several tries in a row found none.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.filler()).unwrap();
        let (large, mut refused) = (vec![0; 1 << 20], 0);
        while file.write_all(&large).is_ok() {}
        while refused < 50 {
            match file.write_all(&[0; 4096]) {
                Ok(()) => refused = 0,
                Err(_) => {
                    refused += 1;
                    thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }

    /// The program is stopped meanwhile: else it may be done before.
    fn fill_under(&self, child: &Child) {
        signal(child, Signal::STOP);
        self.fill();
        signal(child, Signal::CONT);
    }

    fn fill_but(&self, megabytes: u64) {
        self.fill();
        let file = File::options().write(true).open(self.filler()).unwrap();
        file.set_len(file.metadata().unwrap().len() - (megabytes << 20)).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a server may still be ending.
        let _ = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}

pub(super) fn bytes_below(folder: &Path) -> u64 {
    let files = all_below(folder).into_iter().filter(|path| path.is_file());
    files.map(|path| path.metadata().map_or(0, |data| data.len())).sum()
}

fn assert_failed(child: Child, words: &[&str]) -> Called {
    let called = Called::from(child.wait_with_output().unwrap()).exits(3);
    let said = called.all();
    assert!(words.iter().any(|word| said.to_lowercase().contains(word)), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    called
}

fn move_out(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    fs::remove_dir_all(from).unwrap();
    symlink(to, from).unwrap();
}

/// The disk is filled under this load once its data have grown by so much. A load that ends before is dropped and made again.
fn filled_under(disk: &Disk, folder: &Folder, setup: &str, (data, grown): (&Path, u64)) -> Child {
    shown_within(5, || {
        let before = bytes_below(data);
        let mut child = folder.start(setup);
        wait_until("the load begins", || bytes_below(data) > before + grown);
        disk.fill_under(&child);
        ensure(!child.wait().unwrap().success(), || {
            disk.make_room();
            let target = setup.split(' ').nth(2).unwrap();
            folder.slob(format!("drop --target {target} --yes")).success();
            "the load ended before the disk was full".to_owned()
        })?;
        Ok(child)
    })
}

const FULL: &[&str] = &["no space", "is full", "make room"];

#[test]
fn a_load_onto_a_full_disk_goes_on_when_there_is_room() {
    let Some(disk) = Disk::mount_or_skip(384) else { return };
    let folder = Folder::new();
    let target = format!("sqlite:{}/d", disk.path().display());
    let setup = format!("setup --target {target} --scale 128M --scan-table-sz 64 2");
    let child = filled_under(&disk, &folder, &setup, (&disk.path().join("d"), 4_000_000));
    assert_failed(child, FULL);
    disk.make_room();
    folder.slob(&setup).success();
    folder.slob(format!("verify --target {target}")).success();
}

#[test]
fn a_run_whose_log_has_no_room_fails_and_keeps_what_it_measured() {
    let Some(disk) = Disk::mount_or_skip(48) else { return };
    let folder = Folder::new();
    let target = format!("sqlite:{}/d", disk.path().display());
    folder.slob(format!("setup --target {target} --scale 8M --scan-table-sz 64 1")).success();
    // Room for a few updates of half a megabyte each.
    disk.fill_but(4);
    let run = format!("run 1 --target {target} --scale 8M --update-pct 50 --plain --warmup 0 --run-time 60");
    assert_failed(folder.start(run), FULL);
    let record = folder.last_record();
    assert_eq!(record["status"]["state"], "failed");
    assert!(record["operations"]["update"]["operations"].as_f64().unwrap() > 0.0, "{}", record["operations"]);
    disk.make_room();
    folder.slob(format!("verify --target {target}")).success();
}

#[test]
fn a_record_that_finds_no_room_is_not_taken_for_one() {
    let Some(disk) = Disk::mount_or_skip(4) else { return };
    let folder = Folder::loaded(1, "8M");
    let results = disk.path().join("runs").display().to_string();
    // However long the disk takes to fill, the run ends after it.
    folder.script("wait", "#!/bin/sh\nuntil [ -e full ] || [ ! -e wait ]; do sleep .02; done\n");
    let run = format!("run 1 --results-dir {results} --run-time 2 --external-script ./wait");
    let child = folder.start(format!("{run} --json"));
    wait_until("the run begins", || Path::new(&results).is_dir());
    disk.fill();
    folder.write("full", "");
    // The message has the figures, since they can't be kept.
    let printed = assert_failed(child, FULL).fails(3, &["Complete?"]).stdout;
    let record: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(record["status"]["state"], "completed");
    let listed = |word: &str| {
        let text = folder.slob(format!("list --json --results-dir {results}")).success().stdout;
        text.matches(word).count()
    };
    assert_eq!(listed("\"id\""), 0, "nothing half is shown as a run");
    disk.make_room();
    folder.slob(&run).success();
    assert_eq!(listed("\"completed\""), 1);
    // The same of a journal of updates.
    let journal = disk.path().join("journal").display().to_string();
    let child =
        folder.start(format!("run 1 --warmup 0 --run-time 60 --update-pct 50 --durability {journal}"));
    wait_until("updates are noted", || fs::metadata(&journal).is_ok_and(|data| data.len() > 1000));
    disk.fill();
    assert_failed(child, &["writing the journal"]);
}

/// Half a page looks like a page.
#[test]
fn pages_that_find_no_room_are_not_there_and_not_recommended() {
    let Some(disk) = Disk::mount_or_skip(8) else { return };
    let folder = Folder::loaded(1, "8M");
    let results = disk.path().join("runs").display().to_string();
    // Room for the record, and not for the page.
    disk.fill_but(1);
    let said = folder.slob(format!("run 1 --results-dir {results} --run-time 2")).success().stderr;
    assert!(!said.contains("/report.html"), "{said}");
    let entries = fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().path());
    let run = entries.into_iter().find(|path| path.is_dir()).unwrap();
    assert!(said.contains(&format!("`slob report {} --html`", run.display())), "{said}");
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap());
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["report.txt", "run.json", "series.csv", "slob.conf"]);
    let page = disk.path().join("page.html");
    fs::write(&page, "as it was").unwrap();
    let html = format!("report {} --html -o {}", run.display(), page.display());
    folder.slob(&html).exits(2);
    assert_eq!(fs::read_to_string(&page).unwrap(), "as it was");
    disk.make_room();
    folder.slob(&html).success();
    assert!(fs::read_to_string(&page).unwrap().contains("</html>\n"), "the whole page");
}

#[test]
fn a_postgresql_without_room_for_data_or_log_goes_on_when_there_is_some() {
    let Some(mut cluster) = Cluster::start_or_skip(Version::V15, &[("max_wal_size", "64MB")]) else { return };
    let (Some(data), Some(log)) = (Disk::mount_or_skip(160), Disk::mount_or_skip(320)) else { return };
    let owner = fs::metadata(cluster.data_folder()).unwrap();
    let own = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
    };
    let space = data.path().join("space");
    fs::create_dir(&space).unwrap();
    own(&space);
    cluster.sql(&format!("CREATE TABLESPACE small LOCATION '{}'", space.display()));
    let (folder, target) = (Folder::new(), cluster.target());
    let setup = format!("setup --target {target} --scale 64M --scan-table-sz 64 small 1");
    data.fill_but(24);
    folder.slob(&setup).refused(&["are free there"]);
    // With room at first, which is taken while the load is slow.
    data.make_room();
    let wire = Wire::lay(Ipv4Addr::LOCALHOST.into(), cluster.port());
    wire.set(Weather::Delay(Duration::from_millis(5)));
    let slow = format!("postgres://postgres@127.0.0.1:{}/postgres", wire.port());
    let child = folder.start(setup.replace(&target, &slow));
    wait_until("the load begins", || bytes_below(&space) > 1_000_000);
    data.fill_under(&child);
    assert_failed(child, FULL);
    data.make_room();
    folder.slob(&setup).success();
    folder.slob(format!("drop --target {target} --yes")).success();
    // The log on a disk of its own.
    cluster.stop();
    let (inside, outside) = (cluster.data_folder().join("pg_wal"), log.path().join("wal"));
    move_out(&inside, &outside);
    cluster.restart();
    log.fill_but(10);
    assert_failed(folder.start(&setup), &["server's log", "no space", "make room"]);
    log.make_room();
    cluster.power_off();
    cluster.restart();
    folder.slob(&setup).success();
    folder.slob(format!("verify --target {target}")).success();
    // Before the file systems that hold its files are gone.
    cluster.stop();
}

#[test]
fn a_load_into_a_full_data_folder_of_mariadb_resumes() {
    let Some(mut bench) = mariadb(&["innodb-log-file-size=16M"]) else { return };
    let Some(disk) = Disk::mount_or_skip(384) else { return };
    bench.server.stop();
    let (folder, moved) = (bench.server.data_folder(), disk.path().join("data"));
    move_out(&folder, &moved);
    bench.server.restart();
    let setup = format!("setup --target {} --scale 64M --scan-table-sz 64 2", bench.target);
    let child = filled_under(&disk, &bench.folder, &setup, (&moved, 8_000_000));
    assert_failed(child, FULL);
    disk.make_room();
    bench.server.power_off();
    bench.server.restart();
    bench.folder.slob(&setup).success();
    bench.verify().success();
    // Before the file system that holds its files is gone.
    bench.server.stop();
}

#[test]
fn what_is_written_on_a_full_disk_leaves_nothing_and_names_its_file() {
    let Some(disk) = Disk::mount_or_skip(8) else { return };
    let folder = Folder::new();
    folder.slob("run --target null:?latency_us=1000 --warmup 0 --run-time 1").success();
    let report = awr_fixture("awr_12201.txt");
    disk.fill();
    let place = disk.path().display();
    let commands = [
        ("slob.conf", format!("conf --init --conf {place}/slob.conf")),
        ("awr.sqlite", format!("awr export {report} -o {place}/awr.sqlite")),
        ("csv", format!("awr export --csv {report} -o {place}/csv")),
        ("report.html", format!("report --html -o {place}/report.html")),
        ("run.hlog", format!("export --hlog -o {place}/run.hlog")),
    ];
    for (name, command) in commands {
        let called = folder.slob(&command).refused(&[name]);
        let said = called.stderr;
        let says = |words: &[&str]| words.iter().any(|words| said.to_lowercase().contains(words));
        assert!((says(FULL) || says(&["full"])) && !says(&[".slob-", ".part", ".new"]), "{said}");
        let files: Vec<PathBuf> = all_below(disk.path()).into_iter().filter(|path| path.is_file()).collect();
        assert_eq!(files, [disk.filler()], "{command}");
    }
    let setup = format!("setup --target sqlite:{place}/d --scale 1M --scan-table-sz 64 1");
    let said = folder.slob(setup).all();
    assert!(!said.contains(".new"), "{said}");
}
