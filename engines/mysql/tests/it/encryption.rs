//! Encryption and passwords on a real server: defaults, and errors of failed checks.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use slob_engine::ErrorKind;
use slob_testing::jobs::TestServer as _;
use slob_testing::mariadb::MariaDb;
use slob_testing::openssl;

use crate::loaded::open;

/// The certificate is for 0.0.0.0, which leads to this machine without being known for it. The server's account reads the files.
fn certificates(folder: &Path) {
    let openssl = |arguments: &str| openssl(folder, arguments);
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
    openssl(&format!("req {key} -keyout key.pem -out request.pem -subj /CN=server"));
    fs::write(folder.join("names"), "subjectAltName=IP:0.0.0.0\n").unwrap();
    openssl(
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out cert.pem",
    );
    for (path, mode) in [(folder.join("key.pem"), 0o644), (folder.to_path_buf(), 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn refused(target: &str) -> String {
    let error = open(target, &[]).err().unwrap_or_else(|| panic!("{target} was let in"));
    assert_eq!(error.kind(), ErrorKind::Connection, "{target}: {error}");
    error.to_string()
}

#[test]
fn a_remote_server_must_have_a_trusted_certificate() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let settings = [format!("ssl-cert={}", file("cert.pem")), format!("ssl-key={}", file("key.pem"))];
    let Some(server) = MariaDb::start_or_skip(&[&settings[0], &settings[1]]) else { return };
    let (local, authority) = (server.plain_target(), format!("&ssl-ca={}", file("ca.pem")));
    let remote = local.replace("127.0.0.1", "0.0.0.0");
    assert_ne!(local, remote);
    open(&local, &[]).expect("on this machine nothing is asked");
    let unknown = refused(&remote);
    assert!(unknown.contains("certificate") && unknown.contains("?ssl-mode=required"), "{unknown}");
    refused(&format!("{remote}&ssl-mode=verify_ca"));
    // The name in the certificate is not this one.
    refused(&format!("{local}{authority}"));
    for trusted in ["", "&ssl-mode=verify_ca", "&ssl-mode=verify_identity"] {
        open(&format!("{remote}{authority}{trusted}"), &[]).expect("it is the one that is trusted");
    }
    for unchecked in ["required", "preferred", "disabled"] {
        open(&format!("{remote}&ssl-mode={unchecked}"), &[]).expect("it was asked for");
    }
}

#[test]
fn without_encryption_a_server_elsewhere_is_refused_and_a_visible_password_is_not_used() {
    let Some(server) = MariaDb::start_or_skip(&["skip-ssl"]) else { return };
    let remote = server.plain_target().replace("127.0.0.1", "0.0.0.0");
    let plain = refused(&remote);
    assert!(plain.contains("does not offer TLS") && plain.contains("?ssl-mode=preferred"), "{plain}");
    open(&format!("{remote}&ssl-mode=preferred"), &[]).expect("it was asked for");

    server.sql("CREATE USER locked@'%' IDENTIFIED BY 'S3CRET'");
    server.sql("GRANT ALL ON `slob%`.* TO locked@'%'");
    server.sql("GRANT SELECT ON mysql.innodb_index_stats TO locked@'%'");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.cnf");
    fs::write(&file, "[client]\npassword=S3CRET\n").unwrap();
    let target = server.target("locked").replace("/dev/null", &file.display().to_string());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    open(&target, &[]).expect("the password is in the file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = open(&target, &[]).err().expect("others can read the file");
    let said = error.to_string();
    assert!(
        error.kind() == ErrorKind::Privilege && said.contains("chmod 0600") && !said.contains("S3CRET"),
        "{said}"
    );
}
