//! The main job from the command line, on the embedded engine: load, run, report, verify, drop.

use std::fs;
use std::process::Command;

use slob_testing::tries::{ensure, shown_within};

use crate::common::{
    Folder, HANG, SLOB, Signal, VERIFY, at_work, ended, operations, rows, signal, stopped_while_hanging,
};

/// The keys and values of a kit's file as it is shipped, in our words.
const KIT_CONF: &str = "\
    UPDATE_PCT=10\nSCAN_PCT=0\nRUN_TIME=300\nWORK_LOOP=0\nSCALE=80M\nSCAN_TABLE_SZ=1M\nWORK_UNIT=64\nREDO_STRESS=LITE\n\
    LOAD_PARALLEL_DEGREE=2\n\nTHREADS_PER_SCHEMA=1\n\nDATABASE_STATISTICS_TYPE=statspack   # or awr\n\n\
    # Services, accounts\n#ADMIN_SQLNET_SERVICE=slob\n#SQLNET_SERVICE_BASE=slob\n#SQLNET_SERVICE_MAX=2\n\
    DBA_PRIV_USER=\"system\"\nSYSDBA_PASSWD=\"manager\"\n\nEXTERNAL_SCRIPT=''\n\nDO_HOTSPOT=FALSE\nHOTSPOT_MB=8\n\
    HOTSPOT_OFFSET_MB=16\nHOTSPOT_FREQUENCY=3\nHOT_SCHEMA_FREQUENCY=0\nTHINK_TM_FREQUENCY=0\nTHINK_TM_MIN=.1\n\
    THINK_TM_MAX=.5\nexport UPDATE_PCT RUN_TIME WORK_LOOP SCALE WORK_UNIT\n";

/// `runit.sh WRITERS READERS` of the first kits.
#[test]
fn readers_work_beside_writers() {
    let folder = Folder::loaded(4, "4M");
    let said = ["with 8 sessions", "5 readers: ", "; 3 writers: "];
    folder.sound_run("run 3 5 -s 2 --run-time 1 --warmup 0", VERIFY).prints(&said);
    let sessions = folder.slob("show latest --field sessions").json();
    for session in sessions.as_array().unwrap() {
        let is_writer = session["session"].as_u64().unwrap() < 3;
        let other = if is_writer { "selects" } else { "updates" };
        assert_eq!(session[other], 0, "{session}");
    }
    folder.slob("run 0 8 --run-time 1 --warmup 0").success();
    assert_eq!(folder.slob("show latest --field workload.update_pct").success().stdout.trim(), "0");
    folder.slob("run 3 4 -s 2").refused(&["can't be spread evenly over SCHEMAS=2. Set SCHEMAS=1"]);
    folder.slob("run 3 4 --writers 3").refused(&["leave out --writers"]);
}

#[test]
fn a_kits_own_file_loads_and_runs() {
    let folder = Folder::new();
    folder.write("slob.conf", KIT_CONF);
    folder.slob("setup --target sqlite:./d 2 --scale 8M").success();
    let run = "run --target sqlite:./d -s 2 -t 2 --run-time 2 --warmup 1 --scale 8M --full";
    let verdicts = ["Physical?", "Accounted?", "CPU to spare?", "Steady?", "Complete?"];
    let text = folder.slob(run).prints(&verdicts).stdout;
    assert_eq!(folder.slob("report").success().stdout, text, "the report is made from the record alone");
    let run = folder.last_run();
    assert_eq!(fs::read_to_string(run.join("report.txt")).unwrap(), slob_report::with_digest(&text));
    let kept = fs::read_to_string(run.join("slob.conf")).unwrap();
    assert!(!kept.contains("manager"), "a password was kept:\n{kept}");
    assert!(!fs::read_to_string(run.join("run.json")).unwrap().contains("manager"));
}

#[test]
fn counts_equal_the_plan_exactly() {
    let folder = Folder::loaded(2, "8M");
    let record = folder.run_json("-s 2 -t 1 --work-loop 200 --update-pct 73 --scan-pct 50");
    for session in record["sessions"].as_array().unwrap() {
        assert_eq!(session["updates"], 146);
        assert_eq!(session["selects"].as_u64().unwrap() + session["scans"].as_u64().unwrap(), 54);
        assert_eq!(session["whole_window"], true);
    }
    assert_eq!(rows(&record, "update"), 2 * 146 * 64);
    assert_eq!(rows(&record, "select"), 64 * operations(&record, "select"));
    assert_eq!(record["counters"]["commits"], 2 * 146);
    // The scan table of 1 MiB has 128 blocks.
    assert_eq!(rows(&record, "scan"), 128 * operations(&record, "scan"));
    folder.slob("verify --target sqlite:./d").prints(&[" 0 faulty"]);
}

#[test]
fn the_same_seed_does_the_same_work() {
    let folder = Folder::loaded(1, "8M");
    let reads = |seed: &str| {
        let record = folder.run_json(format!("--work-loop 50 --update-pct 0 --seed {seed} --cache-mb 1"));
        record["counters"]["physical_reads"].as_u64().unwrap()
    };
    assert_eq!(reads("5"), reads("5"));
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let folder = Folder::loaded(1, "8M");
    let child = folder.start_run("--run-time 60");
    signal(&child, Signal::INT);
    ended(child).prints_and_exits(130, &["INTERRUPTED"]);
    let record = folder.last_record();
    assert_eq!(record["status"]["state"], "interrupted");
    assert!(operations(&record, "select") > 0);
}

#[test]
fn a_run_under_nohup_does_not_end_with_its_terminal() {
    let folder = Folder::loaded(1, "8M");
    let run = format!("trap '' HUP; exec '{SLOB}' run --run-time 6");
    let child = at_work(Command::new("sh").args(["-c", &run]).current_dir(folder.path()));
    signal(&child, Signal::HUP);
    ended(child).success();
    assert_eq!(folder.last_record()["status"]["state"], "completed");
}

#[test]
fn buffered_reads_are_called_what_they_are() {
    let folder = Folder::loaded(1, "32M");
    let arguments = "run --target sqlite:./d --scale 32M --run-time 2 --warmup 1 --update-pct 0 --cache-mb 2";
    // Others may need the memory of the page cache.
    let called = shown_within(3, || {
        let called = folder.slob(format!("{arguments} --strict --buffered"));
        ensure(called.stdout.contains("page cache"), || called.all()).map(|()| called)
    });
    called.exits(1);
}

#[test]
fn drop_removes_only_what_is_ours() {
    let folder = Folder::loaded(2, "8M");
    folder.write("d/slob3.db", "not a database of ours");
    folder.write("d/notes.txt", "keep me");
    let asked = folder.slob("drop --target sqlite:./d");
    assert_eq!(asked.code, 2, "without a terminal and without --yes nothing is removed");
    assert!(folder.at("d/slob1.db").exists());
    folder.slob("drop --target sqlite:./d --yes").success();
    assert_eq!(folder.shell("ls -A d").stdout, "notes.txt\nslob3.db\n");
}

#[test]
fn the_external_script_is_called_three_times_and_its_failure_is_fatal() {
    let folder = Folder::loaded(1, "8M");
    folder.script("hook.sh", "#!/bin/sh\necho \"$1\" >> calls; [ \"$1\" != \"$FAIL_AT\" ]\n");
    let arguments = "run --target sqlite:./d --scale 8M --run-time 1 --warmup 0 --external-script ./hook.sh";
    folder.slob(arguments).success();
    assert_eq!(folder.read("calls"), "pre\npost\nend\n");
    for moment in ["pre", "post", "end"] {
        let failed = folder.slob_with_env(arguments, &[("FAIL_AT", moment)]);
        failed.fails(3, &[&format!("{moment}: ended with exit status: 1")]);
    }
}

/// Sessions tried out their own first operation, which their cache then served: 100 of 256 sessions read nothing.
#[test]
fn the_first_operation_of_a_session_is_not_read_beforehand() {
    let folder = Folder::loaded(2, "16M");
    let record = folder.run_json("-s 2 -t 64 --rate 50 --update-pct 0 --work-unit 8 --run-time 2");
    let reads = record["counters"]["physical_reads"].as_u64().unwrap();
    let rows = record["operations"]["select"]["rows"].as_u64().unwrap();
    assert!(2 * reads > rows, "{reads} reads for {rows} rows");
}

#[test]
fn a_script_that_hangs_does_not_make_a_run_deaf_to_a_signal() {
    let folder = Folder::loaded(1, "8M");
    folder.script("hook.sh", &format!("#!/bin/sh\n[ \"$1\" = \"$HANG_AT\" ] || exit 0\n{HANG}\n"));
    for moment in ["pre", "post"] {
        let mut run = folder.command("run --run-time 1 --warmup 0 --external-script ./hook.sh");
        stopped_while_hanging(&folder, run.env("HANG_AT", moment)).exits(130);
    }
    assert_eq!(folder.last_record()["status"]["state"], "interrupted");
    assert!(folder.last_record()["notes"].to_string().contains("post was interrupted"));
}

#[test]
fn piped_output_has_a_line_for_each_second_and_a_closed_pipe_is_no_error() {
    let folder = Folder::loaded(1, "8M");
    folder.slob("run --target sqlite:./d --scale 8M --run-time 2 --warmup 0").says(&["reads/s"]);
    assert_eq!(folder.shell("$0 report | head -n 1 > /dev/null; true").stderr, "");
}

#[test]
fn size_and_duration_of_a_load_are_in_the_records_of_its_runs() {
    let folder = Folder::loaded(2, "1M");
    folder.slob("run --run-time 1 --warmup 0").success();
    let load = &folder.last_record()["load"];
    let (cost, schemas) = (&load["cost"], load["schemas"].as_array().unwrap());
    let rows: u64 = schemas.iter().map(|schema| schema["rows"].as_u64().unwrap()).sum();
    assert!(cost["rows"].as_u64().unwrap() >= rows && cost["seconds"].as_f64().unwrap() > 0.0, "{cost}");
    let listed = folder.slob("info --csv --columns load_mb,load_mb_per_s,load_s").success().stdout;
    assert!(listed.lines().nth(1).unwrap().split(',').all(|figure| figure.parse::<f64>().unwrap() > 0.0));
    folder.slob("report").success().prints(&["The last load of these data"]);
}

#[test]
fn repeats_are_a_group_by_their_name() {
    let folder = Folder::loaded(1, "16M");
    let quick = "run --repeat 2 --run-time 1 --warmup 0 --update-pct 0 --plain";
    folder.slob(quick).refused(&["--name"]);
    folder.slob(format!("{quick} --name before")).prints(&[
        "2 runs of before",
        "Physical reads/s",
        "Noise %",
    ]);
    folder.slob(format!("{quick} --name before")).refused(&["2 runs of the name before"]);
    folder.slob(format!("{quick} --name after")).success();
    let sides = folder.slob("compare before after --json").json();
    let runs = ["first", "second"].map(|side| sides[side]["runs"].as_array().unwrap().len());
    assert_eq!(runs, [2, 2], "{sides}");
}
