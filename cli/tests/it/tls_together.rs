//! Several libraries in one process have own providers of cryptography. Whichever engine connects first, all of them can encrypt.

use std::path::Path;

use slob_testing::jobs::TestServer as _;
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::{openssl, work};

fn certificate(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 \
                     -subj /CN=server";
    openssl(folder, arguments);
    for (path, mode) in [(folder.join("key.pem"), 0o644), (folder.to_path_buf(), 0o755)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn open(kind: &slob_engine::EngineKind, target: &str) -> Result<String, String> {
    let engine = work::open(kind, target, &[]).map_err(|error| error.to_string())?;
    Ok(engine.server().map_err(|error| error.to_string())?.product)
}

#[test]
fn three_engines_encrypt_in_one_process() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let settings = [format!("ssl-cert={}", file("cert.pem")), format!("ssl-key={}", file("key.pem"))];
    let Some(mariadb) = MariaDb::start_or_skip(&[&settings[0], &settings[1]]) else { return };
    let access = ["hostssl all all 127.0.0.1/32 trust"];
    let Some(mut cluster) = Cluster::start_with_or_skip(Version::V15, &[], &access) else { return };
    for (name, of) in [("server.crt", "cert.pem"), ("server.key", "key.pem")] {
        cluster.write(name, &std::fs::read_to_string(file(of)).unwrap(), 0o600).unwrap();
    }
    cluster.configure(&[("ssl", "on")]).unwrap();
    cluster.restart();
    let postgres = format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=require", cluster.port());
    let mysql = format!("{}&ssl-mode=required", mariadb.plain_target());
    // The thin driver takes the process's provider too, and refuses politely where nothing listens.
    let thin = "oracle://u:p@//127.0.0.1:1/s?driver=thin";
    for _ in 0..2 {
        assert_eq!(open(&slob_engine_mysql::KIND, &mysql).unwrap(), "MariaDB");
        let told = open(&slob_engine_oracle::KIND, thin).unwrap_err();
        assert!(told.contains("connection refused"), "{told}");
        assert_eq!(open(&slob_engine_postgres::KIND, &postgres).unwrap(), "PostgreSQL");
    }
}
