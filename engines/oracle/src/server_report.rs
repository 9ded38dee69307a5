//! Oracle's own reports of a run: AWR, which needs a licence, and Statspack, which does not. Touched only when asked for.
//!
//! Snapshots are taken by a connection of their own that stays for the whole run: a Statspack snapshot is one of the
//! instance that it is connected to. AWR makes its reports in the server; Statspack's is a script of SQL*Plus, so only its
//! snapshots are taken here, and the run says how the report is made.

use slob_engine::{Artefact, EngineError, ErrorKind, ServerReport, ServersWords};
use slob_spec::StatisticsType;

use crate::catalog::{number, text};
use crate::client::{Bind, Client, Fault};
use crate::connector::Who;
use crate::database::Database;
use crate::error::failed;
use crate::version::Version;

/// Begins a report of that kind.
///
/// # Errors
/// If the snapshot can't be taken; [`ErrorKind::Usage`] if the server says that it has no licence for it.
pub(crate) fn open(database: &Database, kind: StatisticsType) -> Result<Box<dyn ServerReport>, EngineError> {
    let mut client = database.connector.connect(Who::Admin)?;
    if kind == StatisticsType::Awr {
        check_licence(client.as_mut())?;
    }
    let first = snapshot(client.as_mut(), kind)?;
    let snapshots = [first, first];
    Ok(Box::new(Report { client, kind, version: database.version.clone(), snapshots }))
}

/// The statement that takes a snapshot.
pub(crate) fn snapshot_sql(kind: StatisticsType) -> &'static str {
    match kind {
        StatisticsType::Awr => include_str!("../sql/awr_snapshot.sql"),
        StatisticsType::Statspack => include_str!("../sql/statspack_snapshot.sql"),
    }
}

/// The query for the instances whose snapshots these are. Since there are containers, a pluggable database has snapshots
/// of its own.
pub(crate) fn instances_sql(version: &Version) -> String {
    let column = if version.has_containers() { "con_dbid" } else { "dbid" };
    include_str!("../sql/awr_instances.sql").trim_end().replace("{dbid}", column)
}

/// The query for a report: of one instance, or of a cluster.
pub(crate) fn report_sql(cluster: bool, form: &str) -> String {
    let scope = if cluster { "AWR_GLOBAL_REPORT" } else { "AWR_REPORT" };
    include_str!("../sql/awr_report.sql").trim_end().replace("{report}", &format!("{scope}_{form}"))
}

/// A server that says it has no licence for the pack is not asked for it.
fn check_licence(client: &mut dyn Client) -> Result<(), EngineError> {
    let step = "asking whether AWR may be used";
    let rows =
        client.query(include_str!("../sql/pack_access.sql"), &[]).map_err(|fault| failed(step, &fault))?;
    if rows.iter().flatten().flatten().any(|value| value.eq_ignore_ascii_case("NONE")) {
        let message = "control_management_pack_access is NONE: this database has no licence for it";
        return Err(EngineError::new(ErrorKind::Usage, step, message)
            .with_advice("set DATABASE_STATISTICS_TYPE=statspack, or none"));
    }
    Ok(())
}

fn snapshot(client: &mut dyn Client, kind: StatisticsType) -> Result<u64, EngineError> {
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
    client.number(snapshot_sql(kind)).map_err(|fault| failed(step, &fault).with_advice(advice))
}

struct Report {
    client: Box<dyn Client>,
    kind: StatisticsType,
    version: Version,
    snapshots: [u64; 2],
}

impl ServerReport for Report {
    fn close(&mut self) -> Result<(), EngineError> {
        self.snapshots[1] = snapshot(self.client.as_mut(), self.kind)?;
        Ok(())
    }

    fn fetch(&mut self) -> Result<ServersWords, EngineError> {
        match self.kind {
            StatisticsType::Awr => self.fetch_awr(),
            StatisticsType::Statspack => Ok(self.describe_statspack()),
        }
    }
}

impl Report {
    fn fetch_awr(&mut self) -> Result<ServersWords, EngineError> {
        let [first, last] = self.snapshots;
        let step = format!("looking for the AWR snapshots {first} and {last}");
        let binds = self.snapshots.map(Bind::count);
        let rows = self
            .client
            .query(&instances_sql(&self.version), &binds)
            .map_err(|fault| failed(step.as_str(), &fault))?;
        let database = rows.first().and_then(|row| number(row, 0));
        let instances: Vec<u64> = rows.iter().filter_map(|row| number(row, 1)).collect();
        let Some(database) = database.filter(|_| !instances.is_empty()) else {
            return Err(EngineError::new(ErrorKind::Data, step, "they are not in DBA_HIST_SNAPSHOT")
                .with_advice("the instance was restarted in between, or the account may not see them; @?/rdbms/admin/awrrpt makes the report by hand"));
        };
        let mut words = ServersWords { snapshots: self.snapshots, ..ServersWords::default() };
        let cluster = instances.len() > 1;
        let of = match instances[..] {
            [instance] => Bind::count(instance),
            _ => Bind::Text(instances.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
        };
        let binds = [Bind::count(database), of, Bind::count(first), Bind::count(last)];
        for (form, ending) in [("TEXT", "txt"), ("HTML", "html")] {
            let name = format!("{}.{ending}", if cluster { "awr_rac" } else { "awr" });
            match self.lines(&report_sql(cluster, form), &binds) {
                Ok(text) => words.files.push(Artefact { name, text }),
                Err(fault) => {
                    let error = failed(format!("fetching {name}"), &fault);
                    words.notes.push(format!("A file of the server's own report is missing: {error}."));
                }
            }
        }
        Ok(words)
    }

    /// A report comes line by line; an empty line is NULL.
    fn lines(&mut self, sql: &str, binds: &[Bind]) -> Result<String, Fault> {
        let rows = self.client.query(sql, binds)?;
        Ok(rows.iter().map(|row| text(row, 0).unwrap_or_default().trim_end().to_owned() + "\n").collect())
    }

    fn describe_statspack(&mut self) -> ServersWords {
        let [first, last] = self.snapshots;
        let name = self.client.query(include_str!("../sql/instance_name.sql"), &[]).unwrap_or_default();
        let name = name.into_iter().flatten().flatten().next();
        let instance = name.map_or_else(String::new, |name| format!(" of instance {name}"));
        let note = format!(
            "Statspack took snapshots {first} and {last}{instance} at both ends of the window. SQL*Plus makes their report, on the \
             server: `sqlplus perfstat @?/rdbms/admin/spreport`, which asks for these numbers. `slob awr check` reads it."
        );
        ServersWords { snapshots: self.snapshots, files: Vec::new(), notes: vec![note] }
    }
}
