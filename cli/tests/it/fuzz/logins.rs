//! Files that a connection reads: passwords, options, authorities. Nothing listens at the address, so that each ends there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use slob_engine::{EngineKind, OpenSpec, Purpose};
use slob_spec::EngineOptions;

use super::damage;
use super::each;

const MARK: &str = "hunter2";
const MY_CNF: &str = "[mysqld]\nport=1\n[client]\n# user=x\nuser = joe # her too\npassword=\"hunter2 #\\s\"\nconnect_timeout=1\n!include /x\n\
                      [client-mariadb]\nssl-mode=disabled\nsocket=/nowhere\n";
const PGPASS: &str =
    "# passwords\n127.0.0.1:1:d:u:hunter2\n*:*:*:*:hunter2\\:\\\\x\nlocalhost:5432:a\\:b:u:hunter2\n";
const PEM: &str = "-----BEGIN CERTIFICATE-----\nMIIBdTCCARugAwIBAgIUQk8Vd3pXTjQ0cUtTZ2l1Y3p0a0kwCgYIKoZIzj0EAwIw\n\
                   EDEOMAwGA1UEAwwFb3RoZXIwHhcNMjYxMTIxMDAwMDAwWhcNMjYxMTIzMDAwMDAw\n-----END CERTIFICATE-----\n";
const WORDS: &str = "[~]~[client]\n~\\~\"~'~=~:~*~#~\n~-----BEGIN ~-----END ~!include ";

/// Engine, target with FILE in place of the file's name, and a good file.
const READERS: [(&EngineKind, &str, &str); 3] = [
    (&slob_engine_mysql::KIND, "mysql://127.0.0.1:1/?defaults-file=FILE", MY_CNF),
    (&slob_engine_postgres::KIND, "postgres://u@127.0.0.1:1/d?passfile=FILE", PGPASS),
    (&slob_engine_postgres::KIND, "postgres://u@127.0.0.1:1/d?sslmode=verify-full&sslrootcert=FILE", PEM),
];

#[test]
fn damaged_files_of_logins_do_no_harm() {
    let words: Vec<&str> = WORDS.split('~').collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    each("files of passwords, options and authorities", 1_000, 16, |random| {
        let (engine, target, good) = READERS[random.index(READERS.len())];
        fs::write(&path, damage::bytes(good.as_bytes(), &words, random)).unwrap();
        let target = target.replace("FILE", &path.display().to_string()).parse().unwrap();
        let options = EngineOptions::default();
        let opened = (engine.open)(&OpenSpec::new(target, Purpose::Use, options.of(engine.scheme)));
        let said = opened.err().unwrap().to_string();
        assert!(!said.is_empty());
        // In an option file a damaged line may make the password part of another option, which may be named.
        assert!(good != PGPASS || !said.contains(MARK), "{said}");
    });
}
