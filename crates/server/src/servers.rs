//! The servers behind the endpoints.

use std::sync::{Arc, Mutex};

use slob_engine::{
    Clues, EngineError, ErrorKind, Figures, Result, RunPlan, ServerLocation, ServerSnapshot, SessionPlan,
    Snapshot, WaitEvent, lock,
};

use crate::{Clients, ConnectionRole, Connector, Pool, Row, Sampler, Task, schema_name};

pub trait Monitored: Connector {
    /// Only cloned servers share it. Every role may read it, and it is the same through every endpoint.
    fn identity(connection: &mut Self::Connection) -> Result<String>;

    /// Shows that the connection is ours.
    fn number(_: &mut Self::Connection) -> Option<u64> {
        None
    }

    /// Equal identities of two endpoints may be clones.
    fn is_same(_one: &mut Self::Connection, _other: &mut Self::Connection) -> Result<bool> {
        Ok(true)
    }

    /// They lead to the server on its host.
    fn clues(connection: &mut Self::Connection) -> Result<Clues>;

    /// Limits of connections that apply to our sessions.
    fn limits(connection: &mut Self::Connection, step: &str) -> Result<Vec<Limit>>;

    /// Its connection is one of `clients`.
    fn sampler(connector: Arc<Self>, endpoint: usize, clients: Arc<Clients>) -> Sampler;
}

const SEVERAL: &str = "Sessions use several endpoints; the server settings are those of the first one.";

/// Also holds the connections that are not sessions.
pub struct Servers<C: Monitored> {
    pub connector: Arc<C>,
    pool: Pool<Task, C::Connection>,
    servers: Vec<Server>,
    schemas_of_run: Mutex<Vec<String>>,
}

struct Server {
    /// An earlier endpoint.
    same_as: Option<usize>,
    sampler: Mutex<Option<Sampler>>,
    clients: Arc<Clients>,
}

impl<C: Monitored> Servers<C> {
    /// A run needs every endpoint of several.
    pub fn connect(connector: C) -> Result<Self> {
        let endpoints = connector.endpoints();
        let mut all = Self {
            connector: Arc::new(connector),
            pool: Pool::default(),
            servers: Vec::new(),
            schemas_of_run: Mutex::default(),
        };
        // The first endpoint of each server.
        let mut known: Vec<(usize, String)> = Vec::new();
        for endpoint in 0..endpoints {
            let mut same_as = None;
            if endpoints > 1 {
                let identity = all.with(Task::Monitor(endpoint), C::identity)?;
                same_as = all.earlier(&known, endpoint, &identity)?;
                if same_as.is_none() {
                    known.push((endpoint, identity));
                }
            }
            all.servers.push(Server { same_as, sampler: Mutex::default(), clients: Arc::default() });
        }
        Ok(all)
    }

    fn earlier(&self, known: &[(usize, String)], endpoint: usize, identity: &str) -> Result<Option<usize>> {
        for (earlier, _) in known.iter().filter(|(_, known)| known == identity) {
            let is_same = self.with(Task::Monitor(*earlier), |one| {
                self.with(Task::Monitor(endpoint), |other| C::is_same(one, other))
            });
            if is_same? {
                return Ok(Some(*earlier));
            }
        }
        Ok(None)
    }

    pub fn with<T>(&self, task: Task, work: impl FnOnce(&mut C::Connection) -> Result<T>) -> Result<T> {
        let connect = || {
            let mut connection = self.connector.connect_for(task)?;
            // It may lead to any of the servers.
            if let Some(number) = C::number(&mut connection) {
                self.servers.iter().for_each(|server| server.clients.add(ConnectionRole::Monitor, number));
            }
            Ok(connection)
        };
        self.pool.with(task, C::is_usable, connect, work)
    }

    pub fn first_endpoints(&self) -> impl Iterator<Item = usize> {
        (0..).zip(&self.servers).filter(|(_, server)| server.same_as.is_none()).map(|(endpoint, _)| endpoint)
    }

    /// Empty for a single endpoint.
    pub fn endpoints(&self) -> Vec<String> {
        if self.servers.len() > 1 { self.connector.names() } else { Vec::new() }
    }

    pub fn place(&self, plan: &SessionPlan) -> (usize, String) {
        let endpoint = plan.endpoint(self.servers.len());
        (endpoint, format!("session {} on {}", plan.number, self.connector.endpoint(endpoint)))
    }

    pub fn begin_run(&self, run: &RunPlan<'_>) {
        *lock(&self.schemas_of_run) = run.schemas.iter().map(|schema| schema_name(*schema)).collect();
    }

    /// Tables in these schemas count as the run's; none before a run.
    pub fn schemas_of_run(&self) -> Vec<String> {
        lock(&self.schemas_of_run).clone()
    }

    pub fn clients(&self, endpoint: usize) -> &Arc<Clients> {
        let endpoint = endpoint % self.servers.len();
        &self.servers[self.servers[endpoint].same_as.unwrap_or(endpoint)].clients
    }

    /// Waits are the server's, or those sampled since the first snapshot. Fails if no server can be asked.
    pub fn snapshot(
        &self,
        figures: impl Fn(&mut C::Connection, &Clients) -> Result<(Figures, Option<Vec<WaitEvent>>)>,
    ) -> Result<Snapshot> {
        let mut error = None;
        let see = |(endpoint, server): (usize, &Server)| {
            if let Some(earlier) = server.same_as {
                return ServerSnapshot::SameAs(earlier);
            }
            match self.with(Task::Monitor(endpoint), |connection| figures(connection, &server.clients)) {
                Ok((figures, events)) => {
                    let events = events.unwrap_or_else(|| self.sampled(endpoint));
                    ServerSnapshot::Figures(Figures { events, ..figures })
                }
                Err(fault) => {
                    error = Some(fault);
                    ServerSnapshot::Unreachable
                }
            }
        };
        let seen: Vec<ServerSnapshot> = self.servers.iter().enumerate().map(see).collect();
        match error {
            Some(error) if !seen.iter().any(|seen| matches!(seen, ServerSnapshot::Figures(_))) => Err(error),
            _ => Ok(Snapshot::of_servers(seen)),
        }
    }

    /// The window excludes the time before the first sample.
    fn sampled(&self, endpoint: usize) -> Vec<WaitEvent> {
        let Server { sampler, clients, .. } = &self.servers[endpoint];
        let mut sampler = lock(sampler);
        let start = || C::sampler(Arc::clone(&self.connector), endpoint, Arc::clone(clients));
        sampler.get_or_insert_with(start).events()
    }

    /// An unreachable server has fewer clues.
    pub fn locations(&self) -> Vec<ServerLocation> {
        let of_server = |endpoint| ServerLocation {
            endpoint,
            host: self.connector.host(endpoint),
            clues: self.with(Task::Monitor(endpoint), C::clues).unwrap_or_default(),
        };
        self.first_endpoints().map(of_server).collect()
    }

    /// `others` are connections that monitor. A lack is an error of [`ErrorKind::Usage`].
    pub fn check_capacity(&self, run: &RunPlan<'_>, others: u64) -> Result<()> {
        let endpoints = self.servers.len();
        for endpoint in 0..endpoints {
            let share = run.sessions / endpoints as u32;
            let sessions = share + u32::from(endpoint < run.sessions as usize % endpoints);
            let step = format!("counting the connections of {}", self.connector.endpoint(endpoint));
            let limits = self.with(Task::Monitor(endpoint), |connection| C::limits(connection, &step))?;
            limits.iter().try_for_each(|limit| limit.check(sessions, others, &step))?;
        }
        Ok(())
    }

    pub fn notes(&self) -> Vec<String> {
        if self.servers.len() > 1 { vec![SEVERAL.to_owned()] } else { Vec::new() }
    }
}

#[derive(Clone, Debug)]
pub struct Limit {
    pub name: String,
    pub most: u64,
    /// Others may use these.
    pub reserved: u64,
    pub in_use: u64,
    pub remedy: String,
}

impl Limit {
    /// Columns: most, reserved, in_use, name, remedy. `None` without a limit.
    pub fn read(row: &Row) -> Option<Self> {
        let (name, remedy) = (row.get(3)?, row.get(4)?);
        Some(Self { name, most: row.get(0)?, reserved: row.get(1)?, in_use: row.get(2)?, remedy })
    }

    /// `others` are this program's further connections. A lack is an error of [`ErrorKind::Usage`].
    pub fn check(&self, sessions: u32, others: u64, step: &str) -> Result<()> {
        let Self { name, most, reserved, in_use, remedy } = self;
        let room = most.saturating_sub(reserved + in_use + others);
        if u64::from(sessions) <= room {
            return Ok(());
        }
        let kept = if *reserved > 0 { format!("{reserved} are reserved and ") } else { String::new() };
        let message = format!(
            "{sessions} sessions do not fit: {name} is {most}, of which {kept}{in_use} are in use, and {others} are needed to watch"
        );
        Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(format!(
            "{remedy}, or run with at most {room} sessions here (fewer schemas or threads)"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;
    use slob_engine::Counter;
    use std::collections::BTreeSet;

    /// Endpoints of servers with these names; two servers may have the same one. Those that are down can't be asked.
    struct Fake {
        servers: Vec<Connection>,
        endpoints: Vec<Endpoint>,
        down: Mutex<BTreeSet<usize>>,
    }

    /// The server's name, and a number that its clones do not share.
    type Connection = (&'static str, u32);

    impl Connector for Fake {
        type Connection = Connection;

        fn endpoints(&self) -> usize {
            self.servers.len()
        }

        fn endpoint(&self, number: usize) -> &Endpoint {
            &self.endpoints[number]
        }

        fn connect(&self, endpoint: usize) -> Result<Connection> {
            if self.down.lock().unwrap().contains(&endpoint) {
                return Err(EngineError::new(ErrorKind::Connection, "connecting", "it is down"));
            }
            Ok(self.servers[endpoint])
        }

        fn connect_for(&self, task: Task) -> Result<Connection> {
            match task {
                Task::Monitor(endpoint) => self.connect(endpoint),
                Task::Load | Task::Read => self.connect_any(),
            }
        }

        /// Idle connections are not used again, so that a server that is down is noticed.
        fn is_usable(_: &mut Connection) -> bool {
            false
        }
    }

    impl Monitored for Fake {
        fn identity(connection: &mut Connection) -> Result<String> {
            Ok(connection.0.to_owned())
        }

        fn is_same(one: &mut Connection, other: &mut Connection) -> Result<bool> {
            Ok(one.1 == other.1)
        }

        fn clues(connection: &mut Connection) -> Result<Clues> {
            Ok(Clues { child: Some(connection.1), ..Clues::default() })
        }

        fn limits(_: &mut Connection, _: &str) -> Result<Vec<Limit>> {
            let (name, remedy) = ("most".to_owned(), "raise it".to_owned());
            Ok(vec![Limit { name, most: 10, reserved: 0, in_use: 0, remedy }])
        }

        fn sampler(_: Arc<Self>, _: usize, _: Arc<Clients>) -> Sampler {
            Sampler::start(|| Ok(|| Ok(Vec::new())))
        }
    }

    fn servers(servers: &[Connection]) -> Servers<Fake> {
        let endpoint =
            |number| Endpoint::new(&if number > 0 { format!("host{number}") } else { "/0".into() }, 1);
        let endpoints = (0..servers.len()).map(endpoint).collect();
        let fake = Fake { servers: servers.to_vec(), endpoints, down: Mutex::default() };
        Servers::connect(fake).unwrap()
    }

    fn figures(connection: &mut Connection, _: &Clients) -> Result<(Figures, Option<Vec<WaitEvent>>)> {
        let counters = [(Counter::Commits, u64::from(connection.1))].into();
        Ok((Figures { counters, ..Figures::default() }, Some(Vec::new())))
    }

    #[test]
    fn endpoints_of_one_server_are_counted_once_and_clones_apart() {
        let servers = servers(&[("a", 1), ("b", 2), ("a", 1), ("a", 3), ("a", 3)]);
        assert_eq!(servers.first_endpoints().collect::<Vec<_>>(), [0, 1, 3]);
        let snapshot = servers.snapshot(figures).unwrap();
        assert_eq!(
            (&snapshot.servers[2], &snapshot.servers[4]),
            (&ServerSnapshot::SameAs(0), &ServerSnapshot::SameAs(3))
        );
        assert_eq!(snapshot.total().counters.get(Counter::Commits), Some(1 + 2 + 3));
        assert_eq!(servers.endpoints().len(), 5);
    }

    #[test]
    fn a_server_that_is_down_is_unreachable_and_an_error_when_it_is_the_only_one() {
        let servers = servers(&[("a", 1), ("b", 2)]);
        servers.connector.down.lock().unwrap().insert(0);
        assert_eq!(servers.snapshot(figures).unwrap().servers[0], ServerSnapshot::Unreachable);
        assert_eq!(
            servers.with(Task::Read, |connection| Ok(connection.0)).unwrap(),
            "b",
            "the data are the same"
        );
        servers.connector.down.lock().unwrap().insert(1);
        assert_eq!(servers.snapshot(figures).unwrap_err().kind(), ErrorKind::Connection);
        assert!(servers.with(Task::Read, |_| Ok(())).is_err());
    }

    #[test]
    fn each_server_must_have_room_for_its_share_of_the_sessions() {
        let servers = servers(&[("a", 1), ("b", 2)]);
        let run = |sessions| RunPlan { schemas: &[], sessions, redo: None, scans: false, stop: None };
        assert!(servers.check_capacity(&run(16), 2).is_ok());
        let error = servers.check_capacity(&run(17), 2).unwrap_err().to_string();
        assert!(error.contains("of /0:1") && error.contains("9 sessions do not fit"), "{error}");
    }

    #[test]
    fn each_server_has_clues_once_and_fewer_if_it_is_down() {
        let servers = servers(&[("a", 7), ("b", 2), ("a", 7), ("c", 3)]);
        servers.connector.down.lock().unwrap().insert(3);
        let all = servers.locations();
        let found: Vec<_> = all.iter().map(|of| (of.endpoint, of.host.as_deref(), of.clues.child)).collect();
        assert_eq!(found, [(0, None, Some(7)), (1, Some("host1"), Some(2)), (3, Some("host3"), None)]);
        assert!(servers.notes()[0].contains("several endpoints"));
    }

    #[test]
    fn sessions_that_do_not_fit_are_refused_with_the_figures() {
        let (name, remedy) = ("max_connections".to_owned(), "raise it".to_owned());
        let limit = Limit { name, most: 100, reserved: 3, in_use: 5, remedy };
        assert!(limit.check(90, 2, "counting").is_ok());
        let error = limit.check(91, 2, "counting").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(
            error.to_string(),
            "counting: 91 sessions do not fit: max_connections is 100, of which 3 are reserved and 5 are in use, and 2 are \
             needed to watch; raise it, or run with at most 90 sessions here (fewer schemas or threads)"
        );
        let full = Limit { in_use: 200, reserved: 0, ..limit };
        assert!(full.check(1, 2, "counting").unwrap_err().to_string().contains("at most 0 sessions"));
    }
}
