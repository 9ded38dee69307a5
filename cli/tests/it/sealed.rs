//! Runs that were not edited are not accused, wherever they are; signatures are those of OpenSSH.

use std::fs;
use std::path::Path;

use slob_record::{list_runs, read_record};

use slob_testing::available;

use crate::common::{Folder, SAVED, Signal, VERIFY, ended, signal};

const RUN: &str = "run --target null:?latency_us=1000 --run-time 1 --warmup 0";

fn verified(folder: &Folder, run: &str) -> String {
    folder.slob(format!("verify --run {run}")).success().stdout
}

#[test]
fn a_run_agrees_with_itself_after_a_move_and_each_of_its_files_alone() {
    let folder = Folder::new();
    let said = folder.sound_run(&format!("{RUN} --keep-operations --json"), VERIFY).success();
    let run = folder.last_run();
    let digest = read_record(&run).unwrap().digest.unwrap();
    assert!(said.stderr.trim_end().ends_with(&format!("Digest:      {digest}")), "{}", said.stderr);
    folder.slob("info --csv --columns digest").prints(&[&digest]);
    folder.slob("report").prints(&[&digest]);
    fs::create_dir(folder.at("else")).unwrap();
    folder.write("else/report.txt", "a report of another run");
    folder.shell(&format!(
        "tar cz -C {0} . | tar xz -C else && cp {0}/report.html {0}/run.json .",
        run.display()
    ));
    folder.write("else/notes.txt", "what I think of it");
    let moved = verified(&folder, "else");
    assert!(moved.contains("unknown  notes.txt is not known to the record"), "{moved}");
    for file in ["series.csv", "slob.conf", "operations.csv"] {
        assert!(moved.contains(&format!("agrees   {file} is as it was saved")), "{moved}");
    }
    assert!(verified(&folder, "report.html").contains("agrees   report.html is what the record says"));
    fs::remove_file(folder.at("report.html")).unwrap();
    assert!(verified(&folder, "run.json").contains("unknown  operations.csv is not here"));
    // `slob report` makes the views again; the text has no digest then.
    folder.shell(&format!(
        "$0 report else > again && mv again else/report.txt && $0 report --html {} ",
        run.display()
    ));
    assert!(verified(&folder, "else").contains("agrees   report.txt is what the record says"));
}

/// Another release may make other views: their digest decides.
#[test]
fn a_view_of_another_release_is_not_accused() {
    let folder = Folder::new();
    folder.sound_run(RUN, VERIFY).success();
    let (run, report) = (folder.last_run(), folder.last_run().join("report.txt"));
    let made = fs::read_to_string(&report).unwrap();
    let view = &made[..made.trim_end().rfind('\n').unwrap() + 1];
    let other = view.replace("Verdicts", "Judgements");
    fs::write(&report, slob_report::with_digest(&other)).unwrap();
    assert!(verified(&folder, "latest").contains("unknown  report.txt was made by another release"));
    let digest = read_record(&run).unwrap().digest.unwrap();
    fs::write(&report, slob_report::with_digest(&other.replace(&digest, &"0".repeat(32)))).unwrap();
    is_accused(&folder, "", "report.txt is not of this record");
    fs::write(&report, &other).unwrap();
    is_accused(&folder, "", "report.txt is not of this record");
    let record = fs::read_to_string(run.join("run.json")).unwrap();
    fs::write(run.join("run.json"), record.replace(&format!(",\"digest\":\"{digest}\""), "")).unwrap();
    is_accused(&folder, "", "the record has lost its digest");
}

#[test]
fn records_of_an_older_release_and_an_interrupted_run_are_not_accused() {
    let folder = Folder::new();
    for run in list_runs(Path::new(SAVED)).unwrap() {
        let text = verified(&folder, &run.display().to_string());
        assert!(text.contains("unknown  the record has no digest"), "{text}");
    }
    let run = folder.start_run("--target null:?latency_us=1000 --run-time 20 --warmup 0");
    signal(&run, Signal::INT);
    ended(run).exits(130);
    let text = verified(&folder, "latest");
    assert!(text.contains("agrees   the run was interrupted") && !text.contains("unknown"), "{text}");
}

fn is_accused(folder: &Folder, flags: &str, words: &str) {
    let called = folder.slob(format!("verify --run latest {flags}")).exits(1);
    let differs = called.stdout.lines().any(|line| line.starts_with("DIFFERS") && line.contains(words));
    assert!(differs && called.stdout.contains("not everything agrees"), "{}", called.stdout);
}

fn keygen(folder: &Folder, words: &str) -> bool {
    folder.shell(&format!("ssh-keygen -q {words}")).code == 0
}

#[test]
fn what_ssh_keygen_signs_is_verified_and_what_is_signed_here_ssh_keygen_verifies() {
    let folder = Folder::new();
    let made = keygen(&folder, "-t ed25519 -N '' -C me -f key");
    let Some(()) = available(made.then_some(()).ok_or("no ssh-keygen".into())) else { return };
    keygen(&folder, "-t ed25519 -N '' -C other -f other");
    keygen(&folder, "-t ed25519 -N secret -f locked");
    keygen(&folder, "-t rsa -b 2048 -N '' -f rsa");
    for (key, words) in [
        ("locked", "asks for the passphrase"),
        ("rsa", "ssh-keygen -t ed25519"),
        ("key.pub", "Ed25519"),
        ("none", "is not there"),
    ] {
        folder.slob(format!("{RUN} --sign {key}")).refused(&[words]);
    }
    assert!(!folder.at("runs").exists(), "a key that does not fit is refused first");
    folder.sound_run(&format!("{RUN} --sign key"), VERIFY).success();
    let file = folder.last_run().join("run.json");
    let place = file.display();
    folder.shell("echo \"me $(cat key.pub)\" > allowed; echo \"you $(cat other.pub)\" >> allowed");
    let theirs = format!("-Y verify -f allowed -I me -n file -s {place}.sig < {place}");
    assert!(keygen(&folder, &theirs));
    let verify = |flags: &str| folder.slob(format!("verify --run latest {flags}"));
    verify("").success().prints(&["the record is signed with the key SHA256:"]);
    for signers in ["key.pub", "allowed"] {
        verify(&format!("--signed-by {signers}")).success().prints(&["as it must be"]);
    }
    is_accused(&folder, "--signed-by other.pub", "by none that --signed-by names");
    verify("--signed-by key").refused(&["is not a public key"]);
    let sign_with = |key: &str, namespace: &str| {
        fs::remove_file(Path::new(&format!("{place}.sig"))).unwrap();
        assert!(keygen(&folder, &format!("-Y sign -f {key} -n {namespace} {place}")));
    };
    sign_with("other", "file");
    verify("--signed-by allowed").success();
    verify("--signed-by key.pub").exits(1);
    sign_with("rsa", "file");
    is_accused(&folder, "--signed-by allowed", "of the kind ssh-rsa");
    verify("").success().prints(&["unknown  the signature is of the kind ssh-rsa"]);
    sign_with("key", "git");
    is_accused(&folder, "--signed-by key.pub", "for the use 'git'");
    sign_with("key", "file");
    verify("--signed-by key.pub").success();
    // An editor of a record can rewrite its digest, but not sign it.
    let mut record = read_record(&file).unwrap();
    record.target = "null:?latency_us=7".into();
    record.digest = Some(slob_record::digest_of(&record).unwrap());
    fs::write(&file, serde_json::to_vec(&record).unwrap()).unwrap();
    assert!(!keygen(&folder, &theirs));
    is_accused(&folder, "--signed-by key.pub", "one of them was changed");
    fs::remove_file(format!("{place}.sig")).unwrap();
    is_accused(&folder, "--signed-by key.pub", "the record is not signed");
}
