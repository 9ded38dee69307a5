//! What a machine may do to a run: stop it for a while, or give it few files.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{Folder, SLOB};

#[test]
fn a_program_that_was_stopped_is_not_taken_for_a_slow_device() {
    let folder = Folder::loaded(1, "8M");
    let child = Command::new(SLOB)
        .args(["run", "1", "--run-time", "6"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    thread::sleep(Duration::from_secs(2));
    kill_process(pid, Signal::STOP).unwrap();
    thread::sleep(Duration::from_secs(3));
    kill_process(pid, Signal::CONT).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let record: Value = folder.last_record();
    let points = record["series"]["points"].as_array().unwrap();
    let idle = points.iter().filter(|point| {
        point["value"].is_null() || point["value"]["ops"]["selects"].as_f64().unwrap_or(0.0) == 0.0
    });
    assert!(idle.count() >= 2, "the seconds in which nothing ran are there: {points:?}");
    let report = folder.slob(["report", "latest"]).success().stdout;
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("had no sample: the sampler was held up"), "{report}");
}

#[test]
fn too_few_files_are_refused_with_a_word() {
    let folder = Folder::loaded(1, "8M");
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -n 24; exec {SLOB} run -s 1 -t 64 --run-time 1")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.to_lowercase().contains("open files") || said.contains("ulimit"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    folder.slob(["run", "1", "--run-time", "1"]).success();
}
