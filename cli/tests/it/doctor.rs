//! What would spoil a test on the database's host, observed in the way that OBSERVE says.

use std::path::Path;

use slob_testing::Sshd;
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::{Cluster, Version};

use crate::common::{
    Bench, Called, Folder, SLOB, assert_contains, contained, mariadb, postgres, skip_without_a_device,
    unwrapped,
};

/// An observer of another host: it finds no server there, and its clock goes on.
const ELSEWHERE: &str = include_str!("scripts/elsewhere.sh");

fn elsewhere(sshd: &Sshd, version: &str) {
    sshd.install_script("slob", &ELSEWHERE.replace("VERSION", version));
}

/// The ssh knows the server's key.
fn doctor(folder: &Folder, sshd: Option<&Sshd>, flags: impl AsRef<str>) -> Called {
    let path = sshd.map_or_else(|| std::env::var("PATH").unwrap(), Sshd::search_path);
    folder.slob_with_env(format!("doctor {}", flags.as_ref()), &[("PATH", &path)])
}

fn of_host(page: &str) -> &str {
    page.split_once("The database's host").unwrap_or_else(|| panic!("{page}")).1
}

fn small() -> Option<Bench<Cluster>> {
    postgres(Version::V15, &[("shared_buffers", "1MB")])
}

#[test]
fn the_doctor_sees_a_server_in_a_container_as_a_run_does() {
    let Some((bench, container)) = contained(Version::V15, &[("shared_buffers", "1MB")]) else { return };
    let Some(sshd) = Sshd::start_or_skip() else { return };
    sshd.install("slob", Path::new(SLOB));
    let auto = doctor(&bench.folder, None, "").success().stdout;
    let (_, pid) = auto.split_once("process ").unwrap_or_else(|| panic!("{auto}"));
    let pid = format!("pid:{}", pid.split(' ').next().unwrap());
    assert!(of_host(&auto).starts_with(", which is this one (OBSERVE=auto)"), "{auto}");
    for (observe, found) in
        [("auto", "found by"), (&pid, "found as the process that was named"), ("ssh:localhost", "found by")]
    {
        let page = doctor(&bench.folder, Some(&sshd), format!("--observe {observe}")).success().stdout;
        let seen = of_host(&page);
        let (process, by) = (format!("'postgres', {found}"), format!("OBSERVE={observe}"));
        assert_contains(seen, &[&process, "free on the file system of the data", &by]);
        assert!(page.contains("a run can start") && !seen.contains("CPU frequency"), "{page}");
        assert_eq!(seen.contains("answers on localhost"), observe.starts_with("ssh"), "{page}");
    }
    let conf = bench.folder.read("slob.conf");
    bench.folder.write("slob.conf", &format!("{conf}OBSERVE=none\n"));
    let none = doctor(&bench.folder, None, "").success().stdout;
    assert!(of_host(&none).contains("(OBSERVE=none)") && !none.contains("Device"), "{none}");
    if container.limit_cpus(Some(0.5)) {
        let held = doctor(&bench.folder, None, "--observe auto").success().stdout;
        assert!(of_host(&held).contains("WARNING  Limits") && held.contains("0.50 CPUs"), "{held}");
    }
}

#[test]
fn what_this_machine_is_like_is_not_told_of_a_host_elsewhere() {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    let Some(bench) = small() else { return };
    let release = env!("CARGO_PKG_VERSION");
    elsewhere(&sshd, release);
    let far = format!("--target {} --observe ssh:localhost", bench.target);
    let page = doctor(&bench.folder, Some(&sshd), &far).success().stdout;
    let seen = of_host(&page);
    assert!(seen.starts_with(", elsewhere (OBSERVE=ssh:localhost)"), "{page}");
    let answers = format!("slob {release} answers");
    assert_contains(seen, &[&answers, "it was not found: no process named", "the governor 'powersave'"]);
    // The server is here, but the observer says that it is not there.
    assert!(!page.contains("Device") && page.contains("whether there is room"), "{page}");
    elsewhere(&sshd, "9.9");
    doctor(&bench.folder, Some(&sshd), &far).prints(&["release 9.9", "--observe-copy"]);
}

#[test]
fn a_host_that_can_not_be_seen_is_a_warning_with_its_remedy() {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    let Some(bench) = small() else { return };
    let far = |observe| {
        doctor(&bench.folder, Some(&sshd), format!("--target {} --observe {observe}", bench.target))
    };
    far("ssh:localhost").prints(&["WARNING  Observer", "--observe-copy"]);
    let closed = far("ssh:localhost:1").success().stdout;
    assert!(of_host(&closed).contains("`ssh -p 1 localhost true` must work"), "{closed}");
    far("pid:4194303").prints_and_exits(1, &["no process 4194303"]);
    far("auto,none").prints_and_exits(1, &["2 observers for 1 endpoints"]);
}

/// Its process has some number there too, which is another's.
#[test]
fn an_embedded_database_is_not_looked_for_on_another_host() {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    elsewhere(&sshd, env!("CARGO_PKG_VERSION"));
    let folder = Folder::loaded(1, "8M");
    let run = "run --run-time 1 --observe ssh:localhost";
    let said = folder.slob_with_env(run, &[("PATH", &sshd.search_path())]).success();
    let record = folder.last_record();
    let notes = record["notes"].to_string();
    assert!(notes.contains("a part of this program"), "{notes} {}", said.stdout);
    assert_ne!(record["host"]["info"]["hostname"], "elsewhere");
}

/// Without the flags, the offered command would load something else.
#[test]
fn a_remedy_keeps_the_flags_of_the_call() {
    let folder = Folder::new();
    folder.slob("doctor --target sqlite:./d --scale 1M -s 3 --results-dir r").prints(&[
        "`slob setup --target sqlite:./d --scale 1M --results-dir r 3`",
        "`slob probe --results-dir r ",
    ]);
    folder.slob("doctor").prints(&["`slob setup 4`"]);
    folder.slob("doctor --tablespace IOPS").fails(1, &[]);
    let json = folder.slob("doctor --json --target sqlite:./d -s 3").json();
    let checks = json[0]["checks"].as_array().unwrap();
    let data = checks.iter().find(|check| check["subject"] == "Data").unwrap();
    let remedy = "`slob setup --target sqlite:./d 3`".into();
    assert_eq!((&data["grade"], &data["remedy"]), (&"warning".into(), &remedy));
}

#[test]
fn an_account_that_may_not_load_is_a_problem_with_the_statement_that_helps() {
    let Some(bench) = mariadb(&[]) else { return };
    let problem = |target: &str, words: &[&str]| {
        bench.folder.slob(format!("doctor --target '{target}'")).prints_and_exits(1, words);
    };
    let server: &MariaDb = &bench.server;
    server.sql("CREATE USER poor@'127.0.0.1'");
    problem(&server.target("poor"), &["PROBLEM  Account", "GRANT ALL ON `slob%`.* TO 'poor'@'127.0.0.1'"]);
    server.sql("GRANT SELECT ON `slob%`.* TO poor@'127.0.0.1'");
    problem(
        &server.target("poor"),
        &["CREATE command denied", "GRANT ALL ON `slob%`.* TO 'poor'@'127.0.0.1'"],
    );
    server.sql("GRANT ALL ON `slob%`.* TO poor@'127.0.0.1'");
    problem(&server.target("poor"), &["GRANT SELECT ON mysql.innodb_index_stats TO 'poor'@'127.0.0.1'"]);
    doctor(&bench.folder, None, format!("--target '{}'", bench.target)).prints(&["ok       Account"]);
    let missing = [
        "PROBLEM  Target",
        "CREATE USER 'nobody'@'%' IDENTIFIED BY '...'; GRANT ALL ON `slob%`.* TO 'nobody'@'%'",
    ];
    problem(&server.target("nobody"), &missing);
    server.sql("CREATE USER ''@'127.0.0.1'");
    let anonymous = ["PROBLEM  Account", "anonymous", "CREATE USER 'nobody'@'127.0.0.1' IDENTIFIED BY"];
    problem(&server.target("nobody"), &anonymous);
    let load = format!("setup --target '{}' --scale 2M 1", server.target("nobody"));
    assert_contains(&bench.folder.slob(load).stderr, &anonymous[1..]);
}

/// The doctor called it a problem where runs work, and a load failed at its end.
#[test]
fn an_account_without_the_statistics_may_run_but_begins_no_load() {
    let Some(bench) = mariadb(&[]) else { return };
    let (server, folder): (&MariaDb, _) = (&bench.server, &bench.folder);
    server.sql("CREATE USER poor@'127.0.0.1'");
    server.sql("GRANT ALL ON `slob%`.* TO poor@'127.0.0.1'");
    let poor = format!("--target '{}'", server.target("poor"));
    let statistics = "GRANT SELECT ON mysql.innodb_index_stats TO 'poor'@'127.0.0.1'";
    let refused = folder.slob(format!("setup {poor} --scale 2M 1"));
    assert!(refused.code != 0 && refused.stderr.contains(statistics), "{}", refused.stderr);
    assert_eq!(server.ask("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'slob1'"), 0);
    doctor(folder, None, &poor).prints_and_exits(1, &["PROBLEM  Account", statistics]);
    folder.slob(format!("setup --target '{}' --scale 2M 1", bench.target)).success();
    doctor(folder, None, &poor).prints(&["WARNING  Account", "may run with what is loaded", statistics]);
    folder.slob(format!("run 1 {poor} --scale 2M --warmup 0 --run-time 2")).success();
}

#[test]
fn a_role_and_a_database_that_are_missing_come_with_their_statements() {
    let Some(bench) = small() else { return };
    let problem = |from: &str, to: &str, words: &[&str]| {
        let target = bench.target.replace(from, to);
        doctor(&bench.folder, None, format!("--target {target}")).prints_and_exits(1, words);
    };
    let grant = "GRANT CREATE ON DATABASE \"postgres\" TO \"plain\"";
    problem("/slob", "/postgres", &["PROBLEM  Account", grant]);
    problem("/slob", "/none", &["CREATE DATABASE \"none\" OWNER \"plain\""]);
    let statements = ["CREATE ROLE \"nobody\" LOGIN", "CREATE DATABASE \"slob\" OWNER \"nobody\""];
    problem("plain@", "nobody@", &statements);
    let page = doctor(&bench.folder, None, format!("--target {}", bench.target)).success().stdout;
    assert!(page.contains("ok       Account"), "{page}");
    // A scratch file among the server's own files would be in its backups.
    let data = bench.server.data_folder();
    let beside = format!("`slob probe {}`", data.parent().unwrap().display());
    assert!(page.contains(&beside) || !page.contains("slob probe"), "{page}");
}

#[test]
fn a_server_without_direct_io_has_one_remedy_before_and_after_a_run() {
    let Some(bench) = small() else { return };
    if skip_without_a_device() {
        return;
    }
    let remedy = "PostgreSQL 15 has no direct I/O, 16 and later have. Without it: limit the server's memory to 320 MiB";
    bench.setup(1, "32M");
    let called = bench.folder.slob("setup 2");
    called.says(&["warning: of a test of these data, reads pass through the page cache", remedy]);
    doctor(&bench.folder, None, "").prints(&["WARNING  Page cache", remedy]);
    let run = bench.folder.slob("run --run-time 2 --update-pct 0 --plain").success();
    assert_contains(&run.stderr, &["warning: reads pass through the page cache", remedy]);
    let summary = unwrapped(&run.stdout);
    assert!(!summary.contains("BAD No: your OS page cache") || summary.contains(remedy), "{}", run.stdout);
    let report = unwrapped(&bench.folder.slob("report").success().stdout);
    assert_eq!(summary.contains(remedy), report.contains(remedy), "{report}");
}

#[test]
fn a_server_that_can_bypass_the_page_cache_comes_with_the_setting() {
    let Some(bench) = mariadb(&["innodb-flush-method=fsync"]) else { return };
    let page = doctor(&bench.folder, None, format!("--target '{}'", bench.target)).success().stdout;
    assert_contains(&page, &["WARNING  Page cache", "reads then bypass the page cache."]);
    // A probe with smaller blocks than the server's was asked for again and again.
    assert!(!page.contains("slob probe") || page.contains("slob probe --block-bytes 16384 "), "{page}");
    assert!(page.contains("innodb_flush_method=O_DIRECT") || page.contains("innodb_data_file_buffering=OFF"));
}

#[test]
fn the_doctor_sees_a_memory_limit_that_is_there() {
    let Some((bench, container)) = contained(Version::V15, &[("shared_buffers", "1MB")]) else { return };
    if !container.limit_memory(256 << 20) {
        return;
    }
    // The proposed load depends on the room that the disk has.
    let said = unwrapped(&doctor(&bench.folder, None, "").success().stdout);
    assert_contains(&said, &["its limit of 256 MiB of memory", "256 MiB of memory"]);
    let is_offered = ["the server may use 256 MiB of memory: load ", "make room for "];
    assert!(is_offered.iter().any(|words| said.contains(words)), "{said}");
}
