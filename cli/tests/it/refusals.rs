//! Bad input: exit code 2 and a sentence with the remedy, before anything is touched.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::{Folder, SLOB, all_below, assert_contains, awr_fixture};

#[track_caller]
fn refuse(folder: &Folder, line: impl AsRef<str>, words: &[&str]) {
    let before = listing(folder);
    folder.slob(&line).refused(words);
    assert_eq!(listing(folder), before, "{} touched something", line.as_ref());
}

fn listing(folder: &Folder) -> Vec<String> {
    let all = all_below(folder.path()).into_iter();
    let mut names: Vec<_> =
        all.map(|path| format!("{} {}", path.display(), path.metadata().unwrap().len())).collect();
    names.sort();
    names
}

/// None is waited for, and none is read without end.
#[test]
fn what_is_no_configuration_file() {
    let folder = Folder::new();
    fs::write(folder.at("binary"), b"SCALE=1G\n\xff\xfe").unwrap();
    fs::create_dir(folder.at("folder")).unwrap();
    fs::write(folder.at("long"), "# \n".repeat(1 << 19)).unwrap();
    let made = Command::new("mkfifo").arg(folder.at("fifo")).status().unwrap();
    assert!(made.success());
    let refused = [
        ("my conf", "slob conf --init --conf 'my conf'"),
        ("binary", "save it as UTF-8"),
        ("folder", "an ordinary file"),
        ("long", "1024 KiB at most"),
        ("fifo", "an ordinary file"),
        ("/dev/zero", "an ordinary file"),
    ];
    for (name, advice) in refused {
        refuse(&folder, format!("conf --conf '{name}'"), &[name, advice]);
    }
    folder.slob("conf --init --conf 'my conf'").success();
    folder.slob("conf --conf 'my conf'").success();
    folder.shell("echo UPDATE_PCT=33 | $0 conf --conf /dev/stdin").prints(&["/dev/stdin"]);
}

#[test]
fn what_is_not_possible() {
    let folder = Folder::loaded(1, "8M");
    folder.write("a_file", "");
    fs::create_dir(folder.at("theirs")).unwrap();
    folder.write("theirs/slob1.db", "somebody else's file");
    let refused: [(&str, &[&str]); 16] = [
        ("setup --target sqlite:./theirs --scale 8M 1", &["slob1.db"]),
        ("run --target sqlite:./theirs --scale 8M 1", &["schema 1 is not loaded"]),
        ("run --scale 16M", &["SCALE is 2048 blocks", "1024"]),
        ("run 2", &["schema 2 is not loaded", "slob setup 2"]),
        ("run --scan-table-sz 0 --scan-pct 5", &["SCAN_TABLE_SZ", "SCAN_PCT"]),
        (
            "run --do-hotspot --hotspot-frequency 3 --hotspot-offset-mb 4 --hotspot-mb 8",
            &["hot spot", "SCALE"],
        ),
        ("run --work-unit 0", &["WORK_UNIT", "1 to 1024", "command line"]),
        ("run -s 4096 -t 2", &["4096"]),
        ("run --external-script ./missing", &["EXTERNAL_SCRIPT", "missing"]),
        ("setup --scale 16M 1", &["SCALE=8M (8388608 bytes), not 16M", "Leave SCALE out", "`slob drop`"]),
        ("setup --target sqlite:./e --scale 100T 2", &["MB", "free", "lower SCALE"]),
        ("probe --seconds 0", &["--seconds"]),
        // Endpoints need a target with hosts.
        ("setup --target sqlite:./e --endpoints a:1,b:2 1", &["ENDPOINTS"]),
        ("run --results-dir /dev/null/runs", &["/dev/null/runs", "name another folder with RESULTS_DIR"]),
        // Journals are not overwritten: one that stayed would refuse the next try.
        ("run --update-pct 50 --durability j1 --results-dir a_file", &["a_file"]),
        ("run --update-pct 50 --durability a_file", &["a_file", "not there yet"]),
    ];
    for (line, words) in refused {
        refuse(&folder, line, words);
    }
}

#[test]
fn what_is_written_wrong_in_a_file_is_named_with_its_line() {
    let folder = Folder::new();
    folder.write("slob.conf", "UPDATE_PCT=10\nWORK_UNIT=2000 # too many\nRUN_TIME=$HOME\nREDO_STRES=HEAVY\n");
    refuse(&folder, "conf", &["slob.conf line 3"]);
    folder.write("slob.conf", "FROBNICATE=1\n");
    folder.slob("conf").says(&["warning: slob.conf line 1: FROBNICATE is not a known key"]);
}

#[test]
fn a_folder_that_may_not_be_written_to() {
    // Root may write anywhere: the account nobody calls the program, from a folder that it may not read.
    let folder = Folder::in_temp();
    let program = folder.at("slob");
    fs::copy(SLOB, &program).unwrap();
    for path in [folder.path(), &program] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut command = folder.command_of(program.to_str().unwrap(), "setup --target sqlite:./d 1");
    if is_root() {
        command.uid(65534).gid(65534);
    } else {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    }
    let output = loop {
        match command.output() {
            // A child of another test may hold the copy open for writing until its exec.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            called => break called.unwrap(),
        }
    };
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_contains(&message, &["Permission denied", "name another folder with TARGET"]);
    assert!(!folder.at("d").exists());
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_file_system_without_direct_io_is_named_and_buffered_is_offered() {
    // A folder in memory: some kernels take O_DIRECT there, then there is nothing to refuse.
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
    let folder = Folder::new();
    let target = format!("sqlite:{}", memory.path().display());
    let loaded = folder.slob(format!("setup --target {target} --scale 8M 1"));
    let arguments = format!("run --target {target} --scale 8M --run-time 1 --warmup 0");
    let direct = folder.slob(&arguments);
    if loaded.code == 0 && direct.code == 0 {
        return;
    }
    let message = format!("{}{}", loaded.stderr, direct.stderr);
    assert!(message.contains("--buffered"), "{message}");
    folder.slob(format!("setup --target {target} --scale 8M --buffered 1")).success();
    folder.slob(format!("{arguments} --buffered")).success();
}

#[test]
fn conf_shows_values_origins_and_writes_a_file_that_reads_back() {
    let folder = Folder::new();
    let defaults = folder.slob("conf --json").success().stdout;
    folder.slob("conf --init").success();
    let from_file = folder.slob("conf --json").success();
    assert_eq!(from_file.stderr, "");
    // The origins differ.
    let values = |text: &str| text.lines().filter(|line| !line.contains("\"origin\"")).collect::<String>();
    assert_eq!(values(&defaults), values(&from_file.stdout));
    let called =
        folder.slob_with_env("conf --run-time 60", &[("SLOB_WORK_UNIT", "16"), ("SLOB_RUN_TIME", "9")]);
    let table = called.success().stdout;
    let line = |key: &str| table.lines().find(|line| line.contains(key)).unwrap().to_owned();
    assert!(line("WORK_UNIT ").contains("16") && line("WORK_UNIT ").contains("SLOB_WORK_UNIT"), "{table}");
    assert!(line("RUN_TIME").contains("60") && line("RUN_TIME").contains("command line"), "{table}");
}

/// Each says what failed, on what, and what to do next.
#[test]
fn mistakes_have_messages_that_help() {
    let folder = Folder::new();
    folder.slob("run --target null:?latency_us=1000 --run-time 1 --warmup 0 --name once").success();
    let runs =
        format!("{}/runs holds 1 run; `slob list`", fs::canonicalize(folder.path()).unwrap().display());
    let mistakes: [(&str, i32, &[&str]); 107] = [
        ("run --target sqlite:./d --rate 100@5s", 2, &["the first rate of a schedule from 0s on"]),
        ("rnu", 2, &["'run'"]),
        ("run --target sqlite:./nowhere", 2, &["./nowhere", "slob setup"]),
        ("setup --target sqlite:./nowhere/below", 2, &["nowhere"]),
        ("verify --target sqlite:./nowhere", 2, &["nowhere"]),
        ("run --tablespace x", 2, &["--tablespace is a flag of ", "`slob setup`"]),
        ("drop --rate 5", 2, &["--rate is a flag of `slob run`"]),
        ("completions tcsh", 2, &["tcsh", "possible values: bash"]),
        ("run --target sqlite:/nonexist/d", 2, &["`mkdir -p /nonexist`"]),
        ("drop --yes", 0, &["nothing to remove"]),
        ("report nosuchrun", 2, &["there is no run 'nosuchrun'", &runs]),
        ("analyze nosuch", 2, &["there is no run 'nosuch'", &runs]),
        ("report --results-dir r", 2, &["r holds 0 runs; `slob run` makes one", "--results-dir"]),
        ("show --results-dir r", 2, &["`slob run` makes one"]),
        ("verify --run latest --results-dir r", 2, &["`slob run` makes one"]),
        ("gate --require physical --results-dir r", 2, &["`slob run` makes one"]),
        ("diff a b", 2, &["there is no run 'a'", "there is no run 'b'"]),
        ("gate nosuch --require 'read-p99 < 5'", 2, &["read-p99", "unit"]),
        ("campaign nosuch.toml", 2, &["nosuch.toml", "`slob campaign --help`"]),
        ("plan nosuch.json", 2, &["nosuch.json", "`slob profile` makes one"]),
        ("headroom nosuch.json", 2, &["nosuch.json", "`slob profile` makes one"]),
        ("run --demand nosuch.json", 2, &["nosuch.json", "`slob profile` makes one"]),
        ("run --target null: --sign nosuch.key", 2, &["nosuch.key", "`ssh-keygen -t ed25519` makes one"]),
        ("profile nosuch/", 2, &["nosuch/", "AWR reports", &runs]),
        ("run --observe db1", 2, &["OBSERVE is 'db1'", "ssh:db1"]),
        ("run --target null: --results-dir /proc/x", 2, &["/proc/x", "RESULTS_DIR"]),
        ("setup --scale 1GB", 2, &["SCALE is '1GB'", "1G"]),
        ("setup --scale 999P", 2, &["SCALE is '999P'", "units K, M, G, T"]),
        ("run --run-time '2 parsecs'", 2, &["RUN_TIME is '2 parsecs'", "90s, 15m, 8h"]),
        ("run --target postgres://u@127.0.0.1:1/d", 2, &["127.0.0.1:1", "nothing listens there"]),
        ("run --target mysql://u@127.0.0.1:1", 2, &["127.0.0.1:1", "nothing listens there"]),
        // Flags and words of other tools.
        ("run --sessions 4", 2, &["'--sessions'", "'--threads'", "slob run [OPTIONS]"]),
        ("run --UPDATE_PCT 10", 2, &["'--update-pct'"]),
        ("run --password x", 2, &["'--ask-password'"]),
        ("run --html", 2, &["--html is a flag of `slob report`"]),
        ("setup --size 4G", 2, &["'--scale'", "slob setup [OPTIONS]"]),
        ("setup --force 1", 2, &["--force is a flag of `slob plan`", "slob setup [OPTIONS]"]),
        ("setup -1", 2, &["'-1'", "for example `slob setup "]),
        ("drop --all", 2, &["for example `slob drop", "`slob drop -h`"]),
        ("drop 3", 2, &["'3'", "for example `slob drop"]),
        ("verify nosuch", 2, &["for example `slob verify"]),
        ("conf UPDATE_PCT", 2, &["for example `slob conf"]),
        ("doctor extra", 2, &["for example `slob doctor"]),
        ("demo --target x", 2, &["--target is a flag of `slob doctor`, `slob setup`, `slob run`"]),
        ("--target null: run", 2, &["--target is a flag of `slob doctor`, `slob setup`, `slob run`"]),
        ("list --sort iops", 2, &["for example `slob list`"]),
        ("report --pdf", 2, &["for example `slob report`"]),
        ("trend --figure x", 2, &["for example `slob trend"]),
        ("probe . --durable some", 2, &["'some'", "only"]),
        ("probe . --until-cliff=soon", 2, &["--until-cliff is soon", "15m"]),
        ("probe . --until-cliff --durable only", 2, &["--durable only does not"]),
        ("probe . --size 1", 2, &["'--size-mb'", "slob probe [OPTIONS]"]),
        // Something is missing.
        ("compare", 2, &["were not provided", "for example `slob compare latest~1 latest`"]),
        ("campaign", 2, &["PLAN.toml", "for example `slob campaign"]),
        ("mark", 2, &["<TEXT>", "for example `slob mark"]),
        ("awr info", 2, &["<FILE|FOLDER>", "for example `slob awr info"]),
        ("gate once", 2, &["nothing is required", "--require physical"]),
        ("gate --require", 2, &["--require <REQUIREMENT>"]),
        ("profile", 2, &["say what to profile", "--target"]),
        ("compare once", 2, &["one run is nothing to compare", "`slob compare latest~1 latest`"]),
        ("compare once nosuch", 2, &["there is no run 'nosuch'", &runs]),
        ("mark hello", 2, &["no run is under way in runs", "--results-dir"]),
        ("search nosuch.json --target null:", 2, &["nosuch.json", "`slob profile` makes one"]),
        ("list nosuch", 2, &["there is no run 'nosuch'", &runs]),
        ("report latest~99", 2, &["goes too far back", "1 run"]),
        ("report --field nosuch", 2, &["no field 'nosuch'", "`slob report --json` shows all"]),
        ("awr info nosuch.html", 2, &["nosuch.html"]),
        ("conf --init --conf nosuch/s.conf", 2, &["nosuch/s.conf", "make its folder first"]),
        ("profile postgres://u@127.0.0.1:1/d", 2, &["an address", "slob profile --target"]),
        // Targets.
        ("run --target /data/slob", 2, &["does not begin with a scheme", "sqlite:FOLDER"]),
        ("doctor --target sqlite", 2, &["does not begin with a scheme", "sqlite:FOLDER"]),
        ("run --target sqlite:", 2, &["write sqlite:FOLDER"]),
        (
            "run --target postgresql://u@h/d",
            2,
            &["no engine of that name", "write postgres://USER@HOST:PORT/"],
        ),
        ("run --target mariadb://u@h", 2, &["no engine of that name", "write mysql://USER@HOST:PORT"]),
        ("run --target https://h", 2, &["no engine of that name", "this build knows sqlite:FOLDER"]),
        ("run --target postgres:/u@h/d", 2, &["'@' in the path", "'//'"]),
        ("run --target postgres://u@nosuch.invalid/d", 2, &["nosuch.invalid", "check the host's name"]),
        ("probe --ladder --target null:", 2, &["stores no blocks", "slob probe --ladder"]),
        ("probe --html out.html", 2, &["out.html does not exist", "`--html=out.html` names the page's file"]),
        ("probe . --html out.html", 2, &["unexpected argument 'out.html'", "`--html=out.html` names"]),
        ("compare once --html out.html", 2, &["`--html=out.html` names"]),
        ("report once --html out.html", 2, &["out.html", "`--html -o out.html` names"]),
        ("probe /nosuch", 2, &["/nosuch does not exist", "create it first"]),
        ("probe /etc/passwd", 2, &["/etc/passwd is not a folder"]),
        // Values.
        ("run --target null: -t 0", 2, &["THREADS_PER_SCHEMA is '0'", "Correct --threads"]),
        ("run --target null: latest", 2, &["SCHEMAS is 'latest'"]),
        ("run --target null: 1 2 3", 2, &["unexpected value '3'"]),
        ("run --target null: --time -5", 2, &["RUN_TIME is '-5'", "90s, 15m, 8h"]),
        ("run --target null: --warmup never", 2, &["WARMUP is 'never'", "Correct --warmup"]),
        ("run --target null: --rate fast", 2, &["RATE is 'fast'", "100@0s,400@60s"]),
        ("run --target null: --name a/b", 2, &["RUN_NAME is 'a/b'", "letters a-z"]),
        ("run --target null: --observe ssh:", 2, &["OBSERVE is 'ssh:'", "pid:N"]),
        ("run --target null: --observe auto,none", 2, &["2 observers for 1 endpoints"]),
        ("run --target null: --observe pid:4194303", 2, &["no process 4194303"]),
        ("probe --observe ssh:db1 somewhere", 2, &["absolute path"]),
        ("report once --compare-probe", 2, &["slob probe FOLDER"]),
        ("run --target null: --trace=sometimes", 2, &["'sometimes'", "after, window, off"]),
        ("run --target null: --repeat 0", 2, &["'0'", "2..=100"]),
        ("setup --scale 0 1", 2, &["SCALE is '0'", "80M"]),
        ("setup 0 --target sqlite:./e", 2, &["SCHEMAS is '0'"]),
        ("list --since yesterday", 2, &["'yesterday'", "2026-11-20"]),
        ("list --status done", 2, &["'done'", "completed, interrupted, aborted, failed"]),
        ("list --columns nosuch", 2, &["no column 'nosuch'", "--columns help"]),
        ("gate once --require 'speed > 5'", 2, &["no figure 'speed'", "iops, read-p99"]),
        ("gate once --max-loss 5 --baseline once", 2, &["'5' is no loss", "iops 3 %"]),
        ("probe . --seconds -1", 2, &["'-1'", "for example `slob probe"]),
        ("help nosuch", 2, &["nosuch"]),
    ];
    for (line, code, words) in mistakes {
        let called = folder.slob(line);
        assert_eq!(called.code, code, "{line}: {}", called.all());
        assert_contains(&called.stderr, words);
        let misleading = ["1 of 1", "similar value", "use '-- --", "--gate", "--oracle"];
        assert!(!misleading.iter().any(|words| called.stderr.contains(words)), "{line}: {}", called.stderr);
    }
}

#[test]
fn nothing_is_loaded_by_accident() {
    let folder = Folder::new();
    let no_tablespaces =
        "TABLESPACE=IOPS|sqlite:./slob-data has no tablespaces|SLOB_TARGET=oracle:|Nothing was loaded";
    let no_tablespaces: &Vec<&str> = &no_tablespaces.split('|').collect();
    let refused: [(&str, &[&str]); 8] = [
        ("setup four", &["`slob setup 4`"]),
        ("setup 4G", &["`slob setup --scale 4G 4`"]),
        ("setup 4G 8", &["`slob setup --scale 4G 4`"]),
        ("setup 80MB", &["not the name of a tablespace", "--scale 1G"]),
        ("setup IOPS 128", no_tablespaces),
        ("setup IOPS --yes", no_tablespaces),
        ("setup --tablespace IOPS 1", no_tablespaces),
        ("setup IOPS 1 2", &["unexpected value '2'"]),
    ];
    for (line, words) in refused {
        refuse(&folder, line, words);
    }
    let with_password = folder.slob("setup 4G --target postgres://u:S3CRET@h/d --endpoints u:S3CRET@h");
    let said = with_password.refused(&["--target postgres://u@h/d --scale 4G 4`"]).all();
    assert!(!said.contains("S3CRET"), "{said}");
}

/// The default would be loaded and measured in place of the kit's database.
#[test]
fn a_kits_file_without_a_target_does_not_mean_the_default_one() {
    let folder = Folder::new();
    let kits = [("DATABASE_STATISTICS_TYPE=statspack", "oracle:"), ("DBNAME=pgio", "postgres:")];
    for (line, scheme) in kits {
        folder.write("slob.conf", &format!("SCALE=8M\n{line}\n"));
        let target = format!("SLOB_TARGET={scheme}");
        for command in ["setup IOPS 128", "setup 4", "run", "drop --yes", "doctor", "verify"] {
            refuse(&folder, command, &["slob.conf line 2", &target, "Nothing was touched"]);
        }
        folder.slob("").prints(&["can't be used yet", &target]);
        folder.slob("conf").success();
        folder.slob("list").success();
    }
    folder.slob("setup --target sqlite:./d 1").success();
}

/// Without its flags it would work on another target.
#[test]
fn a_command_that_a_message_offers_has_the_target_of_the_call() {
    let folder = Folder::loaded(1, "8M");
    let there = "--target 'sqlite:./its data'";
    refuse(&folder, format!("run {there}"), &[&format!("`slob setup {there}`")]);
    refuse(&folder, "run 2", &["`slob setup 2`"]);
    folder.slob(format!("setup {there} --scale 8M 1")).success();
    refuse(&folder, format!("setup {there} --scale 16M 1"), &[&format!("`slob drop {there}`")]);
}

#[test]
fn an_empty_configuration_is_refused_and_no_file_is_replaced() {
    let folder = Folder::new();
    folder.write("slob.conf", "\n");
    for command in ["conf", "run 1 --target null:", "setup --target null: 1"] {
        folder.slob(command).refused(&["slob.conf is empty", "slob conf --init"]);
    }
    folder.slob("conf --init").refused(&["already exists"]);
    fs::remove_file(folder.at("slob.conf")).unwrap();
    folder.slob("conf --init").success();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    folder.slob("conf").success();
}

#[test]
fn escape_sequences_of_inputs_are_shown_and_not_passed_on() {
    let folder = Folder::new();
    let report = fs::read_to_string(awr_fixture("awr_12201.txt")).unwrap();
    let report = report.replace("db file sequential read", "db file \u{1b}]0;x\u{7}read");
    folder.write("awr\u{1b}[31m.txt", &report);
    for form in ["awr info", "awr info --csv", "awr info --json", "awr check"] {
        let called = folder.command(form).arg("awr\u{1b}[31m.txt").output().unwrap();
        let said = String::from_utf8_lossy(&[called.stdout, called.stderr].concat()).into_owned();
        assert!(!said.contains(|c: char| c.is_control() && !"\n\t".contains(c)), "{form}: {said:?}");
    }
}
