//! Scripts for SQL*Plus, written without a connection.

use std::fmt::{Display, Write};

use slob_engine::{
    EngineError, ErrorKind, OpenSpec, PlannedLoad, Result, RunExtras, RunPlan, Scripts, SessionPlan,
};
use slob_method::{SchemaNo, Table};
use slob_spec::StatisticsType;

use crate::counters::{Views, queries};
use crate::load::refuse_block;
use crate::options::{Access, Accounts, Options, service_name};
use crate::release::Version;
use crate::server_report::{instances_sql, report_sql, snapshot_sql};
use crate::statements::{
    BEGIN_LOAD, COMPLETE_LOAD, GRANT_USER, INDEX, LAYOUT, MARK_SLICE, SchemaSql, block, current_schema,
    explain, fill, identifier, scans_by_cache,
};

pub(crate) static SCRIPTS: Scripts = Scripts { load, run, init };

#[derive(Default)]
pub(crate) struct Script(pub(crate) String);

impl Script {
    fn say(&mut self, comment: impl Display) {
        let _ = writeln!(self.0, "-- {comment}");
    }

    pub(crate) fn add(&mut self, sql: impl AsRef<str>) {
        let sql = sql.as_ref().trim_end();
        let is_block = sql.starts_with("BEGIN") || sql.starts_with("DECLARE");
        let _ = writeln!(self.0, "{sql}{}", if is_block { "\n/" } else { ";" });
    }

    pub(crate) fn add_all(&mut self, statements: impl IntoIterator<Item = impl AsRef<str>>) {
        statements.into_iter().for_each(|sql| self.add(sql));
    }
}

fn header(what: &str, spec: &OpenSpec) -> Result<(Script, Options, Access)> {
    let options = Options::new(spec)?;
    let access = Access::new(spec)?;
    let mut script = Script::default();
    script.say(format_args!("What {what} would execute on {}. Nothing was connected to.", spec.target));
    script.say(
        "Words with a colon are bound: numbers, or texts. Written for the release that ORACLE_RELEASE names:",
    );
    script
        .say(format_args!("{}. Every connection is set to this, whatever it is for:", options.release.text));
    script.add_all(options.release.settings());
    Ok((script, options, access))
}

fn as_admin(script: &mut Script, access: &Access) {
    let name = access.admin.name();
    let sysdba = if access.admin.user.is_none() && access.admin.sysdba { ", AS SYSDBA" } else { "" };
    script.say(format_args!("As {name}{sysdba}, on {}:", service_name(&access.admin_service)));
}

fn load(spec: &OpenSpec, plan: &PlannedLoad<'_>) -> Result<String> {
    let PlannedLoad { load, schemas, block_bytes } = *plan;
    let (mut script, options, access) = header("slob setup", spec)?;
    if options.accounts == Accounts::Kit {
        script.say("Nothing: with ORACLE_ACCOUNTS=kit the original kit's tables are used as they are.");
        return Ok(script.0);
    }
    refuse_block(block_bytes, "writing down a load")?;
    script.say(format_args!(
        "{} rows and blocks in each CF1, {} in each CF2, in slices of {} rows.",
        load.scale, load.scan_blocks, load.slice_rows
    ));
    let sql_of = |schema| SchemaSql::new(&options, schema);
    if options.accounts == Accounts::Create {
        as_admin(&mut script, &access);
        script.say("Each password is made of random numbers when the account is made; where no tablespace is named, the");
        script.say("quota is on the default one of the database.");
        for sql in schemas.iter().copied().map(sql_of) {
            script.add_all([sql.create_user("********", "USERS"), sql.fill(GRANT_USER)]);
        }
    }
    schemas.iter().for_each(|schema| load_schema(&mut script, &sql_of(*schema)));
    script.say("Lets operations on the hot schema come from the others (HOT_SCHEMA_FREQUENCY):");
    let first = sql_of(SchemaNo::FIRST);
    for schema in schemas.iter().filter(|schema| **schema != SchemaNo::FIRST) {
        script.add_all(first.share_with(&options.prefix.user(*schema)));
    }
    Ok(script.0)
}

fn load_schema(script: &mut Script, sql: &SchemaSql) {
    script.say(format_args!("As {}:", sql.user));
    script.add_all(sql.create());
    script.add_all([&*sql.fill(BEGIN_LOAD), "COMMIT"]);
    for table in [Table::Main, Table::Scan] {
        let name = table.name().to_ascii_uppercase();
        script.say(format_args!("For each slice of {name}, with arrays of its rows:"));
        script.add_all([&*sql.insert_rows(table), &sql.fill(MARK_SLICE), "COMMIT"]);
    }
    script.say("When all slices are there:");
    script.add_all([sql.fill(INDEX), sql.statistics(Table::Main), sql.statistics(Table::Scan)]);
    script.add(scans_by_cache(true));
    script.add_all([sql.clean_out(Table::Main), sql.clean_out(Table::Scan)]);
    script.add(scans_by_cache(false));
    let segments = include_str!("../sql/segments.sql");
    script.add_all([&*sql.fill(LAYOUT), segments, &sql.fill(COMPLETE_LOAD), "COMMIT"]);
}

fn run(spec: &OpenSpec, run: &RunPlan<'_>, session: &SessionPlan, extras: RunExtras) -> Result<String> {
    let (mut script, options, access) = header("slob run", spec)?;
    let (version, views) = (&options.release, Views::Instance);
    as_admin(&mut script, &access);
    script.say("Where there are several instances, of GV$ instead of V$.");
    script.add(views.fill(include_str!("../sql/limits.sql")));
    script.say("Where that has no rows, as in a pluggable database:");
    script.add(views.fill(include_str!("../sql/parameter_limits.sql")));
    for schema in run.schemas {
        let plan = include_str!("../sql/plan.sql");
        script.add_all([&*explain(&options.prefix.user(*schema)), plan, "ROLLBACK"]);
    }
    script.add("ALTER SYSTEM CHECKPOINT");
    script.say("Where that is not granted, as on RDS:");
    script.add(include_str!("../sql/rds_checkpoint.sql"));
    script.say("At both ends of the window and at most once a second in between:");
    script.add_all(queries(views, version));
    let user = options.prefix.user(session.home);
    script.say(format_args!("Each of {} sessions; this one is of {user}:", run.sessions));
    script.add(current_schema(&user));
    script.say("Once for each batch of operations. What UPDATEs write depends on the seed of the load.");
    if extras.pauses && version.sleep().contains("LOCK") {
        script.say("The account needs EXECUTE ON SYS.DBMS_LOCK.");
    }
    script.add(block(session, &options.prefix, options.commit, extras.pauses.then(|| version.sleep())));
    if let Some(kind) = extras.server_report {
        report(&mut script, kind, version);
    }
    Ok(script.0)
}

fn report(script: &mut Script, kind: StatisticsType, version: &Version) {
    let name = kind.as_str();
    script.say(format_args!("DATABASE_STATISTICS_TYPE={name}, just before the window and just after it:"));
    if kind == StatisticsType::Awr {
        script.say("Only if this is not NONE, which says that there is no licence:");
        script.add(include_str!("../sql/pack_access.sql"));
    }
    script.add(snapshot_sql(kind));
    match kind {
        StatisticsType::Awr => {
            script
                .say("When the sessions have stopped; AWR_GLOBAL_REPORT_ where there are several instances:");
            script.add_all([instances_sql(version), report_sql(false, "TEXT"), report_sql(false, "HTML")]);
        }
        StatisticsType::Statspack => script.add(include_str!("../sql/instance_name.sql")),
    }
}

/// Index and segment headers.
const OVERHEAD_PERCENT: u64 = 10;
const ROOM_MIB: u64 = 64;
/// Bigfile tablespaces (Database Reference, physical database limits).
const MAX_BLOCKS: u64 = 1 << 32;
const SHARED_POOL_MIB: u32 = 1024;
const SESSION_MIB: u32 = 1;
const OTHER_PROCESSES: u32 = 256;
/// This size has the default cache.
const USUAL_BLOCK: u32 = 8192;
const DEFAULT_TABLESPACE: &str = "IOPS";

/// Parameters are comments, so that SQL*Plus can read all of it.
fn init(spec: &OpenSpec, plan: &PlannedLoad<'_>, sessions: u32) -> Result<String> {
    const STEP: &str = "planning the tablespace";
    let options = Options::new(spec)?;
    refuse_block(plan.block_bytes, STEP)?;
    let rows = plan.load.scale.saturating_add(plan.load.scan_blocks);
    let blocks = rows.saturating_mul(plan.schemas.len() as u64).saturating_mul(100 + OVERHEAD_PERCENT) / 100;
    let block_bytes = u64::from(plan.block_bytes);
    if blocks.saturating_add((ROOM_MIB << 20) / block_bytes) > MAX_BLOCKS {
        let message =
            format!("{blocks} blocks are more than the {MAX_BLOCKS} that a bigfile tablespace holds");
        return Err(EngineError::new(ErrorKind::Usage, STEP, message)
            .with_advice("lower SCALE or SCHEMAS, or raise BLOCK_SZ"));
    }
    let (kib, mib) = (plan.block_bytes >> 10, (blocks * block_bytes) >> 20);
    let cache = format!(
        "--   # Blocks of {kib} KiB, where db_block_size is another; leave it out where not.\n--   db_{kib}k_cache_size=64M\n"
    );
    let tablespace = options.tablespace.as_deref().map_or_else(|| DEFAULT_TABLESPACE.to_owned(), identifier);
    let values = [
        ("shared_pool_mib", &*(SHARED_POOL_MIB + sessions * SESSION_MIB).to_string()),
        ("cache_of_blocks", if plan.block_bytes == USUAL_BLOCK { "" } else { &cache }),
        ("sessions", &sessions.to_string()),
        ("processes", &(sessions + OTHER_PROCESSES).to_string()),
        ("schemas", &plan.schemas.len().to_string()),
        ("blocks", &rows.to_string()),
        ("mib", &(mib + 1).to_string()),
        ("block_kib", &kib.to_string()),
        ("tablespace", &tablespace),
        ("file_mib", &(mib + ROOM_MIB).to_string()),
    ];
    Ok(fill(include_str!("../sql/init.sql"), &values) + "\n")
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::tests::plan;
    use crate::tests::options;
    use rstest::rstest;
    use slob_engine::{Load, Purpose};
    use slob_spec::RedoStress;

    const PLANNED: Load =
        Load { seed: 5, scale: 10_240, scan_blocks: 128, obfuscated: false, slice_rows: 8192 };

    fn spec_of(release: &str) -> OpenSpec {
        let target = "oracle://system:S3CRET@//db1:1521/pdb1".parse().unwrap();
        let options = options(&[("ORACLE_RELEASE", release), ("ORACLE_BUFFER_POOL", "keep")]);
        OpenSpec { tablespace: Some("iops".into()), ..OpenSpec::new(target, Purpose::Use, options) }
    }

    fn planned(schemas: &[SchemaNo], block_bytes: u32) -> PlannedLoad<'_> {
        PlannedLoad { load: &PLANNED, schemas, block_bytes }
    }

    fn init_script(block_bytes: u32, sessions: u32) -> Result<String> {
        let schemas: Vec<SchemaNo> = SchemaNo::up_to(4).collect();
        init(&spec_of("19"), &planned(&schemas, block_bytes), sessions)
    }

    #[rstest]
    #[case("11.2", false, "DBMS_LOCK.SLEEP", false, false)]
    #[case("12.2", false, "DBMS_LOCK.SLEEP", true, true)]
    #[case("19", true, "DBMS_SESSION.SLEEP", true, true)]
    #[case("23", true, "DBMS_SESSION.SLEEP", true, true)]
    fn a_script_is_that_of_its_release(
        #[case] release: &str,
        #[case] hints: bool,
        #[case] sleep: &str,
        #[case] containers: bool,
        #[case] microseconds: bool,
    ) {
        let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
        let extras = RunExtras { pauses: true, server_report: None };
        let of_run = RunPlan { schemas: &schemas, sessions: 4, redo: None, scans: false, stop: None };
        let text = run(&spec_of(release), &of_run, &plan(None), extras).unwrap();
        assert_eq!(text.contains("OPTIMIZER_IGNORE_HINTS = FALSE"), hints);
        assert_eq!(text.contains("MAX(con_id)"), containers);
        assert_eq!(text.contains("event_histogram_micro"), microseconds);
        assert!(text.contains(sleep) && text.contains("RESULT_CACHE_MODE = MANUAL"));
    }

    #[test]
    fn blocks_that_no_row_fits_into_are_refused() {
        for block_bytes in [1024, 2048, 65_536] {
            let error = load(&spec_of("19"), &planned(&[SchemaNo::FIRST], block_bytes)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        }
        assert!(load(&spec_of("19"), &planned(&[SchemaNo::FIRST], 4096)).is_ok());
        for block_bytes in [2048, 65_536] {
            assert_eq!(init_script(block_bytes, 2).unwrap_err().kind(), ErrorKind::Usage);
        }
    }

    #[test]
    fn a_script_is_whole_and_shows_no_password() {
        let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
        let extras = RunExtras { pauses: true, server_report: Some(StatisticsType::Awr) };
        let redo = Some(RedoStress::Lite);
        let of_run = RunPlan { schemas: &schemas, sessions: 4, redo, scans: true, stop: None };
        let all = load(&spec_of("19"), &planned(&schemas, 8192)).unwrap()
            + &run(&spec_of("19"), &of_run, &plan(redo), extras).unwrap();
        for words in [
            "CREATE USER SLOB2 IDENTIFIED BY \"********\" DEFAULT TABLESPACE IOPS QUOTA UNLIMITED ON IOPS;",
            "PCTFREE 99 TABLESPACE IOPS STORAGE (BUFFER_POOL KEEP) NOLOGGING NOCOMPRESS CACHE NOPARALLEL;",
            "INSERT /*+ APPEND_VALUES */ INTO SLOB1.cf2 ",
            "CREATE UNIQUE INDEX SLOB2.i_cf1 ON SLOB2.cf1 (custid)",
            "GRANT SELECT, UPDATE ON SLOB1.cf1 TO SLOB2;",
            "ALTER SESSION SET CURRENT_SCHEMA = SLOB2;",
            "COMMIT WRITE IMMEDIATE WAIT;",
        ] {
            assert!(all.contains(words), "{words} is not in\n{all}");
        }
        assert!(!all.contains("S3CRET") && !all.contains('{'), "{all}");
    }

    /// 4 x (10,240 + 128) blocks of 8 KiB are 324 MiB; a tenth more, and 64.
    #[rstest]
    #[case(8192, 8, &["--   processes=264\n", "--   shared_pool_size=1032M\n"])]
    #[case(8192, 4096, &["--   processes=4352\n", "--   shared_pool_size=5120M\n"])]
    #[case(8192, 8, &["CREATE BIGFILE TABLESPACE IOPS DATAFILE SIZE 420M", "BLOCKSIZE 8K"])]
    #[case(8192, 8, &["log_buffer=", "undo_retention=", "CREATE BIGFILE UNDO TABLESPACE", "_serial_direct_read", "BUFFER_POOL KEEP"])]
    #[case(16_384, 2, &["DATAFILE SIZE 776M", "BLOCKSIZE 16K", "db_16k_cache_size=64M", "with 16 KiB blocks"])]
    fn a_database_is_prepared_for_a_load_and_its_sessions(
        #[case] block_bytes: u32,
        #[case] sessions: u32,
        #[case] words: &[&str],
    ) {
        let text = init_script(block_bytes, sessions).unwrap();
        for words in words {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
        assert_eq!(text.contains("k_cache_size"), block_bytes != 8192, "{text}");
        let executed: Vec<&str> =
            text.lines().filter(|line| line.contains('_') && !line.starts_with("--")).collect();
        assert!(!executed.iter().any(|line| line.contains("_db_")), "parameters are comments: {executed:?}");
    }

    #[test]
    fn a_bigfile_tablespace_beyond_its_limit_is_refused() {
        for scale in [1 << 32, u64::MAX] {
            let load = Load { scale, ..PLANNED };
            let plan = PlannedLoad { load: &load, ..planned(&[SchemaNo::FIRST], 8192) };
            let error = init(&spec_of("19"), &plan, 1).unwrap_err();
            assert!(error.to_string().contains("bigfile"), "{error}");
        }
    }
}
