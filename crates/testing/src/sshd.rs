//! OpenSSH's server on loopback, with keys of its own, and a client that knows them.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::{Process, available, finish, on_a_port, until_it_serves};

const PROGRAM: &str = "/usr/sbin/sshd";

/// It lets this account in by a key. Its programs find `slob` in [`Sshd::remote`].
#[derive(Debug)]
pub struct Sshd {
    process: Option<Process>,
    port: u16,
    folder: TempDir,
}

impl Sshd {
    /// `None` where it is not installed, which stderr says.
    pub fn start_or_skip() -> Option<Self> {
        let missing = || format!("{PROGRAM} is not installed; .ci/install-test-servers installs it");
        available(Path::new(PROGRAM).is_file().then_some(()).ok_or_else(missing))?;
        Some(Self::start().expect("an ssh server"))
    }

    fn start() -> Result<Self, String> {
        let folder =
            tempfile::Builder::new().prefix("slob-ssh").tempdir().map_err(|error| error.to_string())?;
        for key in ["host", "id"] {
            let mut make = Command::new("ssh-keygen");
            finish(make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.path().join(key)))?;
        }
        let mut sshd = Self { process: None, port: 0, folder };
        for made in ["remote", "client"] {
            fs::create_dir(sshd.path(made)).map_err(|error| error.to_string())?;
        }
        let (process, port) = on_a_port(None, &["Cannot bind"], |port| sshd.begin_on(port))?;
        (sshd.process, sshd.port) = (Some(process), port);
        sshd.write_client()?;
        Ok(sshd)
    }

    fn begin_on(&self, port: u16) -> Result<Process, String> {
        let at = |name| self.path(name).display().to_string();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nPermitRootLogin yes\n\
             PasswordAuthentication no\nUsePAM no\nStrictModes no\nSetEnv PATH={}:/usr/local/bin:/usr/bin:/bin\n",
            at("host"),
            at("id.pub"),
            at("remote")
        );
        fs::write(self.path("sshd_config"), config).map_err(|error| error.to_string())?;
        // Packages make this folder when the machine starts; only root's server needs it.
        let _ = fs::create_dir_all("/run/sshd");
        let log = self.path("log");
        let file = File::create(&log).map_err(|error| error.to_string())?;
        let mut command = Command::new("setpriv");
        // Otherwise it starts itself anew for each connection, and wants to be a daemon of the system.
        command
            .args(["--pdeathsig", "KILL", "--", PROGRAM, "-D", "-r", "-e", "-f"])
            .arg(self.path("sshd_config"));
        let process = Process::spawn(&command, Some(file))?;
        let serves = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        until_it_serves(process, serves, Signal::TERM, &log)
    }

    /// The account's own configuration does not count.
    fn write_client(&self) -> Result<(), String> {
        let say = |error: std::io::Error| error.to_string();
        let at = |name| self.path(name).display().to_string();
        let key = fs::read_to_string(self.path("host.pub")).map_err(say)?;
        let names = format!("[127.0.0.1]:{0},[localhost]:{0}", self.port);
        fs::write(self.path("known_hosts"), format!("{names} {key}")).map_err(say)?;
        let config = format!(
            "Host *\n IdentityFile {}\n IdentitiesOnly yes\n UserKnownHostsFile {}\n GlobalKnownHostsFile none\n Port {}\n",
            at("id"),
            at("known_hosts"),
            self.port
        );
        fs::write(self.path("config"), config).map_err(say)?;
        let client = self.path("client").join("ssh");
        fs::write(&client, format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", at("config")))
            .map_err(say)?;
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).map_err(say)
    }

    /// PATH of a program that reaches this server by `ssh localhost`.
    pub fn search_path(&self) -> String {
        let own = std::env::var("PATH").unwrap_or_default();
        format!("{}:{own}", self.path("client").display())
    }

    pub fn client(&self) -> PathBuf {
        self.path("client").join("ssh")
    }

    /// Users who log in find it.
    pub fn install(&self, name: &str, program: &Path) {
        let link = self.remote().join(name);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(program, link).expect("a link");
    }

    pub fn install_script(&self, name: &str, text: &str) {
        let path = self.remote().join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, text).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script that can be run");
    }

    /// Users who log in find programs there.
    pub fn remote(&self) -> PathBuf {
        self.path("remote")
    }

    /// Its children serve connections.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::TERM);
        }
    }
}
