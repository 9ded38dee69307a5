//! Runs as a site: what is published, what is refused, and what a reader of the site can do without a server.

use std::fs;

use crate::browser::Browser;
use crate::common::{Folder, VERIFY, ended, mariadb, postgres, read_json, workspace};
use mysql::prelude::Queryable;
use serde_json::{Value, json};
use slob_testing::jobs::TestServer;
use slob_testing::postgres::Version;

/// Three repeats of one test and one run of another.
fn with_runs() -> Folder {
    let folder = Folder::loaded(1, "8M");
    for name in ["base-r1", "base-r2", "base-r3", "wide"] {
        let threads = if name == "wide" { 2 } else { 1 };
        folder.sound_run(&format!("run 1 -t {threads} --run-time 1 --name {name}"), VERIFY).success();
    }
    folder
}

#[test]
fn a_site_holds_the_runs_that_verify_and_keeps_them() {
    let folder = with_runs();
    let runs = slob_record::list_runs(&folder.at("runs")).unwrap();
    let edited = runs[1].join("run.json");
    let genuine = fs::read_to_string(&edited).unwrap();
    let rows = read_json(&edited)["operations"]["select"]["rows"].as_u64().unwrap();
    fs::write(&edited, genuine.replace(&format!("\"rows\":{rows}"), &format!("\"rows\":{}", rows + 64)))
        .unwrap();
    assert!(fs::read_to_string(&edited).unwrap() != genuine);
    let first =
        folder.slob("publish --site public").fails(1, &["base-r2", "not published", "slob verify --run"]);
    assert!(first.stdout.contains("public/index.html: 3 runs published"), "{}", first.stdout);
    // The next time adds what is missing and changes nothing else.
    fs::write(&edited, genuine).unwrap();
    let again = folder.slob("publish --site public").success().stdout;
    assert!(again.contains("1 run published, 3 were there already"), "{again}");
    for run in &runs {
        let id = run.file_name().unwrap().to_str().unwrap();
        let published = folder.at("public").join(id);
        assert!(fs::read(published.join("run.json")).unwrap() == fs::read(run.join("run.json")).unwrap());
        folder.slob(format!("verify --run public/{id}")).success();
    }
    let listed = |results: &str| folder.slob(format!("list --json --results-dir {results}")).success().stdout;
    assert_eq!(listed("public"), listed("runs"));
    // Nothing of this machine's places is in the list, and no unfinished folder is left.
    let index = fs::read_to_string(folder.at("public/index.html")).unwrap();
    assert!(!index.contains("--results-dir"));
    let names = fs::read_dir(folder.at("public")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut others: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    others.retain(|name| !runs.iter().any(|run| run.ends_with(name)));
    others.sort_unstable();
    assert_eq!(others, ["index.html", "ledger.html", "trend.html"]);
}

#[test]
fn what_can_not_be_published_is_refused_and_nothing_is_half_written() {
    let folder = Folder::loaded(1, "8M");
    folder.sound_run("run 1 --run-time 1 --name only", VERIFY).success();
    folder.slob("publish").refused(&["--site <DIR>"]);
    folder.slob("publish nothing --site public").refused(&["no run"]);
    assert!(!folder.at("public").exists());
    // Another page of that name is not overwritten.
    fs::create_dir(folder.at("other")).unwrap();
    fs::write(folder.at("other/index.html"), "<h1>Home</h1>").unwrap();
    folder.slob("publish --site other").refused(&["other/index.html is not a page of runs"]);
    assert_eq!(fs::read_to_string(folder.at("other/index.html")).unwrap(), "<h1>Home</h1>");
    // Records without a signature, where one is asked for.
    fs::write(folder.at("signers"), "").unwrap();
    folder.slob("publish --site public --signed-by signers").refused(&["signers"]);
    folder.slob("publish --site public").success();
    let run = folder.last_run();
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    // The same id and another content.
    let there = folder.at("public").join(&id).join("run.json");
    let published = fs::read_to_string(&there).unwrap();
    fs::write(&there, published.replacen("\"name\":\"only\"", "\"name\":\"else\"", 1)).unwrap();
    folder.slob("publish --site public").refused(&[&id, "another run of this id"]);
    // An id that leads elsewhere.
    let record = fs::read_to_string(run.join("run.json")).unwrap();
    fs::write(run.join("run.json"), record.replace(&id, "../../outside")).unwrap();
    folder.slob("publish --site public").refused(&["'../../outside' is no id of a run"]);
    assert!(!folder.at("outside").exists() && !folder.at("../outside").exists());
}

#[test]
fn a_reader_of_the_site_compares_runs_without_a_server() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = with_runs();
    folder.slob("publish --site public").success();
    browser.view(1280, 900, false);
    browser.open(&folder.at("public/index.html"));
    let count = |browser: &mut Browser, css: &str| {
        browser.value(&format!("document.querySelectorAll('{css}').length"))
    };
    assert_eq!(count(&mut browser, "#runs tbody tr"), 4);
    // Each number has its record beside it.
    assert_eq!(count(&mut browser, "#runs tbody a[href$=\"/run.json\"][title^=\"SHA-256 \"]"), 4);
    // The repeats of one test show their lowest and their highest.
    assert_eq!(count(&mut browser, "#repeats tbody tr"), 1);
    let repeats = browser.value(
        "[...document.querySelectorAll('#repeats tbody tr td')].map((cell) => cell.textContent.trim())",
    );
    assert_eq!((&repeats[0], &repeats[2]), (&json!("base"), &json!("3")));
    let ends: Value =
        browser.value("[...document.querySelectorAll('#repeats tbody a')].map((link) => link.textContent)");
    assert_eq!(ends.as_array().unwrap().len(), 2);
    // Two ticked runs are beside each other: their figures, their change, and the settings in which they differ.
    browser.value("(() => { const boxes = document.querySelectorAll('#runs tbody input'); boxes[0].click(); boxes[1].click(); })()");
    let beside = "[...document.querySelectorAll('#side-by-side tr')].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))";
    let table: Vec<Vec<String>> = serde_json::from_value(browser.value(beside)).unwrap();
    let row = |name: &str| {
        table.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no {name} in {table:?}"))
    };
    assert!(row("Run")[1].starts_with("base-r3") && row("Run")[2].starts_with("wide"), "{table:?}");
    assert!(row("Op./s")[2].ends_with(" %") && !row("Op./s")[1].contains('%'), "{table:?}");
    assert_eq!(row("THREADS_PER_SCHEMA")[1..], ["1", "2"].map(String::from));
    assert!(!table.iter().any(|row| row[0] == "Target"), "{table:?}");
    // No more than eight are beside each other; a run that is not ticked any more leaves.
    browser.value("document.querySelectorAll('#runs tbody input')[1].click()");
    assert_eq!(browser.value("document.getElementById('compare').hidden"), true);
    for width in [1280, 400] {
        browser.view(width, 800, true);
        browser.value("[...document.querySelectorAll('#runs tbody input')].forEach((box) => box.checked || box.click())");
        assert_eq!(browser.value("document.documentElement.scrollWidth"), width);
    }
}

/// The same answers from a board as from the folder, byte for byte.
fn board_is_as_the_folder(folder: &Folder, board: &str) {
    for line in [
        "list --json",
        "list --csv",
        "diff latest~1 latest --json",
        "diff base-r1 base-r2 --markdown",
        "gate latest --baseline base-r1 base-r2 --max-loss 'iops 30 %' --json",
        "trend --json",
        "info --columns id,physical_reads_per_s,verdicts",
        "report latest --summary",
    ] {
        let [of_folder, of_board] = ["--results-dir runs".to_owned(), format!("--from {board}")]
            .map(|from| folder.slob(format!("{line} {from}")));
        assert_eq!(
            (of_board.code, &of_board.stdout),
            (of_folder.code, &of_folder.stdout),
            "{line}: {}",
            of_board.stderr
        );
        assert!(!of_board.stdout.is_empty(), "{line}");
    }
    let of_variants =
        |from: &str| folder.slob(format!("analyze {from} --by sessions --json")).success().json();
    let (of_folder, of_board) = (of_variants("runs"), of_variants(&format!("--from {board}")));
    assert_eq!(of_board["tables"], of_folder["tables"]);
}

/// Twenty programs publish two folders at a time.
fn published_by_twenty(folder: &Folder, board: &str) {
    let line = |number: usize| format!("publish {} --to {board}", ["runs", "more"][number % 2]);
    let programs: Vec<_> = (0..20).map(|number| folder.start(line(number))).collect();
    for program in programs {
        ended(program).success();
    }
    let again = folder.slob(format!("publish runs more --to {board}")).success().stdout;
    assert!(again.contains(": 0 runs published, 5 were there already"), "{again}");
}

fn two_folders() -> Folder {
    let folder = with_runs();
    folder.sound_run("run 1 --run-time 1 --name elsewhere", VERIFY).success();
    fs::create_dir(folder.at("more")).unwrap();
    let run = folder.last_run();
    fs::rename(&run, folder.at("more").join(run.file_name().unwrap())).unwrap();
    folder
}

/// One of the runs is only in the second folder.
fn all_in_one(folder: &Folder) {
    let run = slob_record::list_runs(&folder.at("more")).unwrap().remove(0);
    let status = std::process::Command::new("cp").arg("-r").arg(run).arg(folder.at("runs")).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_file_of_sqlite_is_a_board_and_bad_input_changes_nothing() {
    let folder = two_folders();
    let board = "sqlite:board.db";
    let publish = "`slob publish --to sqlite:none.db` publishes some";
    folder.slob("list --from sqlite:none.db").refused(&[publish]);
    // An unreadable run leaves a board without runs.
    fs::create_dir(folder.at("bad")).unwrap();
    folder.write("bad/run.json", "{}");
    folder.slob("publish bad --to sqlite:none.db").refused(&["no run could be published"]);
    folder.slob("report latest --from sqlite:none.db").refused(&["it has no runs", publish]);
    published_by_twenty(&folder, board);
    folders_are_as_published(&folder, board);
    all_in_one(&folder);
    board_is_as_the_folder(&folder, board);
    let database = rusqlite::Connection::open(folder.at("board.db")).unwrap();
    let ask = |sql: &str| -> f64 {
        database.query_row(&format!("SELECT CAST(({sql}) AS REAL)"), [], |row| row.get(0)).unwrap()
    };
    // Counts of the tables are those of the records.
    let record: Value = serde_json::from_str(&folder.slob("report wide --json").success().stdout).unwrap();
    let select =
        "SELECT SUM(operations) FROM slob_histograms WHERE operation = 'select' AND run LIKE '%-wide'";
    assert_eq!(ask(select), record["operations"]["select"]["operations"].as_f64().unwrap());
    assert_eq!(ask("SELECT COUNT(*) FROM slob_verdicts"), 25.0);
    let rate: f64 =
        folder.slob("show wide --field figures.operations_per_s").success().stdout.trim().parse().unwrap();
    let of_wide = "name = 'operations_per_s' AND run LIKE '%-wide'";
    assert_eq!(ask(&format!("SELECT value FROM slob_figures WHERE {of_wide}")), rate);
    // Its tables are read by programs of others.
    let python = workspace("target/test-readers/bin/python");
    if slob_testing::available(Some(()).filter(|()| python.exists()).ok_or("there are no readers".into()))
        .is_some()
    {
        const PANDAS: &str = "import sys, sqlite3, pandas; \
            print(len(pandas.read_sql('SELECT * FROM slob_overview', sqlite3.connect(sys.argv[1])).dropna(subset=['operations_per_s'])))";
        // A run that is BAD on a busy machine has none there.
        let sound =
            ask("SELECT COUNT(*) FROM slob_figures WHERE name = 'operations_per_s' AND forbidden_by IS NULL");
        let mut reader = std::process::Command::new(python);
        let output = reader.args(["-c", PANDAS]).arg(folder.at("board.db")).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), sound.to_string(), "{errors}");
    }
    // The same id with another content, and a record that fails its checks.
    let run = folder.last_run();
    let genuine = fs::read_to_string(run.join("run.json")).unwrap();
    fs::write(run.join("run.json"), genuine.replacen("\"name\":\"", "\"name\":\"x", 1)).unwrap();
    folder.slob(format!("publish latest --to {board}")).refused(&["not published"]);
    fs::write(run.join("run.json"), genuine).unwrap();
    // Somebody edits the board.
    database
        .execute("UPDATE slob_runs SET record = REPLACE(record, 'wide', 'best') WHERE name = 'wide'", [])
        .unwrap();
    folder
        .slob_with_env(
            format!("list --from {board}"),
            &[("XDG_CACHE_HOME", folder.at("cache").to_str().unwrap())],
        )
        .refused(&["was changed after it was published"]);
    // Tables of a later release.
    database.execute("UPDATE slob_board SET version = 99", []).unwrap();
    for line in ["publish latest --to", "list --from"] {
        folder.slob(format!("{line} {board}")).refused(&["version 99", "use that release"]);
    }
    assert_eq!(ask("SELECT COUNT(*) FROM slob_runs"), 5.0);
    for (board, words) in [
        ("sqlite:no/such/folder/board.db", "no/such/folder"),
        ("postgres://me@127.0.0.1:1/results", "connecting to"),
        ("postgres://me:secret@127.0.0.1:1/results", "a password on a command line"),
        ("null:", "it can't keep runs"),
        ("oracle://me@//db:1521/x", "it can't keep runs"),
        ("nonsense", "the address of the board"),
    ] {
        let refused = folder.slob(format!("publish latest --to {board}")).refused(&[words]);
        assert!(!refused.all().contains("secret"), "{}", refused.all());
    }
}

#[test]
fn postgresql_is_a_board_for_twenty_publishers_at_a_time() {
    let Some(bench) = postgres(Version::V15, &[]) else { return };
    let folder = two_folders();
    published_by_twenty(&folder, &bench.target);
    folders_are_as_published(&folder, &bench.target);
    all_in_one(&folder);
    board_is_as_the_folder(&folder, &bench.target);
    // The queries of the dashboard find the runs.
    let dashboard = read_json(workspace("packaging/examples/grafana.json"));
    let rows = |panel: usize| {
        let sql = dashboard["panels"][panel]["targets"][0]["rawSql"].as_str().unwrap();
        bench.server.number(&format!("SELECT COUNT(*) FROM ({sql}) AS panel"))
    };
    // A run that is BAD on a busy machine is in the table alone.
    let sound = |figure: &str| {
        let of = format!("name = '{figure}' AND forbidden_by IS NULL");
        bench.server.number(&format!("SELECT COUNT(*) FROM slob_figures WHERE {of}"))
    };
    let expected = [sound("physical_reads_per_s"), sound("physical_read_p99_us"), 5];
    assert_eq!([0, 1, 2].map(rows), expected);
    assert!(rows(3) <= 25);
}

/// Its database has an older character set, and its account no rights elsewhere.
#[test]
fn mariadb_is_a_board_for_twenty_publishers_at_a_time() {
    let Some(bench) = mariadb(&[]) else { return };
    bench.server.sql("CREATE DATABASE results CHARACTER SET latin1");
    bench.server.sql("GRANT ALL ON results.* TO 'plain'");
    let folder = two_folders();
    folder.slob(format!("publish runs --to {}", bench.target)).refused(&["names no database"]);
    let board = bench.target.replace("/?", "/results?");
    published_by_twenty(&folder, &board);
    folders_are_as_published(&folder, &board);
    all_in_one(&folder);
    board_is_as_the_folder(&folder, &board);
}

/// `slob gate FOLDER --from URL` passed by runs of a local folder that nobody had published.
#[test]
fn a_folder_of_this_machine_is_not_read_in_place_of_a_board() {
    let folder = Folder::new();
    let tiny = "run --target null: --work-loop 200 --warmup 0";
    folder.slob(format!("{tiny} --name shared --results-dir runs")).success();
    folder.slob(format!("{tiny} --name own --results-dir own")).success();
    folder.slob("publish runs --to sqlite:board.db").success();
    let own = slob_record::list_runs(&folder.at("own")).unwrap().remove(0);
    let id = own.file_name().unwrap().to_str().unwrap();
    for line in [
        "gate own --require complete".to_owned(),
        format!("gate own/{id} --require complete"),
        format!("gate own/{id}/run.json --require complete"),
        "gate latest --baseline own --max-loss 'operations_per_s 3 %'".to_owned(),
        "diff own latest".to_owned(),
        "list own --columns id".to_owned(),
        "trend own".to_owned(),
        "analyze own --by target".to_owned(),
        format!("report own/{id}"),
    ] {
        folder
            .slob(format!("{line} --from sqlite:board.db"))
            .refused(&["there is no run", "sqlite:board.db"]);
    }
    // The name of a run leads to the board, though a folder here has it too.
    std::os::unix::fs::symlink("own", folder.at("shared")).unwrap();
    let listed = folder.slob("list shared --columns name --csv --from sqlite:board.db").success().stdout;
    assert_eq!(listed, "name\nshared\n");
}

/// Read where none of the folders is: the same as in the folders that were published.
fn folders_are_as_published(folder: &Folder, board: &str) {
    let elsewhere = Folder::new();
    let board = board.replace("sqlite:", &format!("sqlite:{}/", folder.path().display()));
    for line in [
        "diff runs more",
        "diff runs more --json",
        "compare runs more --markdown",
        "analyze runs --by sessions --json",
        "gate more --baseline runs --max-loss 'iops 30 %' --json",
        "list runs more --columns id,iops,verdicts --csv",
        "trend runs --json",
    ] {
        let (here, there) = (folder.slob(line), elsewhere.slob(format!("{line} --from '{board}'")));
        assert_eq!((here.code, &here.stdout), (there.code, &there.stdout), "{line}: {}", there.stderr);
        assert!(!here.stdout.is_empty(), "{line}: {}", here.stderr);
    }
}

const CAMPAIGN: &str = "directory = \"c\"\nsettings = { TARGET = \"null:\", WORK_LOOP = 200, WARMUP = 0 }\nmodels = [\"all\"]\n\
                        repeats = 2\n[[model]]\nname = \"all\"\nmetric = \"operations_per_s\"\n[[variant]]\nname = \"x\"\n\
                        [[variant]]\nname = \"y\"\n";

#[test]
fn a_campaign_on_a_board_is_compared_as_in_its_folder() {
    let folder = Folder::new();
    folder.write("plan.toml", CAMPAIGN);
    folder.slob("campaign plan.toml").success();
    let elsewhere = Folder::new();
    let board = format!("sqlite:{}", folder.at("board.db").display());
    folder.slob(format!("publish c --to {board}")).success();
    let same = |line: &str| {
        let (here, there) = (folder.slob(line), elsewhere.slob(format!("{line} --from {board}")));
        assert_eq!((here.code, &here.stdout), (there.code, &there.stdout), "{line}: {}", there.stderr);
        assert!(!here.stdout.is_empty(), "{line}: {}", here.stderr);
        here.stdout
    };
    assert!(same("analyze c --csv").lines().count() > 2);
    same("analyze c --json");
    same("compare c");
    same("trend c --json");
    // It went on: the board follows, and an older state does not replace a newer one.
    let older = folder.read("c/state.json");
    folder.write("plan.toml", &CAMPAIGN.replace("repeats = 2", "repeats = 3"));
    folder.slob("campaign plan.toml --amend").success();
    folder.slob(format!("publish c --to {board}")).success();
    let newer = same("analyze c --csv");
    let later = folder.read("c/state.json");
    folder.write("c/state.json", &older);
    folder.slob(format!("publish c --to {board}")).success();
    folder.write("c/state.json", &later);
    assert_eq!(same("analyze c --csv"), newer);
    // Another campaign in a folder of that name.
    let other = Folder::new();
    other.write("plan.toml", CAMPAIGN);
    other.slob("campaign plan.toml").success();
    other.slob(format!("publish c --to {board}")).fails(1, &["another campaign of the name c"]);
}

/// Its runs were published, and then the list of them was not.
#[test]
fn a_campaign_with_nothing_to_compare_is_published_without_its_page() {
    let folder = Folder::new();
    folder.write("plan.toml", &CAMPAIGN.replace("operations_per_s", "device_reads_per_s"));
    folder.slob("campaign plan.toml").success();
    let published = folder.slob("publish c --site public").fails(1, &["c has no page of its own: "]);
    assert!(published.stdout.contains("public/index.html: 4 runs published"), "{}", published.all());
    assert!(folder.at("public/index.html").is_file());
}

/// Written by the release that had the first version of the tables.
#[test]
fn a_board_of_the_first_version_is_read_and_then_renewed() {
    let folder = Folder::new();
    let database = rusqlite::Connection::open(folder.at("board.db")).unwrap();
    // A dump has the tables by name, not by what refers to what.
    let dump = include_str!("../fixtures/board-v1.sql");
    database.execute_batch(&format!("PRAGMA foreign_keys = OFF; {dump}")).unwrap();
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    // Readers change nothing.
    let before = folder.slob("list --json --from sqlite:board.db").success().stdout;
    assert_eq!(before.matches("\"20261128T155912Z-x-all-1x1-r").count(), 2, "{before}");
    folder.slob("diff latest~1 latest --from sqlite:board.db").success();
    assert_eq!(count("SELECT version FROM slob_board"), 1);
    folder.slob("run --target null: --work-loop 200 --warmup 0 --name new").success();
    folder.slob("publish latest --to sqlite:board.db").success();
    assert_eq!(count("SELECT version FROM slob_board"), 2);
    assert_eq!(count("SELECT COUNT(*) FROM slob_folders WHERE folder = 'c'"), 2);
    let listed = folder.slob("list c --columns name --csv --from sqlite:board.db").success().stdout;
    assert_eq!(listed, "name\nx-all-1x1-r1\nx-all-1x1-r2\n");
    assert_eq!(count("SELECT COUNT(*) FROM slob_overview"), 3);
}

/// The first version was made whole, and of the second one statement: on MySQL each of them commits.
fn renewed_where_it_was_left(board: &str, [text, end]: [&str; 2], run: &mut dyn FnMut(&str)) {
    let of_version = |sql: &str| sql.replace("{text}", text).replace("{end}", end);
    let first = of_version(include_str!("../../src/board/v1.sql"));
    let second = of_version(include_str!("../../src/board/v2.sql"));
    let versions =
        "CREATE TABLE slob_board (version BIGINT NOT NULL); INSERT INTO slob_board (version) VALUES (1)";
    let old = "INSERT INTO slob_runs (id, digest, name, campaign, target, product, slob_version, status, started, started_s, ended, \
               record) VALUES ('20261120T104500Z-old', 'x', 'old', 'c', 't', 'p', '0', 'completed', 's', 0, 'e', '{}')";
    let made = second.split_once(';').unwrap().0;
    for part in [first.as_str(), versions, old, made] {
        part.split(';').map(str::trim).filter(|one| !one.is_empty()).for_each(&mut *run);
    }
    let folder = Folder::new();
    folder.slob("run --target null: --work-loop 200 --warmup 0").success();
    for said in ["1 run published", "1 were there already"] {
        let published = folder.slob(format!("publish runs --to '{board}'")).success().stdout;
        assert!(published.contains(said), "{published}");
    }
}

const RENEWED: &str =
    "SELECT COUNT(*) FROM slob_board, slob_folders WHERE version = 2 AND folder IN ('c', 'runs')";

#[test]
fn a_board_in_postgresql_is_renewed_where_it_was_left() {
    let Some(bench) = postgres(Version::V15, &[]) else { return };
    let mut run = |sql: &str| bench.server.run(&format!("SET ROLE plain; {sql}"));
    renewed_where_it_was_left(&bench.target, ["TEXT", ""], &mut run);
    assert_eq!(bench.server.number(RENEWED), 2);
}

#[test]
fn a_board_in_mariadb_is_renewed_where_it_was_left() {
    let Some(bench) = mariadb(&[]) else { return };
    bench.server.sql("CREATE DATABASE results");
    bench.server.sql("GRANT ALL ON results.* TO 'plain'");
    let mut admin = bench.server.admin();
    admin.query_drop("USE results").unwrap();
    let words = ["LONGTEXT", " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"];
    renewed_where_it_was_left(&bench.target.replace("/?", "/results?"), words, &mut |sql| {
        admin.query_drop(sql).unwrap();
    });
    assert_eq!(admin.query_first::<i64, _>(RENEWED).unwrap(), Some(2));
}

/// Two settings of a server had one name: the run could not be published.
#[test]
fn two_settings_of_one_name_do_not_hold_up_a_run() {
    let folder = Folder::new();
    folder.slob("run --target null: --work-loop 200 --warmup 0").success();
    let mut record = read_json(folder.last_run().join("run.json"));
    let run = folder.at("edited").join(record["id"].as_str().unwrap()).join("run.json");
    record.as_object_mut().unwrap().retain(|key, _| !["digest", "files"].contains(&key.as_str()));
    let settings = record["server"]["settings"].as_array_mut().unwrap();
    settings.extend([json!({"name": "mode", "value": "first"}), json!({"name": "mode", "value": "last"})]);
    fs::create_dir_all(run.parent().unwrap()).unwrap();
    fs::write(&run, record.to_string()).unwrap();
    folder.slob("publish edited --to sqlite:board.db").success();
    let database = rusqlite::Connection::open(folder.at("board.db")).unwrap();
    let value: String = database
        .query_row("SELECT value FROM slob_settings WHERE name = 'mode'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(value, "last");
}
