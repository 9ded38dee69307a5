use super::*;
use slob_engine::{Counter, ErrorKind};
use std::collections::BTreeSet;

/// Endpoints of servers with these names; two servers may have the same one. Those that are down can't be asked.
struct Fake {
    servers: Vec<(&'static str, u32)>,
    down: Mutex<BTreeSet<usize>>,
}

/// The server's name, and a number that tells it from its clones.
type Connection = (&'static str, u32);

impl Connector for Fake {
    type Connection = Connection;

    fn endpoints(&self) -> usize {
        self.servers.len()
    }

    fn endpoint(&self, endpoint: usize) -> String {
        format!("host{endpoint}")
    }

    fn host(&self, endpoint: usize) -> Option<String> {
        (endpoint > 0).then(|| format!("host{endpoint}"))
    }

    fn connect(&self, endpoint: usize) -> Result<Connection, EngineError> {
        if self.down.lock().unwrap().contains(&endpoint) {
            return Err(EngineError::new(ErrorKind::Connection, "connecting", "it is down"));
        }
        Ok(self.servers[endpoint])
    }

    fn is_sound(_: &mut Connection) -> bool {
        // So that a server that is down is noticed.
        false
    }
}

impl Watch for Fake {
    fn identity(connection: &mut Connection) -> Result<String, EngineError> {
        Ok(connection.0.to_owned())
    }

    fn is_same(one: &mut Connection, other: &mut Connection) -> Result<bool, EngineError> {
        Ok(one.1 == other.1)
    }

    fn clues(connection: &mut Connection) -> Result<Clues, EngineError> {
        Ok(Clues { child: Some(connection.1), ..Clues::default() })
    }

    fn limits(_: &mut Connection, _: &str) -> Result<Vec<Limit>, EngineError> {
        let (name, remedy) = ("most".to_owned(), "raise it".to_owned());
        Ok(vec![Limit { name, most: 10, reserved: 0, in_use: 0, remedy }])
    }

    fn sampler(_: Arc<Self>, _: usize) -> Sampler {
        Sampler::start(|| Ok(|| Ok(Vec::new())))
    }
}

fn servers(servers: &[Connection]) -> Servers<Fake> {
    let fake = Fake { servers: servers.to_vec(), down: Mutex::default() };
    let connect = |fake: &Fake, errand: Errand| match errand {
        Errand::Watch(endpoint) => fake.connect(endpoint),
        Errand::Load | Errand::Look => crate::reach_any(fake),
    };
    Servers::watch(Links::new(fake, connect)).unwrap()
}

fn figures(connection: &mut Connection) -> Result<(Counters, Option<Vec<WaitEvent>>), EngineError> {
    Ok(([(Counter::Commits, u64::from(connection.1))].into_iter().collect(), Some(Vec::new())))
}

#[test]
fn endpoints_of_one_server_are_counted_once_and_clones_are_not_one() {
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
    servers.connector().down.lock().unwrap().insert(0);
    assert_eq!(servers.snapshot(figures).unwrap().servers[0], ServerSnapshot::Unreachable);
    assert_eq!(servers.links().look(|connection| Ok(connection.0)).unwrap(), "b", "the data are the same");
    servers.connector().down.lock().unwrap().insert(1);
    assert_eq!(servers.snapshot(figures).unwrap_err().kind(), ErrorKind::Connection);
    assert!(servers.links().look(|_| Ok(())).is_err());
}

#[test]
fn each_server_must_have_room_for_its_share_of_the_sessions() {
    let servers = servers(&[("a", 1), ("b", 2)]);
    let run = |sessions| RunPlan { schemas: &[], sessions, redo: None, scans: false, stop: None };
    assert!(servers.check_capacity(&run(16), 2).is_ok());
    let error = servers.check_capacity(&run(17), 2).unwrap_err().to_string();
    assert!(error.contains("host0") && error.contains("9 sessions do not fit"), "{error}");
}

#[test]
fn each_server_has_clues_once_and_fewer_if_it_is_down() {
    let servers = servers(&[("a", 7), ("b", 2), ("a", 7), ("c", 3)]);
    servers.connector().down.lock().unwrap().insert(3);
    let all = servers.locations();
    let told: Vec<_> = all.iter().map(|of| (of.endpoint, of.host.as_deref(), of.clues.child)).collect();
    assert_eq!(told, [(0, None, Some(7)), (1, Some("host1"), Some(2)), (3, Some("host3"), None)]);
    assert!(servers.notes()[0].contains("several endpoints"));
}
