//! The passwords of the schemas' accounts, in a file that only its owner may read.
//!
//! One line each: the service, a tab, the account, a tab, the password. The file is replaced as a whole, so that a program
//! that is killed leaves the old one or the new one; whoever changes it holds a lock beside it from reading to replacing, so
//! that two programs keep each other's lines.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use slob_engine::{EngineError, ErrorKind};
use slob_spec::Secret;

use crate::access::PORT;

/// Its name in the home folder.
const DEFAULT: &str = ".slob-oracle";
/// How passwords that are made here begin: two each of the capitals, small letters, digits and other characters that
/// ora12c_strong_verify_function asks for.
const OURS: &str = "SL01ob__";
/// How those did that were made before.
const OURS_ONCE: &str = "Sl0b__";
/// Where no service is named lines stood once, whichever instance the environment named. They are read still.
const ANY_LOCAL: &str = "";

/// The passwords of one target.
pub(crate) struct Passwords {
    path: PathBuf,
    service: String,
    /// Whether the instance is that of the environment.
    is_local: bool,
}

/// A password for an account that is to be made.
pub(crate) struct Made {
    pub(crate) password: Secret,
    /// Whether it was there before: an earlier load, or another one, may have made the account with it.
    pub(crate) known: bool,
}

type Lines = BTreeMap<(String, String), Secret>;

impl Passwords {
    /// Those of the accounts behind a service. Nothing is read yet.
    ///
    /// # Errors
    /// If there is neither a path nor a home folder.
    pub(crate) fn new(path: Option<PathBuf>, service: &str) -> Result<Self, EngineError> {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(DEFAULT));
        let path = path.or_else(home).ok_or_else(|| {
            EngineError::new(ErrorKind::Usage, "looking for the password file", "HOME is not set")
                .with_advice("name a file with ORACLE_PASSWORD_FILE")
        })?;
        Ok(Self::in_file(path, service, |name| std::env::var(name).ok()))
    }

    fn in_file(path: PathBuf, service: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_local = service.is_empty();
        let service = if is_local { local(variable) } else { place(service) };
        Self { path, service, is_local }
    }

    /// The password of an account.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is none, or others may read the file.
    pub(crate) fn get(&self, user: &str) -> Result<Secret, EngineError> {
        self.find(user)?.ok_or_else(|| {
            let message = format!("it has no line for '{}' and {user}", self.service);
            EngineError::new(ErrorKind::Usage, self.step(), message).with_advice(
                "a line is: service, tab, account, tab, password; `slob setup` wrote it where it ran: copy the file, or \
                 remove the schemas with `slob drop` and load them again",
            )
        })
    }

    /// The password of an account, if there is one.
    ///
    /// # Errors
    /// If the file can't be read, or others may read it too.
    pub(crate) fn find(&self, user: &str) -> Result<Option<Secret>, EngineError> {
        Ok(self.among(&self.read()?, user))
    }

    /// Whether the password of an account was made here.
    ///
    /// # Errors
    /// If the file can't be read, or others may read it too.
    pub(crate) fn is_of_our_making(&self, user: &str) -> Result<bool, EngineError> {
        let ours = |text: &str| text.starts_with(OURS) || text.starts_with(OURS_ONCE);
        Ok(self.find(user)?.is_some_and(|password| ours(password.expose())))
    }

    /// Makes a password for an account and keeps it. One that is there already is kept: the account may exist.
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn make(&self, user: &str) -> Result<Made, EngineError> {
        self.change(|lines| {
            if let Some(password) = self.among(lines, user) {
                return Ok(Made { password, known: true });
            }
            let password = fresh()?;
            lines.insert(self.key(user), password.clone());
            Ok(Made { password, known: false })
        })
    }

    /// Forgets an account that is gone.
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn forget(&self, user: &str) -> Result<(), EngineError> {
        self.change(|lines| {
            lines.remove(&self.key(user));
            Ok(())
        })
    }

    fn key(&self, user: &str) -> (String, String) {
        (self.service.clone(), user.to_owned())
    }

    fn among(&self, lines: &Lines, user: &str) -> Option<Secret> {
        let any_local =
            || self.is_local.then(|| lines.get(&(ANY_LOCAL.to_owned(), user.to_owned()))).flatten();
        lines.get(&self.key(user)).or_else(any_local).cloned()
    }

    /// Changes what is there now, while nobody else does.
    fn change<T>(&self, change: impl FnOnce(&mut Lines) -> std::io::Result<T>) -> Result<T, EngineError> {
        let fail = |error| self.failed(&error);
        let _lock = self.locked().map_err(fail)?;
        let mut lines = self.read()?;
        let before = lines.clone();
        let result = change(&mut lines).map_err(fail)?;
        if lines != before {
            self.write(&lines).map_err(fail)?;
        }
        Ok(result)
    }

    /// The lock that whoever changes the file holds: beside it, because the file itself is replaced.
    fn locked(&self) -> std::io::Result<File> {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn read(&self) -> Result<Lines, EngineError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lines::new()),
            Err(error) => return Err(self.failed(&error)),
        };
        let mode = file.metadata().map_err(|error| self.failed(&error))?.mode();
        if mode & 0o077 != 0 {
            let message = "others may read it";
            return Err(EngineError::new(ErrorKind::Usage, self.step(), message)
                .with_advice(format!("chmod 600 {}", self.path.display())));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| self.failed(&error))?;
        let line = |line: &str| {
            let mut parts = line.splitn(3, '\t').map(str::to_owned);
            Some(((place(&parts.next()?), parts.next()?.to_ascii_uppercase()), Secret::new(parts.next()?)))
        };
        Ok(text.lines().filter_map(line).collect())
    }

    fn write(&self, lines: &Lines) -> std::io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // A name of its own, and to be read by its owner only.
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

/// A service in one of the forms that it may be written in: without slashes before it, and with its port.
fn place(service: &str) -> String {
    let plain = service.strip_prefix("//").unwrap_or(service);
    match plain.split_once('/') {
        Some((host, name)) if !host.contains(':') => format!("{host}:{PORT}/{name}"),
        _ => plain.to_owned(),
    }
}

/// What stands for a service where none is named: as the client library does it, the one that TWO_TASK names, or else the
/// instance of ORACLE_SID, and in it the pluggable database of ORACLE_PDB_SID.
fn local(variable: impl Fn(&str) -> Option<String>) -> String {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(service) = variable("TWO_TASK") {
        return place(&service);
    }
    match (variable("ORACLE_SID"), variable("ORACLE_PDB_SID")) {
        (Some(instance), Some(pluggable)) => format!("local:{instance}/{pluggable}"),
        (Some(instance), None) => format!("local:{instance}"),
        (None, _) => ANY_LOCAL.to_owned(),
    }
}

/// 30 characters of which 22 are random: what the usual rules for passwords ask for, and no more than old releases take.
fn fresh() -> std::io::Result<Secret> {
    let mut bytes = [0_u8; 11];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(format!("{OURS}{digits}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Two loads that begin at the same moment, each with its own connection to the file, as two programs have.
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
                        let password = passwords.make(&user).unwrap().password;
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
        let made = [&first, &second, &pluggable].map(|passwords| passwords.make("SLOB1").unwrap().password);
        assert!(made[0] != made[1] && made[0] != made[2]);
        first.forget("SLOB1").unwrap();
        assert_eq!(first.find("SLOB1").unwrap(), None);
        assert_eq!(second.get("SLOB1").unwrap(), made[1], "the other instance's line is not touched");
        // The client library connects to what TWO_TASK names, whatever ORACLE_SID says.
        let remote = of_environment(&path, &[("ORACLE_SID", "ONE"), ("TWO_TASK", "//db1/pdb1")]);
        let by_name = Passwords::new(Some(path), "db1:1521/pdb1").unwrap();
        assert_eq!(remote.make("SLOB1").unwrap().password, by_name.get("SLOB1").unwrap());
    }

    #[test]
    fn lines_without_an_instance_are_read_still() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let old = of_environment(&path, &[]).make("SLOB1").unwrap().password;
        let passwords = of_environment(&path, &[("ORACLE_SID", "ONE")]);
        let again = passwords.make("SLOB1").unwrap();
        assert!(again.known && again.password == old && passwords.get("SLOB1").unwrap() == old);
        let elsewhere = Passwords::new(Some(path), "a").unwrap();
        assert_eq!(elsewhere.find("SLOB1").unwrap(), None, "they are those of local instances");
    }

    #[test]
    fn passwords_are_kept_apart_and_to_the_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let passwords = |service: &str| Passwords::new(Some(path.clone()), service).unwrap();
        let made = passwords("a").make("SLOB1").unwrap();
        assert!(!made.known);
        let (first, again) = (made.password, passwords("a").make("SLOB1").unwrap());
        assert!(again.known && again.password == first, "an account that exists keeps its password");
        assert_ne!(passwords("b").make("SLOB1").unwrap().password, first);
        assert_eq!(passwords("a").get("SLOB1").unwrap(), first);
        assert_eq!(first.expose().len(), 30);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        passwords("a").forget("SLOB1").unwrap();
        let error = passwords("a").get("SLOB1").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(passwords("b").get("SLOB1").is_ok());
    }

    #[test]
    fn a_password_meets_the_strongest_rules_that_the_server_ships_and_old_ones_are_known_still() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let passwords = Passwords::new(Some(path.clone()), "a").unwrap();
        let made = passwords.make("SLOB1").unwrap().password;
        let count = |is: fn(&char) -> bool| made.expose().chars().filter(is).count();
        assert!(count(char::is_ascii_uppercase) >= 2 && count(char::is_ascii_lowercase) >= 2);
        assert!(count(char::is_ascii_digit) >= 2 && count(|c| *c == '_') >= 2);
        assert!(made.expose().len() <= 30 && passwords.is_of_our_making("SLOB1").unwrap());
        fs::write(&path, "a\tSLOB2\tSl0b__0123456789abcdef01234567\na\tSLOB3\ttiger\n").unwrap();
        assert!(passwords.is_of_our_making("SLOB2").unwrap(), "made by an earlier release of ours");
        assert!(!passwords.is_of_our_making("SLOB3").unwrap());
    }

    #[test]
    fn a_service_is_the_same_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let passwords =
            |service: &str| Passwords::new(Some(folder.path().join("passwords")), service).unwrap();
        let made = passwords("//db1/pdb1").make("SLOB1").unwrap().password;
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
