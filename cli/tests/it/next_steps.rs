//! Commands that a message offers can be copied into a shell, and work; and a message names only what is there.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::common::{Called, Folder, SLOB, read_json, skip_without_a_device};

#[track_caller]
fn offered<'a>(said: &'a str, words: &str) -> &'a str {
    let mut commands = said.split('`').skip(1).step_by(2);
    commands.find(|command| command.starts_with(words)).unwrap_or_else(|| panic!("no '{words}' in\n{said}"))
}

fn shell(folder: &Folder, command: &str) -> Called {
    folder.shell(&command.replacen("slob", "$0", 1))
}

#[test]
fn the_run_after_a_setup_has_its_flags() {
    let folder = Folder::new();
    folder.write("my conf", "WARMUP=0\nRUN_TIME=1\nWORK_UNIT=64\n");
    let setup = "setup --conf 'my conf' --target 'sqlite:./its data' --scale 8M 2";
    let said = folder.slob(setup).success().stderr;
    let run = offered(&said, "slob run");
    assert!(run.contains("--scale 8M") && run.ends_with(" 2"), "{run}");
    shell(&folder, run).success();
    assert_eq!(folder.last_record()["status"]["state"], "completed");
    // The same where there was nothing left to load.
    assert_eq!(offered(&folder.slob(setup).success().stderr, "slob run"), run);
}

/// 'Later runs are compared with it' was said of a probe that lost to an earlier one, too.
#[test]
fn a_probe_says_with_which_probe_later_runs_are_compared() {
    if skip_without_a_device() {
        return;
    }
    let folder = Folder::new();
    let probe = || {
        folder
            .slob("probe . --seconds 0.1 --size-mb 16 --sessions 1 --depths 4 --durable no")
            .success()
            .stderr
    };
    assert!(probe().contains("later runs on this device are compared with it"));
    let saved = std::fs::read_dir(folder.at("runs/probes")).unwrap().next().unwrap().unwrap().path();
    let saved = read_json(&saved);
    for (factor, words) in [(1e6, "compared with the probe of 2"), (1e-6, "compared with it")] {
        let mut earlier = saved.clone();
        for step in earlier["result"]["steps"].as_array_mut().unwrap() {
            step["figures"]["iops"] = (factor * 1000.0).into();
        }
        earlier["taken"] = (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1)).to_string().into();
        std::fs::remove_dir_all(folder.at("runs/probes")).unwrap();
        std::fs::create_dir_all(folder.at("runs/probes")).unwrap();
        // A probe in the same second has the same name.
        std::fs::write(folder.at("runs/probes/earlier.json"), earlier.to_string()).unwrap();
        let said = probe();
        assert!(said.contains(words), "{factor}: {said}");
    }
}

#[test]
fn a_demo_elsewhere_is_reported_from_there() {
    let folder = Folder::new();
    let demo = "demo --run-time 1 --plain --results-dir 'my results'";
    let said = folder.slob_with_env(demo, &[("SLOB_WARMUP", "0")]).success();
    let report = offered(&said.stderr, "slob report").to_owned();
    let report = report.as_str();
    let full = shell(&folder, report).success().stdout;
    assert!(full.starts_with("OPENSLOB RUN REPORT") && said.stdout.starts_with("Run "), "{}", said.stdout);
    assert!(!said.stderr.contains("slob run"), "the demo is over: {}", said.stderr);
}

#[test]
fn where_the_record_is_is_said_though_the_report_can_not_be_printed() {
    let folder = Folder::loaded(1, "8M");
    let mut run = Command::new(SLOB);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = run.args(["run", "1"]).current_dir(folder.path()).stdout(full).stderr(Stdio::piped());
    let output = child.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    let id = folder.last_run().file_name().unwrap().to_string_lossy().into_owned();
    assert!(said.contains(&format!("Record:      runs/{id}")) && said.contains("stdout"), "{said}");
}
