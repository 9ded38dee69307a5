//! What a shell is offered at a Tab: what exists.

use std::fs;
use std::path::Path;
use std::process::Command;

use slob_testing::tries::until;

use crate::common::{Folder, SLOB, kill};

const OLDER: &str = "20261120T231840Z-raw";
const NEWER: &str = "20261121T080000Z-xfs";

/// A run is known by its file's name, so that none has to be made.
fn with_two_runs(results: &str) -> Folder {
    let folder = Folder::new();
    for id in [NEWER, OLDER] {
        let run = folder.path().join(results).join(id);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), "no record").unwrap();
    }
    folder
}

/// Asks as the script for bash does. Nothing may be printed on stderr.
fn offered(folder: &Folder, words: &str) -> Vec<String> {
    let index = shlex::split(words).unwrap().len().to_string();
    let environment = [("COMPLETE", "bash"), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", &index)];
    let called = folder.slob_with_env(format!("-- slob {words}"), &environment).success();
    assert_eq!(called.stderr, "", "{words}");
    called.stdout.lines().map(str::to_owned).filter(|word| !word.starts_with('-')).collect()
}

#[test]
fn runs_are_offered_the_newest_first() {
    let folder = with_two_runs("runs");
    let all = ["latest", "latest~1", NEWER, OLDER];
    for words in ["report ''", "diff ''", "diff latest ''", "verify --run ''"] {
        assert_eq!(offered(&folder, words), all, "{words}");
    }
    assert_eq!(offered(&folder, "show late"), all[..2]);
    assert_eq!(offered(&folder, "show 20261120"), [OLDER]);
    assert_eq!(offered(&folder, "show x"), ["xfs"]);
    assert_eq!(offered(&folder, "show ru"), ["runs/"]);
}

#[test]
fn the_results_folder_is_that_of_the_command() {
    let folder = with_two_runs("elsewhere");
    assert_eq!(offered(&folder, "show lat"), [""; 0]);
    let newest = |words: &str| offered(&folder, words).contains(&NEWER.to_owned());
    assert!(newest("show --results-dir elsewhere 2026"));
    assert!(newest("show --results-dir=elsewhere 2026"));
    folder.write("other.conf", "RESULTS_DIR=elsewhere\n");
    assert!(newest("show --conf other.conf 2026"));
    folder.write("slob.conf", "RESULTS_DIR=elsewhere\n");
    assert!(newest("show 2026"));
    assert!(!newest("show --conf /dev/stdin --results-dir nowhere 2026"));
}

#[test]
fn profiles_campaigns_and_variants_are_offered() {
    let folder = with_two_runs("runs");
    folder.write("profile.json", "{}");
    folder.write("profile-erp.json", "{}");
    folder.write("other.json", "{}");
    for words in ["headroom ''", "plan ''", "profile diff profile.json ''"] {
        assert_eq!(offered(&folder, words), ["profile-erp.json", "profile.json"], "{words}");
    }
    assert_eq!(offered(&folder, "headroom o"), ["other.json"]);
    folder.write(
        "fs.toml",
        "name = \"fs\"\nsessions = [1]\nmodels = [\"read\"]\nrepeats = 1\nsettings = { SCALE = \"1M\", RUN_TIME = 1, WARMUP = 0, \
         WORK_UNIT = 64 }\n[[variant]]\nname = \"raw\"\ntarget = \"sqlite:./d\"\n[[variant]]\nname = \"xfs\"\ntarget = \"sqlite:./e\"\n",
    );
    folder.slob("setup --target sqlite:./d --scale 1M 1").success();
    folder.slob("setup --target sqlite:./e --scale 1M 1").success();
    folder.slob("campaign fs.toml").success();
    assert_eq!(offered(&folder, "analyze ''"), ["campaigns/fs", "runs"]);
    assert_eq!(offered(&folder, "analyze campaigns/fs --relative-to ''")[..2], ["raw", "xfs"]);
}

#[test]
fn the_schemas_of_the_last_runs_are_offered() {
    let folder = Folder::new();
    for schemas in ["2", "12", "2"] {
        folder.slob(format!("run --target null: --rate 9 --warmup 0 --run-time 1 -s {schemas}")).success();
    }
    for words in ["run ''", "run -s ''", "saturate --schemas ''"] {
        assert_eq!(offered(&folder, words), ["2", "12"], "{words}");
    }
    assert_eq!(offered(&folder, "run -s 1"), ["12"]);
    assert_eq!(offered(&folder, "run -s 3"), [""; 0]);
}

#[test]
fn a_run_under_way_is_offered_for_a_mark_and_one_that_ended_is_not() {
    let folder = with_two_runs("runs");
    assert_eq!(offered(&folder, "mark --run ''"), [""; 0]);
    let run = folder.start("run --target null:?latency_us=1000 --warmup 0 --run-time 30");
    let found = until(|| {
        let found = offered(&folder, "mark --run ''");
        if found.is_empty() { Err("no run is offered".to_owned()) } else { Ok(found) }
    });
    kill(run);
    let is_new = |run: &String| run.ends_with("-run") && run != OLDER && run != NEWER;
    assert!(found.len() == 1 && is_new(&found[0]), "{found:?}");
    assert_eq!(offered(&folder, "mark --run ''"), [""; 0]);
}

#[test]
fn nothing_is_said_where_nothing_can_be_read() {
    let folder = Folder::new();
    folder.write("slob.conf", "RESULTS_DIR=slob.conf\nRUN_TIME=never\n=\n");
    assert_eq!(offered(&folder, "show lat"), [""; 0]);
    assert_eq!(offered(&folder, "analyze slob.conf --relative-to x"), [""; 0]);
    // A variable of another program, and an unknown shell.
    for shell in ["1", "tcsh"] {
        let called = folder.slob_with_env("-V", &[("COMPLETE", shell)]).success();
        assert!(called.stdout.starts_with("slob "), "{}", called.stdout);
    }
}

#[test]
fn bash_asks_the_program_that_printed_the_script() {
    let folder = with_two_runs("runs");
    let asks = r#"source <("$0" completions bash) && COMP_WORDS=(slob show late) COMP_CWORD=2
        _clap_complete_slob slob late show && printf '%s\n' "${COMPREPLY[@]}""#;
    let output =
        Command::new("bash").args(["-c", asks]).arg(Path::new(SLOB)).current_dir(folder.path()).output();
    let output = output.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "latest\nlatest~1\n", "{output:?}");
}
