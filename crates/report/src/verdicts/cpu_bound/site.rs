//! Where the database runs.

use std::net::IpAddr;

use slob_record::{ObservedRecord, Record};

/// How OBSERVE names a host that is reached through ssh.
const FAR: &str = "ssh:";

/// Where the database's processes run, as far as the record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// On the host whose figures the record has: they, the data or it were seen.
    Seen,
    /// On a host that the target names.
    Elsewhere,
    /// Nothing was seen of them, and the target names no other host: a connection without a network, a name of a service,
    /// or a port here, which may lead anywhere.
    Unseen,
}

impl Site {
    pub(super) fn of(record: &Record) -> Self {
        // Whoever names the host by which it is to be seen knows that it is the database's.
        let is_seen = |server: &ObservedRecord| {
            server.process.is_some() || (server.host.is_some() && server.by.starts_with(FAR))
        };
        let was_seen = record.observed.iter().any(is_seen);
        if record.server.embedded || was_seen || record.server.data_path.is_some() || record.db_cpu.is_some()
        {
            return Self::Seen;
        }
        let own = record.host.as_ref().map_or("", |host| host.info.hostname.as_str());
        match hosts(&record.target) {
            Some(hosts) if !hosts.iter().any(|host| is_this_host(host, own)) => Self::Elsewhere,
            _ => Self::Unseen,
        }
    }
}

/// The hosts of `scheme://user@host:port,host/path`; `None` if one of them need not be a host: a name without a port, a
/// path and a dot may be that of a service.
fn hosts(target: &str) -> Option<Vec<&str>> {
    let (_, rest) = target.split_once("://")?;
    let rest = rest.split('?').next()?;
    let at = rest.rsplit_once('@').map_or(rest, |(_, at)| at);
    // Some databases' users write user@//host:port/service.
    let (list, path) = at.strip_prefix("//").unwrap_or(at).split_once('/').unwrap_or((at, ""));
    list.split(',').map(|endpoint| host_of(endpoint, !path.is_empty())).collect()
}

fn host_of(endpoint: &str, has_path: bool) -> Option<&str> {
    if let Some((host, _)) = endpoint.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return Some(host);
    }
    let (host, has_port) = endpoint.split_once(':').map_or((endpoint, false), |(host, _)| (host, true));
    (!host.is_empty() && (has_port || has_path || host.contains('.'))).then_some(host)
}

/// Whether a name is that of this host, whose own one is given, or a folder of sockets.
fn is_this_host(host: &str, own: &str) -> bool {
    let host = host.to_ascii_lowercase();
    // Either may have its domain or not.
    let label = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_own = !own.is_empty() && host.parse::<IpAddr>().is_err() && label(&host) == label(own);
    is_own
        || host == "localhost"
        || host.starts_with('/')
        || host.starts_with("%2f")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use rstest::rstest;

    #[rstest]
    #[case("db://u@db1:5432/d", Site::Elsewhere)]
    #[case("db://u@db1/d?x=@localhost", Site::Elsewhere)]
    #[case("db://u@db1.example.com", Site::Elsewhere)]
    #[case("db://u@10.0.0.7,10.0.0.8:1521/s", Site::Elsewhere)]
    #[case("db://u@//db1:1521/s", Site::Elsewhere)]
    #[case("db://[2001:db8::1]:3306", Site::Elsewhere)]
    #[case("db:", Site::Unseen)]
    #[case("db:/", Site::Unseen)]
    #[case("db://u@NAME", Site::Unseen)]
    #[case("db://u@localhost:1521/s", Site::Unseen)]
    #[case("db://u@//127.0.0.1:1521/s", Site::Unseen)]
    #[case("db://u@[::1]:1521/s", Site::Unseen)]
    #[case("db://u@db1,localhost:1521/s", Site::Unseen)]
    #[case("db:///d?host=/run/db", Site::Unseen)]
    #[case("db://u@%2Frun%2Fdb/d", Site::Unseen)]
    fn a_database_is_elsewhere_only_if_its_target_says_so(#[case] target: &str, #[case] site: Site) {
        let mut record = fixture::direct_read_run();
        assert_eq!(Site::of(&record), Site::Seen, "it is embedded");
        (record.server.embedded, record.server.data_path, record.db_cpu) = (false, None, None);
        record.target = target.into();
        record.host.as_mut().unwrap().info.hostname = "client".into();
        assert_eq!(Site::of(&record), site);
        record.host.as_mut().unwrap().info.hostname = "DB1.example.com".into();
        let by_name = if target.contains("db1") { Site::Unseen } else { site };
        assert_eq!(Site::of(&record), by_name, "db1 is this host");
    }
}
