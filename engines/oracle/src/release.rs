//! Releases and containers: what a server can do, and what its counters count.
//!
//! Since 12.2, V$SYSSTAT, V$SYSTEM_EVENT and V$SYS_TIME_MODEL count only the queried pluggable database (Oracle Database
//! Reference). DBWR, LGWR and CKPT work for the instance, so their counters are then absent rather than small.

use slob_engine::{Counter, Counters, EngineError, ErrorKind, Latency, LatencyKind, Result, WaitEvent};

use crate::client::{Client, During, Row, number, text};

pub(crate) const CONTAINERS: [u32; 4] = [12, 1, 0, 0];
pub(crate) const MICROSECOND_HISTOGRAMS: [u32; 4] = [12, 1, 0, 2];
const COUNTERS_BY_CONTAINER: [u32; 4] = [12, 2, 0, 0];
const FULL_VERSION: [u32; 4] = [18, 0, 0, 0];
const SESSION_SLEEP: [u32; 4] = [18, 0, 0, 0];
const HINTS_CAN_BE_IGNORED: [u32; 4] = [18, 0, 0, 0];
const OLDEST: [u32; 4] = [11, 2, 0, 0];

/// Cursors are shared only between equal texts, and no result comes from a cache.
const SETTINGS: &[&str] = &[
    "ALTER SESSION DISABLE PARALLEL QUERY",
    "ALTER SESSION DISABLE PARALLEL DML",
    "ALTER SESSION SET CURSOR_SHARING = EXACT",
    "ALTER SESSION SET RESULT_CACHE_MODE = MANUAL",
];
/// Autonomous Databases ignore hints by default.
const OBEY_HINTS: &str = "ALTER SESSION SET OPTIMIZER_IGNORE_HINTS = FALSE";

/// Batches are static SQL with variables, and UPDATEs go by an index.
pub(crate) fn is_needed(setting: &str) -> bool {
    ![SETTINGS[1], SETTINGS[2]].contains(&setting)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// Missing numbers are 0.
    number: [u32; 4],
    pub(crate) text: String,
}

impl Version {
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split('.').map_while(|part| part.parse().ok());
        Self { number: [0; 4].map(|_: u32| parts.next().unwrap_or(0)), text: text.to_owned() }
    }

    pub(crate) fn has(&self, since: [u32; 4]) -> bool {
        self.number >= since
    }

    /// DBMS_LOCK must be granted.
    pub(crate) fn sleep(&self) -> &'static str {
        if self.has(SESSION_SLEEP) { "DBMS_SESSION.SLEEP" } else { "DBMS_LOCK.SLEEP" }
    }

    pub(crate) fn settings(&self) -> Vec<&'static str> {
        SETTINGS.iter().copied().chain(self.has(HINTS_CAN_BE_IGNORED).then_some(OBEY_HINTS)).collect()
    }
}

/// Refuses releases before 11.2.
pub(crate) fn ask(client: &mut dyn Client) -> Result<(Version, Container)> {
    let step = "asking for the server's version";
    let text = client.value(include_str!("../sql/version.sql")).during(step)?.unwrap_or_default();
    let mut version = Version::parse(&text);
    if !version.has(OLDEST) {
        return Err(EngineError::new(ErrorKind::Usage, step, format!("the server is Oracle '{text}'"))
            .with_advice("11.2 is the oldest that is supported"));
    }
    if version.has(FULL_VERSION) {
        let full = client.value(include_str!("../sql/version_full.sql")).ok().flatten();
        version = full.map_or(version, |text| Version::parse(&text));
    }
    let container = if version.has(CONTAINERS) { Container::ask(client)? } else { Container::of(None) };
    Ok((version, container))
}

/// Every container database has it.
const ROOT: u64 = 1;
const ASKING_CONTAINER: &str = "asking for the container";

pub(crate) struct Container {
    name: String,
    /// 0 without containers; `None` before 12.1, or if it is invisible.
    id: Option<u64>,
}

impl Container {
    fn ask(client: &mut dyn Client) -> Result<Self> {
        let rows = client.query(include_str!("../sql/container.sql"), &[]).during(ASKING_CONTAINER)?;
        Ok(Self::of(rows.first()))
    }

    pub(crate) fn of(row: Option<&Row>) -> Self {
        let name = row.and_then(|row| text(row, 0)).unwrap_or_default().to_owned();
        Self { name, id: row.and_then(|row| number(row, 1)) }
    }

    fn is_root(&self) -> bool {
        self.id == Some(ROOT) || self.name == "CDB$ROOT"
    }

    /// The root should hold no data.
    pub(crate) fn refuse_root(&self) -> Result<()> {
        if !self.is_root() {
            return Ok(());
        }
        let message = "this is the root of a container database";
        Err(EngineError::new(ErrorKind::Usage, ASKING_CONTAINER, message).with_advice(
            "name the service of a pluggable database in TARGET or ADMIN_SQLNET_SERVICE; with a local login, set ORACLE_PDB_SID",
        ))
    }
}

/// The server's own processes work for all databases of an instance.
const COUNTERS_OF_PROCESSES: &[Counter] =
    &[Counter::PhysicalWrites, Counter::PhysicalWriteBytes, Counter::RedoWrites, Counter::Checkpoints];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The container, if there is one, of an instance or cluster.
    Whole(Option<u64>),
    /// Queried in the root, through another service.
    Root,
    Pluggable(u64),
}

impl Scope {
    pub(crate) fn of(version: &Version, container: &Container) -> Self {
        match container.id {
            Some(id) if id > ROOT && version.has(COUNTERS_BY_CONTAINER) => Self::Pluggable(id),
            id => Self::Whole(id),
        }
    }

    /// The service must lead to the root.
    pub(crate) fn of_root(client: &mut dyn Client, service: &str) -> Result<Self> {
        let container = Container::ask(client)?;
        if container.is_root() {
            return Ok(Self::Root);
        }
        let message = format!("the service {service} leads to {}, which is no root", container.name);
        Err(EngineError::new(ErrorKind::Usage, "reading ORACLE_ROOT_SERVICE", message)
            .with_advice("name a service of CDB$ROOT, or leave it out"))
    }

    pub(crate) fn con_id(&self) -> Option<u64> {
        match self {
            Self::Whole(id) => *id,
            Self::Root => Some(ROOT),
            Self::Pluggable(id) => Some(*id),
        }
    }

    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Whole(_) => "the whole instance",
            Self::Root => "the whole instance, read in its root (ORACLE_ROOT_SERVICE)",
            Self::Pluggable(_) => "the pluggable database alone, without the server's own processes",
        }
    }

    fn is_pluggable(&self) -> bool {
        matches!(self, Self::Pluggable(_))
    }

    pub(crate) fn note(&self) -> Option<String> {
        self.is_pluggable().then(|| {
            "Counters are those of the pluggable database alone: the work of the server's own processes (physical writes, redo \
             writes, checkpoints) is not among them, and left out here. Name a service of the root as ORACLE_ROOT_SERVICE, with an \
             account that is common to all containers, to have it."
                .to_owned()
        })
    }

    pub(crate) fn counters(&self, counters: &Counters) -> Counters {
        let is_counted = |counter| !self.is_pluggable() || !COUNTERS_OF_PROCESSES.contains(&counter);
        counters.iter().filter(|(counter, _)| is_counted(*counter)).collect()
    }

    pub(crate) fn events(&self, events: &mut Vec<WaitEvent>) {
        if self.is_pluggable() {
            events.retain(|event| !event.background);
        }
    }

    /// Histograms of other containers go; one of the whole instance loses the totals, which count the pluggable database.
    pub(crate) fn latency(
        &self,
        kind: LatencyKind,
        latency: Latency,
        con_id: Option<u64>,
    ) -> Option<Latency> {
        match self {
            Self::Whole(_) | Self::Root => Some(latency),
            Self::Pluggable(own) if con_id == Some(*own) => {
                (kind != LatencyKind::PhysicalWrite).then_some(latency)
            }
            Self::Pluggable(_) => Some(Latency { exact: None, ..latency }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_know_what_they_can_do() {
        let of = Version::parse;
        assert_eq!(of("19.24.0.0.0").number, [19, 24, 0, 0]);
        assert_eq!(
            (of("18.0.0.0.0").sleep(), of("12.2.0.1.0").sleep()),
            ("DBMS_SESSION.SLEEP", "DBMS_LOCK.SLEEP")
        );
        let has = |text, since| of(text).has(since);
        assert!(has("12.1.0.2.0", MICROSECOND_HISTOGRAMS) && !has("12.1.0.1.0", MICROSECOND_HISTOGRAMS));
        assert!(has("12.2.0.1.0", COUNTERS_BY_CONTAINER) && !has("12.1.0.2.0", COUNTERS_BY_CONTAINER));
        assert!(has("12.1.0.1.0", CONTAINERS) && !has("11.2.0.4.0", CONTAINERS));
        let obeys_hints = |text| of(text).settings().contains(&OBEY_HINTS);
        assert!(obeys_hints("18.0.0.0.0") && !obeys_hints("12.2.0.1.0"));
        assert_eq!(of("nonsense").number, [0; 4]);
    }

    fn container(name: &str, id: Option<u64>) -> Container {
        Container { name: name.into(), id }
    }

    #[test]
    fn views_count_a_pluggable_database_alone_since_12_2() {
        let of = |release: &str, id| Scope::of(&Version::parse(release), &container("PDB1", id));
        assert_eq!(of("12.1.0.2.0", Some(3)), Scope::Whole(Some(3)));
        assert_eq!(of("12.2.0.1.0", Some(3)), Scope::Pluggable(3));
        assert_eq!(of("19.0.0.0.0", Some(0)), Scope::Whole(Some(0)), "no container database");
        assert_eq!(of("11.2.0.4.0", None), Scope::Whole(None));
        assert!(of("23.5.0.0.0", Some(7)).note().is_some_and(|note| note.contains("ORACLE_ROOT_SERVICE")));
        assert_eq!(of("19.0.0.0.0", Some(0)).note(), None);
    }

    #[test]
    fn a_root_is_recognised_by_name_or_number() {
        assert!(container("CDB$ROOT", None).refuse_root().is_err());
        assert!(container("ANY", Some(1)).refuse_root().is_err());
        assert!(container("PDB1", Some(3)).refuse_root().is_ok());
    }

    #[test]
    fn a_histogram_of_the_instance_has_no_totals_of_a_pluggable_database() {
        let exact = Some(slob_engine::WaitTotal { waits: 7, time_us: 9 });
        let seen = |scope: &Scope, kind, con_id| {
            scope.latency(kind, Latency { exact, ..Latency::default() }, con_id).map(|latency| latency.exact)
        };
        let pluggable = Scope::Pluggable(3);
        assert_eq!(seen(&pluggable, LatencyKind::PhysicalRead, Some(3)), Some(exact));
        assert_eq!(seen(&pluggable, LatencyKind::PhysicalWrite, Some(3)), None);
        assert_eq!(seen(&pluggable, LatencyKind::PhysicalWrite, Some(0)), Some(None));
        assert_eq!(seen(&Scope::Root, LatencyKind::PhysicalWrite, Some(0)), Some(exact));
    }
}
