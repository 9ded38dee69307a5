//! What would be executed, written down for a review: the same texts that are executed, without a connection.

use std::fmt::Write;

use slob_engine::{EngineError, OpenSpec, PlannedLoad, RunExtras, RunPlan, Scripts, SessionPlan};
use slob_method::{SchemaNo, Table};
use slob_spec::StatisticsType;

use crate::access::Access;
use crate::batch::block;
use crate::client::Login;
use crate::counters::Views;
use crate::load::refuse_block;
use crate::options::{Accounts, Options};
use crate::tables::Tables;
use crate::version::Version;
use crate::{figures, init, plans, server_report, session};

pub(crate) static SCRIPTS: Scripts = Scripts { load, run, init: init::script };

/// Statements, with comments between them.
#[derive(Default)]
pub(crate) struct Script(String);

impl Script {
    /// A line of explanation.
    pub(crate) fn say(&mut self, text: &str) {
        // Writing to a String can't fail.
        let _ = writeln!(self.0, "-- {text}");
    }

    /// A statement, closed as SQL*Plus wants it.
    pub(crate) fn add(&mut self, sql: &str) {
        let sql = sql.trim_end();
        let is_block = sql.starts_with("BEGIN") || sql.starts_with("DECLARE");
        let _ = writeln!(self.0, "{sql}{}", if is_block { "\n/" } else { ";" });
    }

    /// All of it.
    pub(crate) fn text(self) -> String {
        self.0
    }
}

fn header(script: &mut Script, what: &str, spec: &OpenSpec) -> Result<(Options, Access), EngineError> {
    let options = Options::from_spec(spec)?;
    let access = Access::new(&spec.target, &options)?;
    script.say(&format!("What {what} would execute on {}. Nothing was connected to.", spec.target));
    script.say(
        "Words with a colon are bound: numbers, or texts. Written for the release that ORACLE_RELEASE names:",
    );
    script.say(&format!("{}. Every connection is set to this, whatever it is for:", options.release.text));
    session::settings(&options.release).iter().for_each(|sql| script.add(sql));
    Ok((options, access))
}

fn admin(script: &mut Script, access: &Access) {
    let name = match &access.admin {
        Login::OperatingSystem { sysdba: true } => "the account of the operating system, AS SYSDBA",
        Login::OperatingSystem { sysdba: false } => "the account of the operating system",
        Login::Password { user, .. } => user,
    };
    script.say(&format!("As {name}, on {}:", Access::shown(&access.admin_service)));
}

fn load(spec: &OpenSpec, plan: &PlannedLoad<'_>) -> Result<String, EngineError> {
    let PlannedLoad { load, schemas, block_bytes } = *plan;
    let mut script = Script::default();
    let (options, access) = header(&mut script, "slob setup", spec)?;
    if options.accounts == Accounts::Kit {
        script.say("Nothing: with ORACLE_ACCOUNTS=kit the original kit's tables are used as they are.");
        return Ok(script.text());
    }
    refuse_block(block_bytes, "writing down a load")?;
    script.say(&format!(
        "{} rows and blocks in each CF1, {} in each CF2, in slices of {} rows.",
        load.scale, load.scan_blocks, load.slice_rows
    ));
    let tables = |schema| Tables::new(&options.prefix, schema, options.tablespace.as_deref());
    if options.accounts == Accounts::Create {
        admin(&mut script, &access);
        script.say("Each password is made of random numbers when the account is made; where no tablespace is named, the");
        script.say("quota is on the default one of the database.");
        for schema in schemas {
            script.add(&tables(*schema).create_user("********", "USERS"));
            script.add(&tables(*schema).grant_user());
        }
    }
    for schema in schemas {
        load_schema(&mut script, &tables(*schema));
    }
    script.say("Lets operations on the hot schema come from the others (HOT_SCHEMA_FREQUENCY):");
    let first = tables(SchemaNo::FIRST);
    for schema in schemas.iter().filter(|schema| **schema != SchemaNo::FIRST) {
        first.share_with(&options.prefix.user(*schema)).iter().for_each(|sql| script.add(sql));
    }
    Ok(script.text())
}

fn load_schema(script: &mut Script, tables: &Tables) {
    script.say(&format!("As {}:", tables.user));
    tables.create().iter().for_each(|sql| script.add(sql));
    script.add(&tables.begin_load());
    script.add("COMMIT");
    for table in [Table::Main, Table::Scan] {
        script.say(&format!(
            "For each slice of {}, with arrays of its rows:",
            table.name().to_ascii_uppercase()
        ));
        script.add(&tables.insert_rows(table));
        script.add(&tables.mark_slice());
        script.add("COMMIT");
    }
    script.say("When all slices are there:");
    script.add(&tables.index());
    script.add(&tables.statistics(Table::Main));
    script.add(&tables.statistics(Table::Scan));
    script.add(&tables.layout());
    script.add(include_str!("../sql/segments.sql"));
    script.add(&tables.complete_load());
    script.add("COMMIT");
}

fn run(
    spec: &OpenSpec,
    run: &RunPlan<'_>,
    session: &SessionPlan,
    extras: RunExtras,
) -> Result<String, EngineError> {
    let mut script = Script::default();
    let (options, access) = header(&mut script, "slob run", spec)?;
    let version = options.release.clone();
    admin(&mut script, &access);
    script.say("Where there are several instances, of GV$ instead of V$.");
    script.add(&Views::Instance.fill(include_str!("../sql/limits.sql")));
    script.say("Where that has no rows, as in a pluggable database:");
    script.add(&Views::Instance.fill(include_str!("../sql/parameter_limits.sql")));
    for schema in run.schemas {
        script.add(&plans::explain(&options.prefix.user(*schema)));
        script.add(include_str!("../sql/plan.sql"));
        script.add("ROLLBACK");
    }
    script.add("ALTER SYSTEM CHECKPOINT");
    script.say("Where that is not granted, as on RDS:");
    script.add(include_str!("../sql/rds_checkpoint.sql"));
    script.say("At both ends of the window and at most once a second in between:");
    figures::queries(Views::Instance, &version).iter().for_each(|sql| script.add(sql));
    let user = options.prefix.user(session.home);
    script.say(&format!("Each of {} sessions; this one is of {user}:", run.sessions));
    script.add(&session::current_schema(&user));
    script.say("Once for each batch of operations. What UPDATEs write depends on the seed of the load.");
    if extras.pauses && version.sleep().contains("LOCK") {
        script.say("The account needs EXECUTE ON SYS.DBMS_LOCK.");
    }
    script.add(&block(session, &options.prefix, options.commit, extras.pauses.then(|| version.sleep())));
    if let Some(kind) = extras.server_report {
        reported(&mut script, kind, &version);
    }
    Ok(script.text())
}

fn reported(script: &mut Script, kind: StatisticsType, version: &Version) {
    script.say(&format!(
        "DATABASE_STATISTICS_TYPE={}, just before the window and just after it:",
        kind.as_str()
    ));
    if kind == StatisticsType::Awr {
        script.say("Only if this is not NONE, which says that there is no licence:");
        script.add(include_str!("../sql/pack_access.sql"));
    }
    script.add(server_report::snapshot_sql(kind));
    match kind {
        StatisticsType::Awr => {
            script
                .say("When the sessions have stopped; AWR_GLOBAL_REPORT_ where there are several instances:");
            script.add(&server_report::instances_sql(version));
            script.add(&server_report::report_sql(false, "TEXT"));
            script.add(&server_report::report_sql(false, "HTML"));
        }
        StatisticsType::Statspack => script.add(include_str!("../sql/instance_name.sql")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::names::Prefix;
    use slob_engine::{Load, Purpose};
    use slob_spec::RedoStress;

    /// The releases that scripts are written for.
    const RELEASES: [&str; 4] = ["11.2", "12.2", "19", "23"];

    pub(crate) fn spec() -> OpenSpec {
        spec_of("19")
    }

    fn spec_of(release: &str) -> OpenSpec {
        let target = "oracle://system:S3CRET@//db1:1521/pdb1".parse().unwrap();
        OpenSpec {
            tablespace: Some("iops".into()),
            ..OpenSpec::new(target, Purpose::Use, crate::scripted::options(&[("ORACLE_RELEASE", release)]))
        }
    }

    pub(crate) const LOAD: Load =
        Load { seed: 5, scale: 10_240, scan_blocks: 128, obfuscated: false, slice_rows: 8192 };

    pub(crate) fn planned(schemas: &[SchemaNo], block_bytes: u32) -> PlannedLoad<'_> {
        PlannedLoad { load: &LOAD, schemas, block_bytes }
    }

    /// What only looks, besides what a load and a run do.
    const LOOKS: &[&str] = &[
        include_str!("../sql/autotasks.sql"),
        include_str!("../sql/cancel.sql"),
        include_str!("../sql/cache.sql"),
        include_str!("../sql/container.sql"),
        include_str!("../sql/data_files.sql"),
        include_str!("../sql/database.sql"),
        include_str!("../sql/instance_number.sql"),
        include_str!("../sql/instances.sql"),
        include_str!("../sql/kit.sql"),
        include_str!("../sql/kit_keys.sql"),
        include_str!("../sql/marked.sql"),
        include_str!("../sql/parameters.sql"),
        include_str!("../sql/read_rows.sql"),
        include_str!("../sql/redo_logs.sql"),
        include_str!("../sql/slices.sql"),
        include_str!("../sql/state.sql"),
        include_str!("../sql/tablespace.sql"),
        include_str!("../sql/version.sql"),
        include_str!("../sql/version_full.sql"),
        include_str!("../sql/block_size.sql"),
        include_str!("../sql/db_block_size.sql"),
        include_str!("../sql/default_tablespace.sql"),
        include_str!("../sql/own_tablespace.sql"),
        include_str!("../sql/objects.sql"),
    ];

    /// Everything that this engine may send, as one text for other parsers.
    pub(crate) fn everything() -> String {
        let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
        let mut all = String::new();
        for release in RELEASES {
            let spec = spec_of(release);
            all += &load(&spec, &planned(&schemas, 8192)).unwrap();
            let kinds =
                [(RedoStress::Lite, StatisticsType::Awr), (RedoStress::Heavy, StatisticsType::Statspack)];
            for (redo, report) in kinds {
                let extras = RunExtras { pauses: true, server_report: Some(report) };
                let plan =
                    RunPlan { schemas: &schemas, sessions: 4, redo: Some(redo), scans: true, stop: None };
                all += &run(&spec, &plan, &crate::batch::tests::plan(Some(redo)), extras).unwrap();
            }
        }
        let mut looks = Script::default();
        for release in RELEASES {
            let version = Version::parse(release);
            figures::queries(Views::Cluster, &version).iter().for_each(|sql| looks.add(sql));
            looks.add(&server_report::instances_sql(&version));
        }
        looks.add(&server_report::report_sql(true, "HTML"));
        let tables = Tables::new(&Prefix::new("slob").unwrap(), SchemaNo::FIRST, Some("my data"));
        tables.create().iter().chain(&tables.drop()).for_each(|sql| looks.add(sql));
        looks.add(&tables.drop_user());
        LOOKS.iter().for_each(|sql| looks.add(sql));
        crate::testimony::statements().iter().for_each(|sql| looks.add(sql));
        for placeholder in [
            ("{v}", "gv$"),
            ("{names}", "'a', 'b'"),
            ("{user}", "SLOB1"),
            ("{number}", "1"),
            ("{count}", "COUNT(*)"),
            ("{scan_table}", "SLOB1.cf2"),
            ("{session}", "12, 345"),
        ] {
            looks.0 = looks.0.replace(placeholder.0, placeholder.1);
        }
        looks.0 = looks.0.replace("{table}", "cf1").replace("{keys}", "1, 2");
        statements(&(all + &looks.text())).concat()
    }

    /// The statements and blocks of a script for SQL*Plus, each once, without comments.
    pub(crate) fn statements(sql: &str) -> Vec<String> {
        let (mut all, mut statement, mut in_block): (Vec<String>, _, _) = (Vec::new(), String::new(), false);
        for line in sql.lines().filter(|line| !line.starts_with("--")) {
            in_block |= statement.is_empty() && (line.starts_with("BEGIN") || line.starts_with("DECLARE"));
            let ends = if in_block { line == "/" } else { line.ends_with(';') };
            statement.push_str(line);
            statement.push('\n');
            if ends {
                let whole = std::mem::take(&mut statement);
                in_block = false;
                if !all.contains(&whole) {
                    all.push(whole);
                }
            }
        }
        assert_eq!(statement, "", "the last statement has no end");
        all
    }

    /// So that a text that is added can't be forgotten: the longest part of each file that no value is filled into is there.
    #[test]
    fn every_text_is_among_those_that_are_checked() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let all = words(&everything());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sql");
        let mut files = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let parts = text.split(['{', '}']).map(words);
            let longest = parts.max_by_key(String::len).unwrap();
            assert!(all.contains(&longest), "{} is not among them: {longest}", path.display());
            files += 1;
        }
        assert!(files > 40, "{files}");
    }

    #[test]
    fn a_script_is_that_of_its_release() {
        let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
        let of = |release: &str| {
            let extras = RunExtras { pauses: true, server_report: None };
            let plan = RunPlan { schemas: &schemas, sessions: 4, redo: None, scans: false, stop: None };
            run(&spec_of(release), &plan, &crate::batch::tests::plan(None), extras).unwrap()
        };
        for (release, hints, sleep, containers, micro) in [
            ("11.2", false, "DBMS_LOCK.SLEEP", false, false),
            ("12.2", false, "DBMS_LOCK.SLEEP", true, true),
            ("19", true, "DBMS_SESSION.SLEEP", true, true),
            ("23", true, "DBMS_SESSION.SLEEP", true, true),
        ] {
            let text = of(release);
            assert_eq!(text.contains("OPTIMIZER_IGNORE_HINTS = FALSE"), hints, "{release}");
            assert_eq!(text.contains("MAX(con_id)"), containers, "{release}");
            assert_eq!(text.contains("event_histogram_micro"), micro, "{release}");
            assert!(text.contains(sleep) && text.contains("RESULT_CACHE_MODE = MANUAL"), "{release}");
        }
    }

    #[test]
    fn blocks_that_no_row_fits_into_are_refused_before_anything_is_made() {
        for block_bytes in [1024, 2048, 65_536] {
            let error = load(&spec(), &planned(&[SchemaNo::FIRST], block_bytes)).unwrap_err();
            assert_eq!(error.kind(), slob_engine::ErrorKind::Usage, "{error}");
        }
        assert!(load(&spec(), &planned(&[SchemaNo::FIRST], 4096)).is_ok());
    }

    #[test]
    fn a_script_is_whole_and_shows_no_password() {
        let all = everything();
        for words in [
            "CREATE USER SLOB2 IDENTIFIED BY \"********\" DEFAULT TABLESPACE IOPS QUOTA UNLIMITED ON IOPS;",
            "PCTFREE 99 TABLESPACE IOPS NOLOGGING NOCOMPRESS CACHE NOPARALLEL;",
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
}
