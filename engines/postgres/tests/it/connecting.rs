#![allow(clippy::unwrap_used, reason = "a test program")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use postgres::Client;
use slob_engine::{EngineError, ErrorKind, Result};
use slob_server::{Connector as _, Environment};
use slob_testing::jobs::TestServer as _;
use slob_testing::openssl;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::work::assert_says;

use crate::connect::Connector;

const PASSWORD: &str = "S3CRET: of\\ours";

fn connector(target: &str, variables: &[(&str, &str)]) -> Result<Connector> {
    let find =
        |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let target = target.parse().expect("a target");
    Connector::new(&target, &Environment(&find))
}

fn open(target: &str, variables: &[(&str, &str)]) -> Result<Client> {
    connector(target, variables)?.connect(0)
}

fn refused(target: &str, variables: &[(&str, &str)]) -> EngineError {
    open(target, variables).err().expect("a refusal")
}

fn shown(client: &mut Client, query: &str) -> String {
    client.query_one(query, &[]).unwrap().get(0)
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_cluster_starts_restarts_and_ends() {
    for version in [Version::V15, Version::V18] {
        let Some(mut cluster) = Cluster::start_or_skip(version, &[("shared_buffers", "16MB")]) else {
            continue;
        };
        assert_eq!(shown(&mut cluster.admin(), "SHOW shared_buffers"), "16MB");
        cluster.kill();
        cluster.restart();
        cluster.sql("CREATE TABLE t (a int)");
        let pid = cluster.pid().unwrap();
        drop(cluster);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn passwords_come_from_the_url_the_environment_and_a_private_file() {
    let access = ["host all all 127.0.0.1/32 scram-sha-256"];
    let Some(cluster) = Cluster::start_with_or_skip(Version::V15, &[], &access) else { return };
    cluster.sql(&format!("CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"));
    cluster.sql("CREATE DATABASE bench");
    let host = format!("127.0.0.1:{}", cluster.port());
    let plain = format!("postgres://app@{host}/bench");

    let with_password = format!("postgres://app:S3CRET%3A%20of%5Cours@{host}/bench");
    let mut client = open(&with_password, &[("PGPASSWORD", "wrong")]).unwrap();
    assert_eq!(shown(&mut client, "SELECT current_user || ' ' || current_database()"), "app bench");
    assert_eq!(shown(&mut client, "SHOW application_name"), "slob");
    let shown_connector = format!("{:?}", connector(&with_password, &[]).unwrap());
    assert!(!shown_connector.contains("S3CRET") && shown_connector.contains(&host), "{shown_connector}");

    open(&plain, &[("PGPASSWORD", PASSWORD), ("PGAPPNAME", "other")]).unwrap();
    let bare = [("PGHOST", "127.0.0.1"), ("PGPORT", &cluster.port().to_string()), ("PGUSER", "app")];
    let all = [&bare[..], &[("PGDATABASE", "bench"), ("PGPASSWORD", PASSWORD)]].concat();
    open("postgres://", &all).unwrap();

    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".pgpass");
    let line = format!("{host}:bench:app:S3CRET\\: of\\\\ours\n");
    write(&file, &line, 0o600);
    open(&plain, &[("HOME", text(home.path()))]).unwrap();
    open(&format!("{plain}?passfile={}", file.display()), &[]).unwrap();
    write(&file, &line, 0o640);
    for variables in [[("HOME", text(home.path()))], [("PGPASSFILE", text(&file))]] {
        assert_says(&refused(&plain, &variables), ErrorKind::Privilege, &["chmod 0600", "mode 0640"]);
    }

    let error = refused(&format!("postgres://app:WR0NG@{host}/bench"), &[]);
    let role = "CREATE ROLE \"app\" LOGIN PASSWORD '...', then CREATE DATABASE \"bench\" OWNER \"app\"";
    assert_says(&error, ErrorKind::Privilege, &["SQLSTATE 28P01", &host, "PGPASSWORD", role]);
    assert!(!error.to_string().contains("WR0NG"), "{error}");
    assert_says(&refused(&plain, &[]), ErrorKind::Privilege, &[".pgpass", role]);
}

#[test]
fn sessions_go_round_robin_and_sockets_and_services_are_found() {
    let (Some(first), Some(second)) =
        (Cluster::start_or_skip(Version::V15, &[]), Cluster::start_or_skip(Version::V15, &[]))
    else {
        return;
    };
    let hosts = format!("127.0.0.1:{},localhost:{}", first.port(), second.port());
    let both = connector(&format!("postgres://postgres@{hosts}/postgres"), &[]).unwrap();
    assert_eq!((both.endpoints(), both.host(0).is_some(), both.host(1).is_some()), (2, true, true));
    for session in 0..4 {
        let port = if session % 2 == 0 { first.port() } else { second.port() };
        assert_eq!(shown(&mut both.connect(session).unwrap(), "SHOW port"), port.to_string());
        assert!(both.endpoint(session).to_string().ends_with(&format!(":{port}")));
    }
    assert_eq!(shown(&mut both.connect(0).unwrap(), "SHOW port"), first.port().to_string());

    let unix = connector(&first.unix_target(), &[]).unwrap();
    let mut client = unix.connect(0).unwrap();
    assert_eq!(shown(&mut client, "SELECT coalesce(inet_client_addr()::text, 'socket')"), "socket");
    assert!(unix.host(0).is_none() && unix.endpoint(0).to_string().starts_with('/'), "{unix:?}");

    let folder = tempfile::tempdir().unwrap();
    let services = folder.path().join("services");
    let port = second.port();
    write(
        &services,
        &format!("[bench]\nhost=127.0.0.1\nport={port}\nuser=postgres\napplication_name=x\n"),
        0o644,
    );
    let service_file = ("PGSERVICEFILE", text(&services));
    let mut client = open("postgres:///postgres?service=bench", &[service_file]).unwrap();
    assert_eq!(shown(&mut client, "SHOW port"), port.to_string());
    let mut client = open("postgres://", &[service_file, ("PGSERVICE", "bench")]).unwrap();
    assert_eq!(shown(&mut client, "SHOW application_name"), "slob");
    let error = refused("postgres:///postgres?service=other", &[service_file]);
    assert_says(&error, ErrorKind::Usage, &[text(&services)]);
}

/// 0.0.0.0 leads to this machine without being known for it. Returns the authority's folder.
fn certificates(cluster: &Cluster) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let openssl = |arguments: &str| openssl(folder.path(), arguments);
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for authority in ["ca", "other"] {
        openssl(&format!(
            "req -x509 {key} -keyout {authority}.key -out {authority}.crt -days 2 -subj /CN={authority}"
        ));
    }
    openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"));
    fs::write(folder.path().join("names"), "subjectAltName=DNS:localhost,IP:0.0.0.0\n").unwrap();
    openssl(
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt",
    );
    for name in ["server.crt", "server.key"] {
        cluster.write(name, &fs::read_to_string(folder.path().join(name)).unwrap(), 0o600).unwrap();
    }
    folder
}

#[test]
fn certificates_are_checked_as_far_as_the_mode_says() {
    let access = ["hostssl all all 127.0.0.1/32 trust"];
    let Some(mut cluster) = Cluster::start_with_or_skip(Version::V15, &[], &access) else { return };
    let target =
        |host: &str, query: &str| format!("postgres://postgres@{host}:{}/postgres?{query}", cluster.port());
    let error = refused(&target("127.0.0.1", "sslmode=require"), &[]);
    assert!(error.to_string().contains("does not support TLS"), "{error}");
    let error = refused(&target("0.0.0.0", ""), &[]).to_string();
    assert!(error.contains("does not support TLS") && error.contains("?sslmode=prefer"), "{error}");

    let folder = certificates(&cluster);
    cluster.configure(&[("ssl", "on")]).unwrap();
    let port = cluster.port();
    cluster.restart();
    assert_eq!(cluster.port(), port);
    let target = |host: &str, query: &str| format!("postgres://postgres@{host}:{port}/postgres?{query}");
    let roots = format!("sslrootcert={}", folder.path().join("ca.crt").display());
    let wrong_roots = format!("sslrootcert={}", folder.path().join("other.crt").display());
    for (host, query, good) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), false),
        ("127.0.0.1", "sslmode=prefer".to_owned(), true),
        ("127.0.0.1", "sslmode=require".to_owned(), true),
        ("127.0.0.1", format!("sslmode=require&{roots}"), true),
        ("127.0.0.1", format!("sslmode=require&{wrong_roots}"), false),
        ("127.0.0.1", format!("sslmode=verify-ca&{roots}"), true),
        ("127.0.0.1", format!("sslmode=verify-ca&{wrong_roots}"), false),
        ("localhost", format!("sslmode=verify-full&{roots}"), true),
        ("127.0.0.1", format!("sslmode=verify-full&{roots}"), false),
        ("localhost", format!("sslmode=verify-full&{wrong_roots}"), false),
        ("localhost", "sslmode=verify-full&sslrootcert=system".to_owned(), false),
        ("localhost", roots.clone(), true),
        ("127.0.0.1", roots.clone(), false),
        ("127.0.0.1", String::new(), true),
        ("0.0.0.0", String::new(), false),
        ("0.0.0.0", wrong_roots, false),
        ("0.0.0.0", roots.clone(), true),
        ("0.0.0.0", "sslmode=require".to_owned(), true),
    ] {
        match open(&target(host, &query), &[]) {
            Ok(mut client) => {
                assert!(good, "{host} {query}");
                let tls = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
                assert_eq!(shown(&mut client, tls), "true", "{host} {query}");
            }
            Err(error) => {
                let said = error.to_string();
                assert!(!good, "{host} {query}: {said}");
                assert!(query.ends_with("disable") || said.contains("certificate"), "{host} {query}: {said}");
            }
        }
    }
    let unchecked = refused(&target("0.0.0.0", ""), &[]).to_string();
    assert!(unchecked.contains("?sslmode=require"), "{unchecked}");
    let through_socket = format!("{}?sslmode=verify-full&{roots}", cluster.unix_target());
    open(&through_socket, &[]).unwrap();
    for encrypted in [target("localhost", &roots), through_socket] {
        cancels(&connector(&encrypted, &[]).unwrap());
    }
}

fn cancels(connector: &Connector) {
    let mut client = connector.connect(0).unwrap();
    let token = client.cancel_token();
    let ended = thread::scope(|scope| {
        let work = scope.spawn(move || client.batch_execute("SELECT pg_sleep(600)"));
        // A request before the statement is without effect.
        while !work.is_finished() {
            connector.cancel(&token, 0).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        work.join().unwrap()
    });
    assert_eq!(ended.unwrap_err().code().map(|code| code.code().to_owned()).as_deref(), Some("57014"));
}

#[test]
fn refusals_say_where_why_and_what_to_do() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[("max_connections", "5")]) else { return };
    let host = format!("127.0.0.1:{}", cluster.port());
    let error = refused(&format!("postgres://postgres@{host}/nowhere"), &[]);
    assert_says(&error, ErrorKind::Usage, &["SQLSTATE 3D000", "nowhere", "CREATE DATABASE"]);
    let error = refused(&format!("postgres://nobody@{host}/postgres"), &[]);
    assert_says(&error, ErrorKind::Privilege, &["SQLSTATE 28000"]);

    // Refused clients may still hold a connection for a moment.
    let mut open_ones = Vec::new();
    let error = loop {
        match open(&cluster.target(), &[]) {
            Ok(client) => open_ones.push(client),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), Some("SQLSTATE 53300"), "{error}");
    drop(open_ones);

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = refused(&format!("postgres://postgres@{free}/postgres"), &[]);
    assert_says(&error, ErrorKind::Connection, &[&free.to_string(), "listen_addresses"]);
    let error = refused("postgres://postgres@%2Fnonexistent:1/postgres", &[]);
    assert_says(&error, ErrorKind::Connection, &["no such socket"]);
    let error = refused("postgres://u@no-such-host.invalid/d", &[]);
    assert_says(&error, ErrorKind::Connection, &["no-such-host"]);
}

#[test]
fn unusable_targets_are_refused_before_connecting() {
    for (target, variables, word) in [
        ("postgres://u@h/d?sslmod=require", [("", "")], "'sslmod'"),
        ("postgres://u@h/d?sslmode=allow", [("", "")], "sslmode=allow"),
        ("postgres://u@h/d?sslcert=x", [("", "")], "sslcert"),
        ("postgres://u@h/d?sslmode=verify-full&sslrootcert=/nonexistent", [("", "")], "/nonexistent"),
        ("postgres://u@h/d?connect_timeout=soon", [("", "")], "connect_timeout=soon"),
        ("postgres://u@h/d", [("PGPORT", "five")], "'five'"),
        ("postgres://u@h1,h2/d", [("PGPORT", "1,2,3")], "3 ports for 2 hosts"),
    ] {
        assert_says(&connector(target, &variables).expect_err(target), ErrorKind::Usage, &[word]);
    }
}

/// The server would keep a lost client's session, and its locks, for hours.
#[test]
fn a_server_notices_clients_that_are_gone() {
    for version in [Version::V15, Version::V18] {
        let Some(cluster) = Cluster::start_or_skip(version, &[]) else { continue };
        for settings in [include_str!("../../sql/session.sql"), include_str!("../../sql/loading.sql")] {
            let mut client = open(&cluster.target(), &[]).unwrap();
            client.batch_execute(settings).unwrap();
            assert_eq!(shown(&mut client, "SHOW tcp_keepalives_idle"), "10");
            assert_eq!(shown(&mut client, "SHOW tcp_keepalives_count"), "4");
            assert_eq!(shown(&mut client, "SHOW tcp_user_timeout"), "30000");
            // Through a unix socket they mean nothing, and do no harm.
            open(&cluster.unix_target(), &[]).unwrap().batch_execute(settings).unwrap();
        }
    }
}
