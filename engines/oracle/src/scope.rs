//! What the counters of a connection are of: the whole instance, or one pluggable database.
//!
//! Since 12.2, V$SYSSTAT, V$SYSTEM_EVENT and V$SYS_TIME_MODEL count the pluggable database alone that they are queried in,
//! and all of the instance only in the root (Oracle Database Reference). DBWR, LGWR and CKPT work for the instance, so that
//! their work is next to nothing there: it is then absent here, which is not the same as small.

use slob_engine::{Counter, Counters, EngineError, ErrorKind, Latency, LatencyKind, WaitEvent};

use crate::catalog::{number, text};
use crate::client::{Client, Row};
use crate::error::failed;
use crate::version::Version;

/// The root of every container database.
const ROOT: u64 = 1;
/// What the server's own processes do for all databases of an instance.
const OF_PROCESSES: &[Counter] =
    &[Counter::PhysicalWrites, Counter::PhysicalWriteBytes, Counter::RedoWrites, Counter::Checkpoints];

/// The container that a connection is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Container {
    name: String,
    /// 0 where there are none, 1 for the root; `None` before 12.1, and where the server does not say.
    id: Option<u64>,
}

impl Container {
    /// Asks for it.
    ///
    /// # Errors
    /// Of the server.
    pub(crate) fn ask(client: &mut dyn Client) -> Result<Self, EngineError> {
        let sql = include_str!("../sql/container.sql");
        let rows = client.query(sql, &[]).map_err(|fault| failed("asking for the container", &fault))?;
        Ok(Self::of(rows.first()))
    }

    /// That of a row of its query.
    pub(crate) fn of(row: Option<&Row>) -> Self {
        let name = row.and_then(|row| text(row, 0)).unwrap_or_default().to_owned();
        Self { name, id: row.and_then(|row| number(row, 1)) }
    }

    fn is_root(&self) -> bool {
        self.id == Some(ROOT) || self.name == "CDB$ROOT"
    }

    /// Data have no place in a root.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it is one.
    pub(crate) fn refuse_root(&self) -> Result<(), EngineError> {
        if !self.is_root() {
            return Ok(());
        }
        let message = "this is the root of a container database";
        Err(EngineError::new(ErrorKind::Usage, "asking for the container", message).with_advice(
            "name the service of a pluggable database in TARGET or ADMIN_SQLNET_SERVICE; with a local login, set ORACLE_PDB_SID",
        ))
    }
}

/// What counters are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The instance, or all of them in a cluster. The container that it was asked in, where there are any.
    Whole(Option<u64>),
    /// The same, by the root, which is another service.
    ByRoot,
    /// The pluggable database of that number.
    Pluggable(u64),
}

impl Scope {
    /// That of a connection to a server of that release.
    pub(crate) fn of(version: &Version, container: &Container) -> Self {
        match container.id {
            Some(id) if id > ROOT && version.counts_by_container() => Self::Pluggable(id),
            id => Self::Whole(id),
        }
    }

    /// That of the root.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the service leads elsewhere.
    pub(crate) fn of_root(client: &mut dyn Client, service: &str) -> Result<Self, EngineError> {
        let container = Container::ask(client)?;
        if container.is_root() {
            return Ok(Self::ByRoot);
        }
        let message = format!("the service {service} leads to {}, which is no root", container.name);
        Err(EngineError::new(ErrorKind::Usage, "reading ORACLE_ROOT_SERVICE", message)
            .with_advice("name a service of CDB$ROOT, or leave it out"))
    }

    /// The container whose views are read; `None` where there are none.
    pub(crate) fn con_id(&self) -> Option<u64> {
        match self {
            Self::Whole(id) => *id,
            Self::ByRoot => Some(ROOT),
            Self::Pluggable(id) => Some(*id),
        }
    }

    /// In words, for the record.
    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Whole(_) => "the whole instance",
            Self::ByRoot => "the whole instance, read in its root (ORACLE_ROOT_SERVICE)",
            Self::Pluggable(_) => "the pluggable database alone, without the server's own processes",
        }
    }

    /// What a run should say of it.
    pub(crate) fn note(&self) -> Option<String> {
        matches!(self, Self::Pluggable(_)).then(|| {
            "Counters are those of the pluggable database alone: the work of the server's own processes (physical writes, redo \
             writes, checkpoints) is not among them, and left out here. Name a service of the root as ORACLE_ROOT_SERVICE, with an \
             account that is common to all containers, to have it."
                .to_owned()
        })
    }

    /// Takes out what this does not count.
    pub(crate) fn counters(&self, counters: &Counters) -> Counters {
        let seen = |counter| !matches!(self, Self::Pluggable(_)) || !OF_PROCESSES.contains(&counter);
        counters.iter().filter(|(counter, _)| seen(*counter)).collect()
    }

    /// Takes out the waits of the server's own processes where they are not all there.
    pub(crate) fn events(&self, events: &mut Vec<WaitEvent>) {
        if matches!(self, Self::Pluggable(_)) {
            events.retain(|event| !event.background);
        }
    }

    /// A latency, as far as it is of this. The reference says of no release whether histograms count a pluggable database or the
    /// instance; their rows do, by the container that they are of. One of the instance stands without the exact totals, which
    /// are of the pluggable database.
    pub(crate) fn latency(
        &self,
        kind: LatencyKind,
        latency: Latency,
        con_id: Option<u64>,
    ) -> Option<Latency> {
        match self {
            Self::Whole(_) | Self::ByRoot => Some(latency),
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
    fn a_root_is_known_by_its_number_too() {
        assert!(container("CDB$ROOT", None).refuse_root().is_err());
        assert!(container("ANY", Some(1)).refuse_root().is_err());
        assert!(container("PDB1", Some(3)).refuse_root().is_ok());
    }

    #[test]
    fn a_histogram_of_the_instance_stands_without_totals_of_a_pluggable_database() {
        let exact = Some(slob_engine::WaitTotal { waits: 7, time_us: 9 });
        let seen = |scope: &Scope, kind, con_id| {
            scope.latency(kind, Latency { exact, ..Latency::default() }, con_id).map(|latency| latency.exact)
        };
        let pluggable = Scope::Pluggable(3);
        assert_eq!(seen(&pluggable, LatencyKind::PhysicalRead, Some(3)), Some(exact));
        assert_eq!(seen(&pluggable, LatencyKind::PhysicalWrite, Some(3)), None);
        assert_eq!(seen(&pluggable, LatencyKind::PhysicalWrite, Some(0)), Some(None));
        assert_eq!(seen(&Scope::ByRoot, LatencyKind::PhysicalWrite, Some(0)), Some(exact));
    }
}
