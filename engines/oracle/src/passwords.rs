//! The passwords of the schemas' accounts, in a file that only its owner may read.
//!
//! One line each: the service, a tab, the account, a tab, the password. The file is replaced as a whole, so that a program
//! that is killed leaves the old one or the new one.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use slob_engine::{EngineError, ErrorKind};
use slob_spec::Secret;

use crate::access::PORT;

/// Its name in the home folder.
const DEFAULT: &str = ".slob-oracle";

/// The passwords of one target.
pub(crate) struct Passwords {
    path: PathBuf,
    service: String,
    lock: Mutex<()>,
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
        Ok(Self { path, service: place(service), lock: Mutex::default() })
    }

    /// The password of an account.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is none, or others may read the file.
    pub(crate) fn get(&self, user: &str) -> Result<Secret, EngineError> {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.service.clone(), user.to_owned());
        self.read()?.remove(&key).ok_or_else(|| {
            let message = format!("it has no line for '{}' and {user}", self.service);
            EngineError::new(ErrorKind::Usage, self.step(), message).with_advice(
                "a line is: service, tab, account, tab, password; `slob setup` wrote it where it ran: copy the file, or \
                 remove the schemas and load them again",
            )
        })
    }

    /// Makes a password for an account and keeps it. One that is there already is kept: the account may exist.
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn make(&self, user: &str) -> Result<Secret, EngineError> {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = self.read()?;
        let key = (self.service.clone(), user.to_owned());
        if let Some(password) = lines.get(&key) {
            return Ok(password.clone());
        }
        let password = fresh().map_err(|error| self.failed(&error))?;
        lines.insert(key, password.clone());
        self.write(&lines).map_err(|error| self.failed(&error))?;
        Ok(password)
    }

    /// Forgets an account that is gone.
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn forget(&self, user: &str) -> Result<(), EngineError> {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = self.read()?;
        if lines.remove(&(self.service.clone(), user.to_owned())).is_none() {
            return Ok(());
        }
        self.write(&lines).map_err(|error| self.failed(&error))
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
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        for ((service, user), password) in lines {
            writeln!(file, "{service}\t{user}\t{}", password.expose())?;
        }
        file.sync_all()?;
        fs::rename(&new, &self.path)
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

/// 30 characters of which 24 are random: what the usual rules for passwords ask for, and no more than old releases take.
fn fresh() -> std::io::Result<Secret> {
    let mut bytes = [0_u8; 12];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(format!("Sl0b__{digits}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_kept_apart_and_to_the_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let passwords = |service: &str| Passwords::new(Some(path.clone()), service).unwrap();
        let first = passwords("a").make("SLOB1").unwrap();
        assert_eq!(passwords("a").make("SLOB1").unwrap(), first, "an account that exists keeps its password");
        assert_ne!(passwords("b").make("SLOB1").unwrap(), first);
        assert_eq!(passwords("a").get("SLOB1").unwrap(), first);
        assert_eq!(first.expose().len(), 30);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        passwords("a").forget("SLOB1").unwrap();
        let error = passwords("a").get("SLOB1").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(passwords("b").get("SLOB1").is_ok());
    }

    #[test]
    fn a_service_is_the_same_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let passwords =
            |service: &str| Passwords::new(Some(folder.path().join("passwords")), service).unwrap();
        let made = passwords("//db1/pdb1").make("SLOB1").unwrap();
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
