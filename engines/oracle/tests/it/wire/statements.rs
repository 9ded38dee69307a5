//! The engine's statements that met the wire.

use std::sync::OnceLock;

use super::*;

/// Its statements are those of every load.
const SMALL: Load = Load { scale: 100, scan_blocks: 10, slice_rows: 64, ..LOAD };

/// Placeholders separate the parts.
pub(crate) fn longest_part(sql: &str) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    sql.split(['{', '}', ';', '"']).map(words).max_by_key(String::len).unwrap()
}

pub(crate) fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.unwrap().path();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
    };
    std::fs::read_dir(folder).unwrap().map(read).collect()
}

/// `None` without such servers. These two releases receive all forms.
pub(crate) fn met() -> Option<&'static [String]> {
    static MET: OnceLock<Option<Vec<String>>> = OnceLock::new();
    let meet = || {
        let all: Vec<_> = thread::scope(|scope| {
            let beds = ["11.2", "19c"].map(|release| scope.spawn(|| sent_to_a_cluster(release)));
            let kit = scope.spawn(sent_to_a_kit);
            beds.into_iter().chain([kit]).map(|bed| bed.join().unwrap()).collect()
        });
        let mut met: Vec<String> = all.into_iter().collect::<Option<Vec<_>>>()?.concat();
        met.sort_unstable();
        met.dedup();
        Some(met)
    };
    MET.get_or_init(meet).as_deref()
}

fn statements_of(bed: &Bed) -> Vec<String> {
    let bare = |line: &String| {
        let (_, statement) = line.split_once(": ").unwrap();
        statement.rsplit_once(" [").unwrap().0.to_owned()
    };
    bed.oracle.statements().iter().map(bare).collect()
}

/// Each way with statements of its own is taken.
fn sent_to_a_cluster(release: &str) -> Option<Vec<String>> {
    let bed = Bed::of(Oracle::start_instances_or_skip(release, 2)?);
    let engine = bed.open();
    for number in [1, 2] {
        load_schema(engine.as_ref(), &SMALL, schema(number));
    }
    engine.server().unwrap();
    for kind in [StatisticsType::Awr, StatisticsType::Statspack] {
        let mut report = engine.open_server_report(kind).unwrap().unwrap();
        report.close().unwrap();
        report.fetch().unwrap();
    }
    bed.oracle.fail("alter system checkpoint => error 1031");
    engine.before_run(&RUN).unwrap();
    bed.oracle.fail(":work => slow 0.1");
    let mut running = session(engine.as_ref());
    let canceller = running.canceller().unwrap();
    let ops = work::planned(work::workload(SMALL.scale, 50, 4), 1, 0, 90);
    let pausing: Vec<Op> = ops.ops().iter().map(|op| Op { pause_us: 20_000, ..*op }).collect();
    let before = bed.oracle.statements().len();
    let batches = thread::spawn(move || error_of(running.as_mut(), &Batch::from(pausing)));
    bed.has_begun(before, "DECLARE");
    canceller.cancel();
    batches.join().unwrap();
    engine.read_rows(&Slice { schema: FIRST, table: Table::Main, positions: 1..5 }, &mut |_| {}).unwrap();
    engine.snapshot().unwrap();
    engine.capture().unwrap();
    drop(engine);
    // A load that was cut off left an empty account; others belong to somebody else.
    bed.oracle.fail("create table => error 1950");
    bed.open().create_schema(&SMALL, schema(3)).unwrap_err();
    bed.oracle.fail("");
    bed.open().create_schema(&SMALL, schema(3)).unwrap();
    let existing = bed.open_with(&bed.oracle.target(), &[("ORACLE_ACCOUNTS", "existing")]).unwrap();
    existing.drop_schema(schema(2)).unwrap();
    existing.create_schema(&SMALL, schema(2)).unwrap_err();
    let in_tablespace =
        OpenSpec { tablespace: Some("iops".to_owned()), ..bed.spec(&bed.oracle.target(), &[]) };
    (KIND.open)(&in_tablespace).unwrap().create_schema(&SMALL, schema(2)).unwrap();
    Some(statements_of(&bed))
}

fn sent_to_a_kit() -> Option<Vec<String>> {
    let bed = Bed::start("kit")?;
    bed.open_with(&bed.oracle.target(), &[("ORACLE_ACCOUNTS", "kit")]).unwrap().schemas().unwrap();
    Some(statements_of(&bed))
}

/// Each file is in one row of the table of docs/evidence.md; those of the first row met the wire.
#[test]
fn the_table_of_statements_says_which_met_the_wire() {
    let Some(met) = met().map(|met| met.join("\n")) else { return };
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence.md");
    let document = std::fs::read_to_string(document).unwrap();
    let row = |title: &str| {
        let line = document.lines().find(|line| line.starts_with(&format!("| {title} |"))).unwrap();
        line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let (mut seen, mut others) = (Vec::new(), Vec::new());
    for (name, text) in files() {
        if met.contains(&longest_part(&text)) { &mut seen } else { &mut others }.push(name);
    }
    seen.sort();
    others.sort();
    assert_eq!((row("on the wire"), row("not on the wire")), (seen, others));
}
