//! Oracle's own reports of a run: AWR, which needs a licence, and Statspack, which does not.
//!
//! A Statspack snapshot is of its connection's instance, so one connection stays for the whole run. SQL*Plus makes Statspack's
//! reports, so the run only says how.

use slob_engine::{EngineError, ErrorKind, FetchedReport, ReportFile, Result, ServerReport};
use slob_spec::StatisticsType;

use crate::client::{Bind, Client, During, failed, number, text};
use crate::database::{Database, Role};
use crate::release::{CONTAINERS, Version};
use crate::statements::fill;

/// A missing licence is an error of [`ErrorKind::Usage`].
pub(crate) fn open(database: &Database, kind: StatisticsType) -> Result<Box<dyn ServerReport>> {
    let mut client = database.connections.connect(Role::Admin)?;
    if kind == StatisticsType::Awr {
        check_licence(client.as_mut())?;
    }
    let first = snapshot(client.as_mut(), kind)?;
    Ok(Box::new(Report { client, kind, version: database.version.clone(), snapshots: [first, first] }))
}

pub(crate) fn snapshot_sql(kind: StatisticsType) -> &'static str {
    match kind {
        StatisticsType::Awr => include_str!("../sql/awr_snapshot.sql"),
        StatisticsType::Statspack => include_str!("../sql/statspack_snapshot.sql"),
    }
}

/// A pluggable database has snapshots of its own.
pub(crate) fn instances_sql(version: &Version) -> String {
    let column = if version.has(CONTAINERS) { "con_dbid" } else { "dbid" };
    fill(include_str!("../sql/awr_instances.sql"), &[("dbid", column)])
}

pub(crate) fn report_sql(is_cluster: bool, form: &str) -> String {
    let scope = if is_cluster { "AWR_GLOBAL_REPORT" } else { "AWR_REPORT" };
    fill(include_str!("../sql/awr_report.sql"), &[("report", &format!("{scope}_{form}"))])
}

fn check_licence(client: &mut dyn Client) -> Result<()> {
    let step = "asking whether AWR may be used";
    let access = client.value(include_str!("../sql/pack_access.sql")).during(step)?;
    if access.is_some_and(|access| access.eq_ignore_ascii_case("NONE")) {
        let message = "control_management_pack_access is NONE: this database has no licence for it";
        return Err(EngineError::new(ErrorKind::Usage, step, message)
            .with_advice("set DATABASE_STATISTICS_TYPE=statspack, or none"));
    }
    Ok(())
}

fn snapshot(client: &mut dyn Client, kind: StatisticsType) -> Result<u64> {
    let (step, advice) = match kind {
        StatisticsType::Awr => (
            "taking an AWR snapshot",
            "the account needs EXECUTE on SYS.DBMS_WORKLOAD_REPOSITORY; statistics_level must not be BASIC; and a pluggable database of 12.1 \
             takes no snapshots of its own",
        ),
        StatisticsType::Statspack => (
            "taking a Statspack snapshot",
            "as SYS, in this database: @?/rdbms/admin/spcreate, then GRANT EXECUTE ON PERFSTAT.STATSPACK to the account; or set \
             DATABASE_STATISTICS_TYPE=none",
        ),
    };
    client.answer(snapshot_sql(kind)).during(step).map_err(|error| error.with_advice(advice))
}

struct Report {
    client: Box<dyn Client>,
    kind: StatisticsType,
    version: Version,
    snapshots: [u64; 2],
}

impl ServerReport for Report {
    fn close(&mut self) -> Result<()> {
        self.snapshots[1] = snapshot(self.client.as_mut(), self.kind)?;
        Ok(())
    }

    fn fetch(&mut self) -> Result<FetchedReport> {
        match self.kind {
            StatisticsType::Awr => self.fetch_awr(),
            StatisticsType::Statspack => Ok(self.describe_statspack()),
        }
    }
}

impl Report {
    fn fetch_awr(&mut self) -> Result<FetchedReport> {
        let [first, last] = self.snapshots;
        let step = format!("looking for the AWR snapshots {first} and {last}");
        let binds = self.snapshots.map(Bind::count);
        let rows = self.client.query(&instances_sql(&self.version), &binds).during(&step)?;
        let database = rows.first().and_then(|row| number(row, 0));
        let instances: Vec<u64> = rows.iter().filter_map(|row| number(row, 1)).collect();
        let Some(database) = database.filter(|_| !instances.is_empty()) else {
            return Err(EngineError::new(ErrorKind::Data, step, "they are not in DBA_HIST_SNAPSHOT")
                .with_advice("the instance was restarted in between, or the account may not see them; @?/rdbms/admin/awrrpt makes the report by hand"));
        };
        let is_cluster = instances.len() > 1;
        let instances = match instances[..] {
            [instance] => Bind::count(instance),
            _ => Bind::Text(instances.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
        };
        let binds = [Bind::count(database), instances, Bind::count(first), Bind::count(last)];
        let mut words = FetchedReport { snapshots: self.snapshots, ..FetchedReport::default() };
        for (form, ending) in [("TEXT", "txt"), ("HTML", "html")] {
            let name = format!("{}.{ending}", if is_cluster { "awr_rac" } else { "awr" });
            match self.client.query(&report_sql(is_cluster, form), &binds) {
                Ok(lines) => {
                    // An empty line is NULL.
                    let lines = lines.iter().map(|row| text(row, 0).unwrap_or_default().trim_end());
                    let text = lines.map(|line| format!("{line}\n")).collect();
                    words.files.push(ReportFile { name, text });
                }
                Err(fault) => {
                    let error = failed(&format!("fetching {name}"), &fault);
                    words.notes.push(format!("A file of the server's own report is missing: {error}."));
                }
            }
        }
        Ok(words)
    }

    fn describe_statspack(&mut self) -> FetchedReport {
        let [first, last] = self.snapshots;
        let name = self.client.value(include_str!("../sql/instance_name.sql")).ok().flatten();
        let instance = name.map_or_else(String::new, |name| format!(" of instance {name}"));
        let note = format!(
            "Statspack took snapshots {first} and {last}{instance} at both ends of the window. SQL*Plus makes their report, on the \
             server: `sqlplus perfstat @?/rdbms/admin/spreport`, which asks for these numbers. `slob awr check` reads it."
        );
        FetchedReport { snapshots: self.snapshots, files: Vec::new(), notes: vec![note] }
    }
}
