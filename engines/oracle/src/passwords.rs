//! Passwords of the schemas' accounts, in a file that only its owner may read.
//!
//! A line holds service, account and password, separated by tabs. Changes replace the whole file, under a lock beside it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use slob_engine::{EngineError, ErrorKind, Result};
use slob_spec::Secret;

use crate::options::PORT;

/// A file in the home folder.
const DEFAULT: &str = ".slob-oracle";
/// ora12c_strong_verify_function demands two capitals, small letters, digits and other characters.
const RANDOM: &str = "SL01ob__";

pub(crate) struct Passwords {
    path: PathBuf,
    service: String,
}

pub(crate) struct NewPassword {
    pub(crate) password: Secret,
    /// An earlier load may have created the account with it.
    pub(crate) is_known: bool,
}

type Lines = BTreeMap<(String, String), Secret>;

impl Passwords {
    /// Does not read the file yet.
    pub(crate) fn new(path: Option<PathBuf>, service: &str) -> Result<Self> {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(DEFAULT));
        let path = path.or_else(home).ok_or_else(|| {
            EngineError::new(ErrorKind::Usage, "looking for the password file", "HOME is not set")
                .with_advice("name a file with ORACLE_PASSWORD_FILE")
        })?;
        Ok(Self::in_file(path, service, |name| std::env::var(name).ok()))
    }

    fn in_file(path: PathBuf, service: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        let service = if service.is_empty() { local_service(variable) } else { canonical(service) };
        Self { path, service }
    }

    pub(crate) fn get(&self, user: &str) -> Result<Secret> {
        self.find(user)?.ok_or_else(|| {
            let message = format!("it has no line for '{}' and {user}", self.service);
            EngineError::new(ErrorKind::Usage, self.step(), message).with_advice(
                "a line is: service, tab, account, tab, password; `slob setup` wrote it where it ran: copy the file, or \
                 remove the schemas with `slob drop` and load them again",
            )
        })
    }

    pub(crate) fn find(&self, user: &str) -> Result<Option<Secret>> {
        Ok(self.read()?.remove(&self.key(user)))
    }

    /// True if a load made the password up.
    pub(crate) fn is_random(&self, user: &str) -> Result<bool> {
        Ok(self.find(user)?.is_some_and(|password| password.expose().starts_with(RANDOM)))
    }

    /// Keeps an existing password, since the account may exist.
    pub(crate) fn create(&self, user: &str) -> Result<NewPassword> {
        self.change(|lines| {
            if let Some(password) = lines.get(&self.key(user)) {
                return Ok(NewPassword { password: password.clone(), is_known: true });
            }
            let password = random()?;
            lines.insert(self.key(user), password.clone());
            Ok(NewPassword { password, is_known: false })
        })
    }

    pub(crate) fn remove(&self, user: &str) -> Result<()> {
        self.change(|lines| {
            lines.remove(&self.key(user));
            Ok(())
        })
    }

    fn key(&self, user: &str) -> (String, String) {
        (self.service.clone(), user.to_owned())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Lines) -> std::io::Result<T>) -> Result<T> {
        let fail = |error| self.failed(&error);
        let _lock = self.lock().map_err(fail)?;
        let mut lines = self.read()?;
        let before = lines.clone();
        let result = change(&mut lines).map_err(fail)?;
        if lines != before {
            self.write(&lines).map_err(fail)?;
        }
        Ok(result)
    }

    /// The file itself is replaced, so it can't be the lock.
    fn lock(&self) -> std::io::Result<File> {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn read(&self) -> Result<Lines> {
        let fail = |error| self.failed(&error);
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lines::new()),
            opened => opened.map_err(fail)?,
        };
        if file.metadata().map_err(fail)?.mode() & 0o077 != 0 {
            return Err(EngineError::new(ErrorKind::Usage, self.step(), "others may read it")
                .with_advice(format!("chmod 600 {}", self.path.display())));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        let line = |line: &str| {
            let mut columns = line.splitn(3, '\t');
            let (service, user) = (canonical(columns.next()?), columns.next()?.to_ascii_uppercase());
            Some(((service, user), Secret::new(columns.next()?)))
        };
        Ok(text.lines().filter_map(line).collect())
    }

    fn write(&self, lines: &Lines) -> std::io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Only its owner may read a temporary file.
        let mut file =
            tempfile::Builder::new().prefix(DEFAULT).tempfile_in(folder.unwrap_or(Path::new(".")))?;
        for ((service, user), password) in lines {
            writeln!(file, "{service}\t{user}\t{}", password.expose())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn step(&self) -> String {
        format!("the password file {}", self.path.display())
    }

    fn failed(&self, error: &std::io::Error) -> EngineError {
        EngineError::new(ErrorKind::Usage, self.step(), error.to_string())
            .with_advice("name a file in a folder of yours with ORACLE_PASSWORD_FILE")
    }
}

/// Has no slashes, and a port.
fn canonical(service: &str) -> String {
    let plain = service.strip_prefix("//").unwrap_or(service);
    match plain.split_once('/') {
        Some((host, name)) if !host.contains(':') => format!("{host}:{PORT}/{name}"),
        _ => plain.to_owned(),
    }
}

/// The client library takes TWO_TASK, else ORACLE_SID and its pluggable database ORACLE_PDB_SID.
fn local_service(variable: impl Fn(&str) -> Option<String>) -> String {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(service) = variable("TWO_TASK") {
        return canonical(&service);
    }
    match (variable("ORACLE_SID"), variable("ORACLE_PDB_SID")) {
        (Some(instance), Some(pluggable)) => format!("local:{instance}/{pluggable}"),
        (Some(instance), None) => format!("local:{instance}"),
        (None, _) => String::new(),
    }
}

/// Usual rules accept 30 characters, 22 of them random; old releases allow no more.
fn random() -> std::io::Result<Secret> {
    let mut bytes = [0_u8; 11];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(format!("{RANDOM}{digits}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Each load has its own connection to the file, as two programs have.
    #[test]
    fn two_loads_at_once_do_not_overwrite_each_others_passwords() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let made: Vec<(String, Secret)> = std::thread::scope(|scope| {
            let load = |service: &'static str| {
                let passwords = Passwords::new(Some(path.clone()), service).unwrap();
                scope.spawn(move || {
                    let one = |number| {
                        let user = format!("SLOB{number}");
                        let password = passwords.create(&user).unwrap().password;
                        (format!("{service}\t{user}"), password)
                    };
                    (1..=32).map(one).collect::<Vec<_>>()
                })
            };
            let loads = [load("a"), load("b"), load("c")];
            loads.into_iter().flat_map(|load| load.join().unwrap()).collect()
        });
        assert_eq!(made.len(), 96);
        for (line, password) in made {
            let (service, user) = line.split_once('\t').unwrap();
            let kept = Passwords::new(Some(path.clone()), service).unwrap().get(user).unwrap();
            assert_eq!(kept, password, "{line}");
        }
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "the file and its lock: {names:?}");
    }

    fn of_environment(path: &Path, variables: &'static [(&str, &str)]) -> Passwords {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Passwords::in_file(path.to_owned(), "", value)
    }

    #[test]
    fn local_instances_keep_their_passwords_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let first = of_environment(&path, &[("ORACLE_SID", "ONE")]);
        let second = of_environment(&path, &[("ORACLE_SID", "TWO"), ("TWO_TASK", "")]);
        let pluggable = of_environment(&path, &[("ORACLE_SID", "ONE"), ("ORACLE_PDB_SID", "PDB1")]);
        let made = [&first, &second, &pluggable].map(|passwords| passwords.create("SLOB1").unwrap().password);
        assert!(made[0] != made[1] && made[0] != made[2]);
        first.remove("SLOB1").unwrap();
        assert_eq!(first.find("SLOB1").unwrap(), None);
        assert_eq!(second.get("SLOB1").unwrap(), made[1], "the other instance's line is not touched");
        // The client library connects to what TWO_TASK names, whatever ORACLE_SID says.
        let remote = of_environment(&path, &[("ORACLE_SID", "ONE"), ("TWO_TASK", "//db1/pdb1")]);
        let by_name = Passwords::new(Some(path), "db1:1521/pdb1").unwrap();
        assert_eq!(remote.create("SLOB1").unwrap().password, by_name.get("SLOB1").unwrap());
    }

    #[test]
    fn passwords_are_kept_apart_and_to_the_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let passwords = |service: &str| Passwords::new(Some(path.clone()), service).unwrap();
        let made = passwords("a").create("SLOB1").unwrap();
        assert!(!made.is_known);
        let (first, again) = (made.password, passwords("a").create("SLOB1").unwrap());
        assert!(again.is_known && again.password == first, "an account that exists keeps its password");
        assert_ne!(passwords("b").create("SLOB1").unwrap().password, first);
        assert_eq!(passwords("a").get("SLOB1").unwrap(), first);
        assert_eq!(first.expose().len(), 30);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        passwords("a").remove("SLOB1").unwrap();
        let error = passwords("a").get("SLOB1").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(passwords("b").get("SLOB1").is_ok());
    }

    #[test]
    fn a_password_meets_the_strongest_rules_that_the_server_ships_and_is_known_as_random() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let passwords = Passwords::new(Some(path.clone()), "a").unwrap();
        let made = passwords.create("SLOB1").unwrap().password;
        let count = |is: fn(&char) -> bool| made.expose().chars().filter(is).count();
        assert!(count(char::is_ascii_uppercase) >= 2 && count(char::is_ascii_lowercase) >= 2);
        assert!(count(char::is_ascii_digit) >= 2 && count(|c| *c == '_') >= 2);
        assert!(made.expose().len() <= 30 && passwords.is_random("SLOB1").unwrap());
        fs::write(&path, "a\tSLOB3\ttiger\n").unwrap();
        assert!(!passwords.is_random("SLOB3").unwrap());
    }

    #[test]
    fn a_service_is_the_same_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let passwords =
            |service: &str| Passwords::new(Some(folder.path().join("passwords")), service).unwrap();
        let made = passwords("//db1/pdb1").create("SLOB1").unwrap().password;
        for same in ["//db1:1521/pdb1", "db1/pdb1", "db1:1521/pdb1"] {
            assert_eq!(passwords(same).get("SLOB1").unwrap(), made, "{same}");
        }
        for other in ["//db1:1522/pdb1", "pdb1", "//db1/pdb2"] {
            assert!(passwords(other).get("SLOB1").is_err(), "{other}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        fs::write(&path, "a\tSLOB1\tS3CRET\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Passwords::new(Some(path), "a").unwrap().get("SLOB1").err().unwrap().to_string();
        assert!(error.contains("chmod 600") && !error.contains("S3CRET"), "{error}");
    }
}
